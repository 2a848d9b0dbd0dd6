"""Conditions: mappings whose entries must all hold; read once, tested cheaply, reported with numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from ..matching import Globs
from .errors import PolicyError, Where
from .expressions import Quantity
from .metrics import METRICS, SceneLike
from .values import Comparisons, ConditionReport, Range, Reference, boolean, comparisons, mapping, names, near

SINCE_UNITS = ("tokens", "messages", "rounds", "turns", "tool_calls", "minutes")

Ranges: TypeAlias = Callable[[str], Range | None]
"""Lowest and highest value a number metric can still take; None: not known, anything."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a condition holds, and its entries as far as they were looked at."""

    holds: bool
    entries: tuple[ConditionReport, ...] = ()


class Entry(Protocol):
    def test(self, scene: SceneLike, full: bool, reports: list[ConditionReport]) -> bool:
        """Test and report; without ``full`` up to the first thing that settles it."""

    def outlook(self, scene: SceneLike, ranges: Ranges) -> tuple[bool, bool]:
        """Whether it can hold, and whether it must, with number metrics anywhere in their ranges."""

    def references(self) -> Iterator[Reference]: ...


MOVING = frozenset(name for name, metric in METRICS.items() if metric.of_view and metric.type == "number")
"""Metrics an edit may change: before it, a limit that rests on one is not known yet."""


def moves(scene: SceneLike, limit: Quantity) -> bool:
    """Whether an edit may change the quantity, directly or through the pack's limits."""
    seen: set[str] = set()
    open_names = list(limit.names)
    while open_names:
        name = open_names.pop()
        if name in MOVING:
            return True
        inner = scene.policy.limits.get(name)
        if inner is not None and name not in seen:
            seen.add(name)
            open_names.extend(inner.names)
    return False


@dataclass(frozen=True, slots=True)
class NumberEntry:
    metric: str
    comparisons: Comparisons

    def test(self, scene: SceneLike, full: bool, reports: list[ConditionReport]) -> bool:
        value = scene.metric(self.metric)
        number = None if value is None or isinstance(value, str) else value
        return self.comparisons.test(self.metric, number, scene.name, full, reports)

    def outlook(self, scene: SceneLike, ranges: Ranges) -> tuple[bool, bool]:
        if METRICS[self.metric].of_view:
            span = ranges(self.metric)
        else:
            value = scene.metric(self.metric)
            if value is None or isinstance(value, str):
                return False, False
            span = (value, value)
        return self.comparisons.outlook(span, scene.name, lambda limit: moves(scene, limit))

    def references(self) -> Iterator[Reference]:
        yield from self.comparisons.references((self.metric,))


@dataclass(frozen=True, slots=True)
class _Plain:
    """An entry that is settled before anything is proposed."""

    def test(self, scene: SceneLike, full: bool, reports: list[ConditionReport]) -> bool:
        raise NotImplementedError

    def outlook(self, scene: SceneLike, ranges: Ranges) -> tuple[bool, bool]:
        holds = self.test(scene, False, [])
        return holds, holds

    def references(self) -> Iterator[Reference]:
        return iter(())


@dataclass(frozen=True, slots=True)
class TextEntry(_Plain):
    metric: str
    globs: Globs

    def test(self, scene: SceneLike, full: bool, reports: list[ConditionReport]) -> bool:
        value = scene.metric(self.metric)
        holds = isinstance(value, str) and self.globs.match(value)
        note = "unknown" if value is None else None
        reports.append(ConditionReport(self.metric, value, self.globs.patterns, holds, note=note))
        return holds


@dataclass(frozen=True, slots=True)
class BooleanEntry(_Plain):
    metric: str
    wanted: bool

    def test(self, scene: SceneLike, full: bool, reports: list[ConditionReport]) -> bool:
        value = scene.metric(self.metric)
        note = "unknown" if value is None else None
        reports.append(ConditionReport(self.metric, value, self.wanted, value is self.wanted, note=note))
        return value is self.wanted

    def outlook(self, scene: SceneLike, ranges: Ranges) -> tuple[bool, bool]:
        if METRICS[self.metric].of_view:
            return True, False
        return _Plain.outlook(self, scene, ranges)


@dataclass(frozen=True, slots=True)
class SettingsEntry(_Plain):
    wanted: tuple[tuple[str, bool | float | str], ...]

    def admits(self, settings: Mapping[str, bool | float | str]) -> bool:
        """Whether it holds under these settings."""
        return all(_same(settings.get(name), wanted) for name, wanted in self.wanted)

    def test(self, scene: SceneLike, full: bool, reports: list[ConditionReport]) -> bool:
        holds = True
        for name, wanted in self.wanted:
            value = scene.settings.get(name)
            fits = _same(value, wanted)
            note = "no such setting" if value is None else None
            reports.append(ConditionReport(f"settings {name}", value, wanted, fits, note=note))
            if not fits:
                holds = False
                if not full:
                    break
        return holds

    def references(self) -> Iterator[Reference]:
        for name, wanted in self.wanted:
            yield Reference("setting", ("settings", name), wanted)


def _same(value: bool | float | str | None, wanted: bool | float | str) -> bool:
    """Equal and of one type: a switch is never a number; ``unlimited`` is the number it stands for."""
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    if wanted == "unlimited" and isinstance(value, float):
        return value == float("inf")
    return value == wanted


@dataclass(frozen=True, slots=True)
class CommittedEntry(_Plain):
    stages: tuple[str, ...]

    def test(self, scene: SceneLike, full: bool, reports: list[ConditionReport]) -> bool:
        value = scene.history.committed(self.stages, scene.stage.id)
        reports.append(ConditionReport("committed", value, self.stages, value is not None))
        return value is not None

    def references(self) -> Iterator[Reference]:
        for number, stage in enumerate(self.stages):
            yield Reference("stage", ("committed", number), stage)


@dataclass(frozen=True, slots=True)
class SinceEntry(_Plain):
    stages: tuple[str, ...]
    tools: tuple[str, ...]
    units: tuple[tuple[str, Comparisons], ...]

    def test(self, scene: SceneLike, full: bool, reports: list[ConditionReport]) -> bool:
        holds = True
        for unit, compared in self.units:
            value = scene.history.gained(unit, self.stages, self.tools, scene.stage.id)
            if not compared.test(f"since {unit}", value, scene.name, full, reports):
                holds = False
                if not full:
                    break
        return holds

    def references(self) -> Iterator[Reference]:
        for number, stage in enumerate(self.stages):
            yield Reference("stage", ("since", "stages", number), stage)
        for number, category in enumerate(self.tools):
            yield Reference("category", ("since", "tools", number), category)
        for unit, compared in self.units:
            yield from compared.references(("since", unit))


@dataclass(frozen=True, slots=True)
class GroupEntry:
    """``any`` (one must hold) or ``none`` (not one may)."""

    word: str
    inner: tuple[Condition, ...]

    def test(self, scene: SceneLike, full: bool, reports: list[ConditionReport]) -> bool:
        found = False
        nested: list[ConditionReport] = []
        for number, condition in enumerate(self.inner):
            entries: list[ConditionReport] = []
            holds = condition.check(scene, full, entries)
            nested.append(ConditionReport(str(number), None, None, holds, nested=tuple(entries)))
            if holds:
                found = True
                if not full:
                    break
        holds = found if self.word == "any" else not found
        reports.append(ConditionReport(self.word, None, None, holds, nested=tuple(nested)))
        return holds

    def outlook(self, scene: SceneLike, ranges: Ranges) -> tuple[bool, bool]:
        views = [condition.outlook(scene, ranges) for condition in self.inner]
        can, must = any(can for can, _ in views), any(must for _, must in views)
        return (can, must) if self.word == "any" else (not must, not can)

    def references(self) -> Iterator[Reference]:
        for number, condition in enumerate(self.inner):
            for kind, where, value in condition.references():
                yield Reference(kind, (self.word, number, *where), value)


@dataclass(frozen=True, slots=True)
class Condition:
    """All entries must hold; without entries it always holds."""

    entries: tuple[Entry, ...] = ()

    def test(self, scene: SceneLike, full: bool = False) -> Verdict:
        """The verdict; ``full`` looks at every entry, else the first that fails settles it."""
        reports: list[ConditionReport] = []
        return Verdict(self.check(scene, full, reports), tuple(reports))

    def check(self, scene: SceneLike, full: bool, reports: list[ConditionReport]) -> bool:
        """``test`` into an existing list of reports."""
        holds = True
        for entry in self.entries:
            if not entry.test(scene, full, reports):
                holds = False
                if not full:
                    break
        return holds

    def admits(self, settings: Mapping[str, bool | float | str]) -> bool:
        """Whether its own entry about settings, if it has one, holds under these."""
        return all(entry.admits(settings) for entry in self.entries if isinstance(entry, SettingsEntry))

    def outlook(self, scene: SceneLike, ranges: Ranges) -> tuple[bool, bool]:
        """Whether it can hold, and whether it must, for any numbers within ``ranges``."""
        views = [entry.outlook(scene, ranges) for entry in self.entries]
        return all(can for can, _ in views), all(must for _, must in views)

    def references(self) -> Iterator[Reference]:
        """Every name and quantity in it, with its place inside the raw mapping."""
        for entry in self.entries:
            yield from entry.references()


ALWAYS = Condition()


# ------------------------------------------------------------------------------------------------- reading


def condition(raw: Mapping[str, Any], *, accept: bool = False) -> Condition:
    """Read a condition; ``accept`` admits the metrics of a proposal. Raises :class:`PolicyError`."""
    return _condition(raw, (), accept)


def _condition(raw: object, where: Where, accept: bool) -> Condition:
    given = mapping(raw, where, "a condition is")
    return Condition(tuple(_entry(key, value, (*where, key), accept) for key, value in given.items()))


def _entry(key: str, raw: Any, where: Where, accept: bool) -> Entry:
    special = _SPECIAL.get(key)
    if special is not None:
        return special(raw, where)
    if key in ("any", "none"):
        if not isinstance(raw, list | tuple) or not raw:
            raise PolicyError(
                where, f"`{key}` takes a list of conditions", code="type", hint=f"{key}: [{{…}}, {{…}}]"
            )
        return GroupEntry(key, tuple(_condition(one, (*where, at), accept) for at, one in enumerate(raw)))
    metric = METRICS.get(key)
    if metric is None:
        usable = [name for name, known in METRICS.items() if accept or not known.accept_only]
        raise PolicyError(
            where,
            f"unknown metric `{key}`",
            code="unknown-metric",
            hint=near(key, [*usable, *_SPECIAL, "any", "none"]),
        )
    if metric.accept_only and not accept:
        raise PolicyError(
            where,
            f"`{key}` is only known in `accept`",
            code="unknown-metric",
            hint="there is no proposal to measure yet",
        )
    if metric.type == "number":
        return NumberEntry(key, comparisons(raw, where))
    if metric.type == "boolean":
        return BooleanEntry(key, boolean(raw, where))
    globs = names(raw, where, "globs")
    if metric.values:
        for at, glob in enumerate(globs):
            if not any(Globs([glob]).match(value) for value in metric.values):
                raise PolicyError((*where, at), f"`{key}` is never `{glob}`", hint=near(glob, metric.values))
    return TextEntry(key, Globs(globs))


def _settings(raw: Any, where: Where) -> Entry:
    given = mapping(raw, where, "names and values of settings are")
    if not given:
        raise PolicyError(where, "no setting", hint="write settings: {name: value}")
    for name, value in given.items():
        if not isinstance(value, bool | int | float | str):
            raise PolicyError((*where, name), "true, false, a number or a text is needed here", code="type")
    return SettingsEntry(tuple(given.items()))


def _committed(raw: Any, where: Where) -> Entry:
    return CommittedEntry(names(raw, where, "stage ids"))


def _since(raw: Any, where: Where) -> Entry:
    given = mapping(raw, where, "`since` is")
    stages: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    units = []
    for key, value in given.items():
        place = (*where, key)
        if key == "stages":
            stages = names(value, place, "stage ids")
        elif key == "tools":
            tools = names(value, place, "tool categories")
        elif key in SINCE_UNITS:
            units.append((key, comparisons(value, place)))
        else:
            raise PolicyError(
                place,
                f"unknown key `{key}`",
                code="unknown-key",
                hint=near(key, ("stages", "tools", *SINCE_UNITS)),
            )
    if not units:
        raise PolicyError(where, "nothing is compared", hint=f"add one of {', '.join(SINCE_UNITS)}")
    return SinceEntry(stages, tools, tuple(units))


_SPECIAL: Mapping[str, Callable[[Any, Where], Entry]] = {
    "settings": _settings,
    "committed": _committed,
    "since": _since,
}
