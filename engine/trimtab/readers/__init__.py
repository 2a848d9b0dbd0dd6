"""Session files other tools write, read into requests with what is known of each message."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import detect as _detect
from .anthropic_json import AnthropicJson
from .base import HEAD_BYTES, NO_MODEL, Boundary, Reader, ReadProblem, Recording, Unreadable, regular
from .claude_code import ClaudeCode

__all__ = [
    "NO_MODEL",
    "READERS",
    "Boundary",
    "ReadProblem",
    "Reader",
    "Recording",
    "Unreadable",
    "detect",
    "facts_of",
    "read",
]

READERS: Mapping[str, Reader] = {reader.name: reader for reader in (ClaudeCode(), AnthropicJson())}
"""All readers by format name, in the order in which they are asked."""


def detect(head: bytes) -> str | None:
    """Format name of a file that begins with ``head``; None if no reader takes it."""
    return _detect.detect(head, READERS)


def read(path: str | Path, *, format: str | None = None) -> Recording:
    """Read a session file; ``format`` (a key of ``READERS``) skips detection.

    Raises Unreadable where the file cannot be opened or nothing in it is a message. Bad lines and odd records
    never raise; they are listed in ``Recording.problems``.
    """
    file = Path(path)
    names = ", ".join(READERS)
    try:
        regular(file)
        if format is None:
            with file.open("rb") as opened:
                head = opened.read(HEAD_BYTES)
            format = detect(head)
            if format is None:
                raise _unknown(head, str(file), names)
        reader = READERS.get(format)
        if reader is None:
            raise Unreadable(f"there is no reader for the format '{format}'", f"formats: {names}", str(file))
        return reader.read(file)
    except OSError as error:
        reason = error.strerror or str(error)
        raise Unreadable(
            f"cannot be opened: {reason}", "give the path of a session file", str(file)
        ) from error


def facts_of(recording: Recording) -> dict[str, Any]:
    """Keywords of ``Facts`` that a session file tells: its newest time as ``now``, the caller, host facts.

    ``Facts(**facts_of(recording))``; what the host itself knows better goes over it. Of a conversation that was
    rewound the facts of the abandoned part are among them.
    """
    return {
        "now": recording.meta.get("now"),
        "caller": str(recording.meta.get("agent") or "main"),
        **recording.facts,
    }


def _unknown(head: bytes, path: str, names: str) -> Unreadable:
    if not head.strip():
        return Unreadable("the file is empty", "a session file holds at least one message", path)
    looks = _detect.foreign(head)
    if looks:
        return Unreadable(f"this looks like {looks}, which no reader takes", f"formats: {names}", path)
    hint = f"formats: {names}; name one to skip detection (format=… or --session-format)"
    return Unreadable("the format was not recognised", hint, path)
