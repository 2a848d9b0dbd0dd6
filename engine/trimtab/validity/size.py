"""Rule ``size``: how many messages and bytes a request may have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..conversation.items import Item
from .base import Limits, PlainRule, Violation


@dataclass(frozen=True)
class Size(PlainRule):
    """API-FACTS §4 rules 17 and 20. Bytes are those of the items: characters, encoded media, framing.

    What may go is a stage's business: no repair. State: bytes so far, perhaps too many after texts were
    shortened.
    """

    limits: Limits
    name: str = "size"

    def scan(self, items: Sequence[Item], start: int, state: Any) -> tuple[list[Violation], Any]:
        return [], (state or 0) + sum([item.bytes for item in (items[start:] if start else items)])

    def close(self, items: Sequence[Item], state: Any) -> list[Violation]:
        found = []
        size = state or 0
        if size > self.limits.max_bytes:
            size = sum([item.bytes for item in items])
        if size > self.limits.max_bytes:
            text = f"the messages have about {size:,} bytes; {self.limits.max_bytes:,} are allowed"
            found.append(Violation(self.name, len(items) - 1, None, text, repairable=False))
        if len(items) > self.limits.max_messages:
            text = f"{len(items):,} messages; {self.limits.max_messages:,} are allowed"
            found.append(Violation(self.name, len(items) - 1, None, text, repairable=False))
        return found
