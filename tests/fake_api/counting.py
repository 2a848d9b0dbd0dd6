"""How the fake counts tokens: its own way, the same everywhere, and known to nobody it talks to.

A text is its UTF-8 bytes by three, rounded up; every block, tool and message costs four more; a call its name and
its input as JSON; images and documents what ``trimtab.tokens.media`` says. That is near enough to the real counts
for windows and caches to behave, and far enough from the engine's estimate that the engine has to learn.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from trimtab.tokens.media import media_tokens

from .rules import blocks

Json = Any

BYTES = 3
"""Bytes of a token."""
EACH = 4
"""Tokens of a block, a tool and a message besides what they say."""


def text_tokens(text: str) -> int:
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES)


def block_tokens(block: Mapping[str, Json]) -> int:
    """Tokens of a content block, of a system text, or of a tool's definition."""
    kind = block.get("type")
    if kind == "text":
        return EACH + text_tokens(block["text"])
    if kind == "thinking":
        return EACH + text_tokens(block["thinking"])
    if kind in ("image", "document"):
        return EACH + media_tokens(block)
    if kind == "tool_use":
        return EACH + text_tokens(block["name"] + json.dumps(block["input"]))
    if kind == "tool_result":
        content = block.get("content")
        if isinstance(content, str):
            return EACH + text_tokens(content)
        return EACH + sum(block_tokens(part) for part in content or ())
    if kind == "compaction":
        return EACH + text_tokens(block.get("content") or "")
    plain = {key: value for key, value in block.items() if key != "cache_control"}
    return EACH + text_tokens(json.dumps(plain))


def message_tokens(message: Mapping[str, Json]) -> int:
    return EACH + sum(block_tokens(block) for block in blocks(message))


def prompt_tokens(system: Json, tools: Sequence[Mapping[str, Json]], messages: Sequence[Json]) -> int:
    """Tokens of a whole request."""
    return (
        sum(block_tokens(tool) for tool in tools)
        + sum(block_tokens(block) for block in system_blocks(system))
        + sum(message_tokens(message) for message in messages)
    )


def system_blocks(system: Json) -> list[Mapping[str, Json]]:
    if isinstance(system, str):
        return [{"type": "text", "text": system}] if system else []
    return list(system or ())
