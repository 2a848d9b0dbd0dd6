"""What a rule is, what it finds and what it proposes; a profile is a list of rules plus an API's numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias

from ..conversation.edits import Rewrite, Spot
from ..conversation.items import Block, Item, blocks_of
from ..conversation.request import Message


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule: item index in the view, shown block or None, what is wrong in words, ids concerned.

    ``repairable`` is false where no rule may mend it without losing something, or without guessing.
    """

    rule: str
    index: int
    block: int | None
    message: str
    ids: tuple[str, ...] = ()
    repairable: bool = True


@dataclass(frozen=True, slots=True)
class Place:
    """Put a message behind the view's item ``after_index`` (-1: before the first).

    The interpreter gives it its serial. Several places behind one item stand in the order of the edits.
    """

    after_index: int
    message: Message
    origin: str


Mend: TypeAlias = Rewrite | Place


class Shown(Protocol):
    """What a rule may see of a view."""

    @property
    def items(self) -> Sequence[Item]: ...

    def spot(self, index: int, block: int) -> Spot:
        """The stable name of a shown block."""


class Rule(Protocol):
    """One rule of an API. ``state`` is the rule's own value: it resumes at ``items[start]`` after an append.

    A state never refers to items behind the scan that returned it in a way that a later, different
    continuation could see: resuming twice from the same state with other items gives what a scan from the
    beginning gives.
    """

    @property
    def name(self) -> str: ...

    @property
    def local(self) -> bool:
        """Whether what a text says decides, message by message, and not only which blocks stand where."""

    @property
    def marks(self) -> bool:
        """Whether cache marks decide: a host may move them without changing a message."""

    def scan(self, items: Sequence[Item], start: int, state: Any) -> tuple[list[Violation], Any]:
        """Violations in ``items[start:]`` and the state behind them; ``state`` is None at ``start`` 0."""

    def close(self, items: Sequence[Item], state: Any) -> list[Violation]:
        """Violations that exist because the list ends here and is about to be sent."""

    def cuts(self, items: Sequence[Item]) -> bytearray:
        """For each of the len + 1 gaps 1 if a change may begin or end there, else 0."""

    def repair(self, violation: Violation, view: Shown) -> tuple[Mend, ...] | None:
        """Edits that mend it, or None: not mine to mend."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Numbers of one API (API-FACTS §4, rules 15, 17 and 20).

    ``max_images`` a request; ``max_side`` pixels of an image's longer side, ``max_side_many`` when there are
    more than ``many_images``; ``max_bytes`` of the body; ``max_messages``; ``max_marks`` cache breakpoints,
    of which ``marks_elsewhere`` stand in system and tools.
    """

    max_images: int = 600
    many_images: int = 20
    max_side: int = 8000
    max_side_many: int = 2000
    max_bytes: int = 32 * 1024 * 1024
    max_messages: int = 100_000
    max_marks: int = 4
    marks_elsewhere: int = 0


@dataclass(frozen=True, slots=True)
class Profile:
    """The validity rules of one API and model family, in the order in which they repair.

    ``thinking`` is the model class of ARCHITECTURE §6: ``manual``, ``bound`` or ``free``.
    """

    name: str
    rules: tuple[Rule, ...]
    limits: Limits
    thinking: str
    prefill: bool
    system_messages: bool


@dataclass(frozen=True, slots=True)
class Report:
    """What a check found, and the states from which the next check goes on after an append."""

    violations: tuple[Violation, ...]
    states: tuple[Any, ...]

    @property
    def valid(self) -> bool:
        return not self.violations


class PlainRule:
    """The parts most rules share: nothing about the end, every gap is a legal cut, nothing to mend."""

    __slots__ = ()

    local: ClassVar[bool] = False
    marks: ClassVar[bool] = False

    def close(self, items: Sequence[Item], state: Any) -> list[Violation]:
        return []

    def cuts(self, items: Sequence[Item]) -> bytearray:
        return bytearray(b"\x01") * (len(items) + 1)

    def repair(self, violation: Violation, view: Shown) -> tuple[Mend, ...] | None:
        return None


def is_blank(text: object) -> bool:
    """Whether a text is empty or white space only, which the API refuses."""
    return isinstance(text, str) and (not text or text.isspace())


def leading_system(items: Sequence[Item]) -> int:
    """Number of system items before all others: they go into the request's system, not its messages."""
    count = 0
    for item in items:
        if item.role != "system":
            break
        count += 1
    return count


def run_around(items: Sequence[Item], index: int) -> tuple[int, int]:
    """First and last index of the run of one role around ``index``; system items do not end a run."""
    assistant = items[index].role == "assistant"
    first = last = index
    position = index - 1
    while position >= 0 and (
        items[position].role == "system" or (items[position].role == "assistant") == assistant
    ):
        if items[position].role != "system":
            first = position
        position -= 1
    position = index + 1
    while position < len(items) and (
        items[position].role == "system" or (items[position].role == "assistant") == assistant
    ):
        if items[position].role != "system":
            last = position
        position += 1
    return first, last


def nth_block(item: Item, kind: str, number: int) -> int:
    """Index of the shown block that is the ``number``-th (from 0) of its kind."""
    for index, block in enumerate(blocks_of(item.message)):
        if block.get("type") == kind:
            if not number:
                return index
            number -= 1
    raise LookupError(f"message {item.serial} has no such {kind} block")


def blocks_between(items: Sequence[Item], first: int, last: int) -> Iterator[tuple[int, int, Block]]:
    """Item index, block index and block of all shown blocks of ``items[first:last + 1]``, system items left
    out.
    """
    for index in range(first, last + 1):
        item = items[index]
        if item.role != "system":
            for number, block in enumerate(blocks_of(item.message)):
                yield index, number, block


def user_text(text: str) -> Mapping[str, Any]:
    """A user message of one text."""
    return {"role": "user", "content": [{"type": "text", "text": text}]}
