"""Values with their places: what a file holds once it is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .problems import Position

Scalar: TypeAlias = str | int | float | bool
Where: TypeAlias = tuple[str | int, ...]
"""A path of keys and list positions from the top of a pack."""


class Node:
    """A value with its place; never changed after it is made.

    ``value`` is a scalar, a list of nodes or a mapping of nodes; ``key`` is the place of its key.
    """

    __slots__ = ("key", "pos", "value")

    def __init__(
        self, value: Scalar | list[Node] | dict[str, Node], pos: Position, key: Position | None = None
    ) -> None:
        self.value = value
        self.pos = pos
        self.key = key

    @property
    def mapping(self) -> dict[str, Node]:
        """The mapping this node is, or an empty one."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def items(self) -> list[Node]:
        """The list this node is, or an empty one."""
        return self.value if isinstance(self.value, list) else []

    @property
    def text(self) -> str | None:
        """The text this node is, or None."""
        return self.value if isinstance(self.value, str) else None

    def plain(self) -> Any:
        """The plain data, without places."""
        value = self.value
        if isinstance(value, dict):
            return {key: node.plain() for key, node in value.items()}
        if isinstance(value, list):
            return [node.plain() for node in value]
        return value

    def walk(self, path: Where = ()) -> Iterator[tuple[Where, Node]]:
        """Every node below and this one, with its path."""
        yield path, self
        value = self.value
        if isinstance(value, dict):
            for key, node in value.items():
                yield from node.walk((*path, key))
        elif isinstance(value, list):
            for number, node in enumerate(value):
                yield from node.walk((*path, number))

    def find(self, path: Sequence[str | int]) -> tuple[Node, int]:
        """The deepest node on ``path`` and how many parts of the path lead to it."""
        node = self
        for depth, part in enumerate(path):
            value = node.value
            inner: Node | None = None
            if isinstance(value, dict):
                inner = value.get(str(part))
            elif isinstance(value, list) and isinstance(part, int) and 0 <= part < len(value):
                inner = value[part]
            if inner is None:
                return node, depth
            node = inner
        return node, len(path)


@dataclass(frozen=True, slots=True)
class Allow:
    """A comment that silences a finding of its line."""

    code: str
    reason: str
    column: int


@dataclass(frozen=True, slots=True)
class Document:
    """One file that was read: its lines, its values, its `allow` comments by line."""

    path: str
    lines: tuple[str, ...]
    root: Node
    allows: Mapping[int, Allow] = field(default_factory=dict)

    @property
    def data(self) -> Any:
        return self.root.plain()

    def where(self, path: Where) -> Position:
        """The place of the value at ``path``; of the deepest one on the way where there is none."""
        return self.root.find(path)[0].pos

    def line(self, number: int) -> str:
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""
