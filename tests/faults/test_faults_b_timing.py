"""Group B of the field reports: it fires at the wrong time, not at all, or again and again."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.faults.support import (
    BOUND,
    CLEAR,
    HEAD,
    MODEL,
    NOTHING,
    NOW,
    SUM_UP,
    TOO_LONG,
    answer,
    assistant,
    blocks,
    bodies,
    call,
    codes,
    engine_of,
    image,
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
)
from tests.strategies import PIXEL

from trimtab import ApiError, Engine, Facts, Info, ManualRequest, PackError, Usage
from trimtab.summarizers.canned import CannedSummarizer

AT_SHARE = HEAD + (
    "limits: {auto: 0.8 * window}\n"
    "stages:\n"
    "  - {id: sum-up, kind: summarize, at: {before_request: {tokens: {at_least: auto}}, overflow: {}, "
    "manual: {}},\n"
    "     keep: {newest: {rounds: 2}}, text: 'What was done.'}\n"
)


def measured(
    prompt: int, count: int = 12, model: str = MODEL, **more: int
) -> tuple[list[Any], list[Info | None]]:
    """A tool loop whose newest response reports this usage."""
    messages = loop(count, 2000)
    info: list[Info | None] = [None] * len(messages)
    info[-2] = Info(usage=Usage(input=prompt, model=model, **more))
    return messages, info


def tokens(outcome: Any) -> int:
    return int(outcome.receipt.totals.tokens.before)


# --- B1 the wrong window


@pytest.mark.parametrize(
    ("model", "auto"),
    [
        ("claude-sonnet-4-5", 167_000),
        ("claude-sonnet-4-5[1m]", 967_000),
        ("claude-opus-5-5", 967_000),
        ("anthropic/claude-sonnet-4-5-20250929", 167_000),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", 167_000),
    ],
)
def test_b1_the_trigger_follows_the_models_own_window(model: str, auto: int) -> None:
    outcome = run(Engine.load("claude-code"), [user("q")], model=model)
    assert outcome.receipt.limits["auto"] == auto


@pytest.mark.parametrize(
    ("used", "fires"), [(170_000, False), (350_000, False), (960_000, False), (970_000, True)]
)
def test_b1_a_wide_model_is_not_compacted_at_a_sixth_of_its_window(used: int, fires: bool) -> None:
    messages, info = measured(used, model=BOUND)
    outcome = run(Engine.load("claude-code"), messages, model=BOUND, info=info)
    assert (verdict(outcome, "autocompact") != "skipped") is fires


def test_b1_a_hosts_own_window_goes_before_the_table() -> None:
    engine = engine_of(AT_SHARE, models={"llama-*": {"window": 16_000}})
    assert run(engine, [user("q")], model="llama-4-8b").receipt.limits == {
        "window": 16_000,
        "max_output": 32_000,
        "max_input": float("inf"),
        "auto": 12_800,
    }


def test_b1_an_unknown_model_gets_the_default_of_the_language_and_the_receipt_shows_it() -> None:
    outcome = run(AT_SHARE, [user("q")], model="my-own-model")
    assert outcome.receipt.limits["window"] == 128_000
    assert outcome.receipt.limits["auto"] == 102_400


def test_b1_a_small_model_that_nobody_knows_is_helped_after_its_first_refusal() -> None:
    error = "the request exceeds the available context size (8192 tokens), try increasing it"
    outcome = run(Engine.load("claude-code"), loop(14, 3000), "overflow", model="my-local-model", error=error)
    assert outcome.send
    assert outcome.receipt.totals.tokens.after < 8_192


def test_b1_the_report_says_that_a_window_is_only_assumed() -> None:
    assumed, known = (run(AT_SHARE, [user("q")], model=model) for model in ("my-own-model", "gpt-4o"))
    assert assumed.receipt.limits["auto"] == known.receipt.limits["auto"]
    assert [problem.message for problem in assumed.problems] != [
        problem.message for problem in known.problems
    ]


def test_b1_an_unknown_window_can_be_told_from_a_known_one_by_the_pack() -> None:
    pack = AT_SHARE.replace("0.8 * window", "0.8 * window if window_known else 170000")
    assert run(pack, [user("q")], model="my-own-model").receipt.limits["auto"] == 170_000
    assert run(pack, [user("q")]).receipt.limits["auto"] == 160_000


@pytest.mark.parametrize("window", [4_000, 8_000, 16_000, 32_000])
def test_b1_a_reserve_never_eats_a_small_window(window: int) -> None:
    engine = Engine.load("claude-code", models={"*": {"window": window}})
    limits = run(engine, [user("q")], model="small-local").receipt.limits
    assert limits["auto"] is not None
    assert window / 4 <= limits["auto"] < limits["block"] < window


def test_b1_an_absolute_cap_stands_beside_the_share() -> None:
    engine = Engine.load("claude-code", settings={"window_cap": 300_000})
    assert run(engine, [user("q")], model=BOUND).receipt.limits["auto"] == 267_000


def test_b1_the_window_is_learned_from_what_the_api_refused() -> None:
    pack = AT_SHARE.replace("0.8 * window", '"min(0.8 * window, 0.85 * overflow_tokens)"')
    session = engine_of(pack).session()
    messages = loop(6, 2000)
    assert run(session, messages).receipt.limits["auto"] == 160_000
    run(session, messages, "overflow", error="prompt is too long: 100000 tokens > 90000 maximum")
    assert run(session, messages).receipt.limits["auto"] == 85_000


def test_b1_what_one_model_refused_says_nothing_about_another() -> None:
    pack = AT_SHARE.replace("0.8 * window", '"min(0.8 * window, 0.85 * overflow_tokens)"')
    session = engine_of(pack).session()
    messages = loop(6, 2000)
    run(session, messages, "overflow", error="prompt is too long: 100000 tokens > 90000 maximum")
    assert run(session, messages, model=BOUND).receipt.limits["auto"] == 800_000


def test_b1_a_learned_window_survives_a_new_process(tmp_path: Path) -> None:
    pack = AT_SHARE.replace("0.8 * window", '"min(0.8 * window, 0.85 * overflow_tokens)"')
    messages = loop(6, 2000)
    error = ApiError("prompt is too long: 100000 tokens > 90000 maximum", 400, "invalid_request_error")
    run(engine_of(pack).open_session(tmp_path), messages, "overflow", error=error)
    assert run(engine_of(pack).open_session(tmp_path), messages).receipt.limits["auto"] == 85_000


# --- B2 contradictory policies


@pytest.mark.parametrize(
    ("stage", "said"),
    [
        (
            "{id: s, kind: summarize, at: {before_request: {tokens: {at_least: 35000}}}, text: x, "
            "keep: {newest: {tokens: {at_least: 40000}}}}",
            ("40", "35"),
        ),
        (
            "{id: s, kind: replace, at: {before_request: {tokens: {at_least: 100}}}, "
            "select: {blocks: [tool_result], age: {turns: {at_least: 1}}}, fit: {per: view, "
            "tokens: 200}, text: x}",
            ("200", "100"),
        ),
        ("{id: s, kind: summarize, at: {overflow: {error: [no_such_error]}}, text: x}", ("no_such_error",)),
        ("{id: s, kind: summarise, text: x}", ("summarise", "summarize")),
        ("{id: s, kind: summarize, text: x, when: {committed: [ghost]}}", ("ghost",)),
        ("{id: s, kind: guard, level: block, text: x, when: {token: {at_least: 5}}}", ("token",)),
    ],
)
def test_b2_a_policy_that_contradicts_itself_is_refused_when_it_is_loaded(
    stage: str, said: tuple[str, ...]
) -> None:
    with pytest.raises(PackError) as caught:
        engine_of(stages(stage))
    for word in said:
        assert word in str(caught.value)


# --- B3 checked too late


def test_b3_a_long_tool_loop_is_caught_at_the_call_that_would_hit_the_wall() -> None:
    session = engine_of(SUM_UP).session()
    messages: list[Any] = [user("Find the leak.")]
    sizes = []
    for number in range(30):
        messages += rounds(1, 2000, start=number)
        outcome = run(session, messages)
        sizes.append(outcome.receipt.totals.tokens.after)
    assert max(sizes) < 2000


def test_b3_the_result_about_to_be_sent_counts_not_the_last_usage() -> None:
    messages, info = measured(1000, 3)
    messages += round_of("big", "much more output " * 1000)
    outcome = run(SUM_UP, messages, info=[*info, None, None])
    assert tokens(outcome) > 4000
    assert verdict(outcome, "sum-up") == "committed"


def test_b3_system_and_tools_are_part_of_the_request() -> None:
    tools = [
        {"name": f"t{n}", "description": "does this and that " * 50, "input_schema": {}} for n in range(20)
    ]
    bare = run(NOTHING, [user("q")])
    full = run(NOTHING, [user("q")], system="You help. " * 500, tools=tools)
    assert tokens(full) > tokens(bare) + 5000
    assert full.receipt.totals.overhead_tokens > 5000


# --- B4 usage misread


def test_b4_cached_tokens_are_part_of_the_prompt() -> None:
    messages, info = measured(5, cache_read=90_000, cache_write=10_000)
    outcome = run(NOTHING, messages, info=info)
    assert outcome.receipt.totals.measured
    assert 100_000 < tokens(outcome) < 102_000


def test_b4_usage_of_another_model_is_ignored() -> None:
    messages, info = measured(150_000, model="claude-haiku-4-5")
    outcome = run(NOTHING, messages, info=info)
    assert not outcome.receipt.totals.measured
    assert tokens(outcome) < 20_000


def test_b4_usage_above_the_window_is_no_measure_of_a_request() -> None:
    messages, info = measured(1_140_000)
    outcome = run(NOTHING, messages, info=info)
    assert not outcome.receipt.totals.measured
    assert tokens(outcome) < 20_000


def test_b4_a_sum_over_several_calls_is_not_taken_for_a_request() -> None:
    part = {"input_tokens": 30_000, "output_tokens": 100}
    raw = {"input_tokens": 120_000, "output_tokens": 400, "iterations": [{"type": "message", **part}] * 4}
    messages = [*loop(3, 2000), assistant("done"), user("next")]
    outcome = run(NOTHING, messages, usage=Facts.of({"usage": raw}).usage)
    assert outcome.receipt.totals.measured
    assert 30_000 < tokens(outcome) < 30_200
    raw["iterations"] = [{"type": "compaction", **part}]
    assert Facts.of({"usage": raw}).usage is None


def test_b4_output_tokens_are_not_added_to_the_size() -> None:
    messages, info = measured(50_000)
    messages2, info2 = measured(50_000, output=60_000)
    assert tokens(run(NOTHING, messages, info=info)) == tokens(run(NOTHING, messages2, info=info2))


def test_b4_a_usage_given_as_a_fact_measures_the_request_before_the_answer() -> None:
    messages = [*loop(3, 2000), assistant("done"), user("next")]
    outcome = run(NOTHING, messages, usage=Usage(input=40_000, model=MODEL))
    assert outcome.receipt.totals.measured
    assert 40_000 < tokens(outcome) < 40_200


def test_b4_an_empty_usage_measures_nothing() -> None:
    messages, info = measured(0)
    assert not run(NOTHING, messages, info=info).receipt.totals.measured


# --- B5 the estimate


def test_b5_a_picture_is_a_flat_number_however_many_bytes_it_has() -> None:
    import base64

    data = base64.b64encode(base64.b64decode(PIXEL) + b"\0" * 300_000).decode()
    small, large = (run(NOTHING, [user(text("see"), image(pixels))]) for pixels in (PIXEL, data))
    assert 0 < tokens(small) < 4000
    assert 0 < tokens(large) < 4000


def test_b5_a_data_url_in_a_text_is_counted_by_what_it_costs() -> None:
    import base64
    import random

    data = base64.b64encode(random.Random(7).randbytes(30_000)).decode()
    outcome = run(NOTHING, [user("data:image/png;base64," + data)])
    assert tokens(outcome) > len(data) / 2.2, "dense runs cost far more than a token in four characters"


def test_b5_scripts_without_spaces_are_not_counted_by_a_quarter_of_their_characters() -> None:
    chinese = "压缩上下文时不能丢失用户的原话，也不能丢失尚未完成的任务。" * 100
    outcome = run(NOTHING, [user(chinese)])
    assert tokens(outcome) > len(chinese) * 0.6


def test_b5_arguments_of_calls_count() -> None:
    few = run(NOTHING, [user("q"), *round_of("x", "ok", "Write", content="")])
    many = run(NOTHING, [user("q"), *round_of("x", "ok", "Write", content="def f(): return 1\n" * 1000)])
    assert tokens(many) > tokens(few) + 4000


def test_b5_thinking_counts() -> None:
    block = {"type": "thinking", "thinking": "let me see, " * 1000, "signature": "s"}
    few = run(NOTHING, [user("q"), assistant(text("a")), user("on")])
    many = run(NOTHING, [user("q"), assistant(block, text("a")), user("on")])
    assert tokens(many) > tokens(few) + 2000


def test_b5_trigger_and_keep_use_the_same_figure() -> None:
    outcome = run(SUM_UP.replace("{rounds: 2}", "{tokens: {at_most: 1500}}"), loop(12, 3000))
    assert verdict(outcome, "sum-up") == "committed"
    assert outcome.receipt.totals.tokens.after < 2000


def test_b5_the_estimate_is_corrected_by_what_is_reported() -> None:
    session = engine_of(NOTHING).session()
    messages: list[Any] = [user("q")]
    info: list[Info | None] = [None]
    used = 0
    for number in range(40):
        messages += rounds(1, 3000, start=number)
        used += 2000
        info += [Info(usage=Usage(input=used, model=MODEL)), None]
        outcome = run(session, messages, info=info)
    assert outcome.receipt.totals.factor > 2


# --- B6 thrash


def test_b6_old_usage_is_void_after_a_rewrite() -> None:
    session = engine_of(AT_SHARE).session()
    messages, info = measured(170_000)
    first = run(session, messages, info=info)
    assert verdict(first, "sum-up") == "committed"
    assert not first.receipt.totals.measured
    messages += rounds(1, start=50)
    second = run(session, messages, info=[*info, None, None])
    assert verdict(second, "sum-up") == "skipped"
    assert second.receipt.totals.tokens.before < 40_000


def test_b6_the_same_usage_reported_again_does_not_fire_a_second_time() -> None:
    session = engine_of(AT_SHARE).session()
    messages, info = measured(170_000)
    usage = Usage(input=170_000, model=MODEL)
    run(session, messages, info=info, usage=usage)
    again = run(session, messages, info=info, usage=usage)
    assert again.receipt.totals.commits == 0


def test_b6_what_is_attached_after_a_summary_does_not_fill_the_window_again() -> None:
    pack = SUM_UP + (
        "  - {id: rules, kind: attach, when: {committed: [sum-up]},\n"
        "     from: [{fact: memory, text: '{% for item in items %}{{ item.text }}{% endfor %}'}, "
        "{text: 'Short note.'}]}\n"
    )
    outcome = run(pack, loop(12, 1500), memory=[{"path": "RULES.md", "text": "never push to main; " * 1500}])
    assert verdict(outcome, "sum-up") == "committed"
    assert outcome.receipt.totals.tokens.after < 2000
    report = outcome.receipt.stage("rules")
    assert report is not None
    assert "left_out" in report.remarks


def test_b6_a_pass_that_frees_too_little_is_not_made() -> None:
    pack = stages(
        "{id: prune, kind: replace, select: {blocks: [tool_result]}, keep: {newest: {items: 1}},"
        " accept: {freed_tokens: {at_least: 20000}}, text: '[cleared]'}"
    )
    outcome = run(pack, loop(5))
    assert verdict(outcome, "prune") == "refused"
    assert shown(outcome) == loop(5)


def test_b6_a_cool_down_is_a_condition() -> None:
    pack = SUM_UP.replace("    keep", "    when: {since: {messages: {at_least: 10}}}, keep").replace(
        "at_least: 2000", "at_least: 100"
    )
    session = engine_of(pack).session()
    messages = loop(6, 3000)
    seen = []
    for number in range(12):
        messages += rounds(1, 3000, start=100 + number)
        seen.append(verdict(run(session, messages), "sum-up"))
    fired = [number for number, one in enumerate(seen) if one == "committed"]
    assert fired
    assert all(later - earlier >= 5 for earlier, later in pairwise(fired))


def test_b6_tool_schemas_above_the_trigger_do_not_make_it_compact_on_every_call() -> None:
    tools = [
        {"name": f"t{n}", "description": "does this and that, with care; " * 400, "input_schema": {}}
        for n in range(3)
    ]
    writer = CannedSummarizer([answer()] * 50)
    session = Engine.load("claude-code", models={"*": {"window": 32_000}}, summarizer=writer).session()
    messages = loop(3)
    for number in range(10):
        messages += rounds(1, 2000, start=100 + number)
        outcome = run(session, messages, tools=tools)
        limits = outcome.receipt.limits
        assert limits["auto"] < outcome.receipt.totals.overhead_tokens < limits["block"]
    assert len(writer.asked) <= 3


@pytest.mark.parametrize("pack", [CLEAR, SUM_UP, AT_SHARE])
def test_b6_a_second_run_rests(pack: str) -> None:
    session = engine_of(pack).session()
    messages = loop(12, 3000)
    first = run(session, messages)
    second = run(session, messages)
    assert second.receipt.totals.commits == 0
    assert bodies(first) == bodies(second)


# --- B7 time


IDLE = stages(
    "{id: idle, kind: replace, when: {idle_minutes: {at_least: 60}}, select: {blocks: [tool_result]},"
    " keep: {newest: {items: 2}}, text: '[cleared]'}"
)


def at(messages: list[Any], when: float | None) -> list[Info | None]:
    return [Info(at=when) for _ in messages]


@pytest.mark.parametrize(
    ("when", "fires"),
    [(NOW - 3600, True), (NOW - 3599, False), (NOW - 86_400, True), (NOW + 7200, False), (None, False)],
)
def test_b7_a_pause_is_measured_by_the_given_clock_and_missing_or_future_times_never_fire(
    when: float | None, fires: bool
) -> None:
    messages = loop(6)
    outcome = run(IDLE, messages, info=at(messages, when))
    assert (verdict(outcome, "idle") == "committed") is fires


def test_b7_without_a_clock_nothing_is_guessed() -> None:
    messages = loop(6)
    assert verdict(run(IDLE, messages, info=at(messages, NOW - 9e6), now=None), "idle") == "skipped"


def test_b7_the_newest_results_stay_after_a_pause() -> None:
    messages = loop(6)
    outcome = run(IDLE, messages, info=at(messages, NOW - 7200))
    cleared = [block["content"] == "[cleared]" for block in blocks(outcome, "tool_result")]
    assert cleared == [True] * 4 + [False] * 2


def test_b7_a_hot_cache_is_left_alone_by_the_shipped_pack() -> None:
    messages = loop(20)
    outcome = run(Engine.load("claude-code"), messages, info=at(messages, NOW - 60))
    assert shown(outcome) == messages


# --- B8 off is not off


def heavy() -> tuple[list[Any], list[Info | None]]:
    return measured(170_000, 80)


def test_b8_one_switch_turns_the_proactive_and_the_reactive_path_off_and_not_the_manual_one() -> None:
    messages, info = heavy()
    for event, error, fires in (
        ("before_request", None, False),
        ("overflow", "prompt is too long: 210000 tokens > 200000 maximum", False),
        ("manual", None, True),
    ):
        engine = Engine.load(
            "claude-code", settings={"auto_compact": False}, summarizer=CannedSummarizer(["unavailable"] * 9)
        )
        given = ManualRequest() if event == "manual" else None
        outcome = run(engine, messages, event, info=info, error=error, request=given)
        assert (verdict(outcome, "autocompact") != "skipped") is fires, event


def test_b8_reactive_only_waits_for_the_api() -> None:
    messages, info = heavy()
    engine = Engine.load("claude-code", settings={"reactive_only": True})
    assert verdict(run(engine, messages, info=info), "autocompact") == "skipped"
    outcome = run(
        engine, messages, "overflow", info=info, error="prompt is too long: 210000 tokens > 200000 maximum"
    )
    assert verdict(outcome, "autocompact") == "committed"


def test_b8_a_stage_switched_off_is_off_for_every_event_and_visible() -> None:
    pack = SUM_UP.replace("kind: summarize,", "kind: summarize, enabled: false,")
    for event in ("before_request", "overflow", "manual"):
        outcome = run(pack, loop(12, 3000), event)
        report = outcome.receipt.stage("sum-up")
        assert report is not None
        assert (report.verdict, report.reason) == ("skipped", "disabled")
        assert shown(outcome) == loop(12, 3000)


@pytest.mark.parametrize("settings", [{"autocompact": False}, {"auto_compact": "no"}, {"auto_compact": 0}])
def test_b8_a_setting_that_is_unknown_or_of_another_type_is_an_error(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"auto_?compact"):
        Engine.load("claude-code", settings=settings)


def test_b8_a_key_in_the_wrong_place_is_an_error() -> None:
    with pytest.raises(PackError, match="auto_compact"):
        engine_of(NOTHING + "auto_compact: false\n")


# --- B9 the overflow error


OVERFLOWS = [
    TOO_LONG,
    "input length and `max_tokens` exceed context limit: 188059 + 20000 > 200000, decrease input length",
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
    "context_length_exceeded",
    "the request exceeds the available context size (8192 tokens), try increasing it",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "model_context_window_exceeded",
    "Input is too long for requested model.",
]
BY_ERROR = stages(
    "{id: too-long, kind: guard, at: {overflow: {error: [prompt_too_long]}}, level: info, text: long}",
    "{id: too-large, kind: guard, at: {overflow: {error: [request_too_large]}}, level: info, text: large}",
    "{id: media, kind: guard, at: {overflow: {error: [media_too_large, too_many_media, bad_media]}}, "
    "level: info, text: media}",
)


def spoken(error: Any, pack: str = BY_ERROR) -> list[str]:
    return [notice.text for notice in run(pack, [user("q")], "overflow", error=error).notices]


@pytest.mark.parametrize("words", OVERFLOWS)
def test_b9_each_providers_words_for_too_long_are_known(words: str) -> None:
    assert spoken(words) == ["long"]
    assert spoken(ApiError(words, 400, "invalid_request_error")) == ["long"]


@pytest.mark.parametrize(
    ("error", "cure"),
    [
        (ApiError("Request exceeds the maximum allowed number of bytes", 413, "request_too_large"), "large"),
        (ApiError("Payload Too Large", 413), "large"),
        (ApiError("messages.0.content.1.content.0: image_dimensions_too_large", 400), "media"),
        (ApiError("messages.3.content.0.image.source: image exceeds 5 MB maximum", 400), "media"),
        (ApiError("Too many images and documents: 120 > 100", 400), "media"),
        (ApiError("Could not process image", 400), "media"),
        (ApiError("messages.1.content.0: The PDF specified is password protected", 400), "media"),
    ],
)
def test_b9_bytes_and_media_have_cures_of_their_own(error: ApiError, cure: str) -> None:
    assert spoken(error) == [cure]


@pytest.mark.parametrize(
    "error",
    [
        ApiError("This request would exceed your rate limit: too many input tokens, please wait", 429),
        ApiError("Number of tokens per minute exceeded", 429, "rate_limit_error"),
        ApiError("Overloaded", 529, "overloaded_error"),
        "rate_limit_error: prompt tokens per minute: 410000 tokens > 400000",
    ],
)
def test_b9_a_throttle_destroys_no_history(error: Any) -> None:
    messages = loop(12, 3000)
    outcome = run(
        SUM_UP.replace("overflow: {}", "overflow: {error: [prompt_too_long]}"),
        messages,
        "overflow",
        error=error,
    )
    assert shown(outcome) == messages
    assert not outcome.send
    assert "retry-later" in codes(outcome)


def test_b9_a_throttle_does_not_even_reach_a_stage_that_takes_every_overflow() -> None:
    messages = loop(12, 3000)
    outcome = run(SUM_UP, messages, "overflow", error=ApiError("too many tokens, please wait", 429))
    assert shown(outcome) == messages
    assert not outcome.send


def test_b9_a_throttle_teaches_no_smaller_window() -> None:
    pack = AT_SHARE.replace("0.8 * window", '"min(0.8 * window, 0.85 * overflow_tokens)"')
    session = engine_of(pack).session()
    error = ApiError("tokens per minute: 3000 tokens > 2000 allowed, please wait", 429)
    run(session, loop(3), "overflow", error=error)
    assert run(session, loop(3)).receipt.limits["auto"] == 160_000


def test_b9_a_pack_can_teach_an_error_of_its_own() -> None:
    own = BY_ERROR.replace(
        "stages:",
        "api_errors: {prompt_too_long: ['*tape is full*'], retry_later: ['*tape is busy*']}\nstages:",
    )
    assert spoken("the tape is full") == []
    assert spoken("the tape is full", own) == ["long"]
    assert codes(run(own, [user("q")], "overflow", error="the tape is busy")) == ["retry-later"]


def test_b9_an_unknown_refusal_is_not_sent_again_unchanged() -> None:
    outcome = run(BY_ERROR, [user("q"), *rounds(1)], "overflow", error="teapot")
    assert not outcome.send
    assert "overflow-unhandled" in codes(outcome)


def test_b9_calls_of_the_refused_request_are_still_paired() -> None:
    messages = [
        user("q"),
        assistant(call("a"), call("b")),
        user(result("a", "x" * 5000), result("b", "y" * 5000)),
    ]
    outcome = run(SUM_UP, messages, "overflow", error=OVERFLOWS[0])
    assert {b["id"] for b in blocks(outcome, "tool_use")} == {
        b["tool_use_id"] for b in blocks(outcome, "tool_result")
    }
