"""What is known of the conversation where a summary is written: facts up to its range, the open request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..conversation.items import USE
from ..facts import MENTIONS, text_of
from ..policy.scene import Scene
from ._originals import covered
from ._range import Range


def pending_text(scene: Scene) -> str:
    """The words of the last user message; empty if a response without a call has answered it."""
    view = scene.view
    if view.last_user is None:
        return ""
    behind = [item for item in view.items[view.last_user + 1 :] if item.origin == "assistant"]
    if behind and not behind[-1].mask & USE:
        return ""
    return text_of(view.items[view.last_user].message.get("content"))


def read_fact(scene: Scene, name: str, place: Range) -> Sequence[Mapping[str, Any]] | None:
    """A fact's records from the range and what came before it; what the tail shows is left to the tail.

    Merged records and those of which only the newest counts are whole, whatever they were read from.
    """
    if name == MENTIONS and scene.facts.records(name) is None:
        items = scene.view.items
        return scene.mentions([items[index] for index in place.indexes()])
    records = scene.fact(name)
    rule = scene.book.rules.get(name)
    if not records or (rule is not None and (rule.key or rule.last)):
        return records
    places = covered(scene, place)
    if not places:
        return records
    last = places[-1]

    def before(record: Mapping[str, Any]) -> bool:
        serial = record.get("serial")
        at = scene.base.index_of(serial) if isinstance(serial, int) else None
        return at is None or at <= last

    return [record for record in records if before(record)]
