"""Whatever a request holds at whatever place, the fake answers it or refuses it, and knows which of the two."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.fake_api import FakeApi
from tests.fake_api.requests import BINDING_BETA, COMPACT_BETA, COMPACT_EDIT_BETA, CONTEXT_BETA
from tests.fake_api_tests.support import BOUND, MODEL, TOOLS, assistant, png, result, text, use, user

HI = user("hi")
MARK = {"type": "ephemeral"}
BODIES: list[dict[str, Any]] = [
    {
        "model": BOUND,
        "max_tokens": 2000,
        "system": [text("be brief", cache_control=MARK)],
        "tools": [{**TOOLS[0], "cache_control": MARK}],
        "tool_choice": {"type": "tool", "name": "Read"},
        "thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}},
        "context_management": {
            "edits": [
                {"type": "clear_thinking_20251015", "keep": {"type": "thinking_turns", "value": 1}},
                {
                    "type": "clear_tool_uses_20250919",
                    "trigger": {"type": "tool_uses", "value": 0},
                    "keep": {"type": "tool_uses", "value": 0},
                    "clear_at_least": {"type": "input_tokens", "value": 1},
                    "exclude_tools": ["Write"],
                    "clear_tool_inputs": ["Read"],
                },
                {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50_000}},
            ]
        },
        "cache_control": MARK,
        "diagnostics": {"previous_message_id": "msg_1"},
        "stop_sequences": ["stop"],
        "messages": [
            user([text("hi"), png(1, 1)]),
            assistant(use("t", path="a")),
            user([result("t", [text("x", cache_control=MARK), png(1, 1)]), text("and?")]),
            {"role": "system", "content": [text("be brief")]},
        ],
    },
    {
        "model": BOUND,
        "max_tokens": 2000,
        "compaction": {"type": "summarize", "instructions": "Dwell on the pool."},
        "messages": [assistant({"type": "compaction", "content": None}), HI],
    },
    {
        "model": MODEL,
        "max_tokens": 2000,
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "messages": [HI],
    },
]
UNCOUNTED = ("max_tokens", "stop_sequences", "diagnostics")
"""Fields that a request to count tokens does not have."""
JUNK = [None, 5, -1, 1.5, "x", "", [], {}, [5], {"type": 5}, {"type": "x"}, True, [[]], [None], [{}]]


def spoiled(value: Any, junk: Any) -> Iterator[Any]:
    """The value with the junk at each of its places, one at a time."""
    yield junk
    places = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for place, inner in places:
        for other in spoiled(inner, junk):
            made = copy.copy(value)
            made[place] = other
            yield made


@pytest.mark.parametrize("body", BODIES, ids=["everything", "a compaction", "a budget"])
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages/count_tokens"])
def test_whatever_stands_anywhere_is_answered_or_refused(body: Any, path: str) -> None:
    headers = {
        "x-api-key": "none",
        "anthropic-version": "2023-06-01",
        "anthropic-beta": ",".join((CONTEXT_BETA, COMPACT_EDIT_BETA, COMPACT_BETA, BINDING_BETA)),
    }
    plain = {key: value for key, value in body.items() if "count" not in path or key not in UNCOUNTED}
    assert FakeApi().handle(path, headers, json.dumps(plain).encode()).status == 200
    for junk in JUNK:
        for sent in spoiled(plain, junk):
            api = FakeApi()
            answer = api.handle(path, headers, json.dumps(sent).encode())
            assert (answer.status == 200) == (api.faulty == [])
