"""Rule ``cache_marks``: at most four cache breakpoints a request, none on thinking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from ..conversation.edits import Rewrite
from ..conversation.items import RESULT, Item, blocks_of, kind_of
from .base import Mend, PlainRule, Shown, Violation

THINKING = frozenset({"thinking", "redacted_thinking"})


Marks: TypeAlias = tuple[tuple[int, int], ...]
"""Item and block of each mark."""


@dataclass(frozen=True)
class CacheMarks(PlainRule):
    """API-FACTS §4 rule 15. ``limit`` is what system and tools leave of the API's four; the oldest marks go
    first.

    State: positions of the marks, one entry for each.
    """

    marks: ClassVar[bool] = True

    limit: int = 4
    name: str = "cache_marks"

    def scan(self, items: Sequence[Item], start: int, state: Any) -> tuple[list[Violation], Any]:
        marks: Marks = state or ()
        found: list[Violation] = []
        for index in range(start, len(items)):
            item = items[index]
            if item.plain:
                continue
            content = item.message.get("content")
            if type(content) is not list:
                continue
            nested = item.mask & RESULT
            for block in content:
                if (
                    type(block) is not dict
                    or "cache_control" in block
                    or (nested and type(block.get("content")) is list)
                ):
                    marks = self._blocks(index, content, marks, found)
                    break
        return found, marks

    def _blocks(self, index: int, content: Sequence[Any], marks: Marks, found: list[Violation]) -> Marks:
        for number, block in enumerate(content):
            if not isinstance(block, Mapping):
                continue
            if block.get("cache_control") is not None:
                if kind_of(block) in THINKING:
                    found.append(Violation(self.name, index, number, "a cache mark stands on thinking"))
                else:
                    marks += ((index, number),)
            inner = block.get("content")
            if isinstance(inner, list):
                for part in inner:
                    if _marked(part):
                        marks += ((index, number),)
        return marks

    def close(self, items: Sequence[Item], state: Any) -> list[Violation]:
        marks: Marks = state or ()
        surplus = marks[: len(marks) - self.limit] if len(marks) > self.limit else ()
        text = f"{len(marks)} cache marks in the messages, {self.limit} are left for them; the oldest go"
        return [Violation(self.name, index, number, text) for index, number in dict.fromkeys(surplus)]

    def repair(self, violation: Violation, view: Shown) -> tuple[Mend, ...] | None:
        index, number = violation.index, violation.block
        assert number is not None
        block = blocks_of(view.items[index].message)[number]
        spots = (view.spot(index, number),)
        edits: list[Mend] = []
        if block.get("cache_control") is not None:
            edits.append(Rewrite(spots, {"cache_control": None}))
        inner = block.get("content")
        if isinstance(inner, list) and any(_marked(part) for part in inner):
            parts = [
                {key: value for key, value in part.items() if key != "cache_control"}
                if _marked(part)
                else part
                for part in inner
            ]
            edits.append(Rewrite(spots, {"content": parts}))
        return tuple(edits)


def _marked(part: object) -> bool:
    return isinstance(part, Mapping) and part.get("cache_control") is not None
