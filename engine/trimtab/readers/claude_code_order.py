"""Entries in file order -> messages in the API's order: responses whole, results behind, no dead branch."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..conversation.request import GENUINE, Info, Message, Usage
from .base import ReadProblem
from .claude_code_records import ASSISTANT, COMPACT, MICRO, USER, Entry, ids_of, origin_of_words

CLEARED = "[Old tool result content cleared]"
"""Stands for results a microcompaction emptied; the client's own wording is in no file."""


class Unit:
    """A message, and for a response the message of its results."""

    __slots__ = (
        "answered",
        "at",
        "blocks",
        "calls",
        "id",
        "line",
        "origin",
        "result",
        "role",
        "text",
        "usage",
    )

    def __init__(self, entry: Entry, role: str) -> None:
        self.line = entry.line
        self.id = entry.group or entry.uuid
        self.at = entry.at
        self.role = role
        self.origin = entry.origin
        self.text: str | None = entry.text
        self.blocks: list[Any] = list(entry.blocks)
        self.usage: Usage | None = entry.usage
        self.calls: set[str] = set()
        self.answered: dict[str, tuple[Any, int]] = {}
        self.result: Unit | None = None

    def message(self) -> Message:
        return {"role": self.role, "content": self.blocks if self.text is None else self.text}

    def info(self) -> Info:
        return Info(id=self.id, at=self.at, origin=self.origin, usage=self.usage)


class Assembly:
    """Messages, their info and first lines, of a list of entries."""

    def __init__(self, entries: Iterable[Entry], cleared: frozenset[str] = frozenset()) -> None:
        self.problems: list[ReadProblem] = []
        self._cleared = cleared
        self._units: list[Unit] = []
        self._groups: dict[str, Unit] = {}
        self._owners: dict[str, Unit] = {}
        for entry in entries:
            if entry.kind == ASSISTANT:
                self._response(entry)
            elif entry.kind not in (COMPACT, MICRO):
                self._user(entry)
        self.messages: list[Message] = []
        self.info: list[Info] = []
        self.lines: list[int] = []
        for unit in self._units:
            for part in (unit, unit.result):
                if part is not None:
                    self.messages.append(part.message())
                    self.info.append(part.info())
                    self.lines.append(unit.line)
        self._unanswered()

    def position(self, line: int) -> int:
        """How many messages begin before this line of the file."""
        return bisect_left(self.lines, line)

    def _response(self, entry: Entry) -> None:
        unit = self._groups.get(entry.group) if entry.group else None
        if unit is None:
            unit = Unit(entry, ASSISTANT)
            unit.origin = "assistant"
            unit.blocks = []
            unit.text = None
            self._units.append(unit)
            if entry.group:
                self._groups[entry.group] = unit
        else:
            unit.at = entry.at if entry.at is not None else unit.at
            # The last record of a response has the final count.
            unit.usage = entry.usage or unit.usage
        if entry.text is not None:
            unit.blocks.append({"type": "text", "text": entry.text})
        for block in entry.blocks:
            if isinstance(block, dict) and block.get("type") == "tool_use":
                call = block.get("id")
                if isinstance(call, str) and call in unit.calls:
                    self.problems.append(
                        ReadProblem(
                            entry.line, f"call {call} stands twice in one response", "the second was left out"
                        )
                    )
                    continue
                if isinstance(call, str):
                    unit.calls.add(call)
                    self._owners[call] = unit
            unit.blocks.append(block)

    def _user(self, entry: Entry) -> None:
        if entry.origin != "tool":
            self._units.append(Unit(entry, USER))
            return
        rest: list[Any] = []
        for block in entry.blocks:
            call = block.get("tool_use_id") if block.get("type") == "tool_result" else None
            owner = self._owners.get(call) if isinstance(call, str) else None
            if call is None:
                rest.append(block)
            elif owner is None:
                self.problems.append(
                    ReadProblem(
                        entry.line,
                        f"the result of call {call} has no call before it",
                        "it stays where it is; a run removes it before a request is sent",
                    )
                )
                rest.append(block)
            else:
                self._answer(owner, str(call), block, entry)
        if rest:
            unit = Unit(entry, USER)
            unit.blocks = rest
            if not any(block.get("type") == "tool_result" for block in rest):
                words = [str(block.get("text")) for block in rest if block.get("type") == "text"]
                # Words beside results count as the user's; pictures alone are part of what the client shows.
                unit.origin = origin_of_words(words[0]) if words else "context"
            self._units.append(unit)

    def _answer(self, owner: Unit, call: str, block: Any, entry: Entry) -> None:
        if call in self._cleared:
            block = {**block, "content": CLEARED}
        answers = owner.result
        if answers is None:
            answers = owner.result = Unit(entry, USER)
            answers.blocks = []
        before = owner.answered.get(call)
        if before is None:
            owner.answered[call] = (block, len(answers.blocks))
            answers.blocks.append(block)
            answers.at = entry.at if entry.at is not None else answers.at
            return
        better = before[0].get("is_error") is True and block.get("is_error") is not True
        if better:
            answers.blocks[before[1]] = block
            owner.answered[call] = (block, before[1])
        if before[0] != block:
            self.problems.append(
                ReadProblem(
                    entry.line,
                    f"call {call} has a second result",
                    "the one without error was kept" if better else "the first was kept",
                )
            )

    def _unanswered(self) -> None:
        for unit in self._units[:-1]:
            for call in sorted(unit.calls - unit.answered.keys()):
                self.problems.append(
                    ReadProblem(
                        unit.line,
                        f"call {call} was never answered",
                        "it stays as it is; a run gives it an error result before a request is sent",
                    )
                )


def ancestor(entry: Entry, parents: Mapping[str, str | None], known: Mapping[str, int]) -> str | None:
    """The nearest entry up the parent chain, other records passed over; None if it leads out of the file."""
    uuid = entry.parent
    seen: set[str] = set()
    while uuid is not None and uuid not in known:
        if uuid in seen:
            return None
        seen.add(uuid)
        uuid = parents.get(uuid)
    return uuid


def without_rewinds(
    entries: Sequence[Entry], parents: Mapping[str, str | None]
) -> tuple[list[Entry], list[ReadProblem]]:
    """The entries less what users went back behind.

    A rewind is a typed prompt whose parent is an earlier entry, with an answer of the model between that is
    no part of a response the kept branch has: parallel calls zig-zag through the chain and are none.
    """
    kept: list[Entry] = []
    places: dict[str, int] = {}
    problems: list[ReadProblem] = []
    for entry in entries:
        if entry.kind == USER and entry.origin in GENUINE and kept:
            uuid = ancestor(entry, parents, places)
            place = places[uuid] if uuid is not None else len(kept) - 1
            if place < len(kept) - 1 and (gone := _abandoned(kept, place)):
                lines = [other.line for other in gone]
                left = {id(other) for other in gone}
                kept = kept[: place + 1] + [other for other in kept[place + 1 :] if id(other) not in left]
                places = {other.uuid: at for at, other in enumerate(kept) if other.uuid}
                problems.append(
                    ReadProblem(
                        entry.line,
                        f"the user went back: {len(gone)} records, lines {lines[0]}-{lines[-1]}, left out",
                        "they belong to a branch that was given up",
                    )
                )
        if entry.uuid:
            places[entry.uuid] = len(kept)
        kept.append(entry)
    return kept, problems


def _abandoned(kept: list[Entry], place: int) -> list[Entry]:
    """What stands behind ``place`` on another branch; nothing if no answer of the model is among it."""
    tail = kept[place + 1 :]
    anchor = kept[place].uuid
    groups = {entry.group for entry in kept[: place + 1] if entry.group}
    if any(entry.kind == COMPACT and anchor in _kept_over(entry) for entry in tail):
        # The chain of a compaction with preserved messages goes past its boundary.
        return []
    calls = {call for entry in kept if entry.group in groups for call in ids_of(entry, "tool_use")}

    def belongs(entry: Entry) -> bool:
        if entry.kind == ASSISTANT:
            return entry.group in groups
        return not calls.isdisjoint(ids_of(entry, "tool_result"))

    if not any(entry.kind == ASSISTANT and not belongs(entry) for entry in tail):
        return []
    return [entry for entry in tail if not belongs(entry)]


def _kept_over(boundary: Entry) -> set[str | None]:
    listed, head, end, _ = preserved_ids(boundary)
    return {*listed, head, end} - {None}


def preserved_ids(boundary: Entry) -> tuple[list[str], str | None, str | None, str | None]:
    """Uuids a boundary lists as preserved; head, tail and anchor of its segment, as far as it has them."""
    metadata = boundary.boundary or {}
    listed: list[str] = []
    anchor: str | None = None
    messages = metadata.get("preservedMessages")
    if isinstance(messages, dict):
        for key in ("uuids", "allUuids"):
            value = messages.get(key)
            if isinstance(value, list) and not listed:
                listed = [uuid for uuid in value if isinstance(uuid, str)]
        anchor = messages.get("anchorUuid")
    segment = metadata.get("preservedSegment")
    head = tail = None
    if isinstance(segment, dict):
        head, tail = segment.get("headUuid"), segment.get("tailUuid")
        anchor = anchor or segment.get("anchorUuid")
    texts = [value if isinstance(value, str) else None for value in (head, tail, anchor)]
    return listed, texts[0], texts[1], texts[2]
