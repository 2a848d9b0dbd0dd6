"""Rule ``ids``: the id of a tool call is unique in the request and has one result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..conversation.edits import Mark, Rewrite
from ..conversation.items import Item
from .base import Mend, PlainRule, Shown, Violation, blocks_between, nth_block, run_around

Position: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class Ids(PlainRule):
    """API-FACTS §4 rule 11. Calls and results are paired by occurrence: the run and, within it, the order.

    State: index of the first item that has each id, ids answered in the user run at the end, whether the
    assistant came last. The index is one mapping for all states, so every hit is verified against the items.
    """

    name: str = "ids"

    def scan(self, items: Sequence[Item], start: int, state: Any) -> tuple[list[Violation], Any]:
        seen: dict[str, int]
        answered: tuple[str, ...]
        fresh: tuple[dict[str, int], tuple[str, ...], bool] = ({}, (), False)
        seen, answered, inside = fresh if state is None else state
        found: list[Violation] = []
        taken: set[str] | None = None
        for index in range(start, len(items)):
            item = items[index]
            role = item.role
            if role == "assistant":
                if not inside:
                    answered, inside = (), True
                here: set[str] = set()
                for number, call in enumerate(item.uses):
                    first = call not in here
                    here.add(call)
                    earlier = seen.setdefault(call, index)
                    if earlier == index:
                        if first:
                            continue
                    elif earlier > index or call not in items[earlier].uses:
                        seen[call] = index  # left behind by a continuation that was given up
                        continue
                    if taken is None:
                        taken = {other for each in items for other in each.uses}
                    found.append(self._repeated(index, nth_block(item, "tool_use", number), call, taken))
            elif role != "system":
                results = item.results
                inside = False
                if len(results) == 1 and not answered:
                    answered = results
                elif results:
                    known = dict.fromkeys(answered)
                    for number, call in enumerate(results):
                        if call in known:
                            block = nth_block(item, "tool_result", number)
                            text = f"the call {call} has more than one result"
                            found.append(Violation(self.name, index, block, text, (call,)))
                        else:
                            known[call] = None
                    answered = tuple(known)
        return found, (seen, answered, inside)

    def _repeated(self, index: int, block: int, call: str, taken: set[str]) -> Violation:
        number = 2
        while f"{call}_{number}" in taken:
            number += 1
        name = f"{call}_{number}"
        taken.add(name)
        text = f"the id {call} belongs to an earlier call, too; this call becomes {name}"
        return Violation(self.name, index, block, text, (call, name))

    def repair(self, violation: Violation, view: Shown) -> tuple[Mend, ...] | None:
        index, block, call = violation.index, violation.block, violation.ids[0]
        assert block is not None
        if len(violation.ids) == 1:
            _, _, surplus = pairing(view.items, index, call)
            if not surplus:
                return None  # as many calls as results: each gets its own with the calls' new names
            return (Rewrite(tuple(view.spot(*position) for position in surplus), Mark.REMOVE),)
        new = violation.ids[1]
        uses, kept, _ = pairing(view.items, index, call)
        edits: list[Mend] = [Rewrite((view.spot(index, block),), {"id": new})]
        number = uses.index((index, block))
        if number < len(kept):
            edits.append(Rewrite((view.spot(*kept[number]),), {"tool_use_id": new}))
        return tuple(edits)


def pairing(
    items: Sequence[Item], index: int, call: str
) -> tuple[list[Position], list[Position], list[Position]]:
    """Positions of the calls with this id in one round, of the results they keep, and of the results too
    many.

    ``index`` is an item of the round. A result without error is kept before one with, an earlier before a
    later one.
    """
    first, last = run_around(items, index)
    uses: list[Position] = []
    results: list[tuple[int, int, bool]] = []
    if items[index].role == "assistant":
        calls, answers = (first, last), _run_behind(items, last)
    else:
        calls, answers = _run_before(items, first), (first, last)
    for place, number, block in blocks_between(items, *calls):
        if block.get("type") == "tool_use" and str(block.get("id")) == call:
            uses.append((place, number))
    for place, number, block in blocks_between(items, *answers):
        if block.get("type") == "tool_result" and str(block.get("tool_use_id")) == call:
            results.append((place, number, bool(block.get("is_error"))))
    wanted = max(len(uses), 1)
    best = sorted(results, key=lambda result: result[2])[:wanted]
    kept = sorted((place, number) for place, number, _ in best)
    surplus = [(place, number) for place, number, _ in results if (place, number) not in kept]
    return uses, kept, surplus


def _run_behind(items: Sequence[Item], last: int) -> Position:
    position = last + 1
    while position < len(items) and items[position].role == "system":
        position += 1
    return run_around(items, position) if position < len(items) else (0, -1)


def _run_before(items: Sequence[Item], first: int) -> Position:
    position = first - 1
    while position >= 0 and items[position].role == "system":
        position -= 1
    return run_around(items, position) if position >= 0 else (0, -1)
