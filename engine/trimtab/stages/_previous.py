"""An earlier summary in the range: its words, without what the wrapper put around them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ..conversation.edits import Splice
from ..conversation.fold import sequence
from ..conversation.items import SERVER, Item, blocks_of
from ..facts import text_of
from ..policy.evaluation import NoValue
from ..policy.scene import Scene
from ..templating import TemplateProblem, Text
from ._variables import variables

_HERE = "\ue000summary\ue000"
"""Stands for the summary while the wrapper's own words are looked for; private-use characters no text has."""
_THOUGHTS = re.compile(r"^[ \t]*(?:Analysis:|<analysis>)[ \t]*$", re.IGNORECASE | re.MULTILINE)
_SUMMARY = re.compile(r"^[ \t]*(?:Summary:|<summary>)[ \t]*$", re.IGNORECASE | re.MULTILINE)


def previous_text(scene: Scene, items: Iterable[Item], wrapper: Text | None) -> str:
    """The words of the earlier summaries among the items, oldest first; empty if there is none."""
    summaries = [item for item in items if item.origin == "summary"]
    # A text beside the summary that the assistant is made to say ("Understood.") is no summary.
    told = [item for item in summaries if item.role != "assistant" or item.mask & SERVER] or summaries
    edges = _edges(scene, wrapper) if told and wrapper is not None else []
    ours = {new.serial for _, splice in scene.overlay.splices for new in splice.items} if told else set()
    found: list[str] = []
    for item in told:
        text = _compacted(item) or unwrapped(text_of(item.message.get("content")), edges)
        found.append(text if item.serial in ours else without_thoughts(text))
    return "\n\n".join([text for text in found if text])


def _compacted(item: Item) -> str:
    """What can be read of a block of the API's own compaction; empty if the message is no such."""
    blocks = blocks_of(item.message) if item.mask & SERVER else ()
    return "\n\n".join([str(one.get("content") or "") for one in blocks if one.get("type") == "compaction"])


def written(scene: Scene, items: Iterable[Item]) -> list[Item]:
    """The items, with summaries that a template filled replaced by the summaries those took the place of.

    What a template fills from facts can be filled anew; what a model wrote under it cannot.
    """
    summaries = [item for item in items if item.origin == "summary"]
    if not summaries:
        return []
    made = {new.serial: at for at, (_, one) in enumerate(scene.overlay.splices) for new in one.items}
    stages = {sequence(commit): commit.stage for commit in scene.history.history.commits}
    return [one for item in summaries for one in _expanded(scene, item, made, stages)]


def _expanded(scene: Scene, item: Item, made: Mapping[int, int], stages: Mapping[int, str]) -> Sequence[Item]:
    at = made.get(item.serial)
    if at is None:
        return [item]
    number, splice = scene.overlay.splices[at]
    stage = scene.history.index.by_id.get(stages.get(number, ""))
    if stage is None or getattr(stage.params, "text", None) is None:
        return [item]
    return [one for inner in _under(scene, at, splice) for one in _expanded(scene, inner, made, stages)]


def _under(scene: Scene, at: int, splice: Splice) -> list[Item]:
    """Summaries that stood where a splice was put, in order."""
    place = {serial: number for number, serial in enumerate(splice.covers)}
    found: list[tuple[int, Item]] = []
    taken: set[int] = set()
    for _, older in reversed(scene.overlay.splices[:at]):
        inside = [serial for serial in older.covers if serial in place]
        if not inside or not taken.isdisjoint(inside):
            continue
        taken.update(inside)
        for new in older.items:
            if new.origin == "summary":
                found.append((place[inside[0]], scene.maker.make(new.serial, new.message, new.origin)[0]))
    for item in scene.base.items:
        if item.origin == "summary" and item.serial in place and item.serial not in taken:
            found.append((place[item.serial], item))
    return [item for _, item in sorted(found, key=lambda one: (one[0], one[1].serial))]


def _edges(scene: Scene, wrapper: Text) -> list[tuple[str, str]]:
    """What the wrapper puts right before and right behind the summary, for each direction."""
    found: list[tuple[str, str]] = []
    for direction in ("whole", "from", "up_to"):
        own = {
            "summary": _HERE,
            "direction": direction,
            "has_tail": False,
            "transcript_path": None,
            "history_path": None,
        }
        try:
            text = wrapper.render(variables(scene, wrapper, own))
        except (TemplateProblem, NoValue):
            continue
        before, here, behind = text.partition(_HERE)
        if here:
            lines = behind.splitlines(keepends=True)
            closing = lines[0] if lines and lines[0].strip() else "".join(lines[:2])
            found.append((before, closing.rstrip("\n")))
    return found


def unwrapped(text: str, edges: Sequence[tuple[str, str]]) -> str:
    """The text between what a wrapper puts around it; the whole text if no wrapper fits."""
    for before, behind in edges:
        if before.strip() and not text.startswith(before):
            continue
        start = len(before) if text.startswith(before) else 0
        end = text.rfind(behind, start) if behind.strip() else len(text)
        if end >= start and (start or end < len(text)):
            return text[start:end].strip()
    return text.strip()


def without_thoughts(text: str) -> str:
    """A host's own summary without the thoughts it left standing in front of it."""
    thoughts = _THOUGHTS.search(text)
    summary = _SUMMARY.search(text, thoughts.end()) if thoughts is not None else None
    if thoughts is None or summary is None:
        return text
    return text[: thoughts.start()] + text[summary.start() :]
