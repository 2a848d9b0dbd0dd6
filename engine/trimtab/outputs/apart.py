"""Texts that differ, shown so that they look different."""

from __future__ import annotations

from collections.abc import Sequence

from ..templating.lookalikes import skeleton


def visible(text: str, most: int = 200) -> str:
    """The text on one line; characters that cannot be seen, or not for what they are, are escapes (``\\u200b``)."""
    return _part(list(map(_seen, text)), 0, most)


def told_apart(one: str, other: str, most: int = 200) -> tuple[str, str]:
    """Two different texts as `visible` shows them, of long ones the part in which they first differ."""
    left, right = list(map(_seen, one)), list(map(_seen, other))
    shorter = min(len(left), len(right))
    at = next((at for at in range(shorter) if left[at] != right[at]), shorter)
    if skeleton("".join(left[at : at + most])) == skeleton("".join(right[at : at + most])):
        # Letters of two scripts, or accents by themselves: only their numbers tell them apart.
        left, right = list(map(_numbered, left)), list(map(_numbered, right))
    start = 0 if max(len(left), len(right)) <= most else max(0, at - most // 4)
    return _part(left, start, most), _part(right, start, most)


def _part(pieces: Sequence[str], start: int, most: int) -> str:
    """So many characters of a text, an ellipsis for what is left out on either side."""
    end = start + most
    return ("…" if start else "") + "".join(pieces[start:end]) + ("…" if len(pieces) > end else "")


def _seen(char: str) -> str:
    return char if char.isprintable() else _numbered(char)


def _numbered(piece: str) -> str:
    return piece if piece.isascii() and piece.isprintable() else ascii(piece)[1:-1]
