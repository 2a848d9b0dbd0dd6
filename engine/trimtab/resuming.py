"""What a journal alone can tell of a session: the order of its last view, and the factor learned so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .conversation.digest import digest
from .conversation.edits import Commit
from .conversation.fold import Change
from .conversation.items import Item
from .records import Record
from .tokens.figure import Factor, Reading


class Ghosts:
    """Builds stand-ins that carry a digest instead of a message: enough to know the order of a view."""

    def __init__(self, shown: Mapping[int, str]) -> None:
        self.shown = shown

    def rewritten(self, item: Item, changes: tuple[Change, ...]) -> Item | None:
        text = self.shown.get(item.serial)
        if text is None:
            return item
        return ghost(item.serial, text) if len(text) > 1 else None

    def brought(self, new: Any) -> Item:
        return ghost(new.serial, digest(new.message))


def ghost(serial: int, text: str) -> Item:
    """An item of which only serial and digest are known."""
    item = Item()
    item.serial, item.source, item.message = serial, text, {"role": "user", "content": []}
    item.role = "system" if text.startswith("s") else "user"
    item.origin, item.mask, item.total, item.bytes = "user", 0, 0, 0
    item.chars = item.tokens = ()
    item.uses = item.results = item.names = ()
    item.numbers, item.plain = None, False
    return item


def of_run(record: Record, n: int) -> bool:
    """Whether it is a commit of that run, and not one that somebody made by hand afterwards."""
    return isinstance(record, Commit) and record.run == n


def factor_numbers(factor: Factor) -> tuple[Any, ...]:
    """The learned factor as the journal keeps it: two sums, and the last reading if there is one."""
    last = factor.last
    sums: tuple[Any, ...] = (factor.usage, factor.estimate)
    return sums if last is None else (*sums, last.usage, last.estimate, last.epoch, last.model)


def factor_of(numbers: Sequence[Any]) -> Factor:
    """The same read back."""
    last = Reading(numbers[2], numbers[3], numbers[4], numbers[5]) if len(numbers) > 2 else None
    return Factor(numbers[0], numbers[1], last)
