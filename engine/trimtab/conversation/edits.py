"""The three edits, and the commit that holds them: the only way a view may differ from its transcript."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

from .request import Message


class Spot(NamedTuple):
    """One block: the serial of its message and its number in the message as it came."""

    serial: int
    block: int


class Mark(Enum):
    """What a rewrite does to a block instead of setting fields."""

    REMOVE = "remove"
    ORIGINAL = "original"


class New(NamedTuple):
    """A message an edit brings in: its serial, the message, its origin (LANGUAGE §8)."""

    serial: int
    message: Message
    origin: str


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Set fields of blocks (a field set to None is deleted), take them out, or drop earlier rewrites."""

    spots: tuple[Spot, ...]
    set: Mapping[str, Any] | Mark


@dataclass(frozen=True, slots=True)
class Splice:
    """Stand ``items`` in the place of exactly this run of path serials."""

    covers: tuple[int, ...]
    items: tuple[New, ...]


@dataclass(frozen=True, slots=True)
class Insert:
    """Put ``items`` behind the message with serial ``after`` (0: before the first)."""

    after: int
    items: tuple[New, ...]


Edit: TypeAlias = Rewrite | Splice | Insert


@dataclass(frozen=True, slots=True)
class Commit:
    """The atom of history.

    ``results`` maps the serial of each shown message the commit changed to its digest (empty in memory sessions);
    ``stored`` names, per spot, the store file that holds the original; ``facts`` keeps the fact records read from
    messages a splice covers.
    """

    id: str
    stage: str
    run: int
    edits: tuple[Edit, ...]
    repairs: tuple[Edit, ...] = ()
    results: Mapping[int, str] = field(default_factory=dict)
    stored: Mapping[Spot, str] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def all_edits(self) -> tuple[Edit, ...]:
        return self.edits + self.repairs
