"""What a kind proposes: edits in terms of the view it saw; the interpreter names and checks them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from ..conversation.edits import Rewrite, Spot
from ..conversation.request import Message, Usage
from ..validity.base import Place

if TYPE_CHECKING:
    from ..effects import Core
    from .scene import Scene


@dataclass(frozen=True, slots=True)
class Draft:
    """A message that has no serial yet, with its origin (LANGUAGE §8)."""

    message: Message
    origin: str


@dataclass(frozen=True, slots=True)
class Cover:
    """Stand ``drafts`` in the place of the view items ``[start, stop)``."""

    start: int
    stop: int
    drafts: tuple[Draft, ...] = ()


ViewEdit: TypeAlias = Rewrite | Cover | Place


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the host is told: ``info``, ``warning`` or ``block`` (do not send)."""

    level: str
    text: str
    stage: str


@dataclass(frozen=True, slots=True)
class Check:
    """One thing the gate looked at in an answer: its name in words, whether it holds, and else why not."""

    name: str
    holds: bool
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call of a writing model, as the receipt shows it; a repeat is a call of its own.

    ``problem`` is a reason of LANGUAGE §9 or None, ``message`` the same in words, ``cost`` in US dollars where
    the prices are known, ``paused`` the seconds waited behind a failure before the next try. ``checks`` are what
    the gate looked at in the answer.
    """

    model: str
    purpose: str
    usage: Usage | None = None
    assumed: bool = False
    problem: str | None = None
    rung: int = 0
    message: str | None = None
    cost: float | None = None
    paused: float | None = None
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True, slots=True)
class NoteText:
    """A note that has been written and stored: ``upto``, ``store`` and ``covers`` as in its journal record.

    ``reads`` are the serials of the transcript's messages it rests on: when one of them has changed, the note
    is void.
    """

    upto: int
    store: str
    text: str
    covers: tuple[int, ...] = ()
    reads: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Later:
    """Work that needs nothing but effects and a scene that stays as it is: ``write`` ends in a proposal of notes.

    ``background``: the host may let it finish after the run.
    """

    write: Callable[[Scene], Core[Proposal]]
    background: bool = False


@dataclass(frozen=True, slots=True)
class Proposal:
    """The outcome of a kind's work on one scene.

    ``edits`` over the scene's view; ``directives`` are request fields; ``notices`` for the host. A proposal with none
    of these did nothing, and ``reason`` says why. ``items`` counts blocks or messages touched. ``stored`` names, per
    spot, the store file with the original. ``failure`` is a reason of LANGUAGE §9: the stage has failed.
    ``refused`` says that a text was had and not accepted. ``remarks`` go to the receipt as they are.
    ``notes`` are texts to be kept under the stage's id, ``later`` is how they come about, where that is not done yet.
    ``apart``: each edit (all are covers) is a commit of its own, so that it can be undone alone.
    """

    edits: tuple[ViewEdit, ...] = ()
    directives: Mapping[str, Any] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()
    items: int = 0
    stored: Mapping[Spot, str] = field(default_factory=dict)
    calls: tuple[ModelCall, ...] = ()
    reason: str | None = None
    failure: str | None = None
    refused: bool = False
    remarks: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[NoteText, ...] = ()
    later: Later | None = None
    apart: bool = False
