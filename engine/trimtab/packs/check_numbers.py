"""Findings about numbers: of the wrong unit, above the window, longer than what they replace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..policy.evaluation import Negative
from ..policy.expressions import NoValue, Quantity
from ..templating import TemplateProblem
from ..tokens.models import lookup
from .check_reach import LOW
from .context import Context, StageView
from .nodes import Where
from .worlds import everywhere, named_worlds, names_in, worlds, worth

COUNTED = frozenset(
    {
        *(
            "tokens",
            "overhead_tokens",
            "message_tokens",
            "prompt_tokens",
            "freed_tokens",
            "cache_loss_tokens",
        ),
        *("bytes", "freed_bytes", "chars", "lines", "messages", "text_messages", "rounds", "turns", "items"),
        *("tool_calls", "images", "tokens_each", "chars_each", "max_output", "max_tokens", "min_chars"),
    }
)
"""Keys whose numbers count whole things: one between 0 and 1 is a share that was meant otherwise."""
ROOM = 1_000
"""Tokens a writer's window must have left for the prompt."""


def numbers_are_of_their_unit(context: Context) -> None:
    """No share where things are counted, no percentage where a share is meant."""
    for where, quantity in context.quantities.items():
        unit = next((part for part in reversed(where) if part in COUNTED or part == "freed_share"), None)
        if unit is None or where[0] != "stages" or where[-1] not in (*LOW, "at_most", "below", unit):
            continue
        values = [value for _, value in everywhere(context, quantity)]
        if not values:
            continue
        if unit == "freed_share":
            if min(values) > 1:
                message = f"`freed_share` is a share from 0 to 1, and `{quantity.source}` is more"
                context.report("unit", message, where, f"write {min(values) / 100:g}")
        elif max(values) < 1 and min(values) > 0:
            message = f"`{quantity.source}` of `{unit}` is less than one: a share of what?"
            hint = f"write {quantity.source} * window" if "token" in unit else "write a whole number"
            context.report("unit", message, where, hint)


def limits_are_not_negative(context: Context) -> None:
    """No limit comes out below 0 for every model: it would have no value, and what asks for it would never hold."""
    for name, quantity in context.limits.items():
        found = None
        try:
            for world in worlds(context):
                try:
                    worth(context, quantity, world)
                except Negative as problem:
                    found = problem
                else:
                    break
            else:
                if found is not None:
                    context.report(
                        "negative-limit",
                        f"the limit `{name}` has no value for any model: {found}",
                        _to_blame(context, name),
                        "raise it above 0: what asks for it never holds",
                    )
        except NoValue:
            continue  # known only in a run


def _to_blame(context: Context, name: str) -> Where:
    """The limit; where another file says how it is worked out, the setting of this file that it rests on."""
    own = context.resolved.root.pos.file
    if context.resolved.where(("limits", name)).file != own:
        for setting in sorted(names_in(context, context.limits[name]) & set(context.settings)):
            if context.resolved.where(("settings", setting)).file == own:
                return "settings", setting
    return "limits", name


def what_is_kept_fits_the_window(context: Context) -> None:
    """A minimum that is kept leaves something to take, for every model or one the pack names."""
    for stage in context.stages:
        for where, quantity in _kept(context, stage):
            values = everywhere(context, quantity)
            whose = None
            if values and all(value > world.window for world, value in values):
                whose = "the window"
            for world in named_worlds(context):
                try:
                    if worth(context, quantity, world) > world.window:
                        whose = whose or f"the window of `{world.glob}`"
                except NoValue:
                    continue
            if whose:
                context.report(
                    "keep-above-window",
                    f"`{stage.id}` keeps {quantity.source} tokens, more than {whose}: nothing is left to take",
                    where,
                    "keep a share, such as 0.2 * window",
                )


def _kept(context: Context, stage: StageView) -> Iterator[tuple[Where, Quantity]]:
    """The minima of `keep`, in tokens."""
    keep = stage.data.get("keep", {})
    single = isinstance(keep, Mapping)
    for number in range(1 if single else len(keep)):
        path: Where = (*stage.where, "keep") if single else (*stage.where, "keep", number)
        for end in ("oldest", "newest"):
            place = (*path, end, "tokens", "at_least")
            if place in context.quantities:
                yield place, context.quantities[place]


def writers_have_room(context: Context) -> None:
    """A writing model the engine knows has a window for what it is given when the stage is due."""
    for stage in context.stages:
        if stage.kind not in ("summarize", "notes") or "ladder" in stage.data or _is_cut(stage):
            continue
        for number, name in enumerate(stage.data.get("model", ())):
            model = lookup(str(context.settings.get(name, name)))
            if name in ("same", "server") or not model.known:
                continue
            due = _least_due(context, stage)
            if due + ROOM > model.window:
                context.report(
                    "summarizer-window",
                    f"`{name}` holds {model.window:,} tokens, and `{stage.id}` is due at {due:,.0f}",
                    (*stage.where, "model", number),
                    "choose a model with a larger window, or add a `ladder`",
                )


def _is_cut(stage: StageView) -> bool:
    return bool({"clip", "without"} & set(stage.data.get("input", {}))) or "spans" in stage.data


def _least_due(context: Context, stage: StageView) -> float:
    """The size, in tokens, below which the stage is due at no event and for no model; 0 if nobody knows."""
    home = stage.home
    least = []
    for event in stage.at:
        parts: list[Where] = [(*home.where, "when"), (*stage.where, "when"), (*home.where, "at", event)]
        bounds = [0.0]
        for where in parts:
            for word in LOW:
                place = (*where, "tokens", word)
                if place in context.quantities:
                    values = [value for _, value in everywhere(context, context.quantities[place])]
                    bounds.append(min(values, default=0.0))
        # A refused request is as large as a window; a manual one may be small.
        if event not in ("overflow", "manual"):
            least.append(max(bounds))
    return min(least, default=0.0)


def placeholders_are_shorter(context: Context) -> None:
    """A constant text, and what is shown of the block, are shorter than the least block selected."""
    for stage in context.stages:
        size = stage.data.get("select", {}).get("size", {}).get("chars") if stage.kind == "replace" else None
        if not isinstance(size, Mapping) or "pattern" in stage.data:
            continue
        word = next((word for word in LOW if word in size), None)
        place = (*stage.where, "select", "size", "chars", word or "")
        least = context.quantities[place].constant if place in context.quantities else None
        shown = _shown(context, stage)
        if least is not None and shown is not None and shown[0] > least:
            context.report(
                "placeholder-longer",
                f"the text has {shown[0]:,.0f} characters, and blocks from {least:,.0f} on are selected:"
                " one that is not longer stays as it is",
                shown[1],
                f"shorten the text, or select blocks above {shown[0]:,.0f} characters",
            )


def _shown(context: Context, stage: StageView) -> tuple[float, Where] | None:
    """Characters that stand there in any case, and what says so; None where nobody knows."""
    key = "text" if "text" in stage.data else "template"
    where = (*stage.where, key)
    try:
        value = stage.data[key]
        text = context.inline(where, value) if key == "text" else context.renderer.template(value)
    except (TemplateProblem, KeyError):
        return None
    length = float(text.static_length) if not text.paths or key == "text" else 0.0
    preview = 0.0
    for part in {"head", "tail"} & text.variables & set(stage.data.get("preview", {})):
        quantity = context.quantities.get((*stage.where, "preview", part, "chars"))
        preview += quantity.constant if quantity is not None and quantity.constant is not None else 0.0
    # A few words beside a preview as long as the least block hardly ever matter.
    return (preview, (*stage.where, "preview")) if preview > length else (length, where)
