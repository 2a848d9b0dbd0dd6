"""What a summary was made from, to hold its paths, quotes and values against."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice

from ..conversation.items import Block
from ..facts import paths_in
from ..policy.contents import strings, texts
from ..policy.scene import Scene
from ._headings import section

_QUOTED = re.compile(
    r"\"((?:[^\"\\\n]|\\.){1,2000})\"|“([^”\n]{1,2000})”|„([^“”\n]{1,2000})[“”]|«([^»\n]{1,2000})»|「([^」\n]{1,2000})」"
)
_USER = re.compile(r"\busers?\b|\bhuman\b", re.IGNORECASE)
_LEFT_OUT = re.compile(r"\.{3}|…|\[[^\[\]\n]{0,80}\]|\([^()\n]{0,80}\)|\\[nt\"']")
"""What stands for a part of a quote that was left out, or put in; the words around it are looked for one by one."""
_WORD = re.compile(r"\w+")
LEAST_WORDS = 3
"""Shorter quotes are names of things as often as words of somebody."""
LOOKED_UP = 2_000
"""Different paths, quotes or values of one text that are looked up, each in all of the source; a summary has tens."""
_EXACT = re.compile(
    r"(?<![\w.-])(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|(?=[0-9a-f]{0,39}[0-9])(?=[0-9a-f]{0,39}[a-f])[0-9a-f]{7,64}|\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?"
    r"|v?\d{1,4}\.\d{1,6}\.\d{1,6}|(?=\w{0,70}\d)[A-Za-z]{1,8}_[A-Za-z0-9]{10,60}|\d{4,20})(?![\w-]|\.\d)"
)


def source_of(scene: Scene, blocks: Iterable[Block], more: Iterable[str]) -> Source:
    """The words of these blocks, of the system prompt, the tools and the memory files, and ``more`` texts."""

    def found() -> Iterator[str]:
        for part in (scene.request.system, scene.request.tools):
            yield from (text for _, text in strings(part))
        for name in ("memory", "nested_memory", "transcript_path"):
            yield from (text for _, text in strings(scene.facts.records(name)))
        for block in blocks:
            yield from texts(block)
        yield from more

    return Source(found())


class Source:
    """Texts in order; looked through only when something is asked."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = texts

    @cached_property
    def _all(self) -> str:
        return "\n".join(self._texts)

    @cached_property
    def _words(self) -> str:
        return _words(self._all)

    @cached_property
    def _slashed(self) -> str:
        return self._all.replace("\\", "/")

    @cached_property
    def _paths(self) -> frozenset[str]:
        return frozenset(map(_plain, paths_in(self._all)))

    @cached_property
    def _values(self) -> frozenset[str]:
        return frozenset(exact_values(self._all))

    def has_path(self, path: str) -> bool:
        """Whether the path stands there, or one that it ends with or that ends with it."""
        own = _plain(path)
        parts = own.split("/")
        # All of the texts are gone through only for what is not there as itself.
        return (
            any("/".join(parts[at:]) in self._paths for at in range(len(parts)))
            or path in self._all
            or f"/{own}" in self._slashed
        )

    def has_quote(self, quote: str) -> bool:
        """Whether its words stand there in a row, in any case and punctuation; around ``…`` piece by piece."""
        pieces = [_words(piece) for piece in _LEFT_OUT.split(quote)]
        return all(piece in self._words for piece in pieces if piece)

    def has_value(self, value: str) -> bool:
        """Whether the value stands there, as itself or within a longer one (a short hash)."""
        return value in self._values or value in self._all


def _plain(path: str) -> str:
    return path.replace("\\", "/").removeprefix("./").removeprefix("~/").strip("/")


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def invented_paths(text: str, source: Source) -> Iterator[str]:
    """The paths of a text that its source lacks, each once, among the first ``LOOKED_UP``."""
    found = dict.fromkeys(paths_in(text))
    return (path for path in islice(found, LOOKED_UP) if not source.has_path(path))


def invented_quotes(
    text: str, source: Source, sections: Sequence[str], known: Sequence[str]
) -> Iterator[str]:
    """The quotes attributed to a user that no message holds, each once, among the first ``LOOKED_UP``.

    Those are the texts in quotation marks inside of ``sections`` (headings; ``known`` are all headings), and on
    other lines those behind the word *user*.
    """
    found = dict.fromkeys(_attributed(text, sections, known))
    long = (quote for quote in found if len(_WORD.findall(quote)) >= LEAST_WORDS)
    return (quote for quote in islice(long, LOOKED_UP) if not source.has_quote(quote))


def _attributed(text: str, sections: Sequence[str], known: Sequence[str]) -> Iterator[str]:
    for title in sections:
        body = section(text, title, known)
        if body is not None:
            _, start, end = body
            for line in text[start:end].splitlines():
                yield from _quotes(line, 0)
            text = f"{text[:start]}\n{text[end:]}"
    for line in text.splitlines():
        said = _USER.search(line)
        if said is not None:
            yield from _quotes(line, said.end())


def _quotes(line: str, start: int) -> Iterator[str]:
    for found in _QUOTED.finditer(line, start):
        yield next(group for group in found.groups() if group is not None)


def missing_values(text: str, source: Source) -> list[str]:
    """The exact values of a text that its source lacks, each once, among the first ``LOOKED_UP``."""
    return [value for value in exact_values(text)[:LOOKED_UP] if not source.has_value(value)]


def exact_values(text: str) -> list[str]:
    """Ids, hashes, addresses, versions and long numbers of a text, each once, in order."""
    return list(dict.fromkeys(found[0] for found in _EXACT.finditer(text)))
