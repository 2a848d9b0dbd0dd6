"""Session files of Claude Code (JSONL), clients 1.0 to 2.1: the live context and the whole history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..conversation.request import Request
from .base import (
    NO_MODEL,
    Boundary,
    ReadProblem,
    Recording,
    Unreadable,
    epoch,
    head_objects,
    json_lines,
    odd_time,
)
from .claude_code_facts import Gathered
from .claude_code_order import Assembly, ancestor, preserved_ids, without_rewinds
from .claude_code_records import (
    ASSISTANT,
    COMPACT,
    MICRO,
    Entry,
    Malformed,
    entry_of,
    ids_of,
    mark_local_commands,
    number_of,
    text_of,
)

MESSAGE_TYPES = frozenset({"user", "assistant", "attachment"})
OTHER_TYPES = frozenset(
    {"progress", "system", "file-history-snapshot", "queue-operation", "summary"}
    | {"custom-title", "last-prompt", "mode", "permission-mode", "ai-title", "agent-name"}
)
"""Record types that never reach the model but tell the format; a file may begin with dozens of them."""


class ClaudeCode:
    """Reader of main and sub-agent session files."""

    name = "claude-code"
    about = "a session file of Claude Code: one JSON record a line"

    def detects(self, head: bytes) -> bool:
        if head.lstrip()[:1] == b"[":
            return False
        records = head_objects(head)
        if not records:
            # One line longer than the head: a first message with a large paste.
            return b'"parentUuid"' in head[:4096] or (
                b'"sessionId"' in head[:4096] and b'"uuid"' in head[:4096]
            )
        return any(
            (kind in MESSAGE_TYPES and (isinstance(record.get("message"), dict) or "attachment" in record))
            or (
                kind in OTHER_TYPES
                and ("sessionId" in record or "leafUuid" in record or "messageId" in record)
            )
            for record in records
            if isinstance(kind := record.get("type"), str)
        )

    def read(self, path: Path) -> Recording:
        scan = _Scan(path)
        entries = scan.conversation()
        if not any(entry.kind not in (COMPACT, MICRO) for entry in entries):
            raise Unreadable(
                "there is no message in it", "is it the session file, not its settings?", str(path)
            )
        mark_local_commands(entries)
        problems = scan.problems
        entries, rewinds = without_rewinds(entries, scan.parents)
        problems += rewinds

        history = Assembly(entry for entry in entries if entry.origin != "summary")
        live_entries, notes = live_part(entries, scan)
        problems += notes
        cleared = frozenset(
            uuid for entry in entries if entry.kind == MICRO for uuid in _texts(entry, "compactedToolIds")
        )
        live = history if live_entries is None and not cleared else Assembly(live_entries or entries, cleared)
        problems += dict.fromkeys([*history.problems, *live.problems])

        models = [entry.model for entry in entries if entry.kind == ASSISTANT and entry.model]
        model = next(
            (
                entry.model
                for entry in reversed(live_entries or entries)
                if entry.kind == ASSISTANT and entry.model
            ),
            models[-1] if models else "",
        )
        if not model:
            problems.append(
                ReadProblem(
                    0, "no response in it names a model", "name one, or unknown limits hold", NO_MODEL
                )
            )
        whole = Request(model=model, messages=history.messages, info=history.info)
        now_live = whole if live is history else Request(model=model, messages=live.messages, info=live.info)
        problems.sort(key=lambda problem: (problem.line == 0, problem.line))
        meta = scan.meta | {
            "models": tuple(dict.fromkeys(models)),
            "boundaries": tuple(
                _boundary(entry, history) for entry in entries if entry.kind in (COMPACT, MICRO)
            ),
        }
        return Recording(self.name, str(path), now_live, whole, tuple(problems), meta, scan.gathered.facts())


class _Scan:
    """One pass over the file: entries, the parent chain of all records, and what the file says of itself."""

    def __init__(self, path: Path) -> None:
        self.problems: list[ReadProblem] = []
        self.parents: dict[str, str | None] = {}
        self.repeats: dict[str, int] = {}
        self.entries: list[Entry] = []
        self.gathered = Gathered()
        self._aside = Gathered()
        records: Counter[str] = Counter()
        facts: dict[str, str | None] = dict.fromkeys(("version", "sessionId", "cwd", "gitBranch", "agentId"))
        newest: float | None = None
        seen: set[str] = set()
        for line, record in json_lines(path, self.problems):
            kind = record.get("type")
            if not isinstance(kind, str):
                self.problems.append(ReadProblem(line, "the record has no type", "the line was left out"))
                continue
            records[kind] += 1
            uuid = text_of(record, "uuid")
            if uuid is not None:
                self.parents.setdefault(uuid, text_of(record, "parentUuid"))
                if uuid in seen:
                    self.repeats[uuid] = line
                    continue
            at = epoch(record.get("timestamp"))
            if at is None and (odd := odd_time(record.get("timestamp"), line)) is not None:
                self.problems.append(odd)
            if at is not None and (newest is None or at > newest):
                newest = at
            try:
                entry = entry_of(line, record)
            except Malformed as problem:
                self.problems.append(ReadProblem(line, str(problem), "the line was left out"))
                continue
            for key in facts:
                facts[key] = text_of(record, key) or facts[key]
            if uuid is not None:
                seen.add(uuid)
            (self._aside if record.get("isSidechain") is True else self.gathered).take(record)
            if entry is not None:
                self.entries.append(entry)
        self.meta: dict[str, Any] = {
            "version": facts["version"],
            "session": facts["sessionId"],
            "cwd": facts["cwd"],
            "branch": facts["gitBranch"],
            "agent": None,
            "now": newest,
            "records": dict(records),
            "repeated": len(self.repeats),
        }
        self._agent = facts["agentId"]

    def conversation(self) -> list[Entry]:
        """The main thread; of a file that is all sidechain (a sub-agent's), everything."""
        main = [entry for entry in self.entries if not entry.side]
        if any(entry.kind not in (COMPACT, MICRO) for entry in main):
            return main
        self.meta["agent"] = self._agent
        self.gathered = self._aside
        return self.entries


def live_part(entries: Sequence[Entry], scan: _Scan) -> tuple[list[Entry] | None, list[ReadProblem]]:
    """The context after the last compaction: its summary, what it preserved, the rest; None: everything."""
    start = _start(entries)
    if start is None:
        return None, []
    boundary = entries[start]
    problems: list[ReadProblem] = []
    if boundary.kind != COMPACT:
        problems.append(
            ReadProblem(boundary.line, "a summary without a boundary before it", "it was taken as one")
        )
        return list(entries[start:]), problems
    rest = list(entries[start + 1 :])
    if not any(entry.origin == "summary" for entry in rest):
        problems.append(
            ReadProblem(
                boundary.line, "no summary follows the last boundary", "the live context begins behind it"
            )
        )
    if start == 0 or all(entry.kind == MICRO for entry in entries[:start]):
        problems.append(
            ReadProblem(
                boundary.line,
                "the conversation before the first boundary is in another file",
                "the history begins behind it",
            )
        )
    preserved = _preserved(entries, start, scan, problems)
    if not preserved:
        return rest, problems
    anchor = preserved_ids(boundary)[3]
    place = next((at for at, entry in enumerate(rest) if anchor is not None and entry.uuid == anchor), None)
    if place is None:
        place = next((at for at, entry in enumerate(rest) if entry.origin == "summary"), -1)
    return rest[: place + 1] + preserved + rest[place + 1 :], problems


def _start(entries: Sequence[Entry]) -> int | None:
    """Index of the last boundary, or of a later summary that has none of its own."""
    boundary = summary = None
    for at, entry in enumerate(entries):
        if entry.kind == COMPACT:
            boundary = at
        elif entry.origin == "summary":
            summary = at
    if summary is None or (boundary is not None and summary < boundary):
        return boundary
    if boundary is None or any(entry.kind == ASSISTANT for entry in entries[boundary:summary]):
        return summary
    return boundary


def _preserved(entries: Sequence[Entry], start: int, scan: _Scan, problems: list[ReadProblem]) -> list[Entry]:
    """What the boundary keeps of the entries before it, in file order, responses whole and with results."""
    boundary = entries[start]
    places = {entry.uuid: at for at, entry in enumerate(entries[:start]) if entry.uuid}
    listed, head, tail, _ = preserved_ids(boundary)
    if not listed and head in places and tail in places:
        listed = _segment(entries, places, scan, head, tail)
    missing = [uuid for uuid in listed if uuid not in places and uuid not in scan.parents]
    if missing or (not listed and tail is not None):
        count = len(missing) or "all"
        problems.append(
            ReadProblem(
                boundary.line,
                f"{count} of the messages this compaction preserved are not in the file",
                "the live context lacks them; they may be in the session this one came from",
            )
        )
    wanted = {uuid for uuid in listed if uuid in places}
    # A client may also write preserved records anew, with the uuids they had.
    last = max(boundary.line, scan.repeats.get(boundary.uuid or "", 0))
    wanted |= {uuid for uuid, line in scan.repeats.items() if line > last and uuid in places}
    chosen = {places[uuid] for uuid in wanted}
    groups = {entries[at].group for at in chosen} - {None}
    calls = {call for at in chosen for call in ids_of(entries[at], "tool_result")}
    groups |= {entry.group for entry in entries[:start] if entry.group and calls & ids_of(entry, "tool_use")}
    calls = {call for entry in entries[:start] if entry.group in groups for call in ids_of(entry, "tool_use")}
    return [
        entry
        for at, entry in enumerate(entries[:start])
        if entry.kind not in (COMPACT, MICRO)
        and (at in chosen or (entry.group and entry.group in groups) or calls & ids_of(entry, "tool_result"))
    ]


def _segment(
    entries: Sequence[Entry], places: dict[str, int], scan: _Scan, head: str | None, tail: str | None
) -> list[str]:
    """The chain from tail up to head; where it does not lead there, everything between them in the file."""
    if head is None or tail is None:
        return []
    chain: list[str] = []
    uuid: str | None = tail
    while uuid is not None and uuid in places:
        chain.append(uuid)
        if uuid == head:
            return chain
        earlier = ancestor(entries[places[uuid]], scan.parents, places)
        uuid = earlier if earlier is not None and places[earlier] < places[uuid] else None
    return [entry.uuid for entry in entries[places[head] : places[tail] + 1] if entry.uuid]


def _texts(entry: Entry, key: str) -> tuple[str, ...]:
    value = (entry.boundary or {}).get(key)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _boundary(entry: Entry, history: Assembly) -> Boundary:
    metadata = entry.boundary or {}
    return Boundary(
        kind=entry.kind,
        trigger=text_of(metadata, "trigger"),
        pre_tokens=number_of(metadata, "preTokens"),
        post_tokens=number_of(metadata, "postTokens"),
        at=entry.at,
        position=history.position(entry.line),
        cleared=_texts(entry, "compactedToolIds"),
    )
