"""A stage, compiled: no YAML is left in it."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from ..effects import Effect
    from .conditions import Condition
    from .expressions import Quantity
    from .maker import Maker
    from .proposal import Proposal
    from .scene import Scene
    from .selection import Fit, Keep, Selector

EVENTS = (
    "session_start",
    "tool_result",
    "before_request",
    "after_response",
    "overflow",
    "manual",
    "idle",
)
"""What a host may raise (LANGUAGE §5)."""

SENDING = frozenset({"before_request", "overflow"})
"""Events after which a request goes to the API."""

DEFAULT_EVENTS = ("before_request", "overflow", "manual")

VERDICTS = ("committed", "done", "skipped", "nothing", "refused", "failed")


@dataclass(frozen=True, slots=True)
class Source:
    """Where in a file something is declared; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


NOWHERE = Source("", 0, 0)


@dataclass(frozen=True, slots=True)
class Breaker:
    """Skip the stage after so many bad outcomes in a row (LANGUAGE §6)."""

    failures: Quantity
    unless: Condition | None = None
    cool_down_minutes: Quantity | None = None


class Kind(Protocol):
    """What a stage kind is: its parameters, and how it proposes.

    ``shrinks``: its edits may never make the view larger. ``picks``: whether the interpreter chooses candidates for
    it by ``select`` before it is asked. ``opaque``: what it leaves of a block shows nothing of the original any more.
    """

    name: ClassVar[str]
    shrinks: ClassVar[bool]
    picks: ClassVar[bool]

    @classmethod
    def build(cls, raw: Mapping[str, Any], make: Maker) -> Kind:
        """From the stage's raw keys, which the schema has accepted."""

    @property
    def opaque(self) -> bool: ...

    def propose(self, scene: Scene) -> Proposal | Generator[Effect, Any, Proposal]:
        """Edits for this scene; a generator where effects are needed."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One declared step. ``params`` is None where this engine lacks the kind: such a stage is always skipped.

    ``keep`` spares what any of its entries spares; ``at`` maps each event to a condition of its own, or None.
    """

    id: str
    kind: str
    params: Kind | None = None
    at: Mapping[str, Condition | None] = field(default_factory=lambda: dict.fromkeys(DEFAULT_EVENTS))
    when: Condition | None = None
    accept: Condition | None = None
    breaker: Breaker | None = None
    on_failure: str = "keep"
    enabled: bool = True
    select: Selector | None = None
    keep: tuple[Keep, ...] = ()
    order: str = "oldest"
    fit: Fit | None = None
    once: bool = False
    cut_at: str = "rounds"
    children: tuple[Stage, ...] = ()
    origin: Source = NOWHERE
    description: str = ""
