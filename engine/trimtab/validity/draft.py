"""A copy of a view on which repairs are tried out one after the other, and the edits that lead there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..conversation.edits import Mark, Rewrite, Spot
from ..conversation.fold import rewrite
from ..conversation.items import Item, ItemMaker, blocks_of
from .base import Mend, Place

MAKER = ItemMaker(count=len, media=lambda block: 0)
"""Rules read no token counts."""


class Draft:
    """Items under repair. Messages that a repair places get serials below 0, which leave this class as places
    only.
    """

    def __init__(self, items: Sequence[Item]) -> None:
        self.items: list[Item] = list(items)
        self._given = {item.serial: item for item in items}
        self._order = {item.serial: index for index, item in enumerate(items)}
        self._sets: dict[Spot, dict[str, Any]] = {}
        self._removed: dict[Spot, None] = {}
        self._places: dict[int, tuple[int, str]] = {}

    @property
    def touched(self) -> bool:
        return bool(self._sets or self._removed or self._places)

    def spot(self, index: int, block: int) -> Spot:
        """The stable name of a shown block."""
        item = self.items[index]
        return Spot(item.serial, block if item.numbers is None else item.numbers[block])

    def apply(self, edits: Iterable[Mend]) -> None:
        """Carry out edits that were proposed for the present items."""
        behind: dict[int, list[Place]] = {}
        changed: dict[int, None] = {}
        for edit in edits:
            if isinstance(edit, Place):
                behind.setdefault(edit.after_index, []).append(edit)
                continue
            for spot in edit.spots:
                changed[spot.serial] = None
                if isinstance(edit.set, Mapping):
                    self._sets.setdefault(spot, {}).update(edit.set)
                else:
                    self._removed[spot] = None
        items: list[Item] = []
        anchor = -1
        for index in range(-1, len(self.items)):
            if index >= 0:
                item = self.items[index]
                anchor = self._places[item.serial][0] if item.serial < 0 else self._order[item.serial]
                if item.serial in changed:
                    shown = self._shown(item.serial)
                    if shown is not None:
                        items.append(shown)
                else:
                    items.append(item)
            items += [self._placed(anchor, place) for place in behind.get(index, ())]
        self.items = items

    def _placed(self, anchor: int, place: Place) -> Item:
        serial = -1 - len(self._places)
        item, _ = MAKER.make(serial, place.message, place.origin)
        self._given[serial] = item
        self._places[serial] = (anchor, place.origin)
        return item

    def _shown(self, serial: int) -> Item | None:
        """The given item with all changes so far; None if no block is left."""
        item = self._given[serial]
        numbers = range(len(blocks_of(item.message))) if item.numbers is None else item.numbers
        if not numbers:
            return None
        changes: dict[int, Mapping[str, Any] | Mark] = {}
        for shown, number in enumerate(numbers):
            spot = Spot(serial, number)
            if spot in self._removed:
                changes[shown] = Mark.REMOVE
            elif spot in self._sets:
                changes[shown] = self._sets[spot]
        built = rewrite(item, changes, MAKER)
        if built is not None and built is not item and item.numbers is not None:
            kept = range(len(numbers)) if built.numbers is None else built.numbers
            built.numbers = tuple(numbers[shown] for shown in kept)
        return built

    def edits(self) -> tuple[Mend, ...]:
        """All that was done, as edits over the items that were given: removals, fields, messages in their
        order.
        """
        edits: list[Mend] = []
        removed = tuple(spot for spot in self._removed if spot.serial >= 0)
        if removed:
            edits.append(Rewrite(removed, Mark.REMOVE))
        edits += [
            Rewrite((spot,), fields)
            for spot, fields in self._sets.items()
            if spot.serial >= 0 and spot not in self._removed
        ]
        for item in self.items:
            if item.serial < 0:
                anchor, origin = self._places[item.serial]
                edits.append(Place(anchor, item.message, origin))
        return tuple(edits)
