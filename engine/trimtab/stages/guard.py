"""``guard``: tells the host something, or that the request must not be sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..policy.evaluation import NoValue
from ..policy.maker import Maker
from ..policy.proposal import Notice, Proposal
from ..policy.scene import Scene
from ..templating import TemplateProblem, Text
from ._failing import failed, no_text
from ._variables import variables


@dataclass(frozen=True, slots=True)
class Guard:
    """``level`` is ``info``, ``warning`` or ``block``."""

    name: ClassVar[str] = "guard"
    shrinks: ClassVar[bool] = False
    picks: ClassVar[bool] = False

    level: str
    text: Text | None

    @classmethod
    def build(cls, raw: Mapping[str, Any], make: Maker) -> Guard:
        return cls(str(raw.get("level", "info")), make.text(raw))

    @property
    def opaque(self) -> bool:
        return False

    def propose(self, scene: Scene) -> Proposal:
        if self.text is None:
            return no_text()
        try:
            text = self.text.render(variables(scene, self.text))
        except (TemplateProblem, NoValue) as problem:
            return failed(problem)
        return Proposal(notices=(Notice(self.level, text, scene.stage.id),))
