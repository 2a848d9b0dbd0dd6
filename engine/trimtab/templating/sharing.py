"""Dividing a budget among texts: the short ones whole, the long ones equally, and if need be none of the middle."""

from __future__ import annotations

from collections.abc import Sequence


def shares(sizes: Sequence[int], room: int, least: int) -> list[int]:
    """How much each text may have of ``room``, in order; 0: it is left out.

    Nothing is shortened below ``least``: where that is too much for all, the first stays and of the rest the newest.
    """
    chosen: Sequence[int] = range(len(sizes))
    if sum([min(size, least) for size in sizes]) > room:
        chosen = _ends(sizes, room, least)
    found = [0] * len(sizes)
    left, waiting = room, len(chosen)
    for at in sorted(chosen, key=lambda place: sizes[place]):
        found[at] = min(sizes[at], max(0, left) // waiting)
        left -= found[at]
        waiting -= 1
    return found


def _ends(sizes: Sequence[int], room: int, least: int) -> Sequence[int]:
    left = room - min(sizes[0], least)
    if left < 0:
        return [0]
    start = len(sizes)
    while start > 1 and left >= min(sizes[start - 1], least):
        start -= 1
        left -= min(sizes[start], least)
    return [0, *range(start, len(sizes))]
