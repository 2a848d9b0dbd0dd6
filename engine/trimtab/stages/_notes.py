"""Notes as they are kept and used: where they end in the view, their texts, sections cut to a budget."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ..effects import Core, get
from ..policy.expressions import Quantity
from ..policy.maker import Maker
from ..policy.proposal import Proposal
from ..policy.scene import Scene
from ..policy.standing import brought, end_of, missing, place_of
from ..records import Note
from ..templating import Text
from ._compose import NOTE_TOKENS
from ._headings import Headings
from ._material import Limit, cut
from ._range import Part, Range

FOLDER = "notes"
"""Folder of the store that holds the texts."""
_MARKDOWN = re.compile(r"^(#{1,6})\s")
_FENCE = re.compile(r"^\s*(?:```|~~~)")


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that is used of notes, in tokens: of the whole, and of each section."""

    tokens: Quantity | None = None
    each: Quantity | None = None

    @classmethod
    def build(cls, raw: Mapping[str, Any], make: Maker) -> Budget:
        def number(key: str) -> Quantity | None:
            return make.quantity(raw[key], "budget", key) if key in raw else None

        return cls(number("tokens"), number("tokens_each"))

    def cut(self, text: str, sections: Sequence[str], scene: Scene) -> str:
        """The text with oversized sections cut: each to its share, then the largest until the whole fits.

        Raises NoValue.
        """
        each, whole = (_value(one, scene) for one in (self.each, self.tokens))
        parts = split(text, sections)
        sizes = [scene.count(part) for part in parts]
        level = min(each, _level([min(size, each) for size in sizes], whole))
        return "".join(
            [
                part if size <= level else _shorter(part, level, sections, scene)
                for part, size in zip(parts, sizes, strict=True)
            ]
        )


def _value(limit: Quantity | None, scene: Scene) -> float:
    return math.inf if limit is None else limit.value(scene.name)


def _level(sizes: Sequence[float], whole: float) -> float:
    """The size to which the largest must come down, so that all together are no larger than ``whole``."""
    if sum(sizes) <= whole:
        return math.inf
    left, rest = whole, len(sizes)
    for size in sorted(sizes):
        if size * rest > left:
            break
        left -= size
        rest -= 1
    return max(0.0, left / max(1, rest))


def _shorter(part: str, level: float, sections: Sequence[str], scene: Scene) -> str:
    """A section cut to so many tokens; its heading and its last line break stay."""
    first, newline, body = part.partition("\n")
    title = first + newline if _is_heading(first, sections) else ""
    body = (part[len(title) :]).rstrip("\n")
    end = part[len(title) + len(body) :]
    room = level - scene.count(title) - scene.tokens_of(NOTE_TOKENS)
    return title + cut(body, Limit("tokens", max(0.0, room)), scene.count) + end


def split(text: str, sections: Sequence[str]) -> list[str]:
    """The text in sections, each with its heading; together they are the text.

    Headings are those of ``sections``, where there are some, else the Markdown headings of the highest level.
    """
    starts = sorted(Headings(text, sections).starts) if sections else _highest(text)
    edges = [0, *(start for start in starts if start), len(text)]
    return [text[a:b] for a, b in pairwise(edges) if a < b]


def _highest(text: str) -> list[int]:
    """Where the Markdown headings of the highest level begin, outside of code."""
    found: list[tuple[int, int]] = []
    inside = False
    at = 0
    for line in text.splitlines(keepends=True):
        if _FENCE.match(line):
            inside = not inside
        level = _MARKDOWN.match(line)
        if level is not None and not inside:
            found.append((at, len(level[1])))
        at += len(line)
    top = min([depth for _, depth in found], default=1)
    return [start for start, depth in found if depth == top]


def _is_heading(line: str, sections: Sequence[str]) -> bool:
    return bool(_MARKDOWN.match(line)) or bool(Headings(line, sections).starts)


def still_empty(text: str, sections: Sequence[str], prompt: Text | None = None) -> bool:
    """Whether the notes are nothing but headings and lines of the template they were to be written after."""
    known = {_bare(line) for line in prompt.source.splitlines()} if prompt is not None else set()
    starts = Headings(text, sections).starts
    at = 0
    for line in text.splitlines(keepends=True):
        start, at = at, at + len(line)
        if line.strip() and start not in starts and not _MARKDOWN.match(line) and _bare(line) not in known:
            return False
    return True


def _bare(line: str) -> str:
    return line.strip().strip("_*").strip()


# ------------------------------------------------------------------------------------------------ using them


def text_of_note(scene: Scene, note: Note) -> Core[str]:
    """The text of a note, empty if its file is gone. Raises EffectFailed."""
    text = scene.history.text_now(note.store)
    if text is None:
        text = yield from get(note.store)
    return text or ""


def whole_note(scene: Scene, stage: str) -> Note | None:
    """The newest notes about everything, if what they end with is still there."""
    note = scene.history.note(stage)
    return note if note is not None and place_of(scene, note.upto) is not None else None


@dataclass(frozen=True, slots=True)
class Ready:
    """Texts that can be put in place: by the parts of the view each stands for, or why there is none."""

    texts: Mapping[tuple[Part, ...], str]
    reason: str | None = None


def standing_part(scene: Scene, covers: Sequence[int]) -> Part | None:
    """Where a span stands in the view, if it is what it was, alone and uncovered; else None."""
    view = scene.view
    shown = [at for serial in covers if (at := view.index_of(serial)) is not None]
    if not shown or missing(scene, covers) is not None:
        return None
    start, stop = min(shown), max(shown) + 1
    span, ours = frozenset(covers), brought(scene)
    for item in view.items[start:stop]:
        if item.serial not in span and (item.origin == "summary" or not ours(item.serial)):
            return None
    # A host that feeds our view back may have other serials of ours in between: what trails goes along.
    stop = end_of(scene, view.items[stop - 1].serial) or stop
    return start, stop


def drafts(scene: Scene, stage: str) -> list[tuple[Part, Note]]:
    """The spans that have a text and stand where they stood, in view order; of two on one place the newer."""
    found: list[tuple[Part, Note]] = []
    for note in reversed(scene.history.drafts(stage)):
        part = standing_part(scene, note.covers)
        if part is not None and not any(part[0] < stop and start < part[1] for (start, stop), _ in found):
            found.append((part, note))
    return sorted(found, key=lambda one: one[0])


def ready_drafts(scene: Scene, stage: str, place: Range) -> Core[Ready]:
    """The texts of all spans within the range."""
    cuts = scene.cuts()
    texts: dict[tuple[Part, ...], str] = {}
    known = drafts(scene, stage)
    for part, note in known:
        inside = any(start <= part[0] and part[1] <= stop for start, stop in place.parts)
        if inside and cuts[part[0]] and cuts[part[1]]:
            text = yield from text_of_note(scene, note)
            if text.strip():
                texts[(part,)] = text
    if texts:
        return Ready(texts)
    if not scene.history.drafts(stage):
        return Ready({}, f"`{stage}` has written nothing yet")
    return Ready({}, f"no span that `{stage}` has written about stands in the range")


def with_late(scene: Scene, stage: str, late: object) -> Scene:
    """The scene with what a job of the stage has just brought, as far as it still holds."""
    if not isinstance(late, Proposal):
        return scene
    fresh = [
        (Note(stage, one.upto, one.store, 0, one.covers), one.text)
        for one in late.notes
        if missing(scene, one.reads) is None
    ]
    if not fresh:
        return scene
    past = scene.history.with_notes(fresh)
    return scene.with_history(past)
