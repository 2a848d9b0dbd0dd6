"""Facts put back into a summary: main fields it left out, and sections filled with a fact word for word."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..policy.expressions import Quantity
from ..policy.maker import Maker
from ..policy.scene import Scene
from ._expects import heading
from ._material import Limit, cut

Records = Sequence[Mapping[str, Any]]
UNITS = ("items", "tokens", "tokens_each", "chars", "chars_each")
LINE_CHARS = 400
"""Characters of one appended line; longer values are shortened in their middle."""
SHARE = 3
"""One record gets at most this part of what may be added, so that a long one leaves room for others."""
LEAST_TOKENS, NOTE_TOKENS = 60, 16
"""Less of a record than this is not worth showing; the note about the part left out of it."""
_TITLE_END = re.compile(r"[\s*_`~>\])}/|]*(?:\([^()\n]*\))?[\s*_`~]*(?:[:\u2013\u2014\uff1a]|-(?=\s))[*_`]*")
"""What ends the heading in a line that goes on with words."""
_MARKDOWN = re.compile(r"^#{1,6}\s", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Ground:
    """``sections`` maps a heading to the fact that becomes its body; ``budget`` bounds all that is added."""

    facts: tuple[str, ...]
    sections: Mapping[str, str]
    budget: Mapping[str, Quantity]

    @classmethod
    def build(cls, raw: Mapping[str, Any], make: Maker) -> Ground:
        given = raw.get("budget") or {}
        budget = {
            unit: make.quantity(given[unit], "ground", "budget", unit) for unit in UNITS if unit in given
        }
        return cls(tuple(raw.get("facts") or ()), dict(raw.get("sections") or {}), budget)

    def add(
        self,
        text: str,
        scene: Scene,
        read: Callable[[str], Records | None],
        headings: Sequence[str],
        room: float,
    ) -> tuple[str, dict[str, int]]:
        """The text with what it lacks, and how many records of each fact were added; under ``room`` tokens.

        Raises NoValue.
        """
        budget = {unit: limit.value(scene.name) for unit, limit in self.budget.items()}
        purse = _Purse(scene, budget, room - scene.count(text))
        added: dict[str, int] = {}
        known = [*headings, *self.sections]
        for title, fact in self.sections.items():
            values = _values(scene, fact, read(fact))
            body, count = _body(values, purse)
            if count:
                text = _with_body(text, title, body, known)
                added[fact] = added.get(fact, 0) + count
        for fact in self.facts:
            missing = [value for value in _values(scene, fact, read(fact)) if value not in text]
            lines, left = [], 0
            for value in reversed(list(dict.fromkeys(missing))):
                line = purse.take(
                    "- " + cut(" ".join(value.split()), Limit("chars", LINE_CHARS), scene.count)
                )
                if line is None:
                    left += 1
                else:
                    lines.append(line)
            if lines:
                note = f"\n- and {left} more" if left else ""
                text = f"{text.rstrip()}\n\nAlso on record ({fact}):\n" + "\n".join(reversed(lines)) + note
                added[fact] = added.get(fact, 0) + len(lines)
        return text, added


class _Purse:
    """What may still be added."""

    def __init__(self, scene: Scene, budget: Mapping[str, float], room: float) -> None:
        self.items = budget.get("items", math.inf)
        # A few tokens for headings and notes about what is left out.
        self.tokens = min(budget.get("tokens", math.inf), room - scene.tokens_of(40))
        self.chars = budget.get("chars", math.inf)
        self._most = self.tokens / SHARE
        self._each = {
            unit: budget[f"{unit}_each"] for unit in ("tokens", "chars") if f"{unit}_each" in budget
        }
        self._scene = scene

    def take(self, text: str, prefix: str = "") -> str | None:
        """The text with its prefix on every line, shortened to what it may have; None if there is no room."""
        count = self._scene.count
        for unit, amount in self._each.items():
            text = cut(text, Limit(unit, amount), count)
        line = _prefixed(text, prefix)
        tokens, room = count(line) + 1, min(self.tokens, self._most)
        if tokens > room >= LEAST_TOKENS:
            bare = (room - self._scene.tokens_of(NOTE_TOKENS)) * count(text) / tokens
            line = _prefixed(cut(text, Limit("tokens", bare), count), prefix)
            tokens = count(line) + 1
        if self.items < 1 or tokens > self.tokens or len(line) > self.chars:
            return None
        self.items -= 1
        self.tokens -= tokens
        self.chars -= len(line)
        return line


def _prefixed(text: str, prefix: str) -> str:
    return prefix + text.replace("\n", "\n" + prefix)


def _values(scene: Scene, fact: str, records: Records | None) -> list[str]:
    main = scene.book.main_field(fact) or "text"
    found = [record.get(main) for record in records or ()]
    return [value.strip() for value in found if isinstance(value, str) and value.strip()]


def _body(values: Sequence[str], purse: _Purse) -> tuple[str, int]:
    """The oldest, then as many of the newest as there is room for, quoted."""
    shown: dict[int, str] = {}
    for at in [0, *range(len(values) - 1, 0, -1)] if values else []:
        line = purse.take(values[at], "> ")
        if line is None:
            break
        shown[at] = line
    left = len(values) - len(shown)
    lines: list[str] = []
    for at in sorted(shown):
        if left and lines and at - 1 not in shown:
            lines.append(f"({left} left out here)")
        lines.append(shown[at])
    return "\n\n".join(lines), len(shown)


def _with_body(text: str, title: str, body: str, known: Sequence[str]) -> str:
    """The text with the body of a section replaced; a section it lacks is appended."""
    found = heading(text, title)
    if found is None:
        return f"{text.rstrip()}\n\n{title}:\n{body}"
    start, end = found
    line, rest = text[start:end], text[end:]
    places = [spot[0] for name in known if name != title and (spot := heading(rest, name)) is not None]
    if _MARKDOWN.match(line):
        places += [one.start() for one in _MARKDOWN.finditer(rest)]
    behind = rest[min(places) :] if places else ""
    return f"{text[:start]}{_title_of(line, title)}\n{body}\n" + (f"\n{behind}" if behind else "")


def _title_of(line: str, title: str) -> str:
    """A heading's line without what stands behind the heading in the same line: it belongs to the old body."""
    words = r"[\s_]+".join(re.escape(word) for word in title.replace("_", " ").split())
    found = re.search(words, line, re.IGNORECASE)
    ending = _TITLE_END.match(line, found.end()) if found is not None else None
    return (line if ending is None else line[: ending.end()]).rstrip()
