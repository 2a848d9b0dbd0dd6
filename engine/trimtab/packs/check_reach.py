"""Findings about conditions: those that never hold together, those no request can meet, those always met."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..policy.expressions import NoValue, Quantity
from .context import Context, StageView
from .nodes import Where
from .schema import metric_names
from .worlds import everywhere, is_fixed, named_worlds, names_in, worlds, worth

LOW, HIGH = ("at_least", "above"), ("at_most", "below")
STRICT = frozenset({"above", "below"})
ONLY_AT = {"error": "overflow", "request": "manual", "requested_by": "manual"}
"""Texts that are known at one event only: at every other one the entry is false."""
FILLING = ("tokens", "message_tokens")
"""Metrics that the model's window bounds."""
COMING = ("before_request", "tool_result", "after_response", "session_start", "idle")
"""Events at which the API has not refused anything yet."""


class Entry(NamedTuple):
    """One entry of a condition and its place."""

    key: str
    value: Any
    where: Where


class Clash(NamedTuple):
    """Why conditions cannot hold together, and where the later of them stands."""

    message: str
    where: Where


def stages_can_run(context: Context) -> None:
    """The conditions of a stage can hold together at one of its events at least."""
    for stage in context.stages:
        home = stage.home
        if stage.data.get("enabled") is False or home.data.get("enabled") is False:
            continue
        at = stage.at
        clashes = {event: _clash(context, _entries(stage, event), event) for event in at}
        found = [each for each in clashes.values() if each is not None]
        if found and len(found) == len(clashes):
            _tell(context, found[0], f"`{stage.id}` never runs")
            continue
        for event, clash in clashes.items():
            # Of a list of events `when` may well be meant for some; a condition of its own is meant for its event.
            if (
                clash is not None
                and isinstance(at, Mapping)
                and clash.where[: len(home.where) + 2]
                == (
                    *home.where,
                    "at",
                    event,
                )
            ):
                _tell(context, clash, f"`{stage.id}` never runs at {event}")


def _tell(context: Context, clash: Clash, effect: str) -> None:
    hint = "remove one of the two, correct it, or put both under `any`"
    context.report("unreachable", f"{effect}: {clash.message}", clash.where, hint)


def _entries(stage: StageView, event: str) -> list[Entry]:
    """What must hold at once for the stage to run at the event."""
    home, at = stage.home, stage.at
    parts: list[tuple[Any, Where]] = [(home.data.get("when"), (*home.where, "when"))]
    if isinstance(at, Mapping):
        parts.append((at[event], (*home.where, "at", event)))
    if stage.parent is not None:
        parts.append((stage.data.get("when"), (*stage.where, "when")))
    return [
        Entry(key, value, (*where, key))
        for condition, where in parts
        if isinstance(condition, Mapping)
        for key, value in condition.items()
    ]


def _clash(context: Context, entries: Sequence[Entry], event: str) -> Clash | None:
    for check in (_bounds, _settings, _words, _none, _any):
        found = check(context, entries, event)
        if found is not None:
            return found
    return None


def _bounds(context: Context, entries: Sequence[Entry], event: str) -> Clash | None:
    """Numbers: a lower bound above an upper one, or one nothing can meet, for every model."""
    numbers = metric_names()["number"]
    for metric in dict.fromkeys(entry.key for entry in entries if entry.key in numbers):
        bounds = [
            (word, (*entry.where, word))
            for entry in entries
            if entry.key == metric and isinstance(entry.value, Mapping)
            for word in entry.value
            if (*entry.where, word) in context.quantities
        ]
        values = {
            where: context.quantities[where]
            for _, where in bounds
            if is_fixed(context, context.quantities[where])
        }
        bounds = [(word, where) for word, where in bounds if where in values]
        for word, where in bounds:
            value = values[where].constant
            if (word in LOW and value == math.inf) or (word == "below" and value == 0):
                return Clash(f"no number is {word.replace('_', ' ')} `{values[where].source}`", where)
        for low, low_at in bounds:
            for high, high_at in bounds:
                if low in LOW and high in HIGH:
                    strict = low in STRICT or high in STRICT
                    if _always_over(context, values[low_at], values[high_at], strict):
                        return Clash(
                            f"`{metric}` cannot be {low.replace('_', ' ')} `{values[low_at].source}`"
                            f" and {high.replace('_', ' ')} `{values[high_at].source}`",
                            max(low_at, high_at, key=lambda each: _line(context, each)),
                        )
    return None


def _always_over(context: Context, low: Quantity, high: Quantity, strict: bool) -> bool:
    if low.source == high.source:
        return strict
    tried = False
    for world in worlds(context):
        try:
            least, most = worth(context, low, world), worth(context, high, world)
        except NoValue:
            continue
        tried = True
        if least < most or (least == most and not strict):
            return False
    return tried


def _line(context: Context, where: Where) -> tuple[int, int]:
    place = context.resolved.where(where)
    return place.line, place.column


def _settings(context: Context, entries: Sequence[Entry], event: str) -> Clash | None:
    """One setting cannot have two values, nor a boolean metric."""
    seen: dict[str, Any] = {}
    booleans = metric_names()["boolean"]
    for entry in entries:
        pairs = [(entry.key, entry.value, entry.where)] if entry.key in booleans else []
        if entry.key == "settings" and isinstance(entry.value, Mapping):
            pairs = [(f"settings.{name}", value, (*entry.where, name)) for name, value in entry.value.items()]
        for name, value, where in pairs:
            if name in seen and seen[name] != value:
                return Clash(f"`{name.removeprefix('settings.')}` cannot have both values", where)
            seen.setdefault(name, value)
    return None


def _words(context: Context, entries: Sequence[Entry], event: str) -> Clash | None:
    """Texts: two lists without a common word, or a text that is not known at the event."""
    from ..matching import Globs

    texts = metric_names()["text"]
    seen: dict[str, Sequence[str]] = {}
    for entry in entries:
        if entry.key not in texts or not isinstance(entry.value, list):
            continue
        home = ONLY_AT.get(entry.key)
        if home is not None and event != home:
            return Clash(f"`{entry.key}` is known only at {home}", entry.where)
        if entry.key == "event" and not Globs(entry.value).match(event):
            return Clash(f"it asks for another event than {event}", entry.where)
        before = seen.setdefault(entry.key, entry.value)
        if before is not entry.value and not any(
            _meet(one, other) for one in before for other in entry.value
        ):
            return Clash(
                f"`{entry.key}` cannot be {' or '.join(entry.value)} and {' or '.join(before)}", entry.where
            )
    return None


def _meet(one: str, other: str) -> bool:
    """Whether a text may fit both globs; of two real globs nobody can tell easily."""
    from ..matching import Globs

    if any(sign in one for sign in "*?"):
        return any(sign in other for sign in "*?") or Globs([one]).match(other)
    return Globs([other]).match(one)


def _none(context: Context, entries: Sequence[Entry], event: str) -> Clash | None:
    """A condition under `none` whose entries must all hold elsewhere."""
    needed = [(entry.key, entry.value) for entry in entries if entry.key not in ("any", "none")]
    for entry in entries:
        for number, each in enumerate(entry.value if entry.key == "none" else ()):
            if isinstance(each, Mapping) and all(pair in needed for pair in each.items()):
                what = "what must hold besides" if each else "a condition that always holds"
                return Clash(f"`none` rules out {what}", (*entry.where, number))
    return None


def _any(context: Context, entries: Sequence[Entry], event: str) -> Clash | None:
    """Alternatives of which none is possible."""
    rest = [entry for entry in entries if entry.key != "any"]
    for entry in entries:
        if entry.key != "any" or not isinstance(entry.value, list) or not entry.value:
            continue
        clashes = []
        for number, each in enumerate(entry.value):
            where = (*entry.where, number)
            inner = [Entry(key, value, (*where, key)) for key, value in each.items()]
            clashes.append(_clash(context, [*rest, *inner], event))
        if all(clash is not None for clash in clashes):
            return Clash(f"none of {len(clashes)} alternatives is possible", entry.where)
    return None


# ------------------------------------------------------------------------------------ single triggers


def triggers_can_be_met(context: Context) -> None:
    """A lower bound on the request lies inside the window, and above nothing."""
    for stage in context.stages:
        if stage.kind == "guard":
            continue
        for where in _triggers(stage):
            quantity = context.quantities.get(where)
            if quantity is None:
                continue
            values = everywhere(context, quantity)
            if values and all(value > world.window and value < math.inf for world, value in values):
                _above(context, stage, quantity, where, "")
            for world in named_worlds(context):
                try:
                    value = worth(context, quantity, world)
                except NoValue:
                    continue
                if world.window < value < math.inf:
                    _above(context, stage, quantity, where, f" of `{world.glob}`")
            if quantity.constant is None and values and all(value == 0 for _, value in values):
                _zero(context, stage, quantity, where)


def _triggers(stage: StageView) -> Iterator[Where]:
    """Lower bounds on tokens that must be met at an event before the API has refused anything."""
    at = stage.at
    parts: list[tuple[Any, Where]] = [(stage.data.get("when"), (*stage.where, "when"))]
    if stage.parent is None and isinstance(at, Mapping):
        parts += [(at[event], (*stage.where, "at", event)) for event in at if event in COMING]
    for condition, where in parts:
        for metric in FILLING:
            for word in LOW:
                if isinstance(condition, Mapping) and word in (condition.get(metric) or {}):
                    yield (*where, metric, word)


def _above(context: Context, stage: StageView, quantity: Quantity, where: Where, whose: str) -> None:
    context.report(
        "trigger-above-window",
        f"the trigger `{quantity.source}` lies above the window{whose}: `{stage.id}` is due too late",
        where,
        "write a share, such as 0.8 * window, or what must remain, window - 20000",
    )


def _zero(context: Context, stage: StageView, quantity: Quantity, where: Where) -> None:
    zeros = [name for name in names_in(context, quantity) if context.settings.get(name) == 0]
    if len(zeros) != 1 or isinstance(context.settings[zeros[0]], bool):
        return
    context.report(
        "always-due",
        f"`{zeros[0]}: 0` makes the trigger `{quantity.source}` of `{stage.id}` 0: it fires on every call",
        ("settings", zeros[0]),
        "give it another value; a stage is switched off with enabled: false",
    )
