"""Hosts that do to their list, and to ours, what hosts do: nothing they said may be lost, nothing invalid sent."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from tests.session.packs import LAYERS, engine_of

from trimtab import Facts, Request
from trimtab.journal import DiskJournal
from trimtab.outcome import Outcome
from trimtab.session import Session

Message = dict[str, Any]
MODEL = "claude-sonnet-4-5"
NO_STAGES = "format: 1\nname: none\nversion: 1.0.0\nstages: []\n"
OFFLOAD = LAYERS.partition("  - {id: clear")[0]


def said(role: str, text: str) -> Message:
    return {"role": role, "content": text}


def calls(count: int, chars: int = 1600) -> list[Message]:
    out: list[Message] = [said("user", "go")]
    for number in range(count):
        call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": "ls"}}
        out.append({"role": "assistant", "content": [call]})
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "ab " * (chars // 3)}
        out.append({"role": "user", "content": [result]})
    return out


def run(session: Session, messages: list[Message], event: str = "before_request") -> Outcome:
    return session.run(Request(MODEL, messages), event, Facts(now=1e9, caller="main"))


def texts(outcome: Outcome) -> list[Any]:
    return [message["content"] for message in outcome.request.messages]


def test_a_rewind_behind_an_event_that_sends_nothing_loses_no_message() -> None:
    session = engine_of(NO_STAGES).session()
    first = [said("user", "one")]
    run(session, first)
    told = [*first, said("assistant", "x"), said("user", "two"), said("assistant", "y")]
    run(session, told, "after_response")
    now = [*told[:3], said("assistant", "z"), said("user", "three")]
    assert texts(run(session, now)) == [message["content"] for message in now]


def test_a_message_said_after_an_event_that_sends_nothing_is_not_lost() -> None:
    session = engine_of(NO_STAGES).session()
    messages = [said("user", "one"), said("assistant", "x"), said("user", "two")]
    run(session, messages[:1])
    run(session, messages[:2], "after_response")
    assert texts(run(session, messages)) == ["one", "x", "two"]


def test_dropping_a_message_behind_an_event_that_sends_nothing_keeps_every_other_one() -> None:
    session = engine_of(NO_STAGES).session()
    messages = calls(4, 30)
    run(session, messages[:3])
    run(session, messages, "after_response")
    now = [*messages[:-2], said("user", "stop that")]
    assert texts(run(session, now)) == [message["content"] for message in now]


def test_words_moved_behind_a_result_come_back_when_that_result_is_gone() -> None:
    session = engine_of(NO_STAGES).session()
    messages = calls(1, 30)
    messages.insert(2, said("user", "also look at the docs"))
    assert "also look at the docs" in texts(run(session, messages))
    rewound = messages[:3]
    assert "also look at the docs" in texts(run(session, rewound))


def test_a_summary_never_swallows_the_last_words_that_were_moved_behind_a_result() -> None:
    stage = "[{id: s, kind: summarize, keep: {newest: {messages: 1}}, text: Summary.}]"
    messages = calls(2, 900)
    messages.insert(4, said("user", "also look at the docs"))
    outcome = run(engine_of(NO_STAGES.replace("[]", stage)).session(), messages)
    assert outcome.receipt.totals.commits
    assert "also look at the docs" in texts(outcome)


def test_a_host_that_marks_what_it_is_given_gets_no_more_marks_than_the_api_takes() -> None:
    session = engine_of(OFFLOAD).session()
    messages = calls(8)
    for size in range(3, len(messages) + 1, 2):
        outcome = run(session, messages[:size])
        given: list[Any] = list(outcome.request.messages)
        marks = json.dumps(given).count("cache_control")
        assert marks <= 4 or outcome.problems, f"{marks} cache marks in a request that nothing was said about"
        given[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}


def test_a_host_that_writes_into_a_message_of_ours_does_not_change_what_was_decided(tmp_path: Path) -> None:
    engine = engine_of(OFFLOAD)
    session = engine.open_session(tmp_path)
    messages = calls(2)
    given: list[Any] = list(run(session, messages).request.messages)
    decided = copy.deepcopy(given)
    given[2]["content"][0]["content"] = "scribbled over"
    again = run(session, messages)
    assert list(again.request.messages) == decided
    session.journal.reload()
    assert DiskJournal.read(tmp_path).records()


def test_the_hosts_own_list_and_messages_are_never_written_to() -> None:
    session = engine_of().session()
    messages = calls(12)
    before = copy.deepcopy(messages)
    for event in (
        "session_start",
        "tool_result",
        "before_request",
        "overflow",
        "manual",
        "after_response",
        "idle",
    ):
        run(session, messages, event)
    assert messages == before


def test_a_list_that_contains_itself_neither_hangs_nor_ends_in_an_error_nobody_expects() -> None:
    messages = calls(1)
    messages[1]["content"][0]["input"]["self"] = messages[1]["content"][0]["input"]
    outcome = run(engine_of(NO_STAGES).session(), messages)
    assert outcome.request.messages[1] is messages[1]
