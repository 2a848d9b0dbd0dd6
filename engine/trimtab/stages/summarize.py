"""``summarize``: replaces a range of messages by a text, written by a model or filled from a template."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..effects import Core, Effect, wait
from ..policy.evaluation import NoValue
from ..policy.maker import Maker
from ..policy.proposal import Proposal
from ..policy.scene import Scene
from ..policy.standing import end_of
from ..templating import TemplateProblem
from ._compose import DEFAULT, build_parts
from ._failing import failed, no_text
from ._ground import Ground
from ._instructions import Instruction
from ._notes import ready_drafts, still_empty, text_of_note, whole_note, with_late
from ._range import Range, find_range, holds_new
from ._work import Recipe, Work
from ._writer import Writer
from .notes import Notes

LONGEST_WAIT = 86_400.0
"""Seconds a run waits for notes at most, whatever a pack says."""


@dataclass(frozen=True, slots=True)
class Summarize(Recipe):
    """LANGUAGE §10; the raw keys are read here, the work is done in ``_work``."""

    name: ClassVar[str] = "summarize"
    shrinks: ClassVar[bool] = True
    picks: ClassVar[bool] = False

    @classmethod
    def build(cls, raw: Mapping[str, Any], make: Maker) -> Summarize:
        spans = raw.get("spans")
        if spans is not None and "compose" in raw:
            make.problem(
                "`spans` puts each text in its own place: there is nothing to compose",
                "compose",
                code="value",
                hint="take out compose or spans",
            )
        return cls(
            Writer.build(raw, make) if "prompt" in raw else None,
            make.text(raw),
            raw.get("notes"),
            make.quantity(raw["wait_seconds"], "wait_seconds") if "wait_seconds" in raw else None,
            tuple(
                Instruction.build(one, make, "instructions", at)
                for at, one in enumerate(raw.get("instructions") or ())
            ),
            Ground.build(raw["ground"], make) if "ground" in raw else None,
            make.quantity(spans["rounds"], "spans", "rounds") if spans is not None else None,
            raw.get("store"),
            make.template(raw["wrapper"], "wrapper") if "wrapper" in raw else None,
            DEFAULT if spans is not None else build_parts(raw, make),
        )

    @property
    def opaque(self) -> bool:
        """It edits no blocks."""
        return False

    def propose(self, scene: Scene) -> Proposal | Generator[Effect, Any, Proposal]:
        if self.notes is not None:
            return self._from_notes(scene, self.notes)
        if self.writer is None and self.text is None:
            return no_text()
        return self._work(scene)

    def _work(self, scene: Scene) -> Core[Proposal]:
        try:
            place = find_range(scene)
            short = _nothing(scene, place)
            if short is not None:
                return Proposal(reason=short)
            work = Work(self, scene, place)
            return (yield from work.in_spans() if self.spans is not None else work.at_once())
        except (TemplateProblem, NoValue) as problem:
            return failed(problem)

    def _from_notes(self, scene: Scene, notes: str) -> Core[Proposal]:
        """What a notes stage has written, in the place of what it had read; nothing where that cannot be used."""
        request = scene.facts.request
        if scene.event == "manual" and request is not None and (request.from_, request.up_to) != (None, None):
            return Proposal(reason="the request names a place; the notes are about all that was read")
        try:
            if self.wait is not None:
                seconds = min(self.wait.value(scene.name), LONGEST_WAIT)
                scene = with_late(scene, notes, (yield from wait(notes, seconds)))
            stage = scene.history.index.by_id.get(notes)
            writer = stage.params if stage is not None and isinstance(stage.params, Notes) else None
            if (writer is not None and writer.spans is not None) or scene.history.drafts(notes):
                return (yield from self._drafts(scene, notes, writer))
            return (yield from self._whole(scene, notes, writer))
        except (TemplateProblem, NoValue) as problem:
            return failed(problem)

    def _whole(self, scene: Scene, notes: str, writer: Notes | None) -> Core[Proposal]:
        if scene.history.note(notes) is None:
            return Proposal(reason=f"`{notes}` has written nothing yet")
        note = whole_note(scene, notes)
        end = end_of(scene, note.upto) if note is not None else None
        if note is None or end is None:
            return Proposal(
                reason=f"the notes of `{notes}` are out of date: where they end is not on this branch"
            )
        text = yield from text_of_note(scene, note)
        if not text.strip():
            return Proposal(reason=f"the notes of `{notes}` are gone: {note.store} is not in the store")
        sections: tuple[str, ...] = ()
        if writer is not None:
            sections = writer.writer.expects.sections
            text = writer.budget.cut(text, sections, scene) if writer.budget is not None else text
        if still_empty(text, sections, writer.writer.prompt if writer is not None else None):
            return Proposal(reason=f"the notes of `{notes}` are still the empty template")
        place = find_range(scene, end)
        short = _nothing(scene, place)
        if short is not None:
            return Proposal(reason=short)
        work = Work(self, scene, place, {place.parts: text})
        work.remarks["notes"] = {"stage": notes, "upto": note.upto}
        return (yield from work.at_once())

    def _drafts(self, scene: Scene, notes: str, writer: Notes | None) -> Core[Proposal]:
        place = find_range(scene)
        if not place.parts:
            return Proposal(reason=place.reason)
        ready = yield from ready_drafts(scene, notes, place)
        if not ready.texts:
            return Proposal(reason=ready.reason)
        texts = dict(ready.texts)
        if writer is not None and writer.budget is not None:
            texts = {part: writer.budget.cut(text, (), scene) for part, text in texts.items()}
        work = Work(self, scene, place, texts)
        work.remarks["notes"] = {"stage": notes, "spans": len(texts)}
        return (yield from work.in_spans())


def _nothing(scene: Scene, place: Range) -> str | None:
    """Why the range has nothing to be summarized."""
    if not place.parts:
        return place.reason or "nothing to summarize"
    return None if holds_new(scene, place.parts) else "nothing new since the last summary"
