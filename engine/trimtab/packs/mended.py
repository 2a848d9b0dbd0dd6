"""A pack with mistakes, as it may have been meant: what is sound in it can still be judged.

A misspelt key counts as the one key that is near; a stage or an entry with any other mistake is set aside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

from .context import OF_TEMPLATES, Context
from .nodes import Node, Where
from .problems import ERROR
from .sources import Resolved

ROUNDS = 6
"""Setting one thing aside may show another; no pack needs more turns than this."""


def is_sound(context: Context) -> bool:
    """Whether nothing is wrong but perhaps a text."""
    return not any(each.severity == ERROR and each.code not in OF_TEMPLATES for each in context.problems)


def mended(context: Context, examine: Callable[[Resolved], Context]) -> tuple[Context | None, bool]:
    """The pack without its mistakes, examined again by ``examine``, and whether nothing was set aside.

    None: a mistake that nothing can be said beside.
    """
    whole = True
    for _ in range(ROUNDS):
        if is_sound(context):
            return context, whole
        faults = dict(context.faults)
        if not faults or () in faults:
            return None, False
        resolved, kept = _without(context.resolved, faults)
        whole = whole and kept
        context = examine(resolved)
    return None, False


def _without(resolved: Resolved, faults: Mapping[Where, str | None]) -> tuple[Resolved, bool]:
    tree = resolved.effective
    lost: set[str] = set()
    aside: set[Where] = set()
    for where, instead in faults.items():
        parent, last = tree.find(where[:-1])[0], where[-1]
        if instead is not None and instead not in parent.mapping and last in parent.mapping:
            tree = _changed(tree, where[:-1], partial(_renamed, old=last, new=instead))
        else:
            aside.add(_home(where))
    # From the end on, so that the places of those still to go stay right.
    for where in sorted(aside, key=_order, reverse=True):
        lost.update(_ids(tree.find(where)[0]) if where[0] == "stages" else ())
        tree = _changed(tree, where[:-1], partial(_less, last=where[-1]))
    left = replace(resolved, effective=tree, problems=(), lost=resolved.lost | lost)
    return left, not aside


def _home(where: Where) -> Where:
    """What is set aside for a mistake at ``where``: its stage, its entry of a section, or its top-level key."""
    if where[0] == "stages":
        return where[:4] if len(where) >= 4 and where[2] == "stages" else where[:2]
    return where[:2] if len(where) > 1 else where


def _order(where: Where) -> list[tuple[int, str]]:
    return [(part, "") if isinstance(part, int) else (-1, part) for part in where]


def _ids(stage: Node) -> Iterable[str]:
    children = stage.mapping.get("stages")
    for each in (stage, *(children.items if children else ())):
        found = each.mapping.get("id")
        if found is not None and found.text:
            yield found.text


def _changed(node: Node, path: Where, change: Callable[[Node], Node]) -> Node:
    """The tree with the node at ``path`` changed."""
    if not path:
        return change(node)
    first, rest = path[0], path[1:]
    if isinstance(node.value, dict) and first in node.mapping:
        value = {
            key: _changed(each, rest, change) if key == first else each for key, each in node.mapping.items()
        }
        return Node(value, node.pos, node.key)
    if isinstance(node.value, list) and isinstance(first, int) and first < len(node.items):
        items = [_changed(each, rest, change) if at == first else each for at, each in enumerate(node.items)]
        return Node(items, node.pos, node.key)
    return node


def _renamed(node: Node, old: str | int, new: str) -> Node:
    return Node({new if key == old else key: each for key, each in node.mapping.items()}, node.pos, node.key)


def _less(node: Node, last: str | int) -> Node:
    if isinstance(node.value, dict):
        return Node({key: each for key, each in node.mapping.items() if key != last}, node.pos, node.key)
    if isinstance(node.value, list):
        return Node([each for at, each in enumerate(node.items) if at != last], node.pos, node.key)
    return node
