"""The blocks a ``replace`` stage may work on, and what is in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..conversation.edits import Spot
from ..conversation.items import Item, blocks_of, kind_of
from ..conversation.view import Call, is_media
from ..naming import names_stored, stored_name
from ..policy.contents import as_block, bytes_in, is_empty, strings
from ..policy.scene import Scene
from ..policy.selection import Candidate

REPLACEABLE = frozenset({"text", "tool_use", "tool_result", "image", "document"})
OF_MESSAGES = REPLACEABLE - {"tool_use"}
"""Of a message selected as a whole: only a stage that names calls may shorten their arguments."""


class Target:
    """One block: ``kind`` is its type, ``chars`` and ``tokens`` are as its item has them."""

    __slots__ = (
        "_call",
        "_original",
        "_scene",
        "_text",
        "block",
        "candidate",
        "data",
        "index",
        "item",
        "kind",
    )

    def __init__(self, scene: Scene, candidate: Candidate, block: int, data: Mapping[str, Any]) -> None:
        self._scene = scene
        self.candidate = candidate
        self.index = candidate.index
        self.block = block
        self.item: Item = candidate.item
        self.data = data
        self.kind = str(data.get("type"))
        self._text: str | None = None
        self._original: str | None = None
        self._call: Call | bool | None = False

    @property
    def spot(self) -> Spot:
        """The block's stable name."""
        numbers = self.item.numbers
        return Spot(self.item.serial, self.block if numbers is None else numbers[self.block])

    @property
    def chars(self) -> int:
        return self.item.chars[self.block]

    @property
    def tokens(self) -> int:
        return self.item.tokens[self.block]

    @property
    def call(self) -> Call | None:
        """The call this block is or answers."""
        if isinstance(self._call, bool):
            self._call = self._scene.view.call_of(self.index, self.block)
        return self._call

    @property
    def id(self) -> str:
        """The call's id; of any other block the serial of its message."""
        call = self.call
        return call.id if call is not None else str(self.item.serial)

    @property
    def media(self) -> bool:
        """Whether it is, or as a result holds, an image or a document."""
        if self.kind != "tool_result":
            return self.kind in ("image", "document")
        inner = self.data.get("content")
        return isinstance(inner, list | tuple) and any(is_media(part) for part in inner)

    @property
    def empty(self) -> bool:
        return is_empty(self.data)

    @property
    def text(self) -> str:
        """Its words: a text, the text parts of a result; of a call its input as JSON, of media nothing."""
        if self._text is None:
            self._text = self._words()
        return self._text

    def _words(self) -> str:
        if self.kind == "text":
            text = self.data.get("text")
            return text if isinstance(text, str) else ""
        if self.kind == "tool_use":
            return as_json(self.data.get("input"))
        if self.kind == "tool_result":
            inner = self.data.get("content")
            if isinstance(inner, str):
                return inner
            if isinstance(inner, list | tuple):
                return "\n".join(
                    text for part in inner if isinstance(text := as_block(part).get("text"), str)
                )
        return ""

    @property
    def original(self) -> str:
        """What the store keeps: the words, or JSON where the block is more than words."""
        if self._original is None:
            if self.kind == "tool_result":
                inner = self.data.get("content")
                plain = isinstance(inner, str) or inner is None or all(_is_text(part) for part in inner)
                self._original = self.text if plain else as_json(inner)
            elif self.kind in ("text", "tool_use"):
                self._original = self.text
            else:
                self._original = as_json(dict(self.data))
        return self._original

    def store_name(self, folder: str) -> str:
        """Name of the store's file for the original."""
        return stored_name(folder, self.id, self.original)

    def size(self, unit: str) -> float:
        """Size in ``chars`` or ``bytes``; of media the bytes of their data."""
        if unit == "bytes":
            return bytes_in(self.original) if self.media else bytes_in(self.text)
        return self.chars


def _is_text(part: Any) -> bool:
    return isinstance(part, Mapping) and part.get("type") == "text" and isinstance(part.get("text"), str)


def as_json(value: Any) -> str:
    """JSON that people can read: one space a level, non-ASCII kept; what JSON does not know becomes text."""
    return json.dumps(value, ensure_ascii=False, indent=1, default=str)


def targets(scene: Scene, calls: bool = False) -> list[Target]:
    """Blocks of the chosen candidates; of a chosen message those with words or media, with ``calls`` all."""
    kinds, protected = REPLACEABLE if calls else OF_MESSAGES, scene.protection()

    def inside(index: int, block: int, kind: str) -> bool:
        return kind in kinds and not protected.block(index, block)

    return _targets(scene, scene.chosen.candidates, inside)


def staying(scene: Scene) -> list[Target]:
    """Blocks that were selected and are to stay, where they count to the size of their message."""
    return _targets(scene, scene.chosen.staying, lambda index, block, kind: kind in REPLACEABLE)


def _targets(
    scene: Scene, chosen: Iterable[Candidate], inside: Callable[[int, int, str], bool]
) -> list[Target]:
    """``inside`` says of a message's blocks which are meant."""
    found: list[Target] = []
    for candidate in chosen:
        item = candidate.item
        content = item.message.get("content")
        if candidate.block is not None:
            block = (
                content[candidate.block]
                if type(content) is list
                else blocks_of(item.message)[candidate.block]
            )
            data = as_block(block)
            if kind_of(data) in REPLACEABLE:
                found.append(Target(scene, candidate, candidate.block, data))
            continue
        for number, data in enumerate(blocks_of(item.message)):
            if inside(candidate.index, number, kind_of(data)):
                part = Candidate(candidate.index, number, item, item.chars[number], item.tokens[number])
                found.append(Target(scene, part, number, data))
    return found


def stored_files(scene: Scene) -> frozenset[str]:
    """Names, without folders, of all files the session has stored."""
    return frozenset(name.rsplit("/", 1)[-1] for name in scene.history.history.stored)


def reads_stored(target: Target, files: frozenset[str]) -> bool:
    """Whether the block is, or answers, a call that names a file of the store: never stored again."""
    call = target.call
    return call is not None and names_stored((text for _, text in strings(call.input)), files)
