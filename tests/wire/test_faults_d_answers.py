"""Group D of the field reports over the wire: whatever the API does, the conversation is whole or validly compacted,
and the receipt says what was tried, what came of it and what it cost.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from tests.fake_api import (
    Delivery,
    Refusal,
    Reply,
    call,
    overloaded,
    rate_limited,
    refuse_to_answer,
    say,
    server_error,
)
from tests.fake_api.fixture import Served
from tests.faults.support import loop, rounds, shown
from tests.wire.agent import SUMMARY, committed
from tests.wire.summing import (
    MODEL,
    NINE,
    calls,
    chain,
    compact,
    engine,
    pack,
    problems,
    report,
    request,
)

from trimtab.tokens.models import lookup

SDK_WARNS = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
"""The SDK does, of answers that are not of its types."""
LATE = say(SUMMARY, delivery=Delivery(headers_after=0.6))
SLOW = say(SUMMARY, delivery=Delivery(pause=0.1))
SORRY = "I'm sorry, but I can't help with that."
PINGS = say(SUMMARY, delivery=Delivery(pause=0.05, pings=200))
DRIPS = say(SUMMARY, delivery=Delivery(pause=0.05, piece=1))
BODY = SUMMARY[SUMMARY.index("<summary>") + 9 : SUMMARY.index("</summary>")]


# --- D2: what passes is tried again, and what was paid for is in the receipt


def body(raw: bytes, kind: str = "text/event-stream") -> Reply:
    """An answer of these bytes, whatever was asked."""
    return say("", delivery=Delivery(content_type=kind, body=raw))


def mangled(old: bytes, new: bytes) -> Reply:
    """The good answer, with other bytes for some of its own."""
    return say(SUMMARY, delivery=Delivery(mangle=lambda event: event.replace(old, new)))


PASSING: dict[str, Any] = {
    "busy": rate_limited(),
    "overloaded": overloaded(),
    "a fault of the server": server_error(),
    "a broken connection": say(SUMMARY, delivery=Delivery(drop_after=6)),
    "a stream that stops short": say(SUMMARY, delivery=Delivery(end_after=6)),
    "a stream that stops at once": say(SUMMARY, delivery=Delivery(end_after=0)),
    "an event that is no JSON": say(SUMMARY, delivery=Delivery(malformed_after=5)),
    "an error in the stream": say(SUMMARY, delivery=Delivery(error_after=5)),
    "a page of a gateway": say("", delivery=Delivery(content_type="text/html", body=b"<html>busy</html>")),
    "a connection that is reset": say(SUMMARY, delivery=Delivery(drop_after=6, reset=True)),
    "a connection that is reset at once": say(SUMMARY, delivery=Delivery(drop_after=0, reset=True)),
    "an error with the status of success": body(json.dumps(overloaded().body).encode(), "application/json"),
    "an error that stands in a stream as it is": body(json.dumps(overloaded().body).encode()),
    "a body without a byte": body(b""),
    "an event that is null": body(b"event: message_start\ndata: null\n\n"),
    "an event that is a list": body(b"event: message_start\ndata: [1]\n\n"),
    "an event without end": body(b"event: message_start\ndata: " + b"[" * 200_000 + b"\n\n"),
    "a number without end": body(b'event: message_start\ndata: {"type": ' + b"9" * 6000 + b"}\n\n"),
    "words before the beginning": body(
        b'event: content_block_delta\ndata: {"type": "content_block_delta", "index": 0, "delta": '
        b'{"type": "text_delta", "text": "so"}}\n\n'
    ),
    "words of a block that is not there": mangled(b'"index": 0', b'"index": 7'),
    "words that are none": mangled(b'"text": "<ana', b'"text": null, "more": "<ana'),
    "a message without a list of blocks": mangled(b'"content": []', b'"content": null'),
    "a message that does not tell its usage": mangled(b'"usage": {', b'"usage": null, "more": {'),
    "bytes that are no UTF-8": mangled(b"ledgers", b"ledg\xff\xfers"),
    "a stop reason that is a list": mangled(b'"end_turn"', b'["end_turn"]'),
}


@SDK_WARNS
@pytest.mark.parametrize("name", PASSING)
def test_d2_what_passes_is_tried_again_after_a_pause(
    fake_api: Served, name: str, pauses: list[float]
) -> None:
    api = fake_api(PASSING[name], SUMMARY)
    outcome = compact(engine(api), loop(12, 3000))
    assert report(outcome).verdict == "committed"
    assert problems(outcome) == ["error", None]
    assert [one.paused for one in calls(outcome)] == [0.5, None]
    assert pauses == [0.5]
    assert all(one.message for one in calls(outcome) if one.problem)
    assert not api.faulty


@SDK_WARNS
@pytest.mark.parametrize("name", PASSING)
def test_d2_what_does_not_pass_leaves_the_conversation_as_it_was(fake_api: Served, name: str) -> None:
    api = fake_api(otherwise=PASSING[name])
    outcome = compact(engine(api), loop(12, 3000))
    assert (report(outcome).verdict, report(outcome).remarks["failure"]) == ("failed", "error")
    assert problems(outcome) == ["error"] * 3
    assert len(api.sent) == 3


def test_d2_the_clients_own_retries_multiply_nothing(fake_api: Served) -> None:
    api = fake_api(otherwise=overloaded())
    compact(engine(api, client=api.client(max_retries=5)), loop(12, 3000))
    assert len(api.sent) == 3


def test_d2_when_to_come_back_is_heeded(fake_api: Served, pauses: list[float]) -> None:
    api = fake_api(rate_limited(7), Refusal(429, "slow down", headers={"retry-after-ms": "1500"}), SUMMARY)
    outcome = compact(engine(api), loop(12, 3000))
    assert pauses == [7.0, 1.5]
    assert report(outcome).verdict == "committed"


def test_d2_who_is_told_to_stay_away_too_long_asks_the_next_model(
    fake_api: Served, pauses: list[float]
) -> None:
    api = fake_api(rate_limited(3600), SUMMARY)
    outcome = compact(engine(api, pack(f"{NINE}, model: [same, claude-opus-4-8]")), loop(12, 3000))
    assert pauses == []
    assert [one.body["model"] for one in api.sent] == [MODEL, "claude-opus-4-8"]
    assert report(outcome).verdict == "committed"


def test_d2_what_the_api_says_not_to_repeat_is_not_repeated(fake_api: Served) -> None:
    api = fake_api(otherwise=Refusal(500, "broken for good", headers={"x-should-retry": "false"}))
    assert problems(compact(engine(api), loop(12, 3000))) == ["error"]


@pytest.mark.parametrize("answer", [LATE, SLOW, PINGS, DRIPS])
def test_d2_an_answer_that_takes_too_long_is_given_up(fake_api: Served, answer: Any) -> None:
    api = fake_api(answer)
    begun = time.monotonic()
    outcome = compact(engine(api, pack(f"{NINE}, timeout_seconds: 0.3, retries: 0")), loop(12, 3000))
    assert time.monotonic() - begun < 3
    [one] = calls(outcome)
    assert one.problem == "error"
    assert "within 0.3 s" in str(one.message) or "in time" in str(one.message)


def test_d2_every_try_is_in_the_receipt_with_what_it_cost(fake_api: Served) -> None:
    api = fake_api(say(SUMMARY, delivery=Delivery(drop_after=6)), say("no tags"), SUMMARY)
    outcome = compact(engine(api, pack(f"{NINE}, model: [same, claude-opus-4-8]")), loop(12, 3000))
    broken, useless, good = calls(outcome)
    assert (broken.problem, useless.problem, good.problem) == ("error", "invalid", None)
    for one, model in ((broken, MODEL), (useless, MODEL), (good, "claude-opus-4-8")):
        prices = lookup(model).prices
        assert prices is not None
        assert one.usage is not None
        assert one.usage.output is not None
        assert one.usage.input > 5000
        assert one.cost == pytest.approx(prices.cost(one.usage.input, one.usage.output), rel=1e-9)
    plain = outcome.receipt.as_dict()["stages"][0]["calls"]
    assert [one.get("cost") for one in plain] == [round(one.cost or 0, 6) for one in calls(outcome)]


# --- D2: the gate


GATE: dict[str, tuple[Any, str, str]] = {
    "nothing": ([], "empty", "a text is there"),
    "blanks": ("  \n ", "empty", "a text is there"),
    "thinking only": ([{"type": "thinking", "thinking": "hm"}], "empty", "a text is there"),
    "only a scratch part": ("<analysis>hm</analysis>", "empty", "a text is there"),
    "a call": ([call("Read", file_path="/a")], "tool_call", "the answer is finished"),
    "words and a call": (
        [{"type": "text", "text": SUMMARY}, call("Read")],
        "tool_call",
        "the answer is finished",
    ),
    "a call as text": (
        "<summary><function_calls>Read</function_calls></summary>",
        "tool_call",
        "no tool call",
    ),
    "a refusal": (refuse_to_answer("I will not."), "refusal", "the answer is finished"),
    "cut off": (say(SUMMARY, stop="max_tokens"), "truncated", "the answer is finished"),
    "cut off by the window": (
        say(SUMMARY, stop="model_context_window_exceeded"),
        "truncated",
        "the answer is finished",
    ),
    "an unclosed tag": (SUMMARY.replace("</summary>", ""), "truncated", "tags are closed"),
    "no tag": (BODY, "invalid", "a usable text"),
    "an error as text": ("API Error: 529 Overloaded", "invalid", "a usable text"),
    "a section too few": (SUMMARY.replace("Pending tasks", "Rest"), "invalid", "sections are there"),
    "a refusal in words": (f"<summary>{SORRY}</summary>", "refusal", "no refusal"),
    "a refusal outside of the tags": (SORRY, "invalid", "a usable text"),
    "a stop reason that nobody knows": (
        mangled(b'"end_turn"', b'"mood_swing"'),
        "invalid",
        "the answer is finished",
    ),
    "blocks of a kind that nobody knows": (
        mangled(b'"content_block": {"type": "text"', b'"content_block": {"type": "sound"'),
        "empty",
        "a text is there",
    ),
    "millions of characters": (
        mangled(b'"<ana', b'"' + b"x" * 3_000_000 + b"<ana"),
        "larger",
        "a usable text",
    ),
    "larger than its source": (
        SUMMARY.replace("</summary>", "more words " * 5400 + "</summary>"),
        "larger",
        "smaller than its source",
    ),
}


@SDK_WARNS
@pytest.mark.parametrize("name", GATE)
def test_d2_an_unusable_answer_replaces_nothing_and_the_gate_says_why(
    fake_api: Served, name: str, tmp_path: Path
) -> None:
    answer, reason, check = GATE[name]
    api = fake_api(answer, otherwise=answer)
    folder = tmp_path / "session"
    session = engine(api, pack(f"{NINE}, retries: 0")).open_session(folder)
    outcome = compact(session, loop(12, 3000))
    found = report(outcome)
    assert (found.verdict, found.remarks["failure"]) == ("failed", reason)
    [one] = found.calls
    assert one.problem == reason
    assert one.cost is not None
    assert one.cost > 0
    failed = [looked.name for looked in one.checks if not looked.holds]
    assert check in failed
    assert "put in order" not in (folder / "journal.jsonl").read_text("utf-8")


def test_d2_a_good_answer_passes_every_check(fake_api: Served) -> None:
    outcome = compact(engine(fake_api(SUMMARY)), loop(12, 3000))
    [one] = calls(outcome)
    assert all(looked.holds for looked in one.checks)
    assert [looked.name for looked in one.checks][-2:] == ["sections are there", "smaller than its source"]


def test_d2_a_call_is_asked_about_once_more_with_tools_forbidden(fake_api: Served) -> None:
    api = fake_api([call("Read", file_path="/a")], SUMMARY)
    outcome = compact(engine(api), loop(12, 3000))
    assert problems(outcome) == ["tool_call", None]
    assert [one.body.get("tool_choice") for one in api.sent] == [None, {"type": "none"}]
    assert report(outcome).verdict == "committed"


@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "Read"}])
def test_d2_an_agent_that_must_call_a_tool_does_not_make_the_writer_do_so(
    fake_api: Served, choice: Any
) -> None:
    api = fake_api(SUMMARY)
    compact(engine(api), loop(12, 3000), extra={"tool_choice": choice})
    assert api.sent[0].body["tool_choice"] == {"type": "none"}


def test_d2_tools_that_the_api_runs_itself_are_forbidden_at_once(fake_api: Served) -> None:
    api = fake_api(SUMMARY)
    ready = engine(api)
    search = {"type": "web_search_20250305", "name": "web_search"}

    asked = request(loop(12, 3000))
    ready.session().run(
        type(asked)(asked.model, asked.messages, asked.system, [*(asked.tools or ()), search])
    )
    assert api.sent[0].body["tool_choice"] == {"type": "none"}


# --- D2: who is asked next


def test_d2_the_next_model_is_asked_then_the_ledger_then_all_stays(fake_api: Served) -> None:
    messages = loop(12, 3000)
    api = fake_api(refuse_to_answer(), SUMMARY)
    outcome = compact(engine(api, chain()), messages)
    assert committed([outcome]) == ["sum-up"]
    assert [one.body["model"] for one in api.sent] == ["claude-opus-4-8", MODEL]

    outcome = compact(engine(fake_api(otherwise=refuse_to_answer()), chain()), messages)
    assert committed([outcome]) == ["ledger"]
    assert problems(outcome) == ["refusal", "refusal"]

    outcome = compact(engine(fake_api(otherwise=refuse_to_answer()), chain(when="too_long")), messages)
    assert committed([outcome]) == []
    assert shown(outcome) == messages


def test_d2_a_model_that_is_not_there_is_unavailable(fake_api: Served) -> None:
    api = fake_api(Refusal(404, "model: no such"), SUMMARY)
    outcome = compact(engine(api, chain()), loop(12, 3000))
    assert problems(outcome) == ["unavailable", None]


def test_d2_after_three_failures_the_breaker_opens_a_success_closes_it(fake_api: Served) -> None:
    keys = f"{NINE}, retries: 0, breaker: {{failures: 3, cool_down_minutes: 10}}"
    api = fake_api(*[server_error()] * 3, SUMMARY, *[server_error()] * 3, otherwise=server_error())
    session = engine(api, pack(keys)).session()
    messages = loop(12, 3000)
    found = [report(compact(session, messages, now=1e9 + minute * 60)).verdict for minute in range(4)]
    assert found == ["failed", "failed", "failed", "skipped"]
    assert len(api.sent) == 3
    probe = compact(session, messages, now=1e9 + 3600)
    assert report(probe).verdict == "committed", "one try is let through after the cool-down"
    messages += rounds(12, 3000, start=100)
    later = [report(compact(session, messages, now=1e9 + 7200 + minute)).verdict for minute in range(4)]
    assert later == ["failed", "failed", "failed", "skipped"], "the success had closed it"


def test_d2_one_failed_probe_keeps_the_breaker_open(fake_api: Served) -> None:
    keys = f"{NINE}, retries: 0, breaker: {{failures: 2, cool_down_minutes: 10}}"
    api = fake_api(otherwise=server_error())
    session = engine(api, pack(keys)).session()
    for minute in (0, 1, 2, 20, 21, 22):
        compact(session, loop(12, 3000), now=1e9 + minute * 60)
    assert len(api.sent) == 3


def test_d2_the_hard_limit_passes_by_the_breaker_where_the_pack_says_so(fake_api: Served) -> None:
    keys = f"{NINE}, retries: 0, breaker: {{failures: 1, unless: {{tokens: {{at_least: 20000}}}}}}"
    api = fake_api(otherwise=server_error())
    session = engine(api, pack(keys)).session()
    messages = loop(12, 3000)
    verdicts = [report(compact(session, messages)).verdict for _ in range(2)]
    messages += rounds(20, 3000, start=100)
    assert [*verdicts, report(compact(session, messages)).verdict] == ["failed", "skipped", "failed"]
