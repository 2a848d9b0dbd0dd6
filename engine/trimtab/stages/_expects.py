"""The gate: whether a model's answer may stand in the place of what it was made from."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..effects import Reply
from ..policy.expressions import Quantity
from ..policy.maker import Maker
from ..policy.scene import Scene
from ._digest import PROBLEMS, STOPPED
from ._headings import heading
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
SHOWN_CHARS = 80
"""Characters of an invented path or quote that are shown."""


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
        absent = [section for section in self.sections if heading(text, section) is None]
        forgiven = 0.0 if self.missing is None else self.missing.value(scene.name)
        if len(absent) <= forgiven:
            return None
        return Refused("invalid", f"{len(absent)} sections are missing: {', '.join(absent)}")

    def _invented(self, text: str, scene: Scene, source: Source, users: Sequence[str]) -> Refused | None:
        forgiven = math.inf if self.invented is None else self.invented.value(scene.name)
        if forgiven == math.inf:
            return None
        found = [
            *invented_paths(text, source),
            *(f'"{quote}"' for quote in invented_quotes(text, source, users, self.sections)),
        ]
        if len(found) <= forgiven:
            return None
        shown = ", ".join([one if len(one) <= SHOWN_CHARS else f"{one[:SHOWN_CHARS]}…" for one in found])
        return Refused("invalid", f"{len(found)} paths or quotes are nowhere in the source: {shown}")

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
    name = re.escape(tag)
    opens = re.compile(rf"^[ \t]*<{name}(?:\s[^<>]*)?>", re.IGNORECASE | re.MULTILINE)
    wrapper = (
        None if extract is None else re.compile(rf"^[ \t]*<{re.escape(extract)}(?:\s[^<>]*)?>", re.I | re.M)
    )
    position = 0
    while (begin := opens.search(text, position)) is not None:
        first = wrapper.search(text, position) if wrapper is not None else None
        if first is not None and first.start() < begin.start():
            break
        closings = list(_closing(tag).finditer(text, begin.end()))
        end = _end(text, closings, extract)
        if end is None and wrapper is not None and (behind := wrapper.search(text, begin.end())) is not None:
            end = behind.start()
        position = begin.start()
        text = text[:position] + ("" if end is None else text[end:])
    return text


def _end(text: str, closings: Sequence[re.Match[str]], extract: str | None) -> int | None:
    if extract is not None:
        wrapper = re.compile(rf"\s*<{re.escape(extract)}(?:\s[^<>]*)?>", re.IGNORECASE)
        for closing in closings:
            if wrapper.match(text, closing.end()):
                return closing.end()
    return closings[0].end() if closings else None
