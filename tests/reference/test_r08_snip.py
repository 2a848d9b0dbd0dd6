"""Rows R8 to R10: messages that can be named, taken out of the middle, and stay out."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.reference.support import (
    ANSWER,
    MODEL,
    TOO_LONG,
    Message,
    assistant,
    bodies,
    claude,
    report,
    rounds,
    run,
    shown,
    small,
    texts_of,
    used,
    user,
    verdict,
    words,
)

from trimtab import ManualRequest
from trimtab.outcome import Outcome
from trimtab.session import Session

SNIP = {"snip": True}
IDS = re.compile(r"\[id:([^\]]+)\]")


def turn(name: str, count: int = 3, start: int = 0, chars: int = 400) -> list[Message]:
    return [user(f"Task {name}."), *rounds(count, chars, start), assistant(f"Task {name} is done.")]


def talk(chars: int = 400) -> list[Message]:
    """Three turns and an open question; the middle turn is messages 8 to 15."""
    return [
        *turn("one"),
        *turn("two", start=10, chars=chars),
        *turn("three", start=20),
        user("And now?"),
    ]


def ids(outcome: Outcome) -> list[list[str]]:
    """The ids each message carries."""
    return [IDS.findall(json.dumps(message)) for message in shown(outcome)]


def named(session: Session, messages: list[Message], indexes: range) -> tuple[str, ...]:
    """The ids a model sees on these messages."""
    seen = ids(run(session, messages))
    return tuple(seen[index][0] for index in indexes if seen[index])


def snip(session: Session, messages: list[Message], names: tuple[int | str, ...], **more: Any) -> Outcome:
    return run(session, messages, "manual", request=ManualRequest("snip", by="model", messages=names), **more)


# --- R8


def test_r08_every_message_of_the_users_side_carries_an_id_of_its_own() -> None:
    outcome = run(claude(settings=SNIP), talk())
    for message, found in zip(shown(outcome), ids(outcome), strict=True):
        assert len(found) == (1 if message["role"] == "user" else 0), message
    assert len({name for found in ids(outcome) for name in found}) == sum(
        message["role"] == "user" for message in talk()
    )


def test_r08_ids_stay_what_they_are_as_the_conversation_grows() -> None:
    session = claude(settings=SNIP).session()
    messages = talk()
    first = run(session, messages)
    messages += rounds(3, start=50)
    assert shown(run(session, messages))[: len(shown(first))] == shown(first)


def test_r08_without_the_setting_there_are_no_ids() -> None:
    assert shown(run(claude(), talk())) == talk()


def test_r08_a_range_in_the_middle_goes_and_leaves_a_boundary() -> None:
    session = claude(settings=SNIP).session()
    messages = talk()
    outcome = snip(session, messages, named(session, messages, range(8, 15)))
    done = report(outcome, "snip")
    assert done.verdict == "committed"
    after = run(session, messages)
    said = words(after)
    assert "Task one." in said
    assert "Task three is done." in said
    assert "line 10 of the output" not in said
    assert any("earlier messages were removed on request]" in one for one in texts_of(after))
    assert set(done.messages) <= set(range(1, 30))
    assert len(done.messages) >= 7


def test_r08_a_call_goes_with_its_result_and_a_result_with_its_call() -> None:
    session = claude(settings=SNIP).session()
    messages = talk()
    [name] = named(session, messages, range(10, 11))
    assert verdict(snip(session, messages, (name,)), "snip") == "committed"
    said = words(run(session, messages))
    assert '"id": "call-10"' not in said
    assert '"tool_use_id": "call-10"' not in said
    assert '"id": "call-11"' in said


def test_r08_what_was_freed_counts_for_the_threshold_that_comes_after() -> None:
    session = claude(settings=SNIP, answers=[ANSWER]).session()
    messages = talk(chars=60_000)
    names = named(session, messages, range(8, 15))
    full = used(168_000)
    assert verdict(run_explained(session, messages, full), "autocompact") == "committed"
    outcome = snip(session, messages, names, usage=full)
    assert outcome.receipt.totals.tokens.before >= 168_000
    assert outcome.receipt.totals.tokens.after < 167_000
    after = run(session, messages, usage=full)
    assert verdict(after, "autocompact") == "skipped"


def run_explained(session: Session, messages: list[Message], usage: Any) -> Outcome:
    from trimtab import Facts, Request

    return session.explain(Request(MODEL, messages), facts=Facts(now=1e9, caller="main", usage=usage))


def test_r08_what_was_brought_back_by_undoing_is_not_snipped_again_and_the_reason_is_told() -> None:
    session = claude(settings=SNIP).session()
    messages = talk()
    names = named(session, messages, range(8, 15))
    commit = report(snip(session, messages, names), "snip").commit
    assert commit is not None
    session.undo(commit)
    again = snip(session, messages, names)
    assert verdict(again, "snip") != "committed"
    said = {problem.message for problem in again.problems if problem.code == "left-alone"}
    assert said == {"it was brought back by undoing this stage's commit"}


def test_r08_an_unknown_id_removes_nothing() -> None:
    session = claude(settings=SNIP).session()
    messages = talk()
    before = run(session, messages)
    assert verdict(snip(session, messages, ("nonsense",)), "snip") == "nothing"
    assert bodies(run(session, messages)) == bodies(before)


def test_r08_off_is_off_also_when_the_model_asks() -> None:
    session = claude().session()
    run(session, talk())
    assert verdict(snip(session, talk(), (9, 10, 11)), "snip") == "skipped"
    assert shown(run(session, talk())) == talk()


# --- R9


def test_r09_after_a_resume_what_was_removed_is_still_gone(tmp_path: Path) -> None:
    engine = claude(settings=SNIP)
    session = engine.open_session(tmp_path)
    messages = talk()
    snip(session, messages, named(session, messages, range(8, 15)))
    before = run(session, messages)
    resumed = engine.open_session(tmp_path)
    assert bodies(run(resumed, messages)) == bodies(before)
    longer = run(engine.open_session(tmp_path), [*messages, *rounds(2, start=60)])
    assert shown(longer)[: len(shown(before))] == shown(before)
    assert len(messages) == 25, "the transcript is appended to and nothing else"


def test_r09_a_branch_that_leaves_before_the_boundary_has_its_messages_whole(tmp_path: Path) -> None:
    engine = claude(settings=SNIP)
    session = engine.open_session(tmp_path)
    messages = talk()
    snip(session, messages, named(session, messages, range(8, 15)))
    run(session, messages)
    other = [*messages[:12], assistant("Stopped."), user("Another way, please.")]
    said = words(run(engine.open_session(tmp_path), other))
    assert "line 10 of the output" in said
    assert "removed on request" not in said
    assert "line 10 of the output" not in words(run(engine.open_session(tmp_path), messages))


# --- R10

REMINDER = "narrow reads and searches"


def nudges(outcome: Outcome) -> int:
    return words(outcome).count(REMINDER)


def growth(outcome: Outcome) -> float:
    """Tokens the transcript gained since the last mark, as the condition of the reminder has seen it."""
    [value] = [
        one.value for one in report(outcome, "snip-nudge").conditions if one.path == "since tokens at_least"
    ]
    return float(value)


def test_r10_a_reminder_comes_after_every_interval_of_growth() -> None:
    session = claude(settings=SNIP).session()
    messages = [user("Find the leak.")]
    outcome = run(session, messages)
    for number in range(30):
        before = nudges(outcome)
        messages += rounds(1, 8000, start=number)
        outcome = run(session, messages)
        due = growth(outcome) >= 20_000
        assert nudges(outcome) == before + due
    assert nudges(outcome) >= 2


def test_r10_no_reminder_without_the_setting() -> None:
    outcome = run(claude(), [user("Find the leak."), *rounds(30, 8000)])
    assert nudges(outcome) == 0


def test_r10_a_snip_puts_the_reminder_off() -> None:
    session = claude(settings=SNIP).session()
    messages = [user("Find the leak."), *rounds(5, 8000)]
    outcome = run(session, messages)
    so_far = growth(outcome)
    assert 10_000 < so_far < 20_000
    [name] = ids(outcome)[4]
    assert verdict(snip(session, messages, (name,)), "snip") == "committed"
    messages += rounds(5, 8000, start=20)
    outcome = run(session, messages)
    assert 10_000 < growth(outcome) < 20_000
    assert verdict(outcome, "snip-nudge") == "skipped"


@pytest.mark.parametrize("event", ["overflow", "manual"])
def test_r10_a_compaction_puts_the_reminder_off(event: str) -> None:
    session = small(settings=SNIP, answers=[ANSWER]).session()
    messages = [user("Find the leak."), *rounds(40, 3000)]
    error = TOO_LONG if event == "overflow" else None
    request = ManualRequest() if event == "manual" else None
    assert verdict(run(session, messages, event, error=error, request=request), "autocompact") == "committed"
    messages += rounds(1, start=90)
    assert verdict(run(session, messages), "snip-nudge") == "skipped"
