"""Rows R15 and R16: spans of the conversation under records of them; the messages themselves stay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.reference.support import (
    ANSWER,
    TOO_LONG,
    Message,
    Writer,
    claude,
    report,
    run,
    shown,
    used,
    user,
    verdict,
    words,
)
from tests.reference.test_r22_session_memory import WINDOW, after, work
from tests.strict_api import problems

from trimtab import Engine, ManualRequest
from trimtab.conversation.edits import Commit
from trimtab.outcome import Outcome
from trimtab.session import Session

# Effective 80,000: drafts from 64,000, spans take their places from 72,000, waiting from 76,000, target 68,000.


def record(number: int) -> str:
    return f"Record {number}: looked at six files, found nothing."


def collapsing(count: int = 9, **keywords: Any) -> tuple[Engine, Writer]:
    writer = Writer([record(number) for number in range(count)])
    return claude("-collapse", summarizer=writer, models=WINDOW, **keywords), writer


def talk(count: int = 40) -> list[Message]:
    return [user("Find the leak."), *work(count)]


def drafted(session: Session, messages: list[Message], tokens: int = 65_000) -> None:
    """Let the session write drafts of the spans."""
    [job] = after(session, messages, usage=used(tokens)).jobs
    job.run()


def at(session: Session, messages: list[Message], tokens: int, event: str = "before_request") -> Outcome:
    error = TOO_LONG if event == "overflow" else None
    return run(session, messages, event, usage=used(tokens), error=error)


def records(outcome: Outcome) -> list[int]:
    """Numbers of the records the request shows, in their order."""
    said = json.dumps(shown(outcome))
    places = {number: said.find(f"Record {number}:") for number in range(20)}
    return sorted((number for number in places if places[number] >= 0), key=lambda number: places[number])


def steps(outcome: Outcome) -> list[int]:
    """Numbers of the rounds the request shows."""
    said = words(outcome)
    return [number for number in range(99) if f'"Step {number}."' in said]


# --- R15


def test_r15_the_request_shows_records_in_the_spans_places_and_the_rest_as_it_was() -> None:
    engine, _ = collapsing()
    session = engine.session()
    messages = talk()
    drafted(session, messages)
    before = json.dumps(messages)
    outcome = at(session, messages, 73_000)
    assert verdict(outcome, "commit-drafts") == "committed"
    assert json.dumps(messages) == before
    shown_records = records(outcome)
    assert shown_records == list(range(len(shown_records)))
    folded = 6 * len(shown_records)
    assert steps(outcome) == list(range(folded, 40))
    assert not problems(shown(outcome))
    assert "Find the leak." in words(outcome)


def spans(session: Session) -> list[Commit]:
    """The commits of single spans, oldest first."""
    return [one for one in session.track.history.live() if one.stage == "commit-drafts"]


@pytest.mark.parametrize("undone", [0, 1])
def test_r15_each_span_can_be_brought_back_by_itself_and_stays(tmp_path: Path, undone: int) -> None:
    engine, _ = collapsing()
    session = engine.open_session(tmp_path)
    messages = talk(46)
    drafted(session, messages)
    outcome = at(session, messages, 78_000)
    assert records(outcome) == [0, 1]
    assert report(outcome, "commit-drafts").restorable == "transcript"
    commits = spans(session)
    assert len(commits) == 2
    session.undo(commits[undone].id)
    back = list(range(6 * undone, 6 * undone + 6))
    for opened in (session, engine.open_session(tmp_path)):
        outcome = run(opened, messages)
        assert records(outcome) == [1 - undone]
        assert steps(outcome) == sorted([*back, *range(12, 46)])
        assert not problems(shown(outcome))


def test_r15_with_all_spans_brought_back_the_request_is_the_transcript(tmp_path: Path) -> None:
    engine, _ = collapsing()
    session = engine.open_session(tmp_path)
    messages = talk(46)
    drafted(session, messages)
    at(session, messages, 78_000)
    for commit in spans(session):
        session.undo(commit.id)
    outcome = run(engine.open_session(tmp_path), messages, "tool_result")
    assert shown(outcome) == messages


def test_r15_the_same_bytes_after_a_resume(tmp_path: Path) -> None:
    engine, _ = collapsing()
    session = engine.open_session(tmp_path)
    messages = talk()
    drafted(session, messages)
    first = at(session, messages, 73_000)
    resumed = run(engine.open_session(tmp_path), [*messages, *work(1, 60)])
    assert shown(resumed)[: len(shown(first))] == shown(first)


# --- R16


def test_r16_drafts_are_written_ahead_in_the_background() -> None:
    engine, writer = collapsing()
    session = engine.session()
    assert after(session, talk(), usage=used(60_000)).jobs == ()
    outcome = after(session, talk(), usage=used(65_000))
    assert verdict(outcome, "collapse-draft") == "done"
    assert writer.asked == []
    assert shown(outcome)[: len(talk())] == talk()


@pytest.mark.parametrize(("tokens", "expected"), [(71_800, "skipped"), (72_000, "committed")])
def test_r16_spans_take_their_places_from_90_per_cent(tokens: int, expected: str) -> None:
    engine, writer = collapsing()
    session = engine.session()
    messages = talk()
    drafted(session, messages)
    asked = len(writer.asked)
    outcome = at(session, messages, tokens)
    assert verdict(outcome, "collapse") == expected
    assert len(writer.asked) == asked, "what is drafted is not written again"
    if expected == "committed":
        assert outcome.receipt.totals.tokens.after <= 68_500


@pytest.mark.parametrize(("tokens", "expected"), [(74_000, "nothing"), (76_000, "committed")])
def test_r16_at_95_per_cent_the_call_waits_until_there_is_room(tokens: int, expected: str) -> None:
    engine, writer = collapsing()
    outcome = at(engine.session(), talk(), tokens)
    assert verdict(outcome, "collapse") == expected
    assert len(writer.asked) == len(records(outcome))
    if expected == "committed":
        assert outcome.receipt.totals.tokens.after <= 69_000
        assert outcome.send


def test_r16_while_it_is_on_automatic_compaction_stays_quiet() -> None:
    engine, _ = collapsing()
    session = engine.session()
    messages = talk()
    for tokens in (68_000, 73_000, 76_500):
        assert verdict(at(session, messages, tokens), "autocompact") == "skipped"


def test_r16_on_overflow_all_that_is_drafted_is_drained_first_and_once() -> None:
    engine, _ = collapsing()
    session = engine.session()
    messages = talk()
    drafted(session, messages)
    outcome = at(session, messages, 60_000, "overflow")
    assert verdict(outcome, "drain") == "committed"
    assert verdict(outcome, "autocompact") == "skipped"
    folded = 6 * len(records(outcome))
    assert folded >= 30, "all of it, not only as much as 85 per cent need"
    assert steps(outcome) == list(range(folded, 40))
    assert outcome.send
    again = at(session, messages, 60_000, "overflow")
    assert verdict(again, "collapse") == "skipped"


def test_r16_without_drafts_an_overflow_is_compacted() -> None:
    engine = claude("-collapse", [ANSWER], models=WINDOW)
    outcome = at(engine.session(), talk(), 60_000, "overflow")
    assert verdict(outcome, "collapse") == "nothing"
    assert verdict(outcome, "full-summary") == "committed"


def test_r16_a_manual_summary_works_while_it_is_on() -> None:
    engine = claude("-collapse", [ANSWER], models=WINDOW)
    outcome = run(engine, talk(), "manual", request=ManualRequest())
    assert verdict(outcome, "full-summary") == "committed"


def test_r16_without_the_setting_nothing_is_collapsed() -> None:
    writer = Writer([])
    outcome = run(claude("-reactive", summarizer=writer, models=WINDOW), talk(), usage=used(76_500))
    assert verdict(outcome, "collapse") == "skipped"
    assert writer.asked == []
