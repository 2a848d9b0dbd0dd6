"""Messages a manual request names and no stage took, each with the reason: nobody should have to guess."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from .facts.host import Name
from .policy.relations import places, serial_of
from .policy.scene import Scene
from .policy.stage import Stage
from .receipt import Trouble
from .running import Run

LEFT = "left-alone"
"""Code of these problems."""


def left_alone(run: Run, before: Scene, stages: Mapping[str, Stage]) -> list[Trouble]:
    """One problem for each message named by itself, or as an end of a range, that is as it was before the run.

    None where no stage went by what was named: its report says what it was skipped for.
    """
    request = before.facts.request
    if run.event != "manual" or request is None or not request.messages:
        return []
    reports = [one for report in run.reports for one in (report, *report.children)]
    judged = [
        (stage, report)
        for report in reports
        if (stage := stages.get(report.id)) is not None
        and stage.select is not None
        and stage.select.asks
        and report.verdict != "skipped"
    ]
    if not judged:
        return []
    stage, report = judged[-1]
    touched = {spot.serial for one in reports for spot in one.spots}
    after, view = run.standing.view, before.view
    protection = replace(before, stage=stage).protection()
    names = [name for one in request.messages for name in (one if isinstance(one, tuple) else (one,))]
    place = places(before)
    found: list[Trouble] = []
    for name in dict.fromkeys(names):
        index = place(name)
        if index is None:
            why = "it is not shown any more" if _was_here(before, name) else "no message has this id"
        else:
            serial = view.items[index].serial
            if after.index_of(serial) is None or serial in touched:
                continue
            why = protection.why(index) or _judgement(report.verdict, report.reason)
        found.append(Trouble(LEFT, why, str(name)))
    return found


def _was_here(scene: Scene, name: Name) -> bool:
    serial = serial_of(name)
    return serial is not None and scene.base.index_of(serial) is not None


def _judgement(verdict: str, reason: str | None) -> str:
    if verdict in ("refused", "failed") and reason:
        return reason
    return "it can go only with its whole round, in which something must stay"
