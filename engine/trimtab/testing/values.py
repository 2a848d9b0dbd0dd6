"""Typed values of a case; whatever has another type is refused at its place."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from ..facts import moment
from ..packs.nodes import Document, Node
from ..packs.problems import PackError, Position, near_or_all, problem_at
from ..packs.wording import kind_of
from .filling import unfilled
from .model import Comparison

T = TypeVar("T")

MOST_CHARS, MOST_PIECES = 5_000_000, 20_000
"""What one made-up text may have, and how many rounds may be made up: more is as a rule a slip of a digit."""


@dataclass(frozen=True, slots=True)
class Values:
    """Reads values of one file. Every method raises PackError with one problem, at the value's place."""

    document: Document

    def fail(
        self, node: Node | Position, code: str, message: str, hint: str | None = None, on_key: bool = False
    ) -> NoReturn:
        pos = node if isinstance(node, Position) else node.key if on_key and node.key else node.pos
        raise PackError([problem_at(pos, code, message, hint, self.document.line(pos.line))])

    def number(self, node: Node) -> float:
        value = node.value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
        if value == "unlimited":
            return math.inf
        name = unfilled(node)
        if name is not None:
            self.fail(
                node,
                "unknown-name",
                f"nothing gives `{name}` a value",
                "name it in the table, or in the file's `values`",
            )
        self.fail(node, "type", f"a number is needed, not {kind_of(node.plain())}", "write a number")

    def whole(self, node: Node, least: int = 0) -> int:
        value = self.number(node)
        if value < least or value != int(value) if math.isfinite(value) else True:
            self.fail(node, "value", f"a whole number from {least} is needed, not {value:g}")
        return int(value)

    def size(self, node: Node) -> int:
        """Characters of a made-up text."""
        return self._at_most(node, MOST_CHARS, "characters")

    def count(self, node: Node) -> int:
        """How many made-up pieces."""
        return self._at_most(node, MOST_PIECES, "pieces")

    def _at_most(self, node: Node, most: int, what: str) -> int:
        number = self.whole(node)
        if number > most:
            self.fail(node, "value", f"{number:,} {what}; {most:,} are the most")
        return number

    def comparison(self, node: Node) -> Comparison:
        if isinstance(node.value, dict):
            return Comparison(tuple((word, self.number(each)) for word, each in node.value.items()))
        return Comparison((("equals", self.number(node)),))

    def time(self, node: Node) -> float:
        """Seconds since 1970."""
        return self.made(node, lambda: moment(node.value))  # type: ignore[arg-type]  # moment looks itself

    def word(self, node: Node, known: Collection[str], code: str, what: str) -> str:
        """One of the known words."""
        text = str(node.value)
        if text not in known:
            self.unknown(node, text, known, code, what)
        return text

    def unknown(
        self, node: Node, text: str, known: Collection[str], code: str, what: str, on_key: bool = False
    ) -> NoReturn:
        self.fail(node, code, f"there is no {what} `{text}`", near_or_all(text, known), on_key)

    def made(self, node: Node, make: Callable[[], T], code: str = "value") -> T:
        """What ``make`` returns; its ValueError or TypeError is a problem of the value."""
        try:
            return make()
        except PackError:
            raise
        except (ValueError, TypeError) as error:
            self.fail(node, code, str(error))
