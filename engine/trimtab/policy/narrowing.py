"""What is left of a choice: the range between two keeps, and only as many candidates as are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..conversation.items import Item, is_genuine
from .errors import PolicyError
from .evaluation import Lookup
from .expressions import Quantity
from .measures import Candidate, Keep, Measure, ViewEntries, fits_maxima, walk
from .metrics import SceneLike
from .values import Reference, mapping, near, number

FIT_UNITS = ("tokens", "chars", "bytes")


@dataclass(frozen=True, slots=True)
class Range:
    """View items ``[start, stop)`` a summary may replace; ``held_by`` says what ended it at each side."""

    start: int
    stop: int
    held_by: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        return self.start >= self.stop


def keep_range(scene: SceneLike, keeps: Sequence[Keep], cut_at: str, cuts: bytearray) -> Range:
    """The view without what the keeps spare at its head and its tail, moved to legal cuts.

    ``cuts[i]`` is true where a change may begin or end before item ``i``; ``cut_at`` ``turns`` also wants the
    start of a turn there. A cut moves to the nearest place that keeps more if every ``at_most`` still holds,
    else to the nearest that keeps less. Of several keeps the one that keeps most counts, at each end; ``per``
    means nothing for messages. Raises NoValue.
    """
    items = scene.view.items
    entries = ViewEntries(scene)
    length = len(items)
    legal = [
        bool(cuts[at]) and (cut_at != "turns" or at in (0, length) or is_genuine(items[at]))
        for at in range(length + 1)
    ]
    start, stop = _place(legal, 0, 1), _place(legal, length, -1)
    if start is None or stop is None:
        return Range(0, 0, ("no legal cut",))
    head, tail = "", "" if legal[length] else "the open round"
    for one in keeps:
        if one.oldest is not None:
            place, why = _end(legal, one.oldest, entries, False, scene.name)
            if place > start:
                start, head = place, f"keep.oldest: {why}"
        if one.newest is not None:
            place, why = _end(legal, one.newest, entries, True, scene.name)
            if place < stop:
                stop, tail = place, f"keep.newest: {why}"
    held = tuple(why for why in (head, tail) if why)
    return Range(start, max(start, stop), held if start or stop < length else ())


def _end(
    legal: Sequence[bool], measure: Measure, entries: ViewEntries, newest: bool, lookup: Lookup
) -> tuple[int, str]:
    """Where a head ends or a tail begins, and why there."""
    walked = walk(measure, entries, newest, lookup)
    length = len(entries)
    wanted = length - walked.count if newest else walked.count
    why = walked.held_by or "all there is"
    if legal[wanted]:
        return wanted, why
    outward = -1 if newest else 1
    more, less = _place(legal, wanted, outward), _place(legal, wanted, -outward)
    if more is not None:
        count = length - more if newest else more
        if less is None or fits_maxima(measure, entries, newest, count, lookup):
            return more, f"{why}, moved to a cut that keeps more"
    if less is not None:
        return less, f"{why}, moved to a cut that keeps less"
    return (0 if newest else length), "no legal cut"


def _place(legal: Sequence[bool], at: int, step: int) -> int | None:
    while 0 <= at < len(legal):
        if legal[at]:
            return at
        at += step
    return None


# ---------------------------------------------------------------------------------------------- order and fit


@dataclass(frozen=True, slots=True)
class Fit:
    """The size to reach: of the ``view``, or of the selected blocks of each ``message`` together.

    A message is what the API makes of neighbouring messages of one role.
    """

    per: str
    unit: str
    limit: Quantity

    def references(self) -> Iterator[Reference]:
        yield Reference("quantity", (self.unit,), self.limit)


def fit(raw: object) -> Fit:
    """Read ``{per: view | message, tokens | chars | bytes: QUANTITY}``. Raises :class:`PolicyError`."""
    given = mapping(raw, (), "a fit is")
    for key in given:
        if key != "per" and key not in FIT_UNITS:
            hint = near(key, ("per", *FIT_UNITS))
            raise PolicyError((key,), f"unknown key `{key}`", code="unknown-key", hint=hint)
    per = given.get("per")
    if per not in ("view", "message"):
        raise PolicyError(
            ("per",) if "per" in given else (), "`per` is needed", hint="write per: view or per: message"
        )
    units = [unit for unit in FIT_UNITS if unit in given]
    if len(units) != 1:
        raise PolicyError((), "one size is needed", hint=f"write one of {', '.join(FIT_UNITS)}")
    return Fit(str(per), units[0], number(given[units[0]], (units[0],)))


@dataclass(frozen=True, slots=True)
class Narrowed:
    """The candidates that are needed, in view order; ``fits``: whether, by their gains, they are enough."""

    taken: list[Candidate]
    fits: bool = True


def size_of_view(scene: SceneLike, unit: str) -> float:
    """The view's size in a unit of ``fit``."""
    if unit == "tokens":
        return scene.tokens
    if unit == "bytes":
        return scene.bytes
    return sum([sum(item.chars) for item in scene.view.items])


def run_start(items: Sequence[Item], index: int) -> int:
    """Index of the first message of the run of one role that a message stands in: the API joins them to one."""
    role = items[index].role
    while index and items[index - 1].role == role:
        index -= 1
    return index


def joined(items: Sequence[Item], indexes: Iterable[int]) -> dict[int, int]:
    """By index (ascending), where the run of one role begins: those of one run are one message of the API."""
    starts: dict[int, int] = {}
    known, start = -1, -1
    for index in indexes:
        role, at = items[index].role, index
        while at and at != known and items[at - 1].role == role:
            at -= 1
        known, start = index, start if at == known else at
        starts[index] = start
    return starts


def in_order(
    candidates: Sequence[Candidate], order: str, size: Callable[[Candidate], float] | None = None
) -> list[Candidate]:
    """The candidates as ``order`` wants them taken; equally large ones oldest first."""
    if order == "newest":
        return list(reversed(candidates))
    if order == "largest":
        measure = size or (lambda candidate: candidate.tokens)
        return sorted(candidates, key=lambda candidate: -measure(candidate))
    return list(candidates)


def narrow(
    candidates: Sequence[Candidate],
    order: str,
    target: Fit | None,
    *,
    figure: float,
    size: Callable[[Candidate], float],
    gain: Callable[[Candidate], float],
    lookup: Lookup,
    items: Sequence[Item],
    staying: Sequence[Candidate] = (),
) -> Narrowed:
    """Take candidates in order until it fits; all of them without a target.

    ``candidates`` stand in view order. ``figure`` is the view's size, ``size`` a candidate's and ``gain``
    what taking it frees, all in the target's unit. One that frees nothing is passed over. ``items`` are the
    view's; ``staying``, what was selected and is not to be taken, counts to the size of its message.
    Raises NoValue.
    """
    if target is None:
        return Narrowed(list(candidates))
    limit = target.limit.value(lookup)
    groups: dict[int, list[Candidate]] = {}
    sums: dict[int, float] = {}
    if target.per == "view":
        groups[0], sums[0] = list(candidates), figure
    else:
        start_of = joined(items, sorted({one.index for one in (*candidates, *staying)}))
        for candidate in candidates:
            groups.setdefault(start_of[candidate.index], []).append(candidate)
        for candidate in (*candidates, *staying):
            start = start_of[candidate.index]
            if start in groups:
                sums[start] = sums.get(start, 0) + size(candidate)
    taken: set[int] = set()
    fits = True
    for start, group in groups.items():
        left = sums[start]
        if left <= limit:
            continue
        for candidate in in_order(group, order, size):
            if left <= limit:
                break
            freed = gain(candidate)
            if freed > 0:
                taken.add(id(candidate))
                left -= freed
        fits = fits and left <= limit
    return Narrowed([candidate for candidate in candidates if id(candidate) in taken], fits)
