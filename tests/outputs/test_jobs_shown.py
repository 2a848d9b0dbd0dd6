"""The printed receipt of background jobs, and of a proposal that is several commits."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console
from tests.session.test_jobs import PLAIN, collapsed, memory_session, run, talk

from trimtab.outputs.receipt import job_line, restorable, show_rest
from trimtab.receipt import StageReport


def printed(outcome: Any) -> str:
    out = io.StringIO()
    show_rest(outcome.receipt, Console(file=out, width=200))
    return out.getvalue()


def test_a_job_that_was_taken_over_has_a_line_with_its_reason() -> None:
    session = memory_session(PLAIN)
    run(session, talk("a", "b", "c"), "after_response").jobs[0].run()
    size = f"{len(PLAIN)} characters, "
    assert f"memory: written, {size}" in printed(run(session, talk("a", "b", "c"), "idle"))


def test_a_job_that_is_void_has_one_too() -> None:
    session = memory_session(PLAIN)
    run(session, talk("a", "b", "c"), "after_response").jobs[0].run()
    assert "memory: refused, void: message" in printed(run(session, talk("z"), "idle"))


def test_each_of_several_commits_has_the_command_that_undoes_it() -> None:
    outcome = collapsed()[2]
    lines = restorable(outcome.receipt, "work")
    for name in outcome.receipt.stage("collapse").remarks["commits"]:
        assert sum(line.endswith(f"trimtab undo work {name}") for line in lines) == 1


def test_notes_of_a_session_in_memory_are_said_to_end_with_it_and_others_not() -> None:
    session = memory_session(PLAIN)
    run(session, talk("a", "b", "c"), "after_response").jobs[0].run()
    receipt = run(session, talk("a", "b", "c"), "idle").receipt
    out = io.StringIO()
    show_rest(receipt, Console(file=out, width=200), "work")
    assert "begun in run 1" in out.getvalue()
    assert "kept in memory only" not in out.getvalue()


def test_several_texts_of_one_job_are_counted() -> None:
    job = StageReport("draft", "notes", "done", items=2, remarks={"written": {"chars": 2100, "tokens": 1}})
    assert job_line(job) == "draft: 2 texts written, 2,100 characters, 1 token"
