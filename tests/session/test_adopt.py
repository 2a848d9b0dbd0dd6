"""What background jobs have written is journalled without a run: for hosts that will not run again in this process."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from tests.session.hosts import MODEL
from tests.session.packs import engine_of
from tests.session.test_jobs import MEMORY, PLAIN, memory_session, next_user, run, shown, talk

from trimtab import Engine, Facts, Request
from trimtab.journal import DiskJournal
from trimtab.records import Fail, Note, RunRecord
from trimtab.session import Session
from trimtab.summarizers.canned import CannedSummarizer
from trimtab.tokens import estimate

FACTS = Facts(now=1e9, caller="main")


def engine(*answers: Any) -> Engine:
    return engine_of(MEMORY, summarizer=CannedSummarizer(answers))


def request(messages: list[dict[str, Any]]) -> Request:
    return Request(MODEL, messages)


def written(session: Session, messages: list[dict[str, Any]]) -> None:
    """The session's job has begun and ended."""
    run(session, messages, "after_response").jobs[0].run()


def test_notes_adopted_here_are_used_by_another_process(tmp_path: Path) -> None:
    messages = talk("a", "b", "c")
    session = engine(PLAIN).open_session(tmp_path)
    written(session, messages)
    (report,) = session.adopt(request(messages), FACTS)
    assert (report.id, report.verdict, report.items) == ("memory", "done", 1)
    assert report.remarks["written"] == {"chars": len(PLAIN), "tokens": round(1.25 * estimate(PLAIN))}
    later = run(engine().open_session(tmp_path), [*messages, next_user()])
    assert later.receipt.stage("from-memory").verdict == "committed"
    assert shown(later) == ["look at c", PLAIN, "c is fine", "go on"]


def test_the_journal_gains_the_note_and_no_run(tmp_path: Path) -> None:
    session = engine(PLAIN).open_session(tmp_path)
    written(session, talk("a", "b"))
    session.adopt(request(talk("a", "b")), FACTS)
    kinds = [type(record) for record in DiskJournal.read(tmp_path).records()]
    assert kinds == [RunRecord, Note]


def test_the_next_run_of_the_same_session_does_not_take_it_over_again() -> None:
    session = memory_session(PLAIN)
    messages = talk("a", "b", "c")
    written(session, messages)
    session.adopt(request(messages), FACTS)
    later = run(session, [*messages, next_user()])
    assert later.receipt.jobs == ()
    assert later.receipt.stage("from-memory").verdict == "committed"
    assert session.adopt(request(messages), FACTS) == ()


def test_a_job_that_failed_is_journalled_with_its_reason(tmp_path: Path) -> None:
    session = engine({"fail": "error", "message": "the line is down"}).open_session(tmp_path)
    written(session, talk("a", "b"))
    (report,) = session.adopt(request(talk("a", "b")), FACTS)
    assert report.verdict == "failed"
    assert "the line is down" in (report.reason or "")
    assert DiskJournal.read(tmp_path).records()[-1] == Fail("memory", 2, "error")


def test_notes_about_messages_that_are_gone_are_void() -> None:
    session = memory_session(PLAIN)
    written(session, talk("a", "b"))
    (report,) = session.adopt(request(talk("z")), FACTS)
    assert report.verdict == "refused"
    assert session.track.history.notes == {}


def test_a_job_that_has_not_ended_stays() -> None:
    session = memory_session(PLAIN)
    job = run(session, talk("a", "b"), "after_response").jobs[0]
    assert session.adopt(request(talk("a", "b")), FACTS) == ()
    job.run()
    assert len(session.adopt(request(talk("a", "b")), FACTS)) == 1


def test_adopting_leaves_the_conversation_as_it_was() -> None:
    adopting, steady = memory_session(PLAIN), memory_session(PLAIN)
    messages = talk("a", "b", "c")
    for session in (adopting, steady):
        written(session, messages)
    longer = [*messages, *talk("d")]
    adopting.adopt(request(copy.deepcopy(longer)), FACTS)
    ends = [run(session, [*messages, next_user()]) for session in (adopting, steady)]
    assert shown(ends[0]) == shown(ends[1])
    assert ends[0].receipt.run == ends[1].receipt.run


def test_another_process_that_wrote_meanwhile_is_read_first(tmp_path: Path) -> None:
    messages = talk("a", "b", "c")
    session = engine(PLAIN).open_session(tmp_path)
    written(session, messages)
    run(engine().open_session(tmp_path), messages, "idle")
    (report,) = session.adopt(request(messages), FACTS)
    assert report.verdict == "done"
    assert isinstance(DiskJournal.read(tmp_path).records()[-1], Note)


def test_what_was_not_to_be_had_says_so() -> None:
    session = engine_of(MEMORY).session()
    written(session, talk("a", "b"))
    (report,) = session.adopt(request(talk("a", "b")), FACTS)
    assert report.reason is not None
    assert "no summarizer is given" in report.reason
    with pytest.raises(ValueError, match=r"a request is a trimtab.Request"):
        session.adopt({"messages": []})  # type: ignore[arg-type]
