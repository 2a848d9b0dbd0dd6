"""Everything counted over time, as a fold over the journal's records: stages hold no state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass

from ..conversation.edits import Commit, Edit, Rewrite, Splice
from ..conversation.fold import sequence
from ..conversation.request import Usage
from ..facts import moment
from ..records import Fail, Kept, Note, Record, RunRecord, Undo
from .stage import SENDING

RESTORE = "@restore"
"""Stage name of commits that bring originals back; no stage of a pack can have it."""
HOOK_RESULTS = "hook_results"
"""The fact a commit holds where a hook has answered to its summary."""
OWN_FACTS = frozenset({"told", HOOK_RESULTS})
"""What a commit holds among its facts that was not read from messages."""


def summarizes(commit: Commit) -> bool:
    """Whether the commit puts a summary in the place of messages."""
    return any(_summary(edit) for edit in commit.edits)


def _summary(edit: Edit) -> bool:
    return isinstance(edit, Splice) and any(new.origin == "summary" for new in edit.items)


@dataclass(frozen=True, slots=True)
class RunMark:
    """What later runs need to know of one run; ``tip`` is the serial of its newest message (0: none)."""

    n: int
    event: str
    at: float | None
    tip: int
    length: int
    sent: bool
    estimate: float | None = None


class History:
    """Grows with each record; answers by stage id. Copy it with ``of(records)``.

    ``marked``: digest of the message and block of every cache mark of ours, should the host feed our view back.
    ``told``: the newest usage a host gave by itself, the path length it was about, and the run it was given in.
    """

    def __init__(self) -> None:
        self.runs: list[RunMark] = []
        self.commits: list[Commit] = []
        self.undone: set[str] = set()
        self.last_run: RunRecord | None = None
        self.told: tuple[int, Usage, int] | None = None
        self._undone_at: dict[str, int] = {}
        self.notes: dict[str, Note] = {}
        self.drafts: dict[str, list[Note]] = {}
        self.stored: set[str] = set()
        self.changes_in_place = 0
        self.marked: set[tuple[str, int]] = set()
        self.touched_by: dict[tuple[int, int], str] = {}
        self._path: list[int] = []
        self._blocks: dict[int, int] = {}
        self._judged: dict[str, dict[int, int]] = {}
        self._failures: dict[str, list[int]] = {}
        self._by_stage: dict[str, list[Commit]] = {}
        self._compactions = 0
        self._overflow: dict[str, float] = {}
        self._refusals = 0
        self._origins: dict[int, str] = {}
        self._noted: dict[str, int] = {}

    @classmethod
    def of(cls, records: Iterable[Record]) -> History:
        history = cls()
        for record in records:
            history.add(record)
        return history

    def add(self, record: Record) -> None:
        """Take in one record of the journal."""
        if isinstance(record, RunRecord):
            self._add_run(record)
        elif isinstance(record, Commit):
            self._add_commit(record)
        elif isinstance(record, Undo):
            self.undone.add(record.id)
            self._undone_at[record.id] = self.runs[-1].n if self.runs else 0
        elif isinstance(record, Fail):
            self._failures.setdefault(record.stage, []).append(record.run)
        elif isinstance(record, Kept):
            judged = self._judged.setdefault(record.stage, {})
            for serial in record.serials:
                judged[serial] = self._blocks.get(serial, 1 << 30)
        elif isinstance(record, Note):
            if record.covers:
                self.drafts.setdefault(record.stage, []).append(record)
            else:
                self.notes[record.stage] = record
            self._noted[record.stage] = max(record.run, self._noted.get(record.stage, 0))

    def _add_run(self, record: RunRecord) -> None:
        if record.keep is not None:
            # The newest message is still there, and no message of ours is new: the host changed something before it.
            tip = self._path[-1] if record.keep < len(self._path) else 0
            if tip in record.add and not any(serial in self._origins for serial in record.add):
                self.changes_in_place += 1
            del self._path[record.keep :]
            if self.told is not None and record.keep < self.told[0]:
                self.told = None
        self._path.extend(record.add)
        self._blocks.update(
            zip(record.add[-len(record.blocks) :] if record.blocks else (), record.blocks, strict=True)
        )
        self.marked.update(record.marks)
        tip = self._path[-1] if self._path else 0
        at = None if record.at is None else moment(record.at)
        mark = RunMark(record.n, record.event, at, tip, len(self._path), record.sent, record.estimate)
        self.runs.append(mark)
        if record.usage is not None and record.answered is not None:
            self.told = (record.answered, record.usage, record.n)
        self.last_run = record
        if record.event == "overflow":
            self._refusals += 1
            if record.overflow is not None and record.model is not None:
                known = self._overflow.get(record.model)
                self._overflow[record.model] = (
                    record.overflow if known is None else min(known, record.overflow)
                )
        elif record.event in ("after_response", "before_request"):
            self._refusals = 0

    def _add_commit(self, commit: Commit) -> None:
        self.commits.append(commit)
        self._by_stage.setdefault(commit.stage, []).append(commit)
        self.stored.update(commit.stored.values())
        for edit in commit.edits:
            if isinstance(edit, Rewrite):
                for spot in edit.spots:
                    self.touched_by[spot] = commit.stage
            else:
                self._origins.update((new.serial, new.origin) for new in edit.items)
                self._compactions += _summary(edit)

    # --- commits

    def next_commit(self) -> str:
        """Id of the next commit; ids are counted."""
        return f"c{sequence(self.commits[-1]) + 1 if self.commits else 1}"

    def next_run(self) -> int:
        return self.runs[-1].n + 1 if self.runs else 1

    def live(self) -> list[Commit]:
        """Commits in order, those undone left out."""
        if not self.undone:
            return self.commits
        return [commit for commit in self.commits if commit.id not in self.undone]

    def live_at(self, run: int) -> list[Commit]:
        """The commits that were in force at the end of a run."""
        return [c for c in self.commits if c.run <= run and self._undone_at.get(c.id, run) >= run]

    def commits_of(self, stages: Iterable[str]) -> list[Commit]:
        """All commits of these stages, those undone left out, oldest first within a stage."""
        return [c for stage in stages for c in self._by_stage.get(stage, ()) if c.id not in self.undone]

    def run_mark(self, n: int) -> RunMark | None:
        """The mark of run ``n``."""
        for mark in reversed(self.runs):
            if mark.n == n:
                return mark
            if mark.n < n:
                break
        return None

    def newest_run_of(self, stages: Iterable[str]) -> RunMark | None:
        """The newest run in which one of these stages committed, or whose view its notes were written from."""
        names = list(stages)
        runs = [commit.run for commit in self.commits_of(names)]
        runs += [self._noted[name] for name in names if self._noted.get(name)]
        return self.run_mark(max(runs)) if runs else None

    def considered(self, events: Mapping[str, object]) -> int:
        """Number of the newest finished run whose event is one of these (0: none)."""
        for mark in reversed(self.runs):
            if mark.event in events:
                return mark.n
        return 0

    def committed_since(self, stages: Iterable[str], run: int) -> bool:
        """Whether one of these stages has committed in a run after ``run``."""
        return any(commit.run > run for commit in self.commits_of(stages))

    # --- breaker, once, overflow

    def failures(self, stage: str, after: int) -> tuple[int, float | None]:
        """Bad outcomes of a stage in runs behind ``after``, and the time of the newest."""
        runs = [run for run in self._failures.get(stage, ()) if run > after]
        mark = self.run_mark(runs[-1]) if runs else None
        return len(runs), mark.at if mark else None

    def origin_of(self, serial: int) -> str | None:
        """Origin of a message that an edit brought in."""
        return self._origins.get(serial)

    def restored(self) -> set[tuple[int, int]]:
        """Spots brought back by hand: no stage may touch them."""
        return {
            spot
            for commit in self.commits_of([RESTORE])
            for edit in commit.edits
            if isinstance(edit, Rewrite)
            for spot in edit.spots
        }

    def undone_spots(self) -> tuple[dict[tuple[int, int], set[str]], dict[int, set[str]]]:
        """By spot, and by serial of a covered message: the stages whose change was undone there."""
        spots: dict[tuple[int, int], set[str]] = {}
        serials: dict[int, set[str]] = {}
        for commit in self.commits if self.undone else ():
            if commit.id in self.undone:
                for edit in commit.edits:
                    if isinstance(edit, Rewrite):
                        for spot in edit.spots:
                            spots.setdefault(spot, set()).add(commit.stage)
                    elif isinstance(edit, Splice):
                        for serial in edit.covers:
                            serials.setdefault(serial, set()).add(commit.stage)
        return spots, serials

    def judged_blocks(self, stage: str, serial: int) -> int:
        """How many leading blocks of a message a ``once`` stage has decided about."""
        return self._judged.get(stage, {}).get(serial, 0)

    def snapshot(self) -> History:
        """A history in which the commits, runs and notes stay those of now."""
        twin = copy(self)
        twin.runs, twin.commits, twin.undone = list(self.runs), list(self.commits), set(self.undone)
        twin.notes, twin.drafts = dict(self.notes), {name: list(all_) for name, all_ in self.drafts.items()}
        twin._origins = dict(self._origins)
        return twin

    @property
    def compactions(self) -> int:
        """Commits of summaries so far."""
        return self._compactions

    @property
    def refusals(self) -> int:
        """Requests that the API has refused in a row, before this run."""
        return self._refusals

    def overflow_tokens(self, model: str) -> float | None:
        """The smallest request this model has refused as too long in this session, in tokens."""
        return self._overflow.get(model)

    @property
    def last_sent(self) -> RunMark | None:
        for mark in reversed(self.runs):
            if mark.sent and mark.event in SENDING:
                return mark
        return None
