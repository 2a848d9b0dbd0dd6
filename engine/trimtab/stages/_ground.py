"""Facts put back into a summary: main fields it left out, and sections filled with a fact word for word."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..facts import name_of, paths_in
from ..policy.expressions import Quantity
from ..policy.maker import Maker
from ..policy.scene import Scene
from ..templating import shares
from ._headings import section, title_of
from ._material import Limit, cut
from ._quotes import Piece, pieces_of, says_nothing, told_before
from ._source import Source, exact_values, missing_values

Records = Sequence[Mapping[str, Any]]
UNITS = ("items", "tokens", "tokens_each", "chars", "chars_each", "share", "total_chars")
LINE_CHARS = 400
"""Characters of one appended line; longer values are shortened in their middle."""
LEAST_CHARS = 80
"""Less of a quoted text than this is not worth showing."""
NOTE_CHARS = 44
"""The note about the part that was left out of a text."""
BETWEEN = "\n\n"
MORE_CHARS = 20
"""The note that there is more."""
CHARS_A_TOKEN, STEPS = 4, 12
"""Where a budget in tokens starts to be tried as characters, and how often it is lowered until it holds."""
EXACT = (
    "Exact values above (ids, hashes, numbers, ports) are copies and may be out of date: re-read before use."
)


@dataclass(frozen=True, slots=True)
class Grounded:
    """The text with what it lacked, how many records of each fact that were, and of each its origin and message."""

    text: str
    added: Mapping[str, int] = field(default_factory=dict)
    quoted: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class Given:
    """What a text is grounded with: a reader of facts, its headings, what it was made from, and the earlier
    summary it replaces. ``room``: tokens the outcome must stay under.
    """

    read: Callable[[str], Records | None]
    headings: Sequence[str]
    source: Source
    previous: str
    room: float


@dataclass(frozen=True, slots=True)
class Ground:
    """``sections`` maps a heading to the fact that becomes its body; ``budget`` bounds what the text may grow by,
    ``share`` of its own characters, but always up to ``total_chars``; ``exact`` adds the note about exact values.
    """

    facts: tuple[str, ...]
    sections: Mapping[str, str]
    budget: Mapping[str, Quantity]
    exact: bool = False

    @classmethod
    def build(cls, raw: Mapping[str, Any], make: Maker) -> Ground:
        given = raw.get("budget") or {}
        budget = {
            unit: make.quantity(given[unit], "ground", "budget", unit) for unit in UNITS if unit in given
        }
        return cls(
            tuple(raw.get("facts") or ()), dict(raw.get("sections") or {}), budget, raw.get("exact") is True
        )

    @property
    def users(self) -> tuple[str, ...]:
        """Headings of the sections that hold the words of users."""
        return tuple(title for title, fact in self.sections.items() if fact == "user_messages")

    def add(self, text: str, scene: Scene, given: Given) -> Grounded:
        """The text with what it lacks; as it was, where there is no room for any of it. Raises NoValue."""
        budget = {unit: limit.value(scene.name) for unit, limit in self.budget.items()}
        before = scene.count(text)
        # A few tokens stay for what the wrapper puts around it.
        tokens = min(budget.get("tokens", math.inf), given.room - before - 5)
        # A text that says little is the one that lacks most.
        share = max(budget.get("share", math.inf) * len(text), budget.get("total_chars", 0) - len(text))
        chars = min(budget.get("chars", math.inf), share)
        work = _Grounding(self, text, scene, given, budget)
        room = min(chars, tokens * CHARS_A_TOKEN)
        for _ in range(STEPS):
            if room <= 0:
                break
            found = work.within(int(min(room, 10**9)))
            if scene.count(found.text) - before <= tokens and len(found.text) - len(text) <= chars:
                return found
            room *= 0.75
        return Grounded(text)


class _Grounding:
    """One text being grounded; what does not depend on the room is worked out once."""

    def __init__(
        self, ground: Ground, text: str, scene: Scene, given: Given, budget: Mapping[str, float]
    ) -> None:
        self.text = text
        self.scene = scene
        self.items = budget.get("items", math.inf)
        self.known = [*given.headings, *(title for title in ground.sections if title not in given.headings)]
        each = [
            Limit(unit, budget[f"{unit}_each"]) for unit in ("tokens", "chars") if f"{unit}_each" in budget
        ]
        self.sections: list[tuple[str, str, list[Piece], int]] = []
        rest = text
        for title, fact in ground.sections.items():
            found = self._pieces(fact, given.read, each)
            found = [*told_before(given.previous, title, self.known, found), *found]
            if not found:
                continue
            spot = section(text, title, self.known)
            self.sections.append((title, fact, found, spot[2] - spot[1] if spot else -len(title) - 4))
            if spot is not None and (old := text[spot[1] : spot[2]]).strip():
                rest = rest.replace(old, "\n")
        self.facts: list[tuple[str, list[Piece]]] = []
        told = _Told(rest)
        for fact in ground.facts:
            missing = [piece for piece in self._pieces(fact, given.read, each) if piece.text not in told]
            if missing:
                self.facts.append((fact, missing))
        self.note = _note(text, given.source) if ground.exact else ""

    def _pieces(self, fact: str, read: Callable[[str], Records | None], each: Sequence[Limit]) -> list[Piece]:
        found = pieces_of(self.scene, fact, read(fact))
        for limit in each:
            found = [one.with_text(cut(one.text, limit, self.scene.count)) for one in found]
        return found

    def within(self, room: int) -> Grounded:
        """Everything in about so many characters: each section and fact an equal part, what one needs less is for
        the others.
        """
        note = self.note if len(self.note) <= room else ""
        room -= len(note)
        bodies = [len(_body(pieces, 10**9, self._cut)[0]) for _, _, pieces, _ in self.sections]
        wants = [body - old for body, (_, _, _, old) in zip(bodies, self.sections, strict=True)]
        room += sum(-want for want in wants if want < 0)
        lists = [len(_list(fact, pieces, 10**9, self._cut)[0]) for fact, pieces in self.facts]
        parts = shares([*(max(0, want) for want in wants), *lists], max(0, room), 0)
        text, left, added = self.text, self.items, dict[str, int]()
        quoted: list[Mapping[str, Any]] = []

        def take(fact: str, shown: Sequence[Piece]) -> None:
            added[fact] = added.get(fact, 0) + len(shown)
            quoted.extend(piece.told(fact) for piece in shown)

        for (title, fact, pieces, old), want, part in zip(
            self.sections, wants, parts[: len(wants)], strict=True
        ):
            chars = 10**9 if want <= 0 else old + part
            body, shown = _body(_ends(pieces, left), chars, self._cut)
            if shown:
                left -= len(shown)
                take(fact, shown)
                text = _with_body(text, title, body, self.known)
        for (fact, pieces), part in zip(self.facts, parts[len(wants) :], strict=True):
            told = _Told(text)
            missing = [piece for piece in pieces if piece.text not in told]
            block, shown = _list(fact, missing, part, self._cut, left)
            if shown:
                left -= len(shown)
                take(fact, shown)
                text = text.rstrip() + block
        if note:
            text = text.rstrip() + note
        return Grounded(text, added, tuple(quoted))

    def _cut(self, text: str, chars: int) -> str:
        return cut(text, Limit("chars", max(0, chars)), self.scene.count)


class _Told:
    """What a text tells: a path counts as told by its name."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._names = set(map(name_of, paths_in(text)))

    def __contains__(self, value: str) -> bool:
        return value in self._text or name_of(value) in self._names


def _note(text: str, source: Source) -> str:
    if not exact_values(text):
        return ""
    unknown = ", ".join(missing_values(text, source))
    if len(unknown) > LINE_CHARS:
        unknown = unknown[:LINE_CHARS].rpartition(", ")[0] + " and others"
    return f"\n\n{EXACT}" + (f" Not found in the conversation: {unknown}." if unknown else "")


Cut = Callable[[str, int], str]


def _ends(pieces: Sequence[Piece], most: float) -> Sequence[Piece]:
    """At most so many: the first, and the newest."""
    if len(pieces) <= most:
        return pieces
    newest = max(0, int(most) - 1)
    return [*pieces[: int(min(most, 1))], *pieces[len(pieces) - newest :]]


def _body(pieces: Sequence[Piece], chars: int, shorten: Cut) -> tuple[str, list[Piece]]:
    """The pieces quoted, in order, each with its share of the characters; those without one are counted."""
    whole = [len(piece.quoted(piece.text)) + len(BETWEEN) for piece in pieces]
    lines: list[str] = []
    shown: list[Piece] = []
    left = 0
    for piece, size, part in zip(
        pieces, whole, shares(whole, chars + len(BETWEEN), LEAST_CHARS + NOTE_CHARS), strict=True
    ):
        if not part:
            left += 1
            continue
        text = piece.text
        if part < size:
            text = shorten(text, int((part - NOTE_CHARS) * len(text) / size))
            if says_nothing(text):
                left += 1
                continue
        if left:
            lines.append(f"({left} left out here)")
            left = 0
        lines.append(piece.quoted(text))
        shown.append(piece)
    if left:
        lines.append(f"({left} left out here)")
    return BETWEEN.join(lines), shown


def _list(
    fact: str, pieces: Sequence[Piece], chars: float, shorten: Cut, items: float = math.inf
) -> tuple[str, list[Piece]]:
    """What a text left out, as many of the newest as there is room for: names in one line, else a line each."""
    if not pieces:
        return "", []
    origins = ", ".join(dict.fromkeys(piece.origin for piece in pieces))
    head = f"\n\nAlso on record ({fact}; origin: {origins}):"
    names = not any(char.isspace() for piece in pieces for char in piece.text)
    between, mark = (", ", "") if names else ("\n- ", '"' if pieces[0].quote else "")
    newest = {
        mark + shorten(" ".join(piece.text.split()), LINE_CHARS) + mark: piece for piece in reversed(pieces)
    }
    sizes = [len(line) + len(between) for line in newest]
    start = " " if names else between
    room = chars - len(head) - len(start) + len(between)
    if sum(sizes) > room:
        room -= MORE_CHARS
    lines: list[str] = []
    for line, size in zip(newest, sizes, strict=True):
        room -= size
        if room < 0 or len(lines) >= items:
            break
        lines.append(line)
    if not lines:
        return "", []
    left = len(newest) - len(lines)
    shown = [newest[line] for line in lines]
    lines.reverse()
    shown.reverse()
    note = "" if not left else f", and {left} more" if names else f"\n- and {left} more"
    return head + start + between.join(lines) + note, shown


def _with_body(text: str, title: str, body: str, known: Sequence[str]) -> str:
    """The text with the body of a section replaced; a section it lacks is appended."""
    found = section(text, title, known)
    if found is None:
        return f"{text.rstrip()}\n\n{title}:\n{body}"
    start, begin, end = found
    behind = text[end:]
    line = title_of(text[start:begin], title)
    return f"{text[:start]}{line}\n{body}\n" + (f"\n{behind}" if behind else "")
