"""The key ``expect``: what a run should come to, read against the pack it is expected of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from ..matching import PatternError, pattern
from ..packs.nodes import Node
from ..packs.pack import MODEL_FIGURES, Pack
from ..policy.errors import PolicyError
from ..policy.selection import Selector, selector
from ..policy.stage import VERDICTS
from .model import Expectation, Look, Verdict
from .values import Values

SYSTEM = "system"
"""The place of the system prompt among the looks at the view."""

Read: TypeAlias = Callable[[Values, Node, Pack], Iterator[Expectation]]


def expectations(values: Values, node: Node, pack: Pack) -> tuple[Expectation, ...]:
    """All expectations of one run. Raises PackError at the place of the first that cannot be meant."""
    found: list[Expectation] = []
    for key, each in node.mapping.items():
        found += READERS[key](values, each, pack)
    return tuple(found)


def _stages(values: Values, node: Node, pack: Pack) -> Iterator[Expectation]:
    for name, each in node.mapping.items():
        if pack.stage(name) is None:
            known = [stage.id for stage in pack.every_stage()]
            values.unknown(each, name, known, "unknown-stage", "stage", on_key=True)
        fields = each.mapping
        if not fields:
            verdict = Verdict(values.word(each, VERDICTS, "unknown-value", "verdict"))
        else:
            verdict = Verdict(
                values.word(fields["verdict"], VERDICTS, "unknown-value", "verdict")
                if "verdict" in fields
                else None,
                str(fields["reason"].value) if "reason" in fields else None,
                values.comparison(fields["items"]) if "items" in fields else None,
            )
        yield Expectation("stages", each.key or each.pos, verdict, name)


def _only(values: Values, node: Node, pack: Pack) -> Iterator[Expectation]:
    if node.value is True:
        yield Expectation("only", node.key or node.pos, True)


def _comparison(kind: str) -> Read:
    def read(values: Values, node: Node, pack: Pack) -> Iterator[Expectation]:
        yield Expectation(kind, node.key or node.pos, values.comparison(node))

    return read


def _limits(values: Values, node: Node, pack: Pack) -> Iterator[Expectation]:
    known = [*pack.limits, *MODEL_FIGURES]
    for name, each in node.mapping.items():
        if name not in known:
            values.unknown(each, name, known, "unknown-limit", "limit", on_key=True)
        yield Expectation("limits", each.key or each.pos, values.comparison(each), name)


def _view(values: Values, node: Node, pack: Pack) -> Iterator[Expectation]:
    for each in node.items:
        fields = each.mapping
        at = _place(values, fields["at"], pack)
        how = next(key for key in fields if key != "at")
        value: Any = fields[how].plain()
        if how == "matches":
            value = _pattern(values, fields[how])
        elif how == "count":
            if not isinstance(at, Selector):
                values.fail(fields[how], "one-of", "`count` goes with a selector", on_key=True)
            value = values.comparison(fields[how])
        elif how == "absent" and not isinstance(value, bool):
            values.fail(fields[how], "type", "true or false is needed")
        yield Expectation("view", each.pos, Look(at, how, value))


def _place(values: Values, node: Node, pack: Pack) -> int | str | Selector:
    value = node.value
    if isinstance(value, str):
        if value != SYSTEM:
            values.fail(
                node, "value", f"`{value}` is no place of the view", "an index, `system`, or a selector"
            )
        return SYSTEM
    if not isinstance(value, dict):
        return int(values.number(node))
    try:
        found = selector(node.plain())
    except PolicyError as error:
        place, on_key = node.find(error.where)[0], error.code == "unknown-key"
        values.fail(place, error.code, error.message, error.hint, on_key)
    for reference in found.references():
        if reference.kind == "category" and reference.value not in pack.categories.names:
            place = node.find(reference.where)[0]
            values.unknown(
                place, str(reference.value), pack.categories.names, "unknown-category", "category of tools"
            )
    return found


def _pattern(values: Values, node: Node) -> Any:
    try:
        return pattern(str(node.value))
    except PatternError as error:
        values.fail(node.pos.at(error.offset), "pattern", error.message, error.hint)


def _problems(values: Values, node: Node, pack: Pack) -> Iterator[Expectation]:
    if isinstance(node.value, list):
        value: Any = [str(each.value) for each in node.items]
    else:
        value = values.whole(node)
    yield Expectation("problems", node.key or node.pos, value)


def _subset(kind: str) -> Read:
    def read(values: Values, node: Node, pack: Pack) -> Iterator[Expectation]:
        yield Expectation(kind, node.key or node.pos, node)

    return read


def _snapshot(values: Values, node: Node, pack: Pack) -> Iterator[Expectation]:
    name = str(node.value)
    if "{" in name:
        values.fail(node, "name", f"`{name}` has a placeholder nobody has a value for")
    yield Expectation("snapshot", node.key or node.pos, name)


READERS: Mapping[str, Read] = {
    "stages": _stages,
    "only": _only,
    "tokens": _comparison("tokens"),
    "messages": _comparison("messages"),
    "view": _view,
    "limits": _limits,
    "problems": _problems,
    "receipt": _subset("receipt"),
    "request": _subset("request"),
    "snapshot": _snapshot,
}
"""A reader for each key of ``expect``, as the schema lists them."""
