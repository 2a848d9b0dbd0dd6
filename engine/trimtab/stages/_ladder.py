"""The rungs a writer tries when the plain input fails: remove, clip, kinds of blocks, media, back to the shortened
texts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..conversation.items import Block
from ..policy.expressions import Quantity
from ..policy.maker import Maker
from ..policy.scene import Scene
from ._material import (
    LEFT_OUT,
    Entry,
    Limit,
    Material,
    clipped,
    each_block,
    emptied,
    paired,
    with_media,
    without,
)

MAX_TIMES = 1000
"""A rung is never repeated more often; each repeat may be a call."""


@dataclass(frozen=True, slots=True)
class Removal:
    """So much of ``rounds messages tool_results`` from one end or the middle, by ``share``, ``count`` or
    ``tokens``.

    ``excess``: what the error reports counts instead, if it reports anything.
    """

    what: str
    end: str
    unit: str
    amount: Quantity
    excess: bool


@dataclass(frozen=True, slots=True)
class Rung:
    """Applied to the plain input after a failure for one of ``reasons``; ``times`` repeats it on its own
    outcome.
    """

    reasons: frozenset[str]
    removal: Removal | None
    clips: Mapping[str, tuple[str, Quantity]]
    media: str | None
    shortened: bool
    times: Quantity | None
    without: frozenset[str] = frozenset()

    @classmethod
    def build(cls, raw: Mapping[str, Any], make: Maker, *where: str | int) -> Rung:
        given = raw.get("remove")
        removal = None
        if given is not None:
            unit = next((unit for unit in ("share", "count", "tokens") if unit in given), "count")
            amount = make.quantity(given.get(unit, 1), *where, "remove", unit)
            removal = Removal(given["what"], given["from"], unit, amount, bool(given.get("excess")))
        return cls(
            frozenset(raw.get("for") or ("too_long",)),
            removal,
            build_clips(raw.get("clip") or {}, make, *where, "clip"),
            raw.get("media"),
            raw.get("originals") is False,
            make.quantity(raw["times"], *where, "times") if "times" in raw else None,
            frozenset(raw.get("without") or ()),
        )

    @property
    def only_back(self) -> bool:
        """Whether it does nothing but go back to the shortened texts."""
        return self.shortened and not (self.removal or self.clips or self.media or self.without)

    def repeats(self, scene: Scene) -> int:
        """How often it may be tried. Raises NoValue."""
        value = 1.0 if self.times is None else self.times.value(scene.name)
        return MAX_TIMES if math.isinf(value) else min(MAX_TIMES, max(0, int(value)))

    def apply(self, scene: Scene, material: Material, excess: float | None) -> Material | None:
        """A shorter input; None if there is nothing left to shorten. ``excess`` is in estimated tokens.

        Raises NoValue.
        """
        before = material
        if self.media is not None:
            material = with_media(scene, material, self.media)
        if self.without:
            material = without(scene, material, self.without)
        if self.clips:
            material = clipped(scene, material, limits_of(self.clips, scene))
        if self.removal is not None:
            material = _remove(scene, material, self.removal, excess)
        if material is before and not self.shortened:
            return None
        material = paired(scene, material)
        return material if material.entries else None


def build_clips(raw: Mapping[str, Any], make: Maker, *where: str | int) -> Mapping[str, tuple[str, Quantity]]:
    """``{kind: {unit: amount}}``, with the amounts read."""
    return {
        kind: (unit, make.quantity(amount, *where, kind, unit))
        for kind, size in raw.items()
        for unit, amount in size.items()
    }


def limits_of(clips: Mapping[str, tuple[str, Quantity]], scene: Scene) -> dict[str, Limit]:
    """The clips with their amounts worked out. Raises NoValue."""
    return {kind: Limit(unit, amount.value(scene.name)) for kind, (unit, amount) in clips.items()}


def _remove(scene: Scene, material: Material, removal: Removal, excess: float | None) -> Material:
    units = _units(scene, material, removal.what)
    # The newest unit stays: a request without it has nothing to report.
    order = _ordered(list(range(len(units))), removal.end)
    spare = 0 if removal.what == "tool_results" else 1
    target: float
    size: Callable[[float], float] = scene.tokens_of
    if removal.excess and excess is not None and excess > 0:
        unit, target, size = "tokens", excess, float
    else:
        unit, target = removal.unit, removal.amount.value(scene.name)
    if unit == "share":
        target = max(1, math.floor(target * len(units) + 1e-9))
    taken: set[int] = set()
    done: float = 0
    for at in order:
        if done >= target or len(taken) >= len(units) - spare:
            break
        taken.add(at)
        done += size(_tokens(material, units[at])) if unit == "tokens" else 1
    places = {place for at in taken for place in units[at]}
    if not places:
        return material
    if removal.what == "tool_results":
        return _empty(scene, material, places)
    return material.with_entries([one for at, one in enumerate(material.entries) if (at, None) not in places])


Place = tuple[int, int | None]
"""An entry, and a block of it or None for the whole message."""


def _units(scene: Scene, material: Material, what: str) -> list[list[Place]]:
    """What can be taken, oldest first: whole rounds, messages, or results that still show something."""
    entries = material.entries
    if what == "messages":
        return [[(at, None)] for at in range(len(entries))]
    if what == "rounds":
        groups: dict[int, list[Place]] = {}
        for at, entry in enumerate(entries):
            groups.setdefault(scene.view.round_of[entry.index], []).append((at, None))
        return list(groups.values())
    return [
        [(at, number)]
        for at, entry in enumerate(entries)
        for number, block in enumerate(entry.blocks)
        if block.get("type") == "tool_result" and block.get("content") not in (None, "", LEFT_OUT)
    ]


def _ordered(units: Sequence[int], end: str) -> list[int]:
    """In the order in which they are taken: from the middle outwards, older first."""
    if end == "newest":
        return list(reversed(units))
    if end == "middle":
        middle = (len(units) - 1) / 2
        return sorted(units, key=lambda at: (abs(at - middle), at))
    return list(units)


def _tokens(material: Material, unit: Sequence[Place]) -> int:
    total = 0
    for at, number in unit:
        entry: Entry = material.entries[at]
        total += entry.tokens if number is None else _share(entry, number)
    return total


def _share(entry: Entry, number: int) -> int:
    """About how many tokens of the message one block has."""
    tokens = entry.item.tokens
    return tokens[number] if number < len(tokens) and len(tokens) == len(entry.blocks) else entry.tokens


def _empty(scene: Scene, material: Material, places: set[Place]) -> Material:
    where = iter(
        [(at, number) for at, one in enumerate(material.entries) for number in range(len(one.blocks))]
    )

    def change(block: Block) -> Block | None:
        return emptied(block) if next(where) in places else block

    shorter = each_block(scene, material, change)
    return replace(shorter, emptied=material.emptied + len(places))
