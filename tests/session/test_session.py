"""One run after the other: dry runs, failures, second runs, busy sessions, conflicts, async ports."""

from __future__ import annotations

import asyncio
import copy
import json
from pathlib import Path
from typing import Any

import pytest
from tests.session.hosts import MODEL, JsonJournal, play
from tests.session.packs import LAYERS, engine_of
from tests.session.test_jobs import PLAIN, memory_session, talk
from tests.session.test_undo_restore import CLEAR, bodies, calls, run

from trimtab import Engine, Facts, Info, InvalidRequest, Request, SessionBusy, Usage
from trimtab.effects import Question, Reply
from trimtab.journal import DiskJournal
from trimtab.session import Session
from trimtab.store import MemoryStore


def verdicts(outcome: Any) -> list[tuple[Any, ...]]:
    return [(s.id, s.verdict, s.items, s.tokens, s.spots) for s in outcome.receipt.stages]


def test_explain_says_what_the_run_then_does_and_changes_nothing(tmp_path: Path) -> None:
    session = engine_of(CLEAR).open_session(tmp_path)
    messages = calls(5)
    before = (tmp_path / "journal.jsonl").read_bytes()
    told = session.explain(Request(MODEL, messages), facts=Facts(now=1e9))
    assert (tmp_path / "journal.jsonl").read_bytes() == before
    done = session.run(Request(MODEL, messages), facts=Facts(now=1e9))
    assert told.receipt.run.dry
    assert verdicts(told) == verdicts(done)
    assert bodies(told.request.messages) == bodies(done.request.messages)


def test_a_second_run_on_the_same_list_commits_nothing_and_gives_the_same_bytes() -> None:
    session = engine_of().session()
    messages = calls(12)
    first = run(session, messages)
    second = run(session, messages)
    assert second.receipt.totals.commits == 0
    assert bodies(first.request.messages) == bodies(second.request.messages)


def test_untouched_messages_leave_as_the_hosts_own_objects() -> None:
    messages = calls(3)
    out = run(engine_of(CLEAR).session(), messages).request.messages
    assert [one is other for one, other in zip(out, messages, strict=True)] == [
        True,
        True,
        False,
        True,
        False,
        True,
        True,
    ]


def test_a_host_that_makes_new_objects_gets_those_back() -> None:
    session = engine_of(CLEAR).session()
    run(session, calls(3))
    fresh = calls(3)
    out = run(session, fresh).request.messages
    assert out[0] is fresh[0]
    assert out[-1] is fresh[-1]


def test_moved_cache_marks_reach_the_request_and_cost_nothing() -> None:
    session = engine_of(CLEAR).session()
    messages = calls(3)
    run(session, messages)
    moved = copy.deepcopy(messages)
    moved[-1]["content"][0]["cache_control"] = {"type": "ephemeral"}
    moved[2]["content"][0]["cache_control"] = {"type": "ephemeral"}
    outcome = run(session, moved)
    assert outcome.request.messages[-1] is moved[-1]
    assert outcome.request.messages[2]["content"][0]["cache_control"] == {"type": "ephemeral"}
    assert outcome.request.messages[2]["content"][0]["content"] == "[cleared]"
    assert outcome.receipt.totals.commits == 0


def test_equal_input_gives_equal_journals(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        session = engine_of().open_session(tmp_path / folder)
        messages = calls(12)
        for size in range(1, len(messages) + 1, 2):
            run(session, messages[:size])
    one, two = ((tmp_path / folder / "journal.jsonl").read_bytes() for folder in ("one", "two"))
    assert one == two


class Broken(MemoryStore):
    """A store that cannot write."""

    def put(self, name: str, text: str) -> str:
        raise OSError("disk full")


def test_a_store_that_cannot_write_fails_the_stage_and_leaves_the_conversation() -> None:
    session = engine_of(store=Broken()).session()
    messages = calls(2)
    outcome = run(session, messages)
    assert outcome.receipt.stage("offload").verdict == "failed"
    assert "disk full" in outcome.receipt.stage("offload").reason
    assert bodies(outcome.request.messages) == bodies(messages)
    good = engine_of().session()
    good_outcome = run(good, messages)
    assert good_outcome.receipt.stage("offload").verdict == "committed"


def test_a_stage_that_raises_ends_the_run_without_a_trace() -> None:
    engine = engine_of(LAYERS.replace("once: true", "once: true, on_failure: raise"), store=Broken())
    session = engine.session()
    with pytest.raises(RuntimeError, match="stage offload: disk full"):
        run(session, calls(2))
    assert session.journal.records() == []
    assert session.track.lineage.path == []
    small = calls(2, chars=20)
    assert bodies(run(session, small).request.messages) == bodies(small)


def test_a_journal_that_cannot_be_written_fails_the_run_and_the_next_one_does_it_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = Session(engine_of(CLEAR), JsonJournal())
    messages = calls(4)
    run(session, messages[:3])

    def fail(records: Any) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(session.journal, "append", fail)
        with pytest.raises(OSError, match="no space"):
            run(session, messages)
    again = run(session, messages)
    assert again.receipt.stage("clear").verdict == "committed"
    fresh = Session(engine_of(CLEAR), JsonJournal())
    run(fresh, messages[:3])
    assert bodies(run(fresh, messages).request.messages) == bodies(again.request.messages)


def test_two_sessions_on_one_directory_both_finish_and_agree(tmp_path: Path) -> None:
    engine = engine_of(CLEAR)
    one, two = engine.open_session(tmp_path), engine.open_session(tmp_path)
    messages = calls(4)
    first = run(one, messages)
    second = run(two, messages)
    assert bodies(first.request.messages) == bodies(second.request.messages)
    assert second.receipt.totals.commits == 0
    assert bodies(run(one, messages).request.messages) == bodies(first.request.messages)
    ids = [record.id for record in DiskJournal.read(tmp_path).records() if hasattr(record, "id")]
    assert ids == ["c1"]


def test_a_session_in_the_middle_of_a_run_refuses_another() -> None:
    class Reentrant(Broken):
        def put(self, name: str, text: str) -> str:
            run(session, calls(2))
            return name

    session = engine_of(store=Reentrant()).session()
    outcome = run(session, calls(2))
    assert "in the middle of a run" in outcome.receipt.stage("offload").reason
    assert issubclass(SessionBusy, RuntimeError)


def test_an_unknown_event_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="unknown event 'before_reqest'"):
        run(engine_of(CLEAR).session(), calls(1), "before_reqest")
    with pytest.raises(ValueError, match="unknown event 'before_reqest'"):
        engine_of(CLEAR).session().account(Request(MODEL, calls(1)), event="before_reqest")


@pytest.mark.parametrize("method", ["run", "explain", "account", "arun", "adopt"])
@pytest.mark.parametrize(
    ("request_", "facts", "words"),
    [
        ({"messages": []}, None, "a request is a trimtab.Request, not dict"),
        (None, None, "not NoneType"),
        (Request(MODEL, [{"role": "user", "content": "x"}]), {}, "facts are trimtab.Facts, not dict"),
        (Request(MODEL, None), None, "'messages' must be a list"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_request_or_no_facts_is_refused_in_words(
    method: str, request_: Any, facts: Any, words: str
) -> None:
    session = memory_session(PLAIN)
    run(session, talk("a", "b"), "after_response").jobs[0].run()
    call = getattr(session, method)
    with pytest.raises(ValueError, match=words):
        asyncio.run(call(request_, facts=facts)) if method == "arun" else call(request_, facts=facts)
    assert run(session, calls(2)).receipt.run.n == 2


@pytest.mark.parametrize("anew", [False, True])
def test_another_conversation_in_the_same_session_is_a_problem_of_the_run(tmp_path: Path, anew: bool) -> None:
    engine = engine_of(CLEAR)
    session = engine.open_session(tmp_path)
    run(session, calls(3))
    if anew:
        session = engine.open_session(tmp_path)
    other = [{"role": "user", "content": "something else"}]
    outcome = run(session, other)
    assert [problem.code for problem in outcome.problems] == ["new-branch"]
    assert outcome.receipt.run.transcript == "rewound"
    assert run(session, other).problems == ()


@pytest.mark.parametrize("anew", [False, True])
def test_going_on_or_back_in_the_same_conversation_is_none(tmp_path: Path, anew: bool) -> None:
    engine = engine_of(CLEAR)
    session = engine.open_session(tmp_path)
    for count in (3, 5, 1, 4):
        session = engine.open_session(tmp_path) if anew else session
        assert run(session, calls(count)).problems == ()


def test_events_that_send_nothing_leave_the_end_of_the_list_alone() -> None:
    session = engine_of(CLEAR).session()
    request = Request("claude-opus-4-6", [*calls(1), {"role": "assistant", "content": "done"}])
    assert len(session.run(request, "after_response").request.messages) == 4
    assert session.run(request).request.messages[-1]["role"] == "user"


def test_an_overflow_about_which_nothing_can_be_done_is_not_sent_again() -> None:
    outcome = run(engine_of(CLEAR).session(), calls(1), "overflow")
    assert not outcome.send
    assert [problem.code for problem in outcome.problems] == ["overflow-unhandled"]


def test_a_throttled_request_is_no_overflow() -> None:
    session = engine_of(CLEAR).session()
    facts = Facts(now=1e9, error="429 rate limit exceeded, too many tokens, please wait")
    outcome = session.run(Request(MODEL, calls(1)), "overflow", facts)
    assert [problem.code for problem in outcome.problems] == ["retry-later"]


def test_what_no_rule_can_mend_is_reported_or_raised_if_strict() -> None:
    odd = [{"role": "nobody", "content": "x"}, {"role": "user", "content": "go"}]
    outcome = run(engine_of(CLEAR).session(), odd)
    assert any(problem.code == "invalid-shape" for problem in outcome.problems)
    with pytest.raises(InvalidRequest, match="invalid-shape"):
        run(engine_of(CLEAR, strict=True).session(), odd)


def test_the_figure_is_the_reported_usage_and_an_estimate_of_what_came_after() -> None:
    messages = calls(3)
    info = [Info() for _ in messages]
    info[5] = Info(usage=Usage(input=2, cache_read=40_000, model=MODEL))
    outcome = (
        engine_of(CLEAR.replace("above: 30", "above: 30000"))
        .session()
        .run(Request(MODEL, messages, info=info))
    )
    total = outcome.receipt.totals
    assert total.measured
    assert 40_000 < total.tokens.after < 41_000


def test_a_message_the_host_edits_puts_the_edits_over_it_to_sleep_and_says_so() -> None:
    session = engine_of(CLEAR).session()
    messages = calls(4)
    run(session, messages)
    edited = copy.deepcopy(messages)
    for index in (2, 4, 6):
        edited[index]["content"][0]["content"] = f"short {index}"
    outcome = run(session, edited)
    assert outcome.receipt.run.transcript == "changed in place"
    assert [dropped.commit for dropped in outcome.receipt.dropped] == ["c1"]
    assert bodies(outcome.request.messages) == bodies(edited)


def test_rewinding_and_coming_back_wakes_the_edits_of_the_branch() -> None:
    session = engine_of(CLEAR).session()
    messages = calls(4)
    first = run(session, messages)
    branch = [*messages[:3], {"role": "user", "content": "something else"}]
    run(session, branch)
    assert bodies(run(session, messages).request.messages) == bodies(first.request.messages)


def test_async_ports_give_the_same_outcome_as_sync_ones() -> None:
    class Store(Broken):
        def put(self, name: str, text: str) -> str:
            return f"/store/{name}"

    messages = calls(12)
    one = run(engine_of(store=Store()).session(), messages)
    session = engine_of(store=Store()).session()
    two = asyncio.run(session.arun(Request(MODEL, messages), facts=Facts(now=1e9)))
    assert bodies(one.request.messages) == bodies(two.request.messages)
    assert one.receipt.as_dict() == two.receipt.as_dict()


def test_a_cancelled_run_leaves_no_trace() -> None:
    class Slow:
        def answer(self, question: Question) -> Reply:
            raise AssertionError("the async port is asked")

        async def aanswer(self, question: Question) -> Reply:
            await asyncio.sleep(60)
            raise AssertionError("cancelled before")

    text = CLEAR + (
        "  - {id: write, kind: replace, select: {blocks: [tool_result], size: {chars: {above: 30}}},\n"
        "     digest: {prompt: summary/nine-sections.md.j2}, text: '{{ digest }}'}\n"
    )
    session = engine_of(text, summarizer=Slow()).session()

    async def play_it() -> None:
        task = asyncio.create_task(session.arun(Request(MODEL, calls(4)), facts=Facts(now=1e9)))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(play_it())
    assert session.journal.records() == []
    assert session.track.lineage.path == []


def test_the_receipt_is_plain_data() -> None:
    outcome = run(engine_of().session(), calls(12))
    data = json.loads(json.dumps(outcome.receipt.as_dict()))
    assert data["receipt"] == 1
    assert {stage["id"] for stage in data["stages"]} == {"offload", "clear", "shrink"}


def test_settings_the_pack_does_not_declare_are_refused() -> None:
    with pytest.raises(ValueError, match="no setting `percent`"):
        engine_of(CLEAR, settings={"percent": 5})
    with pytest.raises(ValueError, match="models"):
        engine_of(CLEAR, models={"*": {"windw": 5}})


def test_a_host_conversation_survives_a_new_process_before_every_call() -> None:
    host = play(engine_of(), 11, "restarts")
    assert host.bodies == play(engine_of(), 11, "keeps").bodies


def test_the_shipped_pack_loads_by_name() -> None:
    assert Engine.load("claude-code").pack.name == "claude-code"


def test_explaining_a_session_opened_anew_changes_nothing_of_the_run_that_follows(tmp_path: Path) -> None:
    messages = calls(12)
    for size in (5, 11):
        run(engine_of().open_session(tmp_path), messages[:size])
    told = engine_of().open_session(tmp_path)
    told.explain(Request(MODEL, messages), facts=Facts(now=1e9))
    after = run(told, messages)
    for folder in ("a", "b"):
        assert not (tmp_path / folder).exists()
    plain = engine_of().open_session(tmp_path)
    assert bodies(run(plain, messages).request.messages) == bodies(after.request.messages)
    assert len(after.request.messages) > 3
