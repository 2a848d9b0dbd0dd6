"""Numbers, bounds and texts in the words of a failure."""

from __future__ import annotations

import math

from ..policy.expressions import Quantity
from ..receipt import Receipt
from .model import SIGNS, Comparison

MOST = 160
"""Characters of a text that a failure shows."""


def figure(value: float) -> str:
    """A number as people write it."""
    if math.isinf(value):
        return "unlimited"
    return f"{int(value):,}" if float(value).is_integer() else f"{value:,.4f}".rstrip("0")


def bounds(wanted: Comparison) -> str:
    """``≥ 5 and < 10``, or the number alone."""
    return " and ".join(
        figure(bound) if word == "equals" else f"{SIGNS[word]} {figure(bound)}"
        for word, bound in wanted.bounds
    )


def limit_words(name: str, quantity: Quantity, receipt: Receipt) -> str:
    """``auto: share * window (share 0.8, window 200,000)``: what a limit is made of, with the values of a run."""
    parts = [
        (one, receipt.limits.get(one, receipt.settings.get(one)))
        for one in sorted(quantity.names)
        if one != name
    ]
    shown = ", ".join(
        f"{one} {str(value).lower() if isinstance(value, bool) else figure(value)}"
        for one, value in parts
        if isinstance(value, int | float)
    )
    return f"{name}: {quantity.source}" + (f" ({shown})" if shown else "")


def short(text: str) -> str:
    """The beginning of a text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= MOST else line[: MOST - 1] + "…"


def difference(one: str, other: str) -> str:
    """Where two texts part."""
    at = next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    return f"they differ at: …{short(one[max(0, at - 30) : at + 40])}… and …{short(other[max(0, at - 30) : at + 40])}…"
