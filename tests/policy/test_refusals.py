"""What an API's error means, whatever it says."""

from __future__ import annotations

import pytest

from trimtab import ApiError
from trimtab.policy.refusals import LOOKED_AT, Refusal, classify


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "prompt is too long: 210432 tokens > 200000 maximum",
            Refusal("prompt_too_long", 210_432, 200_000),
        ),
        (
            "input length and `max_tokens` exceed context limit: 190,000 + 21,333 > 200,000",
            Refusal("prompt_too_long", 211_333, 200_000),
        ),
        (
            "This model's maximum context length is 8192 tokens",
            Refusal("prompt_too_long", None, 8_192),
        ),
        (
            "messages.3.content.1.image.source.base64.data: image exceeds 5 MB maximum",
            Refusal("media_too_large", blocks=((3, 1),)),
        ),
        ("rate limit: too many tokens, prompt is too long", Refusal("retry_later")),
        ("something else", Refusal(None)),
    ],
)
def test_the_class_the_sizes_and_the_places_are_read_from_the_text(text: str, found: Refusal) -> None:
    assert classify(ApiError(text), {}) == found


@pytest.mark.parametrize(
    "text",
    [
        f"prompt is too long: {'9' * 5_000} tokens > {'9' * 5_000} maximum",
        f"prompt is too long: messages.{'1' * 5_000}.content.{'1' * 5_000}",
        "prompt is too long: " + "1," * 1_000_000,
        "prompt is too long: " + "1 + " * 500_000,
        "prompt is too long: " + "maximum " * 300_000,
        "prompt is too long: " + "maximum of " * 300_000,
    ],
    ids=["sizes", "places", "a list", "a sum", "a word", "half a pattern"],
)
def test_endless_digits_and_texts_are_no_sizes_and_take_no_time(text: str) -> None:
    assert classify(ApiError(text), {}) == Refusal("prompt_too_long")


def test_what_stands_far_behind_is_not_looked_at() -> None:
    assert classify(ApiError("x" * LOOKED_AT + "prompt is too long"), {}) == Refusal(None)
