"""Rows R22 to R24: notes taken in the background, used in the place of a summary, and the tail they leave."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.reference.support import (
    ANSWER,
    MODEL,
    NOTE_SECTIONS,
    Message,
    Writer,
    assistant,
    call,
    claude,
    notes,
    report,
    result,
    run,
    shown,
    text,
    used,
    user,
    verdict,
    words,
)
from tests.strict_api import problems

from trimtab import Engine, ManualRequest
from trimtab.effects import Question, Reply
from trimtab.outcome import Outcome
from trimtab.records import Note
from trimtab.session import Session

NOTES = notes()
WINDOW = {"*": {"window": 100_000}}
"""Effective 80,000, compacted at 67,000."""


def mid(*answers: Any, **keywords: Any) -> tuple[Engine, Writer]:
    writer = Writer(answers)
    return claude(summarizer=writer, models=WINDOW, **keywords), writer


def work(count: int, start: int = 0, chars: int = 4000, said: bool = True) -> list[Message]:
    """Rounds in which the assistant says what it does; about 1,900 tokens each."""
    out: list[Message] = []
    for number in range(start, start + count):
        line = f"line {number} of the output; "
        words = [text(f"Step {number}.")] if said else []
        out.append(assistant(*words, call(f"call-{number}", "Read", file_path=f"/srv/{number}.py")))
        out.append(user(result(f"call-{number}", (line * (chars // len(line) + 1))[:chars])))
    return out


def talk(count: int, **more: Any) -> list[Message]:
    return [user("Find the leak."), *work(count, **more)]


def after(session: Session, messages: list[Message], end: bool = False, **facts: Any) -> Outcome:
    """The event behind a response that calls a tool, or ends the turn; ``messages`` grow by it and its answer."""
    name = f"next-{len(messages)}"
    messages.append(
        assistant("So far.") if end else assistant(text("Next."), call(name, "Read", file_path="/x"))
    )
    outcome = run(session, messages, "after_response", **facts)
    messages.append(user("Go on.") if end else user(result(name, "ok")))
    return outcome


def noted(count: int, *answers: Any, **keywords: Any) -> tuple[Session, list[Message], Writer]:
    """A session with notes about its first rounds."""
    engine, writer = mid(*(answers or (NOTES,)), **keywords)
    session = engine.session()
    messages = talk(count)
    [job] = after(session, messages).jobs
    job.run()
    run(session, messages)
    return session, messages, writer


def newest(session: Session) -> Note:
    """The newest notes on record."""
    return [one for one in session.journal.records() if isinstance(one, Note)][-1]


def text_now(session: Session) -> str:
    """What the newest notes say."""
    return session.engine.ports.store.get(newest(session).store) or ""


# --- R22


def test_r22_the_first_notes_are_taken_at_ten_thousand_tokens() -> None:
    engine, _ = mid(NOTES)
    for count, expected in ((4, "skipped"), (9, "done")):
        session = engine.session()
        outcome = after(session, talk(count))
        [entry] = [
            one for one in report(outcome, "session-memory").conditions if one.path == "tokens at_least"
        ]
        assert entry.limit == 10_000
        assert (float(entry.value) >= 10_000) is (expected == "done")
        assert verdict(outcome, "session-memory") == expected
        assert len(outcome.jobs) == (expected == "done")


def test_r22_notes_are_written_between_turns_and_nobody_waits_for_them() -> None:
    engine, writer = mid(NOTES)
    session = engine.session()
    messages = talk(9)
    outcome = after(session, messages)
    assert writer.asked == []
    assert shown(outcome) == messages[:-1]
    [job] = outcome.jobs
    assert shown(run(session, messages)) == messages
    job.run()
    assert len(writer.asked) == 1
    assert all(f"# {name}" in writer.asked[0].prompt for name in NOTE_SECTIONS)


@pytest.mark.parametrize(
    ("rounds", "end", "expected"),
    [(2, False, "skipped"), (2, True, "skipped"), (5, False, "done"), (5, True, "done")],
)
def test_r22_then_again_after_five_thousand_more_tokens(rounds: int, end: bool, expected: str) -> None:
    session, messages, _ = noted(9, NOTES, NOTES)
    outcome = after(session, [*messages, *work(rounds, 20)], end)
    assert verdict(outcome, "session-memory") == expected


@pytest.mark.parametrize(("end", "expected"), [(False, "skipped"), (True, "done")])
def test_r22_with_few_calls_only_at_a_turn_without_any(end: bool, expected: str) -> None:
    session, messages, _ = noted(9, NOTES, NOTES)
    longer = [*messages, *work(1, 20, chars=24_000)]
    outcome = after(session, longer, end)
    assert verdict(outcome, "session-memory") == expected


def test_r22_on_success_the_end_of_what_is_noted_moves() -> None:
    session, messages, writer = noted(9, NOTES, notes("the lock leaks"))
    first = newest(session)
    longer = [*messages, *work(6, 20)]
    [job] = after(session, longer).jobs
    job.run()
    taken = run(session, longer)
    second = newest(session)
    assert second.upto > first.upto
    assert [one.verdict for one in taken.receipt.jobs] == ["done"]
    assert "the pool leaks" in writer.asked[1].prompt


def test_r22_a_failure_leaves_the_notes_where_they_were() -> None:
    session, messages, _ = noted(9, NOTES, "refusal")
    first = newest(session)
    longer = [*messages, *work(6, 20)]
    [job] = after(session, longer).jobs
    job.run()
    taken = run(session, longer)
    assert [one.verdict for one in taken.receipt.jobs] == ["failed"]
    assert newest(session) == first


def test_r22_notes_of_more_than_the_window_holds_are_written_without_the_oldest_rounds() -> None:
    engine, writer = mid(NOTES)
    session = engine.session()
    messages = talk(60)
    [job] = after(session, messages).jobs
    job.run()
    [done] = run(session, messages).receipt.jobs
    assert done.verdict == "done"
    assert [call.rung for call in done.calls] == [1]
    [question] = writer.asked
    assert question.request is not None
    told = json.dumps(list(question.request.messages))
    assert [f"/srv/{number}.py" in told for number in (0, 59)] == [False, True]
    assert "Not read for this text, for want of room: messages 1–" in text_now(session)


def test_r22_what_the_notes_already_know_is_what_goes_first() -> None:
    session, messages, writer = noted(30, NOTES, "too_long", notes("the lock leaks"))
    longer = [*messages, *work(6, 40)]
    [job] = after(session, longer).jobs
    job.run()
    [done] = run(session, longer).receipt.jobs
    assert [call.problem for call in done.calls] == ["too_long", None]
    told = json.dumps(list(writer.asked[-1].request.messages))
    assert [f"/srv/{number}.py" in told for number in (0, *range(40, 46))] == [False, *[True] * 6]
    assert "Not read" not in text_now(session)


@pytest.mark.parametrize("settings", [{"session_memory": False}, {"auto_compact": False}])
def test_r22_off_is_off(settings: dict[str, Any]) -> None:
    engine, writer = mid(NOTES, settings=settings)
    outcome = after(engine.session(), talk(12), end=True)
    assert verdict(outcome, "session-memory") == "skipped"
    assert outcome.jobs == ()
    assert writer.asked == []


def test_r22_only_the_main_thread_takes_notes() -> None:
    engine, _ = mid(NOTES)
    assert after(engine.session(), talk(12), end=True, caller="explore").jobs == ()


# --- R23


def full(session: Session, messages: list[Message], **facts: Any) -> Outcome:
    return run(session, messages, usage=used(70_000), **facts)


def test_r23_notes_stand_in_the_place_of_a_summary_and_no_model_is_called() -> None:
    session, messages, writer = noted(30)
    longer = [*messages, *work(6, 50)]
    outcome = full(session, longer)
    assert verdict(outcome, "from-session-memory") == "committed"
    assert outcome.receipt.stage("full-summary") is None or verdict(outcome, "full-summary") != "committed"
    assert len(writer.asked) == 1
    assert "the pool leaks" in words(outcome)
    assert tail(outcome)[-12:] == longer[-12:]
    assert not problems(shown(outcome))


def test_r23_notes_last_over_a_resume(tmp_path: Path) -> None:
    engine, writer = mid(NOTES)
    session = engine.open_session(tmp_path)
    messages = talk(30)
    [job] = after(session, messages).jobs
    job.run()
    run(session, messages)
    outcome = full(engine.open_session(tmp_path), [*messages, *work(6, 50)])
    assert verdict(outcome, "from-session-memory") == "committed"
    assert len(writer.asked) == 1


class Slow:
    """A writer that answers when it is told to."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.may = threading.Event()
        self.asked: list[Question] = []

    def answer(self, question: Question) -> Reply:
        self.asked.append(question)
        self.begun.set()
        self.may.wait(10)
        return Reply(NOTES)

    async def aanswer(self, question: Question) -> Reply:
        return self.answer(question)


def test_r23_notes_that_are_being_written_are_waited_for() -> None:
    slow = Slow()
    session = claude(summarizer=slow, models=WINDOW).session()
    messages = talk(30)
    [job] = after(session, messages).jobs
    thread = threading.Thread(target=job.run)
    thread.start()
    assert slow.begun.wait(10)
    threading.Timer(0.2, slow.may.set).start()
    outcome = full(session, [*messages, *work(6, 50)])
    thread.join()
    assert verdict(outcome, "from-session-memory") == "committed"
    assert len(slow.asked) == 1


def fell_through(outcome: Outcome) -> bool:
    return (
        verdict(outcome, "from-session-memory") in ("nothing", "refused")
        and verdict(outcome, "full-summary") == "committed"
    )


def test_r23_without_notes_a_model_is_asked() -> None:
    engine, _ = mid(ANSWER)
    assert fell_through(full(engine.session(), talk(30)))


def test_r23_an_empty_template_is_no_notes() -> None:
    engine, _ = mid("\n".join(f"# {name}\n" for name in NOTE_SECTIONS), ANSWER)
    session = engine.session()
    [job] = after(session, talk(30)).jobs
    job.run()
    assert fell_through(full(session, talk(30)))


def test_r23_notes_of_messages_that_are_gone_are_not_used() -> None:
    session, messages, _ = noted(30, NOTES, ANSWER)
    other = [user("Something else."), *work(44, 200)]
    assert messages[0] != other[0]
    assert fell_through(full(session, other))


def test_r23_with_instructions_of_the_user_a_model_is_asked() -> None:
    session, messages, _ = noted(30, NOTES, ANSWER)
    request = ManualRequest(instructions="Dwell on the pool.")
    outcome = run(session, [*messages, assistant("Done.")], "manual", request=request)
    assert verdict(outcome, "from-session-memory") == "skipped"
    assert verdict(outcome, "full-summary") == "committed"


def test_r23_oversized_sections_are_cut_when_used() -> None:
    long = notes(sections={"Worklog": "step; " * 6000, "Task": "mend the pool"})
    session, messages, _ = noted(30, long)
    outcome = full(session, [*messages, *work(6, 50)])
    assert verdict(outcome, "from-session-memory") == "committed"
    assert "mend the pool" in words(outcome)
    left = words(outcome).count("step; ")
    assert 1_500 < figure([user("step; " * left)]) <= 2_020


# --- R24


def tail(outcome: Outcome) -> list[Message]:
    """What stands behind the summary."""
    messages = shown(outcome)
    place = next(at for at, one in enumerate(messages) if "goes on from an earlier part" in json.dumps(one))
    return [one for one in messages[place + 1 :] if "system-reminder" not in json.dumps(one)]


def wordless_tail() -> list[Message]:
    """What stays of a conversation in which hardly a message has words."""
    engine, _ = mid(NOTES)
    session = engine.session()
    messages = talk(40, said=False)
    [job] = after(session, messages).jobs
    job.run()
    run(session, messages)
    outcome = full(session, messages)
    assert verdict(outcome, "from-session-memory") == "committed"
    return tail(outcome)


def figure(messages: list[Message]) -> float:
    engine, _ = mid()
    return run(engine, messages, "tool_result", model=MODEL).receipt.totals.tokens.after


def test_r24_ten_thousand_tokens_stay_though_all_of_it_is_in_the_notes() -> None:
    session, messages, _ = noted(36)
    outcome = full(session, messages)
    kept = tail(outcome)
    assert kept == messages[-len(kept) :]
    assert 10_000 <= figure(kept) < 14_000
    assert sum("Step" in json.dumps(one) for one in kept) >= 5


def test_r24_all_behind_the_notes_stays() -> None:
    session, messages, _ = noted(24)
    longer = [*messages, *work(12, 50)]
    outcome = full(session, longer)
    assert tail(outcome) == longer[-26:]


def test_r24_the_tail_goes_back_until_five_messages_have_words() -> None:
    session, messages, _ = noted(30)
    longer = [*messages, *work(7, 50, said=False)]
    outcome = full(session, longer)
    assert verdict(outcome, "from-session-memory") == "committed"
    said = sum('"type": "text"' in json.dumps(one) for one in tail(outcome))
    assert said == 5


def test_r24_never_over_forty_thousand_tokens_to_find_words() -> None:
    assert figure(wordless_tail()) > 35_000


def test_r24_the_forty_thousand_are_tokens_of_the_same_figure_as_the_threshold() -> None:
    assert figure(wordless_tail()) <= 40_000


def test_r24_no_call_is_parted_from_its_results() -> None:
    session, messages, _ = noted(30)
    calls = [call(f"b{number}", "Read") for number in range(6)]
    batch = [
        assistant(text("Step batch."), *calls),
        *(user(result(f"b{number}", "word " * 2000)) for number in range(6)),
    ]
    outcome = full(session, [*messages, *batch])
    assert verdict(outcome, "from-session-memory") == "committed"
    assert not problems(shown(outcome))
    assert all(f'"tool_use_id": "b{number}"' in json.dumps(tail(outcome)) for number in range(6))


def test_r24_if_it_would_still_be_over_the_threshold_a_model_is_asked() -> None:
    session, messages, _ = noted(9, NOTES, ANSWER)
    longer = [*messages, *work(6, 50, chars=45_000)]
    outcome = run(session, longer)
    assert verdict(outcome, "from-session-memory") == "refused"
    assert verdict(outcome, "full-summary") == "committed"
