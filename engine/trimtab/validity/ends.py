"""Rule ``ends``: the first message is a user's; so is the last where the model takes no prefill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..conversation.edits import Rewrite
from ..conversation.items import SERVER, Item, blocks_of
from .base import Mend, Place, PlainRule, Shown, Violation, leading_system, run_around, user_text
from .server_tools import is_paused

FRONT = "[The conversation is shown from here on.]"
"""User marker in front of a list that begins with the assistant."""
BACK = "[Go on from here.]"
"""User marker behind a list that ends with the assistant."""


@dataclass(frozen=True)
class Ends(PlainRule):
    """API-FACTS §4 rules 4, 6 and 7.

    A compaction block of the server may lead, system items in front are the prompt's, and a turn that the
    server paused may be the last. State: the first message was seen.
    """

    prefill: bool = False
    name: str = "ends"

    def scan(self, items: Sequence[Item], start: int, state: Any) -> tuple[list[Violation], Any]:
        if state:
            return [], state
        first = leading_system(items)
        if first == len(items):
            return [], None
        if items[first].role == "assistant" and not _leads(items[first]):
            return [Violation(self.name, first, None, "the first message is the assistant's")], True
        return [], True

    def close(self, items: Sequence[Item], state: Any) -> list[Violation]:
        last = len(items) - 1
        while last >= 0 and items[last].role == "system":
            last -= 1
        if last < 0 or items[last].role != "assistant":
            return []
        if self.prefill:
            number = _open_ended(items[last])
            if number is None:
                return []
            return [
                Violation(
                    self.name, last, number, "the last text ends in white space, where the model goes on"
                )
            ]
        first, _ = run_around(items, last)
        if is_paused(items, first, last):
            return []
        return [
            Violation(
                self.name, last, None, "the last message is the assistant's; this model takes no prefill"
            )
        ]

    def repair(self, violation: Violation, view: Shown) -> tuple[Mend, ...] | None:
        items, index = view.items, violation.index
        if violation.block is not None:
            text = blocks_of(items[index].message)[violation.block]["text"]
            return (Rewrite((view.spot(index, violation.block),), {"text": text.rstrip()}),)
        if "first" in violation.message:
            return (Place(index - 1, user_text(FRONT), "note"),)
        return (Place(index, user_text(BACK), "note"),)


def _leads(item: Item) -> bool:
    """Whether the message begins with a compaction block."""
    if not item.mask & SERVER:
        return False
    blocks = blocks_of(item.message)
    return bool(blocks) and blocks[0].get("type") == "compaction"


def _open_ended(item: Item) -> int | None:
    """Index of the last block if it is a text that ends in white space."""
    blocks = blocks_of(item.message)
    if not blocks or blocks[-1].get("type") != "text":
        return None
    text = blocks[-1].get("text")
    if isinstance(text, str) and text[-1:].isspace() and text.strip():
        return len(blocks) - 1
    return None
