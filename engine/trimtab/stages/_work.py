"""How a summary comes about: gates before anything is paid, the text, what is composed around it, the
edits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..conversation.edits import Spot
from ..conversation.items import Item, blocks_of
from ..conversation.view import View
from ..directives import COMPACT_BETA
from ..effects import Core, EffectFailed, hook, put
from ..naming import stored_name
from ..policy.expressions import Quantity
from ..policy.gates import Best, possible
from ..policy.narrowing import size_of_view
from ..policy.proposal import Cover, ModelCall, Notice, Proposal, ViewEdit
from ..policy.scene import Scene
from ..templating import Text
from ._compose import DEFAULT, Composed, Composer, Part, around
from ._expects import Refused
from ._freed import Freed
from ._ground import Given, Ground, Records
from ._instructions import Instruction, instructions
from ._known import pending_text, read_fact
from ._material import gather
from ._previous import previous_text, written
from ._range import Range, has_tail, last_user, leading, pieces
from ._redact import clean_text
from ._source import Source, source_of
from ._transcript import transcript
from ._variables import variables
from ._writer import Task, Writer, Written

ADDED = frozenset({"unsent", "results_left_out", "input_tokens", "redacted_given", "redacted_text"})
"""Remarks of several texts that add up."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """A stage's parameters: exactly one of ``writer`` (a model), ``text`` (a template alone) and ``notes``
    (another stage's) is there.
    """

    writer: Writer | None
    text: Text | None
    notes: str | None = None
    wait: Quantity | None = None
    sources: tuple[Instruction, ...] = ()
    ground: Ground | None = None
    spans: Quantity | None = None
    store: str | None = None
    wrapper: Text | None = None
    parts: tuple[Part, ...] = DEFAULT


@dataclass(slots=True)
class _Made:
    """One range (or piece of one) written and composed."""

    place: Range
    composed: Composed
    stored: dict[Spot, str] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()
    text: str = ""


@dataclass(slots=True)
class Work:
    """One proposal on its way; calls, remarks and notices gather here.

    ``ready`` are texts written earlier, by the parts of the view they stand for.
    """

    stage: Recipe
    scene: Scene
    place: Range
    ready: Mapping[tuple[tuple[int, int], ...], str] | None = None
    wishes: str = ""
    calls: list[ModelCall] = field(default_factory=list)
    remarks: dict[str, Any] = field(default_factory=dict)

    # --- the two ways

    def at_once(self) -> Core[Proposal]:
        """One text for the whole range. Raises TemplateProblem, NoValue."""
        user = last_user(self.scene.view, self.place.start, self.place.stop)
        composer = self._composer(self.place, user)
        early = yield from self._before([composer])
        if early is not None:
            return early
        made = yield from self._make(composer, self._previous(self.place))
        if isinstance(made, Refused):
            return self._refused(made)
        return (yield from self._proposal([made]))

    def in_spans(self) -> Core[Proposal]:
        """A text for each piece, oldest first, until it fits. Raises TemplateProblem, NoValue."""
        scene = self.scene
        found = self._pieces()
        if not found:
            return Proposal(reason="no piece of the range holds anything new")
        fit, limit, size = scene.stage.fit, math.inf, math.inf
        if fit is not None:
            limit, size = fit.limit.value(scene.name), size_of_view(scene, fit.unit)
            if size <= limit:
                return Proposal(reason=f"it fits: {round(size)} of {round(limit)} {fit.unit}")
        user = last_user(scene.view, self.place.start, self.place.stop)
        composers = [self._composer(Range((piece,), self.place.direction), user) for piece in found]
        early = yield from self._before(composers)
        if early is not None:
            return early
        made: list[_Made] = []
        for composer in composers:
            if made and fit is not None and size <= limit:
                break
            before = made[-1].text if made else self._before_piece(composer.place)
            one = yield from self._make(composer, before)
            if isinstance(one, Refused):
                if self.ready is not None and composer is not composers[-1]:
                    continue
                if not made:
                    return self._refused(one)
                # What has been written so far is paid for and stands.
                self.remarks["stopped"] = f"{one.reason}: {one.message}"
                break
            made.append(one)
            size -= self._freed(one, fit.unit if fit is not None else "tokens")
        return replace((yield from self._proposal(made)), apart=True)

    def _pieces(self) -> list[tuple[int, int]]:
        if self.ready is not None:
            return [part for (part,) in self.ready]
        assert self.stage.spans is not None
        rounds = max(1, int(min(self.stage.spans.value(self.scene.name), 1e9)))
        return pieces(self.scene, self.place.parts, rounds)

    def _composer(self, place: Range, user: int | None) -> Composer:
        inside = user if user is not None and user in place.indexes() else None
        stage, scene = self.stage, self.scene
        return Composer(scene, stage.parts, stage.wrapper, place, inside, has_tail(scene, place))

    # --- before anything is paid

    def _before(self, composers: Sequence[Composer]) -> Core[Proposal | None]:
        """What can be known at once: whether anything can be gained, ``accept``, a veto; then the wishes."""
        scene = self.scene
        best = self._best([composer.place for composer in composers])
        if not possible(scene.stage.accept, scene, best):
            return Proposal(
                refused=True, reason="accept cannot hold, whatever is written", remarks=self.remarks
            )
        said = yield from hook("before_summary", scene.stage.id)
        if said is not None and said.veto:
            return Proposal(refused=True, reason=f"vetoed: {said.veto}", remarks={"vetoed": said.veto})
        self.wishes = instructions(self.stage.sources, scene, said.instructions if said is not None else None)
        return None

    def _best(self, places: Sequence[Range]) -> Best:
        gone = {index for place in places for index in place.indexes()}
        items = self.scene.view.items
        rest = View([item for index, item in enumerate(items) if index not in gone])
        return Best(
            tokens=max(0.0, self.scene.tokens - self.scene.figure_of(rest)),
            bytes=sum([items[index].bytes for index in gone]),
            items=len(gone),
        )

    # --- one text

    def _make(self, composer: Composer, previous: str) -> Core[_Made | Refused]:
        """Write, ground, store and compose one range. Raises TemplateProblem, NoValue."""
        scene, stage, place = self.scene, self.stage, composer.place
        guess = f"{stage.store}/{scene.stage.id}-000000000000.txt" if stage.store else None
        replaced = sum([scene.view.items[index].total for index in place.indexes()])
        room = scene.tokens_of(replaced - composer.compose("", guess).tokens(scene) - 5)
        if room <= 0:
            return Refused("larger", "what would stay is no smaller than what would go")
        text, block = "", None
        if composer.needs_text:
            written = yield from self._write(composer, previous, room)
            if written.text is None:
                assert written.failure is not None
                return written.failure
            text, block = written.text, written.block
            if block is not None:
                self.remarks["betas"] = [COMPACT_BETA]
            elif stage.ground is not None and not any(call.assumed for call in self.calls):
                sections = stage.writer.expects.sections if stage.writer is not None else ()
                given = Given(self._reader(place), sections, self._source(place), self._previous(place), room)
                grounded = stage.ground.add(text, scene, given)
                text = grounded.text
                if grounded.added:
                    self.remarks["grounded"] = dict(grounded.added)
                    self.remarks["quoted"] = list(grounded.quoted)
            # What was put back is the conversation's own words.
            text, places = yield from clean_text(text)
            if places:
                self._remember({"redacted_text": places})
        made = _Made(place, composer.compose(text, None, block), text=text)
        if stage.store is not None:
            path = yield from self._store(stage.store, made)
            made.composed = composer.compose(text, path, block)
        return made

    def _write(self, composer: Composer, previous: str, room: float) -> Core[Written]:
        stage, scene, place = self.stage, self.scene, composer.place
        if self.ready is not None:
            return self._fitting(self.ready[place.parts], room)
        pending = pending_text(scene)
        if stage.writer is not None:
            block = self._no_block(composer)
            users = stage.ground.users if stage.ground is not None else ()
            task = Task(
                place.start, place.stop, room, place.direction, previous, self.wishes, pending, users, block
            )
            written = yield from stage.writer.write(scene, task)
            self.calls.extend(written.calls)
            self._remember(written.remarks)
            return written
        assert stage.text is not None
        own: dict[str, Any] = {
            "transcript": "",
            "previous": previous,
            "instructions": self.wishes,
            "direction": place.direction,
            "sections": [],
            "pending": pending,
        }
        text = stage.text.render(variables(scene, stage.text, own, self._reader(place))).strip()
        if not text:
            return Written(failure=Refused("empty", "the template gives no text"))
        return self._fitting(text, room)

    def _no_block(self, composer: Composer) -> str | None:
        """Why no block of the API's own compaction can stand in the range's place; None: it can."""
        place, items = composer.place, self.scene.view.items
        if self.scene.request.format != "anthropic":
            return f"an API of the format {self.scene.request.format} has no compaction of its own"
        if place.start > leading(items) or len(place.parts) > 1 or not composer.leads:
            return "the API's own compaction must stand first, and something would stay in front of it"
        return None

    def _fitting(self, text: str, room: float) -> Written:
        """A text that nobody was asked for, if it is small enough."""
        tokens = self.scene.count(text)
        if tokens >= room:
            return Written(
                failure=Refused(
                    "larger", f"the text has {tokens} tokens; it would have to stay under {round(room)}"
                )
            )
        return Written(text=text)

    def _reader(self, place: Range) -> Callable[[str], Records | None]:
        return lambda name: read_fact(self.scene, name, place)

    def _source(self, place: Range) -> Source:
        """What a text for the range could be made from."""
        shown = self.scene.view.items[: place.stop]
        return source_of(
            self.scene, (block for item in shown for block in blocks_of(item.message)), [self.wishes]
        )

    def _remember(self, remarks: Mapping[str, Any]) -> None:
        """Lists and counts of several texts add up; of other remarks the newest stands."""
        for name, value in remarks.items():
            before = self.remarks.get(name)
            if isinstance(value, list) and isinstance(before, list):
                self.remarks[name] = [*before, *value]
            elif name in ADDED and isinstance(before, int):
                self.remarks[name] = before + value
            else:
                self.remarks[name] = value

    def _previous(self, place: Range) -> str:
        items = self.scene.view.items
        return self._told([items[index] for index in place.indexes()])

    def _before_piece(self, place: Range) -> str:
        """The newest summary before a piece."""
        before = [item for item in self.scene.view.items[: place.start] if item.origin == "summary"]
        return self._told(before[-1:])

    def _told(self, items: Sequence[Item]) -> str:
        """The words of the summaries among them; a template is not told what it filled itself."""
        if self.stage.writer is None:
            items = written(self.scene, items)
        return previous_text(self.scene, items, self.stage.wrapper)

    def _freed(self, made: _Made, unit: str) -> float:
        items = [self.scene.view.items[index] for index in made.place.indexes()]
        if unit == "tokens":
            freed = Freed(self.scene)
            gone = sum([freed.tokens(item, item.total, 0) for item in items])
            return gone - self.scene.tokens_of(made.composed.tokens(self.scene))
        drafts = [self.scene.maker.make(0, draft.message)[0] for draft in made.composed.all]
        if unit == "bytes":
            return sum([item.bytes for item in items]) - sum([item.bytes for item in drafts])
        return sum([sum(item.chars) for item in items]) - sum([sum(item.chars) for item in drafts])

    def _store(self, folder: str, made: _Made) -> Core[str | None]:
        """The range as a text in the store; a failure only warns."""
        scene, place = self.scene, made.place
        entries = [
            entry
            for start, stop in place.parts
            for entry in gather(scene, start, stop, originals=False, previous=True).entries
        ]
        text = transcript(entries)
        name = stored_name(folder, scene.stage.id, text)
        try:
            path = yield from put(name, text)
        except EffectFailed as problem:
            self.remarks["store"] = f"not written: {problem}"
            words = f"the messages behind the summary could not be stored: {problem}"
            made.notices = (Notice("warning", words, scene.stage.id),)
            return None
        # Under the name of a block nobody has changed: no restore takes the file for that block's original.
        for entry in entries:
            if entry.item.serial not in scene.overlay.changes and entry.item.chars:
                made.stored[Spot(entry.item.serial, 0)] = name
                break
        return path

    # --- the outcome

    def _refused(self, why: Refused) -> Proposal:
        """No usable text: the stage has failed, or, where nobody was asked and nothing can be gained, is
        refused.
        """
        reason = f"{why.reason}: {why.message}"
        if why.reason == "larger" and not self.calls:
            return Proposal(refused=True, reason=reason, remarks=self.remarks)
        return Proposal(failure=why.reason, reason=reason, calls=tuple(self.calls), remarks=self.remarks)

    def _proposal(self, made: Sequence[_Made]) -> Core[Proposal]:
        scene = self.scene
        edits: list[ViewEdit] = []
        for one in made:
            *others, last = one.place.parts
            edits.extend(Cover(start, stop) for start, stop in others)
            edits.append(Cover(*last, one.composed.middle))
            edits.extend(around(scene, self.place, one.composed))
        text = "\n\n".join([one.text for one in made if one.text])
        notices = [*self._unseen(), *(notice for one in made for notice in one.notices)]
        try:
            said = yield from hook("after_summary", scene.stage.id, text)
        except EffectFailed as problem:
            # The summary is paid for and good: what a hook makes of it must not lose it.
            self.remarks["hook"] = f"failed: {problem}"
            words = f"the hook after the summary has failed: {problem}"
            notices.append(Notice("warning", words, scene.stage.id))
        else:
            if said is not None and said.text:
                self.remarks["hook_results"] = said.text
        items = scene.view.items
        self.remarks["range"] = [
            [items[start].serial, items[stop - 1].serial] for one in made for start, stop in one.place.parts
        ]
        self.remarks["direction"] = self.place.direction
        if self.place.held_by:
            self.remarks["held_by"] = list(self.place.held_by)
        stored = {spot: name for one in made for spot, name in one.stored.items()}
        return Proposal(
            tuple(edits),
            notices=tuple(notices),
            items=sum(stop - start for one in made for start, stop in one.place.parts),
            stored=stored,
            calls=tuple(self.calls),
            remarks=self.remarks,
        )

    def _unseen(self) -> list[Notice]:
        """A warning where the writer could not see all of what its text replaces."""
        counts = {
            "messages": len(self.remarks.get("dropped", ())),
            "results": self.remarks.get("results_left_out", 0),
            "parts": len(self.remarks.get("shortened", ())),
        }
        said = [f"{count} of the {what}" for what, count in counts.items() if count]
        if not said:
            return []
        words = (
            f"the summary was written without {' and '.join(said)} it replaces: they did not fit the writer"
        )
        return [Notice("warning", words, self.scene.stage.id)]
