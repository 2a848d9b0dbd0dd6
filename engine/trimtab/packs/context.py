"""What the findings of `check` look at: the resolved pack, its stages, and the meaning of every value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..policy.expressions import ExpressionError, Quantity, quantity
from ..policy.stage import DEFAULT_EVENTS
from ..templating import Renderer, Text
from .catalogue import CATALOGUE
from .merge import stages_of
from .nodes import Where
from .problems import ERROR, Edit, Position, Problem, problem_at
from .shapes import Occurrence
from .sources import Resolved

TEMPLATE_CODES: Mapping[str, str] = {"missing": "template-missing", "outside": "template-outside"}
"""Codes of problems by what the renderer calls them; all others are `template-syntax`."""
OF_TEMPLATES = frozenset({"template-missing", "template-syntax", "template-variable"})
"""Problems of texts: the rest of the pack can still be judged."""
_EXPRESSIONS = "expressions have numbers, names, + - * /, ( ), min max clamp floor ceil, and `A if C else B`"


@dataclass(frozen=True, slots=True)
class StageView:
    """One stage: its place, its keys (defaults included), its kind, and the stage it is a child of."""

    where: Where
    data: Mapping[str, Any]
    kind: str
    id: str
    parent: StageView | None = None

    @property
    def home(self) -> StageView:
        """The stage whose events and conditions come first: the `first_of` of a child, else itself."""
        return self.parent or self

    @property
    def at(self) -> Any:
        """Its events: a list, or a mapping of each to its condition."""
        return self.home.data.get("at", list(DEFAULT_EVENTS))


@dataclass
class Context:
    """A pack under examination. Findings read it and call ``report``; equal ones are told once.

    ``broken`` are the places where the shape is wrong, ``faults`` those of all errors but those of texts,
    each with the key it may have been meant to be (see :mod:`.mended`). ``sound`` is the pack as it may have
    been meant, if that can be told of the whole of it.
    """

    resolved: Resolved
    data: Mapping[str, Any]
    occurrences: list[Occurrence]
    problems: list[Problem] = field(default_factory=list)
    broken: tuple[Where, ...] = ()
    faults: dict[Where, str | None] = field(default_factory=dict)
    sound: Context | None = None

    def __post_init__(self) -> None:
        self._told: set[tuple[str, str, int, int]] = set()
        self._inline: dict[tuple[str, int, int], Text] = {}
        self.problems = [each for each in self.problems if self._is_new(each)]

    def _is_new(self, problem: Problem) -> bool:
        mark = (problem.code, problem.file, problem.line, problem.column)
        if problem.line and mark in self._told:
            return False
        self._told.add(mark)
        return True

    def report(
        self,
        code: str,
        message: str,
        where: Where | Position,
        hint: str | None = None,
        *,
        on_key: bool = False,
        offset: int | None = None,
        width: int = 1,
        severity: str | None = None,
        source: str | None = None,
        blame: Where | None = None,
        instead: str | None = None,
        edits: tuple[Edit, ...] = (),
    ) -> None:
        """Add a problem at ``where`` (``on_key``: at its key; ``offset``: characters into its text).

        ``severity`` is that of the code if not given; ``blame`` says which value is at fault where ``where``
        is a position; ``instead`` is the key that may have been meant; ``edits``
        mend the problem otherwise.
        """
        severity = severity or CATALOGUE[code].severity
        pos = where if isinstance(where, Position) else self.resolved.where(where, on_key)
        if offset is not None:
            pos = pos.at(offset, width)
        line = self.resolved.source(pos) if source is None else source
        if severity == ERROR and code not in OF_TEMPLATES:
            self.faults[blame or (() if isinstance(where, Position) else where)] = instead
        edits = edits or _corrected(pos, where, instead)
        problem = problem_at(pos, code, message, hint or None, line, severity, edits)
        if self._is_new(problem):
            self.problems.append(problem)

    def adopt(self, problems: Iterable[Problem]) -> None:
        """Take over what was found in another reading of the same pack."""
        self.problems += [each for each in problems if self._is_new(each)]

    def is_sound(self, where: Where) -> bool:
        """Whether the shape of the value at ``where`` is right, all the way down."""
        return all(each[: len(where)] != where for each in self.broken)

    def of(self, *roles: str) -> Iterator[Occurrence]:
        """Every value with one of these meanings."""
        return (each for each in self.occurrences if each.role in roles)

    def section(self, name: str) -> Mapping[str, Any]:
        """A mapping of the top level, or an empty one."""
        found = self.data.get(name)
        return found if isinstance(found, Mapping) else {}

    @cached_property
    def stages(self) -> list[StageView]:
        """All stages whose id and kind are usable, children behind their parents."""
        found: dict[Where, StageView] = {}
        for where, node, _ in stages_of(self.resolved.effective):
            data = node.plain()
            if (
                isinstance(data, Mapping)
                and isinstance(data.get("id"), str)
                and isinstance(data.get("kind"), str)
            ):
                found[where] = StageView(where, data, data["kind"], data["id"], found.get(where[:2]))
        return list(found.values())

    @cached_property
    def stage_ids(self) -> dict[str, StageView]:
        return {stage.id: stage for stage in self.stages}

    def stage_at(self, where: Where) -> StageView | None:
        """The stage a value belongs to."""
        return self._stages_by_place.get(where[:4]) or self._stages_by_place.get(where[:2])

    @cached_property
    def _stages_by_place(self) -> dict[Where, StageView]:
        return {stage.where: stage for stage in self.stages}

    @cached_property
    def children(self) -> Mapping[Where, list[StageView]]:
        """The children of each stage that has some, by its place."""
        found: dict[Where, list[StageView]] = {}
        for stage in self.stages:
            if stage.parent is not None:
                found.setdefault(stage.parent.where, []).append(stage)
        return found

    @cached_property
    def quantities(self) -> dict[Where, Quantity]:
        """Every quantity that can be read; the others are reported."""
        found = {}
        for each in self.of("quantity", "size-quantity"):
            try:
                found[each.where] = quantity(each.value)
            except ExpressionError as error:
                self.report(
                    "expression", error.message, each.where, error.hint or _EXPRESSIONS, offset=error.offset
                )
        return found

    @cached_property
    def limits(self) -> dict[str, Quantity]:
        return {
            str(where[1]): each
            for where, each in self.quantities.items()
            if where[0] == "limits" and len(where) == 2
        }

    @cached_property
    def renderer(self) -> Renderer:
        """Compiles the pack's templates, each file once."""
        return Renderer(self.resolved.folders)

    def inline(self, where: Where, source: str) -> Text:
        """The inline template at ``where``, compiled once. Raises TemplateProblem (line in the file)."""
        pos = self.resolved.where(where)
        key = (pos.file, pos.line, pos.column)
        if key not in self._inline:
            self._inline[key] = self.renderer.text(source, pos.file, self.lines_before(where))
        return self._inline[key]

    def lines_before(self, where: Where) -> int:
        """The lines of the file before the text at ``where`` begins."""
        pos = self.resolved.where(where)
        return pos.line if pos.block else pos.line - 1

    @cached_property
    def settings(self) -> dict[str, bool | float | str]:
        """Declared settings; `unlimited` is a number."""
        return {
            name: setting_value(value)
            for name, value in self.section("settings").items()
            if isinstance(value, bool | int | float | str)
        }


def _corrected(pos: Position, where: Where | Position, instead: str | None) -> tuple[Edit, ...]:
    """The edit that puts another key at a place, where the key stands there as it is."""
    if instead is None or isinstance(where, Position) or len(str(where[-1])) != pos.width - 2 * pos.lead:
        return ()
    return (Edit(pos.file, pos.line, pos.column + pos.lead, len(str(where[-1])), instead),)


def setting_value(value: bool | float | str) -> bool | float | str:
    """A setting as the engine has it: the text `unlimited` is the number."""
    return float("inf") if value == "unlimited" else value


def type_name(value: object) -> str:
    """What a setting's value is, in words."""
    return "a boolean" if isinstance(value, bool) else "a text" if isinstance(value, str) else "a number"
