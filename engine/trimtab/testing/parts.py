"""Parts of a receipt or a request: whether they hold what is wanted, and where they do not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..packs.nodes import Node

MISSING = object()


def lacking(wanted: Node, found: Any, place: str) -> tuple[Node, str, Any] | None:
    """Where ``found`` lacks what is wanted: the node, its place in words, what is there; None if it has all.

    Mappings may have more keys. Of a list the entries wanted must stand in that order; others may stand between.
    """
    value = wanted.value
    if isinstance(value, dict):
        if not isinstance(found, Mapping):
            return wanted, place, found
        for key, node in value.items():
            wrong = lacking(node, found.get(key, MISSING), f"{place}.{key}")
            if wrong is not None:
                return wrong
        return None
    if isinstance(value, list):
        if not isinstance(found, list | tuple):
            return wanted, place, found
        return _lacking_entries(value, list(found), place)
    return None if _equal(value, found) else (wanted, place, found)


def _lacking_entries(wanted: Sequence[Node], found: list[Any], place: str) -> tuple[Node, str, Any] | None:
    start = 0
    for number, node in enumerate(wanted):
        at = next((i for i in range(start, len(found)) if lacking(node, found[i], "") is None), None)
        if at is None:
            meant = _meant(node, found, number if len(found) == len(wanted) else None)
            if meant is not None:
                return lacking(node, found[meant], f"{place}[{number}]")
            return node, f"{place}[{number}]", found[start:] or MISSING
        start = at + 1
    return None


def _meant(wanted: Node, found: Sequence[Any], number: int | None) -> int | None:
    """The entry that was probably meant: the one with the same id, else the one at the same place."""
    name = wanted.mapping.get("id")
    if name is None:
        return number
    same = (i for i, each in enumerate(found) if isinstance(each, Mapping) and each.get("id") == name.value)
    return next(same, number)


def _equal(wanted: Any, found: Any) -> bool:
    if _is_number(wanted) and _is_number(found):
        return math.isclose(wanted, found, rel_tol=1e-9, abs_tol=1e-6)
    return type(wanted) is type(found) and wanted == found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
