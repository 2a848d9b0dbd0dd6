"""Sections of a text: their headings in any case and markup, and where their bodies stand."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence

_MARKUP = re.compile(
    r"^[\s#*_>`~<\[({/\\|+-]*(?:\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.):]\s*)*[\s#*_>`~<\[({/\\|+-]*"
)
_HEADING_END = re.compile(r"^[\s*_`~>\])}/|]*(?:$|[:.(\u2013\u2014\uff1a]|-(?:\s|$))")
_LEADING = re.compile(r"[ \t]*(?:>|[-+] )")
"""A quote or a point of a list: its words may look like a heading and be anybody's."""
_TITLE_END = re.compile(r"[\s*_`~>\])}/|]*(?:\([^()\n]*\))?[\s*_`~]*(?:[:\u2013\u2014\uff1a]|-(?=\s))[*_`]*")
"""What ends the heading in a line that goes on with words."""
_MARKDOWN = re.compile(r"(#{1,6})\s")


def _plain(text: str) -> str:
    return " ".join(text.replace("_", " ").split()).casefold()


class Headings:
    """The lines of a text that are headings of ``titles``, in any case and markup; the text is gone through once.

    A place is the start and the end of such a line. A quoted line or a point of a list is one only if no other line
    is; ``strict``: never.
    """

    def __init__(self, text: str, titles: Iterable[str]) -> None:
        self._size = len(text)
        self._plain: dict[str, list[tuple[int, int]]] = {title: [] for title in titles}
        self._quoted: dict[str, list[tuple[int, int]]] = {title: [] for title in self._plain}
        self._levels: list[tuple[int, int]] = []
        wanted = {title: _plain(title) for title in self._plain}
        # Only few lines of a text hold the first word of a heading: the others need no closer look.
        firsts = {re.escape(words.split(" ", 1)[0]) for words in wanted.values()}
        chance = re.compile("|".join(sorted(firsts))).search if firsts else None
        at = 0
        for line in text.splitlines(keepends=True):
            start, at = at, at + len(line)
            if line.startswith("#") and (level := _MARKDOWN.match(line)) is not None:
                self._levels.append((start, len(level[1])))
            if chance is not None and chance(line.casefold()) is not None:
                found = self._quoted if _LEADING.match(line) else self._plain
                # A heading may itself begin with what looks like a number or a mark.
                heads = (_plain(line[_markup(line) :]), _plain(line))
                for title, words in wanted.items():
                    if any(
                        head.startswith(words) and _HEADING_END.match(head[len(words) :]) for head in heads
                    ):
                        found[title].append((start, at))

    @property
    def starts(self) -> set[int]:
        """Where lines begin that are headings, quoted ones too."""
        found = [*self._plain.values(), *self._quoted.values()]
        return {start for places in found for start, _ in places}

    def first(self, title: str, begin: int = 0, *, strict: bool = False) -> tuple[int, int] | None:
        """The first heading of a section from ``begin``, the start of a line, on; None if there is none."""
        place = _from(self._plain[title], begin)
        return place if place is not None or strict else _from(self._quoted[title], begin)

    def level(self, start: int) -> int | None:
        """How many marks of Markdown begin the line that begins there; None if it begins with none."""
        found = _from(self._levels, start)
        return found[1] if found is not None and found[0] == start else None

    def next_level(self, begin: int, deepest: int = 6) -> int:
        """Where the next heading of Markdown stands that is no deeper; the end of the text if there is none."""
        for at in range(bisect_left(self._levels, (begin, 0)), len(self._levels)):
            start, depth = self._levels[at]
            if depth <= deepest:
                return start
        return self._size

    def section(self, title: str, begin: int = 0, *, strict: bool = False) -> tuple[int, int, int] | None:
        """Where a section's heading begins, where its body begins and where that ends; None if it has none.

        It ends at the next of the other headings, and where its own is one of Markdown, at any other.
        """
        found = self.first(title, begin, strict=strict)
        if found is None:
            return None
        start, end = found
        others = [self.first(name, end, strict=strict) for name in self._plain if name != title]
        stop = min([place[0] for place in others if place is not None], default=self._size)
        return start, end, stop if self.level(start) is None else min(stop, self.next_level(end))


def _from(places: Sequence[tuple[int, int]], begin: int) -> tuple[int, int] | None:
    at = bisect_left(places, (begin, 0))
    return places[at] if at < len(places) else None


def section(
    text: str, title: str, known: Iterable[str], *, strict: bool = False
) -> tuple[int, int, int] | None:
    """Where a section's heading begins, where its body begins and where that ends; None if it has none.

    ``known``: the headings it may end at.
    """
    return Headings(text, [title, *known]).section(title, strict=strict)


def _markup(line: str) -> int:
    found = _MARKUP.match(line)
    return found.end() if found is not None else 0


def title_of(line: str, title: str) -> str:
    """A heading's line without what stands behind the heading in the same line: it belongs to the body."""
    words = r"[\s_]+".join(re.escape(word) for word in title.replace("_", " ").split())
    found = re.search(words, line, re.IGNORECASE)
    ending = _TITLE_END.match(line, found.end()) if found is not None else None
    return (line if ending is None else line[: ending.end()]).rstrip()
