"""Placeholders: ``{name}`` in the texts of a case stands for a value of its table or of its file."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..packs.nodes import Node, Scalar

_PLACE = re.compile(r"\{([a-z][a-z0-9_]*)\}")


def filled(node: Node, values: Mapping[str, Scalar]) -> Node:
    """The tree with all placeholders replaced that ``values`` knows, in keys too; places stay what they were.

    A text that is nothing but a placeholder becomes the value itself, so a number stays a number.
    """
    if not values:
        return node
    value = node.value
    if isinstance(value, dict):
        return Node(
            {str(_text(key, values)): filled(each, values) for key, each in value.items()}, node.pos, node.key
        )
    if isinstance(value, list):
        return Node([filled(each, values) for each in value], node.pos, node.key)
    if isinstance(value, str) and "{" in value:
        return Node(_text(value, values), node.pos, node.key)
    return node


def _text(text: str, values: Mapping[str, Scalar]) -> Scalar:
    whole = _PLACE.fullmatch(text)
    if whole and whole[1] in values:
        return values[whole[1]]
    return _PLACE.sub(lambda found: _shown(values[found[1]]) if found[1] in values else found[0], text)


def _shown(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def unfilled(node: Node) -> str | None:
    """The name in a text that is nothing but a placeholder nobody has a value for."""
    whole = _PLACE.fullmatch(node.text or "")
    return whole[1] if whole else None
