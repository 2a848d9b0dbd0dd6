"""A recorded session call by call: each request as it was about to go, in the context that client had then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path

from ..conversation.request import Request, Usage
from .base import Boundary, Unreadable, json_lines, regular
from .claude_code import _boundary, _Scan, _start, live_part
from .claude_code_order import Assembly, without_rewinds
from .claude_code_records import ASSISTANT, COMPACT, MICRO, Entry, mark_local_commands, text_of


@dataclass(frozen=True, slots=True)
class Moment:
    """A point of a session at which a request was about to be made.

    ``request`` holds what stood before it in that context, with the usages known by then; its model is that of
    the call. A call has ``id`` (of its response) and, where it was recorded, ``usage``: what the API counted
    for this very request. A compaction has ``boundary`` instead; its request is the one that client replaced by
    a summary, its model that of the call before. ``context`` counts from 0, up with each compaction;
    ``client`` is the version that wrote the record, ``at`` epoch seconds, ``line`` counts from 1.
    """

    context: int
    request: Request
    line: int
    at: float | None = None
    client: str | None = None
    id: str | None = None
    usage: Usage | None = None
    boundary: Boundary | None = None


def moments(path: str | Path) -> Iterator[Moment]:
    """The calls and compactions of a Claude Code session file, in file order.

    A response that the user later went back behind is among them: its request was made. Requests share blocks,
    never lists. Raises Unreadable where the file holds no record of that format, OSError where it cannot be
    opened.
    """
    file = regular(Path(path))
    scan = _Scan(file)
    entries = scan.conversation()
    if not entries:
        raise Unreadable("there is no message in it", "is it a session file of Claude Code?", str(file))
    mark_local_commands(entries)
    prefixes = _Prefixes(entries, scan)
    usages = {entry.group: entry.usage for entry in entries if entry.group and entry.usage}
    clients = _clients(file, {entry.line for entry in entries})
    history = Assembly(entry for entry in entries if entry.origin != "summary")
    seen: set[str] = set()
    model = ""
    for at, entry in enumerate(entries):
        client = clients.get(entry.line)
        if entry.kind == COMPACT:
            context, request = prefixes.request(at, model)
            boundary = _boundary(entry, history)
            yield Moment(context, request, entry.line, entry.at, client, boundary=boundary)
        elif entry.kind == ASSISTANT and entry.group and entry.group not in seen:
            seen.add(entry.group)
            model = entry.model or model
            context, request = prefixes.request(at, model)
            usage = usages.get(entry.group)
            yield Moment(context, request, entry.line, entry.at, client, entry.group, usage)


class _Prefixes:
    """What a reader would find live in a file that ends before an entry."""

    def __init__(self, entries: Sequence[Entry], scan: _Scan) -> None:
        self._entries = entries
        self._scan = scan
        # A rewind is told from what stands before it: without one in the whole there is none in a part.
        self._rewinds = bool(without_rewinds(entries, scan.parents)[1])
        self._starts: list[int] = []

    def request(self, end: int, model: str) -> tuple[int, Request]:
        """Number of the context before entry ``end``, and its request."""
        entries = list(self._entries[:end])
        if self._rewinds:
            entries = without_rewinds(entries, self._scan.parents)[0]
        start = _start(entries)
        if start is not None and entries[start].line not in self._starts:
            self._starts.append(entries[start].line)
        scan = copy(self._scan)
        last = entries[-1].line if entries else 0
        scan.repeats = {uuid: line for uuid, line in self._scan.repeats.items() if line <= last}
        live = live_part(entries, scan)[0]
        cleared = frozenset(call for entry in entries if entry.kind == MICRO for call in _cleared(entry))
        shown = Assembly(entries if live is None else live, cleared)
        context = self._starts.index(entries[start].line) + 1 if start is not None else 0
        return context, Request(model=model, messages=shown.messages, info=shown.info)


def _cleared(entry: Entry) -> Iterator[str]:
    listed = (entry.boundary or {}).get("compactedToolIds")
    return (call for call in listed if isinstance(call, str)) if isinstance(listed, list) else iter(())


def _clients(path: Path, lines: set[int]) -> dict[int, str]:
    """Version of the client that wrote each of these lines; the one before where a line has none."""
    found: dict[int, str] = {}
    client: str | None = None
    for line, record in json_lines(path, []):
        client = text_of(record, "version") or client
        if client is not None and line in lines:
            found[line] = client
    return found
