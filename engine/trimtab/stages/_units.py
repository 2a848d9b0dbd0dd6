"""What can only go together: the messages of a round, a call and its result, the thinking of a message."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..conversation.edits import Spot
from ..conversation.items import kind_of
from ..policy.scene import Scene
from ..policy.selection import Candidate, candidates
from ._targets import Target

THINKING = frozenset({"thinking", "redacted_thinking"})


@dataclass(slots=True)
class MessageUnit:
    """View items ``[start, stop)``, and the candidates among them. Sizes are estimates."""

    start: int
    stop: int
    tokens: int
    chars: int
    candidates: list[Candidate] = field(default_factory=list)


@dataclass(slots=True)
class BlockUnit:
    """Places ``(item, block)`` of the view in order, and the candidates among them. Sizes are estimates."""

    places: tuple[tuple[int, int], ...]
    tokens: int
    chars: int
    targets: tuple[Target, ...]
    candidates: list[Candidate] = field(default_factory=list)

    def originals(self, folder: str) -> Iterator[tuple[Spot, str, str]]:
        """Spot, store name and text of what is in each block."""
        for target in self.targets:
            yield target.spot, target.store_name(folder), target.original


def _staying(scene: Scene) -> set[tuple[int, int | None]]:
    """What matches and is no candidate: kept, protected, or judged before."""
    select = scene.stage.select
    if select is None:
        return set()
    chosen = {(one.index, one.block) for one in scene.chosen.candidates}
    return {(one.index, one.block) for one in candidates(scene, select).candidates} - chosen


def message_units(scene: Scene) -> list[MessageUnit]:
    """The rounds of the candidates (or messages outside of rounds) that hold nothing that must stay."""
    items = scene.view.items
    cuts = scene.cuts()
    protected = scene.protection()
    staying = _staying(scene)
    inserted = {new.serial for _, insert in scene.overlay.inserts for new in insert.items}
    found: list[MessageUnit] = []

    def stays(at: int) -> bool:
        # What a stage inserted inside a round goes with it, as it does behind one.
        return (at, None) in staying or (items[at].serial not in inserted and protected.message(at))

    stop = 0
    refused = True
    for candidate in scene.chosen.candidates:
        if candidate.index >= stop:
            start, stop = _piece(scene, cuts, candidate.index)
            members = range(start, stop)
            refused = not (cuts[start] and cuts[stop]) or any(stays(at) for at in members)
            if not refused:
                tokens = sum([items[at].total for at in members])
                chars = sum([sum(items[at].chars) for at in members])
                found.append(MessageUnit(start, stop, tokens, chars))
        if not refused:
            found[-1].candidates.append(candidate)
    return found


def _piece(scene: Scene, cuts: bytearray, index: int) -> tuple[int, int]:
    """The smallest run around a message that begins and ends at legal cuts and splits no response."""
    items = scene.view.items

    def whole(at: int) -> bool:
        return bool(cuts[at]) and not (
            0 < at < len(items) and items[at].role == "assistant" and items[at - 1].role == "assistant"
        )

    start, stop = index, index + 1
    while start > 0 and not whole(start):
        start -= 1
    while stop < len(items) and not whole(stop):
        stop += 1
    return start, stop


def block_units(scene: Scene) -> list[BlockUnit]:
    """The candidates with what goes with them, in order, where nothing of that must stay."""
    view = scene.view
    protected = scene.protection()
    staying = _staying(scene)
    by_place: dict[tuple[int, int], BlockUnit | None] = {}
    found: list[BlockUnit] = []
    for candidate in scene.chosen.candidates:
        place = (candidate.index, candidate.block)
        if place not in by_place:
            places = _with(scene, candidate)
            unit = None
            if not any(one in staying or protected.block(*one) for one in places):
                tokens = sum(view.items[at].tokens[block] for at, block in places)
                chars = sum(view.items[at].chars[block] for at, block in places)
                unit = BlockUnit(places, tokens, chars, tuple(_target(scene, *one) for one in places))
                found.append(unit)
            by_place.update(dict.fromkeys(places, unit))
        known = by_place[place]
        if known is not None:
            known.candidates.append(candidate)
    return found


def _target(scene: Scene, index: int, block: int) -> Target:
    item = scene.view.items[index]
    part = Candidate(index, block, item, item.chars[block], item.tokens[block])
    return Target(scene, part, block, scene.view.block(index, block))


def _with(scene: Scene, candidate: Candidate) -> tuple[tuple[int, int], ...]:
    view = scene.view
    index, block = candidate.index, candidate.block or 0
    kind = view.block(index, block).get("type")
    if kind in THINKING:
        blocks = range(len(view.items[index].chars))
        return tuple((index, at) for at in blocks if kind_of(view.block(index, at)) in THINKING)
    call = view.call_of(index, block) if kind in ("tool_use", "tool_result") else None
    if call is None:
        return ((index, block),)
    places = {(index, block), call.use} | ({call.result} if call.result is not None else set())
    return tuple(sorted(places))


def bare_thinking(scene: Scene, places: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Thinking that would stand last in its assistant run when these blocks are gone: it goes with them.

    The API takes no response that ends with thinking, and a call leaves together with the thinking behind it.
    """
    view = scene.view
    items = view.items
    protected = scene.protection()
    found: set[tuple[int, int]] = set()
    seen = -1
    for index in sorted({index for index, _ in places}):
        if index <= seen or items[index].role != "assistant":
            continue
        start = stop = index
        while start > 0 and items[start - 1].role == "assistant":
            start -= 1
        while stop + 1 < len(items) and items[stop + 1].role == "assistant":
            stop += 1
        seen = stop
        left = [
            (at, block)
            for at in range(start, stop + 1)
            for block in range(len(items[at].chars))
            if (at, block) not in places
        ]
        while left and kind_of(view.block(*left[-1])) in THINKING and not protected.block(*left[-1]):
            found.add(left.pop())
    return found


def gap_runs(scene: Scene, places: set[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    """Item, first block and end of each run of neighbouring blocks that go; a result's gap is its call's."""
    view = scene.view
    run: tuple[int, int, int] | None = None
    for index, block in sorted(places):
        if view.block(index, block).get("type") == "tool_result":
            continue
        if run is not None and run[0] == index and run[2] == block:
            run = (index, run[1], block + 1)
            continue
        if run is not None:
            yield run
        run = (index, block, block + 1)
    if run is not None:
        yield run
