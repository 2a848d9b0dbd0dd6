"""What stands in the place of a range: the summary, texts, and messages that stay word for word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..conversation.items import Item, structure
from ..conversation.request import Message
from ..conversation.view import View
from ..facts import text_of
from ..policy.conditions import Condition
from ..policy.maker import Maker
from ..policy.measures import Candidate, Edge, Keep, kept
from ..policy.proposal import Cover, Draft, ViewEdit
from ..policy.scene import Scene
from ..policy.selection import Selector, candidates
from ..templating import Text
from ..validity.base import Place
from ._material import Entry, Limit, Material, cut, paired, with_media, without
from ._originals import covered, transcript_items
from ._range import Range, leading, open_round, put_in_front
from ._variables import variables

NOTE_TOKENS, NOTE_CHARS = 16, 44
"""What the note about the part left out of a message, and the message itself, take of its budget, estimated."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of ``compose``: ``kind`` is ``head tail summary text messages``."""

    kind: str
    role: str | None = None
    when: Condition | None = None
    text: Text | None = None
    select: Selector | None = None
    keeps: tuple[Keep, ...] = ()
    partial: bool = False
    gap: Text | None = None
    media: str = "keep"

    @classmethod
    def build(cls, raw: Mapping[str, Any], make: Maker, at: int) -> Part:
        where = ("compose", at)
        return cls(
            raw["part"],
            raw.get("role"),
            make.condition(raw["when"], *where, "when") if "when" in raw else None,
            make.text(raw, *where),
            make.selector(raw["select"], *where, "select") if "select" in raw else None,
            make.keep(raw["keep"], *where, "keep") if "keep" in raw else (),
            bool(raw.get("partial")),
            make.text({"text": raw["gap"]}, *where, "gap") if "gap" in raw else None,
            raw.get("media") or "keep",
        )


DEFAULT = (Part("summary"),)


def build_parts(raw: Mapping[str, Any], make: Maker) -> tuple[Part, ...]:
    """``compose`` of a stage; without one the summary alone stands between head and tail."""
    given = raw.get("compose")
    if given is None:
        return DEFAULT
    parts = tuple(Part.build(one, make, at) for at, one in enumerate(given))
    for kind in ("head", "tail"):
        places = [at for at, part in enumerate(parts) if part.kind == kind]
        if len(places) > 1:
            make.problem(
                f"`{kind}` stands in `compose` twice",
                "compose",
                places[1],
                code="value",
                hint="messages are shown once: take one out",
            )
    kinds = [part.kind for part in parts]
    if "head" in kinds and "tail" in kinds and kinds.index("tail") < kinds.index("head"):
        make.problem(
            "`tail` stands before `head`",
            "compose",
            kinds.index("tail"),
            code="value",
            hint="messages never change places: write head first",
        )
    return parts


@dataclass(frozen=True, slots=True)
class Composed:
    """Messages in front of the head, in the range's place, and behind the tail."""

    before: tuple[Draft, ...]
    middle: tuple[Draft, ...]
    after: tuple[Draft, ...]

    @property
    def all(self) -> tuple[Draft, ...]:
        return self.before + self.middle + self.after

    def tokens(self, scene: Scene) -> int:
        """Estimated tokens of all of them."""
        return sum([scene.maker.make(0, draft.message, draft.origin)[0].total for draft in self.all])


@dataclass(slots=True)
class Composer:
    """Composes for one range; what does not depend on the summary is worked out once.

    ``user`` is the place of the range's last user message, which is always shown. Raises NoValue,
    TemplateProblem.
    """

    scene: Scene
    parts: tuple[Part, ...]
    wrapper: Text | None
    place: Range
    user: int | None
    has_tail: bool
    _groups: tuple[list[Part], list[Part], list[Part]] = field(init=False)
    _messages: dict[int, list[Draft]] = field(init=False, default_factory=dict)
    _places: dict[int, int] = field(init=False, default_factory=dict)
    _user_serial: int | None = field(init=False, default=None)
    _user_shown: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        shown = [part for part in self.parts if part.when is None or part.when.test(self.scene).holds]
        kinds = [part.kind for part in shown]
        head = kinds.index("head") + 1 if "head" in kinds else 0
        tail = kinds.index("tail", head) if "tail" in kinds[head:] else len(shown)
        self._groups = shown[: max(0, head - 1)], shown[head:tail], shown[tail + 1 :]
        used: set[int] = set()
        own = None if self.user is None else self._original(self.scene.view.items[self.user])
        for group in self._groups:
            for part in group:
                if part.kind == "messages":
                    self._messages[id(part)] = self._chosen(part, used, own)
        self._user_serial, self._user_shown = own, own is not None and own in used

    @property
    def needs_text(self) -> bool:
        """Whether a summary is shown at all."""
        return any(part.kind == "summary" for group in self._groups for part in group)

    @property
    def leads(self) -> bool:
        """Whether nothing of the parts stands before the summary."""
        before, middle, _ = self._groups
        return not before and bool(middle) and middle[0].kind == "summary"

    def compose(self, summary: str, history_path: str | None, block: Message | None = None) -> Composed:
        """The messages, with this summary; or with a block of the API's own, which stands for the last user message,
        too: nothing may come before it, and behind it that message would be asked anew.
        """
        before, middle, after = (self._group(part, summary, history_path) for part in self._groups)
        if block is not None:
            at = next(at for at, draft in enumerate(middle) if draft.origin == "summary")
            middle[at] = Draft({"role": "assistant", "content": [block]}, "summary")
        elif self.user is not None and not self._user_shown:
            middle = self._with_user(middle, self.scene.view.items[self.user])
        return Composed(tuple(before), tuple(middle), tuple(after))

    def _group(self, parts: Sequence[Part], summary: str, history_path: str | None) -> list[Draft]:
        drafts: list[Draft] = []
        for part in parts:
            if part.kind == "messages":
                drafts.extend(self._messages[id(part)])
                continue
            text = part.text if part.kind == "text" else self.wrapper
            words = summary if part.kind == "summary" else ""
            if text is not None:
                own = {
                    "summary": summary,
                    "direction": self.place.direction,
                    "has_tail": self.has_tail,
                    "transcript_path": transcript_path(self.scene),
                    "history_path": history_path,
                }
                words = text.render(variables(self.scene, text, own))
            if words.strip():
                drafts.append(Draft({"role": part.role or "user", "content": words}, "summary"))
        return drafts

    def _with_user(self, middle: list[Draft], item: Item) -> list[Draft]:
        """Before the summary, because the range holds work done for it, and before copies of that work."""
        drafts = copies(self.scene, [Entry(self.user or 0, item, None, item.total)], "keep", None)
        kinds = [draft.origin for draft in middle]
        at = kinds.index("summary") if "summary" in kinds else len(middle)
        own = self._user_serial
        place = None if own is None else self.scene.base.index_of(own)
        while place is not None and at and self._places.get(id(middle[at - 1]), -1) > place:
            at -= 1
        return [*middle[:at], *drafts, *middle[at:]]

    # --- messages

    def _original(self, item: Item) -> int | None:
        """Serial of the transcript's message that a shown one is, or is a copy of."""
        if self.scene.base.index_of(item.serial) is not None:
            return item.serial
        words = text_of(item.message.get("content"))
        base = self.scene.base.items
        found = [at for at in covered(self.scene, self.place) if base[at].origin == item.origin]
        same = [base[at].serial for at in found if text_of(base[at].message.get("content")) == words]
        return same[-1] if same else None

    def _chosen(self, part: Part, used: set[int], user: int | None) -> list[Draft]:
        """Originals out of the range, also those an earlier summary took; none that is shown already."""
        scene = self.scene
        places = covered(scene, self.place)
        items = transcript_items(scene, places)
        view = View([item if item is not None else scene.base.items[at] for at, item in items.items()])
        outside = _Outside(
            at in places and items[at] is not None and scene.base.items[at].serial not in used for at in items
        )
        looking = replace(scene, view=view)
        assert part.select is not None
        found = candidates(looking, part.select, outside).candidates
        spared = kept(looking, part.keeps, found) if part.keeps else None
        edges: dict[int, Edge] = {
            id(edge.candidate): edge for edge in (spared.edges if spared and part.partial else ())
        }
        entries: list[tuple[Candidate, Edge | None] | None] = []
        for at, candidate in enumerate(found):
            if spared is None or spared.spared[at]:
                entries.append((candidate, None))
            elif id(candidate) in edges and candidate.item.serial != user:
                entries.append((candidate, edges[id(candidate)]))
            elif entries and entries[-1] is not None:
                entries.append(None)
        while entries and entries[-1] is None:
            entries.pop()
        return self._drafts(part, entries, used)

    def _drafts(
        self, part: Part, entries: Sequence[tuple[Candidate, Edge | None] | None], used: set[int]
    ) -> list[Draft]:
        """Whole messages together, so that calls keep their results; gaps and parts of messages between
        them.
        """
        whole = [one[0] for one in entries if one is not None and one[1] is None]
        shown = {
            draft_of.index: draft
            for draft_of, draft in _copied(self.scene, [_entry(one) for one in whole], part.media, part.role)
        }
        drafts: list[Draft] = []
        for one in entries:
            if one is None:
                if part.gap is not None:
                    words = part.gap.render(variables(self.scene, part.gap))
                    if words.strip():
                        drafts.append(Draft({"role": "user", "content": words}, "note"))
                continue
            candidate, edge = one
            draft = shown.get(candidate.index) if edge is None else self._partly(part, candidate, edge)
            if draft is not None:
                drafts.append(draft)
                used.add(candidate.item.serial)
                self._places[id(draft)] = candidate.index
        return drafts

    def _partly(self, part: Part, candidate: Candidate, edge: Edge) -> Draft | None:
        """As much of a message as the rest of a budget allows."""
        text = text_of(candidate.item.message.get("content"))
        for unit, room in edge.room.items():
            room -= self.scene.tokens_of(NOTE_TOKENS) if unit == "tokens" else NOTE_CHARS
            if room <= 0:
                return None
            text = cut(text, Limit(unit, room), self.scene.count)
        if not text.strip():
            return None
        return Draft({"role": part.role or candidate.item.role, "content": text}, candidate.item.origin)


class _Outside:
    """Guards a selection: only these places are candidates."""

    def __init__(self, inside: Any) -> None:
        self._inside = list(inside)

    def message(self, index: int) -> bool:
        return not self._inside[index]

    def block(self, index: int, block: int) -> bool:
        return not self._inside[index]


def _entry(candidate: Candidate) -> Entry:
    item = candidate.item
    return Entry(candidate.index, item, None, item.total)


def copies(scene: Scene, entries: Sequence[Entry], media: str, role: str | None) -> list[Draft]:
    """Copies of messages as they may stand anywhere: no thinking, no cache marks, no half of a call."""
    return [draft for _, draft in _copied(scene, entries, media, role)]


def _copied(
    scene: Scene, entries: Sequence[Entry], media: str, role: str | None
) -> list[tuple[Entry, Draft]]:
    material = without(scene, with_media(scene, Material(tuple(entries)), media), {"thinking"})
    found: list[tuple[Entry, Draft]] = []
    for entry in paired(scene, material).entries:
        message = _plain(entry.message, role)
        if message is not None:
            found.append((entry, Draft(message, entry.item.origin)))
    return found


def _plain(message: Message, role: str | None) -> Message | None:
    content = message.get("content")
    if role is not None and role != message.get("role"):
        words = text_of(content)
        return {"role": role, "content": words} if words.strip() else None
    if isinstance(content, str):
        return {"role": message.get("role"), "content": content} if content.strip() else None
    blocks = [
        {key: value for key, value in block.items() if key != "cache_control"}
        for block in content or ()
        if isinstance(block, Mapping)
        and not (block.get("type") == "text" and not str(block.get("text")).strip())
    ]
    return {"role": message.get("role"), "content": structure(blocks)} if blocks else None


def transcript_path(scene: Scene) -> str | None:
    """Where the host keeps the full transcript, if it has said so (a fact of this name)."""
    for record in scene.facts.records("transcript_path", "path") or ():
        path = record.get("path")
        if isinstance(path, str) and path:
            return path
    return None


def around(scene: Scene, place: Range, composed: Composed) -> list[ViewEdit]:
    """What `compose` puts in front of the head and behind the tail; what it put in front before goes."""
    view = scene.view
    front, back = leading(view.items) - 1, open_round(view) - 1

    def put(at: int, drafts: Sequence[Draft]) -> list[ViewEdit]:
        return [Place(at, draft.message, draft.origin) for draft in drafts]

    gone = [Cover(at, at + 1) for at in put_in_front(scene, place.start)] if composed.before else []
    return [*gone, *put(front, composed.before), *put(back, composed.after)]
