"""Rule ``pairs``: every call is answered in the next run, every result's call stands in the run before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..conversation.edits import Mark, Rewrite
from ..conversation.items import Item
from .base import Mend, Place, PlainRule, Shown, Violation, nth_block

INTERRUPTED = "No result: this tool call was interrupted before it could finish."
"""What a dead call is answered with, as an error."""

START = (False, (), (), -1, False)


@dataclass(frozen=True)
class Pairs(PlainRule):
    """API-FACTS §4 rules 8 and 9, on runs of one role.

    A call that is not answered when a plain user message or the next assistant run comes is dead; only calls
    of the newest run can be pending, and a pending call is a violation only where the list is about to be
    sent. State: whether the last item is the assistant's, the run's calls, those still open, its last index,
    whether a plain user message came.
    """

    name: str = "pairs"

    def scan(self, items: Sequence[Item], start: int, state: Any) -> tuple[list[Violation], Any]:
        inside, calls, waiting, tail, plain = state or START
        found: list[Violation] = []
        for index in range(start, len(items)):
            item = items[index]
            role = item.role
            if role == "assistant":
                uses = item.uses
                if not inside:
                    if waiting:
                        found.append(self._dead(tail, waiting))
                    inside, plain = True, False
                    calls = waiting = uses
                elif uses:
                    calls += uses
                    waiting += uses
                tail = index
            elif role != "system":
                inside = False
                results = item.results
                if not results:
                    plain = True
                elif results == waiting:
                    waiting = ()
                else:
                    left, known = set(waiting), set(calls)
                    for number, answered in enumerate(results):
                        if answered in left:
                            left.discard(answered)
                        elif answered not in known:
                            found.append(self._orphan(index, item, number, answered))
                    waiting = tuple([call for call in waiting if call in left])
        if waiting and plain:
            found.append(self._dead(tail, waiting))
        return found, (inside, calls, waiting, tail, plain)

    def _dead(self, index: int, waiting: Iterable[str]) -> Violation:
        ids = tuple(dict.fromkeys(waiting))
        return Violation(self.name, index, None, f"no result follows the calls {', '.join(ids)}", ids)

    def _orphan(self, index: int, item: Item, number: int, answered: str) -> Violation:
        text = f"the result of {answered} answers no call of the assistant's messages right before it"
        return Violation(self.name, index, nth_block(item, "tool_result", number), text, (answered,))

    def close(self, items: Sequence[Item], state: Any) -> list[Violation]:
        _, _, waiting, tail, plain = state or START
        return [self._dead(tail, waiting)] if waiting and not plain else []

    def cuts(self, items: Sequence[Item]) -> bytearray:
        """Illegal inside (assistant run with calls … last message that answers it)."""
        legal = bytearray(b"\x01") * (len(items) + 1)
        inside = False
        first = last = 0
        calls: tuple[str, ...] = ()
        for index, item in enumerate(items):
            role = item.role
            if role == "assistant":
                if not inside:
                    if calls and last > first:
                        legal[first + 1 : last + 1] = bytes(last - first)
                    inside, first, calls = True, index, ()
                calls += item.uses
                last = index
            elif role != "system":
                inside = False
                results = item.results
                if results and (results == calls or any(answered in calls for answered in results)):
                    last = index
        if calls and last > first:
            legal[first + 1 : last + 1] = bytes(last - first)
        return legal

    def repair(self, violation: Violation, view: Shown) -> tuple[Mend, ...] | None:
        if violation.block is not None:
            return (Rewrite((view.spot(violation.index, violation.block),), Mark.REMOVE),)
        answers = [
            {"type": "tool_result", "tool_use_id": call, "content": INTERRUPTED, "is_error": True}
            for call in violation.ids
        ]
        return (Place(violation.index, {"role": "user", "content": answers}, "tool"),)
