"""Words that are quoted in a summary, each with where it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..policy.scene import Scene
from ._headings import Headings

USER = "user"
HOST = "host"
"""Origin of what no message told but the host itself."""
SPOKEN = frozenset({"user", "command", "summary"})
"""Origins whose words are quoted as words of somebody."""
CLOSED = frozenset({"completed", "cancelled", "canceled", "done", "deleted"})
_ORIGINS: Mapping[str, str] = {"user_messages": USER, "errors": "tool", "images": "tool"}
_WORD = re.compile(r"\w+")
_OWN_NOTE = re.compile(r"\(\d+ (?:left out here|messages? .*left out.*)\)|\(origin: \w+\)|None on record\.")
_ELISION = re.compile(r"\n?\[… \d+ characters left out …\]\n?")


@dataclass(frozen=True, slots=True)
class Piece:
    """One text with its ``origin`` (of LANGUAGE §8, or ``host``) and the ``serial`` of its message, if it has one."""

    text: str
    origin: str
    serial: int | None = None

    @property
    def quote(self) -> bool:
        """Whether somebody said it; else it was done or came out of a tool."""
        return self.origin in SPOKEN

    def with_text(self, text: str) -> Piece:
        """The same, shortened."""
        return replace(self, text=text)

    def quoted(self, text: str) -> str:
        """A text of this piece as a quote; an origin other than the user is named."""
        label = "" if self.origin == USER else f"(origin: {self.origin})\n"
        return label + "> " + "\n> ".join(text.splitlines())

    def told(self, fact: str) -> Mapping[str, Any]:
        """For the receipt."""
        where = {} if self.serial is None else {"serial": self.serial}
        return {"fact": fact, "origin": self.origin, **where}


def says_nothing(text: str) -> bool:
    """Whether nothing but the note about what was left out remains of a text."""
    return not _ELISION.sub("", text).strip()


def pieces_of(scene: Scene, fact: str, records: Sequence[Mapping[str, Any]] | None) -> list[Piece]:
    """The main fields of a fact's records that are texts, and of task lists what is not done yet."""
    main = scene.book.main_field(fact) or "text"
    found: list[Piece] = []
    for record in records or ():
        serial = record.get("serial")
        where = serial if isinstance(serial, int) else None
        origin = _origin(scene, fact, record, where)
        for text in _texts(record.get(main)):
            if text.strip():
                found.append(Piece(text.strip(), origin, where))
    return found


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            words = one if isinstance(one, str) else None
            if isinstance(one, Mapping) and one.get("status") not in CLOSED:
                words = next((one[key] for key in ("content", "text", "subject") if key in one), None)
            if isinstance(words, str):
                yield f"[ ] {words}"


def _origin(scene: Scene, fact: str, record: Mapping[str, Any], serial: int | None) -> str:
    told = record.get("origin")
    if isinstance(told, str):
        return told
    if fact in _ORIGINS:
        return _ORIGINS[fact]
    if serial is None:
        return HOST
    for view in (scene.view, scene.base):
        at = view.index_of(serial)
        if at is not None:
            return view.items[at].origin
    return "assistant"


def told_before(previous: str, title: str, known: Sequence[str], pieces: Sequence[Piece]) -> list[Piece]:
    """What a section of an earlier summary holds beyond these pieces: one piece, or none.

    Only a line that is nothing but a heading opens the section: a quoted one may be anybody's.
    """
    have = " ".join([_words(piece.text) for piece in pieces])
    new: list[str] = []
    # Several summaries in a row are one text here.
    headings = Headings(previous, [title, *known])
    stop = 0
    while (spot := headings.section(title, stop, strict=True)) is not None:
        _, start, stop = spot
        new += [block for block in _blocks(previous[start:stop]) if not _within(block, have)]
    return [Piece("\n".join(new), "summary")] if new else []


def _blocks(body: str) -> Iterator[str]:
    """Its quotes, points and paragraphs, without quotation marks of ours."""
    lines: list[str] = []
    for line in [*body.splitlines(), ""]:
        bare = line.strip()
        quoted = bare.startswith(">")
        if quoted:
            lines.append(bare.removeprefix(">").removeprefix(" "))
            continue
        if lines:
            yield "\n".join(lines)
            lines = []
        if bare and not _OWN_NOTE.fullmatch(bare):
            yield bare


def _within(block: str, have: str) -> bool:
    return all(_words(part) in have for part in _ELISION.split(block))


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))
