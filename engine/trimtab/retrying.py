"""Replies that outlive a try: a run that starts over pays for nothing twice."""

from __future__ import annotations

from typing import Any

from .effects import Effect

UNKNOWN = object()
"""No earlier try has asked."""


class Paid:
    """Replies of a run that has to start over: what was paid for once is not paid for again."""

    def __init__(self) -> None:
        self._earlier: list[tuple[Effect, Any]] = []
        self._now: list[tuple[Effect, Any]] = []

    def recall(self, effect: Effect) -> Any:
        """The reply an earlier try had to an equal effect; effects come in nearly the same order."""
        for index, (known, reply) in enumerate(self._earlier):
            if known == effect:
                del self._earlier[index]
                self._now.append((known, reply))
                return reply
        return UNKNOWN

    def keep(self, effect: Effect, reply: Any) -> Any:
        self._now.append((effect, reply))
        return reply

    def again(self) -> None:
        """The run starts over."""
        self._earlier, self._now = self._now + self._earlier, []
