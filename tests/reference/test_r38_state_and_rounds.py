"""Rows R38 to R40: file state, rounds of the API, and what the window holds."""

from __future__ import annotations

from typing import Any

import pytest
from tests.reference.support import (
    ANSWER,
    MODEL,
    NOW,
    TOO_LONG,
    Message,
    assistant,
    call,
    claude,
    image,
    loop,
    report,
    result,
    run,
    shown,
    small,
    text,
    used,
    user,
    verdict,
    words,
)
from tests.strategies import PIXEL
from tests.strict_api import problems

from trimtab import Facts, ManualRequest, Request
from trimtab.accounting import Account, account_of
from trimtab.filestate import FileStates

# --- R38


def test_r38_a_hundred_files_are_remembered_and_the_one_used_longest_ago_goes() -> None:
    states = FileStates()
    for number in range(100):
        states.put(f"/srv/{number}.py", f"x = {number}")
    states.get("/srv/0.py")
    states.put("/srv/100.py", "x = 100")
    assert len(states) == 100
    assert "/srv/0.py" in states
    assert "/srv/1.py" not in states


def test_r38_twenty_five_megabytes_are_remembered_at_most() -> None:
    states = FileStates()
    for number in range(30):
        states.put(f"/srv/{number}.txt", "x" * 1024 * 1024)
    assert states.bytes == 25 * 1024 * 1024
    assert "/srv/4.txt" not in states
    assert "/srv/5.txt" in states


def test_r38_paths_are_normalised_and_the_state_holds_what_was_seen() -> None:
    states = FileStates("/srv")
    state = states.put("src/./pool/../pool.py", "x = 1", mtime=7.0, offset=10, limit=20)
    assert states.get("/srv/src/pool.py") == state
    assert (state.mtime, state.offset, state.limit, state.is_partial_view) == (7.0, 10, 20, True)


def test_r38_what_was_seen_in_part_or_has_changed_must_be_read_before_an_edit() -> None:
    states = FileStates()
    states.put("/srv/part.py", "x", limit=1)
    states.put("/srv/whole.py", "x", mtime=7.0)
    assert states.why_not_edit("/srv/whole.py", 7.0) is None
    for path, mtime in (("/srv/part.py", None), ("/srv/whole.py", 8.0), ("/srv/never.py", None)):
        assert states.why_not_edit(path, mtime)


def test_r38_a_sub_agent_gets_a_copy_of_its_own() -> None:
    states = FileStates()
    states.put("/srv/a.py", "x")
    twin = states.clone()
    twin.put("/srv/b.py", "y")
    states.clear()
    assert [state.path for state in twin] == ["/srv/a.py", "/srv/b.py"]
    assert len(states) == 0


# --- R39


@pytest.mark.parametrize("event", ["before_request", "overflow"])
def test_r39_a_session_with_one_human_message_can_be_cut_in_the_middle(event: str) -> None:
    messages = loop(30, 2600)
    outcome = run(small(), messages, event, error=TOO_LONG if event == "overflow" else None)
    assert verdict(outcome, "ledger") == "committed"
    assert messages[-1] in shown(outcome)
    assert messages[2] not in shown(outcome)
    assert not problems(shown(outcome))
    assert "Find the leak and mend it." in words(outcome)


def test_r39_a_round_is_one_response_with_all_its_results_however_many_records_it_has() -> None:
    def split(number: int) -> list[Message]:
        ids = [f"c{number}-{one}" for one in range(3)]
        said = [assistant(text(f"thought {number}")), *(assistant(call(name, "Read")) for name in ids)]
        return [*said, *(user(result(name, f"{name}: " + "word " * 400)) for name in ids)]

    messages = [user("Find the leak."), *(one for number in range(12) for one in split(number))]
    outcome = run(small(), messages, "overflow", error=TOO_LONG)
    assert verdict(outcome, "ledger") == "committed"
    said = words(outcome)
    kept = [number for number in range(12) if f'thought {number}"' in said]
    assert kept == list(range(12))[-len(kept) :]
    assert kept
    for number in kept:
        assert all(f'"tool_use_id": "c{number}-{one}"' in said for one in range(3))


def test_r39_the_open_round_is_never_taken_apart() -> None:
    messages = [*loop(12, 2600), assistant(call("x", "Read"), call("y", "Read"))]
    outcome = run(small(answers=[ANSWER]), messages, "manual", request=ManualRequest())
    assert verdict(outcome, "full-summary") == "committed"
    assert shown(outcome)[-1] == messages[-1]
    assert "the open round" in str(report(outcome, "full-summary").remarks.get("held_by"))


# --- R40


def test_r40_the_receipt_accounts_for_system_tools_messages_reserve_and_thresholds() -> None:
    tools = [{"name": "Read", "description": "reads a file; " * 400, "input_schema": {}}]
    bare = run(claude(), loop(3)).receipt
    full = run(claude(), loop(3), system="You help. " * 200, tools=tools).receipt
    assert bare.totals.overhead_tokens == 0
    assert full.totals.overhead_tokens > 1500
    both = full.totals.overhead_tokens + bare.totals.tokens.after
    assert full.totals.tokens.after == pytest.approx(both, abs=2)
    assert (full.limits["window"], full.limits["reserve"]) == (200_000, 20_000)


def held(messages: list[Message], **facts: Any) -> Account:
    tools = [{"name": "Read", "description": "reads a file; " * 400, "input_schema": {}}]
    request = Request(MODEL, messages, system="You help. " * 200, tools=tools)
    return account_of(small(answers=[]).session(), request, Facts(now=NOW, caller="main", **facts))


def test_r40_what_the_window_holds_is_shared_out_by_category() -> None:
    messages = [user(text("See."), image(PIXEL)), assistant("I see."), *loop(3)]
    account = held(messages)
    names = [part.name for part in account.parts]
    assert {"system", "tools", "messages", "images"} <= set(names)
    assert sum(part.tokens for part in account.parts) == account.tokens
    assert account.reserve == 10_000
    assert account.tokens + account.reserve + account.free == account.window == 30_000
    read = account.part("messages", "tool_results", "Read")
    assert read is not None
    assert read.blocks == 3


def test_r40_memory_and_attachments_have_categories_of_their_own() -> None:
    session = small().session()
    memory = [{"path": "/srv/NOTES.md", "text": "Tabs only. " * 50}]
    facts: dict[str, Any] = {"nested_memory": memory, "date": "2026-03-01"}
    run(session, loop(3), **facts)
    account = account_of(session, Request(MODEL, loop(3)), Facts(now=NOW, caller="main", **facts))
    assert account.part("attachments") is not None
    found = account.part("memory")
    assert found is not None
    assert found.tokens > 100


def test_r40_it_is_the_figure_that_triggers_go_by_and_shows_their_thresholds() -> None:
    messages = [*loop(8), assistant("Done."), user("Next.")]
    account = held(messages, usage=used(9_000))
    outcome = run(small(answers=[]), messages, "tool_result", usage=used(9_000))
    assert account.tokens == pytest.approx(outcome.receipt.totals.tokens.before, abs=2)
    [auto] = [one for one in account.thresholds if one.name == "auto"]
    assert (auto.tokens, auto.stages, auto.reached) == (10_000, ("autocompact",), False)
