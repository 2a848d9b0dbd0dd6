"""Rule ``thinking_place``: thinking is whole and signed, the assistant's, and never the end of its run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..conversation.edits import Mark, Rewrite
from ..conversation.items import THINK, Item, blocks_of, kind_of
from .base import Mend, PlainRule, Shown, Violation, run_around

KINDS = frozenset({"thinking", "redacted_thinking"})

Trailing: TypeAlias = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class ThinkingPlace(PlainRule):
    """API-FACTS §4 rules 1 and 13. ``manual``: model class whose open tool loop must begin with thinking.

    Thinking is removed block by block, never changed. State: whether the assistant came last, the thinking
    blocks its run ends with.
    """

    manual: bool = False
    name: str = "thinking_place"

    def scan(self, items: Sequence[Item], start: int, state: Any) -> tuple[list[Violation], Any]:
        inside, trailing = state or (False, ())
        found: list[Violation] = []
        for index in range(start, len(items)):
            item = items[index]
            role = item.role
            if role == "assistant":
                if item.mask & THINK:
                    trailing = self._blocks(index, item, trailing if inside else (), found)
                elif item.chars:
                    trailing = ()
                inside = True
            elif role != "system":
                if trailing:
                    found += [self._last(*position) for position in trailing]
                    trailing = ()
                inside = False
                if item.mask & THINK:
                    self._strange(index, item, found)
        return found, (inside, trailing)

    def _blocks(self, index: int, item: Item, trailing: Trailing, found: list[Violation]) -> Trailing:
        content = item.message.get("content")
        for number, block in enumerate(content if type(content) is list else blocks_of(item.message)):
            kind = block.get("type") if type(block) is dict or isinstance(block, Mapping) else None
            if kind != "thinking" and kind != "redacted_thinking":
                trailing = ()
                continue
            signed = block.get("signature" if kind == "thinking" else "data")
            if type(signed) is str and signed:
                trailing += ((index, number),)
            else:
                found.append(Violation(self.name, index, number, "a thinking block has no signature"))
        return trailing

    def _strange(self, index: int, item: Item, found: list[Violation]) -> None:
        for number, block in enumerate(blocks_of(item.message)):
            if kind_of(block) in KINDS:
                text = f"a thinking block stands in a message of role {item.role}"
                found.append(Violation(self.name, index, number, text))

    def _last(self, index: int, block: int) -> Violation:
        return Violation(self.name, index, block, "the assistant's turn ends with thinking")

    def close(self, items: Sequence[Item], state: Any) -> list[Violation]:
        _, trailing = state or (False, ())
        found = [self._last(*position) for position in trailing]
        return found + self._open_turn(items) if self.manual else found

    def _open_turn(self, items: Sequence[Item]) -> list[Violation]:
        """Where the list ends with tool results: the run that called the tools has thinking, but not in
        front.
        """
        position = len(items) - 1
        while position >= 0 and items[position].role != "assistant":
            if items[position].role != "system" and not items[position].results:
                return []
            position -= 1
        if position < 0 or position == len(items) - 1:
            return []
        first, last = run_around(items, position)
        if not any(item.mask & THINK for item in items[first : last + 1]):
            return []
        if blocks_of(items[first].message)[:1] and kind_of(blocks_of(items[first].message)[0]) in KINDS:
            return []
        text = "the open tool loop's last assistant turn has thinking, but does not begin with it"
        return [
            Violation(self.name, index, number, text)
            for index in range(first, last + 1)
            for number, block in enumerate(blocks_of(items[index].message))
            if kind_of(block) in KINDS
        ]

    def cuts(self, items: Sequence[Item]) -> bytearray:
        """Illegal between thinking and what follows it in its run."""
        legal = bytearray(b"\x01") * (len(items) + 1)
        pending = -1
        for index, item in enumerate(items):
            if item.role == "assistant":
                if pending >= 0:
                    legal[pending + 1 : index + 1] = bytes(index - pending)
                if not item.mask & THINK:
                    pending = -1
                else:
                    blocks = blocks_of(item.message)
                    pending = index if blocks and kind_of(blocks[-1]) in KINDS else -1
            elif item.role != "system":
                pending = -1
        return legal

    def repair(self, violation: Violation, view: Shown) -> tuple[Mend, ...] | None:
        assert violation.block is not None
        return (Rewrite((view.spot(violation.index, violation.block),), Mark.REMOVE),)
