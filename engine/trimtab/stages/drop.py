"""``drop``: takes out messages, whole rounds at a time, or blocks: thinking whole, a call with its result."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..conversation.edits import Mark, Rewrite, Spot
from ..conversation.items import MESSAGE_TOKENS
from ..effects import Effect, put
from ..policy.evaluation import NoValue
from ..policy.maker import Maker
from ..policy.narrowing import joined, narrow, size_of_view
from ..policy.offer import Offer
from ..policy.proposal import Cover, Draft, Proposal, ViewEdit
from ..policy.scene import Scene
from ..policy.selection import Candidate
from ..templating import TemplateProblem, Text
from ._failing import failed
from ._freed import Freed
from ._gaps import Gap, gaps, removed
from ._units import BlockUnit, MessageUnit, bare_thinking, block_units, gap_runs, message_units
from ._variables import variables


@dataclass(frozen=True, slots=True)
class Drop:
    """``text``, if there is one, is left at each gap; ``store`` is a folder of the store; ``offer`` is the tool by
    which the model may ask for it.
    """

    name: ClassVar[str] = "drop"
    shrinks: ClassVar[bool] = True
    picks: ClassVar[bool] = True

    text: Text | None = None
    store: str | None = None
    offer: Offer | None = None

    @classmethod
    def build(cls, raw: Mapping[str, Any], make: Maker) -> Drop:
        return cls(make.text(raw), raw.get("store"), Offer.build(raw, make))

    @property
    def opaque(self) -> bool:
        return True

    def propose(self, scene: Scene) -> Generator[Effect, Any, Proposal]:
        try:
            if scene.chosen.candidates[0].block is None:
                return (yield from self._messages(scene))
            return (yield from self._blocks(scene))
        except (TemplateProblem, NoValue) as problem:
            return failed(problem)

    # --- messages

    def _messages(self, scene: Scene) -> Generator[Effect, Any, Proposal]:
        units = message_units(scene)
        if not units:
            return Proposal(reason="every round selected also holds a message that must stay")
        freed = Freed(scene)
        items = scene.view.items

        def gain(unit: MessageUnit) -> float:
            return sum(freed.tokens(items[at], items[at].total, 0) for at in range(unit.start, unit.stop))

        found: list[Gap] = []
        notes = 0.0
        # Notes take room that `fit` must find, and which there will be is known only when the gaps are.
        for _ in range(2):
            taken = self._narrow(scene, units, gain, notes)
            found = gaps(scene, taken, absorb=self.text is not None)
            before, notes = notes, sum(self._note_tokens(scene, gap) for gap in found)
            if notes <= before:
                break
        edits: list[ViewEdit] = []
        stored: dict[Spot, str] = {}
        unmarked = count = 0
        for gap in found:
            path = None
            if self.store is not None and gap.serials:
                name, text = gap.stored(self.store)
                path = yield from put(name, text)
                stored.update({Spot(serial, 0): name for serial in gap.serials})
            note = self._note(scene, gap, path)
            drafts: tuple[Draft, ...] = ()
            if note is not None:
                drafts = (Draft({"role": "user", "content": note}, "note"),)
            elif self.text is not None and gap.serials:
                unmarked += 1
            count += gap.stop - gap.start
            edits.append(Cover(gap.start, gap.stop, drafts))
        remarks = {"gaps_without_text": unmarked} if unmarked else {}
        reason = None if edits else "the view fits"
        return Proposal(tuple(edits), items=count, stored=stored, reason=reason, remarks=remarks)

    def _note(self, scene: Scene, gap: Gap, path: str | None = None) -> str | None:
        """The text for a gap; None where there is none, or it would not be smaller than what goes."""
        if self.text is None or not gap.serials:
            return None
        own = {"removed": removed(scene, gap.serials), "path": path}
        text = self.text.render(variables(scene, self.text, own))
        if not text.strip() or scene.maker.count(text) + MESSAGE_TOKENS >= gap.tokens:
            return None
        return text

    def _note_tokens(self, scene: Scene, gap: Gap) -> float:
        if scene.stage.fit is None:
            return 0.0
        note = self._note(scene, gap)
        if note is None:
            return 0.0
        if scene.stage.fit.unit == "tokens":
            return scene.tokens_of(scene.maker.count(note) + MESSAGE_TOKENS)
        return len(note)

    # --- blocks

    def _blocks(self, scene: Scene) -> Generator[Effect, Any, Proposal]:
        units = block_units(scene)
        if not units:
            return Proposal(reason="every block selected goes with one that must stay")
        freed = Freed(scene)
        items = scene.view.items

        def gain(unit: BlockUnit) -> float:
            return sum(freed.tokens(items[at], items[at].tokens[block], 0) for at, block in unit.places)

        places: set[tuple[int, int]] = set()
        stored: dict[Spot, str] = {}
        for unit in self._narrow(scene, units, gain, 0.0):
            places.update(unit.places)
            if self.store is not None:
                for spot, name, text in unit.originals(self.store):
                    yield from put(name, text)
                    stored[spot] = name
        if not places:
            return Proposal(reason="the view fits")
        view = scene.view
        texts: dict[tuple[int, int], Rewrite] = {}
        for index, first, stop in gap_runs(scene, places) if self.text is not None else ():
            rewrite = self._text_at(scene, index, first, stop)
            if rewrite is not None:
                texts[index, first] = rewrite
        gone = sorted(places - texts.keys())
        gone = sorted({*gone, *bare_thinking(scene, set(gone))})
        edits: list[ViewEdit] = list(texts.values())
        if gone:
            edits.insert(0, Rewrite(tuple(view.spot(*place) for place in gone), Mark.REMOVE))
        return Proposal(tuple(edits), items=len(gone) + len(texts), stored=stored)

    def _text_at(self, scene: Scene, index: int, first: int, stop: int) -> Rewrite | None:
        """The text in the place of the first of neighbouring blocks that go."""
        assert self.text is not None
        item = scene.view.items[index]
        own = {"removed": removed(scene, (item.serial,), (index, range(first, stop))), "path": None}
        text = self.text.render(variables(scene, self.text, own))
        if not text.strip() or scene.maker.count(text) >= sum(item.tokens[first:stop]):
            return None
        block = scene.view.block(index, first)
        fields = {**dict.fromkeys(sorted(block)), "type": "text", "text": text}
        return Rewrite((scene.view.spot(index, first),), fields)

    # --- as many as are needed

    def _narrow(
        self, scene: Scene, units: list[Any], gain: Callable[[Any], float], notes: float
    ) -> list[Any]:
        """``gain`` is what the view's figure loses with a unit, ``notes`` what the texts at the gaps take of it."""
        fit, chosen, items = scene.stage.fit, scene.chosen, scene.view.items
        if fit is None:
            return units
        unit_of = {id(candidate): unit for unit in units for candidate in unit.candidates}
        candidates = [one for one in chosen.candidates if id(one) in unit_of]
        tokens, per_message = fit.unit == "tokens", fit.per == "message"
        start_of = joined(items, sorted({one.index for one in candidates})) if per_message else {}
        counted: set[tuple[int, int | None]] = set()

        def size(candidate: Candidate) -> float:
            # Of a message the selected blocks count, of the view all that would go.
            part = candidate if per_message else unit_of[id(candidate)]
            return scene.tokens_of(part.tokens) if tokens else float(part.chars)

        def once(candidate: Candidate) -> float:
            # Several candidates may belong to one unit; it goes, and counts, with the first of them.
            unit, start = unit_of[id(candidate)], start_of.get(candidate.index)
            if (id(unit), start) in counted:
                return 0.0
            counted.add((id(unit), start))
            if per_message:
                return sum(size(one) for one in unit.candidates if start_of[one.index] == start)
            return gain(unit) if tokens else size(candidate)

        narrowed = narrow(
            candidates,
            scene.stage.order,
            fit,
            figure=size_of_view(scene, fit.unit) + notes,
            size=size,
            gain=once,
            lookup=scene.name,
            items=items,
            staying=[*chosen.staying, *(one for one in chosen.candidates if id(one) not in unit_of)],
        )
        taken = {id(unit_of[id(candidate)]) for candidate in narrowed.taken}
        return [unit for unit in units if id(unit) in taken]
