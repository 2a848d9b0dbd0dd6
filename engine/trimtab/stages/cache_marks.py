"""``cache_marks``: wishes for cache breakpoints; they are placed when the request is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..directives import WISHES, Wish, head, plan
from ..policy.maker import Maker
from ..policy.proposal import Proposal
from ..policy.scene import Scene

FORMAT = "anthropic"


@dataclass(frozen=True, slots=True)
class CacheMarks:
    """The receipt's remarks say what the present view would get; later stages may still move it."""

    name: ClassVar[str] = "cache_marks"
    shrinks: ClassVar[bool] = False
    picks: ClassVar[bool] = False

    wishes: tuple[Wish, ...]

    @classmethod
    def build(cls, raw: Mapping[str, Any], make: Maker) -> CacheMarks:
        return cls(
            tuple(
                Wish(str(mark["place"]), int(mark.get("count", 1)), str(mark.get("ttl", "5m")))
                for mark in raw["marks"]
            )
        )

    @property
    def opaque(self) -> bool:
        return False

    def propose(self, scene: Scene) -> Proposal:
        request = scene.request
        if request.format != FORMAT:
            return Proposal(reason=f"a request in the format {request.format} has no cache marks")
        system, start = head(request, scene.view.items)
        found = plan(self.wishes, system, request.tools, scene.view.items[start:], request.extra)
        remarks: dict[str, Any] = {}
        for name in ("placed", "already", "left_out"):
            counts = getattr(found, name)
            if counts:
                remarks[name] = dict(counts)
        if found.host:
            remarks["host_marks"] = found.host
        if not found.marks:
            if found.left_out:
                reason = f"the request brings {found.host} cache marks; no more are allowed"
            else:
                reason = "the host has marked these places" if found.already else "nothing there to mark"
            return Proposal(reason=reason, remarks=remarks)
        return Proposal(directives={WISHES: self.wishes}, items=len(found.marks), remarks=remarks)
