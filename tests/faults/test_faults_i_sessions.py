"""Group I of the field reports: interrupts, restarts, forks, rewinds, open breakers, growing cost."""

from __future__ import annotations

import asyncio
import copy
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.faults.support import (
    BOUND,
    CLEAR,
    GOOD,
    HEAD,
    MODEL,
    NOW,
    SUM_UP,
    Message,
    assistant,
    blocks,
    bodies,
    call,
    engine_of,
    loop,
    result,
    round_of,
    rounds,
    run,
    shown,
    stages,
    text,
    user,
    verdict,
    words,
    writes,
)
from tests.strict_api import SigningApi

from trimtab import Engine, Facts, Info, ManualRequest, Request, Usage
from trimtab.effects import Question, Reply
from trimtab.journal import DiskJournal
from trimtab.session import Session
from trimtab.store import MemoryStore
from trimtab.summarizers.canned import CannedSummarizer
from trimtab.tokens.counters import make

WRITTEN = writes(", breaker: {failures: 3, cool_down_minutes: 30}")


# --- I1 not atomic


class Dying(MemoryStore):
    """A store that is interrupted in the middle of a run."""

    def __init__(self, problem: BaseException, after: int) -> None:
        super().__init__()
        self.problem, self.left = problem, after

    def put(self, name: str, text: str) -> str:
        if not self.left:
            raise self.problem
        self.left -= 1
        return super().put(name, text)


CLEAR_AND_STORE = CLEAR + (
    "  - {id: offload, kind: replace, select: {blocks: [tool_result], size: {chars: {above: 30}}}, "
    "store: results, text: '[stored]'}\n"
)
TWO = [
    user("q"),
    *rounds(2, 2000),
    assistant(call("x"), call("y")),
    user(result("x", "x " * 900), result("y", "y " * 900)),
]


@pytest.mark.parametrize("problem", [KeyboardInterrupt(), SystemExit(1), MemoryError()])
def test_i1_an_interrupt_in_the_middle_of_a_run_leaves_the_session_as_it_was(
    tmp_path: Path, problem: BaseException
) -> None:
    session = engine_of(CLEAR_AND_STORE, store=Dying(problem, 0)).open_session(tmp_path)
    before = (tmp_path / "journal.jsonl").read_bytes()
    if isinstance(problem, MemoryError):
        outcome = run(session, TWO)
        assert verdict(outcome, "offload") == "failed"
        return
    with pytest.raises(type(problem)):
        session.run(Request(MODEL, copy.deepcopy(TWO)), "before_request", Facts(now=NOW))
    assert (tmp_path / "journal.jsonl").read_bytes() == before
    again = run(engine_of(CLEAR_AND_STORE).open_session(tmp_path), TWO)
    assert bodies(again).replace(str(tmp_path), "") == bodies(run(CLEAR_AND_STORE, TWO))
    assert again.receipt.run.n == 1


def test_i1_messages_that_arrive_while_a_summary_is_written_are_not_lost() -> None:
    messages = loop(12, 2000)

    class Slow:
        def answer(self, question: Question) -> Reply:
            raise AssertionError("the async port is asked")

        async def aanswer(self, question: Question) -> Reply:
            messages.extend([assistant("Wait."), user("Also look at the cache!")])
            await asyncio.sleep(0)
            return Reply(GOOD)

    session = engine_of(WRITTEN, summarizer=Slow()).session()
    outcome = asyncio.run(session.arun(Request(MODEL, messages), facts=Facts(now=NOW)))
    assert verdict(outcome, "sum-up") == "committed"
    assert shown(run(session, messages))[-2:] == messages[-2:]


def test_i1_a_summary_of_a_history_that_another_process_has_changed_meanwhile_is_not_put_over_it(
    tmp_path: Path,
) -> None:
    messages = loop(12, 2000)

    class Meanwhile:
        def __init__(self) -> None:
            self.asked = 0

        def answer(self, question: Question) -> Reply:
            self.asked += 1
            if self.asked == 1:
                run(engine_of(SUM_UP).open_session(tmp_path), messages)
            return Reply(GOOD)

        async def aanswer(self, question: Question) -> Reply:
            return self.answer(question)

    session = engine_of(WRITTEN, summarizer=Meanwhile()).open_session(tmp_path)
    run(session, messages)
    fresh = engine_of(WRITTEN).open_session(tmp_path)
    assert bodies(run(fresh, messages)) == bodies(run(session, messages))


def test_i1_nothing_of_the_history_is_gone_before_the_summary_is_there() -> None:
    messages = loop(12, 2000)
    for answer in (
        "unavailable",
        "empty",
        "refusal",
        "error",
        {"text": "", "stop": "end_turn"},
        {"text": "cut", "stop": "max_tokens"},
    ):
        engine = engine_of(WRITTEN, summarizer=CannedSummarizer([answer]))
        outcome = run(engine, messages)
        assert verdict(outcome, "sum-up") == "failed", answer
        assert shown(outcome) == messages


# --- I2 resume, fork, rewind


def opened(folder: Path) -> Session:
    return engine_of(SUM_UP + CLEAR[CLEAR.index("  - {id: clear") :]).open_session(folder)


def test_i2_after_a_restart_the_view_is_the_live_one(tmp_path: Path) -> None:
    live = opened(tmp_path / "live")
    messages = loop(3, 900)
    for number in range(12):
        one = run(live, messages)
        two = run(opened(tmp_path / "restarted"), messages)
        assert bodies(one) == bodies(two)
        messages += rounds(1, 900, start=50 + number)


def test_i2_a_fork_goes_on_from_the_same_view_and_leaves_the_other_alone(tmp_path: Path) -> None:
    trunk = opened(tmp_path / "trunk")
    messages = loop(12, 900)
    first = bodies(run(trunk, messages))
    shutil.copytree(tmp_path / "trunk", tmp_path / "fork")
    fork = opened(tmp_path / "fork")
    assert bodies(run(fork, messages)) == first
    run(fork, [*messages, assistant("So."), user("Try it the other way."), *rounds(6, 900, start=70)])
    assert bodies(run(trunk, messages)) == first
    assert bodies(run(opened(tmp_path / "trunk"), messages)) == first


def test_i2_a_host_that_feeds_the_view_back_after_a_restart_has_no_history_twice(tmp_path: Path) -> None:
    messages = loop(12, 900)
    sent = shown(run(opened(tmp_path), messages))
    fed = [*json.loads(json.dumps(sent)), *rounds(1, 100, start=90)]
    kept = [*messages, *rounds(1, 100, start=90)]
    other = tmp_path / "other"
    shutil.copytree(tmp_path, other, ignore=shutil.ignore_patterns("other"))
    assert bodies(run(opened(tmp_path), fed)) == bodies(run(opened(other), kept))


def test_i2_rewinding_past_an_edit_removes_it(tmp_path: Path) -> None:
    messages = loop(12, 900)
    session = opened(tmp_path)
    assert verdict(run(session, messages), "sum-up") == "committed"
    early = messages[:5]
    for one in (session, opened(tmp_path)):
        outcome = run(one, early)
        assert "What was done" not in words(outcome)
        assert shown(outcome)[0] == messages[0]
        assert len(shown(outcome)) == 5


def test_i2_going_back_to_the_branch_wakes_the_edit_with_the_same_bytes(tmp_path: Path) -> None:
    messages = loop(12, 900)
    session = opened(tmp_path)
    first = bodies(run(session, messages))
    run(session, messages[:5])
    assert bodies(run(opened(tmp_path), messages)) == first


def test_i2_another_pack_keeps_what_was_decided(tmp_path: Path) -> None:
    messages = loop(12, 900)
    first = bodies(run(opened(tmp_path), messages))
    other = engine_of(HEAD + "stages: []\n").open_session(tmp_path)
    assert bodies(run(other, messages)) == first


def test_i2_a_torn_last_line_costs_the_last_run_only(tmp_path: Path) -> None:
    messages = loop(12, 900)
    session = opened(tmp_path)
    first = bodies(run(session, messages))
    run(session, [*messages, *rounds(1, start=70)])
    file = tmp_path / "journal.jsonl"
    data = file.read_bytes()
    for size in (len(data) - 1, len(data) - 20):
        file.write_bytes(data[:size])
        assert bodies(run(opened(tmp_path), messages)) == first


# --- I3 the breaker


def fails(session: Session, messages: list[Message], count: int, start: float = NOW) -> list[str]:
    out = []
    for number in range(count):
        messages += rounds(1, 100, start=500 + len(messages))
        out.append(verdict(run(session, messages, now=start + number), "sum-up"))
    return out


def test_i3_three_failures_pause_and_do_not_switch_off() -> None:
    writer = CannedSummarizer(["error", "error", "error", GOOD])
    session = engine_of(WRITTEN, summarizer=writer).session()
    messages = loop(12, 2000)
    assert fails(session, messages, 5) == ["failed"] * 3 + ["skipped"] * 2
    assert len(writer.asked) == 3
    assert fails(session, messages, 1, NOW + 29 * 60) == ["skipped"]
    assert fails(session, messages, 1, NOW + 31 * 60) == ["committed"]


def test_i3_one_probe_after_the_cool_down_and_then_a_pause_again() -> None:
    writer = CannedSummarizer(["error"] * 10)
    session = engine_of(WRITTEN, summarizer=writer).session()
    messages = loop(12, 2000)
    fails(session, messages, 3)
    assert fails(session, messages, 3, NOW + 31 * 60) == ["failed", "skipped", "skipped"]
    assert len(writer.asked) == 4


@pytest.mark.parametrize("event", ["manual", "overflow"])
def test_i3_a_manual_and_an_overflow_run_are_probes(event: str) -> None:
    session = engine_of(WRITTEN, summarizer=CannedSummarizer(["error"] * 3 + [GOOD])).session()
    messages = loop(12, 2000)
    assert fails(session, messages, 4)[-1] == "skipped"
    asked = {"request": ManualRequest()} if event == "manual" else {"error": "prompt is too long"}
    assert verdict(run(session, messages, event, **asked), "sum-up") == "committed"


def test_i3_a_success_resets_the_count() -> None:
    session = engine_of(
        WRITTEN, summarizer=CannedSummarizer(["error", "error", GOOD, "error", "error", "error", "error"])
    ).session()
    messages = loop(12, 2000)
    assert fails(session, messages, 3) == ["failed", "failed", "committed"]
    messages += rounds(12, 2000, start=900)
    assert fails(session, messages, 4) == ["failed"] * 3 + ["skipped"]


def test_i3_the_pause_lasts_over_a_restart(tmp_path: Path) -> None:
    messages = loop(12, 2000)
    fails(engine_of(WRITTEN, summarizer=CannedSummarizer(["error"] * 3)).open_session(tmp_path), messages, 3)
    session = engine_of(WRITTEN, summarizer=CannedSummarizer([GOOD])).open_session(tmp_path)
    assert fails(session, messages, 1) == ["skipped"]
    assert fails(session, messages, 1, NOW + 31 * 60) == ["committed"]


def test_i3_a_user_who_cancels_does_not_count(tmp_path: Path) -> None:
    class Endless:
        def answer(self, question: Question) -> Reply:
            raise AssertionError("the async port is asked")

        async def aanswer(self, question: Question) -> Reply:
            await asyncio.sleep(60)
            raise AssertionError("cancelled before")

    messages = loop(12, 2000)
    session = engine_of(WRITTEN, summarizer=Endless()).open_session(tmp_path)

    async def cancelled() -> None:
        task = asyncio.create_task(session.arun(Request(MODEL, messages), facts=Facts(now=NOW)))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    for _ in range(4):
        asyncio.run(cancelled())
    good = engine_of(WRITTEN, summarizer=CannedSummarizer([GOOD])).open_session(tmp_path)
    assert verdict(run(good, messages), "sum-up") == "committed"


def test_i3_an_open_breaker_is_said_and_the_free_way_out_is_still_taken() -> None:
    engine = Engine.load(
        "claude-code", models={"*": {"window": 20_000}}, summarizer=CannedSummarizer(["error"] * 99)
    )
    session = engine.session()
    messages = loop(12, 4000)
    seen = []
    for number in range(6):
        outcome = run(session, messages)
        seen.append(verdict(outcome, "full-summary"))
        messages += rounds(1, 100, start=700 + number)
        if verdict(outcome, "ledger") == "committed":
            break
    assert verdict(outcome, "ledger") == "committed"
    assert outcome.receipt.totals.tokens.after < outcome.receipt.limits["auto"]


# --- I4 scale


class Counting:
    """The usual counter, and how many characters it was asked about."""

    name = "counting"

    def __init__(self) -> None:
        self.inner = make("estimate")
        self.chars = 0

    def count(self, said: str) -> int:
        self.chars += len(said)
        return self.inner.count(said)

    def count_many(self, texts: Any) -> list[int]:
        self.chars += sum(map(len, texts))
        return list(self.inner.count_many(texts))


def test_i4_a_run_counts_what_is_new_and_not_the_whole_history_again() -> None:
    counter = Counting()
    session = engine_of(CLEAR, counter=counter).session()
    messages = loop(200, 800)
    run(session, messages)
    seen = []
    for number in range(5):
        counter.chars = 0
        messages += rounds(1, 800, start=900 + number)
        run(session, messages)
        seen.append(counter.chars)
    assert max(seen) < 5_000


def test_i4_the_journal_grows_by_what_is_new(tmp_path: Path) -> None:
    session = engine_of(CLEAR.replace("above: 30", "above: 30000")).open_session(tmp_path)
    messages = loop(200, 400)
    run(session, messages)
    file = tmp_path / "journal.jsonl"
    sizes = []
    for number in range(4):
        before = file.stat().st_size
        messages += rounds(1, 400, start=900 + number)
        run(session, messages)
        sizes.append(file.stat().st_size - before)
    assert max(sizes) < 1_500


def test_i4_a_placeholder_that_many_results_share_is_written_once(tmp_path: Path) -> None:
    session = engine_of(CLEAR).open_session(tmp_path)
    run(session, loop(200, 400))
    journal = (tmp_path / "journal.jsonl").read_text("utf-8")
    assert journal.count("[cleared]") == 1
    assert len(DiskJournal.read(tmp_path).records()) >= 2


def test_i_every_call_of_a_conversation_that_is_compacted_again_and_again_is_accepted() -> None:
    session = engine_of(SUM_UP + CLEAR[CLEAR.index("  - {id: clear") :]).session()
    messages: list[Message] = [user("Find the leak.")]
    commits = 0
    for number in range(60):
        messages += (
            round_of("x:0", f"result {number} " * 90)
            if number % 7
            else [assistant("Done."), user(f"Next, {number}.")]
        )
        commits += run(session, messages).receipt.totals.commits
    assert commits > 5


# --- found by playing many hosts under many packs


@pytest.mark.parametrize("event", ["tool_result", "after_response", "idle", "session_start", "manual"])
def test_i2_a_rewind_to_a_point_behind_the_last_request_loses_no_message(event: str) -> None:
    session = engine_of(HEAD + "stages: []\n").session()
    run(session, [user("one")])
    later = [user("one"), assistant("two"), user("three"), assistant("four"), user("five")]
    run(session, later, event)
    for messages in ([*later[:4], user("other")], later[:3]):
        assert shown(run(session, messages)) == messages


DAY = stages(
    "{id: greet, kind: attach, at: [session_start], place: system, from: [{text: 'Results may be cleared.'}]}",
    "{id: day, kind: attach, at: [before_request], from: [{fact: date, repeat: changed, text: 'Today is Monday.'}]}",
)


@pytest.mark.parametrize("greeted", [False, True])
@pytest.mark.parametrize("restarts", [False, True])
def test_i2_a_text_attached_at_the_end_is_not_doubled_when_the_view_is_fed_back(
    tmp_path: Path, restarts: bool, greeted: bool
) -> None:
    session = engine_of(DAY).open_session(tmp_path)
    if greeted:
        run(session, [user("q")], "session_start", date="Monday")
    sent = shown(run(session, [user("q")], date="Monday"))
    assert sent == [user("q"), user("Today is Monday.")]
    if restarts:
        session = engine_of(DAY).open_session(tmp_path)
    later = [*sent, assistant("a"), user("next")]
    assert shown(run(session, later, date="Monday")) == later


@pytest.mark.parametrize("between", ["explain", "restart"])
def test_i2_a_usage_reported_once_counts_until_a_newer_one_comes(tmp_path: Path, between: str) -> None:
    session = engine_of(CLEAR).open_session(tmp_path)
    messages = loop(2, 20)
    run(session, messages)
    messages += rounds(1, 20, start=9)
    run(session, messages, usage=Usage(input=9000, model=MODEL))
    messages += rounds(1, 20, start=19)
    if between == "explain":
        session.explain(Request(MODEL, messages), facts=Facts(now=NOW))
    else:
        session = engine_of(CLEAR).open_session(tmp_path)
    assert run(session, messages).receipt.totals.tokens.before > 9000


def test_i2_thinking_behind_a_result_restored_in_another_process_is_stripped(tmp_path: Path) -> None:
    api = SigningApi()
    messages: list[Message] = [user("q")]
    for number in range(4):
        sent = shown(run(engine_of(CLEAR).open_session(tmp_path), messages, model=BOUND))
        thought = api.sign(sent, f"thought {number}")
        one, two = round_of(f"c{number}", f"words {number} " * 50)
        messages += [{**one, "content": [thought, *one["content"]]}, two]
    sent = shown(run(engine_of(CLEAR).open_session(tmp_path), messages, model=BOUND))
    messages += [assistant(api.sign(sent, "done"), text("a")), user("next")]
    engine_of(CLEAR).open_session(tmp_path).restore(["5:0"])
    outcome = run(engine_of(CLEAR).open_session(tmp_path), messages, model=BOUND)
    assert "words 1" in words(outcome)
    assert not api.refused(shown(outcome))


def test_i_explain_leaves_out_no_attachment_that_the_run_then_makes() -> None:
    pack = HEAD + (
        "stages:\n"
        "  - {id: sum-up, kind: summarize, at: [before_request], text: 'What was done.', keep: {newest: {rounds: 1}},\n"
        "     when: {tokens: {at_least: 2000}, any: [{event: [before_request]}, {tokens: {at_least: 500}}]}}\n"
        "  - {id: day, kind: attach, at: [before_request], from: [{text: 'Mind the gap, and so on. Mind it well.'}],\n"
        "     when: {committed: [sum-up]}}\n"
    )
    for chars in range(600, 1800, 40):
        session = engine_of(pack).session()
        messages = [*loop(12, 1500), *rounds(1, chars, start=90)]
        told = session.explain(Request(MODEL, messages), facts=Facts(now=NOW, caller="main"))
        assert bodies(told) == bodies(run(session, messages))


def test_i2_the_figure_of_a_session_opened_anew_is_the_live_one(tmp_path: Path) -> None:
    session = engine_of(CLEAR).open_session(tmp_path)
    messages, longer = loop(2, 20), "You help. " * 60
    run(session, messages, system="You help.")
    messages += rounds(1, 20, start=9)
    info = [None] * 5 + [Info(usage=Usage(input=900, model=MODEL)), None]
    run(session, messages, system="You help.", info=info)
    messages += rounds(1, 20, start=19)
    figures = [
        run(one, messages, system=longer, info=[*info, None, None]).receipt.totals.tokens.before
        for one in (session, engine_of(CLEAR).open_session(tmp_path))
    ]
    assert figures[0] == figures[1]


def test_i2_a_usage_behind_an_undo_is_found_again_by_a_session_opened_anew(tmp_path: Path) -> None:
    session = engine_of(CLEAR).open_session(tmp_path)
    messages = loop(4)
    run(session, messages)
    session.undo("c1")
    run(session, messages)
    messages += rounds(1, 20, start=9)
    info = [None] * 9 + [Info(usage=Usage(input=5000, model=MODEL)), None]
    one = run(session, messages, info=info).receipt.totals
    two = run(engine_of(CLEAR).open_session(tmp_path), messages, info=info).receipt.totals
    assert (one.measured, one.tokens.before) == (two.measured, two.tokens.before)


def test_i_a_stage_may_have_the_name_of_a_deed_of_the_session() -> None:
    session = engine_of(CLEAR.replace("id: clear", "id: restore")).session()
    messages = loop(4)
    run(session, messages)
    session.restore(["call-1"])
    assert blocks(run(session, messages), "tool_result")[1] == messages[4]["content"][0]


@pytest.mark.parametrize("event", ["tool_result", "after_response", "idle", "session_start", "manual"])
@pytest.mark.parametrize("pack", [HEAD + "stages: []\n", DAY, CLEAR], ids=["nothing", "day", "clear"])
def test_i2_messages_that_came_between_two_requests_are_all_in_the_second(pack: str, event: str) -> None:
    session = engine_of(pack).session()
    messages = [user("one"), assistant("two"), user("three"), assistant("four"), user("five"), user("six")]
    for size, moment in ((1, "before_request"), (3, "before_request"), (5, event), (6, "before_request")):
        outcome = run(session, messages[:size], moment, date="Monday")
    assert [message for message in shown(outcome) if message != user("Today is Monday.")] == messages


def test_i2_a_usage_told_on_a_branch_that_was_left_measures_nothing_on_the_new_one(tmp_path: Path) -> None:
    session = engine_of(CLEAR).open_session(tmp_path)
    messages = loop(2, 20)
    run(session, messages)
    run(session, [*messages, *rounds(2, 20, start=9)], usage=Usage(input=9000, model=MODEL))
    other = [*messages[:3], assistant("other"), user("the other way")]
    run(session, other)
    later = [*other, assistant("b"), user("c")]
    anew = run(engine_of(CLEAR).open_session(tmp_path), later).receipt.totals.tokens.before
    assert anew == run(session, later).receipt.totals.tokens.before < 1000
