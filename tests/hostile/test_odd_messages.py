"""Values of the wrong type anywhere in a request: reported, never a traceback, and nothing is lost."""

from __future__ import annotations

import contextlib
import copy
import json
import math
from collections import UserList, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trimtab import ApiError, Engine, Facts, Info, ManualRequest, Request, Usage
from trimtab.commands import invoke

MODEL = "claude-sonnet-4-5"

BODY: dict[str, Any] = {
    "model": MODEL,
    "tools": [{"name": "Bash", "input_schema": {"type": "object"}}],
    "messages": [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "ok"},
                {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x" * 60_000}]},
        {
            "role": "assistant",
            "content": [
                {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}},
                {"type": "web_search_tool_result", "tool_use_id": "srv", "content": []},
                {"type": "text", "text": "done"},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "text", "text": "more", "cache_control": {"type": "ephemeral"}}],
        },
    ],
}

PLACES: dict[str, tuple[str | int, ...]] = {
    "role": ("messages", 1, "role"),
    "call's type": ("messages", 1, "content", 2, "type"),
    "call's id": ("messages", 1, "content", 2, "id"),
    "result's type": ("messages", 2, "content", 0, "type"),
    "result's id": ("messages", 2, "content", 0, "tool_use_id"),
    "server call's type": ("messages", 3, "content", 0, "type"),
    "marked block's type": ("messages", 4, "content", 0, "type"),
    "thinking's type": ("messages", 1, "content", 0, "type"),
    "text's type": ("messages", 1, "content", 1, "type"),
    "call's name": ("messages", 1, "content", 2, "name"),
    "server call's id": ("messages", 3, "content", 0, "id"),
    "server result's id": ("messages", 3, "content", 1, "tool_use_id"),
}


def body(place: tuple[str | int, ...], value: object) -> dict[str, Any]:
    out = copy.deepcopy(BODY)
    inner: Any = out
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return out


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_a_field_of_the_wrong_type_never_ends_a_run_with_a_traceback(place: tuple[str | int, ...]) -> None:
    for value in (["a"], {"a": "b"}):
        raw = body(place, value)
        for window in (300, 30_000):
            engine = Engine.load("claude-code", models={"*": {"window": window, "max_output": 50}})
            request = Request(raw["model"], raw["messages"], tools=raw["tools"])
            for event in ("before_request", "overflow"):
                assert engine.session().run(request, event, Facts(now=1e9)).receipt.stages


@pytest.mark.parametrize("value", [None, 5, True, 1.5, "", "\ud800", "\0", [], {}], ids=repr)
@pytest.mark.parametrize("place", [("messages", 2, "content"), ("messages", 2, "content", 0, "content")])
def test_a_content_of_the_wrong_type_never_ends_a_run_with_a_traceback(
    place: tuple[str | int, ...], value: object
) -> None:
    raw = body(place, value)
    outcome = Engine.load("claude-code").session().run(Request(MODEL, raw["messages"]), facts=Facts(now=1e9))
    assert outcome.receipt.stages


def test_the_reader_leaves_out_a_message_whose_role_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps(body(("messages", 1, "role"), ["assistant"])))
    assert invoke(["run", str(path), "--json"]) in (0, 1)


def test_ids_that_are_numbers_and_stay_unanswered_are_reported(tmp_path: Path) -> None:
    raw = body(("messages", 1, "content", 2, "id"), 7)
    outcome = Engine.load("claude-code").session().run(Request(MODEL, raw["messages"]), facts=Facts(now=1e9))
    assert outcome.problems


@pytest.mark.parametrize("tools", [5, True, ["x"], [None], {"name": "Bash"}], ids=repr)
def test_tools_of_the_wrong_type_are_refused_in_words_or_passed_through(tools: Any) -> None:
    request = Request(MODEL, BODY["messages"], tools=tools)
    with contextlib.suppress(ValueError):
        outcome = Engine.load("claude-code").session().run(request, facts=Facts(now=1e9))
        assert outcome.request.tools == tools


@pytest.mark.parametrize(
    "facts",
    [{"usage": {"input_tokens": 5}}, {"usage": 5}, {"error": 5}, {"error": {"message": "x"}}],
    ids=repr,
)
def test_facts_of_the_wrong_type_are_refused_by_name_where_they_are_made(facts: dict[str, Any]) -> None:
    name = next(iter(facts))
    with pytest.raises((ValueError, TypeError), match=name):
        Facts(now=1e9, **facts)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Usage("5"),  # type: ignore[arg-type]  # wrong on purpose, like all that follow
        lambda: Usage(math.nan),  # type: ignore[arg-type]
        lambda: Usage(True),
        lambda: Usage(5, None),  # type: ignore[arg-type]
        lambda: Usage(5, output="1"),  # type: ignore[arg-type]
        lambda: Info(usage=5),  # type: ignore[arg-type]
        lambda: Info(id=5),  # type: ignore[arg-type]
        lambda: Info(at="noon"),  # type: ignore[arg-type]
        lambda: Info(at=math.nan),
        lambda: Info(at=10**400),
        lambda: Info(origin="nobody"),
        lambda: ApiError(5),  # type: ignore[arg-type]
        lambda: ApiError("x", status="400"),  # type: ignore[arg-type]
        lambda: ManualRequest(5),  # type: ignore[arg-type]
        lambda: ManualRequest(by="me"),
        lambda: ManualRequest(instructions=5),  # type: ignore[arg-type]
        lambda: ManualRequest(messages=5),  # type: ignore[arg-type]
        lambda: Facts(now=10**400),
        lambda: Facts(now=math.inf),
    ],
)
def test_what_a_host_says_of_messages_and_requests_is_of_the_right_type_or_refused(
    make: Callable[[], object],
) -> None:
    with pytest.raises((ValueError, TypeError), match=r"must be|may be|not a time"):
        make()


@pytest.mark.parametrize(
    "content", [UserList([{"type": "text", "text": "keep"}]), {"a"}, b"x", (one for one in ())], ids=type
)
def test_a_content_that_no_request_can_carry_is_refused_with_its_place_and_nothing_is_lost(
    content: Any,
) -> None:
    session = Engine.load("claude-code").session()
    messages = [*BODY["messages"], {"role": "user", "content": content}]
    for _ in range(2):
        with pytest.raises(
            ValueError, match=r"messages\[5\]: its content must be a text or a list of blocks"
        ):
            session.run(Request(MODEL, messages), facts=Facts(now=1e9))
    assert session.run(Request(MODEL, BODY["messages"]), facts=Facts(now=1e9)).receipt.run.n == 1


@pytest.mark.parametrize("usage", [Usage(-5), Usage(10**30), Usage(0, -7, -7)], ids=repr)
def test_absurd_usage_never_makes_the_figure_negative_or_endless(usage: Usage) -> None:
    facts = Facts(now=1e9, usage=usage)
    outcome = Engine.load("claude-code").session().run(Request(MODEL, BODY["messages"]), facts=facts)
    assert 0 < outcome.receipt.totals.tokens.before < 1e7


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"messages": None}, "'messages' must be a list, not NoneType"),
        ({"messages": "hello"}, "'messages' must be a list, not str"),
        ({"messages": deque(BODY["messages"])}, "'messages' must be a list, not deque"),
        ({"messages": {"role": "user"}}, "'messages' must be a list, not dict"),
        ({"messages": [*BODY["messages"], 5]}, r"messages\[5\] must be a message"),
        ({"messages": [None, *BODY["messages"]]}, r"messages\[0\] must be a message"),
        ({"model": None}, "'model' must be the name of a model"),
        ({"info": [None, {"id": "m1"}]}, r"info\[1\] must be an Info or None"),
        ({"extra": ["max_tokens"]}, "'extra' must be a mapping"),
    ],
)
def test_a_request_not_made_of_messages_is_refused_with_the_place_and_forgotten(
    given: dict[str, Any], words: str
) -> None:
    session = Engine.load("claude-code").session()
    request = Request(**{"model": MODEL, "messages": BODY["messages"], **given})
    with pytest.raises(ValueError, match=words):
        session.run(request, facts=Facts(now=1e9))
    outcome = session.run(Request(MODEL, BODY["messages"]), facts=Facts(now=1e9))
    assert (outcome.receipt.run.n, outcome.send) == (1, True)


def test_nothing_is_sent_where_no_message_is_left() -> None:
    orphan = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t9", "content": "x"}]}
    session = Engine.load("claude-code").session()
    outcome = session.run(Request(MODEL, [orphan]), facts=Facts(now=1e9))
    assert not outcome.send
    assert "empty-request" in [problem.code for problem in outcome.problems]
    outcome = session.run(Request(MODEL, [orphan, {"role": "user", "content": "go"}]), facts=Facts(now=1e9))
    assert outcome.send
    assert [message["content"] for message in outcome.request.messages] == ["go"]


@pytest.mark.parametrize("event", ["session_start", "after_response", "idle"])
def test_an_event_that_sends_nothing_needs_no_message(event: str) -> None:
    outcome = Engine.load("claude-code").session().run(Request(MODEL, []), event, Facts(now=1e9))
    assert "empty-request" not in [problem.code for problem in outcome.problems]
