"""``view = fold(journal, transcript)``: the one way in which committed edits change what is shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from .edits import Commit, Edit, Insert, Mark, New, Rewrite, Splice
from .items import KINDS, RESULT_TOKENS, Item, ItemMaker, blocks_of, structure
from .sizes import size_of
from .view import View

Change: TypeAlias = tuple[int, int, Mapping[str, Any] | Mark]
"""Sequence number of the commit, block number, what it sets."""


def sequence(commit: Commit) -> int:
    """A commit's place in history: the number in its id."""
    return int(commit.id[1:])


@dataclass(frozen=True, slots=True)
class Overlay:
    """Commits, sorted by what they do. Adding one makes a new overlay; the old one stays as it was."""

    splices: tuple[tuple[int, Splice], ...] = ()
    inserts: tuple[tuple[int, Insert], ...] = ()
    changes: Mapping[int, tuple[Change, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, commits: Iterable[Commit]) -> Overlay:
        overlay = cls()
        for commit in commits:
            overlay = overlay.plus(sequence(commit), commit.all_edits)
        return overlay

    def plus(self, number: int, edits: Sequence[Edit]) -> Overlay:
        """With the edits of commit ``number`` on top."""
        splices, inserts = self.splices, self.inserts
        touched: dict[int, list[Change]] = {}
        for edit in edits:
            if isinstance(edit, Rewrite):
                for serial, block in edit.spots:
                    touched.setdefault(serial, []).append((number, block, edit.set))
            elif isinstance(edit, Splice):
                splices = (*splices, (number, edit))
            else:
                inserts = (*inserts, (number, edit))
        changes = self.changes
        if touched:
            changes = dict(changes)
            for serial, more in touched.items():
                changes[serial] = (*changes.get(serial, ()), *more)
        return Overlay(splices, inserts, changes)

    @property
    def empty(self) -> bool:
        return not (self.splices or self.inserts or self.changes)


class Builder(Protocol):
    """Makes the items a fold shows."""

    def rewritten(self, item: Item, changes: tuple[Change, ...]) -> Item | None:
        """The item with its changes; itself if nothing differs, None if no block is left."""

    def brought(self, new: New) -> Item:
        """The item of a message that an edit brings in."""


class ItemBuilder:
    """Builds each item once: kept per serial until another change names it.

    ``baked`` says up to which commit a path message already carries its changes (a host that feeds our view back).
    """

    def __init__(self, maker: ItemMaker) -> None:
        self.maker = maker
        self.baked: dict[int, int] = {}
        self._rewritten: dict[int, tuple[Item, tuple[Change, ...], int, Item | None]] = {}
        self._brought: dict[int, tuple[New, Item]] = {}
        self._handed: dict[int, tuple[list[Any], list[Any]]] = {}
        self._shown: object = None
        self._watched: tuple[list[list[Any]], list[list[Any]]] = ([], [])
        self._aside: set[int] = set()

    def rewritten(self, item: Item, changes: tuple[Change, ...]) -> Item | None:
        baked = self.baked.get(item.serial, 0)
        known = self._rewritten.get(item.serial)
        if (
            known is not None
            and known[0] is item
            and known[1] == changes
            and known[2] == baked
            and self._intact(item.serial)
        ):
            return known[3]
        if len(changes) == 1 and type(item.message.get("content")) is list:
            number, block, what = changes[0]
            built = item if number <= baked else rewrite_one(item, block, what, self.maker)
        else:
            built = rewrite(item, merge(changes, baked), self.maker)
        self._rewritten[item.serial] = (item, changes, baked, built)
        if built is not None and built is not item:
            self._remember(built)
        return built

    def _remember(self, item: Item) -> None:
        """Keep what the blocks of a message of ours look like: the host is handed the message itself."""
        if type(content := item.message["content"]) is list:
            copies = [block.copy() if type(block) is dict else block for block in content]
            self._handed[item.serial] = (content, copies)

    def scribbled(self, view: View) -> list[int]:
        """Serials of messages of ours in the last view that the host has written into; they are built anew.

        What the view does not show is looked at when a fold asks for it.
        """
        if self._shown is not view:
            self._shown = view
            mine = [handed for item in view.items if (handed := self._handed.get(item.serial)) is not None]
            self._watched = ([blocks for blocks, _ in mine], [copies for _, copies in mine])
            self._aside = self._handed.keys() - {item.serial for item in view.items}
        blocks, copies = self._watched
        if blocks == copies:
            return []
        self._shown = None
        found = [item.serial for item in view.items if not self._kept(item.serial)]
        for serial in found:
            self._drop(serial)
        return found

    def _intact(self, serial: int) -> bool:
        """Whether a message nobody has looked at since it left the view is as it was handed over; else forget it."""
        if serial not in self._aside:
            return True
        self._aside.discard(serial)
        if self._kept(serial):
            return True
        self._drop(serial)
        return False

    def _kept(self, serial: int) -> bool:
        handed = self._handed.get(serial)
        return handed is None or handed[0] == handed[1]

    def _drop(self, serial: int) -> None:
        self._rewritten.pop(serial, None)
        self._brought.pop(serial, None)
        del self._handed[serial]

    def forget(self, serial: int) -> None:
        """Build this item anew next time: the host has moved its cache marks on it."""
        self._rewritten.pop(serial, None)

    def brought(self, new: New) -> Item:
        known = self._brought.get(new.serial)
        if known is None or known[0] is not new or not self._intact(new.serial):
            # A copy: the host may write into what it is handed, and must not change what was decided.
            item, _ = self.maker.make(new.serial, structure(new.message), new.origin)
            known = self._brought[new.serial] = (new, item)
            self._remember(item)
        return known[1]


def merge(changes: Iterable[Change], baked: int = 0) -> dict[int, Mapping[str, Any] | Mark]:
    """Per block, what all changes together set; ``ORIGINAL`` forgets the earlier ones."""
    merged: dict[int, Mapping[str, Any] | Mark] = {}
    for number, block, what in changes:
        if number <= baked:
            continue
        if what is Mark.ORIGINAL:
            merged.pop(block, None)
        elif what is Mark.REMOVE:
            merged[block] = Mark.REMOVE
        elif isinstance(what, Mapping):
            before = merged.get(block)
            merged[block] = {**before, **what} if isinstance(before, Mapping) else what
    return merged


def rewrite_one(item: Item, block: int, what: Mapping[str, Any] | Mark, maker: ItemMaker) -> Item | None:
    """``rewrite`` for the commonest change: another text in one tool result or text block."""
    content: list[Any] = item.message["content"]
    if not isinstance(what, Mapping) or block >= len(content) or type(content[block]) is not dict:
        return rewrite(item, merge(((1, block, what),)), maker)
    old = content[block]
    kind = old.get("type")
    field = "content" if kind == "tool_result" else "text" if kind == "text" else ""
    text = what.get(field)
    if len(what) != 1 or type(text) is not str or item.mask & _MEDIA:
        return rewrite(item, merge(((1, block, what),)), maker)
    if old.get(field) == text:
        return item
    blocks = content.copy()
    blocks[block] = {**old, field: text}
    size = len(text)
    tokens = maker.count_again(text) + (RESULT_TOKENS if kind == "tool_result" else 0)
    built = Item()
    built.serial, built.role, built.origin, built.source = item.serial, item.role, item.origin, item.source
    built.message = {**item.message, "content": blocks}
    built.mask, built.uses, built.results, built.names = item.mask, item.uses, item.results, item.names
    built.numbers = item.numbers
    built.plain = item.plain and (kind == "tool_result" or not (not text or text.isspace()))
    if len(blocks) == 1:
        built.chars, built.tokens = (size,), (tokens,)
    else:
        built.chars = (*item.chars[:block], size, *item.chars[block + 1 :])
        built.tokens = (*item.tokens[:block], tokens, *item.tokens[block + 1 :])
    built.total = item.total - item.tokens[block] + tokens
    built.bytes = item.bytes - item.chars[block] + size
    return built


def rewrite(item: Item, changes: Mapping[int, Mapping[str, Any] | Mark], maker: ItemMaker) -> Item | None:
    """The item with its blocks changed; the same object if the result is equal, None if no block is left."""
    if not changes:
        return item
    old = blocks_of(item.message)
    blocks: list[Mapping[str, Any]] = []
    chars: list[int] = []
    tokens: list[int] = []
    numbers: list[int] = []
    changed = False
    mask = 0
    for number, block in enumerate(old):
        change = changes.get(number)
        if change is Mark.REMOVE:
            changed = True
            continue
        if isinstance(change, Mapping):
            new = {key: value for key, value in {**block, **change}.items() if value is not None}
            if new != block:
                changed = True
                bits, size, count = maker.block(new)
                blocks.append(new)
                chars.append(size)
                tokens.append(count)
                numbers.append(number)
                mask |= bits
                continue
        blocks.append(block)
        chars.append(item.chars[number])
        tokens.append(item.tokens[number])
        numbers.append(number)
    if not old and Mark.REMOVE in changes.values():
        return None
    if not changed:
        return item
    if not blocks:
        return None
    built = Item()
    built.serial, built.role, built.origin, built.source = item.serial, item.role, item.origin, item.source
    built.message = {**item.message, "content": blocks}
    built.plain = False
    built.chars, built.tokens = tuple(chars), tuple(tokens)
    built.total = item.total - sum(item.tokens) + sum(tokens)
    if item.mask & _MEDIA:
        built.bytes = size_of(blocks, chars)
    else:
        built.bytes = item.bytes + sum(chars) - sum(item.chars)
    if len(blocks) == len(old):
        built.numbers = None
        built.uses, built.results, built.names = item.uses, item.results, item.names
        if _keeps_ids(changes):
            built.mask = item.mask if not item.mask & _MEDIA else mask | _mask(blocks)
            return built
    built.numbers = tuple(numbers) if len(blocks) != len(old) else None
    uses = [block for block in blocks if block.get("type") == "tool_use"]
    built.uses = tuple(str(block.get("id")) for block in uses)
    built.names = tuple(str(block.get("name")) for block in uses)
    built.results = tuple(str(b.get("tool_use_id")) for b in blocks if b.get("type") == "tool_result")
    built.mask = mask | _mask(blocks)
    return built


_MEDIA = KINDS["image"]
_ID_FIELDS = frozenset({"id", "name", "tool_use_id", "type"})


def _keeps_ids(changes: Mapping[int, Mapping[str, Any] | Mark]) -> bool:
    return not any(isinstance(change, Mapping) and _ID_FIELDS & change.keys() for change in changes.values())


def _mask(blocks: Iterable[Mapping[str, Any]]) -> int:
    """Kinds of all blocks, as ItemMaker sets them."""
    mask = 0
    for block in blocks:
        kind = block.get("type")
        bit = KINDS.get(kind, 0) if isinstance(kind, str) else 0
        if kind == "tool_result":
            bit = 4
            inner = block.get("content")
            if isinstance(inner, list) and any(
                isinstance(part, Mapping) and part.get("type") in ("image", "document") for part in inner
            ):
                bit |= _MEDIA
        elif not bit:
            bit = 32 if isinstance(kind, str) and kind.endswith("_tool_result") else 64
        mask |= bit
    return mask


def fold(path: Sequence[Item], overlay: Overlay, builder: Builder) -> list[Item]:
    """What the path shows under the overlay; without edits, the path's own items.

    A splice is shown iff its run stands in the path and no newer shown splice covers any of it; inserts stand
    behind their message, or behind what covers it, unless the splice is newer; rewrites apply wherever their
    message shows. What does not apply sleeps: it has no effect and does no harm. A commit
    whose insert sleeps takes no block out.
    """
    changes = overlay.changes
    if not overlay.splices and not overlay.inserts:
        if not changes:
            return list(path)
        plain: list[Item] = []
        for item in path:
            if item.serial in changes:
                shown = builder.rewritten(item, changes[item.serial])
                if shown is None:
                    continue
                item = shown
            plain.append(item)
        return plain

    position = {item.serial: index for index, item in enumerate(path)}
    serials = [item.serial for item in path]
    cover = [0] * len(path)
    starts: dict[int, Splice] = {}
    for number, splice in reversed(overlay.splices):
        begin = position.get(splice.covers[0]) if splice.covers else None
        if begin is None:
            continue
        end = begin + len(splice.covers)
        if tuple(serials[begin:end]) != splice.covers or any(cover[begin:end]):
            continue
        cover[begin:end] = [number] * (end - begin)
        starts[begin] = splice
    behind: dict[int, list[New]] = {}
    halved: set[int] = set()
    for number, insert in overlay.inserts:
        place = position.get(insert.after) if insert.after else -1
        if place is None and not any(new.serial in position for new in insert.items):
            halved.add(number)
        if place is not None and (place < 0 or cover[place] <= number):
            behind.setdefault(place, []).extend(new for new in insert.items if new.serial not in position)

    out: list[Item] = []

    def show(item: Item) -> None:
        if item.serial in changes:
            mine = changes[item.serial]
            if halved:
                # What was moved must not go at its old place while its new place sleeps.
                mine = tuple(c for c in mine if c[2] is not Mark.REMOVE or c[0] not in halved)
            shown = builder.rewritten(item, mine) if mine else item
            if shown is None:
                return
            item = shown
        out.append(item)

    for new in behind.get(-1, ()):
        show(builder.brought(new))
    index = 0
    while index < len(path):
        found = starts.get(index)
        if found is None:
            show(path[index])
            last = index + 1
        else:
            last = index + len(found.covers)
            for new in found.items:
                if new.serial not in position:
                    show(builder.brought(new))
        for covered in range(index, last):
            for new in behind.get(covered, ()):
                show(builder.brought(new))
        index = last
    return out


def homes(path: Sequence[Item], overlay: Overlay) -> dict[int, tuple[int, int]]:
    """Of each message that an edit brings in: first and last position of the path run it stands for or trails.

    A message behind nothing (before the first) has the home (-1, -1).
    """
    position = {item.serial: index for index, item in enumerate(path)}
    found: dict[int, tuple[int, int]] = {}
    for _, splice in overlay.splices:
        first, last = position.get(splice.covers[0]), position.get(splice.covers[-1])
        if first is not None and last is not None:
            for new in splice.items:
                found[new.serial] = (first, last)
    for _, insert in overlay.inserts:
        place = position.get(insert.after) if insert.after else -1
        if place is not None:
            for new in insert.items:
                found[new.serial] = (place, place)
    return found
