"""What a view shows at a place: texts of messages and blocks, as a person would read them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..conversation.items import Item, blocks_of
from ..conversation.request import Message
from ..facts import text_of
from ..policy.evaluation import NoValue
from ..policy.scene import Scene
from ..policy.selection import Selector, candidates
from .expecting import SYSTEM


@dataclass(frozen=True, slots=True)
class Shown:
    """A message or block at a place: its text, its content as it is, and the serial of its message."""

    text: str
    content: Any
    serial: int | None = None
    index: int | None = None


def look(scene: Scene, system: Any, at: int | str | Selector) -> list[Shown] | str:
    """What stands at a place of the view; a text says why the place cannot be found."""
    items = scene.view.items
    if at == SYSTEM:
        return [] if system is None else [Shown(content_text(system), system)]
    if isinstance(at, int):
        return [_message(items[at], at)] if -len(items) <= at < len(items) else []
    assert isinstance(at, Selector)
    try:
        chosen = candidates(scene, at).candidates
    except NoValue as problem:
        return str(problem)
    found = []
    for one in chosen:
        if one.block is None:
            found.append(_message(one.item, one.index))
        else:
            block = blocks_of(one.item.message)[one.block]
            found.append(Shown(block_text(block), block, one.item.serial, one.index))
    return found


def _message(item: Item, index: int) -> Shown:
    return Shown(message_text(item.message), item.message.get("content"), item.serial, index)


def message_text(message: Message) -> str:
    """All words of a message, blocks one under the other."""
    return "\n".join(block_text(block) for block in blocks_of(message))


def content_text(content: Any) -> str:
    """The words of a system prompt or a content."""
    return content if isinstance(content, str) else message_text({"content": content})


def block_text(block: Mapping[str, Any]) -> str:
    """The words of a block; a call as ``Tool {input}``, what has no words as its type in brackets."""
    kind = block.get("type")
    if kind == "text":
        return str(block.get("text") or "")
    if kind == "tool_use":
        return f"{block.get('name')} {json.dumps(block.get('input'), ensure_ascii=False, default=str)}"
    if kind == "tool_result":
        content = block.get("content")
        media = [f"[{part.get('type')}]" for part in _parts(content) if part.get("type") != "text"]
        return "\n".join(part for part in (text_of(content), *media) if part)
    if kind == "thinking":
        return str(block.get("thinking") or "")
    return f"[{kind}]"


def _parts(content: Any) -> Sequence[Mapping[str, Any]]:
    if not isinstance(content, list | tuple):
        return ()
    return [part for part in content if isinstance(part, Mapping)]
