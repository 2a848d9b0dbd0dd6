"""Rule ``system_place``: system messages stand only where the model allows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..conversation.items import TEXT, Item
from .base import PlainRule, Violation, leading_system


@dataclass(frozen=True)
class SystemPlace(PlainRule):
    """API-FACTS §3: behind a user message (also one of results), before the assistant or at the end; texts
    only.

    Those before all other messages are part of the prompt. There is no repair: what a system message means
    depends on its place. State: only system items so far, role of the last item that is none, index of a
    system item that must not be followed by a user message.
    """

    allowed: bool = True
    name: str = "system_place"

    def scan(self, items: Sequence[Item], start: int, state: Any) -> tuple[list[Violation], Any]:
        leading, before, waiting = state or (True, "", -1)
        found: list[Violation] = []
        for index in range(start, len(items)):
            item = items[index]
            role = item.role
            if role != "system":
                if waiting >= 0 and role == "user":
                    found.append(self._wrong(waiting, "stands before a user message"))
                leading, before, waiting = False, role, -1
                continue
            if leading:
                continue
            if not self.allowed:
                found.append(
                    self._wrong(index, "stands among the messages, which this model does not support")
                )
            elif before == "assistant":
                found.append(self._wrong(index, "stands behind the assistant's turn"))
            elif item.mask & ~TEXT:
                found.append(self._wrong(index, "has other blocks than texts"))
            else:
                waiting = index
        return found, (leading, before, waiting)

    def _wrong(self, index: int, what: str) -> Violation:
        return Violation(self.name, index, None, f"a system message {what}", repairable=False)

    def cuts(self, items: Sequence[Item]) -> bytearray:
        """Illegal behind a system message: what stands in place of the rest would be a user message."""
        legal = bytearray(b"\x01") * (len(items) + 1)
        if not any(item.role == "system" for item in items):
            return legal
        prompt = leading_system(items)
        for index, item in enumerate(items[:-1]):
            if item.role == "system" and index + 1 != prompt:
                legal[index + 1] = 0
        return legal
