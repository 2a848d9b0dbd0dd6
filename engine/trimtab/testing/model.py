"""A case, read: the runs of one session and what is expected of each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..conversation.request import Info, Message, Usage
from ..facts import ApiError, ManualRequest
from ..packs.nodes import Document
from ..packs.pack import Setting
from ..packs.problems import Position
from ..policy.selection import Selector
from ..receipt import StageReport

MODEL = "claude-sonnet-4-5"
"""The model of a case that names none and reads no session file that does: 200,000 tokens, in the built-in table."""

SIGNS: Mapping[str, str] = {"at_least": "≥", "above": ">", "at_most": "≤", "below": "<"}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Bounds by their words (``at_least``), or ``equals`` alone."""

    bounds: tuple[tuple[str, float], ...]

    def holds(self, value: float) -> bool:
        return all(_compare(word, value, bound) for word, bound in self.bounds)


def _compare(word: str, value: float, bound: float) -> bool:
    # Limits are worked out in floating point: 0.9 * 180000 is meant to be 162000.
    close = math.isclose(value, bound, rel_tol=1e-9, abs_tol=1e-9)
    if word == "equals":
        return close
    if word == "at_least":
        return value > bound or close
    if word == "at_most":
        return value < bound or close
    return (value > bound if word == "above" else value < bound) and not close


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a stage should have come to; None: anything."""

    verdict: str | None
    reason: str | None = None
    items: Comparison | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """A place of the view, and what should stand there.

    ``at`` is an index, ``system`` or a selector; ``how`` one of ``matches equals absent count``.
    """

    at: int | str | Selector
    how: str
    value: Any


@dataclass(frozen=True, slots=True)
class Expectation:
    """One thing expected of a run. ``kind`` is a key of ``expect``, ``name`` the stage or limit it is about."""

    kind: str
    at: Position
    value: Any
    name: str = ""

    @property
    def what(self) -> str:
        """Its place in words: ``stages.autocompact``."""
        return f"{self.kind}.{self.name}" if self.name else self.kind


@dataclass(frozen=True, slots=True)
class Step:
    """One run of the session.

    ``upto`` is the number of messages the host has by then, ``system`` and ``tools`` are its request's; None for
    ``model``, ``settings``, ``facts``, ``now``, ``files`` and ``answers``: as before.
    """

    at: Position
    upto: int
    event: str = "before_request"
    system: Any = None
    tools: Any = None
    model: str | None = None
    settings: Mapping[str, Setting] | None = None
    facts: Mapping[str, Any] | None = None
    usage: Usage | None = None
    usage_at: Position | None = None
    now: float | None = None
    request: ManualRequest | None = None
    error: ApiError | str | None = None
    answers: Sequence[Any] | None = None
    files: Mapping[str, str] | None = None
    undo: str | None = None
    undo_at: Position | None = None
    resume: bool = False
    expects: tuple[Expectation, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """One case, its placeholders filled in.

    ``home`` is the test file that was run, ``document`` the one it stands in; ``row`` shows the table entry it was
    made of, where the name does not tell.
    """

    name: str
    at: Position
    document: Document
    home: Path
    messages: Sequence[Message]
    infos: Sequence[Info | None]
    extra: Mapping[str, Any]
    steps: tuple[Step, ...]
    row: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The name, with the table entry where it does not tell which one it is."""
        if not self.row:
            return self.name
        return f"{self.name} [{', '.join(f'{key}={_shown(value)}' for key, value in self.row.items())}]"


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class Impossible(Exception):
    """A step asks for what cannot be done, in words; ``at`` is where it asks."""

    def __init__(self, message: str, at: Position) -> None:
        super().__init__(message)
        self.at = at


@dataclass(frozen=True, slots=True)
class Failure:
    """An expectation that does not hold: where it stands, what was found, and the reports that decided it."""

    what: str
    expected: str
    found: str
    at: Position
    source: str = ""
    reports: tuple[StageReport, ...] = ()
    notes: tuple[str, ...] = ()
