"""Names under which originals are stored: pure, so that a stage can tell one before the file is there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b

LONGEST_ID = 64
"""Characters kept of a tool id; some providers' ids are over a kilobyte (FAULTS C6)."""

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_ENDING = ".txt"
_LONGEST = LONGEST_ID + 13
_STORED = re.compile(rf"[A-Za-z0-9_-]{{1,{_LONGEST}}}\Z")


def safe_name(tool_id: str, text: str) -> str:
    """File name for a text: the cleaned id, 12 hex digits of blake2b over the text, ``.txt``."""
    cleaned = _UNSAFE.sub("_", tool_id)[:LONGEST_ID] or "text"
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return f"{cleaned}-{digest}{_ENDING}"


def stored_name(folder: str, tool_id: str, text: str) -> str:
    """Name of the store's file for a text: ``folder/file``."""
    return f"{folder.strip('/')}/{safe_name(tool_id, text)}"


def names_stored(texts: Iterable[str], stored: frozenset[str]) -> bool:
    """Whether one of the texts mentions one of these file names (without folders), in whatever folder."""
    return any(name in stored for text in texts for name in _names(text))


def _names(text: str) -> Iterator[str]:
    """What may be such a name, found from its ending: a long argument must not cost its square."""
    at = text.find(_ENDING)
    while at >= 0:
        found = _STORED.search(text[max(0, at - _LONGEST) : at])
        if found is not None:
            yield found[0] + _ENDING
        at = text.find(_ENDING, at + 1)
