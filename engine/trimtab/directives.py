"""Request fields that stages set: how those of several stages go together, and how they are written on a request.

Directives are worked out in every run and never journalled. ``context_management`` joins what the host and the
stages declare; ``cache_marks`` is no field of the API: it holds wishes for cache breakpoints, which are placed when
the request is written, on copies of the messages that get one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from .conversation.digest import digest
from .conversation.items import RESULT, SERVER, Item, blocks_of, kind_of
from .conversation.request import Message, Request
from .validity.base import Limits, leading_system

CONTEXT = "context_management"
WISHES = "cache_marks"

COMPACT_BETA = "compact-2026-09-04"
"""Header of a request that asks for a compaction, or that begins with one (API-FACTS §3)."""

CLEAR_THINKING = "clear_thinking_20251015"
"""The edit the API wants listed first (API-FACTS §2)."""

WHOLE = -1

Marked: TypeAlias = tuple[str, int]
"""Digest of a message that carried a mark of ours, and the block it stood on (``WHOLE``: the content was a string)."""
Position: TypeAlias = tuple[int, int, int]
"""Part of the request (0 tools, 1 system, 2 messages, 3 the request itself), its element, the element's block."""

TOOLS, SYSTEM, MESSAGES, REQUEST = range(4)
MARKABLE = frozenset({"text", "tool_use", "tool_result", "image", "document"})


# ------------------------------------------------------------------------------------------------------- fields


def merge(into: dict[str, Any], new: Mapping[str, Any]) -> None:
    """Add a stage's directives to those of the stages before it; of other fields the later stage's value counts."""
    for name, value in new.items():
        if name == CONTEXT:
            into[name] = joined(into.get(name), value)
        elif name == WISHES:
            into[name] = (*into.get(name, ()), *value)
        else:
            into[name] = value


def joined(first: Any, more: Any) -> Any:
    """Two values of ``context_management`` as one: of each type the first edit, thinking ahead of all others.

    ``first`` stays as it is where the two have different forms (an object with ``edits``, or a list).
    """
    if first is None:
        return more
    old, new = edits_of(first), edits_of(more)
    if old is None or new is None or isinstance(first, Mapping) is not isinstance(more, Mapping):
        return first
    known = [edit.get("type") for edit in old]  # a list: the host's may be of any type
    added = [edit for edit in new if edit.get("type") not in known]
    if not added:
        return first
    edits = in_order([*old, *added])
    return {**first, "edits": edits} if isinstance(first, Mapping) else edits


def edits_of(value: Any) -> list[Mapping[str, Any]] | None:
    """The edits a ``context_management`` holds; none for nothing, None where its form is unknown."""
    found = value.get("edits", []) if isinstance(value, Mapping) else [] if value is None else value
    if not isinstance(found, list | tuple) or not all(isinstance(edit, Mapping) for edit in found):
        return None
    return list(found)


def in_order(edits: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The edits in their order, thinking first."""
    return sorted(edits, key=lambda edit: edit.get("type") != CLEAR_THINKING)


def fields(extra: Mapping[str, Any], directives: Mapping[str, Any]) -> Mapping[str, Any]:
    """The request's other fields with the directives on top; the host's own object where there are none."""
    own = {name: value for name, value in directives.items() if name != WISHES}
    if not own:
        return extra
    if CONTEXT in own:
        own[CONTEXT] = joined(extra.get(CONTEXT), own[CONTEXT])
    return {**extra, **own}


def head(request: Request, items: Sequence[Item]) -> tuple[Any, int]:
    """The system prompt as it is written, and how many leading items of the view it takes in.

    The API takes no system message before the first other one: they are written behind ``system``.
    """
    start = leading_system(items)
    system = request.system
    if start:
        own: list[Any] = (
            []
            if system is None
            else [{"type": "text", "text": system}]
            if isinstance(system, str)
            else [*system]
        )
        system = [*own, *(block for item in items[:start] for block in blocks_of(item.message))]
    return system, start


# -------------------------------------------------------------------------------------------------------- marks


@dataclass(frozen=True, slots=True)
class Wish:
    """``count`` marks at a place (``tools system summary newest_user``) with a life of ``5m`` or ``1h``."""

    place: str
    count: int = 1
    ttl: str = "5m"


@dataclass(frozen=True, slots=True)
class Plan:
    """Where marks go, with their lives; ``placed`` and ``left_out`` count by place, ``already`` what is marked there.

    ``host`` is the number of marks the request brings along.
    """

    marks: Mapping[Position, str] = field(default_factory=dict)
    host: int = 0
    placed: Mapping[str, int] = field(default_factory=dict)
    already: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)


def plan(
    wishes: Iterable[Wish],
    system: Any,
    tools: Sequence[Mapping[str, Any]] | None,
    items: Sequence[Item],
    extra: Mapping[str, Any],
) -> Plan:
    """Fill what the host's marks leave of the API's four, in declared order.

    A place the host has marked needs no other mark.
    """
    host = dict(_host_marks(system, tools, items, extra))
    free = max(0, Limits().max_marks - sum(len(lives) for lives in host.values()))
    marks: dict[Position, str] = {}
    counts: tuple[dict[str, int], ...] = ({}, {}, {})
    placed, already, left_out = counts
    for wish in wishes:
        left = wish.count
        for position in _places(wish.place, system, tools, items):
            if not left:
                break
            left -= 1
            if position in host or position in marks:
                already[wish.place] = already.get(wish.place, 0) + 1
            elif free:
                free -= 1
                marks[position] = wish.ttl
                placed[wish.place] = placed.get(wish.place, 0) + 1
            else:
                left_out[wish.place] = left_out.get(wish.place, 0) + 1
    return Plan(_lives(marks, host), sum(map(len, host.values())), placed, already, left_out)


def _lives(marks: Mapping[Position, str], host: Mapping[Position, Sequence[str]]) -> dict[Position, str]:
    """The API refuses a mark of 1h behind one of 5m.

    What stands before a mark of 1h is written for 1h anyway, so a mark of ours there gets the longer life at no cost;
    behind a host's mark of 5m only the shorter one is left.
    """
    short = min((at for at, lives in host.items() if "1h" not in lives), default=None)
    found = {at: "5m" if short is not None and at > short else life for at, life in marks.items()}
    long = [at for at, life in found.items() if life == "1h"]
    long += [at for at, lives in host.items() if "1h" in lives]
    last = max(long, default=None)
    if last is None:
        return found
    return {at: "1h" if at < last and (short is None or at < short) else life for at, life in found.items()}


def _host_marks(
    system: Any,
    tools: Sequence[Mapping[str, Any]] | None,
    items: Sequence[Item],
    extra: Mapping[str, Any],
) -> Iterator[tuple[Position, list[str]]]:
    """Each marked block with the lives of the marks on it and in it."""
    for part, given in ((TOOLS, tools), (SYSTEM, system)):
        if isinstance(given, list | tuple):
            for at, block in enumerate(given):
                lives = _marks_of(block)
                if lives:
                    yield (part, at, 0), lives
    for index, item in [pair for pair in enumerate(items) if not pair[1].plain]:
        content = item.message.get("content")
        if not isinstance(content, list | tuple):
            continue
        for number, block in enumerate(content):
            if not isinstance(block, Mapping):
                continue
            lives = _marks_of(block)
            inner = block.get("content") if item.mask & RESULT else None
            if isinstance(inner, list | tuple):
                lives = [*lives, *(life for part in inner for life in _marks_of(part))]
            if lives:
                yield (MESSAGES, index, number), lives
    whole = _marks_of(extra)
    if whole:
        yield (REQUEST, 0, 0), whole


def _marks_of(block: Any) -> list[str]:
    mark = block.get("cache_control") if isinstance(block, Mapping) else None
    if mark is None:
        return []
    return [str(mark.get("ttl", "5m")) if isinstance(mark, Mapping) else "5m"]


def _places(
    place: str, system: Any, tools: Sequence[Mapping[str, Any]] | None, items: Sequence[Item]
) -> Iterator[Position]:
    """Where marks for a place may stand, the best first."""
    if place == "tools":
        listed = tools if isinstance(tools, list | tuple) else ()
        for at in reversed(range(len(listed))):
            # A tool that is loaded later is no part of the prefix, and takes no mark.
            if isinstance(listed[at], Mapping) and not listed[at].get("defer_loading"):
                yield TOOLS, at, 0
    elif place == "system":
        blocks = [{"type": "text", "text": system}] if isinstance(system, str) else system
        for at in reversed(range(len(blocks) if isinstance(blocks, list | tuple) else 0)):
            if _markable(blocks[at]):
                yield SYSTEM, at, 0
    elif place == "summary":
        for index in reversed(range(len(items))):
            if items[index].origin == "summary":
                yield from _last_block(items, range(index, index + 1))
    else:
        stop = len(items)
        while stop:
            start = stop
            while start and items[start - 1].role == "user":
                start -= 1
            yield from _last_block(items, range(start, stop))
            stop = start if start < stop else stop - 1


def _last_block(items: Sequence[Item], within: range) -> Iterator[Position]:
    """The last block of neighbouring messages, which the API reads as one, that may carry a mark."""
    for index in reversed(within):
        blocks = _blocks(items[index].message)
        for number in reversed(range(len(blocks))):
            if _markable(blocks[number]):
                yield MESSAGES, index, number
                return


def _blocks(message: Message) -> list[Any]:
    """The blocks as they are, whatever they are; a string is one text block."""
    content = message.get("content")
    return list(content) if isinstance(content, list | tuple) else list(blocks_of(message))


def _markable(block: Any) -> bool:
    """Never thinking, nothing blank, nothing the server alone understands (FAULTS A11)."""
    if not isinstance(block, Mapping) or kind_of(block) not in MARKABLE:
        return False
    if block["type"] == "text":
        text = block.get("text")
        return isinstance(text, str) and bool(text) and not text.isspace()
    if block["type"] != "tool_result":
        return True
    inner = block.get("content")
    if isinstance(inner, str):
        return bool(inner) and not inner.isspace()
    return bool(inner)


# ------------------------------------------------------------------------------------------------------ writing


@dataclass(frozen=True, slots=True)
class Written:
    """A request as it goes out, the serial of each message, and the marks its messages got."""

    request: Request
    serials: tuple[int, ...]
    marks: tuple[Marked, ...] = ()


def write(request: Request, items: Sequence[Item], directives: Mapping[str, Any]) -> Written:
    """The request that shows these items, with the directives on it.

    Nothing of the host's is changed: what gets a mark is copied, and only that.
    """
    system, start = head(request, items)
    shown = items[start:] if start else items
    messages: list[Message] = [item.message for item in shown]
    extra, tools = fields(request.extra, directives), request.tools
    marks: list[Marked] = []
    found = plan(directives[WISHES], system, tools, shown, extra).marks if WISHES in directives else {}
    for (part, at, number), life in sorted(found.items()):
        if part == TOOLS:
            tools = list(tools or ())
            tools[at] = _with_mark(tools[at], life)
        elif part == SYSTEM:
            system = [{"type": "text", "text": system}] if isinstance(system, str) else list(system)
            system[at] = _with_mark(system[at], life)
        else:
            whole = isinstance(messages[at].get("content"), str)
            marks.append((digest(messages[at]), WHOLE if whole else number))
            content = _blocks(messages[at])
            content[number] = _with_mark(content[number], life)
            messages[at] = {**messages[at], "content": content}
    if shown and begins_compacted(shown[0]) and COMPACT_BETA not in (betas := list(extra.get("betas") or ())):
        extra = {**extra, "betas": [*betas, COMPACT_BETA]}
    written = replace(request, messages=messages, system=system, tools=tools, extra=extra, info=())
    return Written(written, tuple([item.serial for item in shown]), tuple(marks))


def begins_compacted(item: Item) -> bool:
    """Whether the message begins with a block that the API has made of all before it, signed for this place."""
    first = next(iter(blocks_of(item.message)), {}) if item.mask & SERVER else {}
    return first.get("type") == "compaction" and bool(first.get("signature"))


def _with_mark(block: Mapping[str, Any], life: str) -> dict[str, Any]:
    # 5m is what the API takes without a word; said only where it is not.
    mark = {"type": "ephemeral"} if life == "5m" else {"type": "ephemeral", "ttl": life}
    return {**block, "cache_control": mark}


def unmarked(request: Request, ours: Collection[Marked], start: int = 0) -> Request:
    """The host's request without the marks that are ours, of a host that feeds our view back; itself if there are none.

    Taken for the host's own, they would stay where they are for ever and use up the four. The messages before
    ``start`` have been looked at.
    """
    if not ours:
        return request
    messages: list[Message] | None = None
    for index in range(start, len(request.messages)):
        message = request.messages[index]
        content = message.get("content") if isinstance(message, Mapping) else None
        if type(content) is not list:
            continue
        for block in content:
            if type(block) is dict and "cache_control" in block:
                cleared = _cleared(message, content, ours)
                if cleared is not message:
                    messages = list(request.messages) if messages is None else messages
                    messages[index] = cleared
                break
    return request if messages is None else replace(request, messages=messages)


def _cleared(message: Message, content: Sequence[Any], ours: Collection[Marked]) -> Message:
    name = digest(message)
    whole = len(content) == 1 and (name, WHOLE) in ours
    numbers = [0] if whole else [number for number in range(len(content)) if (name, number) in ours]
    if not numbers:
        return message
    blocks = list(content)
    for number in numbers:
        blocks[number] = {key: value for key, value in blocks[number].items() if key != "cache_control"}
    if whole and blocks[0].keys() == {"type", "text"}:
        return {**message, "content": blocks[0]["text"]}
    return {**message, "content": blocks}
