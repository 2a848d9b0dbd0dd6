"""Rows R17 to R21: thresholds, levels, guards, the breaker, the figure they rest on."""

from __future__ import annotations

import math
from typing import Any

import pytest
from tests.reference.support import (
    ANSWER,
    MODEL,
    TOO_LONG,
    Message,
    Writer,
    assistant,
    claude,
    loop,
    report,
    rounds,
    run,
    small,
    used,
    user,
    verdict,
)
from tests.session.packs import engine_of

from trimtab import Engine, Facts, ManualRequest, Request
from trimtab.conversation.request import Usage
from trimtab.outcome import Outcome

WIDE = "claude-opus-5-5"


def talk() -> list[Message]:
    return [*loop(12, 2000), assistant("So far."), user("Go on.")]


def limits(engine: Engine, model: str = MODEL) -> dict[str, float | None]:
    return dict(run(engine, [user("q")], model=model).receipt.limits)


def filled(engine: Engine, tokens: int, **facts: Any) -> Outcome:
    """A dry run on a conversation whose figure is this many tokens, or the next that a whole usage gives."""
    [probe] = [
        one.value
        for one in report(explained(engine, used(10_000), **facts), "warn").conditions
        if one.path == "tokens at_least"
    ]
    return explained(engine, used(math.ceil(tokens - (float(probe) - 10_000))), **facts)


def explained(engine: Engine, usage: Usage, **facts: Any) -> Outcome:
    return engine.session().explain(
        Request(MODEL, talk()), facts=Facts(**{"now": 1e9, "caller": "main", "usage": usage, **facts})
    )


# --- R17


@pytest.mark.parametrize(
    ("variant", "model", "settings", "effective", "auto"),
    [
        ("", MODEL, {}, 180_000, 167_000),
        ("", WIDE, {}, 980_000, 967_000),
        ("", f"{MODEL}[1m]", {}, 980_000, 967_000),
        ("-155k", MODEL, {}, 180_000, 155_000),
        ("-1m", MODEL, {}, 980_000, 967_000),
        ("", WIDE, {"window_cap": 200_000}, 180_000, 167_000),
        ("", MODEL, {"window_cap": 400_000}, 180_000, 167_000),
        ("", MODEL, {"percent": 50}, 180_000, 90_000),
        ("", MODEL, {"percent": 99}, 180_000, 167_000),
        ("", MODEL, {"percent": 0.5}, 180_000, 900),
        ("", WIDE, {"window_cap": 200_000, "percent": 80}, 180_000, 144_000),
    ],
)
def test_r17_the_threshold_is_worked_out_from_window_reserve_and_buffer(
    variant: str, model: str, settings: dict[str, Any], effective: float, auto: float
) -> None:
    found = limits(claude(variant, settings=settings), model)
    assert (found["effective"], found["auto"]) == (effective, auto)


def test_r17_a_model_with_less_output_needs_less_reserve() -> None:
    found = limits(claude(models={"*": {"window": 200_000, "max_output": 8192}}))
    assert found["effective"] == 200_000 - 8192


@pytest.mark.parametrize("window", [4_000, 16_000, 32_000, 59_000])
def test_r17_small_windows_take_shares_where_the_constants_go_negative(window: float) -> None:
    found = limits(claude(models={"*": {"window": window}}))
    auto, effective, block = found["auto"], found["effective"], found["block"]
    assert auto is not None
    assert effective is not None
    assert block is not None
    assert 0 < effective / 2 <= auto < block < effective < window


@pytest.mark.parametrize(
    ("variant", "threshold"), [("", 167_000), ("-155k", 155_000), ("-1m", 967_000), ("-reactive", None)]
)
def test_r17_it_fires_at_the_threshold_and_not_a_token_earlier(variant: str, threshold: int | None) -> None:
    engine = claude(variant, [])
    for tokens, expected in ((threshold or 190_000, "committed"), ((threshold or 190_000) - 1, "skipped")):
        outcome = filled(engine, tokens)
        assert tokens <= outcome.receipt.totals.tokens.before <= tokens + 1
        assert verdict(outcome, "autocompact") == (expected if threshold else "skipped")


def test_r17_every_receipt_has_the_effective_thresholds() -> None:
    session = claude(settings={"percent": 80}).session()
    for event in ("session_start", "tool_result", "before_request", "after_response", "overflow", "manual"):
        receipt = run(session, talk(), event).receipt
        assert receipt.limits["window"] == 200_000
        assert receipt.limits["auto"] == 144_000
        assert receipt.as_dict()["limits"]["block"] == 177_000
        assert receipt.as_dict()["settings"]["percent"] == 80


def test_r17_the_engine_reads_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    before = limits(claude())
    for name in ("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "TRIMTAB_PERCENT"):
        monkeypatch.setenv(name, "50")
    assert limits(claude()) == before


# --- R18


def test_r18_the_four_levels_of_a_window_of_200_thousand() -> None:
    found = limits(claude())
    assert [found[name] for name in ("warn", "auto", "block")] == [147_000, 167_000, 177_000]
    off = limits(claude(settings={"auto_compact": False}))
    assert [off[name] for name in ("threshold", "warn", "block")] == [180_000, 160_000, 177_000]


@pytest.mark.parametrize(
    ("tokens", "levels", "send"),
    [(146_998, [], True), (147_000, ["warning"], True), (176_998, ["warning"], True)],
)
def test_r18_warnings_come_twenty_thousand_before_the_threshold(
    tokens: int, levels: list[str], send: bool
) -> None:
    outcome = filled(claude("-reactive"), tokens)
    assert [notice.level for notice in outcome.notices] == levels
    assert outcome.send is send


def test_r18_a_request_three_thousand_below_the_effective_window_is_not_sent() -> None:
    outcome = filled(claude(settings={"auto_compact": False}), 177_000)
    assert [notice.level for notice in outcome.notices] == ["warning", "block"]
    assert not outcome.send


@pytest.mark.parametrize("variant", ["-reactive", "-collapse"])
def test_r18_where_only_a_refusal_makes_room_nothing_keeps_the_api_from_refusing(variant: str) -> None:
    outcome = filled(claude(variant), 177_000)
    assert outcome.send
    off = filled(claude(variant, settings={"auto_compact": False}), 177_000)
    assert not off.send


@pytest.mark.parametrize("window", [8_000, 30_000, 60_000, 128_000, 200_000, 1_000_000])
def test_r18_no_call_is_stopped_before_collapse_has_waited_for_room(window: int) -> None:
    outcome = filled(claude("-collapse", models={"*": {"window": window}}), window // 2)
    limits = outcome.receipt.limits
    assert limits["collapse_hard"] is not None
    assert limits["block"] is not None
    assert limits["collapse_target"] < limits["collapse_start"] <= limits["collapse_hard"] <= limits["block"]


@pytest.mark.parametrize(("tokens", "left"), [(147_000, 12), (158_650, 5), (167_000, 0), (190_000, 0)])
def test_r18_what_is_left_is_a_whole_percentage_and_never_negative(tokens: int, left: int) -> None:
    outcome = filled(claude("-reactive"), tokens)
    assert outcome.receipt.limits["percent_left"] == left
    assert outcome.notices[0].text.startswith(f"{left} % left")


# --- R19

FULL: dict[str, Any] = {"usage": used(170_000)}


@pytest.mark.parametrize(
    ("caller", "expected"),
    [
        ("main", "committed"),
        ("explore", "committed"),
        ("compact", "skipped"),
        ("session_memory", "skipped"),
        ("collapse", "skipped"),
    ],
)
def test_r19_who_writes_summaries_is_not_compacted_itself(caller: str, expected: str) -> None:
    outcome = run(claude(answers=[ANSWER]), talk(), caller=caller, **FULL)
    assert verdict(outcome, "autocompact") == expected


@pytest.mark.parametrize("settings", [{"auto_compact": False}, {"reactive_only": True}, {"collapse": True}])
def test_r19_off_reactive_only_and_collapse_each_keep_it_quiet_ahead_of_time(
    settings: dict[str, Any],
) -> None:
    writer = Writer([ANSWER])
    outcome = run(claude(settings=settings, summarizer=writer), talk(), **FULL)
    assert verdict(outcome, "autocompact") == "skipped"
    assert writer.asked == []


@pytest.mark.parametrize("event", ["before_request", "overflow", "after_response", "idle", "tool_result"])
@pytest.mark.parametrize("variant", ["", "-155k", "-1m", "-reactive"])
def test_r19_off_is_off_on_every_path(variant: str, event: str) -> None:
    writer = Writer([ANSWER] * 9)
    engine = claude(variant, settings={"auto_compact": False}, summarizer=writer)
    error = TOO_LONG if event == "overflow" else None
    session = engine.session()
    for _ in range(2):
        outcome = run(session, talk(), event, error=error, usage=used(170_000))
        found = outcome.receipt.stage("autocompact")
        assert found is None or found.verdict == "skipped"
        assert outcome.receipt.totals.commits == 0
        assert outcome.jobs == ()
    assert writer.asked == []
    assert outcome.send is (event != "overflow")


def test_r19_the_off_switch_leaves_a_manual_request_its_way() -> None:
    engine = claude(settings={"auto_compact": False}, answers=[ANSWER])
    outcome = run(engine, talk(), "manual", request=ManualRequest())
    assert verdict(outcome, "full-summary") == "committed"


# --- R20


def failing(count: int) -> tuple[list[str], Writer]:
    """Verdicts of the summary in so many calls, each of which the writer fails."""
    writer = Writer(["refusal"] * 99)
    session = small(summarizer=writer).session()
    messages = loop(12, 2600)
    seen = []
    for number in range(count):
        seen.append(verdict(run(session, messages), "full-summary"))
        messages += rounds(1, start=100 + number)
    return seen, writer


def test_r20_after_three_failures_in_a_row_it_stops_trying() -> None:
    seen, writer = failing(4)
    assert seen == ["failed", "failed", "failed", "skipped"]
    assert len(writer.asked) == 3


def test_r20_success_resets_the_count() -> None:
    writer = Writer(["refusal", "refusal", ANSWER, "refusal", "refusal", ANSWER])
    session = small(summarizer=writer).session()
    messages = loop(12, 2600)
    seen = []
    for number in range(6):
        seen.append(verdict(run(session, messages), "full-summary"))
        messages += rounds(12 if seen[-1] == "committed" else 1, 2600, start=100 * (number + 1))
    assert seen == ["failed", "failed", "committed", "failed", "failed", "committed"]


def test_r20_an_open_breaker_does_not_leave_the_conversation_without_help() -> None:
    session = small(answers=["refusal"] * 99).session()
    messages = loop(12, 2600)
    for number in range(4):
        outcome = run(session, messages)
        messages += rounds(1, start=100 + number)
    assert verdict(outcome, "ledger") == "committed"
    assert outcome.receipt.totals.tokens.after < 10_000


# --- R21

NOTHING = "format: 1\nname: nothing\nversion: 1.0.0\nstages: []\n"


def test_r21_the_figure_is_the_last_usage_and_an_estimate_of_what_came_after() -> None:
    engine = engine_of(NOTHING)
    usage = Usage(input=100, cache_read=120_000, cache_write=900, output=3, model=MODEL)
    first = run(engine, talk(), usage=usage).receipt.totals
    assert first.measured
    assert 121_000 <= first.tokens.after < 121_100
    later = run(engine, [*talk()[:-1], user("more " * 4000)], usage=usage).receipt.totals
    assert 121_000 + 4000 < later.tokens.after < 121_000 + 8000


def test_r21_what_an_edit_freed_is_taken_off() -> None:
    session = claude(settings={"snip": True}).session()
    messages = [user("Go."), *rounds(4, 40_000), assistant("Done."), user("Next.")]
    names = [str(serial) for serial in run(session, messages).serials[1:5]]
    request = ManualRequest("snip", by="model", messages=tuple(names))
    outcome = run(session, messages, "manual", request=request, usage=used(100_000))
    totals = outcome.receipt.totals
    assert 100_000 <= totals.tokens.before < 100_200
    assert 45_000 < totals.tokens.after < 60_000


def test_r21_without_any_usage_the_receipt_says_that_it_is_an_estimate() -> None:
    totals = run(claude(), talk()).receipt.totals
    assert not totals.measured
    assert report(filled(claude(), 147_000), "warn").verdict == "done"
