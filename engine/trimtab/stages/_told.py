"""What a stage has told the model, as far as the view still shows it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..conversation.edits import New, Rewrite
from ..facts import TOLD, Record, text_of
from ..policy.scene import Scene


@dataclass(slots=True)
class Told:
    """Of one entry: main fields told so far, digest of the newest text, and the set announced by deltas."""

    keys: set[Any] = field(default_factory=set)
    digest: str | None = None
    present: dict[Any, None] = field(default_factory=dict)

    def add(self, told: Mapping[str, Any]) -> None:
        """Take in what a later commit says it told."""
        self.keys.update(told.get("keys", ()))
        self.digest = told.get("digest", self.digest)
        for key in told.get("removed", ()):
            self.present.pop(key, None)
        self.present.update(dict.fromkeys(told.get("added", ())))


def told_by(scene: Scene, stage: str) -> dict[str, Told]:
    """By entry, what the stage's commits have told and the view still shows.

    An attachment that a summary has swallowed, that lies on another branch, or whose text a stage has taken
    out, has told nothing.
    """
    found: dict[str, Told] = {}
    for commit in scene.history.history.commits_of([stage]):
        told = commit.facts.get("told")
        if not isinstance(told, Mapping):
            continue
        brought = [new for edit in commit.edits if not isinstance(edit, Rewrite) for new in edit.items]
        if any(_shown(scene, new) for new in brought):
            for key, what in told.items():
                found.setdefault(key, Told()).add(what)
    return found


def told_by_host(scene: Scene, records: Iterable[Record]) -> set[str]:
    """Ids, out of the records' ``told``, of the host's own messages that the view shows as they came."""
    wanted = {name for record in records if isinstance(name := record.get(TOLD), str)}
    if not wanted:
        return wanted
    view, base = scene.view, scene.base
    found: set[str] = set()
    for serial, info in scene.infos.items():
        if info.id is None or info.id not in wanted:
            continue
        shown, original = view.index_of(serial), base.index_of(serial)
        if shown is None or original is None:
            continue
        if view.items[shown].message is base.items[original].message:
            found.add(info.id)
    return found


def _shown(scene: Scene, new: New) -> bool:
    index = scene.view.index_of(new.serial)
    if index is None:
        return False
    shown = scene.view.items[index].message
    return shown is new.message or text_of(new.message.get("content")) in text_of(shown.get("content"))
