"""A value of any kind at any place of a request: every selector looks past it, and no run ends with a traceback."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import Any

import pytest
from tests.faults.support import HEAD

from trimtab import Engine, Facts, Request
from trimtab.packs.load import load
from trimtab.policy.relations import lines_of

MODEL = "claude-sonnet-4-5"
PACK = (
    HEAD
    + """
facts:
  files:
    key: path
    from:
      - {tools: [look], take: {path: /path, offset: /offset, limit: /limit}, set: {read: true}}
      - {tools: [change], take: {path: /path}, set: {edited: true}}
tools: {look: [Read], change: [Edit]}
limits: {own: "min(200, tool_limit)"}
stages:
  - {id: outdated, kind: replace, select: {blocks: [tool_result], superseded_by: [look]}, text: outdated}
  - {id: twice, kind: replace, select: {blocks: [tool_result], repeated: true}, text: twice}
  - {id: named, kind: replace, select: {blocks: [tool_use], paths: ["*.py"], size: {chars: {above: 9}}}, text: "-"}
  - {id: large, kind: replace, select: {blocks: [tool_result], size: {chars: {above: own}}},
     text: "{{ bytes }} {{ head }}"}
  - {id: either, kind: replace, text: none, once: true,
     select: {any: [{blocks: [image]}, {blocks: [text], matches: cut}]}}
  - {id: gone, kind: drop, select: {blocks: [thinking], age: {turns: {at_least: 1}}}}
  - {id: pictures, kind: drop, select: {has: [image], age: {rounds: {at_least: 1}}}}
  - {id: marks, kind: cache_marks, marks: [{place: system}, {place: newest_user}]}
  - {id: server, kind: server_edits, edits: [{type: clear_tool_uses_20250919, keep: {type: tool_uses, value: 1}}]}
"""
)
VALUES: dict[str, Any] = {
    "a number beyond any float": 10**400,
    "less than any float": -(10**400),
    "endless": math.inf,
    "no number": math.nan,
    "nothing": None,
    "a truth": True,
    "a list": ["a"],
    "a mapping": {"a": ["b"]},
    "a surrogate": "\ud800",
    "very many digits": "9" * 5_000,
    "a digit of another kind": "\u00b2",
}


def _round(name: str, tool: str, **given: Any) -> list[dict[str, Any]]:
    return [
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "cut this"},
                {"type": "tool_use", "id": name, "name": tool, "input": given},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": name,
                    "content": [{"type": "text", "text": "x" * 500}],
                },
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="},
                },
            ],
        },
    ]


BODY: dict[str, Any] = {
    "tools": [{"name": "Read", "input_schema": {"type": "object"}, "max_result_chars": 100}],
    "system": [{"type": "text", "text": "Be brief."}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        *_round("t1", "Read", path="/srv/a.py", offset=1, limit=9),
        *_round("t2", "Edit", path="/srv/a.py"),
        {"role": "user", "content": "and now?"},
        *_round("t3", "Read", path="/srv/a.py", offset=1, limit=9),
    ],
    "extra": {"context_management": {"edits": [{"type": "compact_20260112"}]}},
}


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """All places in a value, but for lists that must be lists of messages."""
    if len(path) > 2:
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from places(one, (*path, key))


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_a_value_of_any_kind_anywhere_never_ends_a_run_with_a_traceback(
    value: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("pack") / "pack.yaml"
    path.write_text(PACK)
    engine = Engine.load(load(path))
    for place in places(BODY):
        body = copy.deepcopy(BODY)
        inner: Any = body
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = value
        given = copy.deepcopy(body)
        outcome = engine.session().run(Request(MODEL, **body), facts=Facts(now=1e9))
        assert [report.id for report in outcome.receipt.stages][:2] == ["outdated", "twice"], place
        assert repr(body) == repr(given), place


def test_a_read_of_a_made_up_number_of_lines_is_replaced_by_the_whole_file() -> None:
    assert lines_of({"offset": 10**400, "limit": 1}) == (1e18, 1e18 + 1)
    assert lines_of({"offset": 5, "limit": 10**400}) == (5, 1e18 + 5)
    assert lines_of({"offset": -(10**400)}) is None


@pytest.mark.parametrize("role", [["user"], {"user": 1}, None, 5])
def test_a_role_that_is_no_text_is_a_violation(role: Any) -> None:
    outcome = (
        Engine.load("claude-code")
        .session()
        .run(Request(MODEL, [{"role": role, "content": "go"}]), facts=Facts(now=1e9))
    )
    assert [problem.code for problem in outcome.problems] == ["invalid-shape"]
