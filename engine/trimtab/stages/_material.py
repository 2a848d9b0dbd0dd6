"""What a writer is given to read: messages of the view, shortened for this one request only."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..conversation.items import MESSAGE_TOKENS, Block, Item, blocks_of, kind_of
from ..conversation.request import Message
from ..conversation.view import is_media
from ..policy.contents import bytes_in, in_strings, lines_in, texts
from ..policy.hiding import authors, redacted
from ..policy.scene import Scene
from ._preview import head_end, tail_start

LEFT_OUT = "[left out]"
"""Stands in a request for a result whose content is not shown: the call still needs its answer."""
THINKING = frozenset({"thinking", "redacted_thinking"})

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Limit:
    """The most that is shown of one kind of block, in ``chars bytes lines tokens``, or ``share`` of the
    longest.
    """

    unit: str
    amount: float


class Entry:
    """One message: its place in the view, its item, and the blocks that are shown of it (None: all of
    them).
    """

    __slots__ = ("_shown", "index", "item", "tokens")

    def __init__(self, index: int, item: Item, shown: Sequence[Block] | None, tokens: int) -> None:
        self.index = index
        self.item = item
        self.tokens = tokens
        self._shown = shown

    @property
    def blocks(self) -> Sequence[Block]:
        return blocks_of(self.item.message) if self._shown is None else self._shown

    @property
    def message(self) -> Message:
        """The message with these blocks; the item's own if nothing is different."""
        return (
            self.item.message if self._shown is None else {**self.item.message, "content": list(self._shown)}
        )


@dataclass(frozen=True, slots=True)
class Material:
    """Entries in view order. ``changed``: it is no longer a plain prefix of the view; ``emptied`` counts
    results whose content was taken out.
    """

    entries: tuple[Entry, ...]
    changed: bool = False
    emptied: int = 0

    @property
    def tokens(self) -> int:
        """Estimated tokens of all messages."""
        return sum([entry.tokens for entry in self.entries])

    def with_entries(self, entries: Sequence[Entry]) -> Material:
        """With other entries; ``changed`` if they differ."""
        same = len(entries) == len(self.entries) and all(
            one is other for one, other in zip(entries, self.entries, strict=True)
        )
        return self if same else replace(self, entries=tuple(entries), changed=True)


def gather(scene: Scene, start: int, stop: int, *, originals: bool, previous: bool) -> Material:
    """View items ``[start, stop)``; with ``originals`` as they came, without ``previous`` less earlier
    summaries.
    """
    entries: list[Entry] = []
    changed = False
    by = authors(scene) if originals else {}
    for index in range(start, stop):
        item = scene.view.items[index]
        if not previous and item.origin == "summary":
            changed = True
            continue
        if originals and item.serial in scene.overlay.changes:
            found = scene.base.index_of(item.serial)
            if found is not None and not redacted(scene, item.serial, by):
                item, changed = scene.base.items[found], True
        entries.append(Entry(index, item, None, item.total))
    return Material(tuple(entries), changed)


def each_block(scene: Scene, material: Material, change: Callable[[Block], Block | None]) -> Material:
    """The material with every block changed; None takes a block out, and a message without blocks goes."""
    entries: list[Entry] = []
    for entry in material.entries:
        before = entry.blocks
        after = [change(block) for block in before]
        if all(new is old for new, old in zip(after, before, strict=True)):
            entries.append(entry)
            continue
        blocks = [block for block in after if block is not None]
        if blocks:
            tokens = MESSAGE_TOKENS + sum([scene.maker.block(block)[2] for block in blocks])
            entries.append(Entry(entry.index, entry.item, blocks, tokens))
    return material.with_entries(entries)


def without(scene: Scene, material: Material, kinds: Collection[str]) -> Material:
    """Without these kinds of blocks. Of results only the content goes, calls go with their results."""
    thinking, calls = "thinking" in kinds, "tool_use" in kinds

    def change(block: Block) -> Block | None:
        kind = kind_of(block)
        if (thinking and kind in THINKING) or (calls and kind in ("tool_use", "tool_result")):
            return None
        if kind == "tool_result":
            if "tool_result" in kinds:
                return emptied(block)
            return _inner(block, lambda part: None if kind_of(part) in kinds else part)
        return None if kind in kinds else block

    return each_block(scene, material, change)


def emptied(block: Block) -> Block:
    """A result whose content is left out."""
    return block if block.get("content") == LEFT_OUT else {**block, "content": LEFT_OUT}


def _inner(block: Block, change: Callable[[Mapping[str, Any]], Mapping[str, Any] | None]) -> Block:
    """A result with its media changed."""
    inner = block.get("content")
    if not isinstance(inner, list | tuple) or not any(is_media(part) for part in inner):
        return block
    parts = [new for part in inner if (new := change(part) if is_media(part) else part) is not None]
    if len(parts) == len(inner) and all(one is other for one, other in zip(parts, inner, strict=True)):
        return block
    return {**block, "content": parts or LEFT_OUT}


def with_media(scene: Scene, material: Material, how: str) -> Material:
    """Images and documents kept, named in a text, or dropped: ``keep names drop``."""
    if how == "keep":
        return material

    def change(block: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return {"type": "text", "text": media_name(block)} if how == "names" else None

    return each_block(
        scene, material, lambda block: change(block) if is_media(block) else _inner(block, change)
    )


def media_name(block: Mapping[str, Any]) -> str:
    """What stands for an image or document: its type, and title or media type if it has one."""
    source = block.get("source")
    kind = source.get("media_type") if isinstance(source, Mapping) else None
    title = block.get("title")
    named = title if isinstance(title, str) and title else kind if isinstance(kind, str) else ""
    return f"[{block.get('type')}: {named[:100]}]" if named else f"[{block.get('type')}]"


def clipped(scene: Scene, material: Material, limits: Mapping[str, Limit]) -> Material:
    """Texts, results and arguments cut to their limits; thinking over its limit goes, for signed text is
    whole.
    """
    if not limits:
        return material
    count = scene.count
    longest = {
        kind: max(
            [_length(block) for entry in material.entries for block in entry.blocks if _is(block, kind)]
            or [0]
        )
        for kind, limit in limits.items()
        if limit.unit == "share"
    }
    plain = {
        kind: Limit("chars", float(int(limit.amount * longest[kind]))) if limit.unit == "share" else limit
        for kind, limit in limits.items()
    }

    def change(block: Block) -> Block | None:
        kind = str(block.get("type"))
        limit = plain.get("thinking" if kind in THINKING else kind)
        if limit is None:
            return block
        if kind in THINKING:
            text = block.get("thinking")
            return block if not isinstance(text, str) or fits(text, limit, count) else None
        if kind == "text":
            return _field(block, "text", limit, count)
        if kind == "tool_use":
            given = block.get("input")
            shorter = in_strings(given, lambda text: cut(text, limit, count))
            return block if shorter == given else {**block, "input": shorter}
        inner = block.get("content")
        if isinstance(inner, list | tuple):
            parts = [_field(p, "text", limit, count) if isinstance(p, Mapping) else p for p in inner]
            return block if parts == list(inner) else {**block, "content": parts}
        return _field(block, "content", limit, count)

    return each_block(scene, material, change)


def _is(block: Block, kind: str) -> bool:
    return block.get("type") == kind or (kind == "thinking" and kind_of(block) in THINKING)


def _length(block: Block) -> int:
    return max([len(text) for text in texts(block)] or [0])


def _field(block: Mapping[str, Any], name: str, limit: Limit, count: Count) -> Mapping[str, Any]:
    text = block.get(name)
    if not isinstance(text, str):
        return block
    shorter = cut(text, limit, count)
    return block if shorter == text else {**block, name: shorter}


def fits(text: str, limit: Limit, count: Count) -> bool:
    """Whether a text is within a limit."""
    if limit.unit == "tokens":
        return count(text) <= limit.amount
    size = {"chars": len, "bytes": bytes_in, "lines": lines_in}[limit.unit](text)
    return size <= limit.amount


def cut(text: str, limit: Limit, count: Count) -> str:
    """A text within a limit: two thirds from its head, the rest from its tail, and what is left out in
    between.

    The note about what is left out is not counted.
    """
    if fits(text, limit, count):
        return text
    tail = limit.amount // 3
    end = head_end(text, limit.unit, limit.amount - tail, count)
    start = max(end, tail_start(text, limit.unit, tail, count))
    left = start - end
    note = f"[… {left} characters left out …]"
    shorter = f"{text[:end]}{note}{text[start:]}"
    return shorter if len(shorter) < len(text) else text


def paired(scene: Scene, material: Material) -> Material:
    """Without calls whose results are gone, and results whose calls are."""
    uses: list[bool] = []
    results: list[bool] = []
    waiting: dict[str, int] = {}
    for entry in material.entries:
        for block in entry.blocks:
            kind = block.get("type")
            if kind == "tool_use":
                waiting[str(block.get("id"))] = len(uses)
                uses.append(False)
            elif kind == "tool_result":
                call = waiting.pop(str(block.get("tool_use_id")), None)
                results.append(call is not None)
                if call is not None:
                    uses[call] = True
    use, result = iter(uses), iter(results)

    def change(block: Block) -> Block | None:
        kind = kind_of(block)
        if kind == "tool_use":
            return block if next(use) else None
        return None if kind == "tool_result" and not next(result) else block

    return each_block(scene, material, change)
