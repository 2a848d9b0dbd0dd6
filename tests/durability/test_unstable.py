"""A host that changes a message under a summary every turn: the second time it is told, with a hint."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
from tests.durability.support import Message, check_folder, conversation, opened, run


def changed(messages: list[Message], turn: int) -> list[Message]:
    """The list with its second result stamped anew, as a host does that shows times or counters."""
    made = copy.deepcopy(messages)
    made[4]["content"][0]["content"] += f" (seen {turn} minutes ago)"
    return made


@pytest.mark.parametrize("restarts", [False, True])
def test_the_first_change_is_set_aside_with_a_reason_and_the_second_is_a_problem(
    tmp_path: Path, restarts: bool
) -> None:
    folder, messages = tmp_path / "session", conversation(12)
    session = opened(folder)
    assert any(report.verdict == "committed" for report in run(session, messages[:35]).receipt.stages)
    told = []
    for turn, size in enumerate((37, 39, 41, 43)):
        if restarts:
            session = opened(folder)
        outcome = run(session, changed(messages, turn)[:size])
        assert outcome.receipt.run.transcript == "changed in place"
        assert outcome.receipt.dropped
        assert all("changed" in dropped.why for dropped in outcome.receipt.dropped)
        told.append([problem for problem in outcome.problems if problem.code == "unstable-message"])
    assert [len(one) for one in told] == [0, 1, 1, 1]
    assert "keep it as it was" in (told[1][0].hint or "")
    check_folder(folder)


def test_a_host_that_keeps_its_messages_is_told_nothing(tmp_path: Path) -> None:
    folder, messages = tmp_path / "session", conversation(12)
    session = opened(folder)
    for size in (35, 37, 39, 41, 43):
        assert not run(session, messages[:size]).problems


@pytest.mark.parametrize("times", [2, 3])
def test_the_view_of_an_unstable_list_is_the_one_a_new_session_would_find(tmp_path: Path, times: int) -> None:
    messages = conversation(12)
    session = opened(tmp_path / "session")
    run(session, messages[:35])
    for turn in range(times):
        one = run(session, changed(messages, turn)[:37])
    two = run(opened(tmp_path / "session"), changed(messages, times - 1)[:37])
    assert list(one.request.messages) == list(two.request.messages)
