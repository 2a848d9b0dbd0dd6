"""``replace``: puts a text in the place of blocks: clear, truncate, offload, shorten, mask, redact."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..conversation.edits import Rewrite, Spot
from ..effects import Effect, put
from ..policy.evaluation import NoValue
from ..policy.gates import Best, possible
from ..policy.maker import Maker
from ..policy.narrowing import joined, narrow, size_of_view
from ..policy.proposal import ModelCall, Proposal
from ..policy.scene import Scene
from ..policy.selection import Candidate
from ..templating import TemplateProblem, Text
from ._digest import Digest
from ._failing import failed, no_text
from ._filler import Filler
from ._freed import Freed
from ._preview import Preview
from ._targets import Target, reads_stored, staying, stored_files, targets


@dataclass(frozen=True, slots=True)
class Replace:
    """``store`` is a folder of the store; ``pattern`` picks what goes inside a block.

    Empty blocks, tiny pictures and matches of a pattern may grow: ``may_grow`` in the remarks says how many,
    and by how many tokens altogether, so that not shrinking isn't held against the stage.
    """

    name: ClassVar[str] = "replace"
    shrinks: ClassVar[bool] = True
    picks: ClassVar[bool] = True

    text: Text | None
    pattern: re.Pattern[str] | None = None
    store: str | None = None
    preview: Preview | None = None
    digest: Digest | None = None

    @classmethod
    def build(cls, raw: Mapping[str, Any], make: Maker) -> Replace:
        return cls(
            make.text(raw),
            make.pattern(raw["pattern"], "pattern") if "pattern" in raw else None,
            raw.get("store"),
            Preview.build(raw["preview"], make) if "preview" in raw else None,
            Digest.build(raw["digest"], make) if "digest" in raw else None,
        )

    @property
    def opaque(self) -> bool:
        """Whether nothing of the original shows any more."""
        return self.preview is None and self.digest is None and self.pattern is None

    def propose(self, scene: Scene) -> Proposal | Generator[Effect, Any, Proposal]:
        if self.text is None:
            return no_text()
        work = self._work(scene, self.text)
        if self.store is not None or self.digest is not None:
            return work
        try:
            effect = next(work)
        except StopIteration as done:
            proposal: Proposal = done.value
            return proposal
        raise AssertionError(f"a replacement without store and digest has no effects, not {effect}")

    def _work(self, scene: Scene, text: Text) -> Generator[Effect, Any, Proposal]:
        try:
            return (yield from self._replace(scene, Filler(scene, text, self.preview, self.pattern)))
        except (TemplateProblem, NoValue) as problem:
            return failed(problem)

    def _replace(self, scene: Scene, filler: Filler) -> Generator[Effect, Any, Proposal]:
        if _each_fits(scene):
            return Proposal(reason="everything fits")
        # With a pattern arguments are safe to work on, and a secret must not survive in them.
        found = targets(scene, calls=self.pattern is not None)
        exempt: list[Target] = []
        files = stored_files(scene) if self.store is not None else ()
        if files:
            exempt = [target for target in found if reads_stored(target, files)]
            found = [target for target in found if not reads_stored(target, files)]
        chosen = self._narrow(scene, filler, found, exempt)
        if self.digest is not None and not _worth_asking(scene, chosen):
            return Proposal(refused=True, reason="accept cannot hold, whatever the digests say")
        edits: dict[Any, tuple[list[Spot], Mapping[str, Any]]] = {}
        stored: dict[Spot, str] = {}
        calls: list[ModelCall] = []
        unused = growing = grown = 0
        for target in chosen:
            # First with a guess of the path: nothing is written, no model asked, for what would not be used.
            name = None if self.store is None else target.store_name(self.store)
            change = filler.change(target, name)
            if change is None:
                unused += 1
                continue
            spot = target.spot
            path = None
            if name is not None:
                path = yield from put(name, target.original)
                stored[spot] = name
            digest = None
            if self.digest is not None and self.digest.wanted(scene, target.text):
                own = filler.own(self.digest.prompt.variables, target, target.text, path)
                digest, asked = yield from self.digest.ask(scene, target.text, own)
                calls.extend(asked)
            if path is not None or digest is not None:
                change = filler.change(target, path, digest)
                if change is None and digest is not None:
                    change = filler.change(target, path)
                if change is None:
                    unused += 1
                    stored.pop(spot, None)
                    continue
            edits.setdefault(change.key, ([], change.set))[0].append(spot)
            if self.pattern is not None or target.empty or (target.media and change.tokens > target.tokens):
                growing += 1
                grown += max(0, change.tokens - target.tokens)
        count = sum(len(spots) for spots, _ in edits.values())
        remarks: dict[str, Any] = {}
        if unused:
            remarks["not_smaller"] = unused
        if growing:
            remarks["may_grow"] = {"items": growing, "tokens": grown}
        if exempt:
            remarks["reads_of_stored_files"] = len(exempt)
        reason = None
        if not count:
            if unused:
                reason = "no text would be smaller than what it replaces"
            elif exempt and not found:
                reason = "all that matches are reads of stored files"
            else:
                reason = "everything fits" if found else "nothing that can be replaced"
        return Proposal(
            tuple(Rewrite(tuple(spots), change_set) for spots, change_set in edits.values()),
            items=count,
            stored=stored,
            calls=tuple(calls),
            reason=reason,
            remarks=remarks,
        )

    def _narrow(
        self, scene: Scene, filler: Filler, found: list[Target], exempt: list[Target]
    ) -> list[Target]:
        """As many as ``order`` and ``fit`` need, judged by the text without path and digest.

        ``exempt`` stay, and count to the size of their message.
        """
        fit = scene.stage.fit
        if fit is None or not found:
            return found
        held = [*staying(scene), *exempt]
        by_place: dict[tuple[int, int], Target] = {(t.index, t.block): t for t in (*found, *held)}
        freed = Freed(scene)
        tokens = fit.unit == "tokens"

        def size(candidate: Candidate) -> float:
            if tokens:
                return scene.tokens_of(candidate.tokens)
            return by_place[candidate.index, candidate.block or 0].size(fit.unit)

        def gain(candidate: Candidate) -> float:
            target = by_place[candidate.index, candidate.block or 0]
            name = None if self.store is None else target.store_name(self.store)
            change = filler.change(target, name)
            if change is None:
                return 0
            if tokens:
                if fit.per == "message":
                    return scene.tokens_of(target.tokens - change.tokens)
                return freed.tokens(target.item, target.tokens, change.tokens)
            return target.size(fit.unit) - change.size(fit.unit)

        narrowed = narrow(
            [target.candidate for target in found],
            scene.stage.order,
            fit,
            figure=size_of_view(scene, fit.unit) if fit.per == "view" else 0,
            size=size,
            gain=gain,
            lookup=scene.name,
            items=scene.view.items,
            staying=[target.candidate for target in held],
        )
        return [by_place[taken.index, taken.block or 0] for taken in narrowed.taken]


def _each_fits(scene: Scene) -> bool:
    """Whether ``fit`` is asked of each message, and every message fits: told from the candidates' sizes alone."""
    fit = scene.stage.fit
    if fit is None or fit.per != "message" or fit.unit not in ("chars", "tokens"):
        return False
    limit = fit.limit.value(scene.name)
    chosen = [*scene.chosen.candidates, *scene.chosen.staying]
    start_of = joined(scene.view.items, sorted({one.index for one in chosen}))
    sums: dict[int, float] = {}
    for candidate in chosen:
        size = scene.tokens_of(candidate.tokens) if fit.unit == "tokens" else candidate.chars
        start = start_of[candidate.index]
        sums[start] = sums.get(start, 0) + size
    return max(sums.values(), default=0) <= limit


def _worth_asking(scene: Scene, chosen: list[Target]) -> bool:
    """Whether ``accept`` could hold if all that is chosen went and nothing took its place."""
    freed = Freed(scene)
    tokens = sum(freed.tokens(target.item, target.tokens, 0) for target in chosen)
    size = sum(target.size("bytes") for target in chosen)
    return possible(scene.stage.accept, scene, Best(tokens, size, len(chosen)))
