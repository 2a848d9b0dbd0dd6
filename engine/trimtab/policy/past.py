"""History as one run sees it: what has happened since, in this run and in those before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..conversation.edits import Commit
from ..conversation.view import View
from ..matching import Categories
from ..records import Fail, Note
from .history import HOOK_RESULTS, History, RunMark, summarizes
from .stage import Stage


@dataclass(frozen=True, slots=True)
class StageIndex:
    """The stages of a pack by id; a child of ``first_of`` answers to its parent's events."""

    by_id: Mapping[str, Stage]
    parent: Mapping[str, str]

    @classmethod
    def of(cls, stages: Sequence[Stage]) -> StageIndex:
        by_id: dict[str, Stage] = {}
        parent: dict[str, str] = {}
        for stage in stages:
            by_id[stage.id] = stage
            for child in stage.children:
                by_id[child.id] = child
                parent[child.id] = stage.id
        return cls(by_id, parent)

    def events(self, stage: str) -> Mapping[str, object]:
        """The events a stage lists."""
        found = self.by_id.get(self.parent.get(stage, stage))
        return found.at if found is not None else {}

    def family(self, stages: Sequence[str]) -> list[str]:
        """These stages and their children."""
        out: list[str] = []
        for name in stages:
            out.append(name)
            found = self.by_id.get(name)
            if found is not None:
                out.extend(child.id for child in found.children)
        return out

    def leaves_nothing(self, stage: str) -> bool:
        """Whether what this stage leaves of a block shows nothing of the original; so too of one the pack lacks."""
        found = self.by_id.get(stage)
        return found is None or found.params is None or found.params.opaque


@dataclass(frozen=True, slots=True)
class Past:
    """``committed_now`` names the stages that committed in this run, in order; ``commits_now`` are their commits,
    ``notes_now`` the notes of this run with their texts, ``fails_now`` its failures.
    """

    history: History
    index: StageIndex
    base: View
    event: str
    now: float | None
    factor: float
    categories: Categories
    at: Callable[[int], float | None]
    committed_now: Sequence[str]
    commits_now: Sequence[Commit] = ()
    notes_now: Sequence[tuple[Note, str]] = ()
    fails_now: Sequence[Fail] = ()

    @property
    def compactions(self) -> int:
        return self.history.compactions

    @property
    def overflows(self) -> int:
        return self.history.refusals + (1 if self.event == "overflow" else 0)

    def failures(self, stage: str) -> tuple[int, float | None]:
        """Outcomes in a row that count against the stage's breaker, and the time of the newest, if known."""
        newest = self._mark(self.index.family([stage]))
        count, at = self.history.failures(stage, newest.n if newest else 0)
        now = [fail for fail in self.fails_now if fail.stage == stage]
        return (count + len(now), self.now) if now else (count, at)

    def committed(self, stages: Sequence[str], own: str) -> str | None:
        """Which of the stages (or a child of it) has committed since stage ``own`` was last considered."""
        considered = self.history.considered(self.index.events(own))
        for name in stages:
            family = self.index.family([name])
            if any(stage in self.committed_now for stage in family):
                return name
            if self.history.committed_since(family, considered):
                return name
        return None

    def gained(self, unit: str, stages: Sequence[str], tools: Sequence[str], own: str) -> float | None:
        """What the transcript gained after the newest mark (LANGUAGE §7, ``since``); None: unknown."""
        if not stages and not tools:
            stages = (own,)
        family = self.index.family(stages)
        if any(stage in self.committed_now for stage in family):
            return 0.0
        mark = self._mark(family)
        place = self._place(mark) if mark is not None else -1
        at = mark.at if mark is not None else None
        if tools:
            called = self._newest_call(tools)
            if called > place:
                place, at = called, self.at(self.base.items[called].serial)
        if unit == "minutes":
            if place < 0 and at is None and self.base.items:
                at = self.at(self.base.items[0].serial)
            return None if self.now is None or at is None or at > self.now else (self.now - at) / 60
        return self._count(unit, place)

    def _mark(self, family: Sequence[str]) -> RunMark | None:
        """The newest mark of these stages; notes handed in at the start of this run count, too."""
        mark = self.history.newest_run_of(family)
        runs = [note.run for note, _ in self.notes_now if note.stage in family]
        if runs and (mark is None or max(runs) > mark.n):
            return self.history.run_mark(max(runs)) or mark
        return mark

    def note(self, stage: str) -> Note | None:
        """The newest notes of a stage about all it had read."""
        now = [note for note, _ in self.notes_now if note.stage == stage and not note.covers]
        return now[-1] if now else self.history.notes.get(stage)

    def drafts(self, stage: str) -> list[Note]:
        """The notes of a stage about single spans, oldest first."""
        now = [note for note, _ in self.notes_now if note.stage == stage and note.covers]
        return [*self.history.drafts.get(stage, ()), *now]

    def with_notes(self, notes: Sequence[tuple[Note, str]]) -> Past:
        """With further notes and their texts."""
        return replace(self, notes_now=(*self.notes_now, *notes))

    def text_now(self, store: str) -> str | None:
        """The text of a note of this run, by its file's name."""
        return next((text for note, text in self.notes_now if note.store == store), None)

    def hook_results(self) -> list[Mapping[str, Any]]:
        """What the hook said after the newest summary: one record, or none."""
        for commit in (*reversed(self.commits_now), *reversed(self.history.live())):
            if commit.id not in self.history.undone and summarizes(commit):
                return list(commit.facts.get(HOOK_RESULTS, ()))
        return []

    def snapshot(self, base: View) -> Past:
        """The past as it is now, over a transcript that does not grow."""
        return replace(
            self,
            history=self.history.snapshot(),
            base=base,
            committed_now=tuple(self.committed_now),
            commits_now=tuple(self.commits_now),
            notes_now=tuple(self.notes_now),
            fails_now=tuple(self.fails_now),
        )

    def _place(self, mark: RunMark) -> int:
        """Index in the transcript of the newest message at that run; on another branch, where that one left ours."""
        found = self.base.index_of(mark.tip)
        if found is not None:
            return found
        items = self.base.items
        return next((index for index in range(len(items) - 1, -1, -1) if items[index].serial <= mark.tip), -1)

    def _newest_call(self, tools: Sequence[str]) -> int:
        """Index of the newest message that calls a tool of these categories; -1: none does."""
        used = self.base.used.items()
        return max((index for name, index in used if self.categories.matches(name, tools)), default=-1)

    def _count(self, unit: str, place: int) -> float | None:
        base = self.base
        if unit == "tokens":
            return base.tokens_after(place) * self.factor
        if unit == "messages":
            return len(base.items) - 1 - place
        if unit == "rounds":
            return base.rounds - (base.round_of[place] if place >= 0 else 0)
        if unit == "turns":
            before = base.turn_of[place] + 1 if place >= 0 and base.turns else 0
            return max(0, base.turns - before)
        if unit == "tool_calls":
            count = 0
            for call in reversed(base.calls):
                if call.use[0] <= place:
                    break
                count += 1
            return count
        return None
