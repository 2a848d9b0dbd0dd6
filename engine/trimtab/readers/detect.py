"""Which reader a file belongs to, told from its first bytes."""

from __future__ import annotations

from collections.abc import Mapping

from .base import Reader, head_objects

FOREIGN: Mapping[str, str] = {
    "session_meta": "a Codex rollout",
    "response_item": "a Codex rollout",
    "event_msg": "a Codex rollout",
    "session.start": "a Copilot CLI session",
}
"""Record types of formats that are recognised so that the refusal can name them."""


def detect(head: bytes, readers: Mapping[str, Reader]) -> str | None:
    """Name of the first reader that takes a file beginning with ``head``; None if none does."""
    for name, reader in readers.items():
        if reader.detects(head):
            return name
    return None


def foreign(head: bytes) -> str | None:
    """What the file seems to be, where no reader takes it but its look is known."""
    for record in head_objects(head):
        kind = record.get("type")
        if isinstance(kind, str) and kind in FOREIGN:
            return FOREIGN[kind]
    return None
