"""Rule ``server_tools``: a call the server runs and its result stand together in the assistant's turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..conversation.edits import Mark, Rewrite
from ..conversation.items import SERVER, Item, blocks_of, kind_of
from .base import Mend, PlainRule, Shown, Violation

CALLS = frozenset({"server_tool_use", "mcp_tool_use"})

Open: TypeAlias = tuple[tuple[str, int, int], ...]
"""Id, item and block of calls without a result yet."""


@dataclass(frozen=True)
class ServerTools(PlainRule):
    """API-FACTS §4 rule 12.

    A call may wait for its result at the end of the list (a paused turn), or over one user run that holds
    nothing but results of the host's own tools; then the next assistant run must bring it. State: whether the
    assistant came last, calls open from the run before, calls open from the newest run.
    """

    name: str = "server_tools"

    def scan(self, items: Sequence[Item], start: int, state: Any) -> tuple[list[Violation], Any]:
        inside, older, newer = state or (False, (), ())
        found: list[Violation] = []
        for index in range(start, len(items)):
            item = items[index]
            role = item.role
            if role == "assistant":
                if not inside:
                    inside = True
                    older, newer = newer, ()
                if item.mask & SERVER:
                    older, newer = self._blocks(index, item, older, newer, found)
            elif role != "system":
                inside = False
                if older:
                    found += [self._alone(*call) for call in older]
                    older = ()
                if newer and (not item.results or len(item.results) != len(item.chars)):
                    found += [self._alone(*call) for call in newer]
                    newer = ()
        return found, (inside, older, newer)

    def _blocks(
        self, index: int, item: Item, older: Open, newer: Open, found: list[Violation]
    ) -> tuple[Open, Open]:
        for number, block in enumerate(blocks_of(item.message)):
            kind = kind_of(block)
            if kind in CALLS:
                newer += ((str(block.get("id")), index, number),)
            elif is_result(kind):
                call = str(block.get("tool_use_id"))
                if any(waiting[0] == call for waiting in newer):
                    newer = _answered(newer, call)
                elif any(waiting[0] == call for waiting in older):
                    older = _answered(older, call)
                else:
                    text = f"the server's result of {call} has no call before it"
                    found.append(Violation(self.name, index, number, text, (call,)))
        return older, newer

    def _alone(self, call: str, index: int, block: int) -> Violation:
        return Violation(
            self.name, index, block, f"the server's call {call} has no result in its turn", (call,)
        )

    def cuts(self, items: Sequence[Item]) -> bytearray:
        """Illegal between a call and its result; from an open call on, up to the end."""
        legal = bytearray(b"\x01") * (len(items) + 1)
        waiting: dict[str, int] = {}
        some = False
        for index, item in enumerate(items):
            if item.role == "assistant" and item.mask & SERVER:
                some = True
                for block in blocks_of(item.message):
                    kind = block.get("type")
                    if kind in CALLS:
                        waiting[str(block.get("id"))] = index
                    elif is_result(kind):
                        first = waiting.pop(str(block.get("tool_use_id")), index)
                        legal[first + 1 : index + 1] = bytes(index - first)
        if some:
            _, (_, older, newer) = self.scan(items, 0, None)
            for _, first, _ in (*older, *newer):
                legal[first + 1 : len(items)] = bytes(len(items) - first - 1)
        return legal

    def repair(self, violation: Violation, view: Shown) -> tuple[Mend, ...] | None:
        assert violation.block is not None
        return (Rewrite((view.spot(violation.index, violation.block),), Mark.REMOVE),)


def _answered(waiting: Open, call: str) -> Open:
    """Without the newest call of this id."""
    for position in range(len(waiting) - 1, -1, -1):
        if waiting[position][0] == call:
            return waiting[:position] + waiting[position + 1 :]
    return waiting


def is_result(kind: object) -> bool:
    """Whether a block type is the result of a tool the server ran."""
    return isinstance(kind, str) and kind != "tool_result" and kind.endswith("_tool_result")


def is_paused(items: Sequence[Item], first: int, last: int) -> bool:
    """Whether the assistant run ``items[first:last + 1]`` has a server call that waits for its result."""
    waiting: Open = ()
    for item in items[first : last + 1]:
        if item.mask & SERVER:
            for block in blocks_of(item.message):
                kind = block.get("type")
                if kind in CALLS:
                    waiting += ((str(block.get("id")), 0, 0),)
                elif is_result(kind):
                    waiting = _answered(waiting, str(block.get("tool_use_id")))
    return bool(waiting)
