"""An earlier summary in the range: its words, without what the wrapper put around them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..conversation.items import Item
from ..facts import text_of
from ..policy.evaluation import NoValue
from ..policy.scene import Scene
from ..templating import TemplateProblem, Text
from ._variables import variables

_HERE = "\ue000summary\ue000"
"""Stands for the summary while the wrapper's own words are looked for; private-use characters no text has."""


def previous_text(scene: Scene, items: Iterable[Item], wrapper: Text | None) -> str:
    """The words of the earlier summaries among the items, oldest first; empty if there is none."""
    summaries = [item for item in items if item.origin == "summary"]
    # A text beside the summary that the assistant is made to say ("Understood.") is no summary.
    told = [item for item in summaries if item.role != "assistant"] or summaries
    edges = _edges(scene, wrapper) if told and wrapper is not None else []
    found = [unwrapped(text_of(item.message.get("content")), edges) for item in told]
    return "\n\n".join([text for text in found if text])


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
