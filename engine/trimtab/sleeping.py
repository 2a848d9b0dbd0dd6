"""Committed edits that have no effect on the present path, and why; they wake when their messages come back."""

from __future__ import annotations

from collections.abc import Sequence, Set

from .conversation.edits import Commit, Edit, Insert, Splice
from .conversation.items import Item
from .receipt import Dropped


def asleep(path: Sequence[Item], commits: Sequence[Commit]) -> tuple[Dropped, ...]:
    """One entry for each commit in force with an edit that has no effect on this path."""
    position = {item.serial: index for index, item in enumerate(path)}
    brought = {
        new.serial
        for commit in commits
        for edit in commit.all_edits
        if isinstance(edit, Splice | Insert)
        for new in edit.items
    }
    serials = [item.serial for item in path]
    found = ((commit, _why(edit, serials, position, brought)) for commit in commits for edit in commit.edits)
    first: dict[str, Dropped] = {}
    for commit, why in found:
        if why is not None:
            first.setdefault(commit.id, Dropped(commit.id, commit.stage, why))
    return tuple(first.values())


def _why(edit: Edit, serials: Sequence[int], position: dict[int, int], brought: Set[int]) -> str | None:
    """Why the edit sleeps; None: it does not, or what it brought is on the path itself."""
    if isinstance(edit, Splice):
        start = position.get(edit.covers[0])
        run = serials[start : start + len(edit.covers)] if start is not None else []
        if tuple(run) == edit.covers or any(new.serial in position for new in edit.items):
            return None
        return "the messages it stands for are not on this branch, or were changed"
    if isinstance(edit, Insert):
        if not edit.after or edit.after in position or any(new.serial in position for new in edit.items):
            return None
        return "the message it stands behind is not on this branch"
    lost = [spot for spot in edit.spots if spot.serial not in position and spot.serial not in brought]
    return "its messages are not on this branch, or were changed" if len(lost) == len(edit.spots) else None
