"""What there is to show of a fact's record: its own text, a file on disk, or what has changed in it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..effects import Core, read
from ..facts import text_of
from ..policy.contents import bytes_in
from ..policy.scene import Scene

READ_LIMIT = 4_000_000
"""Bytes read of one file: more than any budget lets through."""
DIFF_LINES = 5_000
"""Files with more lines are not compared: the time grows with the square of what differs."""
CONTENTS = frozenset({"text", "content", "diff"})
"""Fields of a record that hold its content: they show no more of it than may be shown."""

_NUMBERED = re.compile(r" *\d+[\t→]")


@dataclass(frozen=True, slots=True)
class Content:
    """``text`` None: the record has none. ``cut``: there is more than was read. ``unchanged``: a file that
    does not differ. ``unreadable``: one that cannot be had, or not compared.
    """

    text: str | None = None
    cut: bool = False
    unchanged: bool = False
    unreadable: bool = False


def content_of(scene: Scene, how: str, record: Mapping[str, Any], main: str) -> Core[Content]:
    """The content of a record; ``how`` is ``transcript disk diff``. Raises EffectFailed."""
    if how == "diff" and isinstance(record.get("diff"), str):
        return Content(record["diff"])
    if how == "transcript":
        own = next((record[name] for name in ("content", "text") if isinstance(record.get(name), str)), None)
        return Content(own)
    path = record.get("path", record.get(main))
    text: str | None = None
    if isinstance(path, str):
        text = yield from read(path, READ_LIMIT)
    if text is None or not isinstance(path, str):
        return Content(unreadable=True)
    cut = bytes_in(text) > READ_LIMIT - 4
    if how == "disk":
        return Content(text, cut)
    before = last_read(scene, path)
    if before is None or cut:
        return Content(unreadable=True)
    return _difference(path, before, text)


def _difference(path: str, before: str, now: str) -> Content:
    if _even(before) == _even(now):
        return Content(unchanged=True)
    old, new = before.splitlines(), now.splitlines()
    if max(len(old), len(new)) > DIFF_LINES:
        return Content(unreadable=True)
    return Content("\n".join(difflib.unified_diff(old, new, path, path, lineterm="")))


def _even(text: str) -> list[str]:
    return text.rstrip().splitlines()


def last_read(scene: Scene, path: str) -> str | None:
    """The whole text of a file as the transcript's newest successful read shows it; None if no read does."""
    base = scene.base
    for call in reversed(base.calls):
        if call.result is None:
            continue
        record = next(
            (one for one in scene.files_of(call) if one.get("path") == path and one.get("read")), None
        )
        if record is None:
            continue
        block = base.block(*call.result)
        if block.get("is_error") is True:
            continue
        if record.get("offset") or record.get("limit"):
            return None
        return without_numbers(text_of(block.get("content")))
    return None


def without_numbers(text: str) -> str:
    """A listing without the line numbers a tool put before each line; any other text as it is."""
    lines = text.splitlines(keepends=True)
    if lines and all(_NUMBERED.match(line) for line in lines):
        return "".join(_NUMBERED.sub("", line, count=1) for line in lines)
    return text
