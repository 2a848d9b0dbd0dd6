"""Rule ``result_order``: the results of a run come before its other blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..conversation.edits import Mark, Rewrite
from ..conversation.items import Item, blocks_of, is_genuine
from .base import Mend, Place, PlainRule, Shown, Violation, run_around


@dataclass(frozen=True)
class ResultOrder(PlainRule):
    """API-FACTS §4 rule 10, over all messages of a run, for the API joins them. State: other blocks came in
    this run.
    """

    name: str = "result_order"

    def scan(self, items: Sequence[Item], start: int, state: Any) -> tuple[list[Violation], Any]:
        others = bool(state)
        told = False
        found: list[Violation] = []
        for index in range(start, len(items)):
            item = items[index]
            role = item.role
            if role == "assistant":
                others = told = False
            elif role != "system":
                results = len(item.results)
                if not results:
                    others = others or bool(item.chars)
                elif others or results != len(item.chars):
                    block = _late_result(item, others)
                    if block is not None and not told:
                        told = True
                        text = "a tool result stands behind other blocks of its turn; results come first"
                        found.append(Violation(self.name, index, block, text, item.results))
                    others = others or results != len(item.chars)
        return found, others

    def repair(self, violation: Violation, view: Shown) -> tuple[Mend, ...] | None:
        """The others of the run move behind its last result, in their order, each message for itself."""
        items = view.items
        first, last = run_around(items, violation.index)
        while not items[last].results:
            last -= 1
        removed = []
        placed: list[Mend] = []
        for index in range(first, last + 1):
            item = items[index]
            blocks = blocks_of(item.message)
            if item.role == "system" or len(item.results) == len(blocks):
                continue
            others = [number for number, block in enumerate(blocks) if block.get("type") != "tool_result"]
            removed += [view.spot(index, number) for number in others]
            if len(others) == len(blocks):
                placed.append(Place(last, item.message, item.origin))
            else:
                moved = {**item.message, "content": [blocks[number] for number in others]}
                # The words beside results keep their origin; what a tool's message carried was put in by the
                # host.
                placed.append(Place(last, moved, item.origin if is_genuine(item) else "reminder"))
        return (Rewrite(tuple(removed), Mark.REMOVE), *placed)


def _late_result(item: Item, others: bool) -> int | None:
    """Index of the first result with another block before it."""
    for number, block in enumerate(blocks_of(item.message)):
        if block.get("type") != "tool_result":
            others = True
        elif others:
            return number
    return None
