"""How much is kept: measures, keeps, and the walk from either end that both mean (LANGUAGE §8)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..conversation.edits import Spot
from ..conversation.items import TEXT, Item
from ..conversation.request import GENUINE
from .errors import PolicyError, Where
from .evaluation import Lookup
from .expressions import Quantity
from .metrics import SceneLike
from .values import Reference, mapping, near, number

COUNTS = ("items", "messages", "text_messages", "rounds", "turns")
"""Units of a measure that may be a plain number N: exactly N, rounded down."""
SIZES = ("tokens", "chars")


class Candidate:
    """A block (or, with ``block`` None, a message) that a stage may edit; places are those of the view.

    ``tokens`` are estimated.
    """

    __slots__ = ("block", "chars", "index", "item", "tokens")

    def __init__(self, index: int, block: int | None, item: Item, chars: int, tokens: int) -> None:
        self.index = index
        self.block = block
        self.item = item
        self.chars = chars
        self.tokens = tokens

    @property
    def spots(self) -> tuple[Spot, ...]:
        """Stable names of what it is: one block, or all shown blocks of the message."""
        item = self.item
        shown: Sequence[int] = range(len(item.chars)) if self.block is None else (self.block,)
        numbers = item.numbers
        return tuple(Spot(item.serial, at if numbers is None else numbers[at]) for at in shown)

    @property
    def spot(self) -> Spot:
        """The block's stable name (of a message: its first block's)."""
        at = self.block or 0
        return Spot(self.item.serial, at if self.item.numbers is None else self.item.numbers[at])

    def __repr__(self) -> str:
        return f"Candidate({self.index}, {self.block}, {self.tokens} tokens)"


# ------------------------------------------------------------------------------------------------ measures


@dataclass(frozen=True, slots=True)
class Bound:
    """``exact``: written as a plain number, so both bounds are its whole part."""

    unit: str
    at_least: Quantity | None
    at_most: Quantity | None
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Measure:
    bounds: tuple[Bound, ...]

    def limits(self, lookup: Lookup) -> tuple[tuple[str, float | None, float | None], ...]:
        """Unit, at_least, at_most as numbers, worked out once a walk. Raises NoValue."""
        out = []
        for bound in self.bounds:
            least = None if bound.at_least is None else bound.at_least.value(lookup)
            most = None if bound.at_most is None else bound.at_most.value(lookup)
            if bound.exact and least is not None:
                least = most = least if math.isinf(least) else math.floor(least)
            out.append((bound.unit, least, most))
        return tuple(out)


@dataclass(frozen=True, slots=True)
class Keep:
    """What is spared from either end; ``per`` (``tool`` or ``block``) lets each one count by itself."""

    oldest: Measure | None = None
    newest: Measure | None = None
    per: str | None = None

    def references(self) -> Iterator[Reference]:
        """Its quantities, with their places inside the raw mapping."""
        for end, measure in (("oldest", self.oldest), ("newest", self.newest)):
            for bound in measure.bounds if measure else ():
                if bound.exact and bound.at_least is not None:
                    yield Reference("quantity", (end, bound.unit), bound.at_least)
                    continue
                for word, limit in (("at_least", bound.at_least), ("at_most", bound.at_most)):
                    if limit is not None:
                        yield Reference("quantity", (end, bound.unit, word), limit)


def keep(raw: object) -> tuple[Keep, ...]:
    """Read a keep or a list of keeps. Raises :class:`PolicyError`."""
    if isinstance(raw, list | tuple):
        if not raw:
            raise PolicyError((), "an empty list keeps nothing", hint="leave `keep` out")
        return tuple(_keep(one, (at,)) for at, one in enumerate(raw))
    return (_keep(raw, ()),)


def _keep(raw: object, where: Where) -> Keep:
    given = mapping(raw, where, "a keep is")
    for key in given:
        if key not in ("oldest", "newest", "per"):
            hint = near(key, ("oldest", "newest", "per"))
            raise PolicyError((*where, key), f"unknown key `{key}`", code="unknown-key", hint=hint)
    per = given.get("per")
    if per is not None and per not in ("tool", "block"):
        raise PolicyError((*where, "per"), f"`{per}` is not counted by itself", hint="write tool or block")
    ends = [_measure(given[end], (*where, end)) if end in given else None for end in ("oldest", "newest")]
    if ends == [None, None]:
        raise PolicyError(where, "nothing is kept", hint="add oldest or newest")
    return Keep(ends[0], ends[1], per)


def _measure(raw: object, where: Where) -> Measure:
    given = mapping(raw, where, "a measure is")
    if not given:
        raise PolicyError(where, "nothing is measured", hint=f"add one of {', '.join(COUNTS + SIZES)}")
    bounds = []
    for unit, value in given.items():
        place = (*where, unit)
        if unit not in COUNTS + SIZES:
            hint = near(unit, COUNTS + SIZES)
            raise PolicyError(place, f"nothing is measured in `{unit}`", code="unknown-key", hint=hint)
        if not isinstance(value, Mapping):
            if unit in SIZES:
                raise PolicyError(place, f"{unit} need `at_least` or `at_most`", code="type")
            exact = number(value, place)
            bounds.append(Bound(unit, exact, exact, exact=True))
            continue
        if not value:
            raise PolicyError(place, "no comparison", hint="write at_least, at_most or both")
        for word in value:
            if word not in ("at_least", "at_most"):
                hint = "write at_least, at_most or both"
                raise PolicyError(
                    (*place, word), f"unknown comparison `{word}`", code="unknown-key", hint=hint
                )
        limits = {word: number(limit, (*place, word)) for word, limit in value.items()}
        bounds.append(Bound(unit, limits.get("at_least"), limits.get("at_most")))
    return Measure(tuple(bounds))


# ------------------------------------------------------------------------------------------------ walking


class Walked:
    """How far a walk went: ``count`` entries are kept; ``held_by`` is the bound that ended it, if one did.

    ``room`` is what an ``at_most`` of tokens or chars left over, per unit, where that bound ended the walk.
    """

    __slots__ = ("count", "held_by", "room")

    def __init__(self, count: int, held_by: str | None, room: Mapping[str, float]) -> None:
        self.count = count
        self.held_by = held_by
        self.room = room


def has_words(item: Item) -> bool:
    """Whether the message has words of a user or assistant."""
    return bool(item.mask & TEXT) and (item.origin in GENUINE or item.origin == "assistant")


class Entries(Protocol):
    """What a walk runs over."""

    def __len__(self) -> int: ...

    def size(self, unit: str, at: int) -> float:
        """Items, chars, or tokens of the figure of entry ``at``."""

    def group(self, unit: str, at: int) -> int | None:
        """Message, round or turn of entry ``at``; None: it counts for none."""


class CandidateEntries:
    """Candidates in the order of the view."""

    def __init__(self, scene: SceneLike, candidates: Sequence[Candidate]) -> None:
        self.view = scene.view
        self.tokens_of = scene.tokens_of
        self.candidates = candidates

    def __len__(self) -> int:
        return len(self.candidates)

    def size(self, unit: str, at: int) -> float:
        if unit == "items":
            return 1
        candidate = self.candidates[at]
        return self.tokens_of(candidate.tokens) if unit == "tokens" else candidate.chars

    def group(self, unit: str, at: int) -> int | None:
        return _group(self.view, unit, self.candidates[at].index, self.candidates[at].item)


class ViewEntries:
    """The messages of the view."""

    def __init__(self, scene: SceneLike) -> None:
        self.view = scene.view
        self.tokens_of = scene.tokens_of

    def __len__(self) -> int:
        return len(self.view.items)

    def size(self, unit: str, at: int) -> float:
        if unit == "items":
            return 1
        item = self.view.items[at]
        return self.tokens_of(item.total) if unit == "tokens" else sum(item.chars)

    def group(self, unit: str, at: int) -> int | None:
        return _group(self.view, unit, at, self.view.items[at])


def _group(view: Any, unit: str, index: int, item: Item) -> int | None:
    if unit == "rounds":
        return int(view.round_of[index])
    if unit == "turns":
        return int(view.turn_of[index])
    return index if unit == "messages" or has_words(item) else None


class _Counter:
    """One bound while a walk goes on.

    A group (message, round, turn) counts against ``at_most`` as soon as it is touched, and for ``at_least``
    when the walk has passed its last entry: so a plain number N keeps exactly N whole ones.
    """

    __slots__ = ("group", "least", "most", "touched", "unit", "whole")

    def __init__(self, unit: str, least: float | None, most: float | None) -> None:
        self.unit = unit
        self.least = least
        self.most = most
        self.touched: float = 0
        self.whole: float = 0
        self.group: int | None = None

    def after(self, entries: Entries, at: int) -> float:
        """What would be touched with entry ``at`` taken too."""
        if self.unit in ("items", "tokens", "chars"):
            return self.touched + entries.size(self.unit, at)
        group = entries.group(self.unit, at)
        return self.touched if group is None or group == self.group else self.touched + 1

    def take(self, entries: Entries, at: int, following: int | None, touched: float) -> None:
        self.touched = touched
        if self.unit in ("items", "tokens", "chars"):
            self.whole = touched
            return
        group = entries.group(self.unit, at)
        if group is not None:
            self.group = group
        ends = following is None or entries.group(self.unit, following) != self.group
        self.whole = touched if ends else touched - 1


def walk(measure: Measure, entries: Entries, newest: bool, lookup: Lookup) -> Walked:
    """Walk from one end: stop before an entry that breaks an ``at_most``, and after the one that fulfils
    every ``at_least``, if there is one. Raises NoValue.
    """
    counters = [_Counter(unit, least, most) for unit, least, most in measure.limits(lookup)]
    minima = [counter for counter in counters if counter.least is not None]
    maxima = [counter for counter in counters if counter.most is not None]
    length = len(entries)
    count = 0
    while True:
        if minima and all(counter.whole >= (counter.least or 0) for counter in minima):
            return Walked(count, f"{minima[0].unit} at_least", {})
        if count == length:
            return Walked(count, None, {})
        at = length - 1 - count if newest else count
        after = [counter.after(entries, at) for counter in counters]
        for counter, touched in zip(counters, after, strict=True):
            if counter.most is not None and touched > counter.most:
                sizes = maxima if counter.unit in SIZES else []
                room = {c.unit: (c.most or 0) - c.touched for c in sizes if c.unit in SIZES}
                return Walked(count, f"{counter.unit} at_most", room)
        count += 1
        following = None if count == length else (at - 1 if newest else at + 1)
        for counter, touched in zip(counters, after, strict=True):
            counter.take(entries, at, following, touched)


def fits_maxima(measure: Measure, entries: Entries, newest: bool, count: int, lookup: Lookup) -> bool:
    """Whether ``count`` entries from that end break no ``at_most``."""
    length = len(entries)
    for unit, _, most in measure.limits(lookup):
        if most is None:
            continue
        counter = _Counter(unit, None, most)
        for step in range(count):
            at = length - 1 - step if newest else step
            counter.take(entries, at, None, counter.after(entries, at))
            if counter.touched > most:
                return False
    return True


# ------------------------------------------------------------------------------------------------- keeping


@dataclass(frozen=True, slots=True)
class Edge:
    """The first candidate a budget refused, and what was left of it: a part of it may still be shown."""

    candidate: Candidate
    newest: bool
    room: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Kept:
    """``spared`` marks each candidate that is kept, by position."""

    spared: bytearray
    edges: tuple[Edge, ...] = ()

    @property
    def count(self) -> int:
        return sum(self.spared)


def kept(scene: SceneLike, keeps: Sequence[Keep], candidates: Sequence[Candidate]) -> Kept:
    """Which candidates the keeps spare: what any of them spares. Raises NoValue."""
    spared = bytearray(len(candidates))
    edges: list[Edge] = []
    for one in keeps:
        for positions in _divided(scene, one.per, candidates):
            chosen = candidates if positions is None else [candidates[at] for at in positions]
            entries = CandidateEntries(scene, chosen)
            for measure, newest in ((one.oldest, False), (one.newest, True)):
                if measure is None:
                    continue
                walked = walk(measure, entries, newest, scene.name)
                length, count = len(chosen), walked.count
                for at in range(length - count, length) if newest else range(count):
                    spared[at if positions is None else positions[at]] = 1
                if walked.room and count < length:
                    edges.append(Edge(chosen[length - 1 - count if newest else count], newest, walked.room))
    return Kept(spared, tuple(edges))


def _divided(scene: SceneLike, per: str | None, candidates: Sequence[Candidate]) -> list[list[int] | None]:
    """Positions of the candidates of each tool or block type; None: all of them together."""
    if per is None:
        return [None]
    view = scene.view
    parts: dict[str, list[int]] = {}
    for position, candidate in enumerate(candidates):
        key = ""
        if candidate.block is not None:
            if per == "block":
                key = str(view.block(candidate.index, candidate.block).get("type"))
            else:
                call = view.call_of(candidate.index, candidate.block)
                key = call.name if call is not None else ""
        elif per == "tool":
            key = " ".join(candidate.item.names)
        parts.setdefault(key, []).append(position)
    return list(parts.values())
