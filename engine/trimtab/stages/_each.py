"""``place: each``: a text at the end of the last text or result of every message a selector matches, once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..conversation.edits import Rewrite
from ..conversation.items import RESULT, TEXT, blocks_of
from ..policy.proposal import Proposal
from ..policy.scene import Scene
from ..policy.selection import Selector, candidates
from ._entries import Entry
from ._variables import COMMON, variables


def append_to_each(scene: Scene, entries: Sequence[Entry], select: Selector | None) -> Proposal:
    """The rewrites that append the entries' texts. Raises TemplateProblem, NoValue."""
    if select is None:
        return Proposal(reason="no message is selected")
    texts = [entry.text for entry in entries if entry.text is not None]
    common = [{**variables(scene, text), "items": [], "added": [], "removed": []} for text in texts]
    fixed = [text.render(common[at]) if text.variables <= COMMON else None for at, text in enumerate(texts)]
    done = _done(scene)
    edits: list[Rewrite] = []
    matched = added = 0
    for index in sorted({one.index for one in candidates(scene, select).candidates}):
        item = scene.view.items[index]
        matched += 1
        if item.serial in done or not item.mask & (TEXT | RESULT):
            continue
        place = _last(blocks_of(item.message))
        if place is None:
            continue
        own = {"id": item.serial}
        parts = [
            known if known is not None else text.render({**common[at], **own})
            for at, (text, known) in enumerate(zip(texts, fixed, strict=True))
        ]
        tail = "\n".join(part for part in parts if part)
        if tail:
            added += scene.count(tail) + 1
            block = scene.view.block(index, place)
            edits.append(Rewrite((scene.view.spot(index, place),), _appended(block, tail)))
    if not edits:
        return Proposal(reason="every message selected has it" if matched else "no message matches")
    ceiling = scene.ceiling
    if ceiling is not None and scene.tokens < ceiling <= scene.tokens + added:
        return Proposal(reason="the view would be over a trigger again", remarks={"left_out": len(edits)})
    return Proposal(tuple(edits), items=len(edits))


def _done(scene: Scene) -> set[int]:
    """Serials of the messages this stage has appended to."""
    commits = scene.history.history.commits_of([scene.stage.id])
    return {
        spot.serial
        for commit in commits
        for edit in commit.edits
        if isinstance(edit, Rewrite)
        for spot in edit.spots
    }


def _last(blocks: Sequence[Mapping[str, Any]]) -> int | None:
    kinds = ("text", "tool_result")
    return next((at for at in reversed(range(len(blocks))) if blocks[at].get("type") in kinds), None)


def _appended(block: Mapping[str, Any], tail: str) -> dict[str, Any]:
    if block.get("type") == "text":
        return {"text": f"{block.get('text') or ''}\n{tail}"}
    inner = block.get("content")
    if isinstance(inner, str):
        return {"content": f"{inner}\n{tail}"}
    if not isinstance(inner, list | tuple) or not inner:
        return {"content": tail}
    last = inner[-1]
    if isinstance(last, Mapping) and last.get("type") == "text" and isinstance(last.get("text"), str):
        return {"content": [*inner[:-1], {**last, "text": f"{last['text']}\n{tail}"}]}
    return {"content": [*inner, {"type": "text", "text": tail}]}
