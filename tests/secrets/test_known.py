"""Tokens with a form of their own are found also where a line end or something unseen breaks them up."""

from __future__ import annotations

import pytest

from trimtab.redaction import PatternRedactor

TOKEN = "gh" + "p_" + "FakeTokenOfATest0123456789FakeTokenOf"
LONG = "sk-" + "ant-" + "Fake0Secret-OfATest01-" * 4
JWT = "ey" + "JmYWtlIjoxfQ0." + "ey" + "JmYWtlIjoxfQ0FakeFake." + "Fake0Signature0OfATest"


def redacted(text: str) -> tuple[str, int]:
    return PatternRedactor().redact(text)


@pytest.mark.parametrize(
    "between", ["\n", "\r\n", "\n    ", "\\\n", "\\n", "\u200b", "\u00ad", "\ufeff", "\\u200b"]
)
@pytest.mark.parametrize("secret", [TOKEN, JWT])
def test_a_token_is_found_whatever_breaks_it_up(secret: str, between: str) -> None:
    for at in range(1, len(secret)):
        text, places = redacted(f"use {secret[:at]}{between}{secret[at:]}, please")
        assert places == 1, (at, text)
        # A piece of three characters that looks like a word may be left of a token that is whole without it.
        assert len(text) <= len("use [redacted: json web token], please") + len(between) + 14, (at, text)
        assert text.startswith("use [redacted: ")


def test_the_rest_of_a_wrapped_token_goes_with_it_and_the_next_line_stays() -> None:
    wrapped = f"{LONG[:40]}\n{LONG[40:]}"
    assert redacted(f"KEY\n{wrapped}\nNext line") == ("KEY\n[redacted: anthropic key]\nNext line", 1)
    assert redacted(f"{LONG}\nworks") == ("[redacted: anthropic key]\nworks", 1)
    assert redacted(f"{LONG}\n{LONG}") == ("[redacted: anthropic key]\n[redacted: anthropic key]", 2)
    assert redacted(f"{TOKEN}\n{TOKEN}") == ("[redacted: github token]\n[redacted: github token]", 2)


@pytest.mark.parametrize(
    "text",
    [
        "task-\nlist-of-the-secretary-of-2030-01-31",
        "the disk-\nand-the-very-long-name-of-it",
        "sk-\nsome-very-long-name-without-any-figure",
        "AKIA is a prefix\nOFAKEYANDNOTONE0",
        "emoji \u2764\ufe0f and a\u200bb stay",
    ],
)
def test_words_at_line_ends_stay(text: str) -> None:
    assert redacted(text) == (text, 0)
