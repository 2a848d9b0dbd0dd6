"""Rule ``thinking_prefix``: signed thinking behind the first changed message is stale (API-FACTS §1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..conversation.edits import Spot
from ..conversation.items import THINK, Block, Item, blocks_of, kind_of
from .thinking_place import KINDS


def stale_thinking(
    sent: Sequence[Item], items: Sequence[Item], model_class: str, *, head_changed: bool = False
) -> tuple[Spot, ...]:
    """Thinking blocks of ``items`` that the API would refuse after ``sent`` was the last view it saw.

    Only models of class ``bound`` sign thinking over everything before it. ``head_changed``: the system
    prompt or the tool list differs, so that all thinking is stale. Otherwise nothing is stale if ``sent``
    still stands in front of ``items``, thinking and ``cache_control`` left out and thinking removed from the
    oldest on; else all thinking from the first difference on is. Never raises on odd shapes.
    """
    if model_class != "bound":
        return ()
    first = 0 if head_changed else first_difference(sent, items)
    if first is None:
        return ()
    return tuple(
        Spot(item.serial, number if item.numbers is None else item.numbers[number])
        for item in items[first:]
        if item.mask & THINK
        for number, block in enumerate(blocks_of(item.message))
        if kind_of(block) in KINDS
    )


def first_difference(sent: Sequence[Item], items: Sequence[Item]) -> int | None:
    """Index in ``items`` of the first one that differs from what was sent; None if ``sent`` stands in front.

    Messages that show nothing but thinking are passed over: such a message vanishes when its thinking goes.
    """
    here = there = 0
    shown = False  # an earlier thinking block is still shown: a later one that is missing leaves a hole
    while True:
        while there < len(sent) and _only_thinking(sent[there]) and not _same_at(sent, there, items, here):
            if shown:
                return here
            there += 1
        while (
            here < len(items)
            and _only_thinking(items[here])
            and there < len(sent)
            and not _same_at(sent, there, items, here)
        ):
            return here  # thinking stands where none was sent
        if there == len(sent):
            return None
        if here == len(items):
            return here
        old, new = sent[there], items[here]
        if old is not new and old.message is not new.message:
            if not equal_for_prefix(old, new):
                return here
            if (old.mask | new.mask) & THINK:
                before, after = _thinking(old), _thinking(new)
                if before != after:
                    removed = len(before) - len(after)
                    if removed < 0 or shown or before[removed:] != after:
                        return here
                shown = shown or bool(after)
        elif new.mask & THINK:
            shown = True
        there += 1
        here += 1


def equal_for_prefix(old: Item, new: Item) -> bool:
    """Whether two messages are the same to the prefix check, their thinking left out."""
    if old.role != new.role:
        return False
    return _bare(old) == _bare(new)


def _same_at(sent: Sequence[Item], there: int, items: Sequence[Item], here: int) -> bool:
    if here >= len(items):
        return False
    old, new = sent[there], items[here]
    return old is new or old.message is new.message or (old.role == new.role and _plain(old) == _plain(new))


def _only_thinking(item: Item) -> bool:
    return item.mask == THINK


def _thinking(item: Item) -> list[Any]:
    return [plain(block) for block in blocks_of(item.message) if kind_of(block) in KINDS]


def _plain(item: Item) -> list[Any]:
    return [plain(block) for block in blocks_of(item.message)]


def _bare(item: Item) -> list[Any]:
    blocks = blocks_of(item.message)
    if item.mask & THINK:
        blocks = [block for block in blocks if kind_of(block) not in KINDS]
    return [plain(block) for block in blocks]


def plain(block: Block) -> Mapping[str, Any]:
    """The block without ``cache_control`` and null fields, its parts likewise."""
    if "cache_control" in block or None in block.values():
        block = {key: value for key, value in block.items() if value is not None and key != "cache_control"}
    inner = block.get("content")
    if isinstance(inner, list) and any(
        isinstance(part, Mapping) and "cache_control" in part for part in inner
    ):
        parts = [plain(part) if isinstance(part, Mapping) else part for part in inner]
        return {**block, "content": parts}
    return block
