"""History as one run sees it: what has happened since, in this run and in those before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..conversation.view import View
from ..matching import Categories
from .history import History, RunMark
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
    """``committed_now`` names the stages that committed in this run, in order."""

    history: History
    index: StageIndex
    base: View
    event: str
    now: float | None
    factor: float
    categories: Categories
    at: Callable[[int], float | None]
    committed_now: Sequence[str]

    @property
    def compactions(self) -> int:
        return self.history.compactions

    @property
    def overflows(self) -> int:
        return self.history.refusals + (1 if self.event == "overflow" else 0)

    def failures(self, stage: str) -> tuple[int, float | None]:
        """Outcomes in a row that count against the stage's breaker, and the time of the newest, if known."""
        newest = self.history.newest_run_of(self.index.family([stage]))
        return self.history.failures(stage, newest.n if newest else 0)

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
        mark = self.history.newest_run_of(family)
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
