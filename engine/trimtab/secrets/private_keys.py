"""Private keys in the form of PEM and PGP: whole, cut off at either end, and spread over neighbouring texts."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from .spans import Found, Glued

KIND = "private key"
MOST_CHARS = 20_000
"""Between the lines that begin and end a key; RSA keys of 16,384 bits have 13,000."""
NEAR = 600
"""Characters behind a first line, within which the key itself begins."""
FAR = 10
"""Texts behind a key that was cut off, within which it may go on."""

_MARK = re.compile(r"-{1,5} ?(BEGIN|END) ?[A-Z0-9 ]{0,30}?PRIVATE ?KEY(?: ?BLOCK)? ?-{1,5}")
_TEXT = re.compile(r"(?=[^\n]{0,200}?[A-Z])(?=[^\n]{0,200}?[a-z])[A-Za-z0-9+/]{16,}")
_CLOSED = re.compile(r"\\?[\"'`]")
"""Behind a first line in quotes, which is just spoken of unless the key follows in quotes of its own."""
_ANY = re.compile(r"(?:\\r|\\n|[^A-Za-z0-9+/])*+[A-Za-z0-9+/]")
_BEFORE, _BEHIND, _STOP = r"[ \t>|+\"'\d:→-]{0,20}", r"[ \t\"'+,|]{0,10}", r"(?:\\?\r?\n|(?:\\r)?\\n|$)"
_FIELD = r"[A-Z][A-Za-z-]{2,20}:"
_LINE = re.compile(
    rf"{_BEFORE}(?:[A-Za-z0-9+/]{{16,}}={{0,2}}|=(?:=|[A-Za-z0-9+/]{{4}})?|{_FIELD}[^\n]{{0,200}}?)?"
    rf"{_BEHIND}{_STOP}"
)
"""A line of a key: its text, a field above it, or nothing, with what editors and quotes put around it."""
_SHORT = re.compile(rf"{_BEFORE}[A-Za-z0-9+/-]{{1,80}}={{0,2}}{_BEHIND}{_STOP}")
"""The last line of a key, and the first one where it was cut off, may be as short as they like."""
_RAGGED = re.compile(rf"[^\n\\]{{0,200}}{_STOP}(?={_BEFORE}[A-Za-z0-9+/]{{16}}|{_FIELD}|\r?\n[A-Za-z0-9+/])")
"""The rest of a line that was cut off, whatever it was, above the text of a key."""
_LINES = re.compile(rf"(?:[^\n\\]|\\(?!\r?\n|n|r\\n))*{_STOP}")


def find(glued: Glued, seams: Sequence[int]) -> Iterator[Found]:
    """Every key in a text that is made of texts which begin at ``seams``, one character apart.

    A key without its last line goes on to the end of its text, and into those behind for as long as their lines look
    like it; one without its first line reaches back as long. A first line with no key behind it is none.
    """
    if "PRIVATE" not in glued.text:
        return
    whole = glued.whole
    marks = [(*glued.back(*one.span()), one[1] == "BEGIN") for one in _MARK.finditer(glued.text)]
    done = 0
    for place, (start, stop, begins) in enumerate(marks):
        if start < done:
            continue
        before = marks[place - 1][1] if place else 0
        following = marks[place + 1] if place + 1 < len(marks) else (len(whole), len(whole), True)
        if not begins:
            limit = max(before, _start(seams, start))
            spans = [(_first(whole, limit, start), stop)]
            spans = [span for span in spans if span[0] < start]
        elif not following[2] and following[0] - stop <= MOST_CHARS and _same(seams, stop, following[0]):
            if _CLOSED.match(whole, stop) and not _TEXT.search(whole, stop, following[0]):
                done = following[1]
                continue
            spans = [(start, following[1])]
        else:
            spans = _cut_off(whole, seams, start, stop, following)
        for span in spans:
            yield Found(*span, KIND)
            done = span[1]


def _cut_off(
    whole: str, seams: Sequence[int], start: int, stop: int, following: tuple[int, int, bool]
) -> list[tuple[int, int]]:
    """A key whose last line is not in its text; ``following`` is the next mark."""
    number = bisect_right(seams, stop - 1)
    here = min(_end(whole, seams, number), following[0])
    spans: list[tuple[int, int]] = []
    if _ANY.match(whole, stop, here):
        if not _TEXT.search(whole, stop, min(here, stop + NEAR)) and _last(whole, stop, here) < here:
            return []
        spans.append((start, here))
    weak: int | None = None
    for at in range(number, min(number + FAR, len(seams))):
        begin, end = seams[at], _end(whole, seams, at + 1)
        if begin > following[0]:
            break
        limit = min(end, following[0])
        reached = _last(whole, begin, limit)
        closed = reached == following[0] and not following[2]
        if not closed and not _TEXT.search(whole, begin, reached):
            # A word may be the piece of a line; what comes next tells.
            weak = (begin if weak is None else weak) if reached == end else None
            continue
        first, weak = begin if weak is None else weak, None
        reached = following[1] if closed else reached
        if not spans and first == seams[number]:
            spans.append((start, reached))
        elif spans and spans[-1][1] == first - 1:
            spans[-1] = (spans[-1][0], reached)
        else:
            spans.append((first, reached))
        if closed or reached < end:
            break
    return spans


def _last(whole: str, start: int, limit: int) -> int:
    """Where the lines that look like a key end, from ``start`` on."""
    at = start
    while at < limit:
        line = _LINE.match(whole, at, limit)
        if line is None and at == start:
            line = _SHORT.match(whole, at, limit) or _RAGGED.match(whole, at, limit)
        if line is None or line.end() == at:
            break
        at = line.end()
    short = _SHORT.match(whole, at, limit) if at < limit else None
    return limit if short is not None and short.end() == limit else at


def _first(whole: str, limit: int, stop: int) -> int:
    """Where the lines that look like a key begin, from ``stop`` back to ``limit``."""
    lines = [
        (one.start(), one.end()) for one in _LINES.finditer(whole, limit, stop) if one.end() > one.start()
    ]
    first = stop
    for start, end in reversed(lines):
        short = end == stop or start == limit
        if not (_LINE.fullmatch(whole, start, end) or (short and _SHORT.fullmatch(whole, start, end))):
            break
        first = start
    return first


def _start(seams: Sequence[int], at: int) -> int:
    return seams[bisect_right(seams, at) - 1]


def _same(seams: Sequence[int], one: int, other: int) -> bool:
    return bisect_right(seams, one - 1) == bisect_right(seams, other)


def _end(whole: str, seams: Sequence[int], number: int) -> int:
    """Where the text before this seam ends."""
    return seams[number] - 1 if number < len(seams) else len(whole)
