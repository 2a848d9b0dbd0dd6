"""Texts that differ, shown so that they look different."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.outputs.apart import told_apart, visible
from trimtab.templating.lookalikes import skeleton

PAIRS = [
    ("a\r\nb", "a\nb"),
    ("a b", "a\xa0b"),
    ("ab", "a\u200bb"),
    ("a", "a\ufeff"),
    ("a", "а"),  # Cyrillic
    ("é", "e\u0301"),
    ("x" * 5000 + "\t", "x" * 5000 + " "),
    ("x" * 300, "x" * 301),
]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_what_looks_alike_is_told_apart_on_one_line(one: str, other: str) -> None:
    left, right = told_apart(one, other)
    assert skeleton(left) != skeleton(right)
    assert (left + right).isprintable()
    assert max(len(left), len(right)) < 600


def test_of_long_texts_the_part_in_which_they_first_differ_is_shown() -> None:
    left, right = told_apart("a" * 1000 + "b" + "c" * 1000, "a" * 1000 + "d" + "c" * 1000, 40)
    assert left == "…" + "a" * 10 + "b" + "c" * 29 + "…"
    assert right == "…" + "a" * 10 + "d" + "c" * 29 + "…"


def test_texts_that_look_different_are_shown_as_they_are() -> None:
    assert told_apart("drei Häfen", "vier Häfen") == ("drei Häfen", "vier Häfen")


def test_a_single_text_shows_what_cannot_be_seen() -> None:
    assert visible("a\u200b\r\n" + "b" * 20, 8) == "a\\u200b\\r\\nbbbb…"


ALPHABET = st.sampled_from("a b\t\r\n\xa0\u200b\u202eéеж🦀\ud800\U000e0041")


@given(st.text(ALPHABET, max_size=30), st.text(ALPHABET, max_size=30), st.integers(4, 40))
def test_two_sides_are_never_the_same(one: str, other: str, most: int) -> None:
    if one != other:
        left, right = told_apart(one, other, most)
        assert left != right
