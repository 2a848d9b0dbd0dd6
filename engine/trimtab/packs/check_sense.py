"""Findings about sense: targets against triggers, keys that do not go together, defaults nobody takes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..matching import Globs
from ..policy.expressions import NoValue, Quantity
from .context import Context, StageView
from .nodes import Where
from .problems import WARNING
from .schema import CHILD_KINDS, pack_schema
from .worlds import worlds, worth

REPEATING = ("before_request", "after_response", "tool_result")
"""Events that come again and again by themselves: there a stage without relief would fire on every call."""
UNITS = frozenset({"tokens", "messages", "rounds", "turns"})
STANDING = frozenset({"caller", "model", "settings", "event", "measured"})
"""Entries that don't change from call to call: beside them a single trigger decides alone."""
MARKS = 4
"""Cache marks the API takes in one request."""


class Bound(NamedTuple):
    """A comparison: what it compares, how, with what, and where that stands."""

    unit: str
    word: str
    quantity: Quantity
    where: Where


def targets_lie_below_triggers(context: Context) -> None:
    """A target at or above its trigger, wherever both can be worked out, is one for every model."""
    for stage in context.stages:
        if stage.kind not in ("replace", "drop", "summarize"):
            continue
        triggers = list(_triggers(context, stage))
        for target in _targets(context, stage):
            for trigger in triggers:
                if trigger.unit == target.unit and _never_below(context, target, trigger):
                    place = context.resolved.where(trigger.where)
                    context.report(
                        "target-above-trigger",
                        f"the target `{target.quantity.source}` is not below"
                        f" the trigger `{trigger.quantity.source}` (line {place.line}):"
                        f" `{stage.id}` would fire on every call",
                        target.where,
                        "lower the target, or raise the trigger",
                    )
                    break


def _triggers(context: Context, stage: StageView) -> Iterator[Bound]:
    """Lower bounds that alone make the stage due at an event that comes again by itself."""
    home, at = stage.home, stage.at
    for event in at:
        if event not in REPEATING:
            continue
        parts = [(home.data.get("when", {}), (*home.where, "when"))]
        if isinstance(at, Mapping):
            parts.append((at[event], (*home.where, "at", event)))
        if stage.parent is not None:
            parts.append((stage.data.get("when", {}), (*stage.where, "when")))
        entries = {key for condition, _ in parts for key in condition} - STANDING
        if len(entries) == 1 and entries <= UNITS:
            unit = entries.pop()
            for condition, where in parts:
                for word in ("at_least", "above"):
                    place = (*where, unit, word)
                    if word in condition.get(unit, {}) and place in context.quantities:
                        yield Bound(unit, word, context.quantities[place], place)


def _targets(context: Context, stage: StageView) -> Iterator[Bound]:
    def bound(unit: str, word: str, *path: str | int) -> Iterator[Bound]:
        place = (*stage.where, *path)
        if place in context.quantities:
            yield Bound(unit, word, context.quantities[place], place)

    if stage.data.get("fit", {}).get("per") == "view":
        yield from bound("tokens", "at_most", "fit", "tokens")
    for unit in UNITS & set(stage.data.get("accept", {})):
        for word in ("at_most", "below"):
            yield from bound(unit, word, "accept", unit, word)
    keep = stage.data.get("keep", {})
    single = isinstance(keep, Mapping)
    for number, each in enumerate([keep] if single else keep):
        path: tuple[str | int, ...] = ("keep",) if single else ("keep", number)
        for end in ("oldest", "newest"):
            measure = each.get(end, {})
            # With several units any one of them may end the walk: no single number is the target.
            if len(measure) != 1:
                continue
            unit = next(iter(measure))
            if unit in UNITS:
                yield from bound(unit, "at_most", *path, end, unit)
                for word in ("at_least", "at_most"):
                    yield from bound(unit, "at_most", *path, end, unit, word)


def _never_below(context: Context, target: Bound, trigger: Bound) -> bool:
    """Whether the target leaves the trigger due in every world in which both have a value."""
    tried = False
    for world in worlds(context):
        try:
            low = worth(context, target.quantity, world)
            high = worth(context, trigger.quantity, world)
        except NoValue:
            continue
        if math.isinf(high) or high == 0:
            continue
        tried = True
        strict = target.word == "below" or trigger.word == "above"
        if low < high or (strict and low == high):
            return False
    return tried


def keys_go_together(context: Context) -> None:
    """Keys whose meaning rests on another key of the stage."""
    by_kind = {"attach": _attach, "summarize": _summarize, "replace": _replace, "cache_marks": _cache_marks}
    for stage in context.stages:
        if stage.kind in by_kind:
            by_kind[stage.kind](context, stage)


def _replace(context: Context, stage: StageView) -> None:
    blocks = stage.data["select"].get("blocks", [])
    if "thinking" in blocks:
        place = (*stage.where, "select", "blocks", blocks.index("thinking"))
        context.report("place", "thinking is never replaced", place, "remove it with a `drop` stage")


def _cache_marks(context: Context, stage: StageView) -> None:
    marks = stage.data["marks"]
    if (total := sum(mark.get("count", 1) for mark in marks)) > MARKS:
        place = (*stage.where, "marks")
        context.report(
            "place", f"{total} cache marks; a request has {MARKS} at most", place, "lower a `count`"
        )


def _summarize(context: Context, stage: StageView) -> None:
    data, where = stage.data, stage.where
    if "spans" in data and "compose" in data:
        message = "`compose` does not go with `spans`: each span stands in its own place"
        context.report("place", message, (*where, "compose"), "remove one of them", on_key=True)
    if "fit" in data and "spans" not in data:
        hint = "say how much stays with `keep`"
        context.report("place", "a summary has `fit` only with `spans`", (*where, "fit"), hint, on_key=True)
    if "wait_seconds" in data and "notes" not in data:
        hint = "use `timeout_seconds` for the model's call"
        place = (*where, "wait_seconds")
        context.report("place", "`wait_seconds` is for `notes`", place, hint, on_key=True)
    parts = [part["part"] for part in data.get("compose", ())]
    for part in ("head", "tail", "summary"):
        if parts.count(part) > 1:
            second = len(parts) - 1 - parts[::-1].index(part)
            context.report(
                "place", f"`{part}` stands twice", (*where, "compose", second, "part"), "keep one of them"
            )
    if parts and "summary" not in parts:
        message = "`compose` has no part `summary`: what is written would be lost"
        context.report("place", message, (*where, "compose"), "add {part: summary}", on_key=True)


def _attach(context: Context, stage: StageView) -> None:
    data, where = stage.data, stage.where
    place = data.get("place", "end")
    if place == "each" and "select" not in data:
        context.report(
            "place",
            "`place: each` needs `select`: which messages",
            (*where, "place"),
            "for example select: {origins: [user, tool]}",
        )
    elif place != "each" and "select" in data:
        context.report(
            "place",
            f"`select` goes with `place: each`, not with `{place}`",
            (*where, "select"),
            "remove it, or write place: each",
            on_key=True,
        )
    if place == "system" and list(stage.at) != ["session_start"]:
        message = "`place: system` is possible only at session_start"
        context.report("place", message, (*where, "place"), "write at: [session_start]")
    for number, entry in enumerate(data.get("from", ())):
        if "fact" not in entry:
            for key in ("where", "read", "order", "too_large"):
                if key in entry:
                    context.report(
                        "place",
                        f"`{key}` is for an entry with a fact",
                        (*where, "from", number, key),
                        "name a `fact`, or remove the key",
                        on_key=True,
                    )


def words_of_selectors_can_match(context: Context) -> None:
    """`requested` and `refused` need the event that names messages."""
    for stage in context.stages:
        select = stage.data.get("select")
        for key, event in (("requested", "manual"), ("refused", "overflow")):
            if isinstance(select, Mapping) and select.get(key) is True and event not in stage.at:
                context.report(
                    "events",
                    f"`{key}` matches only at {event}, where `{stage.id}` does not run",
                    (*stage.where, "select", key),
                    f"add {event} to `at`",
                    on_key=True,
                )


def offered_tools_can_be_called(context: Context) -> None:
    """A `tool` has a name of its own, its stage takes what a call names, and a call gets there."""
    names: set[str] = set()
    for stage in context.stages:
        tool = stage.data.get("tool")
        if not isinstance(tool, Mapping):
            continue
        place, name = (*stage.where, "tool"), tool["name"]
        at = stage.at
        manual = at.get("manual", {}) if isinstance(at, Mapping) else {}
        if name in names:
            hint = "give each a name of its own; `at` may take several requests"
            context.report("name", f"the tool `{name}` is offered by two stages", (*place, "name"), hint)
        elif not _goes_by_request(stage.data.get("select")):
            hint = "add requested: true to `select`"
            context.report(
                "place",
                f"a call names messages, and `{stage.id}` selects none of them",
                place,
                hint,
                on_key=True,
            )
        elif "manual" not in at:
            hint = "add manual to `at`"
            context.report(
                "events", f"a call is a manual request, and `{stage.id}` takes none", place, hint, on_key=True
            )
        elif "request" in manual and not Globs(manual["request"]).match(name):
            hint = f"add {name} to the `request` of `at.manual`"
            context.report(
                "events", f"`{stage.id}` takes no manual request called `{name}`", (*place, "name"), hint
            )
        names.add(name)


def _goes_by_request(select: object) -> bool:
    if not isinstance(select, Mapping):
        return False
    return select.get("requested") is True or any(map(_goes_by_request, select.get("any", ())))


def defaults_are_taken(context: Context) -> None:
    definitions = pack_schema()["definitions"]
    for stage in context.stages:
        defaults = stage.data.get("defaults")
        children = [each for each in context.children.get(stage.where, ()) if each.kind in CHILD_KINDS]
        if not isinstance(defaults, Mapping) or not children:
            continue
        for key in defaults:
            place = context.resolved.where((*stage.where, "defaults", key))
            if place.file != context.resolved.root.pos.file:
                continue
            if not any(
                context.resolved.where((*child.where, key)) == place
                for child in children
                if key in child.data
            ):
                able = any(key in definitions[f"child-{child.kind}"]["properties"] for child in children)
                why = "every child sets it itself" if able else "no child's kind has it"
                context.report(
                    "unused-default",
                    f"the default `{key}` is never used: {why}",
                    (*stage.where, "defaults", key),
                    "remove it",
                    on_key=True,
                    severity=WARNING,
                )
