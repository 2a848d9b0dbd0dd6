"""What a kind proposes: edits in terms of the view it saw; the interpreter names and checks them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..conversation.edits import Rewrite, Spot
from ..conversation.request import Message, Usage
from ..validity.base import Place


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
class ModelCall:
    """One call of a writing model, as the receipt shows it. ``problem`` is a reason of LANGUAGE §9 or None."""

    model: str
    purpose: str
    usage: Usage | None = None
    assumed: bool = False
    problem: str | None = None
    rung: int = 0


@dataclass(frozen=True, slots=True)
class Proposal:
    """The outcome of a kind's work on one scene.

    ``edits`` over the scene's view; ``directives`` are request fields; ``notices`` for the host. A proposal with none
    of these did nothing, and ``reason`` says why. ``items`` counts blocks or messages touched. ``stored`` names, per
    spot, the store file with the original. ``failure`` is a reason of LANGUAGE §9: the stage has failed.
    ``refused`` says that a text was had and not accepted. ``remarks`` go to the receipt as they are.
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


NOTHING = Proposal()
