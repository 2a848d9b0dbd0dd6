"""``cache_edits``: takes old results out of the server's warm cache; the messages stay as they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..conversation.edits import Insert
from ..conversation.items import RESULT, blocks_of
from ..conversation.view import View, cache_references
from ..policy.gates import Best, possible
from ..policy.maker import Maker
from ..policy.narrowing import narrow, size_of_view
from ..policy.proposal import Proposal
from ..policy.scene import Scene
from ..policy.selection import Candidate
from ..validity.base import Place
from ._freed import Freed

BLOCK = "cache_edits"


@dataclass(frozen=True, slots=True)
class CacheEdits:
    """The block it inserts keeps its place in all later requests; what it names no longer counts as tokens.

    Only what a request has carried can be in the cache: results the model has not answered to are left alone.
    """

    name: ClassVar[str] = "cache_edits"
    shrinks: ClassVar[bool] = False
    picks: ClassVar[bool] = True

    @classmethod
    def build(cls, raw: Mapping[str, Any], make: Maker) -> CacheEdits:
        for at, block in enumerate(raw["select"].get("blocks", ())):
            if block != "tool_result":
                message = f"only results can be deleted from the cache, no {block} blocks"
                make.problem(message, "select", "blocks", at, code="place", hint="select tool_result blocks")
        return cls()

    @property
    def opaque(self) -> bool:
        return False

    def propose(self, scene: Scene) -> Proposal:
        view = scene.view
        if scene.request.format != "anthropic":
            return Proposal(reason=f"a request in the format {scene.request.format} has no cache edits")
        start = _newest_run(view)
        if start == len(view.items):
            return Proposal(reason="no user's side to carry it: the assistant spoke last")
        if view.open_calls:
            return Proposal(reason="calls are still waiting for their results")
        found, already = _results(scene, start)
        taken = _narrow(scene, found)
        if not taken:
            reason = "it fits" if found else "all of them are deleted already" if already else None
            return Proposal(reason=reason or "no result among them that was sent")
        # Asked here, too: in most runs there are too few, and a trial of each would be folded and checked in vain.
        freed = Freed(scene)
        tokens = sum(freed.tokens(one.item, one.tokens, 0) for one in taken)
        if not possible(scene.stage.accept, scene, Best(tokens, 0, len(taken))):
            return Proposal(refused=True, reason=f"accept cannot hold: {len(taken)} results could be deleted")
        edits = [{"type": "delete", "cache_reference": _id(scene, one)} for one in taken]
        message = {"role": "user", "content": [{"type": BLOCK, "edits": edits}]}
        remarks = {"tokens_deleted": round(tokens)}
        place = Place(_behind(view, start), message, "attachment")
        return Proposal((place,), items=len(taken), remarks=remarks)


def _newest_run(view: View) -> int:
    """Index of the first message behind the assistant's last: what has not been sent, or not been answered."""
    start = len(view.items)
    while start and view.items[start - 1].role != "assistant":
        start -= 1
    return start


def _behind(view: View, start: int) -> int:
    """The last message with results; if none of them is new, the last of the user's, so that nothing sent moves."""
    new = range(start, len(view.items))
    results = [index for index in new if view.items[index].mask & RESULT]
    users = [index for index in new if view.items[index].role == "user"]
    return (results or users or [len(view.items) - 1])[-1]


def _results(scene: Scene, start: int) -> tuple[list[Candidate], int]:
    """The results that may be deleted, and how many of those chosen are deleted already."""
    deleted, undone = scene.view.deleted, _undone(scene)
    found: list[Candidate] = []
    fresh = [one for one in scene.chosen.candidates if (one.index, one.block) not in deleted]
    already = len(scene.chosen.candidates) - len(fresh)
    for one in _blocks(scene, [one for one in fresh if one.index < start]):
        if (one.index, one.block) in deleted:
            already += 1
        elif (name := _id(scene, one)) and name not in undone:
            found.append(one)
    return found, already


def _blocks(scene: Scene, chosen: Iterable[Candidate]) -> Iterator[Candidate]:
    """The results among them; of a message chosen as a whole all that are not protected."""
    protected = None
    for one in chosen:
        if not one.item.mask & RESULT:
            continue
        blocks = blocks_of(one.item.message)
        if one.block is not None:
            if blocks[one.block].get("type") == "tool_result":
                yield one
            continue
        protected = protected or scene.protection()
        for number, block in enumerate(blocks):
            if block.get("type") == "tool_result" and not protected.block(one.index, number):
                item = one.item
                yield Candidate(one.index, number, item, item.chars[number], item.tokens[number])


def _id(scene: Scene, one: Candidate) -> str:
    assert one.block is not None
    found = scene.view.block(one.index, one.block).get("tool_use_id")
    return found if isinstance(found, str) else ""


def _undone(scene: Scene) -> frozenset[str]:
    """What this stage had deleted in commits that were taken back: not again, but for an overflow."""
    history = scene.history.history
    if scene.event == "overflow" or not history.undone:
        return frozenset()
    return frozenset(
        reference
        for commit in history.commits
        if commit.id in history.undone and commit.stage == scene.stage.id
        for edit in commit.edits
        if isinstance(edit, Insert)
        for new in edit.items
        for block in blocks_of(new.message)
        for reference in cache_references(block)
    )


def _narrow(scene: Scene, found: list[Candidate]) -> list[Candidate]:
    """As many as ``order`` and ``fit`` need. The request's bytes stay, whatever the cache forgets."""
    fit = scene.stage.fit
    if fit is None or not found:
        return found
    freed, deleted = Freed(scene), scene.view.deleted
    figure = 0.0
    if fit.per == "view":
        figure = size_of_view(scene, fit.unit)
        if fit.unit == "chars":
            figure -= sum(scene.view.items[index].chars[block] for index, block in deleted)

    def size(one: Candidate) -> float:
        return scene.tokens_of(one.tokens) if fit.unit == "tokens" else one.chars

    def gain(one: Candidate) -> float:
        if fit.per == "message" or fit.unit == "chars":
            return size(one)
        return 0.0 if fit.unit == "bytes" else freed.tokens(one.item, one.tokens, 0)

    narrowed = narrow(
        found,
        scene.stage.order,
        fit,
        figure=figure,
        size=size,
        gain=gain,
        lookup=scene.name,
        items=scene.view.items,
        staying=[one for one in scene.chosen.staying if (one.index, one.block) not in deleted],
    )
    return narrowed.taken


__all__ = ["BLOCK", "CacheEdits"]
