"""Rows R11 to R14: old tool results go once the cache is cold, or are deleted from a warm one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.reference.support import (
    Message,
    assistant,
    at,
    call,
    claude,
    report,
    result,
    results,
    round_of,
    rounds,
    run,
    shown,
    user,
    verdict,
)

CLEARED = "[Old tool result content cleared]"
TOOLS = ("Read", "Bash", "Grep", "Glob", "WebSearch", "WebFetch", "Edit", "Write")


def old(count: int = 8, tool: str = "Bash") -> list[Message]:
    return [user("Look around."), *rounds(count, tool=tool), assistant("So far."), user("Go on.")]


def after(minutes: float, messages: list[Message], caller: str = "main", **more: Any) -> Any:
    """A run so many minutes after the last response."""
    last = max(index for index, message in enumerate(messages) if message["role"] == "assistant")
    return run(claude(**more), messages, info=at(messages, (last, minutes)), caller=caller)


def cleared(outcome: Any) -> list[str]:
    return [name for name, left in results(outcome).items() if left == CLEARED]


# --- R11


@pytest.mark.parametrize("tool", TOOLS)
def test_r11_old_results_of_these_tools_go(tool: str) -> None:
    messages = [user("Go."), *round_of("first", "old " * 200, tool), *rounds(5), assistant("."), user("On.")]
    assert cleared(after(61, messages)) == ["first"]


@pytest.mark.parametrize("tool", ["Task", "Agent", "TodoWrite", "mcp__db__query"])
def test_r11_what_a_sub_agent_or_another_tool_brought_stays(tool: str) -> None:
    messages = [user("Go."), *round_of("first", "old " * 200, tool), *rounds(8), assistant("."), user("On.")]
    outcome = after(61, messages)
    assert results(outcome)["first"] == "old " * 200
    assert len(cleared(outcome)) == 3


# --- R12


@pytest.mark.parametrize(("minutes", "expected"), [(59.9, "nothing"), (60, "committed")])
def test_r12_after_an_hour_all_but_the_newest_five_are_replaced(minutes: float, expected: str) -> None:
    outcome = after(minutes, old())
    assert verdict(outcome, "microcompact") == expected
    if expected == "committed":
        assert cleared(outcome) == ["call-0", "call-1", "call-2"]


def test_r12_the_receipt_says_how_long_it_was() -> None:
    [entry] = report(after(59, old()), "idle-clear").conditions
    assert (entry.path, entry.value, entry.limit, entry.holds) == ("idle_minutes at_least", 59, 60, False)


def test_r12_messages_are_new_objects_and_the_transcript_is_untouched() -> None:
    messages = old()
    before = json.dumps(messages)
    outcome = after(61, messages)
    assert json.dumps(messages) == before
    assert outcome.request.messages[2] is not messages[2]
    assert outcome.request.messages[1] is messages[1]


@pytest.mark.parametrize("caller", ["explore", "compact", "session_memory"])
def test_r12_only_in_the_main_thread(caller: str) -> None:
    assert shown(after(61, old(), caller=caller)) == old()


def test_r12_a_batch_is_counted_result_by_result_and_stays_paired() -> None:
    calls = [call(f"b{number}", "Grep", pattern="x") for number in range(7)]
    found = [result(f"b{number}", "hit " * 100) for number in range(7)]
    messages = [user("Go."), assistant(*calls), user(*found), assistant("."), user("On.")]
    assert cleared(after(61, messages)) == ["b0", "b1"]


def test_r12_what_was_cleared_stays_cleared_when_the_cache_is_warm_again() -> None:
    session = claude().session()
    messages = old()
    run(session, messages, info=at(messages, (17, 61)))
    messages += rounds(2, start=30)
    outcome = run(session, messages, info=at(messages, (17, 61), (len(messages) - 2, 1)))
    assert verdict(outcome, "idle-clear") == "skipped"
    assert cleared(outcome) == ["call-0", "call-1", "call-2"]


# --- R13

CACHED = {"cached_edits": True}


def loop_of(count: int) -> list[Message]:
    return [user("Look around."), *rounds(count, tool="Bash")]


def deleted(message: Message) -> list[str]:
    """The references one message of the request deletes from the cache."""
    content = message["content"]
    found = [block for block in content if isinstance(block, dict) and block["type"] == "cache_edits"]
    return [edit["cache_reference"] for block in found for edit in block["edits"]]


def all_deleted(outcome: Any) -> list[str]:
    return [name for message in shown(outcome) for name in deleted(message)]


@pytest.mark.parametrize(("count", "deletes"), [(14, 0), (15, 10), (18, 13)])
def test_r13_from_ten_on_the_results_beyond_the_newest_five_are_deleted(count: int, deletes: int) -> None:
    outcome = run(claude(settings=CACHED), loop_of(count))
    assert all_deleted(outcome) == [f"call-{number}" for number in range(deletes)]


def test_r13_messages_stay_as_they_are_and_the_block_stands_behind_the_newest_results() -> None:
    session = claude(settings=CACHED).session()
    messages = loop_of(20)
    outcome = run(session, messages)
    assert shown(outcome)[: len(messages)] == messages
    assert len(all_deleted(outcome)) == 15
    assert deleted(shown(outcome)[-1]) == all_deleted(outcome)
    assert report(outcome, "warm-clear").verdict == "committed"


def test_r13_the_block_is_sent_again_at_the_same_place() -> None:
    session = claude(settings=CACHED).session()
    messages = loop_of(20)
    first = shown(run(session, messages))
    for number in range(8):
        messages += rounds(1, start=50 + number, tool="Bash")
        outcome = run(session, messages)
        assert shown(outcome)[: len(first)] == first
    messages += rounds(4, start=70, tool="Bash")
    outcome = run(session, messages)
    names = all_deleted(outcome)
    assert shown(outcome)[: len(first)] == first
    assert len(names) == len(set(names)) >= 25


def test_r13_only_where_the_endpoint_is_said_to_have_it() -> None:
    outcome = run(claude(), loop_of(40))
    assert all_deleted(outcome) == []
    assert verdict(outcome, "warm-clear") == "skipped"


def test_r13_once_the_cache_is_cold_the_texts_are_replaced_instead() -> None:
    session = claude(settings=CACHED).session()
    messages = loop_of(20)
    outcome = run(session, messages, info=at(messages, (len(messages) - 2, 61)))
    assert verdict(outcome, "idle-clear") == "committed"
    assert all_deleted(outcome) == []
    assert len(cleared(outcome)) == 15
    messages += rounds(1, start=50, tool="Bash")
    assert all_deleted(run(session, messages)) == [], "what is replaced is not deleted once more"


# --- R14

SERVER = {"server_editing": True}


def declared(outcome: Any) -> list[dict[str, Any]]:
    found = outcome.request.extra.get("context_management", {}).get("edits", [])
    return [dict(edit) for edit in found]


@pytest.mark.parametrize(("minutes", "keep"), [(1, "all"), (61, {"type": "thinking_turns", "value": 1})])
def test_r14_thinking_is_kept_while_warm_and_one_turn_of_it_when_cold(minutes: float, keep: Any) -> None:
    outcome = after(minutes, old(), settings=SERVER)
    thinking, tools = declared(outcome)
    assert thinking == {"type": "clear_thinking_20251015", "keep": keep}
    assert tools["type"] == "clear_tool_uses_20250919"


def test_r14_tool_uses_are_cleared_down_to_a_target() -> None:
    messages = old()
    tools: list[Message] = [{"name": name, "input_schema": {}} for name in ("Read", "Bash", "Grep", "Task")]
    [*_, edit] = declared(run(claude(settings=SERVER), messages, tools=tools))
    assert edit["trigger"] == {"type": "input_tokens", "value": 180_000}
    assert edit["clear_at_least"] == {"type": "input_tokens", "value": 140_000}
    assert sorted(edit["clear_tool_inputs"]) == ["Bash", "Grep", "Read"]


def test_r14_it_is_a_field_of_the_request_and_no_edit_of_messages() -> None:
    session = claude(settings=SERVER).session()
    outcome = run(session, old())
    assert shown(outcome) == old()
    assert outcome.receipt.totals.commits == 0
    assert verdict(outcome, "server-editing") == "done"


def test_r14_without_the_setting_nothing_is_declared() -> None:
    assert declared(run(claude(), old())) == []
