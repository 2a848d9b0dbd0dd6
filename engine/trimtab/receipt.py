"""The account of one run: for each stage what held, what was touched, what it cost and what can be had back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from .conversation.edits import Spot
from .policy.proposal import ModelCall, Notice


@dataclass(frozen=True, slots=True)
class Change:
    """A quantity before and after a stage."""

    before: int
    after: int


@dataclass(frozen=True, slots=True)
class StageReport:
    """What became of one stage.

    ``verdict`` is one of ``committed done skipped nothing refused failed``. ``conditions`` are the conditions looked
    at, each with its value and limit. ``spots`` are the blocks touched, ``messages`` the messages taken out or
    brought in. ``first_changed`` is the index of the first message that differs from the last sent view,
    ``cache_loss_tokens`` what a warm cache loses behind it, ``thinking_loss`` the signed blocks that had to go.
    ``restorable`` says how the originals can be had back: ``transcript``, ``stored`` or None (nothing was lost).
    """

    id: str
    kind: str
    verdict: str
    reason: str | None = None
    conditions: tuple[Any, ...] = ()
    commit: str | None = None
    items: int = 0
    spots: tuple[Spot, ...] = ()
    messages: tuple[int, ...] = ()
    brought: tuple[int, ...] = ()
    tokens: Change | None = None
    bytes: Change | None = None
    first_changed: int | None = None
    cache_loss_tokens: int = 0
    thinking_loss: int = 0
    restorable: str | None = None
    calls: tuple[ModelCall, ...] = ()
    assumed: bool = False
    remarks: Mapping[str, Any] = field(default_factory=dict)
    children: tuple[StageReport, ...] = ()


@dataclass(frozen=True, slots=True)
class Dropped:
    """An edit of a commit that had no effect in this run, and why."""

    commit: str
    stage: str
    why: str


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something about the request or the journal that a person should know; ``where`` names a message or a stage."""

    code: str
    message: str
    where: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class RunHeader:
    """What ran: pack, event, model, time, and how the transcript continued the last one."""

    n: int
    event: str
    pack: str
    model: str
    at: str | None
    engine: str
    counter: str
    transcript: str
    messages: int
    new_messages: int
    dry: bool = False


@dataclass(frozen=True, slots=True)
class Totals:
    """The whole run: tokens and bytes of the request before and after, messages shown, what changed first.

    ``beyond_estimate``: of the tokens before and after, those a reported usage holds beyond what can be counted
    in the request: system and tools that a session file does not have, above all.
    """

    tokens: Change
    bytes: Change
    messages: Change
    overhead_tokens: int
    beyond_estimate: Change
    measured: bool
    factor: float
    first_changed: int | None
    cache_loss_tokens: int
    thinking_loss: int
    commits: int


@dataclass(frozen=True, slots=True)
class Receipt:
    """Why the request looks as it does. ``as_dict`` is its JSON, as ``receipt.schema.json`` describes it.

    ``jobs`` are the background jobs that ended since the last run: taken over (``done``), void (``refused``) or
    ``failed``.
    """

    run: RunHeader
    limits: Mapping[str, float | None]
    settings: Mapping[str, Any]
    stages: tuple[StageReport, ...]
    totals: Totals
    notices: tuple[Notice, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    problems: tuple[Trouble, ...] = ()
    send: bool = True
    jobs: tuple[StageReport, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain data: fields that are empty are left out, numbers above every number are "unlimited"."""
        return {"receipt": 1, **_plain_object(self)}

    def stage(self, name: str) -> StageReport | None:
        """The report of a stage, also of a child of ``first_of``."""
        for report in self.stages:
            for one in (report, *report.children):
                if one.id == name:
                    return one
        return None


REQUIRED = frozenset(
    {"run", "limits", "stages", "totals", "send", "verdict", "id", "kind", "before", "after"}
)


def plain(value: Any) -> Any:
    """JSON data of any value a receipt holds."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float):
        if isinstance(value, float):
            if value == math.inf:
                return "unlimited"
            if math.isnan(value):
                return None
            if value.is_integer():
                return int(value)
            return round(value, 6)
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return _plain_object(value)
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(inner) for inner in (sorted(value) if isinstance(value, set | frozenset) else value)]
    return str(value)


def _plain_object(value: Any) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for one in fields(value):
        inner = getattr(value, one.name)
        if one.name not in REQUIRED and _empty(inner):
            continue
        out[one.name] = plain(inner)
    return out


def _empty(value: Any) -> bool:
    """Whether a field says nothing. Zero and false do say something."""
    return value is None or (isinstance(value, tuple | list | Mapping | str) and not value)
