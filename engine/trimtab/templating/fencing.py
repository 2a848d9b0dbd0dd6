"""Marks around text that is not ours, so that it cannot pass for instructions or close its own mark."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b

_LIKE_A_FENCE = re.compile(r"<(?=\s*/?\s*data-)", re.IGNORECASE)


def mark(texts: Iterable[str]) -> str:
    """12 hexadecimal digits that depend on everything that will be fenced: the same text, the same mark."""
    digest = blake2b(digest_size=6)
    for text in texts:
        raw = text.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(raw))
        digest.update(raw)
    return digest.hexdigest()


def fence(text: str, mark: str) -> str:
    """``text`` between two lines only this fence has; whatever in it looks like a fence is escaped."""
    inner = _LIKE_A_FENCE.sub("&lt;", text)
    return f"<data-{mark}>\n{inner}\n</data-{mark}>"


def within(text: str, tag: str) -> str:
    """``text`` between ``<tag>`` and ``</tag>``; whatever in it opens or closes that tag is escaped."""
    return f"<{tag}>\n{without_tag(text, tag).strip(chr(10))}\n</{tag}>"


def without_tag(text: str, tag: str) -> str:
    """``text`` with whatever opens or closes ``<tag>`` escaped."""
    return re.sub(rf"<(?=\s*/?\s*{re.escape(tag)}\b)", "&lt;", text, flags=re.IGNORECASE)
