"""What a run leaves for the host to reset (REFERENCE R31, R38; FAULTS E3), and facts that could not be had."""

from __future__ import annotations

from typing import Any

from tests.scenes import read, says, user
from tests.session.hosts import MODEL
from tests.session.packs import engine_of

from trimtab import Cleared, Facts, FileStates, Request

PACK = """
format: 1
name: reads
version: 1.0.0
tools: {read: [Read]}
facts: {files: {key: path, from: [{tools: [read], take: {path: /file_path}, set: {read: true}}]}}
stages:
  - {id: clear, kind: replace, at: [before_request], select: {blocks: [tool_result], size: {chars: {above: 20}}},
     keep: {newest: {items: 1}}, text: "[cleared]"}
  - {id: fold, kind: summarize, at: [manual], keep: {newest: {turns: 1}}, text: "Summary."}
  - {id: note, kind: attach, at: [before_request], from: [{fact: goal, repeat: changed}]}
"""


def conversation() -> list[Any]:
    reads = [message for name in "abc" for message in read(name, f"/{name}.py", f"{name} " * 50)]
    return [user("go"), *reads, says("done"), user("next")]


def test_r31_the_outcome_names_the_reads_that_are_void() -> None:
    session, states = engine_of(PACK).session(), FileStates()
    for name in "abc":
        states.put(f"/{name}.py", f"{name} " * 50)
    outcome = session.run(Request(MODEL, conversation()))
    assert outcome.cleared == Cleared(("a", "b"), ("/a.py", "/b.py"))
    states.forget(outcome.cleared)
    assert [state.path for state in states] == ["/c.py"]
    assert session.run(Request(MODEL, conversation())).cleared == Cleared()


def test_r31_a_full_compaction_voids_every_read_state() -> None:
    session = engine_of(PACK).session()
    outcome = session.run(Request(MODEL, conversation()), "manual")
    assert outcome.receipt.totals.commits == 1
    assert outcome.cleared == Cleared(("a", "b", "c"), ("/a.py", "/b.py", "/c.py"), compacted=True)


def test_a_dry_run_says_what_would_be_void() -> None:
    session = engine_of(PACK).session()
    told = session.explain(Request(MODEL, conversation())).cleared
    assert told == session.run(Request(MODEL, conversation())).cleared


def test_a_provider_that_failed_is_a_problem_of_the_receipt() -> None:
    def goal() -> str:
        raise OSError("the disk is gone")

    outcome = engine_of(PACK).session().run(Request(MODEL, conversation()), facts=Facts(goal=goal))
    assert [(one.code, one.where) for one in outcome.problems] == [("fact-failed", "goal")]
    assert "the disk is gone" in outcome.problems[0].message
    assert outcome.send


def test_r40_a_session_gives_the_account_of_a_request() -> None:
    session = engine_of(PACK).session()
    request = Request(MODEL, conversation())
    before = session.account(request)
    outcome = session.run(request)
    assert (before.tokens, session.account(request).tokens) == (
        outcome.receipt.totals.tokens.before,
        outcome.receipt.totals.tokens.after,
    )
