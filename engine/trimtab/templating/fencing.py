"""Marks around text that is not ours, so that it cannot pass for instructions or close its own mark."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b

from .lookalikes import OPENINGS, skeleton, visible

_FENCE = re.compile(r"<[\s/]*data\s*-")
LOOKED_AT = 64
"""Characters behind an opening bracket that are looked at: a tag with more blanks or unseen characters in it reads
as none.
"""

LINE_LOOKED_AT = 2000
"""Characters of a line that are looked at; a label is far shorter, whatever unseen characters it is padded with."""


def mark(texts: Iterable[str]) -> str:
    """12 hexadecimal digits that depend on everything that will be fenced: the same text, the same mark."""
    digest = blake2b(digest_size=6)
    for text in texts:
        raw = text.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(raw))
        digest.update(raw)
    return digest.hexdigest()


def fence(text: str, mark: str) -> str:
    """``text`` between two lines only this fence has.

    Whatever in it looks like a fence is escaped, and what would change how the text is shown is written out.
    """
    return f"<data-{mark}>\n{_escaped(visible(text), 'data', _FENCE)}\n</data-{mark}>"


def within(text: str, tag: str) -> str:
    """``text`` between ``<tag>`` and ``</tag>``; whatever in it opens or closes that tag is escaped."""
    return f"<{tag}>\n{without_tag(text, tag).strip(chr(10))}\n</{tag}>"


def without_tag(text: str, tag: str) -> str:
    """``text`` with whatever opens or closes ``<tag>``, or looks as if it did, escaped."""
    return _escaped(text, tag, re.compile(rf"<[\s/]*{re.escape(tag)}\b"))


def without_labels(text: str, label: re.Pattern[str]) -> str:
    """``text`` with a stroke before each line that looks like a label; every kind of line break becomes a plain one."""
    return "\n".join(
        ["\\" + line if label.match(skeleton(line[:LINE_LOOKED_AT])) else line for line in text.splitlines()]
    )


def _escaped(text: str, name: str, tag: re.Pattern[str]) -> str:
    starts = ("", " ", "\t", "\n", "\r", "/", name[0])

    def one(found: re.Match[str]) -> str:
        begin = found.start()
        # Most brackets show by what stands next to them that they begin no such tag.
        if skeleton(text[begin : begin + 3])[1:2] not in starts:
            return found[0]
        return "&lt;" if tag.match(skeleton(text[begin : begin + LOOKED_AT])) else found[0]

    return OPENINGS.sub(one, text)
