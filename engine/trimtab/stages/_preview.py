"""The part of a text that may still be shown: its head and its tail, in a unit, cut between characters."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..policy.contents import bytes_in, lines_in
from ..policy.expressions import Quantity
from ..policy.maker import Maker
from ..policy.scene import Scene

Count = Callable[[str], int]
_JOINERS = frozenset("\u200d\ufe0e\ufe0f")
"""Zero-width joiner and variation selectors: they belong to the character before them."""


@dataclass(frozen=True, slots=True)
class End:
    """How much of one end may be shown."""

    unit: str
    amount: Quantity


@dataclass(frozen=True, slots=True)
class Preview:
    """``head`` and ``tail`` of LANGUAGE §10 ``preview``; None where that end is not shown."""

    head: End | None
    tail: End | None

    @classmethod
    def build(cls, raw: Mapping[str, Any], make: Maker) -> Preview:
        def end(name: str) -> End | None:
            for unit, amount in (raw.get(name) or {}).items():
                return End(unit, make.quantity(amount, "preview", name, unit))
            return None

        return cls(end("head"), end("tail"))

    def cutter(self, scene: Scene) -> Cutter:
        """With its amounts worked out, once for all blocks. Raises NoValue."""

        def bound(end: End | None) -> tuple[str, float]:
            return ("chars", 0) if end is None else (end.unit, end.amount.value(scene.name))

        return Cutter(bound(self.head), bound(self.tail), scene.count)


@dataclass(frozen=True, slots=True)
class Cutter:
    """Amounts are in the unit beside them; a share of a unit is rounded down."""

    head: tuple[str, float]
    tail: tuple[str, float]
    count: Count

    def cut(self, text: str) -> tuple[int, int]:
        """End of the head and start of the tail; where both meet the text would be shown whole."""
        end = head_end(text, *self.head, self.count)
        start = max(end, tail_start(text, *self.tail, self.count))
        return end, start


def head_end(text: str, unit: str, amount: float, count: Count) -> int:
    """Where a head of at most so much ends."""
    length = len(text)
    if amount == math.inf:
        return length
    wanted = int(amount)
    if wanted <= 0:
        return 0
    if unit == "lines":
        if wanted >= lines_in(text):
            return length
        at = -1
        for _ in range(wanted):
            at = text.find("\n", at + 1)
        return at - 1 if at and text[at - 1] == "\r" else at
    if unit == "chars":
        at = min(wanted, length)
    elif unit == "bytes":
        at = _most(min(wanted, length), lambda size: bytes_in(text[:size]) <= wanted)
    else:
        at = _most(length, lambda size: count(text[:size]) <= wanted, wanted * 8)
    while 0 < at < length and _joined(text, at):
        at -= 1
    return at


def tail_start(text: str, unit: str, amount: float, count: Count) -> int:
    """Where a tail of at most so much begins."""
    length = len(text)
    if amount == math.inf:
        return 0
    wanted = int(amount)
    if wanted <= 0:
        return length
    if unit == "lines":
        if wanted >= lines_in(text):
            return 0
        at = length - 1 if text.endswith("\n") else length
        for _ in range(wanted):
            at = text.rfind("\n", 0, at)
        return at + 1
    if unit == "chars":
        at = max(0, length - wanted)
    elif unit == "bytes":
        at = length - _most(min(wanted, length), lambda size: bytes_in(text[length - size :]) <= wanted)
    else:
        at = length - _most(length, lambda size: count(text[length - size :]) <= wanted, wanted * 8)
    while 0 < at < length and _joined(text, at):
        at += 1
    return at


def _joined(text: str, at: int) -> bool:
    """Whether the characters on both sides of this place are one to the eye, or one line break."""
    before, behind = text[at - 1], text[at]
    if behind < "\u0300":
        return before == "\r" and behind == "\n"
    return behind in _JOINERS or before == "\u200d" or unicodedata.combining(behind) != 0


def _most(limit: int, fits: Callable[[int], bool], first: int | None = None) -> int:
    """The largest size up to ``limit`` that fits, if sizes up to it fit and none beyond (0 always does)."""
    low, high = 0, limit
    if first is not None:
        step = max(1, first)
        while step < limit and fits(step):
            low, step = step, step * 2
        high = min(limit, step)
    if fits(high):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low


def sizes(text: str, count: Count) -> dict[str, Callable[[], int]]:
    """Functions for the size of a text in every unit."""
    return {
        "chars": partial(len, text),
        "bytes": partial(bytes_in, text),
        "lines": partial(lines_in, text),
        "tokens": partial(count, text),
    }
