"""The transcript's messages behind a range of the view, also those an earlier summary stands for."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..conversation.edits import Mark, Splice
from ..conversation.fold import homes, merge, rewrite
from ..conversation.items import Item
from ..policy.scene import Scene
from ._range import Range


def covered(scene: Scene, place: Range) -> list[int]:
    """Places in the transcript that the range stands for, in order, without what stays shown outside it."""
    items, base = scene.view.items, scene.base
    plain = scene.overlay.empty or not (scene.overlay.splices or scene.overlay.inserts)
    home = {} if plain else homes(base.items, scene.overlay)
    found: set[int] = set()
    for start, stop in place.parts:
        runs: list[tuple[int, int]] = []
        for index in range(start, stop):
            at = base.index_of(items[index].serial)
            span = (at, at) if at is not None else home.get(items[index].serial, (-1, -1))
            if span[0] >= 0:
                runs.append(span)
        if runs:
            found.update(range(min(first for first, _ in runs), max(last for _, last in runs) + 1))
    inside = set(place.indexes())
    for index, item in enumerate(items):
        if index not in inside:
            at = base.index_of(item.serial)
            if at is not None:
                found.discard(at)
    return sorted(found)


def transcript_items(scene: Scene, places: Collection[int]) -> Mapping[int, Item | None]:
    """Every message of the transcript by its place, those of ``places`` as the view shows or would show them.

    None: a stage has dropped it on purpose.
    """
    dropped = _dropped(scene)
    wanted = frozenset(places)
    found: dict[int, Item | None] = {}
    for at, item in enumerate(scene.base.items):
        if at not in wanted:
            found[at] = item
            continue
        shown = scene.view.index_of(item.serial)
        if shown is not None:
            found[at] = scene.view.items[shown]
        else:
            found[at] = None if item.serial in dropped else _rewritten(scene, item)
    return found


def _rewritten(scene: Scene, item: Item) -> Item | None:
    """A hidden message with what stages had changed in it before it was hidden."""
    changes = scene.overlay.changes.get(item.serial)
    if not changes:
        return item
    merged = merge(changes)
    if all(merged.get(number) is Mark.REMOVE for number in range(len(item.chars))):
        return None
    return rewrite(
        item, {number: what for number, what in merged.items() if number < len(item.chars)}, scene.maker
    )


def _dropped(scene: Scene) -> frozenset[int]:
    """Serials under a splice that is no summary's: a ``drop`` took them out."""
    by_id = scene.history.index.by_id
    stages = {commit.id: commit.stage for commit in scene.history.history.commits}
    found: set[int] = set()
    for number, splice in scene.overlay.splices:
        stage = by_id.get(stages.get(f"c{number}", ""))
        summarizes = stage.kind == "summarize" if stage is not None else _summarizes(splice)
        if not summarizes:
            found.update(splice.covers)
    return frozenset(found)


def _summarizes(splice: Splice) -> bool:
    return any(new.origin not in ("note",) for new in splice.items)
