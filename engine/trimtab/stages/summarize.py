"""``summarize``: replaces a range of messages by a text, written by a model or filled from a template."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..effects import Core, Effect
from ..policy.evaluation import NoValue
from ..policy.maker import Maker
from ..policy.proposal import Proposal
from ..policy.scene import Scene
from ..templating import TemplateProblem
from ._compose import DEFAULT, build_parts
from ._failing import failed, no_text
from ._ground import Ground
from ._instructions import Instruction
from ._range import find_range, holds_new
from ._work import Recipe, Work
from ._writer import Writer


@dataclass(frozen=True, slots=True)
class Summarize(Recipe):
    """LANGUAGE §10; the raw keys are read here, the work is done in ``_work``."""

    name: ClassVar[str] = "summarize"
    shrinks: ClassVar[bool] = True
    picks: ClassVar[bool] = False

    @classmethod
    def build(cls, raw: Mapping[str, Any], make: Maker) -> Summarize:
        spans = raw.get("spans")
        if spans is not None and "compose" in raw:
            make.problem(
                "`spans` puts each text in its own place: there is nothing to compose",
                "compose",
                code="value",
                hint="take out compose or spans",
            )
        return cls(
            Writer.build(raw, make) if "prompt" in raw else None,
            make.text(raw),
            raw.get("notes"),
            tuple(
                Instruction.build(one, make, "instructions", at)
                for at, one in enumerate(raw.get("instructions") or ())
            ),
            Ground.build(raw["ground"], make) if "ground" in raw else None,
            make.quantity(spans["rounds"], "spans", "rounds") if spans is not None else None,
            raw.get("store"),
            make.template(raw["wrapper"], "wrapper") if "wrapper" in raw else None,
            DEFAULT if spans is not None else build_parts(raw, make),
        )

    @property
    def opaque(self) -> bool:
        """It edits no blocks."""
        return False

    def propose(self, scene: Scene) -> Proposal | Generator[Effect, Any, Proposal]:
        if self.notes is not None:
            return Proposal(reason=f"the notes of `{self.notes}` cannot be used: this engine keeps none yet")
        if self.writer is None and self.text is None:
            return no_text()
        return self._work(scene)

    def _work(self, scene: Scene) -> Core[Proposal]:
        try:
            place = find_range(scene)
            if not place.parts:
                return Proposal(reason=place.reason)
            if not holds_new(scene, place.parts):
                return Proposal(reason="nothing new since the last summary")
            work = Work(self, scene, place)
            return (yield from work.in_spans() if self.spans is not None else work.at_once())
        except (TemplateProblem, NoValue) as problem:
            return failed(problem)
