"""What a stage has taken out of messages by a pattern: nobody is shown it again, not by way of a fact either."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..conversation.edits import Mark
from ..conversation.fold import sequence
from .history import RESTORE

if TYPE_CHECKING:
    from .scene import Scene

NO_STAGES = frozenset({"input", "close", RESTORE})
"""Authors of commits that are no stages': repairs, and originals brought back by hand. They hide nothing."""

MASK = "[removed]"
"""What stands in a fact where a pattern matched; the stage's own text belongs to the block it was made for."""


def authors(scene: Scene) -> Mapping[int, str]:
    """The stage of each commit, by the commit's number."""
    return {sequence(one): one.stage for one in scene.history.history.commits}


def redacted(scene: Scene, serial: int, authors: Mapping[int, str]) -> bool:
    """Whether a stage has taken parts out of the message by a pattern.

    Of a stage that the pack no longer has nobody can say what it did.
    """
    hidden: dict[int, bool] = {}
    for number, block, what in scene.overlay.changes.get(serial, ()):
        if what is Mark.ORIGINAL:
            hidden[block] = False
        elif not hidden.get(block):
            hidden[block] = _hides(scene, authors.get(number))
    return any(hidden.values())


def _hides(scene: Scene, author: str | None) -> bool:
    past = scene.history
    # What this run has committed is not in the history yet: it may be any of the stages that did.
    names = past.committed_now if author is None else [] if author in NO_STAGES else [author]
    found = [past.index.by_id.get(name) for name in names]
    return any(stage is None or getattr(stage.params, "pattern", None) is not None for stage in found)


def unsaid(scene: Scene, records: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Records of the traffic without what patterns took out of the messages they were read from."""
    patterns: list[re.Pattern[str]] = [
        pattern
        for stage in scene.history.index.by_id.values()
        if stage.enabled and (pattern := getattr(stage.params, "pattern", None)) is not None
    ]
    if not patterns or not scene.overlay.changes:
        return records
    by = authors(scene)
    known: dict[int, bool] = {}

    def touched(serial: Any) -> bool:
        # The result of a call is in the next message.
        if serial not in known:
            index = scene.base.index_of(serial)
            behind = scene.base.items[index + 1 : index + 2] if index is not None else []
            known[serial] = any(
                redacted(scene, one, by) for one in (serial, *(item.serial for item in behind))
            )
        return known[serial]

    # A record merged from several calls tells the newest of them only.
    return [
        _masked(one, patterns) if one.get("uses", 1) > 1 or touched(one.get("serial")) else one
        for one in records
    ]


def _masked(value: Any, patterns: Sequence[re.Pattern[str]]) -> Any:
    if isinstance(value, str):
        for pattern in patterns:
            value = pattern.sub(lambda found: MASK if found[0] else "", value)
        return value
    if isinstance(value, Mapping):
        return {key: _masked(inner, patterns) for key, inner in value.items()}
    return [_masked(inner, patterns) for inner in value] if isinstance(value, list | tuple) else value
