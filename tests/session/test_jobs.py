"""Notes between runs: background jobs handed out and taken over, notes in the journal, summaries made from them."""

from __future__ import annotations

import asyncio
import copy
import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.session.hosts import MODEL, JsonJournal, told_the_same
from tests.session.packs import engine_of
from tests.strict_api import problems

from trimtab import Engine, Facts, Request
from trimtab.data import data_root
from trimtab.effects import AskFailed, HookReply, Question, Reply
from trimtab.journal import DiskJournal
from trimtab.records import Note
from trimtab.session import Session
from trimtab.store import MemoryStore
from trimtab.summarizers.canned import CannedSummarizer

HEAD = """
format: 1
name: notes
version: 1.0.0
"""
MEMORY = (
    HEAD
    + """
settings: {room: 400}
stages:
  - {id: memory, kind: notes, at: [after_response], background: true, prompt: notes/ten-sections.md.j2,
     when: {since: {tokens: {at_least: 100}}}}
  - id: compact
    kind: first_of
    at: {before_request: {tokens: {at_least: room}}, manual: {}}
    stages:
      - {id: from-memory, kind: summarize, notes: memory, wait_seconds: 5, keep: {newest: {rounds: 1}}}
      - {id: ledger, kind: summarize, when: {failure: [vetoed]}, text: "vetoed"}
"""
)
FOREGROUND = MEMORY.replace("background: true, ", "").replace("wait_seconds: 5, ", "")
COLLAPSE = (
    HEAD
    + """
stages:
  - {id: draft, kind: notes, at: [after_response], background: true, spans: {rounds: 2}, keep: {newest: {rounds: 2}},
     prompt: collapse/span.md.j2}
  - {id: collapse, kind: summarize, notes: draft, spans: {rounds: 2}, keep: {newest: {rounds: 2}}}
"""
)
PLAIN = "# Title\nThe leak.\n# Task\nFind it"


def talk(*names: str, size: int = 40) -> list[dict[str, Any]]:
    """Turns with one call each."""
    out: list[dict[str, Any]] = []
    for name in names:
        call = {"type": "tool_use", "id": name, "name": "Read", "input": {"path": name}}
        result = {"type": "tool_result", "tool_use_id": name, "content": f"line of {name} " * size}
        out += [
            {"role": "user", "content": f"look at {name}"},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
            {"role": "assistant", "content": [{"type": "text", "text": f"{name} is fine"}]},
        ]
    return out


def next_user(text: str = "go on") -> dict[str, Any]:
    return {"role": "user", "content": text}


def run(session: Session, messages: Sequence[Any], event: str = "before_request", **facts: Any) -> Any:
    return session.run(Request(MODEL, list(messages)), event, Facts(now=1e9, caller="main", **facts))


def shown(outcome: Any) -> list[str]:
    out = []
    for message in outcome.request.messages:
        content = message["content"]
        out.append(content if isinstance(content, str) else str(content[0].get("text", content[0]["type"])))
    return out


def memory_session(*answers: Any, pack: str = MEMORY, **keywords: Any) -> Session:
    return engine_of(pack, summarizer=CannedSummarizer(answers), **keywords).session()


# --- jobs


def test_a_job_is_handed_out_and_what_it_wrote_is_used_by_a_later_run() -> None:
    session = memory_session(PLAIN)
    messages = talk("a", "b", "c")
    outcome = run(session, messages, "after_response")
    assert [job.stage for job in outcome.jobs] == ["memory"]
    assert outcome.receipt.stage("memory").verdict == "done"
    assert session.track.history.notes == {}
    outcome.jobs[0].run()
    assert outcome.jobs[0].state == "ended"
    later = run(session, [*messages, next_user()])
    assert [(job.id, job.verdict, job.items) for job in later.receipt.jobs] == [("memory", "done", 1)]
    assert later.receipt.stage("from-memory").verdict == "committed"
    assert shown(later) == ["look at c", PLAIN, "c is fine", "go on"]
    assert session.track.history.notes["memory"] == Note(
        "memory", 12, session.track.history.notes["memory"].store, 1
    )


def test_a_job_that_nobody_runs_leaves_no_trace_and_gives_way_to_the_next() -> None:
    session = memory_session(PLAIN)
    first = run(session, talk("a"), "after_response").jobs[0]
    second = run(session, talk("a", "b"), "after_response").jobs[0]
    assert first.state == "void"
    first.run()
    assert first.result is None
    second.run()
    run(session, talk("a", "b"), "idle")
    assert session.track.history.notes["memory"].upto == 8


class Slow:
    """Answers when it is let."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.asked = threading.Event()
        self.go = threading.Event()

    def answer(self, question: Question) -> Reply:
        self.asked.set()
        assert self.go.wait(10)
        return Reply(self.text)

    async def aanswer(self, question: Question) -> Reply:
        return await asyncio.to_thread(self.answer, question)


def test_a_stage_has_one_job_at_a_time_and_a_run_waits_for_it() -> None:
    slow = Slow(PLAIN)
    session = engine_of(MEMORY, summarizer=slow).session()
    messages = talk("a", "b", "c")
    job = run(session, messages, "after_response").jobs[0]
    thread = threading.Thread(target=job.run)
    thread.start()
    assert slow.asked.wait(5)
    more = [*messages, *talk("d")]
    busy = run(session, more, "after_response")
    assert busy.receipt.stage("memory").reason == "its background job has not ended yet"
    assert busy.jobs == ()
    threading.Timer(0.1, slow.go.set).start()
    waited = run(session, [*more, next_user()])
    thread.join()
    assert waited.receipt.stage("from-memory").verdict == "committed"
    assert shown(waited)[1] == PLAIN
    # What was waited for is taken over like any other job.
    assert [job.verdict for job in run(session, [*more, next_user()]).receipt.jobs] == ["done"]


def test_a_job_that_was_not_begun_is_not_waited_for() -> None:
    session = memory_session(PLAIN, pack=MEMORY.replace("wait_seconds: 5", "wait_seconds: 500"))
    run(session, talk("a", "b", "c"), "after_response")
    outcome = run(session, [*talk("a", "b", "c"), next_user()])
    assert outcome.receipt.stage("from-memory").verdict == "nothing"
    assert outcome.receipt.stage("from-memory").reason == "`memory` has written nothing yet"


def test_async_jobs_and_runs_work_in_one_loop() -> None:
    async def play_it() -> Any:
        slow = Slow(PLAIN)
        session = engine_of(MEMORY, summarizer=slow).session()
        messages = talk("a", "b", "c")
        outcome = await session.arun(Request(MODEL, messages), "after_response", Facts(now=1e9))
        task = asyncio.create_task(outcome.jobs[0].arun())
        await asyncio.to_thread(slow.asked.wait, 5)
        asyncio.get_running_loop().call_later(0.1, slow.go.set)
        later = await session.arun(Request(MODEL, [*messages, next_user()]), facts=Facts(now=1e9))
        await task
        return later

    assert shown(asyncio.run(play_it()))[1] == PLAIN


def test_a_cancelled_job_may_be_run_again() -> None:
    async def cancel(job: Any, slow: Slow) -> None:
        task = asyncio.create_task(job.arun())
        await asyncio.to_thread(slow.asked.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        slow.go.set()

    slow = Slow(PLAIN)
    session = engine_of(MEMORY, summarizer=slow).session()
    job = run(session, talk("a", "b", "c"), "after_response").jobs[0]
    asyncio.run(cancel(job, slow))
    assert job.state == "waiting"
    job.run()
    assert job.state == "ended"


def test_notes_of_messages_that_have_changed_are_void_and_the_receipt_says_so() -> None:
    session = memory_session(PLAIN)
    messages = talk("a", "b", "c")
    job = run(session, messages, "after_response").jobs[0]
    changed = copy.deepcopy(messages)
    changed[0]["content"] = "something else"
    job.run()
    outcome = run(session, [*changed, next_user()])
    [report] = outcome.receipt.jobs
    assert report.verdict == "refused"
    assert report.reason == "void: message 1, which it had read, was changed or is not on this branch"
    assert session.track.history.notes == {}
    assert run(session, [*changed, next_user()]).receipt.jobs == ()


def test_notes_of_a_branch_that_was_left_are_void() -> None:
    session = memory_session(PLAIN)
    job = run(session, talk("a", "b", "c"), "after_response").jobs[0]
    job.run()
    outcome = run(session, [*talk("a"), next_user("another way")])
    assert outcome.receipt.jobs[0].verdict == "refused"


@pytest.mark.parametrize("deep", [False, True])
def test_a_job_is_taken_over_although_the_host_feeds_our_view_back(deep: bool) -> None:
    pack = MEMORY + (
        '  - {id: early, kind: summarize, at: [before_request], text: "Early.", keep: {newest: {rounds: 3}}}\n'
    )
    session = memory_session(PLAIN, pack=pack.replace("room: 400", "room: 700"))
    job = run(session, talk("a", "b", "c"), "after_response").jobs[0]
    early = run(session, [*talk("a", "b", "c"), next_user()])
    assert early.receipt.stage("early").verdict == "committed"
    job.run()
    fed = list(early.request.messages)
    more = [*(json.loads(json.dumps(fed)) if deep else fed), *talk("d", "e", "f")[1:], next_user()]
    outcome = run(session, more)
    assert outcome.receipt.jobs[0].verdict == "done"
    assert outcome.receipt.stage("from-memory").verdict == "committed"


def test_a_job_that_fails_counts_for_the_breaker_and_notes_reset_it() -> None:
    pack = MEMORY.replace("background: true,", "background: true, breaker: {failures: 2},")
    session = memory_session("unavailable", PLAIN, "unavailable", "unavailable", pack=pack)
    names: list[str] = []
    verdicts = []
    for name in "abcdefg":
        names.append(name)
        outcome = run(session, talk(*names), "after_response")
        verdicts.append(outcome.receipt.stage("memory").verdict)
        for job in outcome.jobs:
            job.run()
    assert verdicts == ["done", "done", "done", "done", "skipped", "skipped", "skipped"]


def test_what_a_job_cost_is_in_the_receipt_of_the_run_that_takes_it_over() -> None:
    session = memory_session(PLAIN)
    run(session, talk("a", "b", "c"), "after_response").jobs[0].run()
    [report] = run(session, talk("a", "b", "c"), "idle").receipt.jobs
    assert [(call.purpose, call.problem) for call in report.calls] == [("notes", None)]
    schema = json.loads((data_root() / "schemas" / "receipt.schema.json").read_text("utf-8"))
    jsonschema.validate(run(session, talk("a"), "idle").receipt.as_dict(), schema)


def test_a_receipt_with_jobs_fits_its_schema() -> None:
    session = memory_session(PLAIN)
    run(session, talk("a", "b", "c"), "after_response").jobs[0].run()
    receipt = run(session, talk("a", "b", "c"), "idle").receipt.as_dict()
    assert receipt["jobs"][0]["verdict"] == "done"
    schema = json.loads((data_root() / "schemas" / "receipt.schema.json").read_text("utf-8"))
    jsonschema.validate(receipt, schema)


def test_since_counts_from_what_the_notes_were_written_from() -> None:
    session = memory_session(PLAIN, PLAIN + " soon")
    messages = talk("a", "b")
    run(session, messages, "after_response").jobs[0].run()
    assert run(session, messages, "after_response").receipt.stage("memory").verdict == "skipped"
    more = [*messages, *talk("c")]
    assert run(session, more, "after_response").receipt.stage("memory").verdict == "done"


def test_explain_shows_what_a_job_would_write_and_begins_none() -> None:
    session = memory_session(PLAIN)
    told = session.explain(Request(MODEL, talk("a", "b", "c")), "after_response", Facts(now=1e9))
    report = told.receipt.stage("memory")
    assert (report.verdict, report.assumed) == ("done", True)
    assert report.reason == "would be written by a background job"
    assert told.jobs == ()
    assert session.journal.records() == []
    assert run(session, talk("a", "b", "c"), "after_response").jobs[0].state == "waiting"


def test_explain_takes_over_nothing() -> None:
    session = memory_session(PLAIN)
    messages = talk("a", "b", "c")
    run(session, messages, "after_response").jobs[0].run()
    told = session.explain(Request(MODEL, [*messages, next_user()]), facts=Facts(now=1e9))
    assert told.receipt.stage("from-memory").verdict == "committed"
    assert session.track.history.notes == {}
    assert run(session, [*messages, next_user()]).receipt.stage("from-memory").verdict == "committed"


def test_what_goes_on_in_the_session_does_not_reach_a_job_that_was_begun() -> None:
    summarizer = CannedSummarizer([PLAIN])
    session = engine_of(MEMORY, summarizer=summarizer).session()
    messages = talk("a", "b", "c")
    job = run(session, messages, "after_response").jobs[0]
    run(session, [*messages, *talk("d"), next_user()])
    job.run()
    request = summarizer.asked[0].request
    assert request is not None
    assert list(request.messages) == messages


# --- lasting sessions


def test_notes_last_and_the_journal_fits_its_schema(tmp_path: Path) -> None:
    engine = engine_of(MEMORY, summarizer=CannedSummarizer([PLAIN]))
    session = engine.open_session(tmp_path)
    messages = talk("a", "b", "c")
    run(session, messages, "after_response").jobs[0].run()
    run(session, messages, "idle")
    again = engine.open_session(tmp_path)
    outcome = run(again, [*messages, next_user()])
    assert outcome.receipt.stage("from-memory").verdict == "committed"
    schema = json.loads((data_root() / "schemas" / "journal.schema.json").read_text("utf-8"))
    lines = (tmp_path / "journal.jsonl").read_text("ascii").splitlines()
    for line in lines:
        jsonschema.validate(json.loads(line), schema)
    assert [json.loads(line)["run"] for line in lines if json.loads(line)["t"] == "note"] == [1]


def test_a_result_that_was_not_taken_over_is_lost_with_its_process_and_nothing_else(tmp_path: Path) -> None:
    engine = engine_of(MEMORY, summarizer=CannedSummarizer([PLAIN, PLAIN]))
    messages = talk("a", "b", "c")
    run(engine.open_session(tmp_path), messages, "after_response").jobs[0].run()
    again = engine.open_session(tmp_path)
    outcome = run(again, messages, "after_response")
    assert outcome.receipt.jobs == ()
    assert outcome.receipt.stage("memory").verdict == "done"


def test_a_second_process_that_writes_meanwhile_costs_no_notes(tmp_path: Path) -> None:
    engine = engine_of(MEMORY, summarizer=CannedSummarizer([PLAIN]))
    one, other = engine.open_session(tmp_path), engine.open_session(tmp_path)
    messages = talk("a", "b", "c")
    job = run(one, messages, "after_response").jobs[0]
    job.run()
    run(other, messages, "idle")
    outcome = run(one, [*messages, next_user()])
    assert [report.verdict for report in outcome.receipt.jobs] == ["done"]
    assert outcome.receipt.stage("from-memory").verdict == "committed"
    notes = [record for record in DiskJournal.read(tmp_path).records() if isinstance(record, Note)]
    assert len(notes) == 1


def test_older_notes_than_another_process_has_written_are_void(tmp_path: Path) -> None:
    engine = engine_of(MEMORY, summarizer=CannedSummarizer([PLAIN, PLAIN + " now"]))
    one, other = engine.open_session(tmp_path), engine.open_session(tmp_path)
    messages = talk("a", "b", "c")
    first = run(one, messages, "after_response").jobs[0]
    more = [*messages, *talk("d")]
    run(other, more, "after_response").jobs[0].run()
    run(other, more, "idle")
    first.run()
    [report] = run(one, more, "idle").receipt.jobs
    assert report.verdict == "refused"
    assert report.reason == "void: notes from run 2 are there already"


# --- in the foreground


def test_notes_in_the_foreground_are_kept_by_the_run_itself() -> None:
    session = memory_session(PLAIN, pack=FOREGROUND)
    messages = talk("a", "b", "c")
    outcome = run(session, messages, "after_response")
    assert outcome.jobs == ()
    assert outcome.receipt.stage("memory").verdict == "done"
    assert outcome.receipt.totals.commits == 0
    assert run(session, [*messages, next_user()]).receipt.stage("from-memory").verdict == "committed"


def test_a_summary_may_use_notes_of_the_same_run() -> None:
    pack = FOREGROUND.replace("at: [after_response]", "at: [before_request]")
    session = memory_session(PLAIN, pack=pack)
    outcome = run(session, [*talk("a", "b", "c"), next_user()])
    assert [report.verdict for report in outcome.receipt.stages] == ["done", "committed"]
    told = memory_session(PLAIN, pack=pack).explain(Request(MODEL, [*talk("a", "b", "c"), next_user()]))
    assert told.receipt.stage("memory").verdict == "done"


def test_a_run_that_fails_keeps_no_notes() -> None:
    pack = FOREGROUND + (
        "  - {id: broken, kind: summarize, at: [after_response], prompt: collapse/span.md.j2, on_failure: raise}\n"
    )
    session = memory_session(PLAIN, "unavailable", pack=pack)
    with pytest.raises(RuntimeError, match="broken"):
        run(session, talk("a", "b", "c"), "after_response")
    assert session.track.history.notes == {}
    assert session.journal.records() == []


class Telling:
    """Answers every question from its words alone, so that equal questions get equal answers."""

    def answer(self, question: Question) -> Reply:
        told = json.dumps([question.prompt, list(question.request.messages if question.request else ())])
        return Reply(f"# Title\nNotes of {len(told)} characters, {sum(map(ord, told)) % 9973}.")

    async def aanswer(self, question: Question) -> Reply:
        return self.answer(question)


NOTING = """
  - {id: memory, kind: notes, at: [before_request], keep: {newest: {rounds: 1}}, prompt: notes/ten-sections.md.j2,
     when: {since: {messages: {at_least: 3}}}}
  - {id: from-memory, kind: summarize, at: {before_request: {messages: {at_least: 9}}}, notes: memory,
     keep: {newest: {messages: 3}}}
"""
SPANNING = """
  - {id: draft, kind: notes, at: [before_request], spans: {rounds: 2}, keep: {newest: {rounds: 1}},
     prompt: collapse/span.md.j2}
  - {id: collapse, kind: summarize, at: {before_request: {messages: {at_least: 8}}}, notes: draft, spans: {rounds: 2},
     keep: {newest: {rounds: 1}}}
"""
CLEARING = """
  - {id: clear, kind: replace, select: {blocks: [tool_result], size: {chars: {above: 10}}}, keep: {newest: {items: 3}},
     accept: {items: {at_least: 4}}, text: "[cleared]"}
"""


KEEPING = [NOTING, SPANNING, CLEARING + NOTING, CLEARING + SPANNING]


def same_bytes(stages: str, number: int) -> bool:
    """Whether the last stage committed anything in this conversation; all hosts must be told the same."""
    host = told_the_same(engine_of(HEAD + "stages:" + stages, summarizer=Telling()), number)
    return any(outcome.receipt.stages[-1].verdict == "committed" for outcome in host.outcomes)


@pytest.mark.parametrize("stages", KEEPING)
def test_four_kinds_of_host_get_the_same_bytes_where_notes_are_kept(stages: str) -> None:
    assert sum(same_bytes(stages, number) for number in range(6)) >= 3


@pytest.mark.long
@pytest.mark.parametrize("stages", KEEPING)
def test_four_kinds_of_host_get_the_same_bytes_where_notes_are_kept_over_many_conversations(
    stages: str,
) -> None:
    for number in range(6, 200):
        same_bytes(stages, number)


# --- collapse


def collapsed(folder: Path | None = None) -> tuple[Session, list[dict[str, Any]], Any]:
    """A session with three spans of two rounds put in place, and the last run's outcome."""
    engine = engine_of(COLLAPSE, summarizer=CannedSummarizer([f"Span {n}." for n in range(9)]))
    session = engine.session() if folder is None else engine.open_session(folder)
    messages = [*talk("a", "b", "c", "d"), next_user()]
    run(session, messages[:-1], "after_response").jobs[0].run()
    return session, messages, run(session, messages)


def test_spans_are_committed_one_by_one() -> None:
    session, _, outcome = collapsed()
    report = outcome.receipt.stage("collapse")
    assert report.verdict == "committed"
    assert report.remarks["commits"] == [commit.id for commit in session.track.history.commits]
    assert len(report.remarks["commits"]) == 3
    assert [text for text in shown(outcome) if text.startswith("Span")] == ["Span 0.", "Span 1.", "Span 2."]
    assert not problems(list(outcome.request.messages), prefill=False)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_each_span_can_be_undone_alone_and_the_stage_keeps_off(number: int) -> None:
    session, messages, outcome = collapsed()
    commits = outcome.receipt.stage("collapse").remarks["commits"]
    covers = session.track.history.commits[number].edits[0].covers  # type: ignore[union-attr]  # a splice
    session.undo(commits[number])
    again = run(session, messages)
    out = list(again.request.messages)
    for serial in covers:
        assert messages[serial - 1] in out
    spans = [text for text in shown(again) if text.startswith("Span")]
    assert spans == [f"Span {n}." for n in range(3) if n != number]
    assert again.receipt.totals.commits == 0
    assert not problems(out, prefill=False)


def test_all_spans_undone_are_the_transcript(tmp_path: Path) -> None:
    session, messages, outcome = collapsed(tmp_path)
    for name in outcome.receipt.stage("collapse").remarks["commits"]:
        session.undo(name)
    assert list(run(session, messages).request.messages) == messages
    again = session.engine.open_session(tmp_path)
    assert list(run(again, messages).request.messages) == messages


def test_collapsed_spans_come_back_the_same_after_a_restart(tmp_path: Path) -> None:
    session, messages, outcome = collapsed(tmp_path)
    again = session.engine.open_session(tmp_path)
    assert json.dumps(list(run(again, messages).request.messages)) == json.dumps(
        list(outcome.request.messages)
    )


def test_spans_that_the_host_has_changed_are_void_one_by_one() -> None:
    engine = engine_of(COLLAPSE, summarizer=CannedSummarizer([f"Span {n}." for n in range(9)]))
    session = engine.session()
    messages = [*talk("a", "b", "c", "d"), next_user()]
    run(session, messages[:-1], "after_response").jobs[0].run()
    changed = copy.deepcopy(messages)
    changed[2]["content"][0]["content"] = "another result " * 40
    outcome = run(session, changed)
    [report] = outcome.receipt.jobs
    assert report.verdict == "done"
    assert report.items == 2
    assert str(report.reason).startswith("begun in run 1; 1 of 3 void: message 3")
    assert [text for text in shown(outcome) if text.startswith("Span")] == ["Span 1.", "Span 2."]


# --- hooks


def hooked(said: Mapping[str, HookReply | None], pack: str, *answers: Any) -> Session:
    return memory_session(*answers, pack=pack, hooks=lambda moment, stage, text: said.get(moment))


def test_a_veto_reaches_the_next_child_as_the_failure() -> None:
    session = hooked({"before_summary": HookReply(veto="not now")}, FOREGROUND, PLAIN)
    messages = talk("a", "b", "c")
    run(session, messages, "after_response")
    outcome = run(session, [*messages, next_user()])
    compact = outcome.receipt.stage("compact")
    assert [child.verdict for child in compact.children] == ["refused", "refused"]
    assert compact.children[1].reason == "vetoed: not now"
    assert compact.verdict == "nothing"


TOLD = (
    FOREGROUND
    + """
  - {id: hook, kind: attach, when: {committed: [compact]},
     from: [{fact: hook_results, text: "{% for item in items %}Hook: {{ item.text }}{% endfor %}"}]}
  - {id: later, kind: attach, at: [idle],
     from: [{fact: hook_results, repeat: changed, text: "Still: {{ items[0].text }}"}]}
"""
)


def test_what_a_hook_says_after_a_summary_is_a_fact_of_this_run_and_of_later_ones(tmp_path: Path) -> None:
    said = {"after_summary": HookReply(text="branch main")}
    engine = engine_of(
        TOLD,
        summarizer=CannedSummarizer([PLAIN]),
        hooks=lambda moment, stage, text: said.get(moment),
        store=MemoryStore(),
    )
    session = Session(engine, JsonJournal())
    messages = talk("a", "b", "c")
    run(session, messages, "after_response")
    outcome = run(session, [*messages, next_user()])
    assert "Hook: branch main" in shown(outcome)
    again = Session(engine, session.journal)
    assert "Still: branch main" in shown(run(again, [*messages, next_user()], "idle"))


def test_the_hosts_own_hook_results_win() -> None:
    session = hooked({"after_summary": HookReply(text="branch main")}, TOLD, PLAIN)
    messages = talk("a", "b", "c")
    run(session, messages, "after_response")
    outcome = run(session, [*messages, next_user()], hook_results="from the host")
    assert "Hook: from the host" in shown(outcome)


def test_an_answer_that_is_no_summarizers_text_is_a_failure_of_the_job() -> None:
    class Broken:
        def answer(self, question: Question) -> Reply:
            raise AskFailed("refusal", "no")

        async def aanswer(self, question: Question) -> Reply:
            raise AskFailed("refusal", "no")

    session = Engine(engine_of(MEMORY).pack, summarizer=Broken()).session()
    job = run(session, talk("a", "b", "c"), "after_response").jobs[0]
    asyncio.run(job.arun())
    assert job.result is not None
    assert job.result.failure == "refusal"
    assert run(session, talk("a", "b", "c"), "idle").receipt.jobs[0].verdict == "failed"
