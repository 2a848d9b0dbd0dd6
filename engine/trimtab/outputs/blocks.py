"""One line of text for a block of a message."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .words import plural, short


def line_of(block: Mapping[str, Any], role: str) -> str:
    """What the block is, how long, and how it begins."""
    kind = str(block.get("type", "?"))
    if kind == "text":
        text = str(block.get("text") or "")
        return f"{short(role, 20)}: {short(text)}"
    if kind == "tool_use":
        given = json.dumps(block.get("input"), default=str)
        return f"call of {short(str(block.get('name')), 40)} {short(given, 56)}"
    if kind == "tool_result":
        text = content_text(block.get("content"))
        return f"result, {plural(len(text), 'character')}: {short(text, 56)}"
    if kind in ("thinking", "redacted_thinking"):
        return f"{kind}, {plural(len(str(block.get('thinking') or block.get('data') or '')), 'character')}"
    return short(kind, 40)


def content_text(content: Any) -> str:
    """The text of a result: a string, or its text blocks."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple):
        return ""
    parts = [
        str(one.get("text") or "") if one.get("type") == "text" else f"[{one.get('type')}]"
        for one in content
        if isinstance(one, Mapping)
    ]
    return "\n".join(parts)
