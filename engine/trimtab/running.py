"""One run while it goes on: what every step may use and add to; thrown away unless the run ends well."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .conversation.edits import Commit, Rewrite, Splice
from .conversation.items import Item
from .conversation.view import View
from .policy.history import History
from .policy.proposal import Notice, Proposal
from .policy.scene import Scene, UsageThen
from .policy.values import ConditionReport
from .receipt import StageReport, Trouble
from .records import Fail, Kept
from .trial import Bench, Standing, Trial


@dataclass
class Run:
    """One run while it goes on; thrown away unless it ends well."""

    n: int
    event: str
    bench: Bench
    standing: Standing
    history: History
    make_scene: Callable[[Run], Scene]
    fact_snapshot: Callable[[Sequence[int]], dict[str, Any]]
    full: bool = False
    commits: list[Commit] = field(default_factory=list)
    shown: list[dict[int, Item | None]] = field(default_factory=list)
    fails: list[Fail] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    committed_now: list[str] = field(default_factory=list)
    reports: list[StageReport] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    usage: UsageThen | None = None
    refused: float | None = None
    directives: dict[str, Any] = field(default_factory=dict)
    problems: list[Trouble] = field(default_factory=list)
    ceilings: list[tuple[float, float]] = field(default_factory=list)
    looked_at: dict[str, tuple[ConditionReport, ...]] = field(default_factory=dict)
    number: int = 0
    _scene: Scene | None = None

    def scene(self) -> Scene:
        """The scene of the view as it stands; made anew after each commit."""
        if self._scene is None:
            self._scene = self.make_scene(self)
        return self._scene

    def forget_scene(self) -> None:
        """Make the scene anew: something it shows has become known."""
        self._scene = None

    def settle(self, stage: str, trial: Trial, proposal: Proposal) -> Commit:
        """Make the trial's view the view, and its edits a commit."""
        before = self.standing.view
        covered = [serial for edit in trial.edits if isinstance(edit, Splice) for serial in edit.covers]
        facts: dict[str, Any] = self.fact_snapshot(covered) if covered else {}
        if "told" in proposal.remarks:
            facts["told"] = proposal.remarks["told"]
        commit = Commit(
            f"c{self.number}", stage, self.n, trial.edits, trial.repairs, stored=proposal.stored, facts=facts
        )
        self.commits.append(commit)
        self.shown.append(touched(commit, trial.standing.view, before))
        self.number += 1
        self.standing = trial.standing
        self._scene = None
        return commit


def touched(commit: Commit, view: View, before: View) -> dict[int, Item | None]:
    """Each message the commit changed or brought in, as it shows now; None where no block is left."""
    out: dict[int, Item | None] = {}
    for edit in commit.all_edits:
        if isinstance(edit, Rewrite):
            serials = {spot.serial for spot in edit.spots}
        else:
            serials = {new.serial for new in edit.items}
        for serial in serials:
            index = view.index_of(serial)
            if index is not None:
                out[serial] = view.items[index]
            elif before.index_of(serial) is not None:
                out[serial] = None
    return out
