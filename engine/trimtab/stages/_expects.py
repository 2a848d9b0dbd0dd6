"""The gate: whether a model's answer may stand in the place of what it was made from."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from ..effects import Reply
from ..policy.expressions import Quantity
from ..policy.maker import Maker
from ..policy.scene import Scene
from ._digest import PROBLEMS, STOPPED
from ._headings import Headings
from ._source import Source, invented_paths, invented_quotes

_CALL = re.compile(
    r"\s*(?:```\w*\s*)?(?:<(?:\w+:)?(?:function_calls?|tool_calls?|tool_use|invoke)\b|\{\s*\"type\"\s*:\s*\"tool_use\")"
)
"""An answer that begins like this is a call written out as text."""


_THINKING = re.compile(r"\s*<(think|thinking|thought|reasoning)\s*>", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*</?data-[0-9a-f]{12}>[ \t]*\n?", re.MULTILINE)
"""A line of our fences that a model has copied."""
_ERROR = re.compile(
    r"\s*(?:```\w*\s*)?(?:\{\s*\"(?:type\"\s*:\s*\"error\"|error\"\s*:)|<!DOCTYPE html|<html\b"
    r"|(?:API |Server )?Error(?: code)?:?\s*\(?[45]\d\d\b|HTTP(?:/\d(?:\.\d)?)?:? [45]\d\d\b"
    r"|(?:[45]\d\d )?(?:Request timed out|Connection (?:error|refused|reset)|Internal server error"
    r"|Bad (?:gateway|request)|Service unavailable|Too many requests|Rate limit(?:ed| exceeded)|Overloaded"
    r"|Unauthorized|Forbidden)\b)",
    re.IGNORECASE,
)
"""What an answer begins with that is the error of a server or a client on its way."""
_REFUSAL = re.compile(
    r"\s*(?:(?:I(?:'|’)?m |I am )?sorry,? (?:but )?(?:I\b|as an AI)|As an AI\b"
    r"|I (?:can(?:'|’)?t|cannot|won(?:'|’)?t|am (?:unable|not able) to) (?:to )?"
    r"(?:help|assist|do|comply|provide|write|summari[sz]e|continue|fulfil)\b)",
    re.IGNORECASE,
)
"""How models decline in English; one that says so in its stop reason is recognised in any language."""
LONGEST_ERROR = 400
"""Characters: a longer text that begins like this tells of an error or a refusal."""
SHOWN, SHOWN_CHARS = 20, 80
"""Invented paths and quotes that are shown, and characters of each."""
MOST_TOKENS = 128_000
"""Tokens of the longest answer that a model writes at once (``tokens/models.py``): no room counts for more."""
TOKEN_CHARS = 12
"""Characters that no text worth reading has for each of its tokens; most have about four."""
SCRATCH_CHARS = 200_000
"""Characters an answer may have beyond its room, to be thrown away: about 50,000 tokens of thinking."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a text cannot be used: a reason of LANGUAGE §9, and in words. ``excess``: tokens too many, if
    known.
    """

    reason: str
    message: str
    excess: float | None = None


@dataclass(frozen=True, slots=True)
class Expects:
    """``missing`` of the ``sections`` are forgiven; ``min_chars`` and ``max_tokens`` bound the text's
    length.
    """

    extract: str | None = None
    strip: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    missing: Quantity | None = None
    min_chars: Quantity | None = None
    max_tokens: Quantity | None = None
    invented: Quantity | None = None

    @classmethod
    def build(cls, raw: Mapping[str, Any], make: Maker) -> Expects:
        def number(key: str) -> Quantity | None:
            return make.quantity(raw[key], "expects", key) if key in raw else None

        return cls(
            raw.get("extract"),
            tuple(raw.get("strip") or ()),
            tuple(raw.get("sections") or ()),
            number("missing"),
            number("min_chars"),
            number("max_tokens"),
            number("invented"),
        )

    def judge(
        self,
        reply: Reply,
        scene: Scene,
        room: float,
        source: Source | None = None,
        users: Sequence[str] = (),
    ) -> str | Refused:
        """The text that may be used, or why there is none. ``room``: tokens it must stay under.

        Paths and quotes are held against ``source``; sections under the headings ``users`` quote users. Of a
        stand-in only the size counts; one that is too large is cut, because a model's would be refused.
        Raises NoValue.
        """
        if reply.stop not in STOPPED:
            return Refused(PROBLEMS.get(reply.stop, "invalid"), f"the answer stopped with {reply.stop}")
        if reply.assumed:
            return _stand_in(reply.text, scene, room)
        if not reply.text.strip():
            return Refused("empty", "the answer is blank")
        most = int(min(max(0, room), MOST_TOKENS) * TOKEN_CHARS) + SCRATCH_CHARS
        if len(reply.text) > most:
            return Refused(
                "larger", f"the answer has {len(reply.text)} characters; more than {most} are not read"
            )
        text = self._text(reply.text)
        if isinstance(text, Refused):
            return text
        if not text:
            return Refused("empty", "nothing is left of the answer without its scratch part")
        if _CALL.match(text):
            return Refused("tool_call", "the answer is a tool call, written as text")
        if _ERROR.match(text) and len(text) < LONGEST_ERROR:
            return Refused("invalid", "the answer is the text of an error")
        if _REFUSAL.match(text) and len(text) < LONGEST_ERROR:
            return Refused("refusal", "the answer declines to write")
        short = (
            self._sections(text, scene)
            or self._length(text, scene)
            or (self._invented(text, scene, source, users) if source is not None else None)
        )
        if short is not None:
            return short
        tokens = scene.count(text)
        if tokens >= room:
            return Refused(
                "larger", f"the text has {tokens} tokens; what it replaces would leave room for {int(room)}"
            )
        return text

    def _text(self, text: str) -> str | Refused:
        text = _FENCE.sub("", _thoughts(text))
        for tag in self.strip:
            text = stripped(text, tag, self.extract)
        if self.extract is None:
            return text.strip()
        opening = _opening(text, self.extract)
        if opening is None:
            return Refused("invalid" if text.strip() else "empty", f"the answer has no <{self.extract}>")
        closings = list(_closing(self.extract).finditer(text, opening.end()))
        if not closings:
            return Refused("truncated", f"the answer does not close its <{self.extract}>")
        return text[opening.end() : closings[-1].start()].strip()

    def _sections(self, text: str, scene: Scene) -> Refused | None:
        headings = Headings(text, self.sections)
        absent = [section for section in self.sections if headings.first(section) is None]
        forgiven = 0.0 if self.missing is None else self.missing.value(scene.name)
        if len(absent) <= forgiven:
            return None
        return Refused("invalid", f"{len(absent)} sections are missing: {', '.join(absent)}")

    def _invented(self, text: str, scene: Scene, source: Source, users: Sequence[str]) -> Refused | None:
        forgiven = math.inf if self.invented is None else self.invented.value(scene.name)
        if forgiven == math.inf:
            return None
        quotes = (f'"{quote}"' for quote in invented_quotes(text, source, users, self.sections))
        most = int(min(forgiven, 1e9)) + SHOWN
        # Each is looked for in all of the source: when there are enough, the others change nothing.
        found = list(islice(chain(invented_paths(text, source), quotes), most))
        if len(found) <= forgiven:
            return None
        shown = [one if len(one) <= SHOWN_CHARS else f"{one[:SHOWN_CHARS]}…" for one in found[:SHOWN]]
        count = f"{len(found)} or more" if len(found) == most else str(len(found))
        return Refused("invalid", f"{count} paths or quotes are nowhere in the source: {', '.join(shown)}")

    def _length(self, text: str, scene: Scene) -> Refused | None:
        least = 0.0 if self.min_chars is None else self.min_chars.value(scene.name)
        if len(text) < least:
            return Refused(
                "invalid", f"the text has {len(text)} characters; {int(least)} are expected at least"
            )
        most = math.inf if self.max_tokens is None else self.max_tokens.value(scene.name)
        if most < math.inf and (tokens := scene.count(text)) > most:
            return Refused("invalid", f"the text has {tokens} tokens; {int(most)} are allowed")
        return None


def _thoughts(text: str) -> str:
    """The text without thinking that was written out in front of it, closed or not."""
    begin = _THINKING.match(text)
    if begin is None:
        return text
    end = re.compile(rf"</\s*{begin[1]}\s*>", re.IGNORECASE).search(text, begin.end())
    return "" if end is None else text[end.end() :]


def _stand_in(text: str, scene: Scene, room: float) -> str:
    tokens = scene.count(text)
    if tokens < room or not tokens:
        return text.strip()
    return text[: max(1, int(len(text) * room / tokens / 2))].strip() or text[:1]


def _opening(text: str, tag: str, start: int = 0) -> re.Match[str] | None:
    """Where a tag is opened: at the beginning of a line, else anywhere (models put words in front of it)."""
    name = re.escape(tag)
    at_line = re.compile(rf"^[ \t]*<{name}(?:\s[^<>]*)?>", re.IGNORECASE | re.MULTILINE)
    return at_line.search(text, start) or re.compile(rf"<{name}(?:\s[^<>]*)?>", re.IGNORECASE).search(
        text, start
    )


def _closing(tag: str) -> re.Pattern[str]:
    return re.compile(rf"</\s*{re.escape(tag)}\s*>", re.IGNORECASE)


def stripped(text: str, tag: str, extract: str | None) -> str:
    """The text without its scratch parts ``<tag> … </tag>``, closed or not.

    Only a tag that opens a line counts, and none behind the opening of ``extract``: what a text quotes stays.
    A part ends where its closing tag is followed by the wrapper, else at its first closing tag; without one
    at the wrapper, else with the text.
    """
    opens = _Openings(text, tag)
    wrappers = None if extract is None else _Openings(text, extract)
    ends = [one.end() for one in _closing(tag).finditer(text)]
    wrapped = [] if wrappers is None else [end for end in ends if wrappers.follows(end)]
    kept: list[str] = []
    at = 0
    while (begin := opens.first(at)) is not None:
        start, inside = begin
        first = None if wrappers is None else wrappers.first(at)
        if first is not None and first[0] < start:
            break
        kept.append(text[at:start])
        behind = None if wrappers is None else wrappers.at_line(inside)
        end = _next(wrapped, inside) or _next(ends, inside) or (None if behind is None else behind[0])
        at = len(text) if end is None else end
    return "".join(kept) + text[at:]


class _Openings:
    """The openings of a tag in a text, each as its start and end; all of them are looked for at once."""

    def __init__(self, text: str, tag: str) -> None:
        opening = rf"<{re.escape(tag)}(?:\s[^<>]*)?>"
        self._text = text
        self._here = re.compile(rf"[ \t]*{opening}", re.IGNORECASE)
        self._behind = re.compile(rf"\s*{opening}", re.IGNORECASE)
        lines = re.compile(rf"^[ \t]*{opening}", re.IGNORECASE | re.MULTILINE)
        self._lines = [one.span() for one in lines.finditer(text)]

    def at_line(self, begin: int) -> tuple[int, int] | None:
        """The first that opens a line from ``begin`` on."""
        at = bisect_left(self._lines, (begin, 0))
        return self._lines[at] if at < len(self._lines) else None

    def first(self, begin: int) -> tuple[int, int] | None:
        """The same where ``begin`` counts as the start of a line: what stood in front of it there is gone."""
        here = self._here.match(self._text, begin)
        return self.at_line(begin) if here is None else here.span()

    def follows(self, end: int) -> bool:
        """Whether nothing but space stands between ``end`` and one."""
        return self._behind.match(self._text, end) is not None


def _next(places: Sequence[int], begin: int) -> int | None:
    at = bisect_right(places, begin)
    return places[at] if at < len(places) else None
