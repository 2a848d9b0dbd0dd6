"""The tree of a text: scalars as they stand there, collections with their comments and line breaks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias


class Unwritable(ValueError):
    """A text that is YAML, but laid out in a way that cannot be printed again.

    ``line`` and ``column`` count from 1; ``hint`` says how to write it instead.
    """

    def __init__(self, message: str, line: int, column: int, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.hint = hint


@dataclass(slots=True)
class Leaf:
    """A scalar: ``source`` with its quotes and lines, ``text`` what it says."""

    source: str
    text: str


@dataclass(slots=True)
class Entry:
    """A value of a collection, and its key in a mapping, with the comments that belong to it.

    ``leading`` are comment lines in front of it (an empty text is a blank line), ``comment`` stands behind the
    key's colon where the value begins below, ``trailing`` behind the value (with the spaces before it), ``tail``
    are comment lines below it that are indented deeper, each with its column. ``breaks``: it begins on a new
    line, at ``column`` (in flow style; in block style it always does); ``below``: its value does.
    """

    value: Value
    key: Leaf | None = None
    leading: list[str] = field(default_factory=list)
    comment: str = ""
    trailing: str = ""
    tail: list[tuple[int, str]] = field(default_factory=list)
    column: int = 0
    breaks: bool = False
    below: bool = False

    @property
    def name(self) -> str:
        """What the key says."""
        return self.key.text if self.key is not None else ""


@dataclass(slots=True)
class Collection:
    """A mapping or a list at ``column``; ``footer`` are the comments behind its last entry.

    ``bare``: a pair in a flow list without braces of its own. ``closes``: the column of a closing bracket that
    stands on a line of its own, else -1.
    """

    is_map: bool
    flow: bool
    column: int
    entries: list[Entry] = field(default_factory=list)
    footer: list[str] = field(default_factory=list)
    bare: bool = False
    closes: int = -1

    def entry(self, key: str) -> Entry | None:
        """The entry with this key."""
        return next((each for each in self.entries if self.is_map and each.name == key), None)

    def inner(self, key: str) -> Collection | None:
        """The collection at this key, if one stands there."""
        found = self.entry(key)
        return found.value if found is not None and isinstance(found.value, Collection) else None


Value: TypeAlias = Leaf | Collection


@dataclass(slots=True)
class Written:
    """A whole text: the lines above the first key (directives and `---` among them), the value, those below it."""

    root: Value
    header: list[str]
    footer: list[str]

    def stages(self) -> Iterator[Collection]:
        """Every stage, also those inside `first_of` and in its `defaults`."""
        yield from _stages(self.root)


def _stages(value: Value) -> Iterator[Collection]:
    found = value.inner("stages") if isinstance(value, Collection) else None
    for entry in found.entries if found else ():
        if isinstance(entry.value, Collection) and entry.value.is_map:
            yield entry.value
            defaults = entry.value.inner("defaults")
            if defaults is not None:
                yield defaults
            yield from _stages(entry.value)


def every_entry(value: Value) -> Iterator[Entry]:
    """The entries of a collection, and those of the collections in it."""
    if isinstance(value, Collection):
        for entry in value.entries:
            yield entry
            yield from every_entry(entry.value)
