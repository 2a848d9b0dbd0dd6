"""What a trial costs and frees, against the view it was made for and the request last sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import floor

from .conversation.edits import Rewrite, Splice, Spot
from .conversation.items import Item
from .conversation.view import View
from .policy.scene import Scene
from .policy.stage import Stage
from .receipt import Change, StageReport
from .running import Run
from .trial import Bench, Trial


def measure(run: Run, scene: Scene, stage: Stage, report: StageReport, trial: Trial) -> StageReport:
    view = trial.standing.view
    changed, loss = first_changed(run.bench, view, scene.factor)
    spots: list[Spot] = []
    gone: list[int] = []
    brought: list[int] = []
    for edit in trial.edits:
        if isinstance(edit, Rewrite):
            spots.extend(edit.spots)
        else:
            brought.extend(new.serial for new in edit.items)
            if isinstance(edit, Splice):
                gone.extend(edit.covers)
    stored = bool(getattr(stage.params, "store", None))
    restorable = ("stored" if stored else "transcript") if spots or gone else None
    return replace(
        report,
        spots=tuple(spots),
        messages=tuple(gone),
        brought=tuple(brought),
        tokens=Change(floor(scene.tokens), floor(scene.figure_of(view))),
        bytes=Change(scene.bytes, scene.bytes - scene.view.bytes + view.bytes),
        first_changed=changed,
        cache_loss_tokens=loss,
        thinking_loss=trial.thinking_loss,
        restorable=restorable,
    )


def first_changed(bench: Bench, view: View, factor: float) -> tuple[int | None, int]:
    """First message that differs from the last sent view, and the sent tokens behind it; (None, 0): an append.

    Before the first request of ours the raw transcript counts as sent. The tokens are those of the figure:
    estimate times ``factor``.
    """
    sent: Sequence[Item] = bench.base.items if bench.sent is None else bench.sent.items
    if bench.sent is not None and bench.sent.head != bench.head:
        return 0, round(factor * sum(item.total for item in sent))
    items = view.items
    size = min(len(sent), len(items))
    if items[:size] == sent[:size] and size == len(sent):
        return None, 0
    index = next((i for i in range(size) if items[i] is not sent[i]), size)
    return index, round(factor * sum([item.total for item in sent[index:]]))
