"""Findings about names: settings, limits, categories, facts, and what expressions are made of."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..policy.expressions import RESERVED, Quantity
from .context import Context, setting_value, type_name
from .names import BOOLEAN_NAMES, BUILT_IN_FACTS, HOST_FACTS, reserved
from .nodes import Where
from .problems import did_you_mean, listed, near_or_all
from .schema import metric_names

_NAMES = (
    "names are settings, limits, number metrics, window, max_output, max_input, overflow_tokens and unlimited"
)


def names_are_free(context: Context) -> None:
    """Reserved names, and one name that is a setting and a limit."""
    for section, kind in (
        ("settings", "setting"),
        ("limits", "limit"),
        ("tools", "category"),
        ("facts", "fact"),
    ):
        taken = reserved(kind)
        for name in context.section(section):
            if name in taken:
                what = "a metric" if any(name in each for each in metric_names().values()) else "reserved"
                context.report(
                    "name",
                    f"no {kind} can be called `{name}`: the name is {what}",
                    (section, name),
                    "choose another name",
                    on_key=True,
                )
            elif section == "facts" and name in BUILT_IN_FACTS:
                context.report(
                    "name",
                    f"the fact `{name}` is always there",
                    (section, name),
                    "choose another name",
                    on_key=True,
                )
    for name in context.section("limits"):
        if name in context.section("settings"):
            context.report(
                "name",
                f"`{name}` is a setting and a limit",
                ("limits", name),
                "rename one of them",
                on_key=True,
            )


def stages_have_their_own_ids(context: Context) -> None:
    first: dict[str, Where] = {}
    for stage in context.stages:
        if stage.id in first:
            line = context.resolved.where((*first[stage.id], "id")).line
            context.report(
                "stage-id",
                f"the id `{stage.id}` stands twice (first on line {line})",
                (*stage.where, "id"),
                "ids are unique in the whole pack, also inside first_of",
            )
        else:
            first[stage.id] = stage.where


def model_entries_fit(context: Context) -> None:
    """Entries of `models` set known settings, with values of the same type."""
    for entry in context.of("model-entry"):
        for name, value in entry.value.items():
            if name in ("window", "max_output", "max_input"):
                quantity = context.quantities.get((*entry.where, name))
                if quantity is not None and quantity.constant is None:
                    context.report(
                        "name-type",
                        f"`{name}` of a model is a number, not an expression",
                        (*entry.where, name),
                        "write a number, or unlimited",
                    )
                continue
            if name not in context.settings:
                known = [*context.settings, "window", "max_output", "max_input"]
                context.report(
                    "unknown-setting",
                    f"there is no setting `{name}`",
                    (*entry.where, name),
                    near_or_all(name, known),
                    on_key=True,
                )
            else:
                same_type(context, name, value, (*entry.where, name))


def same_type(context: Context, name: str, value: object, where: Where) -> None:
    """A setting keeps its type."""
    declared = context.settings[name]
    if isinstance(value, bool | int | float | str) and not isinstance(declared, str):
        value = setting_value(value)
    if type_name(value) != type_name(declared):
        context.report(
            "type",
            f"the setting `{name}` is {type_name(declared)}, not {type_name(value)}",
            where,
            "write a value of the same type",
        )


def conditions_name_settings(context: Context) -> None:
    for entry in context.of("setting-values"):
        for name, value in entry.value.items():
            if name not in context.settings:
                context.report(
                    "unknown-setting",
                    f"there is no setting `{name}`",
                    (*entry.where, name),
                    near_or_all(name, context.settings, "declared are"),
                    on_key=True,
                )
            else:
                same_type(context, name, value, (*entry.where, name))


def expressions_name_what_exists(context: Context) -> None:
    """Every name of an expression is known and of the type its place needs."""
    metrics = metric_names()
    roles = {each.where: each.role for each in context.of("quantity", "size-quantity")}
    booleans = set(BOOLEAN_NAMES)
    numbers = (set(RESERVED) - BOOLEAN_NAMES) | metrics["number"] | set(context.limits)
    texts: set[str] = set()
    for name, value in context.settings.items():
        (booleans if isinstance(value, bool) else texts if isinstance(value, str) else numbers).add(name)
    scope = _Scope(numbers, booleans, texts, set(context.section("limits")), _with_tool_limit(context.limits))
    for where, quantity in context.quantities.items():
        here = replace(scope, numbers=numbers | metrics["accept"]) if "accept" in where else scope
        tool_known = roles[where] == "size-quantity" or where[0] == "limits"
        for name in sorted(quantity.names, key=lambda each: quantity.name_offsets[each]):
            problem = here.problem(name, quantity, tool_known)
            if problem is not None:
                code, message, hint = problem
                offset = quantity.name_offsets[name]
                context.report(code, message, where, hint, offset=offset, width=len(name))


@dataclass(frozen=True, slots=True)
class _Scope:
    """The names an expression may use; ``declared`` are all limits, also those that cannot be read."""

    numbers: set[str]
    booleans: set[str]
    texts: set[str]
    declared: set[str]
    with_tool: set[str]

    def problem(self, name: str, quantity: Quantity, tool_known: bool) -> tuple[str, str, str] | None:
        """What is wrong with a name of this quantity: code, message, hint."""
        if name in self.texts:
            message = f"the setting `{name}` is a text, not a number"
            return "name-type", message, "expressions take numbers and booleans"
        if name not in self.numbers and name not in self.booleans:
            if name in self.declared:
                return None  # Its own expression cannot be read: told there.
            hint = did_you_mean(name, self.numbers | self.booleans) or _NAMES
            return "unknown-name", f"nothing is called `{name}`", hint
        if name in quantity.booleans and name not in self.booleans:
            message = f"`{name}` is a number, not a boolean"
            return "name-type", message, f"compare it: `if {name} > 0 else`"
        if name in quantity.numbers and name not in self.numbers:
            return "name-type", f"`{name}` is a boolean, not a number", f"write `A if {name} else B`"
        if name in self.with_tool and not tool_known:
            message = f"`{name}` depends on the tool (tool_limit), so it is known only in `select.size`"
            return "name-type", message, "use a limit without tool_limit here"
        return None


def _with_tool_limit(limits: dict[str, Quantity]) -> set[str]:
    """`tool_limit` and the limits that rest on it."""
    users: dict[str, list[str]] = {}
    for name, each in limits.items():
        for used in each.names:
            users.setdefault(used, []).append(name)
    found, new = {"tool_limit"}, ["tool_limit"]
    while new:
        more = [name for name in users.get(new.pop(), ()) if name not in found]
        found.update(more)
        new += more
    return found


def limits_have_an_end(context: Context) -> None:
    """No limit is worked out from itself, or from so many others that working it out would go too deep."""
    depths: dict[str, int] = {}
    for start in context.limits:
        cycle = _cycle(start, context.limits, depths)
        if cycle:
            shown = cycle if len(cycle) <= 12 else [*cycle[:10], "…"]
            chain = " → ".join([*shown, cycle[0]])
            first = min(cycle, key=lambda name: context.resolved.where(("limits", name)).line)
            context.report(
                "limit-cycle",
                f"the limit `{first}` is worked out from itself: {chain}",
                ("limits", first),
                "give one of them a value that does not need the others",
                on_key=True,
            )
    for name, depth in depths.items():
        below = max((depths.get(each, 0) for each in context.limits[name].names), default=0)
        if depth > MAX_LIMIT_DEPTH >= below:
            context.report(
                "too-large",
                f"the limit `{name}` rests on a chain of limits deeper than {MAX_LIMIT_DEPTH},"
                " parentheses and conditions counted",
                ("limits", name),
                "work it out from fewer others",
                on_key=True,
            )


MAX_LIMIT_DEPTH = 80
"""Limits that rest on each other, with the parentheses and conditions in them: working them out goes a few calls
deeper with each, and Python ends at a thousand."""


def _cycle(start: str, limits: dict[str, Quantity], depths: dict[str, int]) -> list[str] | None:
    """The first circle that ``start`` leads into; limits that are done get their depth."""
    if start in depths:
        return None
    path = {start: 0}
    names = [iter(sorted(limits[start].names))]
    while names:
        inner = next(names[-1], None)
        if inner is None:
            names.pop()
            name, _ = path.popitem()
            source = limits[name].source
            own = 1 + source.count("(") + source.count(" if ")
            depths[name] = own + max((depths.get(each, 0) for each in limits[name].names), default=0)
        elif inner in path:
            found = list(path)
            depths.update(dict.fromkeys(found, 0))
            return found[path[inner] :]
        elif inner in limits and inner not in depths:
            path[inner] = len(path)
            names.append(iter(sorted(limits[inner].names)))
    return None


def writers_are_texts(context: Context) -> None:
    """A setting named as a model holds a text."""
    for entry in context.of("writer"):
        value = context.settings.get(entry.value)
        if value is not None and not isinstance(value, str):
            context.report(
                "name-type",
                f"the setting `{entry.value}` is {type_name(value)}, not the name of a model",
                entry.where,
                "name a text setting, `same`, `server` or a model the host knows",
            )


def categories_exist(context: Context) -> None:
    known = context.section("tools")
    for entry in context.of("category"):
        if entry.value not in known:
            hint = did_you_mean(entry.value, known) or (f"declared are {listed(known)}" if known else None)
            hint = hint or "declare it under `tools`, with globs of tool names"
            context.report("unknown-category", f"`tools` has no category `{entry.value}`", entry.where, hint)


def facts_exist(context: Context) -> None:
    known = BUILT_IN_FACTS | HOST_FACTS | set(context.section("facts"))
    for entry in context.of("fact"):
        if entry.value not in known:
            hint = did_you_mean(entry.value, known) or "declare it under `facts`"
            context.report("unknown-fact", f"there is no fact `{entry.value}`", entry.where, hint)


def stages_exist(context: Context) -> None:
    known = context.stage_ids
    for entry in context.of("stage", "notes"):
        if entry.value in context.resolved.lost:
            continue
        stage = known.get(entry.value)
        if stage is None:
            context.report(
                "unknown-stage",
                f"there is no stage `{entry.value}`",
                entry.where,
                near_or_all(entry.value, known, "there are"),
            )
        elif entry.role == "notes" and stage.kind != "notes":
            context.report(
                "unknown-stage",
                f"`{entry.value}` is a {stage.kind} stage and keeps no notes",
                entry.where,
                "name a stage of kind notes",
            )
