"""The entries of a selector: each is bound to a run once, then asked for every message or block."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeAlias

from ..conversation.items import Item
from ..conversation.view import Call
from ..matching import Globs
from .contents import Block, carries, is_empty, texts
from .evaluation import COMPARE, Lookup
from .metrics import SceneLike
from .relations import concluding, is_refused, repeated, requested, superseded
from .values import COMPARISONS, Comparisons, Reference

MessageCheck: TypeAlias = Callable[[int, Item], bool]
BlockCheck: TypeAlias = Callable[[int, Item, int, Block], bool]
NumberCheck: TypeAlias = Callable[[float], bool]


class Run:
    """One selection: the scene, and what tests share while it goes on."""

    __slots__ = ("_tool_lookups", "scene", "view")

    def __init__(self, scene: SceneLike) -> None:
        self.scene = scene
        self.view = scene.view
        self._tool_lookups: dict[str | None, Lookup] = {}

    def lookup(self, tool: str | None) -> Lookup:
        """Names with ``tool_limit`` bound to the tool."""
        known = self._tool_lookups.get(tool)
        if known is None:
            known = self._tool_lookups[tool] = self.scene.name_for(tool)
        return known

    def call(self, index: int, number: int, block: Block) -> Call | None:
        """The call a block is or answers."""
        kind = block.get("type")
        return self.view.call_of(index, number) if kind in ("tool_use", "tool_result") else None


class Test(Protocol):
    """``message`` gives a check where the message alone decides, else None; then ``block`` gives one."""

    cost: ClassVar[int]

    def message(self, run: Run) -> MessageCheck | None: ...

    def block(self, run: Run) -> BlockCheck: ...

    def references(self) -> Iterator[Reference]: ...


def checked(limits: Comparisons, lookup: Lookup) -> NumberCheck:
    """The comparisons with their limits worked out. Raises NoValue."""
    parts = [(COMPARE[COMPARISONS[word]], limit.value(lookup)) for word, limit in limits.parts]
    if len(parts) == 1:
        compare, bound = parts[0]
        return lambda value: compare(value, bound)
    return lambda value: all(compare(value, bound) for compare, bound in parts)


class OnMessages:
    """A test that the message alone decides."""

    __slots__ = ()

    def message(self, run: Run) -> MessageCheck | None:
        raise NotImplementedError

    def block(self, run: Run) -> BlockCheck:
        check = self.message(run)
        assert check is not None
        return lambda index, item, number, block: check(index, item)

    def references(self) -> Iterator[Reference]:
        return iter(())


class OnBlocks:
    """A test that has to see the block."""

    __slots__ = ()

    def message(self, run: Run) -> MessageCheck | None:
        return None

    def references(self) -> Iterator[Reference]:
        return iter(())


@dataclass(frozen=True, slots=True)
class OriginTest(OnMessages):
    cost: ClassVar[int] = 0
    origins: frozenset[str]

    def message(self, run: Run) -> MessageCheck:
        origins = self.origins
        return lambda index, item: item.origin in origins


@dataclass(frozen=True, slots=True)
class AgeTest(OnMessages):
    """Distance from the end; a time that is unknown or lies in the future is no age."""

    cost: ClassVar[int] = 1
    units: tuple[tuple[str, Comparisons], ...]

    def message(self, run: Run) -> MessageCheck:
        checks = [_age(run, unit, checked(limits, run.scene.name)) for unit, limits in self.units]
        if len(checks) == 1:
            return checks[0]
        return lambda index, item: all(check(index, item) for check in checks)

    def references(self) -> Iterator[Reference]:
        for unit, limits in self.units:
            yield from limits.references(("age", unit))


def _age(run: Run, unit: str, check: NumberCheck) -> MessageCheck:
    view = run.view
    if unit == "turns":
        turn_of, newest = view.turn_of, max(0, view.turns - 1)
        return lambda index, item: check(newest - turn_of[index])
    if unit == "rounds":
        round_of, rounds = view.round_of, view.rounds
        return lambda index, item: check(rounds - round_of[index])
    if unit == "messages":
        last = len(view.items) - 1
        return lambda index, item: check(last - index)
    if unit == "tokens":
        tokens_of = run.scene.tokens_of
        return lambda index, item: check(tokens_of(view.tokens_after(index)))
    now, info_of = run.scene.facts.now, run.scene.info

    def minutes(index: int, item: Item) -> bool:
        info = info_of(item.serial)
        if now is None or info is None or info.at is None or info.at > now:
            return False
        return check((now - info.at) / 60)

    return minutes


@dataclass(frozen=True, slots=True)
class ToolTest(OnBlocks):
    cost: ClassVar[int] = 2
    categories: tuple[str, ...]

    def block(self, run: Run) -> BlockCheck:
        matches, call_of, categories = run.scene.categories.matches, run.view.call_of, self.categories
        known: dict[str, bool] = {}

        def check(index: int, item: Item, number: int, block: Block) -> bool:
            kind = block.get("type")
            if kind != "tool_result" and kind != "tool_use":
                return False
            call = call_of(index, number)
            if call is None:
                return False
            answer = known.get(call.name)
            if answer is None:
                answer = known[call.name] = matches(call.name, categories)
            return answer

        return check

    def references(self) -> Iterator[Reference]:
        return _categories(self.categories, "tools")


def _categories(categories: tuple[str, ...], key: str) -> Iterator[Reference]:
    for at, category in enumerate(categories):
        yield Reference("category", (key, at), category)


@dataclass(frozen=True, slots=True)
class PathTest(OnBlocks):
    cost: ClassVar[int] = 5
    globs: Globs

    def block(self, run: Run) -> BlockCheck:
        def check(index: int, item: Item, number: int, block: Block) -> bool:
            call = run.call(index, number, block)
            return call is not None and any(self.globs.match(path) for path in run.scene.paths_of(call))

        return check


@dataclass(frozen=True, slots=True)
class HasTest(OnBlocks):
    cost: ClassVar[int] = 4
    contents: tuple[str, ...]

    def block(self, run: Run) -> BlockCheck:
        return lambda index, item, number, block: any(carries(block, what) for what in self.contents)


@dataclass(frozen=True, slots=True)
class ErrorTest(OnBlocks):
    """Of a result, and of a call by its result; neither true nor false of anything else."""

    cost: ClassVar[int] = 3
    wanted: bool

    def block(self, run: Run) -> BlockCheck:
        wanted, view = self.wanted, run.view

        def check(index: int, item: Item, number: int, block: Block) -> bool:
            kind = block.get("type")
            if kind == "tool_result":
                return (block.get("is_error") is True) is wanted
            call = view.call_of(index, number) if kind == "tool_use" else None
            if call is None or call.result is None:
                return False
            return (view.block(*call.result).get("is_error") is True) is wanted

        return check


@dataclass(frozen=True, slots=True)
class EmptyTest(OnBlocks):
    cost: ClassVar[int] = 4
    wanted: bool

    def block(self, run: Run) -> BlockCheck:
        return lambda index, item, number, block: is_empty(block) is self.wanted


@dataclass(frozen=True, slots=True)
class MatchesTest(OnBlocks):
    cost: ClassVar[int] = 6
    pattern: re.Pattern[str]

    def block(self, run: Run) -> BlockCheck:
        search = self.pattern.search
        return lambda index, item, number, block: any(search(text) is not None for text in texts(block))


@dataclass(frozen=True, slots=True)
class SupersededTest(OnBlocks):
    cost: ClassVar[int] = 7
    categories: tuple[str, ...]

    def block(self, run: Run) -> BlockCheck:
        return _among(run, lambda: superseded(run.scene, self.categories), True)

    def references(self) -> Iterator[Reference]:
        return _categories(self.categories, "superseded_by")


@dataclass(frozen=True, slots=True)
class RepeatedTest(OnBlocks):
    cost: ClassVar[int] = 7
    wanted: bool

    def block(self, run: Run) -> BlockCheck:
        return _among(run, lambda: repeated(run.view), self.wanted)


def _among(run: Run, find: Callable[[], frozenset[tuple[int, int]]], wanted: bool) -> BlockCheck:
    """Whether the call a block is or answers is among those to be found, which are looked for when first needed.

    Neither true nor false of anything else.
    """
    calls: frozenset[tuple[int, int]] | None = None

    def check(index: int, item: Item, number: int, block: Block) -> bool:
        nonlocal calls
        call = run.call(index, number, block)
        if call is None:
            return False
        if calls is None:
            calls = find()
        return (call.use in calls) is wanted

    return check


@dataclass(frozen=True, slots=True)
class RefusedTest(OnBlocks):
    cost: ClassVar[int] = 4
    wanted: bool

    def block(self, run: Run) -> BlockCheck:
        scene, wanted = run.scene, self.wanted
        return lambda index, item, number, block: is_refused(scene, index, number, block) is wanted


@dataclass(frozen=True, slots=True)
class ConcludingTest(OnMessages):
    cost: ClassVar[int] = 1
    wanted: bool

    def message(self, run: Run) -> MessageCheck:
        found, wanted = concluding(run.view), self.wanted
        return lambda index, item: (index in found) is wanted


@dataclass(frozen=True, slots=True)
class RequestedTest(OnMessages):
    cost: ClassVar[int] = 1
    wanted: bool

    def message(self, run: Run) -> MessageCheck:
        found, wanted = requested(run.scene), self.wanted
        return lambda index, item: (index in found) is wanted
