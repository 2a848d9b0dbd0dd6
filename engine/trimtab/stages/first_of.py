"""``first_of``: its children are stages of their own; which of them fires is the interpreter's business."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..policy.maker import Maker
from ..policy.proposal import Proposal
from ..policy.scene import Scene


@dataclass(frozen=True, slots=True)
class FirstOf:
    """Has no parameters: children and defaults are resolved when the pack is built."""

    name: ClassVar[str] = "first_of"
    shrinks: ClassVar[bool] = False
    picks: ClassVar[bool] = False

    @classmethod
    def build(cls, raw: Mapping[str, Any], make: Maker) -> FirstOf:
        return cls()

    @property
    def opaque(self) -> bool:
        return False

    def propose(self, scene: Scene) -> Proposal:
        """Never asked for; does nothing."""
        return Proposal(reason="a first_of proposes nothing itself; its stages do")
