"""The entry ``size`` of a selector: of a block, of the strings of an input, or of a whole message."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..conversation.items import Item, blocks_of
from .contents import Block, bytes_in, lines_in, strings, texts
from .evaluation import NeedsTool
from .matchers import BlockCheck, MessageCheck, NumberCheck, OnBlocks, Run, checked
from .values import Comparisons, Reference


class _Limits:
    """Comparisons worked out once, or once for each tool where they rest on what the tool declares."""

    __slots__ = ("_by_tool", "_limits", "_run", "fixed")

    def __init__(self, run: Run, limits: Comparisons) -> None:
        self._run = run
        self._limits = limits
        self._by_tool: dict[str | None, NumberCheck] = {}
        self.fixed: NumberCheck | None
        try:
            self.fixed = checked(limits, run.scene.name)
        except NeedsTool:
            self.fixed = None

    def of(self, tool: str | None) -> NumberCheck:
        if self.fixed is not None:
            return self.fixed
        known = self._by_tool.get(tool)
        if known is None:
            known = self._by_tool[tool] = checked(self._limits, self._run.lookup(tool))
        return known


@dataclass(frozen=True, slots=True)
class SizeTest(OnBlocks):
    """Size of a block; of a call of one string in its input; of a message the sum over its blocks."""

    cost: ClassVar[int] = 3
    units: tuple[tuple[str, Comparisons], ...]

    def block(self, run: Run) -> BlockCheck:
        units = [(unit, _Limits(run, limits)) for unit, limits in self.units]

        def check(index: int, item: Item, number: int, block: Block) -> bool:
            if block.get("type") == "tool_use":
                tool = str(block.get("name"))
                return any(_string_fits(run, units, text, tool) for _, text in strings(block.get("input")))
            for unit, limits in units:
                fits = limits.fixed
                if fits is None:
                    call = run.call(index, number, block)
                    fits = limits.of(call.name if call is not None else None)
                if not fits(_size(run, unit, item, number, block)):
                    return False
            return True

        return check

    def total(self, run: Run) -> MessageCheck:
        """The check on the sum over a message's blocks."""
        units = [(unit, _Limits(run, limits).of(None)) for unit, limits in self.units]
        return lambda index, item: all(fits(_total(run, unit, item)) for unit, fits in units)

    def strings(self, run: Run, tool: str | None) -> Callable[[str], bool]:
        """The check on single strings of the inputs of this tool's calls."""
        units = [(unit, _Limits(run, limits)) for unit, limits in self.units]
        return lambda text: _string_fits(run, units, text, tool)

    def references(self) -> Iterator[Reference]:
        for unit, limits in self.units:
            yield from limits.references(("size", unit))


def _size(run: Run, unit: str, item: Item, number: int, block: Block) -> float:
    if unit == "chars":
        return item.chars[number]
    if unit == "tokens":
        return run.scene.tokens_of(item.tokens[number])
    measure = bytes_in if unit == "bytes" else lines_in
    return sum([measure(text) for text in texts(block)])


def _total(run: Run, unit: str, item: Item) -> float:
    if unit == "chars":
        return sum(item.chars)
    if unit == "tokens":
        return run.scene.tokens_of(item.total)
    return sum(
        [_size(run, unit, item, number, block) for number, block in enumerate(blocks_of(item.message))]
    )


def _string_fits(run: Run, units: Sequence[tuple[str, _Limits]], text: str, tool: str | None) -> bool:
    for unit, limits in units:
        if unit == "chars":
            size = len(text)
        elif unit == "tokens":
            size = run.scene.count(text)
        else:
            size = bytes_in(text) if unit == "bytes" else lines_in(text)
        if not limits.of(tool)(size):
            return False
    return True
