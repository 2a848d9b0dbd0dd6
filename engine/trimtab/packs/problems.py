"""What is wrong with a pack: where it stands, what it means, how to mend it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .catalogue import CODES, ERROR, INFO, SILENCEABLE, WARNING

__all__ = [
    "CODES",
    "ERROR",
    "INFO",
    "SILENCEABLE",
    "WARNING",
    "Edit",
    "PackError",
    "Position",
    "Problem",
    "did_you_mean",
    "listed",
    "near_or_all",
    "nearest",
    "problem_at",
]


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of a file's text that mends a problem: ``width`` characters of one line become ``text``.

    ``width`` 0 inserts; line and column count from 1.
    """

    file: str
    line: int
    column: int
    width: int
    text: str


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a file. ``line`` and ``column`` count from 1, ``width`` in characters.

    ``lead`` is 1 for a quoted scalar (its text starts one column later), ``block`` marks a block scalar (its
    text starts on the next line).
    """

    file: str
    line: int
    column: int
    width: int = 1
    lead: int = 0
    block: bool = False

    def at(self, offset: int, width: int = 1) -> Position:
        """The place ``offset`` characters into this scalar (exact in scalars of one line without escapes)."""
        if self.block or offset < 0 or offset > self.width - 2 * self.lead:
            return self
        return Position(self.file, self.line, self.column + self.lead + offset, width)

    def down(self, line: int) -> Position:
        """The place of line ``line`` (from 1) of this scalar's text."""
        if self.block:
            return Position(self.file, self.line + line, 1)
        # A quoted text on one line may hold line breaks of its own.
        return self if line <= 1 or self.width > 1 else Position(self.file, self.line + line - 1, 1)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong: a code of :data:`CODES`, its place, how to mend it, and the line (``source``).

    ``edits`` mend it in the file's text, where that is safe.
    """

    code: str
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    width: int = 1
    hint: str | None = None
    severity: str = ERROR
    source: str = ""
    edits: tuple[Edit, ...] = ()

    def __str__(self) -> str:
        place = (
            f"{self.file}:{self.line}:{self.column}: " if self.line else f"{self.file}: " if self.file else ""
        )
        return f"{place}{self.message} [{self.code}]"

    def render(self) -> str:
        """The problem for people: place and message, the source line, a caret, the hint."""
        lines = [str(self)]
        if self.source and self.line:
            shown, shift = _window(self.source, self.column)
            caret = " " * (self.column - 1 - shift) + "^" * max(
                1, min(self.width, len(shown) + shift + 1 - self.column)
            )
            number = str(self.line)
            lines += [f"  {number} | {shown}", f"  {' ' * len(number)} | {caret}"]
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The problem for programs; keys without a value are left out."""
        found = {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "width": self.width,
            "hint": self.hint,
            "source": self.source,
            "edits": [asdict(edit) for edit in self.edits],
        }
        return {key: value for key, value in found.items() if value not in (None, "", 0, [])}


def problem_at(
    pos: Position,
    code: str,
    message: str,
    hint: str | None = None,
    source: str = "",
    severity: str = ERROR,
    edits: tuple[Edit, ...] = (),
) -> Problem:
    """A problem at a place; ``source`` is the line it is on."""
    return Problem(code, message, pos.file, pos.line, pos.column, pos.width, hint, severity, source, edits)


class PackError(ValueError):
    """A pack that cannot be used; ``problems`` says all that is wrong with it."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(problem.render() for problem in self.problems))


def _window(line: str, column: int, limit: int = 140) -> tuple[str, int]:
    """At most ``limit`` characters of a long line around ``column``, and how many were left out in front."""
    if len(line) <= limit:
        return line, 0
    start = max(0, min(column - 1 - limit // 3, len(line) - limit))
    return line[start : start + limit], start


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The one known word that may have been meant; None if none is near, or several are."""
    words = sorted(set(known))
    near = difflib.get_close_matches(word, words, n=2, cutoff=0.75)
    folded = word.casefold().replace("-", "_")
    same = [each for each in words if each.replace("-", "_").casefold() == folded]
    found = same or near
    return found[0] if len(found) == 1 else None


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """A hint that names the nearest known words, or None if none is near."""
    words = sorted(set(known))
    near = difflib.get_close_matches(word, words, n=1, cutoff=0.6)
    if not near:
        folded = word.casefold().replace("-", "_")
        near = [each for each in words if each.replace("-", "_").casefold() == folded]
    if not near and len(word) >= 4:
        near = [
            each for each in words if each.startswith(word) or (word.startswith(each) and len(each) >= 4)
        ][:1]
    return f"did you mean `{near[0]}`?" if near else None


def listed(words: Iterable[str], limit: int = 24) -> str:
    """The words in a hint, shortened where they are many."""
    every = list(words)
    more = f" … ({len(every)} in all)" if len(every) > limit else ""
    return " ".join(every[:limit]) + more


def near_or_all(word: str, known: Iterable[str], intro: str = "known are") -> str:
    """The nearest known word, else all of them."""
    words = list(known)
    return did_you_mean(word, words) or (f"{intro} {listed(words)}" if words else "there are none")
