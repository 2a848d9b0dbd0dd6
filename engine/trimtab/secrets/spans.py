"""Places in a text, and texts without what breaks their words up."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple


class Found(NamedTuple):
    """A secret of this kind at ``[start, stop)`` of a text."""

    start: int
    stop: int
    kind: str


def merged(found: Iterable[Found]) -> list[Found]:
    """In order and without overlaps; of those that overlap the kind of the one that was given first stands."""
    ordered = sorted(enumerate(found), key=lambda one: (one[1].start, one[0]))
    result: list[tuple[int, Found]] = []
    for rank, one in ordered:
        if result and one.start < result[-1][1].stop:
            other, last = result[-1]
            kind = last.kind if other < rank else one.kind
            result[-1] = (min(rank, other), Found(last.start, max(last.stop, one.stop), kind))
        else:
            result.append((rank, one))
    return [one for _, one in result]


class Glued:
    """A text without its ``breaks``, and the way back to the places of the whole text."""

    def __init__(self, whole: str, breaks: re.Pattern[str]) -> None:
        self.whole = whole
        self.text = breaks.sub("", whole)
        self._breaks = breaks
        self._cuts: list[int] | None = None
        self._gone: list[int] = [0]

    @property
    def cuts(self) -> list[int]:
        """Where in ``text`` something was taken out, in order."""
        if self._cuts is None:
            self._cuts, gone = [], 0
            for one in self._breaks.finditer(self.whole) if len(self.text) != len(self.whole) else ():
                self._cuts.append(one.start() - gone)
                gone += one.end() - one.start()
                self._gone.append(gone)
        return self._cuts

    def back(self, start: int, stop: int) -> tuple[int, int]:
        """``[start, stop)`` of ``text``, not empty, as places of ``whole``."""
        cuts = self.cuts
        first = start + self._gone[bisect_right(cuts, start)]
        return first, stop + self._gone[bisect_right(cuts, stop - 1)]
