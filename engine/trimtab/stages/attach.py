"""``attach``: inserts texts from facts and templates, and knows by the view what the model has been told."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..conversation.items import MESSAGE_TOKENS
from ..effects import Effect
from ..policy.evaluation import NoValue
from ..policy.maker import Maker
from ..policy.proposal import Proposal
from ..policy.scene import Scene
from ..policy.selection import Selector
from ..templating import TemplateProblem
from ..validity.base import Place
from ._budget import Budget, Limits
from ._each import append_to_each
from ._entries import Entry, Said, entries, say
from ._failing import failed
from ._told import told_by

MOST_NAMED = 3
"""Facts the host lacks that are named in the reason; of more it says how many, and the remarks name them."""


@dataclass(frozen=True, slots=True)
class Attach:
    """``place`` is ``end start after_summary system each``; ``select`` belongs to ``each``."""

    name: ClassVar[str] = "attach"
    shrinks: ClassVar[bool] = False
    picks: ClassVar[bool] = False

    entries: tuple[Entry, ...]
    place: str = "end"
    role: str = "user"
    budget: Budget | None = None
    select: Selector | None = None

    @classmethod
    def build(cls, raw: Mapping[str, Any], make: Maker) -> Attach:
        place = str(raw.get("place", "end"))
        if place == "each" and "select" not in raw:
            make.problem(
                "`place: each` needs `select`",
                "place",
                code="value",
                hint="add select: {origins: [user]}, or another place",
            )
        return cls(
            entries(raw.get("from") or (), make),
            place,
            str(raw.get("role", "user")),
            Budget.build(raw["budget"], make, "budget") if "budget" in raw else None,
            make.selector(raw["select"], "select") if "select" in raw else None,
        )

    @property
    def opaque(self) -> bool:
        return False

    def propose(self, scene: Scene) -> Generator[Effect, Any, Proposal]:
        try:
            if self.place == "each":
                return append_to_each(scene, self.entries, self.select)
            index = self._index(scene)
            if isinstance(index, str):
                return Proposal(reason=index)
            return (yield from self._message(scene, index))
        except (TemplateProblem, NoValue) as problem:
            return failed(problem)

    def _index(self, scene: Scene) -> int | str:
        """The item the message goes behind (-1: before the first), or why there is no place for it."""
        view = scene.view
        items = view.items
        if self.place == "end":
            # Behind the calls it would part them from their results, before them change what is cached.
            return "calls are waiting for their results" if view.open_calls else len(items) - 1
        if self.place == "system":
            if scene.event != "session_start":
                return "`place: system` is for the event session_start"
            said = scene.history.history.commits_of([scene.stage.id])
            return "already part of the system prompt" if said else -1
        if self.place == "after_summary":
            newest = next((at for at in reversed(range(len(items))) if items[at].origin == "summary"), None)
            if newest is None:
                return "the view holds no summary"
            cuts = scene.cuts()
            return next(at for at in range(newest, len(items)) if cuts[at + 1] or at == len(items) - 1)
        head = 0
        while head < len(items) and items[head].role == "system":
            head += 1
        return head - 1

    def _message(self, scene: Scene, index: int) -> Generator[Effect, Any, Proposal]:
        told = told_by(scene, scene.stage.id)
        left = Limits() if self.budget is None else self.budget.limits(scene)
        said: list[Said] = []
        remarks: dict[str, Any] = {}
        unknown: list[str] = []
        for entry in self.entries:
            one = yield from say(scene, entry, told.get(entry.key), left)
            if one.unknown:
                unknown.append(one.key)
            if one.left_out:
                remarks.setdefault("left_out", {})[one.key] = list(one.left_out)
            if one.unreadable:
                remarks.setdefault("unreadable", {})[one.key] = list(one.unreadable)
            if one.text is not None:
                said.append(one)
                left = left.less(scene.count(one.text), len(one.text), one.items)
        for one in self._over_ceiling(scene, said):
            said.remove(one)
            remarks.setdefault("left_out", {})[one.key] = [
                "all of it: the view would be over a trigger again"
            ]
        if not said:
            if len(unknown) > MOST_NAMED:
                remarks["unknown"] = unknown
            return Proposal(reason=_why(self.entries, unknown, remarks), remarks=remarks)
        text = "\n\n".join(one.text for one in said if one.text is not None)
        remarks["told"] = {one.key: dict(one.told) for one in said if one.told}
        if not remarks["told"]:
            del remarks["told"]
        role = "system" if self.place == "system" else self.role
        place = Place(index, {"role": role, "content": text}, "attachment")
        return Proposal((place,), items=sum(one.items for one in said), remarks=remarks)

    def _over_ceiling(self, scene: Scene, said: Sequence[Said]) -> list[Said]:
        """The entries, last first, that would push the view back over a trigger it was brought under."""
        ceiling = scene.ceiling
        if ceiling is None or scene.tokens >= ceiling:
            return []
        frame = scene.tokens_of(MESSAGE_TOKENS)
        sizes = [scene.count(one.text or "") + 1 for one in said]
        out: list[Said] = []
        while sizes and scene.tokens + sum(sizes) + frame >= ceiling:
            sizes.pop()
            out.append(said[len(sizes)])
        return out


def _why(entries: Sequence[Entry], unknown: Sequence[str], remarks: Mapping[str, Any]) -> str:
    if "left_out" in remarks:
        return "nothing fits"
    if len(unknown) == len(entries):
        if len(unknown) > MOST_NAMED:
            return f"the host gives none of its {len(unknown)} facts"
        return f"the host does not have {', '.join(unknown)}"
    return "nothing to say"
