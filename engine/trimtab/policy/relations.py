"""How calls and messages relate to later ones: superseded, repeated, concluding, requested, refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..conversation.items import USE
from ..conversation.view import Call, View
from .contents import Block, carries
from .metrics import SceneLike

Use = tuple[int, int]
"""Where a call stands: item and block of the view."""

SERIAL_DIGITS = 18
"""More digits than any serial has; a number a model makes up may be of any length."""
MEDIA_ERRORS = frozenset({"media_too_large", "too_many_media", "bad_media"})


def succeeded(view: View, call: Call) -> bool:
    """Whether the call has a result that is no error."""
    return call.result is not None and view.block(*call.result).get("is_error") is not True


def lines_of(record: Mapping[str, Any]) -> tuple[float, float] | None:
    """The lines a record covers, from (inclusive) and to (exclusive); None if they cannot be told.

    Tools count lines from 0 or from 1, so a start at either is the start of the file.
    """
    start, limit = _count(record.get("offset"), 0), _count(record.get("limit"), math.inf)
    if start is None or limit is None:
        return None
    start = 0 if start <= 1 else start
    return start, start + limit


def _count(value: Any, missing: float) -> float | None:
    if value is None:
        return missing
    if isinstance(value, str) and value.strip().isdecimal():
        return float(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return float(value)
    return None


def superseded(scene: SceneLike, categories: Sequence[str]) -> frozenset[Use]:
    """Calls all of whose paths a later successful call of these categories names again.

    A later record that is an edit supersedes whatever came before; any other one only what covers no
    line more than it does itself.
    """
    view = scene.view
    matches = scene.categories.matches
    found: set[Use] = set()
    edited: set[str] = set()
    read: dict[str, list[tuple[float, float]]] = {}
    for call in reversed(view.calls):
        records = [one for one in scene.files_of(call) if isinstance(one.get("path"), str)]
        if not records:
            continue
        if all(_is_covered(one, edited, read) for one in records):
            found.add(call.use)
        if matches(call.name, categories) and succeeded(view, call):
            for one in records:
                if one.get("edited") is True:
                    edited.add(one["path"])
                elif (lines := lines_of(one)) is not None:
                    read.setdefault(one["path"], []).append(lines)
    return frozenset(found)


def _is_covered(
    record: Mapping[str, Any], edited: set[str], read: Mapping[str, list[tuple[float, float]]]
) -> bool:
    path = record["path"]
    if path in edited:
        return True
    later = read.get(path)
    if not later:
        return False
    lines = lines_of(record)
    if lines is None:
        return any(start == 0 and end == math.inf for start, end in later)
    return any(start <= lines[0] and end >= lines[1] for start, end in later)


def repeated(view: View) -> frozenset[Use]:
    """Calls of which a later answered call of the same tool has the same input."""
    groups: dict[tuple[str, int], list[Call]] = {}
    for call in view.calls:
        # Equal inputs have equal sizes, so only neighbours in size are written out and compared.
        size = view.items[call.use[0]].chars[call.use[1]]
        groups.setdefault((call.name, size), []).append(call)
    found: set[Use] = set()
    for group in groups.values():
        if len(group) < 2:
            continue
        later: set[str] = set()
        for call in reversed(group):
            key = json.dumps(call.input, sort_keys=True, default=repr)
            if key in later:
                found.add(call.use)
            if call.result is not None:
                later.add(key)
    return frozenset(found)


def concluding(view: View) -> frozenset[int]:
    """The last assistant message of each turn, as items; of the newest turn only if it calls no tool."""
    last: dict[int, int] = {}
    for index, item in enumerate(view.items):
        if item.origin == "assistant":
            last[view.turn_of[index]] = index
    newest = max(0, view.turns - 1)
    return frozenset(
        index for turn, index in last.items() if turn != newest or not view.items[index].mask & USE
    )


def requested(scene: SceneLike) -> frozenset[int]:
    """Items the manual request names, one by one or as ranges with both ends; a range with an unknown end is none."""
    request = scene.facts.request
    if request is None or scene.event != "manual" or not request.messages:
        return frozenset()
    place = places(scene)
    taken = bytearray(len(scene.view.items))
    for named in request.messages:
        first, last = named if isinstance(named, tuple) else (named, named)
        ends = place(first), place(last)
        if ends[0] is not None and ends[1] is not None:
            start, stop = min(ends[0], ends[1]), max(ends[0], ends[1]) + 1
            taken[start:stop] = b"\1" * (stop - start)
    return frozenset(index for index, one in enumerate(taken) if one)


def places(scene: SceneLike) -> Callable[[object], int | None]:
    """The item a name means: a serial, or the host's id; digits in a text that are no id are a serial."""
    ids: dict[str, int] = {}
    for index, item in enumerate(scene.view.items):
        info = scene.info(item.serial)
        if info is not None and info.id is not None:
            ids.setdefault(info.id, index)

    def place(name: object) -> int | None:
        if isinstance(name, str) and name in ids:
            return ids[name]
        serial = serial_of(name)
        return None if serial is None else scene.view.index_of(serial)

    return place


def serial_of(name: object) -> int | None:
    """The serial a name is, or spells; None: it can be none."""
    if isinstance(name, str) and name.isdecimal() and len(name) <= SERIAL_DIGITS:
        return int(name)
    return name if isinstance(name, int) and not isinstance(name, bool) else None


def is_refused(scene: SceneLike, index: int, number: int, block: Block) -> bool:
    """Whether the overflow error names this block; if it names none, whether it can be about it."""
    refusal = scene.refusal
    if refusal is None or scene.event != "overflow":
        return False
    if refusal.blocks:
        return (index, number) in refusal.blocks
    return refusal.kind not in MEDIA_ERRORS or carries(block, "image") or carries(block, "document")
