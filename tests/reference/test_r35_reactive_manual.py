"""Rows R35 to R37: after the API has refused, when somebody asks, and where the full transcript is."""

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
    assistant,
    blocks,
    claude,
    image,
    loop,
    report,
    rounds,
    run,
    shown,
    small,
    text,
    user,
    verdict,
    words,
)
from tests.strategies import PIXEL

from trimtab import ManualRequest
from trimtab.facts import ApiError
from trimtab.session import Session

# --- R35


@pytest.mark.parametrize("variant", ["", "-reactive", "-155k", "-1m", "-collapse"])
def test_r35_a_refused_request_is_compacted_and_sent_again(variant: str) -> None:
    outcome = run(claude(variant, [ANSWER]), loop(12, 2000), "overflow", error=TOO_LONG)
    assert verdict(outcome, "full-summary") == "committed"
    assert outcome.send


def test_r35_it_is_tried_once_and_then_the_error_surfaces() -> None:
    writer = Writer([ANSWER] * 9)
    session = claude(summarizer=writer).session()
    messages = loop(12, 2000)
    assert run(session, messages, "overflow", error=TOO_LONG).send
    again = run(session, messages, "overflow", error=TOO_LONG)
    assert not again.send
    assert [problem.code for problem in again.problems] == ["overflow-unhandled"]
    assert len(writer.asked) == 1


def test_r35_after_new_messages_another_refusal_is_helped_again() -> None:
    session = claude(answers=[ANSWER] * 2).session()
    messages = loop(12, 2000)
    run(session, messages, "overflow", error=TOO_LONG)
    messages += rounds(6, 2000, start=50)
    assert run(session, messages, "overflow", error=TOO_LONG).send


def pictures() -> list[Message]:
    return [
        user(text("See these."), image(PIXEL), image(PIXEL)),
        assistant("I see."),
        *loop(3),
        assistant("Done."),
        user("And?"),
    ]


def test_r35_refused_media_is_dropped_and_nothing_else() -> None:
    error = ApiError("messages.0.content.2: image dimensions exceed the limit", 400)
    outcome = run(claude(answers=[ANSWER]), pictures(), "overflow", error=error)
    assert verdict(outcome, "drop-refused-media") == "committed"
    assert verdict(outcome, "autocompact") == "skipped"
    assert len(blocks(outcome, "image")) == 1
    assert "[image removed: the API refused it]" in words(outcome)
    assert outcome.send


def test_r35_if_that_did_not_help_the_conversation_is_compacted() -> None:
    session = claude(answers=[ANSWER]).session()
    error = ApiError("messages.0.content.2: image dimensions exceed the limit", 400)
    messages = pictures()
    run(session, messages, "overflow", error=error)
    again = run(session, messages, "overflow", error=error)
    assert verdict(again, "drop-refused-media") == "skipped"
    assert verdict(again, "autocompact") == "committed"


def test_r35_without_a_writer_the_ledger_still_makes_room() -> None:
    outcome = run(small("-reactive"), loop(30, 2600), "overflow", error=TOO_LONG)
    assert verdict(outcome, "ledger") == "committed"
    assert outcome.send
    assert outcome.receipt.totals.tokens.after < 10_000


@pytest.mark.parametrize("tokens", [500, 15_000])
def test_r35_reactive_only_never_compacts_ahead_of_time(tokens: int) -> None:
    outcome = run(small("-reactive", [ANSWER]), loop(4 if tokens < 1000 else 14, 2600))
    assert verdict(outcome, "autocompact") == "skipped"


# --- R36


def manual(session: Session, messages: list[Message], **request: Any) -> Any:
    return run(session, messages, "manual", request=ManualRequest(**request))


def test_r36_a_manual_request_works_far_below_the_threshold() -> None:
    writer = Writer([ANSWER])
    session = claude(summarizer=writer).session()
    outcome = manual(session, [*loop(4), assistant("Done.")], instructions="Dwell on the pool.")
    assert outcome.receipt.totals.tokens.before < 2000
    assert verdict(outcome, "full-summary") == "committed"
    assert "Dwell on the pool." in writer.asked[0].prompt


@pytest.mark.parametrize("by", ["user", "model", "hook"])
@pytest.mark.parametrize("variant", ["", "-reactive", "-collapse"])
def test_r36_whoever_asks_and_whatever_else_is_set(variant: str, by: str) -> None:
    outcome = manual(claude(variant, [ANSWER]).session(), [*loop(4), assistant("Done.")], by=by)
    assert verdict(outcome, "full-summary") == "committed"


def test_r36_a_failure_leaves_the_conversation_as_it_was() -> None:
    session = claude(answers=["refusal"]).session()
    messages = [*loop(4), assistant("Done.")]
    outcome = manual(session, messages)
    assert verdict(outcome, "autocompact") == "failed"
    assert shown(run(session, messages)) == messages


def test_r36_a_manual_request_is_tried_though_the_breaker_is_open() -> None:
    session = small(answers=["refusal"] * 3 + [ANSWER]).session()
    messages = loop(12, 2600)
    for number in range(3):
        assert verdict(run(session, messages), "full-summary") == "failed"
        messages += rounds(1, start=100 + number)
    assert verdict(manual(session, messages), "full-summary") == "committed"


def test_r36_another_request_does_not_compact() -> None:
    outcome = manual(claude(answers=[ANSWER]).session(), loop(4), name="tidy")
    assert verdict(outcome, "autocompact") == "skipped"


# --- R37


def test_r37_the_full_original_is_kept_and_can_be_had_back(tmp_path: Path) -> None:
    session = small(answers=[ANSWER]).open_session(tmp_path)
    messages = loop(12, 2600)
    before = json.dumps(messages)
    outcome = run(session, messages, transcript_path="/srv/s1.jsonl")
    assert json.dumps(messages) == before
    assert "read the full transcript: /srv/s1.jsonl" in words(outcome)
    assert report(outcome, "full-summary").restorable == "transcript"
    session.undo(report(outcome, "full-summary").commit or "")
    session.undo(outcome.receipt.stage("restore").commit)  # type: ignore[union-attr,arg-type]  # it committed
    assert shown(run(small(answers=[]).open_session(tmp_path), messages)) == messages


def test_r37_where_no_path_is_known_none_is_promised() -> None:
    outcome = run(small(answers=[ANSWER]), loop(12, 2600))
    assert verdict(outcome, "full-summary") == "committed"
    assert "full transcript" not in words(outcome)
