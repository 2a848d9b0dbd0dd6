"""The entries of ``attach``: which records are due, what is shown of them, and the text that makes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..effects import Core
from ..facts import TOLD
from ..facts.book import hashable
from ..policy.maker import Maker
from ..policy.scene import Scene
from ..templating import Text, fence, mark
from ._budget import Budget, Limits
from ._records import CONTENTS, Content, content_of
from ._told import Told, told_by_host
from ._variables import variables
from ._where import Where


@dataclass(frozen=True, slots=True)
class Entry:
    """``key`` names it in the journal: its fact, and its number where that is not enough."""

    key: str
    fact: str | None
    text: Text | None
    where: Where | None = None
    order: str = "newest"
    read: str = "transcript"
    budget: Budget | None = None
    too_large: str = "truncate"
    repeat: str = "always"


@dataclass(slots=True)
class Said:
    """What an entry has to say now: ``text`` None is nothing. ``told`` goes to the journal, as plain JSON."""

    key: str
    text: str | None = None
    items: int = 0
    told: dict[str, Any] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    unknown: bool = False


def entries(raw: Sequence[Mapping[str, Any]], make: Maker) -> tuple[Entry, ...]:
    """The entries of a stage's ``from``."""
    found: list[Entry] = []
    used: set[str] = set()
    for at, one in enumerate(raw):
        key = str(one.get("fact") or f"text#{at}")
        key = key if key not in used else f"{key}#{at}"
        used.add(key)
        found.append(
            Entry(
                key,
                one.get("fact"),
                make.text(one, "from", at),
                Where.build(one["where"]) if "where" in one else None,
                one.get("order", "newest"),
                one.get("read", "transcript"),
                Budget.build(one["budget"], make, "from", at, "budget") if "budget" in one else None,
                one.get("too_large", "truncate"),
                one.get("repeat", "always"),
            )
        )
    return tuple(found)


def say(scene: Scene, entry: Entry, told: Told | None, left: Limits) -> Core[Said]:
    """What the entry says now, within its own budget and what is ``left`` of the stage's.

    Raises EffectFailed, TemplateProblem, NoValue.
    """
    limits = left if entry.budget is None else left.and_(entry.budget.limits(scene))
    if entry.fact is None:
        return _alone(scene, entry, told or Told(), limits)
    records = scene.fact(entry.fact)
    if records is None:
        return Said(entry.key, unknown=True)
    chosen = [record for record in records if entry.where is None or entry.where.matches(record)]
    if entry.order == "newest":
        chosen.reverse()
    return (yield from _of_records(scene, entry, told or Told(), limits, chosen))


def _alone(scene: Scene, entry: Entry, told: Told, limits: Limits) -> Said:
    said = Said(entry.key)
    if entry.text is None or (entry.repeat == "once" and told.keys):
        return said
    text = entry.text.render(variables(scene, entry.text, {"items": [], "added": [], "removed": []}))
    if not text.strip() or (entry.repeat in ("changed", "delta") and told.digest == mark([text])):
        return said
    if limits.items < 1 or not limits.allows(scene.count(text), len(text)):
        said.left_out.append("the text: no room")
        return said
    said.text, said.items = text, 1
    if entry.repeat == "once":
        said.told = {"keys": [True]}
    elif entry.repeat != "always":
        said.told = {"digest": mark([text])}
    return said


@dataclass(slots=True)
class _Picked:
    """Items for the template with their main fields, and the names of those that did not make it."""

    items: list[dict[str, Any]] = field(default_factory=list)
    keys: list[Any] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)


class _Fact:
    """The records of one entry that are due. Contents are read once, however often they are picked anew."""

    def __init__(self, scene: Scene, entry: Entry, told: Told, records: list[Mapping[str, Any]]) -> None:
        self.scene = scene
        self.entry = entry
        self.main = scene.book.main_field(entry.fact or "") or "text"
        keys = [_key(record, self.main) for record in records]
        known: Collection[Any] = ()
        if entry.repeat == "once":
            known = told.keys
        elif entry.repeat == "delta":
            known = told.present
        told_already = told_by_host(scene, records) if entry.repeat != "always" else ()
        self.due = [
            (key, record)
            for key, record in zip(keys, records, strict=True)
            if key not in known and record.get(TOLD) not in told_already
        ]
        present = set(keys)
        self.gone = [key for key in told.present if key not in present] if entry.repeat == "delta" else []
        self._contents: dict[int, Content] = {}

    def pick(self, limits: Limits) -> Core[_Picked]:
        """As many as the limits let through, in order."""
        picked = _Picked()
        for at, (key, record) in enumerate(self.due):
            if len(picked.items) >= limits.items:
                picked.left_out.extend(_name(one, self.main) for _, one in self.due[at:])
                break
            content = self._contents.get(at)
            if content is None:
                content = yield from content_of(self.scene, self.entry.read, record, self.main)
                self._contents[at] = content
            if content.unchanged:
                continue
            item = self._fitted(limits, record, content)
            if content.unreadable:
                picked.unreadable.append(_name(record, self.main))
            elif item is None:
                picked.left_out.append(_name(record, self.main))
            if item is not None:
                limits = limits.less(*self._size(item), 0)
                picked.items.append(item)
                picked.keys.append(key)
        return picked

    def _fitted(self, limits: Limits, record: Mapping[str, Any], content: Content) -> dict[str, Any] | None:
        """The record with its content, or with what fits of it; None: it is left out."""
        item = _fields(record)
        too_large = self.entry.too_large
        text = content.text
        if text is not None and (content.cut or not limits.allows(self.scene.count(text), len(text))):
            if too_large == "skip":
                return None
            text = limits.cut(text, self.scene.count, content.cut) if too_large == "truncate" else None
            if text is None and too_large == "truncate":
                return None
        # A record without content is told by its fields; one whose content cannot be shown is a reference.
        reference = text is None and (content.text is not None or content.unreadable)
        if content.unreadable and too_large != "reference":
            return None
        if reference:
            item = {name: None if name in CONTENTS else value for name, value in item.items()}
        elif text is not None:
            item = {name: text if name in CONTENTS else value for name, value in item.items()}
        item["content"] = text
        item["reference"] = reference
        item["unreadable"] = content.unreadable
        size = self._size(item)
        return item if size[0] <= limits.tokens and size[1] <= limits.chars else None

    def _size(self, item: Mapping[str, Any]) -> tuple[int, int]:
        """Tokens and characters of an item: of its content, else of its fields."""
        text = item["content"]
        if text is None:
            told = (value for name, value in item.items() if name not in ("reference", "unreadable"))
            text = "\n".join(str(value) for value in told if value is not None)
        return self.scene.count(text), len(text)

    def text(self, picked: _Picked) -> str:
        """What the entry's template makes of it; without one, main fields and contents, fenced."""
        delta = self.entry.repeat == "delta"
        own = {
            "items": picked.items,
            "added": picked.items if delta else [],
            "removed": [{self.main: key} for key in self.gone],
        }
        if self.entry.text is not None:
            return self.entry.text.render(variables(self.scene, self.entry.text, own))
        lines: list[str] = []
        marked = mark(str(item["content"]) for item in picked.items)
        for item in picked.items:
            if item["content"] is None or self.main not in CONTENTS:
                lines.append(_name(item, self.main))
            if item["content"] is not None:
                lines.append(fence(item["content"], marked))
        return "\n".join([*lines, *(f"no longer: {_name({self.main: key}, self.main)}" for key in self.gone)])

    def told(self, picked: _Picked, text: str) -> dict[str, Any]:
        """What to remember of it."""
        if self.entry.repeat == "once":
            return {"keys": picked.keys}
        if self.entry.repeat == "changed":
            return {"digest": mark([text])}
        return {"added": picked.keys, "removed": self.gone} if self.entry.repeat == "delta" else {}


def _of_records(
    scene: Scene, entry: Entry, told: Told, limits: Limits, records: list[Mapping[str, Any]]
) -> Core[Said]:
    said = Said(entry.key)
    fact = _Fact(scene, entry, told, records)
    room = limits
    for _ in range(FITTINGS):
        picked = yield from fact.pick(room)
        said.left_out, said.unreadable = _few(picked.left_out), _few(picked.unreadable)
        if not picked.items and not fact.gone:
            return said
        text = fact.text(picked)
        if not text.strip() or (entry.repeat == "changed" and told.digest == mark([text])):
            return said
        over = scene.count(text) - limits.tokens, len(text) - limits.chars
        if over[0] <= 0 and over[1] <= 0:
            said.text, said.items = text, len(picked.items) + len(fact.gone)
            said.told = fact.told(picked, text)
            return said
        # What the template puts around the items counts, too: the items get so much less.
        room = room.less(max(0, over[0]) * 1.1, max(0, over[1]), 0)
    said.left_out = _few([_name(record, fact.main) for _, record in fact.due])
    return said


FITTINGS = 4
"""Tries to fit items and what the template puts around them into a budget."""


def _key(record: Mapping[str, Any], main: str) -> Any:
    """What a record is known by: its main field, or all of it where it has none. Plain JSON, and hashable."""
    if record.get(main) is not None:
        return hashable(record[main])
    return hashable(_fields(record))


def _fields(record: Mapping[str, Any]) -> dict[str, Any]:
    """What a record says, without what only tells where it stands."""
    return {name: value for name, value in record.items() if name not in ("serial", TOLD)}


def _name(record: Mapping[str, Any], main: str) -> str:
    """A short name of a record for people."""
    text = " ".join(str(record.get(main, "")).split())
    return text if len(text) <= 80 else text[:79] + "…"


def _few(names: list[str]) -> list[str]:
    return names if len(names) <= 10 else [*names[:9], f"and {len(names) - 9} more"]
