"""What one run stands on: the model's numbers, the rules of its API, the token anchor; and the scenes made of it."""

from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from .conversation.fold import Overlay, fold, sequence
from .conversation.items import Item, structure
from .conversation.request import Request, Usage
from .conversation.view import View, deleted_in
from .facts import Facts
from .policy.past import Past, StageIndex
from .policy.protection import Protection
from .policy.refusals import Refusal, classify
from .policy.scene import Policy, Scene, UsageThen
from .policy.stage import SENDING
from .running import Run
from .tokens.figure import Factor, Reading, plausible
from .tokens.models import Model, lookup
from .track import Seen, Track
from .trial import Bench, Sent, Standing
from .validity import Profile, check, cuts, with_moved_marks
from .validity.base import leading_system
from .validity.profiles.anthropic import Capabilities, anthropic

if TYPE_CHECKING:
    from .engine import Engine


@dataclass(frozen=True, slots=True)
class Staged:
    """Everything about one run that is known before its first stage."""

    request: Request
    event: str
    facts: Facts
    model: Model
    policy: Policy
    bench: Bench
    standing: Standing
    must_mend: bool
    overhead: float
    usage: UsageThen | None
    factor: float
    refusal: Refusal | None
    restored: set[tuple[int, int]]
    undone: dict[tuple[int, int], set[str]]
    undone_messages: dict[int, set[str]]


class Staging:
    """Prepares the runs of one session; keeps what stays the same between them."""

    def __init__(self, engine: Engine, track: Track) -> None:
        self.engine = engine
        self.track = track
        self.index = StageIndex.of(engine.pack.stages)
        self._head: tuple[Any, Any] = (None, None)
        self._head_digest = ""
        self._overhead = 0.0
        self._marks = 0
        self._usage: UsageThen | None = None
        self._stale = False
        self._model = ""
        self.answered: int | None = None
        self._policy: tuple[str, Policy, Model] | None = None

    @property
    def overhead(self) -> float:
        """Estimated tokens of system and tools."""
        return self._overhead

    def forget(self) -> None:
        """A run came to nothing, or a commit was taken back: measure everything anew."""
        self._usage = None
        self._stale = True

    def stage(self, request: Request, event: str, facts: Facts, seen: Seen) -> Staged:
        """Prepare a run over what has just been observed."""
        self.answered = None
        track, engine = self.track, self.engine
        policy, model = self._resolve(request.model)
        self._measure_head(request)
        profile = engine.profile or profile_of(model, self._marks)
        sent = track.sent
        bench = Bench(
            track.base,
            track.builder,
            profile,
            sent,
            self._head_digest,
            engine.thinking == "strip",
            track.lineage.new_serial,
        )
        standing = track.standing
        must_mend = seen.refolded or (sent is not None and sent.head != self._head_digest)
        if sent is not None and standing.view.items[: len(sent.items)] != list(sent.items):
            must_mend = True
        if sent is None and standing.view is not track.base:
            # Nothing of ours was sent yet, so what comes new was signed over the raw transcript.
            must_mend = True
        if not must_mend:
            start = (
                seen.new
                if standing.view is track.base
                else len(standing.view.items) - (len(track.base.items) - seen.new)
            )
            states = standing.states if start else None
            if states is not None and seen.marks_moved:
                states = with_moved_marks(standing.view.items[:start], profile, states)
            report = check(
                standing.view, profile, states, start if states is not None else 0, event in SENDING
            )
            new = report.violations
            # What the end of the list breaks is found in every run; what no rule can mend is not tried again.
            must_mend = any(violation.repairable for violation in new)
            old = standing.violations if states is not None else ()
            if {violation.rule for violation in new} & {violation.rule for violation in old}:
                # Which of the old ones still hold, only the whole list tells.
                report = check(standing.view, profile, None, 0, event in SENDING)
                old, new = (), report.violations
            standing = Standing(standing.overlay, standing.view, (*old, *new), report.states)
        usage, factor = self._read_usage(request, facts, policy, model, seen)
        refusal = classify(facts.error, engine.pack.api_errors)
        spots, messages = track.history.undone_spots()
        forced = event == "overflow"
        return Staged(
            request,
            event,
            facts,
            model,
            policy,
            bench,
            standing,
            must_mend,
            self._overhead,
            usage,
            factor.value(model.factor),
            refusal,
            set() if forced else track.history.restored(),
            {} if forced else spots,
            {} if forced else messages,
        )

    def scene(self, run: Run, staged: Staged) -> Scene:
        """The scene of the run's present view."""
        track = self.track
        past = Past(
            track.history,
            self.index,
            track.base,
            staged.event,
            staged.facts.now,
            staged.factor,
            staged.policy.categories,
            self._at,
            run.committed_now,
            run.commits,
            run.notes,
            run.fails,
        )
        usage = run.usage
        if usage is not None and run.standing.view.items[: len(usage.items)] != list(usage.items):
            usage = UsageThen(usage.prompt, usage.items, usage.estimate, False)
        profile = run.bench.profile
        return Scene(
            event=staged.event,
            request=staged.request,
            facts=staged.facts,
            policy=staged.policy,
            model=staged.model,
            view=run.standing.view,
            base=track.base,
            overlay=run.standing.overlay,
            history=past,
            book=track.book,
            infos=track.infos,
            maker=self.engine.maker,
            templates=self.engine.pack.renderer,
            overhead_estimate=staged.overhead,
            factor=staged.factor,
            usage=usage,
            protect=lambda scene: self._protect(scene, staged, run),
            cut_places=lambda view: cuts(view, profile),
            refused_tokens=run.refused,
            policy_of=lambda name: self._policy_for(name)[0],
            refusal=_placed(staged, run.standing.view),
            ceilings=tuple(run.ceilings),
        )

    def snapshot(self, scene: Scene) -> Scene:
        """The scene as it is now, for work that goes on after the run."""
        return scene.snapshot(self.track.new_book())

    def _at(self, serial: int) -> float | None:
        info = self.track.infos.get(serial)
        return info.at if info is not None else None

    def _protect(self, scene: Scene, staged: Staged, run: Run) -> Protection:
        stage = scene.stage
        origins = stage.select.origins if stage.select is not None else frozenset()
        author: Mapping[tuple[int, int], str] = self.track.history.touched_by
        if run.commits:
            own: dict[tuple[int, int], str] = {}
            for commit in run.commits:
                for edit in commit.edits:
                    own.update(dict.fromkeys(getattr(edit, "spots", ()), commit.stage))
            author = ChainMap(own, self.track.history.touched_by)
        return Protection(
            scene.view,
            stage=stage.id,
            pinned=self.track.pinned,
            changes=scene.overlay.changes,
            author=author,
            placeholder=self.index.leaves_nothing,
            restored=staged.restored,
            undone=staged.undone,
            undone_messages=staged.undone_messages,
            origins=origins,
            shorten_user=stage.kind == "replace"
            and bool(getattr(stage.params, "store", None))
            and "user" in origins,
        )

    def after_mending(self, run: Run) -> UsageThen | None:
        """The newest usage, over the mended form of what it measured: a valid request cannot have held more."""
        then = run.usage
        if then is None:
            return None
        base, view = self.track.base, run.standing.view
        end = len(then.items)
        items: list[Item] = []
        for item in view.items:
            place = base.index_of(item.serial)
            if place is not None and place >= end:
                break
            items.append(item)
        estimate = self._overhead + sum(item.total for item in items)
        return UsageThen(then.prompt, items, estimate, then.after_last_edit)

    # --- model and head

    def _resolve(self, name: str) -> tuple[Policy, Model]:
        if self._policy is None or self._policy[0] != name:
            self._policy = (name, *self._policy_for(name))
        return self._policy[1], self._policy[2]

    def _policy_for(self, name: str) -> tuple[Policy, Model]:
        """Settings and numbers of any model: the host's first, then the pack's, then the table's."""
        engine = self.engine
        model = lookup(name)
        settings, figures = engine.pack.values_for(name, engine.settings, engine.models)
        max_input = figures.get("max_input", math.inf if model.max_input is None else float(model.max_input))
        policy = Policy(
            settings=settings,
            limits=engine.pack.limits,
            categories=engine.pack.categories,
            window=figures.get("window", float(model.window)),
            max_output=figures.get("max_output", float(model.max_output)),
            max_input=max_input,
            window_known=model.known or "window" in figures,
        )
        return policy, model

    def _measure_head(self, request: Request) -> None:
        """Digest, size and cache marks of system and tools, taken only when they change."""
        # What is no list of tools is the host's to answer for: passed through, measured as nothing.
        tools = list(request.tools) if isinstance(request.tools, list | tuple) else None
        head = (request.system, tools)
        if head == self._head and self._head_digest:
            return
        self._head = structure(list(head))[0], structure(list(head))[1]
        self._head_digest = self.track.head(request)
        measure = self.engine.maker.measure
        self._overhead = float(sum(measure(part)[1] for part in head if part))
        parts = [*(request.system if isinstance(request.system, list) else ()), *(tools or ())]
        marks = sum(1 for part in parts if isinstance(part, Mapping) and part.get("cache_control"))
        self._marks = min(marks, 4)

    # --- usage

    def _read_usage(
        self, request: Request, facts: Facts, policy: Policy, model: Model, seen: Seen
    ) -> tuple[UsageThen | None, Factor]:
        """The newest usage with what it measured, and the factor after all new readings."""
        track = self.track
        window = None
        if policy.window_known and policy.window < math.inf:
            # A window set lower than the model's says nothing about what recorded requests may have measured.
            window = int(max(policy.window, model.window if model.known else 0))
        anew = seen.refolded or self._stale or self._model != request.model
        self._model = request.model
        first = 0 if anew else seen.new
        if anew:
            self._usage = None
        self._stale = False
        found: list[tuple[int, Usage, float]] = []
        for index in range(first, len(track.base.items)):
            info = track.infos.get(track.base.items[index].serial)
            if info is not None and info.usage is not None and plausible(info.usage, request.model, window):
                found.append((index, info.usage, math.inf))
        given = facts.usage
        told = track.history.told
        if given is not None and plausible(given, request.model, window):
            self.answered = self._answered()
            found.append((self.answered, given, math.inf))
        elif anew and told is not None and told[0] <= seen.new:
            # What a host said once counts until something newer is known, or what it was about has changed.
            newer = any(index >= told[0] for index, _, _ in found)
            found += [] if newer or not plausible(told[1], request.model, window) else [told]
        known = track.metered
        for index, usage, before in found:
            items, estimate, epoch = self._then(index, before)
            self._usage = UsageThen(usage.prompt, items, estimate, True)
            if usage is given or (usage is not (told and told[1]) and track.base.items[index].serial > known):
                track.meter = track.meter.read(
                    Reading(usage.prompt, estimate, epoch, usage.model or request.model)
                )
        track.metered = max(known, track.lineage.next - 1)
        return self._usage, track.meter

    def _answered(self) -> int:
        """Path length of the request that the newest response answers."""
        items = self.track.base.items
        end = len(items)
        while end and items[end - 1].role != "assistant":
            end -= 1
        while end and items[end - 1].role == "assistant":
            end -= 1
        mark = self.track.history.last_sent
        return max(end, mark.length if mark is not None and mark.length <= len(items) else 0)

    def _then(self, index: int, before: float) -> tuple[list[Item], float, int]:
        """Items, estimate and epoch of the request that the response at a path position answered.

        It was sent in a run ``before`` that one: what was sent later was not measured by it.
        """
        track, history = self.track, self.track.history
        sent = (m for m in reversed(history.runs) if m.sent and m.length <= index and m.n < before)
        mark = next(sent, None)
        if mark is None:
            raw = track.base.items[:index]
            return raw, self._overhead + track.base.tokens_before(index) - _deleted(raw), 0
        last = history.last_sent
        commits = history.live_at(mark.n)
        epoch = sequence(commits[-1]) if commits else 0
        if last is not None and mark.n == last.n and track.sent is not None:
            items = list(track.sent.items)
        else:
            items = fold(track.base.items[: mark.length], Overlay.of(commits), track.builder)
        estimate = mark.estimate
        if estimate is None:
            estimate = self._overhead + sum(item.total for item in items) - _deleted(items)
        return items, estimate, epoch


def _placed(staged: Staged, view: View) -> Refusal | None:
    """The refusal with the positions its blocks have in this view; the API counts those of the request it refused."""
    refusal, bench = staged.refusal, staged.bench
    if refusal is None or not refusal.blocks:
        return refusal
    items = bench.base.items if bench.sent is None else bench.sent.items
    head = leading_system(items)
    found: list[tuple[int, int]] = []
    for message, block in refusal.blocks:
        if head + message >= len(items) or block >= len(items[head + message].chars):
            continue
        item = items[head + message]
        index = view.index_of(item.serial)
        number = block if item.numbers is None else item.numbers[block]
        if index is None:
            continue
        shown = view.items[index].numbers or range(len(view.items[index].chars))
        found.extend((index, at) for at, known in enumerate(shown) if known == number)
    # A block that is named and gone already is not a reason to take all others.
    return replace(refusal, blocks=tuple(found) or ((-1, -1),))


def _deleted(items: Sequence[Item]) -> int:
    """Tokens of results a request of these items had taken out of the server's cache: its usage lacks them."""
    return sum(deleted_in(items).values())


@lru_cache(maxsize=256)
def profile_of(model: Model, marks: int) -> Profile:
    """The validity rules for a model of the table."""
    return anthropic(Capabilities.of(model), marks)


__all__ = ["Sent", "Staged", "Staging", "View", "profile_of"]
