"""Messages as a text for a writer to read: who said what, calls and results, media as names; no signatures,
no marks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..conversation.items import Block
from ..conversation.view import is_media
from ..templating import without_labels
from ._material import Entry, media_name

_LABEL = re.compile(
    r"\s*\[\s*(?:user|assistant|system|command|earlier summary|attachment|note|reminder|context|example"
    r"|result|error)\b[^\]]*\]\s*$"
)
"""A line that could pass for one of our labels, as it looks."""
LABELS: Mapping[str, str] = {
    "user": "user",
    "command": "command of the user",
    "assistant": "assistant",
    "summary": "earlier summary",
    "note": "note",
    "attachment": "attachment",
    "reminder": "reminder",
    "context": "context",
    "example": "example",
    "tool": "user",
}


def transcript(entries: Sequence[Entry]) -> str:
    """The entries in order. Each part stands behind a label in brackets; lines in it that look like one are
    escaped.
    """
    names: dict[str, str] = {}
    parts: list[str] = []
    label = ""
    for entry in entries:
        for own, text in _parts(entry, names):
            if not text.strip():
                continue
            escaped = without_labels(text.strip("\n"), _LABEL)
            # Texts of one speaker in a row need one label only.
            parts.append(escaped if own == label and own in LABELS.values() else f"[{own}]\n{escaped}")
            label = own
    return "\n\n".join(parts)


def _parts(entry: Entry, names: dict[str, str]) -> Iterator[tuple[str, str]]:
    item = entry.item
    speaker = LABELS.get(item.origin, item.role)
    for block in entry.blocks:
        kind = block.get("type")
        if kind == "text":
            yield speaker, str(block.get("text") or "")
        elif kind == "thinking":
            yield f"{speaker} thinks", str(block.get("thinking") or "")
        elif kind == "tool_use":
            name = names[str(block.get("id"))] = _on_one_line(block.get("name"))
            yield f"{speaker} calls {name}", _arguments(block.get("input"))
        elif kind == "tool_result":
            name = names.get(str(block.get("tool_use_id")), "a tool")
            word = "error from" if block.get("is_error") is True else "result of"
            yield f"{word} {name}", _words(block.get("content")) or "(empty)"
        elif is_media(block):
            yield speaker, media_name(block)
        elif kind not in ("redacted_thinking", "cache_edits"):
            yield f"{speaker}: {_on_one_line(kind)}", _other(block)


def _on_one_line(value: Any) -> str:
    """A name that comes from the traffic, safe inside a label."""
    return re.sub(r"[\[\]\s]+", " ", str(value)).strip()[:100]


def _arguments(given: Any) -> str:
    """A call's input as JSON."""
    return json.dumps(given, ensure_ascii=False, default=str)


def _words(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list | tuple):
        return _arguments(content)
    found: list[str] = []
    for part in content:
        if not isinstance(part, Mapping):
            found.append(str(part))
        elif part.get("type") == "text":
            found.append(str(part.get("text") or ""))
        else:
            found.append(media_name(part) if is_media(part) else _other(part))
    return "\n".join(found)


_OPAQUE = frozenset({"signature", "data", "encrypted_content", "encrypted_index", "cache_control", "type"})


def _other(block: Block) -> str:
    """A block of another kind: its fields, without what nobody can read."""
    return _arguments({key: value for key, value in block.items() if key not in _OPAQUE})
