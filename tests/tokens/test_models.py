from __future__ import annotations

from fnmatch import fnmatchcase

import pytest

from trimtab.tokens import canonical, lookup
from trimtab.tokens.models import MODELS, UNKNOWN_MAX_OUTPUT, UNKNOWN_WINDOW


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("claude-opus-4-1-20250805", "claude-opus-4-1"),
        ("claude-opus-4-20250514", "claude-opus-4"),
        ("claude-3-5-haiku-20241022", "claude-3-5-haiku"),
        ("claude-3-5-haiku-latest", "claude-3-5-haiku"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("global.anthropic.claude-opus-5-5", "claude-opus-5-5"),
        ("anthropic.claude-3-opus-20240229-v1:0:200k", "claude-3-opus"),
        (
            "arn:aws:bedrock:us-east-1:1:inference-profile/eu.anthropic.claude-haiku-4-5-20251001-v1:0",
            "claude-haiku-4-5",
        ),
        ("claude-opus-4-5@20251101", "claude-opus-4-5"),
        ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("anthropic/claude-3.7-sonnet:thinking", "claude-3-7-sonnet"),
        ("claude-4.5-sonnet", "claude-sonnet-4-5"),
        ("claude-sonnet-4-5[1m]", "claude-sonnet-4-5"),
        ("Claude-Fable-5-1", "claude-fable-5-1"),
        ("gpt-5-2025-08-07", "gpt-5"),
        ("llama3:8b", "llama3:8b"),
    ],
)
def test_ids_of_one_model_on_all_platforms_have_one_name(model: str, name: str) -> None:
    assert canonical(model) == name


@pytest.mark.parametrize(
    ("model", "window", "output", "factor", "thinking"),
    [
        ("claude-fable-5-2", 1_000_000, 128_000, 1.5, "bound"),
        ("claude-mythos-5-1", 1_000_000, 128_000, 1.5, "bound"),
        ("claude-opus-5-5", 1_000_000, 128_000, 1.5, "bound"),
        ("claude-haiku-5-5", 1_000_000, 128_000, 1.5, "bound"),
        ("claude-fable-5", 1_000_000, 128_000, 1.5, "free"),
        ("claude-opus-5", 1_000_000, 128_000, 1.5, "free"),
        ("claude-opus-4-8", 1_000_000, 128_000, 1.5, "free"),
        ("claude-opus-4-7", 1_000_000, 128_000, 1.5, "free"),
        ("claude-opus-4-6", 1_000_000, 128_000, 1.25, "manual"),
        ("claude-sonnet-4-5-20250929", 200_000, 64_000, 1.25, "manual"),
        ("claude-opus-4-1-20250805", 200_000, 32_000, 1.25, "manual"),
        ("claude-3-5-haiku-20241022", 200_000, 8_192, 1.25, "free"),
        ("gpt-5", 400_000, 128_000, 1.0, "free"),
        ("gpt-6-sol", 1_050_000, 128_000, 1.0, "free"),
        ("gemini-2.5-pro", 1_048_576, 65_536, 1.0, "free"),
    ],
)
def test_a_known_model_has_its_numbers(
    model: str, window: int, output: int, factor: float, thinking: str
) -> None:
    found = lookup(model)
    assert found.known
    assert (found.window, found.max_output, found.factor, found.thinking) == (
        window,
        output,
        factor,
        thinking,
    )


def test_an_unknown_model_says_so_and_is_treated_with_care() -> None:
    found = lookup("somebody/new-model-9")
    assert not found.known
    assert (found.window, found.max_output, found.max_input) == (UNKNOWN_WINDOW, UNKNOWN_MAX_OUTPUT, None)
    assert (found.factor, found.thinking, found.prefill) == (1.0, "bound", False)


@pytest.mark.parametrize(
    "model", ["claude-opus-6", "claude-opus-5-6", "claude-opus-4-50", "claude-haiku-4", ""]
)
def test_a_newer_version_is_not_taken_for_an_older_one(model: str) -> None:
    found = lookup(model)
    assert not found.known
    assert found.factor == (1.5 if model else 1.0)


def test_the_million_suffix_widens_the_window() -> None:
    assert lookup("claude-sonnet-4-5").window == 200_000
    wide = lookup("claude-sonnet-4-5[1m]")
    assert (wide.window, wide.max_output, wide.max_images, wide.known) == (1_000_000, 64_000, 600, True)
    assert lookup("new-model[1m]").window == 1_000_000
    assert not lookup("new-model[1m]").known


@pytest.mark.parametrize(
    "model", ["claude-sonnet-4-6", "claude-opus-4-6", "claude-opus-5", "claude-haiku-5-5"]
)
def test_prefill_is_refused_from_4_6_on(model: str) -> None:
    assert not lookup(model).prefill
    assert lookup("claude-opus-4-5").prefill
    assert lookup("gpt-5").prefill


def test_system_messages_may_stand_inside_from_opus_4_8_on() -> None:
    assert lookup("claude-opus-4-8").inner_system
    assert lookup("claude-sonnet-5").inner_system
    assert not lookup("claude-opus-4-7").inner_system
    assert not lookup("claude-sonnet-4-6").inner_system


def test_small_windows_take_fewer_images() -> None:
    for entry in MODELS:
        if entry.globs[0].startswith("claude"):
            assert entry.max_images == (100 if entry.window == 200_000 else 600)


def test_openai_models_have_an_input_limit_of_their_own() -> None:
    assert lookup("gpt-5").max_input == 272_000
    assert lookup("gpt-5.6-sol").max_input == 922_000
    assert lookup("gpt-5.3-codex").window == 400_000
    assert lookup("gpt-5-chat-latest").window == 128_000


def test_no_entry_hides_a_later_one() -> None:
    for position, entry in enumerate(MODELS):
        for glob in entry.globs:
            name = glob.replace("[!0-9]*", "x").replace("[12]", "1").replace("[1-5]", "1").replace("*", "")
            first = next(
                number
                for number, other in enumerate(MODELS)
                if any(fnmatchcase(name, g) for g in other.globs)
            )
            assert first == position, (glob, name)


@pytest.mark.parametrize(
    ("model", "read", "write", "hour"),
    [
        ("claude-fable-5-1", 0.25, 12.5, 20),
        ("claude-fable-5-2", 0.20, 10, 16),
        ("claude-opus-5-5", 0.20, 5, 8),
        ("claude-sonnet-5-5", 0.10, 2.5, 4),
        ("claude-opus-4-5", 0.5, 6.25, 10),
        ("claude-haiku-5-5", 0.01, 0.125, 0.2),
    ],
)
def test_cache_prices_follow_the_published_table(model: str, read: float, write: float, hour: float) -> None:
    prices = lookup(model).prices
    assert prices is not None
    assert (prices.cache_read, prices.cache_write, prices.cache_write_hour) == pytest.approx(
        (read, write, hour)
    )


def test_a_long_prompt_is_charged_by_its_tier() -> None:
    prices = lookup("claude-haiku-5-5").prices
    assert prices is not None
    assert prices.cost(input=100_000, output=1_000_000) == pytest.approx(0.01 + 0.5)
    assert prices.cost(input=100_001, output=1_000_000) == pytest.approx((0.0100001 + 0.5) * 5)
    sol = lookup("gpt-6-sol").prices
    assert sol is not None
    assert sol.cost(cache_read=300_000, output=1_000_000) == pytest.approx(0.06 * 2 + 10 * 1.5)


def test_the_parts_of_a_request_are_charged_apart() -> None:
    prices = lookup("claude-opus-5").prices
    assert prices is not None
    million = 1_000_000
    cost = prices.cost(million, million, million, million, million)
    assert cost == pytest.approx(5 + 25 + 0.5 + 6.25 + 10)
