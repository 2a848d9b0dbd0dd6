"""One run while it goes on: what every step may use and add to; thrown away unless the run ends well."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .conversation.edits import Commit, Rewrite, Splice
from .conversation.items import Item
from .conversation.view import View
from .policy.history import HOOK_RESULTS, History
from .policy.proposal import Later, NoteText, Notice, Proposal
from .policy.scene import Scene, UsageThen
from .policy.values import ConditionReport
from .receipt import StageReport, Trouble
from .records import Fail, Kept, Note
from .trial import Bench, Standing, Trial


@dataclass(frozen=True, slots=True)
class Begun:
    """Work of a stage that run ``n`` leaves for later, with a scene that stays as it is."""

    stage: str
    n: int
    scene: Scene
    later: Later


@dataclass
class Run:
    """One run while it goes on; thrown away unless it ends well.

    ``busy`` says of a stage whether its background job has begun and not been taken over; ``jobs`` are the accounts
    of jobs taken over at the start, ``begun`` is what this run leaves for later.
    """

    n: int
    event: str
    bench: Bench
    standing: Standing
    history: History
    make_scene: Callable[[Run], Scene]
    fact_snapshot: Callable[[Sequence[int]], dict[str, Any]]
    snapshot: Callable[[Scene], Scene]
    full: bool = False
    busy: Callable[[str], bool] = lambda stage: False
    commits: list[Commit] = field(default_factory=list)
    shown: list[dict[int, Item | None]] = field(default_factory=list)
    fails: list[Fail] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    notes: list[tuple[Note, str]] = field(default_factory=list)
    begun: list[Begun] = field(default_factory=list)
    jobs: list[StageReport] = field(default_factory=list)
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

    def note(self, stage: str, note: NoteText, read: int) -> None:
        """Keep a note with this run; ``read`` is the number of the run whose view it was written from."""
        self.notes.append((Note(stage, note.upto, note.store, read, note.covers), note.text))

    def begin(self, stage: str, scene: Scene, later: Later) -> None:
        """Leave work for after the run, on the scene as it is now."""
        self.begun.append(Begun(stage, self.n, self.snapshot(scene), later))

    def settle(self, stage: str, trial: Trial, proposal: Proposal, last: bool = True) -> Commit:
        """Make the trial's view the view, and its edits a commit; ``last`` of the proposal's, if it has several."""
        before = self.standing.view
        covered = [serial for edit in trial.edits if isinstance(edit, Splice) for serial in edit.covers]
        facts: dict[str, Any] = self.fact_snapshot(covered) if covered else {}
        if "told" in proposal.remarks:
            facts["told"] = proposal.remarks["told"]
        if last and HOOK_RESULTS in proposal.remarks:
            facts[HOOK_RESULTS] = [{"text": proposal.remarks[HOOK_RESULTS]}]
        stored = proposal.stored
        if proposal.apart:
            inside = frozenset(covered)
            stored = {spot: name for spot, name in stored.items() if spot.serial in inside}
        commit = Commit(
            f"c{self.number}", stage, self.n, trial.edits, trial.repairs, stored=stored, facts=facts
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
