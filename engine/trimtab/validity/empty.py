"""Rule ``empty``: no blank text, no message without blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..conversation.edits import Mark, Rewrite, Spot
from ..conversation.items import RESULT, TEXT, Item, blocks_of
from .base import Mend, PlainRule, Shown, Violation, is_blank


@dataclass(frozen=True)
class Empty(PlainRule):
    """API-FACTS §4 rule 2; also the text parts of a tool result. Blank texts go: they say nothing."""

    local: ClassVar[bool] = True

    name: str = "empty"

    def scan(self, items: Sequence[Item], start: int, state: Any) -> tuple[list[Violation], Any]:
        found: list[Violation] = []
        for index in range(start, len(items)):
            item = items[index]
            if item.plain:
                continue
            if not item.chars:
                if not item.message.get("content"):
                    found.append(Violation(self.name, index, None, "the message has no content"))
                continue
            if item.mask & (TEXT | RESULT):
                content = item.message["content"]
                if type(content) is str:
                    if not content or content.isspace():
                        found.append(Violation(self.name, index, 0, "the text is blank"))
                    continue
                for block in content:
                    # Exact and common shapes pass here; all else is looked at closely below.
                    text = block.get("text") if type(block) is dict else ""
                    if text is None:
                        if type(block.get("content")) is list:
                            break
                    elif not text or type(text) is not str or text.isspace():
                        break
                else:
                    continue
                found += self._blocks(index, item)
        return found, True

    def _blocks(self, index: int, item: Item) -> list[Violation]:
        found = []
        for number, block in enumerate(blocks_of(item.message)):
            kind = block.get("type")
            if kind == "text":
                if is_blank(block.get("text")):
                    found.append(Violation(self.name, index, number, "the text is blank"))
            elif kind == "tool_result":
                inner = block.get("content")
                if isinstance(inner, list) and any(_blank_part(part) for part in inner):
                    found.append(
                        Violation(self.name, index, number, "a text inside the tool result is blank")
                    )
        return found

    def repair(self, violation: Violation, view: Shown) -> tuple[Mend, ...] | None:
        item = view.items[violation.index]
        if violation.block is None:
            return (Rewrite((Spot(item.serial, 0),), Mark.REMOVE),)
        block = blocks_of(item.message)[violation.block]
        spots = (view.spot(violation.index, violation.block),)
        if block.get("type") != "tool_result":
            return (Rewrite(spots, Mark.REMOVE),)
        left = [part for part in block["content"] if not _blank_part(part)]
        return (Rewrite(spots, {"content": left or ""}),)


def _blank_part(part: object) -> bool:
    return isinstance(part, Mapping) and part.get("type") == "text" and is_blank(part.get("text"))
