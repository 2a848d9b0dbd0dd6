"""One message with its features, made in a single walk together with the shadow that reveals later changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from .request import GENUINE, Message
from .sizes import BLOCK_FRAME, FRAME, encoded_size, size_of

TEXT, USE, RESULT, THINK, MEDIA, SERVER, OTHER = 1, 2, 4, 8, 16, 32, 64
"""Bits of ``Item.mask``: which kinds of block occur in a message (MEDIA also inside a tool result)."""

KINDS: Mapping[str, int] = {
    "text": TEXT,
    "tool_use": USE,
    "tool_result": RESULT,
    "thinking": THINK,
    "redacted_thinking": THINK,
    "image": MEDIA,
    "document": MEDIA,
    "server_tool_use": SERVER,
    "mcp_tool_use": SERVER,
    "compaction": SERVER,
    "container_upload": SERVER,
}

_SPOKEN: Mapping[str, int] = {"user": ~(TEXT | RESULT), "assistant": ~(TEXT | USE | THINK)}
"""By role, the kinds of block that make a message more than plain."""

Block: TypeAlias = Mapping[str, Any]
Count: TypeAlias = Callable[[str], int]
"""Tokens of a text."""
MediaCount: TypeAlias = Callable[[Mapping[str, Any]], int]
"""Tokens of an image or document block."""

MESSAGE_TOKENS = 4
"""Framing of one message, in tokens (role and separators); measured as adequate on recorded usage."""
USE_TOKENS = 12
RESULT_TOKENS = 8
MAX_DEPTH = 64
DEEP_TOKENS = 1000
"""What is nested deeper than MAX_DEPTH counts as so many tokens and is shared, not copied: hostile input only."""


class Item:
    """One message and its features. Never changed after it is made (not frozen: creation would cost six times more).

    ``chars`` and ``tokens`` hold one number a block; ``total`` the whole message in tokens, ``bytes`` about its size on
    the wire; ``uses``, ``names``
    the ids and tools of its calls, ``results`` the call ids its results answer, each in block order.
    ``numbers`` maps a shown block to its number in the message as it came, or is None where nothing was removed.
    ``plain``: the role is user or assistant, and the blocks are whole texts, thoughts, calls and results of text,
    each where it belongs, none blank or with a cache mark: rules about single messages have nothing to find.
    ``source`` is the host's own object where that differs from ``message``.
    """

    __slots__ = (
        "bytes",
        "chars",
        "mask",
        "message",
        "names",
        "numbers",
        "origin",
        "plain",
        "results",
        "role",
        "serial",
        "source",
        "tokens",
        "total",
        "uses",
    )

    serial: int
    message: Message
    role: str
    origin: str
    mask: int
    chars: tuple[int, ...]
    tokens: tuple[int, ...]
    total: int
    bytes: int
    uses: tuple[str, ...]
    results: tuple[str, ...]
    names: tuple[str, ...]
    numbers: tuple[int, ...] | None
    plain: bool
    source: object | None

    def __repr__(self) -> str:
        return f"Item({self.serial}, {self.role}, {self.origin}, {self.total} tokens)"


def blocks_of(message: Message) -> list[Block]:
    """The message's blocks; a string is one text block, null or a malformed content is none."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if type(content) is list and all(type(block) is dict for block in content):
        return content
    if isinstance(content, list | tuple):
        return [
            block if isinstance(block, Mapping) else {"type": "text", "text": str(block)} for block in content
        ]
    return []


def kind_of(block: Mapping[str, Any]) -> str:
    """The block's type; empty where it is no text, so that it can be looked up anywhere."""
    kind = block.get("type")
    return kind if isinstance(kind, str) else ""


def default_origin(role: str, mask: int) -> str:
    """The origin of a message of which the host says nothing; words beside results count as the user's."""
    if role == "assistant":
        return "assistant"
    if role == "user":
        return "tool" if mask & RESULT and not mask & TEXT else "user"
    return "context"


def is_genuine(item: Item) -> bool:
    """Whether the message is a user's own words: it starts a turn."""
    return item.origin in GENUINE


class ItemMaker:
    """Makes items; holds the two counters and the last count."""

    def __init__(self, count: Count, media: MediaCount) -> None:
        self.count = count
        self.media = media
        self._last: tuple[str, int] = ("", 0)

    def count_again(self, text: str) -> int:
        """Tokens of a text that is likely to be the one asked for before (a placeholder in many places)."""
        if text is not self._last[0]:
            self._last = (text, self.count(text))
        return self._last[1]

    def make(self, serial: int, message: Message, origin: str | None = None) -> tuple[Item, Message]:
        """Item and shadow of ``message``; the shadow copies containers and shares strings.

        Never raises on odd shapes: what has no known form is measured conservatively and left as it is.
        """
        item = Item()
        item.serial = serial
        item.message = message
        item.numbers = item.source = None
        try:
            shadow = self._walk(item, message)
        except (KeyError, TypeError, AttributeError, RecursionError):
            shadow = self._walk_odd(item, message)
        item.origin = origin if origin is not None else default_origin(item.role, item.mask)
        return item, shadow

    def _walk(self, item: Item, message: Message) -> Message:
        # Every message passes here once, in the hot path of a first run: common shapes inline, no calls but count.
        count = self.count
        item.role = message["role"]
        content = message["content"]
        shadow: dict[str, Any] = message.copy()  # type: ignore[attr-defined]  # a non-dict takes the slow path
        if type(content) is str:
            size, number = len(content), count(content)
            item.mask, item.chars, item.tokens = TEXT, (size,), (number,)
            item.total = number + MESSAGE_TOKENS
            item.bytes = size + BLOCK_FRAME + FRAME
            item.plain = item.role in _SPOKEN and size > 0 and not content.isspace()
            item.uses = item.results = item.names = ()
            return shadow
        mask = size = total = encoded = 0
        uses: list[str] = []
        results: list[str] = []
        names: list[str] = []
        chars: list[int] = []
        tokens: list[int] = []
        copies: list[Any] = []
        plain = True
        for block in content:
            kind = block["type"]
            if kind == "tool_result":
                name = block["tool_use_id"]
                if type(name) is not str:
                    raise TypeError
                results.append(name)
                if "cache_control" in block or not name:
                    plain = False
                inner = block.get("content")
                copy = block.copy()
                if type(inner) is str:
                    mask |= RESULT
                    size, number = len(inner), count(inner) + RESULT_TOKENS
                else:
                    plain = False
                    size, number, part, copy["content"] = self._parts(inner)
                    number += RESULT_TOKENS
                    mask |= RESULT | part
                    if part:
                        encoded += encoded_size(block)
            elif kind == "tool_use":
                mask |= USE
                name, tool, given = block["id"], block["name"], block["input"]
                if type(name) is not str or type(tool) is not str:
                    raise TypeError
                uses.append(name)
                names.append(tool)
                copy = block.copy()
                size, number, copy["input"] = self.measure(given)
                if not name or not tool or type(given) is not dict or "cache_control" in block:
                    plain = False
                number += USE_TOKENS
            elif kind == "text":
                mask |= TEXT
                text = block["text"]
                size, number = len(text), count(text)
                if len(block) == 2:
                    copy = block.copy()
                    if not size or text.isspace():
                        plain = False
                else:
                    copy = structure(block)
                    plain = False
            elif kind == "thinking":
                # The signature is not charged as text; counting it would double a thinking-heavy request.
                mask |= THINK
                text = block["thinking"]
                size, number = len(text), count(text) + 4
                copy = block.copy()
                if "cache_control" in block:
                    plain = False
            elif kind == "image" or kind == "document":
                mask |= MEDIA
                encoded += encoded_size(block)
                size, number = 0, self.media(block)
                copy = structure(block)
            else:
                bit, size, number = self._other(kind, block)
                mask |= bit
                plain = False
                copy = structure(block)
            chars.append(size)
            tokens.append(number)
            total += number
            encoded += size
            copies.append(copy)
        shadow["content"] = copies
        item.mask, item.uses, item.results, item.names = mask, tuple(uses), tuple(results), tuple(names)
        item.plain = plain and mask > 0 and not mask & _SPOKEN.get(item.role, -1)
        item.chars, item.tokens = tuple(chars), tuple(tokens)
        item.total = total + MESSAGE_TOKENS
        item.bytes = encoded + BLOCK_FRAME * len(chars) + FRAME
        return shadow

    def _walk_odd(self, item: Item, message: Message) -> Message:
        """The same for a message whose shape the fast walk does not know; features only where they are sound."""
        role = message.get("role")
        item.role = role if isinstance(role, str) else "user"
        mask = 0
        uses: list[str] = []
        names: list[str] = []
        results: list[str] = []
        chars: list[int] = []
        tokens: list[int] = []
        for block in blocks_of(message):
            kind = block.get("type")
            bit, size, number = self.block(block)
            if kind == "tool_use":
                uses.append(str(block.get("id")))
                names.append(str(block.get("name")))
            elif kind == "tool_result":
                results.append(str(block.get("tool_use_id")))
            mask |= bit
            chars.append(size)
            tokens.append(number)
        item.mask, item.uses, item.results, item.names = mask, tuple(uses), tuple(results), tuple(names)
        item.chars, item.tokens = tuple(chars), tuple(tokens)
        item.total = sum(tokens) + MESSAGE_TOKENS
        item.bytes = size_of(blocks_of(message), chars)
        item.plain = False
        copied: Message = structure(message)
        return copied

    def block(self, block: Block) -> tuple[int, int, int]:
        """Mask bits, characters and tokens of one block of any shape."""
        kind = block.get("type")
        if kind == "tool_result":
            inner = block.get("content")
            if isinstance(inner, str):
                return RESULT, len(inner), self.count(inner) + RESULT_TOKENS
            size, tokens, part, _ = self._parts(inner)
            return RESULT | part, size, tokens + RESULT_TOKENS
        if kind == "tool_use":
            size, tokens, _ = self.measure(block.get("input"))
            return USE, size, tokens + USE_TOKENS
        if kind in ("text", "thinking"):
            text = block.get(kind)
            text = text if isinstance(text, str) else ""
            extra = 4 if kind == "thinking" else 0
            return KINDS[kind], len(text), self.count(text) + extra
        if kind in ("image", "document"):
            return MEDIA, 0, self.media(block)
        return self._other(kind, block)

    def _other(self, kind: object, block: Block) -> tuple[int, int, int]:
        size, tokens, _ = self.measure(block)
        bit = KINDS.get(kind, 0) if isinstance(kind, str) else 0
        if not bit:
            bit = SERVER if isinstance(kind, str) and kind.endswith("_tool_result") else OTHER
        return bit, size, tokens

    def _parts(self, inner: Any) -> tuple[int, int, int, Any]:
        """Characters, tokens, mask bits and copy of a tool result's list of parts."""
        size = tokens = bits = 0
        if not isinstance(inner, list):
            if inner is None:
                return 0, 0, 0, inner
            size, tokens, copy = self.measure(inner)
            return size, tokens, 0, copy
        copies: list[Any] = []
        for part in inner:
            text = part.get("text") if isinstance(part, Mapping) else None
            if isinstance(text, str):
                size += len(text)
                tokens += self.count(text)
            elif isinstance(part, Mapping) and part.get("type") in ("image", "document"):
                bits |= MEDIA
                tokens += self.media(part)
            else:
                more, extra, _ = self.measure(part)
                size += more
                tokens += extra
            copies.append(structure(part))
        return size, tokens, bits, copies

    def measure(self, value: Any, depth: int = 0) -> tuple[int, int, Any]:
        """Characters of all strings, tokens as JSON, and a copy that shares strings, of any JSON value."""
        kind = type(value)
        if kind is str:
            return len(value), self.count(value), value
        if depth > MAX_DEPTH:
            return 0, DEEP_TOKENS, value
        size = tokens = 2
        if kind is dict:
            copied = value.copy()
            count = self.count
            for key, inner in value.items():
                if type(inner) is str:
                    size += len(inner)
                    tokens += count(inner) + 2
                else:
                    more, extra, copied[key] = self.measure(inner, depth + 1)
                    size += more
                    tokens += extra + 2
            return size, tokens, copied
        if kind is list:
            listed = []
            for inner in value:
                more, extra, part = self.measure(inner, depth + 1)
                size += more
                tokens += extra
                listed.append(part)
            return size, tokens, listed
        return size, tokens, value


def structure(value: Any, depth: int = 0) -> Any:
    """A copy of all containers that shares every string: equal to the value as long as nobody changes it."""
    kind = type(value)
    if kind is dict:
        if depth > MAX_DEPTH:
            return value
        return {
            key: structure(inner, depth + 1) if type(inner) is dict or type(inner) is list else inner
            for key, inner in value.items()
        }
    if kind is list:
        if depth > MAX_DEPTH:
            return value
        return [
            structure(inner, depth + 1) if type(inner) is dict or type(inner) is list else inner
            for inner in value
        ]
    return value
