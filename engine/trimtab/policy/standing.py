"""Whether messages that something was written about are still there, however the host keeps its list."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..conversation.edits import Mark, Splice
from ..conversation.fold import homes
from .protection import MADE
from .scene import Scene

LOOSE = MADE - {"summary"}
"""Origins of messages of ours that trail another one."""


def brought(scene: Scene) -> Callable[[int], bool]:
    """Tells of a serial whether an edit brought the message in, also where the host has taken it into its list."""
    commits = scene.history.commits_now
    now = {new.serial for commit in commits for edit in commit.edits for new in getattr(edit, "items", ())}
    history = scene.history.history
    return lambda serial: serial in now or history.origin_of(serial) is not None


def place_of(scene: Scene, serial: int) -> int | None:
    """Index in the transcript of a message, or of what a host that feeds our view back has in its place.

    None: it is not on this branch, or was changed.
    """
    seen: set[int] = set()
    while (found := scene.base.index_of(serial)) is None and serial not in seen:
        seen.add(serial)
        brought = _instead(scene, serial)
        if brought is None:
            return None
        serial = brought
    return found


def _instead(scene: Scene, serial: int) -> int | None:
    """The last message of the newest splice that covers this one."""
    for _, splice in reversed(scene.overlay.splices):
        if serial in splice.covers and splice.items:
            return splice.items[-1].serial
    return None


def missing(scene: Scene, serials: Iterable[int]) -> int | None:
    """The first of these messages that has changed or is gone; those that edits took out are not gone."""
    lost = [serial for serial in serials if scene.base.index_of(serial) is None]
    if not lost:
        return None
    covering: dict[int, Splice] = {}
    for _, splice in scene.overlay.splices:
        covering.update(dict.fromkeys(splice.covers, splice))
    for serial in lost:
        over = covering.get(serial)
        taken = any(what is Mark.REMOVE for _, _, what in scene.overlay.changes.get(serial, ()))
        if over is not None:
            taken = not over.items or place_of(scene, serial) is not None
        if not taken:
            return serial
    return None


def end_of(scene: Scene, serial: int) -> int | None:
    """Place of the view behind a message of the transcript and what trails it; None as in ``place_of``."""
    place = place_of(scene, serial)
    if place is None:
        return None
    items, base = scene.view.items, scene.base
    plain = not (scene.overlay.splices or scene.overlay.inserts)
    home = {} if plain else homes(base.items, scene.overlay)
    end = len(items)
    while end:
        at = base.index_of(items[end - 1].serial)
        if (home.get(items[end - 1].serial, (-1, -1))[1] if at is None else at) <= place:
            break
        end -= 1
    ours = brought(scene)
    while end < len(items) and items[end].origin in LOOSE and ours(items[end].serial):
        end += 1
    return end


def last_read(scene: Scene, stop: int) -> int | None:
    """Serial of the last message of the host's own before a place of the view; None: there is none."""
    ours = brought(scene)
    for item in reversed(scene.view.items[:stop]):
        if scene.base.index_of(item.serial) is not None and not ours(item.serial):
            return item.serial
    return None


def read_up_to(scene: Scene, serial: int) -> tuple[int, ...]:
    """Serials of the host's own messages up to and with this one."""
    place, ours = scene.base.index_of(serial), brought(scene)
    items = scene.base.items[: 0 if place is None else place + 1]
    return tuple([item.serial for item in items if not ours(item.serial)])
