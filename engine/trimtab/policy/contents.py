"""What a shown block holds: its words, media, emptiness and size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

Block: TypeAlias = Mapping[str, Any]
Place: TypeAlias = tuple[str | int, ...]

MAX_DEPTH = 64
"""Strings of an input nested deeper are not looked at."""


def as_block(value: Any) -> Block:
    """A block of any shape as a mapping, as items are numbered: what is none is a text."""
    return value if isinstance(value, Mapping) else {"type": "text", "text": str(value)}


def strings(value: Any, place: Place = ()) -> Iterator[tuple[Place, str]]:
    """Every string of a call's input, with the keys and positions that lead to it."""
    if isinstance(value, str):
        yield place, value
    elif len(place) < MAX_DEPTH:
        if isinstance(value, Mapping):
            for key, inner in value.items():
                yield from strings(inner, (*place, key))
        elif isinstance(value, list | tuple):
            for at, inner in enumerate(value):
                yield from strings(inner, (*place, at))


def texts(block: Block) -> Iterator[str]:
    """The words in a block: a text, thinking, the text parts of a result, the strings of an input."""
    kind = block.get("type")
    if kind == "tool_result":
        inner = block.get("content")
        if isinstance(inner, str):
            yield inner
        elif isinstance(inner, list | tuple):
            for part in inner:
                text = part.get("text") if isinstance(part, Mapping) else part
                if isinstance(text, str):
                    yield text
    elif kind == "tool_use":
        for _, text in strings(block.get("input")):
            yield text
    elif kind in ("text", "thinking"):
        text = block.get(kind)
        if isinstance(text, str):
            yield text


def carries(block: Block, what: str) -> bool:
    """Whether the block is or, as a result, holds an ``image`` or ``document``; or has ``text`` that is not
    blank.
    """
    if what == "text":
        return any(text and not text.isspace() for text in texts(block))
    if block.get("type") == what:
        return True
    inner = block.get("content") if block.get("type") == "tool_result" else None
    return isinstance(inner, list | tuple) and any(
        isinstance(part, Mapping) and part.get("type") == what for part in inner
    )


def is_empty(block: Block) -> bool:
    """Whether a result, text or input has no content; blank text counts as none, media and data never do."""
    kind = block.get("type")
    if kind == "tool_use":
        return not block.get("input")
    if kind == "tool_result":
        inner = block.get("content")
        if isinstance(inner, list | tuple):
            return all(
                isinstance(part, Mapping) and part.get("type") == "text" and _blank(part.get("text"))
                for part in inner
            )
        return _blank(inner)
    return kind in ("text", "thinking") and _blank(block.get(str(kind)))


def _blank(text: Any) -> bool:
    return text is None or (isinstance(text, str) and (not text or text.isspace()))


def bytes_in(text: str) -> int:
    """Bytes of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def lines_in(text: str) -> int:
    """Lines of a text; a last one without a line break counts."""
    return text.count("\n") + (1 if text and text[-1] != "\n" else 0)


def in_strings(value: Any, change: Callable[[str], str], depth: int = 0) -> Any:
    """The value with each string in it changed; what lies deeper than ``MAX_DEPTH`` stays as it is."""
    if isinstance(value, str):
        return change(value)
    if depth > MAX_DEPTH:
        return value
    if isinstance(value, Mapping):
        return {key: in_strings(inner, change, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [in_strings(inner, change, depth + 1) for inner in value]
    return value
