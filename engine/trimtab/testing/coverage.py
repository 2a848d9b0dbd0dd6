"""Which stages of a pack its tests have made fire."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..packs.pack import Pack
from ..policy.stage import Source
from .judging import FIRED
from .playing import Play


@dataclass(slots=True)
class Coverage:
    """Stages, children of ``first_of`` among them, with how often each has fired (been ``committed`` or ``done``)."""

    pack: Pack
    fired: dict[str, int] = field(default_factory=dict)

    def add(self, play: Play) -> None:
        """Count what has fired in a case."""
        for run in play.runs:
            for report in run.reports:
                for one in (report, *report.children):
                    if one.verdict in FIRED:
                        self.fired[one.id] = self.fired.get(one.id, 0) + 1

    @property
    def stages(self) -> list[str]:
        """Every stage that could fire: one that is switched off cannot."""
        return [
            stage.id
            for top in self.pack.stages
            if top.enabled
            for stage in (top, *top.children)
            if stage.enabled
        ]

    @property
    def missing(self) -> list[tuple[str, Source]]:
        """Stages that no case has made fire, and where they stand."""
        found = []
        for name in self.stages:
            stage = self.pack.stage(name)
            if name not in self.fired and stage is not None:
                found.append((name, stage.origin))
        return found

    @property
    def percent(self) -> float:
        """100 where there is nothing to fire."""
        stages = self.stages
        return 100.0 * (len(stages) - len(self.missing)) / len(stages) if stages else 100.0


def lowest(coverages: Iterable[Coverage]) -> float:
    """The percentage of the pack whose tests reach least."""
    return min((each.percent for each in coverages), default=100.0)
