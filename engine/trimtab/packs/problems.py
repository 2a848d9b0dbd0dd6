"""What is wrong with a pack: where it stands, what it means, how to mend it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

ERROR, WARNING, INFO = "error", "warning", "info"

CODES = MappingProxyType(
    {
        # the file
        "file": "a file or folder that cannot be read",
        "encoding": "the file is not UTF-8 text",
        "too-large": "the file is beyond the limits on size, depth or number of values",
        "yaml": "the text is not YAML",
        "yaml-tab": "a tab; YAML is indented with spaces",
        "yaml-duplicate-key": "a key stands twice in one mapping",
        "yaml-null": "an empty value or null",
        "yaml-alias": "an anchor or an alias",
        "yaml-tag": "a tag",
        "yaml-key": "a key that is not a text",
        "yaml-comma": "an unquoted expression that flow style splits at a comma",
        "yaml-number": "a number in a spelling that YAML versions read differently",
        "layout": "a text that `fmt` and `migrate` cannot write anew without changing what it says",
        # identity and merging
        "format": "a version of the pack language this engine does not read",
        "requires": "the pack needs another version of the engine",
        "extends": "a pack to build on that is missing or that leads back to itself",
        "stage-id": "an id that is missing, stands twice, or names a stage that does not exist",
        "set": "a value set from outside that has no place in the pack",
        # shapes
        "type": "a value of another type is needed here",
        "value": "a value of the right type that is not allowed here",
        "unknown-key": "a key this mapping does not have",
        "missing-key": "a key that must be there",
        "one-of": "keys of which exactly one must stand, and none or several do",
        "unknown-kind": "a kind of stage that does not exist",
        "unknown-metric": "a metric that does not exist, or not here",
        # names
        "name": "a name that is reserved, taken or not in the required spelling",
        "expression": "an expression that cannot be read",
        "unknown-name": "a name in an expression that nothing defines",
        "name-type": "a boolean or a text where an expression needs a number, or the reverse",
        "limit-cycle": "limits that are worked out from each other",
        "unknown-stage": "a stage that does not exist",
        "unknown-setting": "a setting that does not exist",
        "unknown-limit": "a limit that does not exist",
        "unknown-category": "a category of tools that `tools` does not have",
        "unknown-fact": "a fact that neither the pack declares nor a host gives",
        "pattern": "a regular expression that cannot be read or is refused",
        "unknown-value": "globs of which none fits anything that can occur",
        # templates
        "template-missing": "a template file that is in none of the pack's folders",
        "template-outside": "a path that leads out of the pack",
        "template-syntax": "a template that cannot be read or is refused by the sandbox",
        "template-variable": "a variable the stage does not give to its template",
        # sense
        "target-above-trigger": "a target at or above the trigger: the stage would fire on every call",
        "events": "a stage or an event at which it can do nothing",
        "unused-default": "a default that no child takes",
        "unused-setting": "a setting that nothing in the pack uses, perhaps a misspelt one",
        "unused-limit": "a limit that nothing in the pack uses, perhaps a misspelt one",
        "unused-category": "a category of tools that nothing in the pack uses, perhaps a misspelt one",
        "unused-fact": "a fact that nothing in the pack uses, perhaps a misspelt one",
        "place": "a place or key that does not go with the rest of its stage",
        "kind-not-available": "a stage whose kind this engine checks but does not run yet",
        "allow": "an `allow` comment that names no code or gives no reason",
    }
)
"""Every code of a problem, with its meaning. Codes are stable: programs and `allow` comments name them."""

SILENCEABLE = frozenset(
    {
        "target-above-trigger",
        "events",
        "unused-default",
        "unused-setting",
        "unused-limit",
        "unused-category",
        "unused-fact",
        "template-missing",
        "template-variable",
        "unknown-value",
        "kind-not-available",
        "unknown-fact",
    }
)
"""What a comment `# trimtab: allow CODE, reason` can silence: findings of judgement, never a broken pack."""


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
    """One thing wrong: a code of :data:`CODES`, its place, how to mend it, and the line (``source``)."""

    code: str
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    width: int = 1
    hint: str | None = None
    severity: str = ERROR
    source: str = ""

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
        }
        return {key: value for key, value in found.items() if value not in (None, "", 0)}


def problem_at(
    pos: Position, code: str, message: str, hint: str | None = None, source: str = "", severity: str = ERROR
) -> Problem:
    """A problem at a place; ``source`` is the line it is on."""
    return Problem(code, message, pos.file, pos.line, pos.column, pos.width, hint, severity, source)


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
