"""Texts made to keep the search for secrets busy: eight times the text is about eight times the work."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.hostile.test_scaling import uncollected

from trimtab.redaction import FindingRedactor, make

NAME = "PRIVATE " + "KEY"
UNITS = (
    "x",
    "A",
    "1",
    "\n",
    "\\n",
    "- ",
    "a/",
    "a.",
    "a[a].",
    "a\u200b",
    "Aa1+",
    "0123456789012:",
    "://a:",
    "://a:a@",
    "sk-",
    "\nsk-",
    "\neyJ",
    "eyJaaaaaaaa.",
    "SG.aaaaaaaaaaaaaaaaaaaa",
    "passwordpassword",
    "password=",
    "password: a=",
    "password: [",
    'password="\\\\',
    "password:\n- a1b2c3d4\n",
    "password: |\n ",
    "token: '\\",
    "authorization: bearer ",
    f"-----BEGIN {NAME}-----",
    f"-----BEGIN {NAME}-----\n",
    f"-----BEGIN {NAME}-----\nA1aAAAAAAAAAAAAAAAAAAAAA\n",
    f"-----END {NAME}-----\n",
    "A1aAAAAAAAAAAAAAAAAAAAAA\n",
)


TRIES = 6


def texts_of(unit: str, chars: int, shape: str) -> tuple[list[str], list[str | None]]:
    """So many characters as one text, as one field of a telling name, or as many of them."""
    if shape == "text":
        return [unit * (chars // len(unit))], [None]
    if shape == "field":
        return ["/" + unit * (chars // len(unit))], ["password"]
    short = unit * (200 // len(unit) + 1)
    return [short] * (chars // len(short)), ["password"] * (chars // len(short))


@pytest.mark.parametrize("shape", ["text", "field", "fields"])
@pytest.mark.parametrize("unit", UNITS)
def test_eight_times_as_much_takes_about_eight_times_as_long(unit: str, shape: str) -> None:
    grows(make("patterns"), unit, shape)


@pytest.mark.parametrize("unit", ["password=", "eyJ", "://a:", "sk-", "x", f"-----BEGIN {NAME}-----"])
def test_eight_times_as_much_takes_the_library_about_eight_times_as_long(unit: str) -> None:
    pytest.importorskip("detect_secrets")
    grows(make("detect-secrets"), unit, "text")


def grows(redactor: object, unit: str, shape: str) -> None:
    assert isinstance(redactor, FindingRedactor)

    def task(chars: int) -> Callable[[], object]:
        texts, names = texts_of(unit, chars, shape)
        return lambda: redactor.redact_together(texts, names)

    # Work that grows with the square takes 64 times as long in every try; a busy machine spoils some tries only.
    ratios = (uncollected(task(160_000)) / max(uncollected(task(20_000)), 0.01) for _ in range(TRIES))
    assert any(ratio < 24 for ratio in ratios)
