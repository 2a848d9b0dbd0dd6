"""``notes``: writes or brings up to date a text that a ``summarize`` uses later; edits nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..conversation.items import Item
from ..effects import Core, EffectFailed, put
from ..naming import stored_name
from ..policy.evaluation import NoValue
from ..policy.expressions import Quantity
from ..policy.gates import Best, possible
from ..policy.maker import Maker
from ..policy.proposal import Later, ModelCall, NoteText, Proposal
from ..policy.scene import Scene
from ..policy.standing import brought, end_of, last_read, read_up_to
from ..templating import TemplateProblem
from ._expects import Refused
from ._failing import failed
from ._instructions import Instruction, instructions
from ._known import pending_text
from ._notes import FOLDER, Budget, drafts, still_empty, text_of_note, whole_note
from ._previous import previous_text
from ._range import Part, Range, find_range, holds_new, pieces
from ._writer import Task, Writer, Written


@dataclass(frozen=True, slots=True)
class Notes:
    """LANGUAGE §10. ``spans``: rounds of a piece that gets a text of its own; ``background``: it may wait."""

    name: ClassVar[str] = "notes"
    shrinks: ClassVar[bool] = False
    picks: ClassVar[bool] = False

    writer: Writer
    sources: tuple[Instruction, ...] = ()
    spans: Quantity | None = None
    budget: Budget | None = None
    background: bool = False

    @classmethod
    def build(cls, raw: Mapping[str, Any], make: Maker) -> Notes:
        return cls(
            Writer.build(raw, make),
            tuple(
                Instruction.build(one, make, "instructions", at)
                for at, one in enumerate(raw.get("instructions") or ())
            ),
            make.quantity(raw["spans"]["rounds"], "spans", "rounds") if "spans" in raw else None,
            Budget.build(raw["budget"], make) if "budget" in raw else None,
            raw.get("background") is True,
        )

    @property
    def opaque(self) -> bool:
        """It edits no blocks."""
        return False

    def propose(self, scene: Scene) -> Proposal:
        """What there is to be written about, worked out at once; the writing is left for later."""
        try:
            place = find_range(scene, by_request=False)
            if not place.parts:
                held = f": {', '.join(place.held_by)}" if place.held_by else ""
                return Proposal(reason=f"nothing to take notes of{held}")
            if self.spans is not None:
                return self._spans(scene, place, self.spans)
            return self._whole(scene, place)
        except (TemplateProblem, NoValue) as problem:
            return failed(problem)

    # --- one text about everything

    def _whole(self, scene: Scene, place: Range) -> Proposal:
        upto = last_read(scene, place.stop)
        start = _start(scene, place)
        if upto is None or not holds_new(scene, [(start, place.stop)]):
            return Proposal(reason="nothing new since the last notes")
        return self._later(scene, place.stop - start, lambda later: self._bring_up(later, place, upto))

    def _bring_up(self, scene: Scene, place: Range, upto: int) -> Core[Proposal]:
        """The notes so far brought up to date; written anew where there are none."""
        try:
            note, known, start = whole_note(scene, scene.stage.id), "", place.start
            if note is not None:
                known = yield from text_of_note(scene, note)
            if known.strip():
                start = _start(scene, place)
            elif self.writer.input.apart:
                known = previous_text(scene, scene.view.items[start : place.stop], None)
            task = Task(start, place.stop, math.inf, "whole", known, self._wishes(scene), pending_text(scene))
            written = yield from self.writer.write(scene, task, "notes")
            failure = self._judged(written)
            if failure is not None:
                return _refused(failure, written.calls, written.remarks)
            name, text = yield from self._keep(scene, written)
        except (TemplateProblem, NoValue) as problem:
            return failed(problem)
        return Proposal(
            notes=(NoteText(upto, name, text, reads=read_up_to(scene, upto)),),
            items=place.stop - start,
            calls=tuple(written.calls),
            remarks={**written.remarks, "upto": upto, "stored": name},
        )

    # --- a text for each span

    def _spans(self, scene: Scene, place: Range, spans: Quantity) -> Proposal:
        rounds = max(1, int(min(spans.value(scene.name), 1e9)))
        known = [part for part, _ in drafts(scene, scene.stage.id)]
        view, ours = scene.view, brought(scene)
        found: list[tuple[Part, tuple[int, ...]]] = []
        for part in pieces(scene, _without(place.parts, known), rounds):
            inside = view.items[part[0] : part[1]]
            covers = tuple(
                [i.serial for i in inside if scene.base.index_of(i.serial) is not None and not ours(i.serial)]
            )
            # A piece that is not full yet may still grow.
            if covers and _rounds(scene, part) >= rounds:
                found.append((part, covers))
        if not found:
            return Proposal(reason=f"no further span of {rounds} rounds")
        size = sum(stop - start for (start, stop), _ in found)
        return self._later(scene, size, lambda later: self._each(later, found))

    def _each(self, scene: Scene, found: Sequence[tuple[Part, tuple[int, ...]]]) -> Core[Proposal]:
        """The spans in order, each told what came before; one that fails ends it, and those before it stand."""
        notes: list[NoteText] = []
        calls: list[ModelCall] = []
        remarks: dict[str, Any] = {}
        try:
            wishes, pending = self._wishes(scene), pending_text(scene)
            known = drafts(scene, scene.stage.id)
            for part, covers in found:
                items = scene.view.items[part[0] : part[1]]
                before = yield from self._before(scene, part, notes, known)
                room = scene.tokens_of(sum([item.total for item in items]))
                task = Task(*part, room, "whole", before, wishes, pending)
                written = yield from self.writer.write(scene, task, "notes")
                calls.extend(written.calls)
                failure = self._judged(written)
                if failure is not None:
                    if not notes:
                        return _refused(failure, calls, written.remarks)
                    remarks["stopped"] = f"{failure.reason}: {failure.message}"
                    break
                try:
                    name, text = yield from self._keep(scene, written)
                except EffectFailed as problem:
                    if not notes:
                        raise
                    remarks["stopped"] = f"not stored: {problem}"
                    break
                notes.append(NoteText(covers[-1], name, text, covers, covers))
        except (TemplateProblem, NoValue) as problem:
            if not notes:
                return failed(problem)
            remarks["stopped"] = str(problem)
        remarks["spans"] = [[note.covers[0], note.covers[-1]] for note in notes]
        return Proposal(notes=tuple(notes), items=len(notes), calls=tuple(calls), remarks=remarks)

    def _before(
        self, scene: Scene, part: Part, notes: Sequence[NoteText], known: Sequence[tuple[Part, Any]]
    ) -> Core[str]:
        """The record of what came right before: this time's last text, an earlier one, or a summary."""
        earlier = [note for (_, stop), note in known if stop <= part[0]]
        if notes and (not earlier or notes[-1].upto > earlier[-1].upto):
            return notes[-1].text
        if earlier:
            return (yield from text_of_note(scene, earlier[-1]))
        summaries: list[Item] = [item for item in scene.view.items[: part[0]] if item.origin == "summary"]
        return previous_text(scene, summaries[-1:], None)

    # --- both

    def _later(self, scene: Scene, items: int, write: Any) -> Proposal:
        if not possible(scene.stage.accept, scene, Best(0, 0, items)):
            return Proposal(refused=True, reason="accept cannot hold: notes free nothing")
        return Proposal(later=Later(write, self.background))

    def _wishes(self, scene: Scene) -> str:
        return instructions(self.sources, scene, None)

    def _judged(self, written: Written) -> Refused | None:
        """Why the text cannot be kept."""
        if written.text is None:
            return written.failure or Refused("error", "no text")
        assumed = any(call.assumed for call in written.calls)
        if not assumed and still_empty(written.text, self.writer.expects.sections, self.writer.prompt):
            return Refused("empty", "the answer is still the empty template")
        return None

    def _keep(self, scene: Scene, written: Written) -> Core[tuple[str, str]]:
        """Write the text to the store: its name there, and the text. Raises EffectFailed."""
        text = written.text or ""
        name = stored_name(FOLDER, scene.stage.id, text)
        yield from put(name, text)
        return name, text


def _start(scene: Scene, place: Range) -> int:
    """Where in the range begins what the notes so far do not know."""
    note = whole_note(scene, scene.stage.id)
    end = end_of(scene, note.upto) if note is not None else None
    return place.start if end is None else min(max(place.start, end), place.stop)


def _refused(why: Refused, calls: Sequence[ModelCall], remarks: Mapping[str, Any]) -> Proposal:
    reason = f"{why.reason}: {why.message}"
    return Proposal(failure=why.reason, reason=reason, calls=tuple(calls), remarks=remarks)


def _rounds(scene: Scene, part: Part) -> int:
    items, round_of = scene.view.items, scene.view.round_of
    return len({round_of[at] for at in range(*part) if items[at].role == "assistant"})


def _without(parts: Sequence[Part], taken: Sequence[Part]) -> list[Part]:
    """The parts of the view without those that are taken."""
    free: list[Part] = []
    for start, stop in parts:
        at = start
        for first, last in taken:
            if last <= at or first >= stop:
                continue
            if first > at:
                free.append((at, first))
            at = max(at, last)
        if at < stop:
            free.append((at, stop))
    return free
