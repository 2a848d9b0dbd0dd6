"""Sections of a text: their headings in any case and markup, and where their bodies stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_MARKUP = re.compile(
    r"^[\s#*_>`~<\[({/\\|+-]*(?:\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.):]\s*)*[\s#*_>`~<\[({/\\|+-]*"
)
_HEADING_END = re.compile(r"^[\s*_`~>\])}/|]*(?:$|[:.(\u2013\u2014\uff1a]|-(?:\s|$))")
_LEADING = re.compile(r"[ \t]*(?:>|[-+] )")
"""A quote or a point of a list: its words may look like a heading and be anybody's."""
_TITLE_END = re.compile(r"[\s*_`~>\])}/|]*(?:\([^()\n]*\))?[\s*_`~]*(?:[:\u2013\u2014\uff1a]|-(?=\s))[*_`]*")
"""What ends the heading in a line that goes on with words."""
_MARKDOWN = re.compile(r"^#{1,6}\s", re.MULTILINE)


def _plain(text: str) -> str:
    return " ".join(text.replace("_", " ").split()).casefold()


def heading(text: str, section: str, *, strict: bool = False) -> tuple[int, int] | None:
    """Start and end of the line that is the heading of a section, in any case and markup; None if there is
    none.

    A quoted line or a point of a list is one only if no other line is; ``strict``: never.
    """
    found = list(_headings(text, section))
    plain = next(((at, end) for at, end, plain in found if plain), None)
    if plain is not None or strict or not found:
        return plain
    return found[0][:2]


def _headings(text: str, section: str) -> Iterator[tuple[int, int, bool]]:
    wanted = _plain(section)
    at = 0
    for line in text.splitlines(keepends=True):
        # A heading may itself begin with what looks like a number or a mark.
        for plain in (_plain(line[_markup(line) :]), _plain(line)):
            if plain.startswith(wanted) and _HEADING_END.match(plain[len(wanted) :]):
                yield at, at + len(line), _LEADING.match(line) is None
                break
        at += len(line)


def _markup(line: str) -> int:
    found = _MARKUP.match(line)
    return found.end() if found is not None else 0


def section(
    text: str, title: str, known: Sequence[str], *, strict: bool = False
) -> tuple[int, int, int] | None:
    """Where a section's heading begins, where its body begins and where that ends; None if it has none.

    It ends at the next of the ``known`` headings, and where its own is one of Markdown, at any other.
    """
    found = heading(text, title, strict=strict)
    if found is None:
        return None
    start, end = found
    rest = text[end:]
    places = [
        spot[0]
        for name in known
        if name != title and (spot := heading(rest, name, strict=strict)) is not None
    ]
    if _MARKDOWN.match(text[start:end]):
        places += [one.start() for one in _MARKDOWN.finditer(rest)]
    return start, end, end + (min(places) if places else len(rest))


def title_of(line: str, title: str) -> str:
    """A heading's line without what stands behind the heading in the same line: it belongs to the body."""
    words = r"[\s_]+".join(re.escape(word) for word in title.replace("_", " ").split())
    found = re.search(words, line, re.IGNORECASE)
    ending = _TITLE_END.match(line, found.end()) if found is not None else None
    return (line if ending is None else line[: ending.end()]).rstrip()
