"""The gaps that removed messages leave: what they hold, and what can be said of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..conversation.edits import Splice
from ..conversation.items import is_genuine
from ..facts import text_of
from ..naming import stored_name
from ..policy.scene import Scene
from ._units import MessageUnit
from ._variables import Lazy


@dataclass(frozen=True, slots=True)
class Gap:
    """View items ``[start, stop)`` that go, and serials of the transcript messages they stand for, if any.

    ``tokens`` is an estimate; ``originals`` are the transcript's messages.
    """

    start: int
    stop: int
    serials: tuple[int, ...]
    tokens: int
    originals: tuple[Mapping[str, Any], ...]

    def stored(self, folder: str) -> tuple[str, str]:
        """Store name and text: the original messages as JSON, one a line."""
        text = "".join(
            json.dumps(message, ensure_ascii=False, default=str) + "\n" for message in self.originals
        )
        return stored_name(folder, f"messages-{self.serials[0]}-{self.serials[-1]}", text), text


def gaps(scene: Scene, units: Sequence[MessageUnit], absorb: bool) -> list[Gap]:
    """Neighbouring units as one gap each; with ``absorb`` this stage's older notes beside them go in, too."""
    items = scene.view.items
    cuts = scene.cuts()
    inserted = {new.serial for _, insert in scene.overlay.inserts for new in insert.items}
    notes = _own_notes(scene) if absorb else frozenset()

    def joins(at: int) -> bool:
        """Whether an item that was not selected goes with the gap beside it."""
        info = scene.info(items[at].serial)
        return items[at].serial in notes and not (info is not None and info.pinned)

    spans: list[tuple[int, int]] = []
    for unit in units:
        start, stop = unit.start, unit.stop
        # What a stage inserted behind a message goes with it (ARCHITECTURE §3), selected or not.
        while stop < len(items) and (items[stop].serial in inserted or joins(stop)) and cuts[stop + 1]:
            stop += 1
        least = spans[-1][1] if spans else 0
        while start > least and joins(start - 1) and cuts[start - 1]:
            start -= 1
        if spans and spans[-1][1] >= start:
            spans[-1] = (spans[-1][0], max(stop, spans[-1][1]))
        else:
            spans.append((start, stop))
    return [_gap(scene, start, stop) for start, stop in spans]


def _own_notes(scene: Scene) -> frozenset[int]:
    commits = scene.history.history.commits_of([scene.stage.id])
    return frozenset(
        new.serial
        for commit in commits
        for edit in commit.edits
        if isinstance(edit, Splice)
        for new in edit.items
        if new.origin == "note"
    )


def _gap(scene: Scene, start: int, stop: int) -> Gap:
    chosen = scene.view.items[start:stop]
    covers = {new.serial: splice.covers for _, splice in scene.overlay.splices for new in splice.items}
    base = scene.base
    places = [
        place
        for item in chosen
        for serial in covers.get(item.serial, (item.serial,))
        if (place := base.index_of(serial)) is not None
    ]
    run = base.items[min(places) : max(places) + 1] if places else []
    return Gap(
        start,
        stop,
        tuple(item.serial for item in run),
        sum(item.total for item in chosen),
        tuple(item.message for item in run),
    )


def removed(
    scene: Scene, serials: Sequence[int], blocks: tuple[int, range] | None = None
) -> Mapping[str, Any]:
    """The variable ``removed`` (LANGUAGE §11) for transcript messages, or for some blocks of one view item.

    ``messages`` and ``rounds`` are numbers; ``files`` the paths of the calls, ``commands`` the main fields
    of that fact, ``texts`` the words of users, each list in the order of the conversation.
    """
    wanted = frozenset(serials)
    base = scene.base

    def members() -> list[int]:
        return [at for serial in serials if (at := base.index_of(serial)) is not None]

    def files() -> list[str]:
        if blocks is not None:
            calls = [call for at in blocks[1] if (call := scene.view.call_of(blocks[0], at)) is not None]
        else:
            inside = frozenset(members())
            calls = [call for call in base.calls if call.use[0] in inside]
        return list(dict.fromkeys(path for call in calls for path in scene.paths_of(call)))

    def commands() -> list[Any]:
        field = scene.book.main_field("commands") or "command"
        records = scene.fact("commands") or []
        return [record[field] for record in records if record.get("serial") in wanted and field in record]

    def texts() -> list[str]:
        if blocks is not None:
            shown = [scene.view.block(blocks[0], at) for at in blocks[1]]
            words = [block.get("text") for block in shown if block.get("type") == "text"]
            return [text for text in words if isinstance(text, str)]
        said = [
            text_of(base.items[at].message.get("content")) for at in members() if is_genuine(base.items[at])
        ]
        return [text for text in said if text.strip()]

    return Lazy(
        {
            "messages": lambda: len(serials),
            "rounds": lambda: len(
                {base.round_of[at] for at in members() if base.items[at].role == "assistant"}
            ),
            "files": files,
            "commands": commands,
            "texts": texts,
        }
    )
