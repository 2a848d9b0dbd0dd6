"""Secrets told by what stands in front of them: names of passwords and keys, schemes of authorization, addresses."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from .spans import Found
from .values import LEAST_CHARS, bearer, header, in_address, secret

VALUE, AUTHORIZATION, ADDRESS = "value", "authorization", "password in an address"
MOST_LINES = 20
"""Of a list or block of values below a name."""

_NAME = (
    r"(?:(?:pass(?:word|wd|phrase)|secret|api[_-]?key|access[_-]?key|auth[_-]?token|access[_-]?token|_token"
    r"|private[_-]?key|credential)[\w-]{0,30}+|token|_pass)"
)
_HINTS = ("pass", "secret", "key", "token", "credential")
_QUOTE = r"\\{0,3}[\"'`]"
_GIVEN = re.compile(
    rf"(?P<name>{_NAME})(?:{_QUOTE}\]?|\*\*|\])?[^\S\n]{{0,4}}"
    r"(?::[^\S\n]{0,3}[a-z_][\w.\[\]|]{0,30}[^\S\n]{1,3}=(?=[^\S\n])|:=|=>|={1,3}|:|(?<!-)>)(?:\*\*)?"
    rf"|(?<=--)(?P<option>{_NAME})(?=[^\S\n])"
)
"""A name and what gives it its value, in lower case."""
FRONT = 60
"""Characters in front of a telling word that are looked at for the rest of its name."""
_FRONT = re.compile(r"(?P<arn>\d{12}:)?[\w-]*\Z")
_GAP = r"[^\S\n]{0,8}"
_QUOTED = re.compile(
    rf"{_GAP}[bBrRuU]{{0,2}}(?:\"(?P<double>(?:[^\"\\\n]|\\.){{1,300}}+)\"|'(?P<single>(?:[^'\\\n]|\\.){{1,300}}+)'"
    rf"|`(?P<code>[^`\n]{{1,300}}+)`|(?P<open>\\{{1,3}}[\"'])(?P<escaped>[^\"'\\\n]{{1,300}}+)(?P=open))"
)
_WORD = r"[^\s\"'`,;(){}\[\]<>\\]"
_BARE = re.compile(rf"{_GAP}(?P<bare>(?![$:]){_WORD}{{{LEAST_CHARS},300}}+)(?![(\[{{])")
_LIST = re.compile(r"\s{0,8}\[(?P<list>[^\[\]{}]{1,2000})\]")
_ITEM = re.compile(rf"\"(?P<double>(?:[^\"\\\n]|\\.){{1,300}}+)\"|(?P<bare>{_WORD}{{{LEAST_CHARS},300}}+)")
_BELOW = re.compile(rf"{_GAP}(?P<block>[|>][+-]?\d?)?{_GAP}\r?\n(?:[^\S\n]{{0,40}}\n){{0,2}}")
_ALONE = re.compile(
    rf"[^\S\n]{{0,40}}(?P<item>-[^\S\n]{{1,4}})?(?P<open>[\"'`]{{0,3}})(?P<value>(?![$:]){_WORD}{{1,300}}+)"
    r"(?P=open)[^\S\n]{0,40}(?:\n|$)"
)
_INDENTED = re.compile(r"[^\S\n]{1,40}(?P<value>[^\s][^\n]{0,300}+)(?:\n|$)")

_SCHEME = r"(?:bearer|basic|token|digest|apikey)\s{1,4}"
_HEADER = re.compile(
    rf"authorization(?:{_QUOTE})?\s{{0,4}}(?:[:=]|,(?=\s{{0,8}}{_QUOTE}{_SCHEME}))\s{{0,8}}(?:{_QUOTE})?"
    rf"(?P<value>(?:{_SCHEME})?(?:(?!\$){_WORD}){{8,4000}}+)"
)
_BEARER = re.compile(r"(?<!\w)bearer\s{1,4}(?P<value>[\w.~+/=-]{20,4000}+)")
_ADDRESS = re.compile(
    r"(?<=://)[\w.%+@-]{0,100}:(?P<value>(?!\d{1,5}[?#,])[^\s/\"'`<>{}$\\][^\s/\"'`<>{}\\]{2,200})(?=@(?:[\w\[.-]|/\w))"
)


def find(text: str, seams: Sequence[int]) -> Iterator[Found]:
    """Authorization, passwords in addresses, and values whose name says that they are secret.

    A name at the end of one of the texts that begin at ``seams`` has its value at the beginning of the next.
    """
    low = _lower(text)
    if "authorization" in low:
        for one in _HEADER.finditer(low):
            start, stop = one.span("value")
            if header(text[start:stop]):
                yield Found(start, stop, AUTHORIZATION)
    if "bearer" in low:
        for one in _BEARER.finditer(low):
            start, stop = one.span("value")
            if bearer(text[start:stop]):
                yield Found(one.start(), stop, AUTHORIZATION)
    if "://" in text:
        for one in _ADDRESS.finditer(text):
            if in_address(one["value"]):
                yield Found(*one.span("value"), ADDRESS)
    if any(hint in low for hint in _HINTS):
        for one in _GIVEN.finditer(low):
            kind = "name" if one["name"] else "option"
            start, stop = one.span(kind)
            front = _FRONT.search(text, max(0, start - FRONT), start)
            if front is not None and not front["arn"]:
                yield from _values(text, seams, text[front.start() : stop], one.end(), kind == "name")


def _lower(text: str) -> str:
    """In lower case, each character at its place: of all characters this one alone becomes two."""
    return text.replace("\u0130", "I").lower()


def _values(text: str, seams: Sequence[int], name: str, at: int, lists: bool) -> Iterator[Found]:
    """What is secret of the values given to a name that ends at ``at``; with ``lists`` also of several ones."""
    one = _QUOTED.match(text, at)
    if one is not None:
        group = next(group for group in ("double", "single", "code", "escaped") if one[group])
        if secret(name, one[group], quoted=True):
            yield Found(*one.span(group), VALUE)
        return
    one = _BARE.match(text, at)
    if one is not None:
        if secret(name, one["bare"]):
            yield Found(*one.span("bare"), VALUE)
        return
    if not lists:
        return
    one = _LIST.match(text, at)
    if one is not None:
        for item in _ITEM.finditer(text, *one.span("list")):
            group = "double" if item["double"] else "bare"
            if secret(name, item[group], quoted=group == "double"):
                yield Found(*item.span(group), VALUE)
        return
    one = _BELOW.match(text, at)
    if one is None:
        return
    below = one.end()
    seam = bisect_right(seams, at)
    if seam < len(seams) and seams[seam] <= below:
        yield from _values(text, (), name, below, False)
    else:
        yield from (_block if one["block"] else _lines)(text, name, below)


def _block(text: str, name: str, at: int) -> Iterator[Found]:
    """A text of several indented lines."""
    lines: list[re.Match[str]] = []
    while len(lines) < MOST_LINES and (line := _INDENTED.match(text, at)) is not None and line.end() > at:
        lines.append(line)
        at = line.end()
    # A value that was wrapped has no blanks, one of several words has them.
    wrapped = all(len(line["value"].split()) == 1 for line in lines)
    words = ("" if wrapped else " ").join(line["value"].strip() for line in lines)
    if lines and secret(name, words, quoted=True):
        yield Found(lines[0].start("value"), lines[-1].end("value"), VALUE)


def _lines(text: str, name: str, at: int) -> Iterator[Found]:
    """One value on a line of its own, or the items of a list."""
    for number in range(MOST_LINES):
        line = _ALONE.match(text, at)
        if line is None or (number and not line["item"]):
            return
        if secret(name, line["value"]) and not line["value"].endswith(":"):
            yield Found(*line.span("value"), VALUE)
        if not line["item"]:
            return
        at = line.end()
