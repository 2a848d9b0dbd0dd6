"""Work that starts over: turns are waited for, but not for ever; nothing is asked twice; nothing is held at a port."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.session.packs import engine_of

import trimtab.ports
from trimtab import Request, Session
from trimtab.effects import AskFailed, Question, Reply
from trimtab.journal import DiskJournal
from trimtab.locks import Turn
from trimtab.records import Fail
from trimtab.retrying import LOSSES, PATIENCE

PACK = """
format: 1
name: retried
version: 1.0.0
stages:
  - id: sum
    kind: first_of
    stages:
      - {id: model, kind: summarize, keep: {newest: {messages: 1}}, prompt: notes/ten-sections.md.j2}
      - {id: plain, kind: summarize, keep: {newest: {messages: 1}}, text: "short"}
"""
MESSAGES = [
    {"role": role, "content": f"{role} {number} " + "many words " * 60}
    for number in range(4)
    for role in ("user", "assistant")
] + [{"role": "user", "content": "go on"}]
REQUEST = Request("claude-sonnet-4-5", MESSAGES)


class Writer:
    """A model; ``meanwhile`` happens while it is asked."""

    def __init__(self, folder: Path, failure: AskFailed | None = None) -> None:
        self.folder, self.failure = folder, failure
        self.asked = 0
        self.turns: list[bool] = []

    def answer(self, question: Question) -> Reply:
        self.asked += 1
        self.turns.append(Turn(self.folder / "journal.jsonl").taken())
        if self.failure is not None:
            raise self.failure
        return Reply("a summary in a few words")

    async def aanswer(self, question: Question) -> Reply:
        return self.answer(question)


def losing(session: Session, folder: Path, times: int) -> list[bool]:
    """Let the session lose so many races; says of each write whether the turn was taken then."""
    other, append = DiskJournal.open(folder, engine="0.1.0"), session.journal.append
    turns: list[bool] = []

    def late(records: Any) -> None:
        turns.append(Turn(folder / "journal.jsonl").taken())
        if len(turns) <= times:
            other.reload()
            other.append([Fail("somebody-else", 1, "error")])
        append(records)

    session.journal.append = late  # type: ignore[method-assign]
    return turns


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Every pause, instead of waiting."""
    found: list[float] = []
    monkeypatch.setattr(trimtab.ports, "sleep", found.append)
    return found


def test_who_has_lost_several_times_has_the_turn_until_the_end(tmp_path: Path, pauses: list[float]) -> None:
    session = engine_of(PACK, summarizer=Writer(tmp_path)).open_session(tmp_path)
    turns = losing(session, tmp_path, LOSSES + 2)
    session.run(REQUEST)
    assert turns == [False] * LOSSES + [True] * 3
    assert not pauses
    assert not list(tmp_path.glob("*.turn"))


@pytest.mark.parametrize("failure", [None, AskFailed("refusal", "no")], ids=["answer", "failure"])
def test_what_was_asked_in_one_try_is_not_asked_in_the_next(
    tmp_path: Path, failure: AskFailed | None
) -> None:
    writer = Writer(tmp_path, failure)
    session = engine_of(PACK, summarizer=writer).open_session(tmp_path)
    losing(session, tmp_path, 5)
    outcome = session.run(REQUEST)
    assert writer.asked == 1
    assert [report.verdict for report in outcome.receipt.stages[0].children[:1]] == [
        "committed" if failure is None else "failed"
    ]


def test_what_others_have_written_is_known_before_anything_is_asked(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    session = engine_of(PACK, summarizer=writer).open_session(tmp_path)
    engine_of(PACK, summarizer=Writer(tmp_path)).open_session(tmp_path).run(REQUEST)
    outcome = session.run(REQUEST)
    assert writer.asked == 0, "the other one's summary stands"
    assert outcome.receipt.run.n == 2


def test_no_turn_is_held_while_a_port_is_asked(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    session = engine_of(PACK, summarizer=writer).open_session(tmp_path)
    turns = losing(session, tmp_path, LOSSES + 1)
    conversation = list(MESSAGES)
    original = DiskJournal.reload

    def reload(journal: DiskJournal) -> None:
        original(journal)
        if journal is session.journal and len(turns) == LOSSES:
            # The try that has the turn sees another conversation, so it asks something new.
            conversation[0] = {"role": "user", "content": "another beginning " * 100}

    session.journal.reload = lambda: reload(session.journal)  # type: ignore[method-assign, arg-type]
    session.run(Request("claude-sonnet-4-5", conversation))
    assert writer.asked == 2
    assert writer.turns == [False, False]
    assert turns[LOSSES] is False, "left for the port, and not taken again without another loss"


def test_a_turn_somebody_keeps_is_waited_for_but_not_for_ever(tmp_path: Path, pauses: list[float]) -> None:
    session = engine_of(PACK, summarizer=Writer(tmp_path)).open_session(tmp_path)
    turn = Turn(tmp_path / "journal.jsonl")
    turn.take()
    session.run(REQUEST)
    assert PATIENCE <= sum(pauses) < PATIENCE + 0.1
    turn.leave()
    pauses.clear()
    session.run(REQUEST)
    assert not pauses


@pytest.mark.parametrize("kept", [True, False], ids=["kept-from-the-start", "taken-after-the-start"])
def test_a_turn_that_is_never_left_is_waited_for_once_in_a_run_however_often_it_loses(
    tmp_path: Path, pauses: list[float], kept: bool
) -> None:
    session = engine_of(PACK, summarizer=Writer(tmp_path)).open_session(tmp_path)
    stopped = Turn(tmp_path / "journal.jsonl")
    if kept:
        stopped.take()
    turns = losing(session, tmp_path, LOSSES + 10)
    append = session.journal.append

    def late(records: Any) -> None:
        stopped.take()
        append(records)

    session.journal.append = late  # type: ignore[method-assign]
    session.run(REQUEST)
    assert len(turns) == LOSSES + 11
    assert PATIENCE <= sum(pauses) < PATIENCE + 0.1


def test_an_event_loop_goes_on_while_a_turn_is_waited_for(tmp_path: Path) -> None:
    session = engine_of(PACK, summarizer=Writer(tmp_path)).open_session(tmp_path)
    turn = Turn(tmp_path / "journal.jsonl")
    turn.take()

    async def both() -> None:
        async def leave() -> None:
            await asyncio.sleep(0.02)
            turn.leave()

        await asyncio.wait_for(asyncio.gather(session.arun(REQUEST), leave()), PATIENCE / 2)

    asyncio.run(both())


def test_undo_and_restore_take_turns_too(tmp_path: Path, pauses: list[float]) -> None:
    session = engine_of(PACK, summarizer=Writer(tmp_path)).open_session(tmp_path)
    session.run(REQUEST)
    turns = losing(session, tmp_path, LOSSES)
    session.undo("c1")
    assert turns == [False] * LOSSES + [True]
    assert not list(tmp_path.glob("*.turn"))
