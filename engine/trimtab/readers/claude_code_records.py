"""One line of a Claude Code session file -> one entry: what it is, whose it is, what of it is sent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..conversation.request import Usage
from ..tokens.figure import response_usage
from .base import epoch
from .claude_code_attachments import rendered

ASSISTANT, USER, ATTACHMENT, COMPACT, MICRO = "assistant", "user", "attachment", "compact", "microcompact"

Block = Any
"""A content block as the file has it: any shape, never changed."""


@dataclass(slots=True)
class Entry:
    """A record that is sent to the model or marks a compaction.

    ``blocks`` is the content as a list (a text is kept in ``text`` instead); ``group`` the API's message id,
    by which the records of one response belong together; ``boundary`` the metadata of a compaction.
    """

    line: int
    kind: str
    uuid: str | None
    parent: str | None
    at: float | None
    side: bool
    origin: str
    text: str | None = None
    blocks: tuple[Block, ...] = ()
    group: str | None = None
    model: str | None = None
    usage: Usage | None = None
    boundary: Mapping[str, Any] | None = None

    @property
    def first_text(self) -> str:
        """The first words of the entry."""
        if self.text is not None:
            return self.text
        for block in self.blocks:
            if isinstance(block, dict) and block.get("type") == "text":
                return str(block.get("text", ""))
        return ""


class Malformed(ValueError):
    """The record should be a message but has no usable one."""


def entry_of(line: int, record: Mapping[str, Any]) -> Entry | None:
    """The entry of a record; None for records that never reach the model, unknown types among them.

    Raises Malformed where a message record holds no message.
    """
    kind = record.get("type")
    if kind in (USER, ASSISTANT):
        return _message(line, record, kind)
    if kind == ATTACHMENT:
        return _attachment(line, record)
    if kind == "system":
        return _boundary(line, record)
    return None


def _common(line: int, record: Mapping[str, Any], kind: str, origin: str) -> Entry:
    return Entry(
        line=line,
        kind=kind,
        uuid=text_of(record, "uuid"),
        parent=text_of(record, "parentUuid"),
        at=epoch(record.get("timestamp")),
        side=record.get("isSidechain") is True,
        origin=origin,
    )


def text_of(record: Mapping[str, Any], key: str) -> str | None:
    """The value of ``key`` if it is a text that is not empty."""
    value = record.get(key)
    return value if isinstance(value, str) and value else None


def number_of(record: Mapping[str, Any], key: str) -> int | None:
    """The value of ``key`` if it is a whole number."""
    value = record.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def ids_of(entry: Entry, kind: str) -> set[str]:
    """Call ids of an entry's blocks of ``kind``: ``tool_use`` or ``tool_result``."""
    key = "id" if kind == "tool_use" else "tool_use_id"
    return {
        block[key]
        for block in entry.blocks
        if isinstance(block, dict) and block.get("type") == kind and isinstance(block.get(key), str)
    }


def _message(line: int, record: Mapping[str, Any], kind: str) -> Entry | None:
    message = record.get("message")
    if not isinstance(message, dict):
        raise Malformed(f"the {kind} record has no message object")
    content = message.get("content")
    if not isinstance(content, str | list):
        raise Malformed(f"the message of this {kind} record has no content")
    model = text_of(message, "model")
    if record.get("isApiErrorMessage") is True or model == "<synthetic>":
        return None
    entry = _common(line, record, kind, kind)
    if isinstance(content, str):
        if not content.strip():
            return None
        entry.text = content
    else:
        entry.blocks = tuple(block for raw in content if (block := _block(raw)) is not None)
        if not entry.blocks:
            return None
    if kind == ASSISTANT:
        entry.group = text_of(message, "id")
        entry.model = model
        entry.usage = usage_of(message, model)
    else:
        entry.origin = _origin(record, entry)
    return entry


def usage_of(message: Mapping[str, Any], model: str | None) -> Usage | None:
    """Usage of a response's last call; output only where the response was over."""
    usage = message.get("usage")
    if not isinstance(usage, dict):
        return None
    return response_usage(usage, model, final=message.get("stop_reason") is not None)


def _block(raw: Any) -> Block | None:
    """A block as it is sent; None for blank texts, which the API refuses. Unknown blocks pass as they are."""
    if isinstance(raw, dict):
        kind = raw.get("type")
        if kind == "text":
            text = raw.get("text")
            return raw if isinstance(text, str) and text.strip() else None
        if kind == "tool_result" and isinstance(raw.get("content"), list):
            parts = raw["content"]
            kept = [part for part in parts if not _blank(part)]
            return raw if len(kept) == len(parts) else {**raw, "content": kept}
        return raw
    if isinstance(raw, str) and raw.strip():
        return {"type": "text", "text": raw}
    return None


def _blank(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and not str(part.get("text") or "").strip()


_CONTEXT = re.compile(
    r"\s*(?:<(?:local-command-(?:stdout|stderr|caveat)|bash-(?:input|stdout|stderr))>"
    r"|Caveat: The messages below were generated by the user while running local commands"
    r"|\[Request interrupted by user)"
)
_REMINDER = re.compile(r"\s*<(?:system-reminder|task-notification)>")
_COMMAND = re.compile(r"\s*<command-(?:name|message|args)>")
CAVEAT = re.compile(
    r"\s*(?:<local-command-caveat>|Caveat: The messages below were generated by the user while)"
)
OUTPUT = re.compile(r"\s*<local-command-(?:stdout|stderr)>")


def _origin(record: Mapping[str, Any], entry: Entry) -> str:
    """Where a user record comes from: by its fields, by its wrapper only where there is no field."""
    if record.get("isCompactSummary") is True:
        return "summary"
    if any(isinstance(block, dict) and block.get("type") == "tool_result" for block in entry.blocks):
        return "tool"
    words = entry.first_text
    if record.get("isMeta") is True:
        return "reminder" if _REMINDER.match(words) else "context"
    source = record.get("origin")
    spoken = text_of(source, "kind") if isinstance(source, dict) else None
    if spoken is not None and spoken != "human":
        return "reminder"
    if _COMMAND.match(words):
        return "command"
    if spoken == "human":
        return "user"
    if text_of(record, "interruptedMessageId"):
        return "context"
    found = origin_of_words(words)
    return "user" if found == "reminder" and len(entry.blocks) > 1 else found


def origin_of_words(words: str) -> str:
    """Origin of a user text by the client's own wrappers, for records without a field that tells it."""
    # An interrupt is the client's text: it starts no turn, the words typed after it do.
    if _CONTEXT.match(words):
        return "context"
    return "reminder" if _REMINDER.match(words) else "user"


def _attachment(line: int, record: Mapping[str, Any]) -> Entry | None:
    attachment = record.get("attachment")
    if not isinstance(attachment, dict):
        raise Malformed("the attachment record has no attachment object")
    entry = _common(line, record, ATTACHMENT, "reminder")
    shown = rendered(attachment)
    if shown is None:
        return None
    entry.origin = shown.origin
    if isinstance(shown.content, str):
        entry.text = shown.content
    else:
        entry.blocks = tuple(shown.content)
    return entry


def _boundary(line: int, record: Mapping[str, Any]) -> Entry | None:
    subtype = record.get("subtype")
    if subtype == "compact_boundary":
        kind, key = COMPACT, "compactMetadata"
    elif subtype == "microcompact_boundary":
        kind, key = MICRO, "microcompactMetadata"
    else:
        return None
    entry = _common(line, record, kind, kind)
    metadata = record.get(key)
    entry.boundary = metadata if isinstance(metadata, dict) else {}
    return entry


def mark_local_commands(entries: list[Entry]) -> None:
    """Turn ``command`` into ``context`` for slash commands the client answers itself.

    Such a command stands behind the client's caveat or before its own output; one for the model never.
    """
    for place, entry in enumerate(entries):
        if entry.origin != "command" or entry.kind != USER:
            continue
        before = entries[place - 1] if place else None
        after = entries[place + 1] if place + 1 < len(entries) else None
        if (before is not None and before.kind == USER and CAVEAT.match(before.first_text)) or (
            after is not None and after.kind == USER and OUTPUT.match(after.first_text)
        ):
            entry.origin = "context"
