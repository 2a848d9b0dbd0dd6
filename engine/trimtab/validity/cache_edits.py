"""Rule ``cache_edits``: a deletion from the server's cache names a result that stands before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..conversation.edits import Mark, Rewrite
from ..conversation.items import OTHER, Item, blocks_of
from ..conversation.view import cache_references
from .base import Mend, PlainRule, Shown, Violation


@dataclass(frozen=True)
class CacheEdits(PlainRule):
    """API-FACTS §2. Only blocks that a stage has brought in: of a host's own nothing is known.

    A summary or a cut takes results out of the request, and the block behind them keeps its place: what it says of them
    goes, and the block with its last entry.
    """

    name: str = "cache_edits"

    def scan(self, items: Sequence[Item], start: int, state: Any) -> tuple[list[Violation], Any]:
        found: list[Violation] = []
        known: set[str] = set()
        seen = 0
        for index in range(start, len(items)):
            item = items[index]
            if not item.mask & OTHER or item.origin != "attachment":
                continue
            for number, block in enumerate(blocks_of(item.message)):
                references = list(cache_references(block))
                if references and seen < index:
                    known.update(answered for each in items[seen:index] for answered in each.results)
                    seen = index
                gone = tuple(one for one in references if one not in known)
                if gone:
                    text = f"cache_edits deletes {', '.join(gone)}, which no result before it answers"
                    found.append(Violation(self.name, index, number, text, gone))
        return found, True

    def repair(self, violation: Violation, view: Shown) -> tuple[Mend, ...] | None:
        index, number = violation.index, violation.block
        assert number is not None
        block = blocks_of(view.items[index].message)[number]
        left = [
            edit
            for edit in block["edits"]
            if not (edit.get("type") == "delete" and edit.get("cache_reference") in violation.ids)
        ]
        spots = (view.spot(index, number),)
        return (Rewrite(spots, {"edits": left} if left else Mark.REMOVE),)
