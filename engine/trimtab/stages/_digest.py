"""A model's few lines about one block, for the text that stands in its place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..effects import Core, EffectFailed, Question, Reply
from ..policy.contents import bytes_in, lines_in
from ..policy.errors import PolicyError
from ..policy.expressions import Quantity
from ..policy.maker import Maker
from ..policy.proposal import ModelCall
from ..policy.scene import Scene
from ..policy.values import Comparisons, comparisons
from ..templating import Text, fence, mark
from ..tokens.costs import cost_of
from ._models import models_of
from ._patience import RETRIES, asked, failed_call
from ._redact import clean_question, clean_text
from ._variables import variables

STOPPED = frozenset({"end_turn", "stop_sequence"})
PROBLEMS: Mapping[str, str] = {
    "max_tokens": "truncated",
    "model_context_window_exceeded": "truncated",
    "tool_use": "tool_call",
    "pause_turn": "tool_call",
    "refusal": "refusal",
}
"""What other stop reasons mean (LANGUAGE §9)."""


@dataclass(frozen=True, slots=True)
class Digest:
    """``size``: only texts of this size get one; ``max_output`` in tokens, ``timeout`` in seconds."""

    prompt: Text
    models: tuple[str, ...]
    size: Mapping[str, Comparisons]
    max_output: Quantity | None
    timeout: Quantity | None

    @classmethod
    def build(cls, raw: Mapping[str, Any], make: Maker) -> Digest:
        size: dict[str, Comparisons] = {}
        for unit, limits in (raw.get("size") or {}).items():
            try:
                size[unit] = comparisons(limits, ("digest", "size", unit))
            except PolicyError as problem:
                make.problem(problem.message, *problem.where, code=problem.code, hint=problem.hint or "")

        def number(key: str) -> Quantity | None:
            return make.quantity(raw[key], "digest", key) if key in raw else None

        prompt = make.template(str(raw.get("prompt")), "digest", "prompt")
        models = tuple(raw.get("model") or ("same",))
        return cls(prompt, models, size, number("max_output"), number("timeout_seconds"))

    def wanted(self, scene: Scene, text: str) -> bool:
        """Whether a text of this size gets a digest. Raises NoValue."""
        if not text.strip():
            return False
        for unit, limits in self.size.items():
            value: float
            if unit == "tokens":
                value = scene.count(text)
            else:
                value = {"chars": len, "bytes": bytes_in, "lines": lines_in}[unit](text)
            if not limits.holds(value, scene.name):
                return False
        return True

    def ask(
        self, scene: Scene, text: str, own: Mapping[str, Any]
    ) -> Core[tuple[str | None, list[ModelCall]]]:
        """The digest, or None if no model has a usable one; and the calls made.

        The block's text is ``transcript`` in the prompt, fenced; a prompt that does not read it gets it
        behind. Raises TemplateProblem, NoValue.
        """
        fenced = fence(text, mark([text]))
        prompt = self.prompt.render(variables(scene, self.prompt, {**own, "transcript": fenced}))
        if "transcript" not in self.prompt.variables:
            prompt = f"{prompt.rstrip()}\n\n{fenced}"
        most, timeout = _finite(self.max_output, scene), _finite(self.timeout, scene)
        calls: list[ModelCall] = []
        for model in models_of(self.models, scene):
            output = None if most is None else int(most)
            question, _ = yield from clean_question(
                Question(prompt, model, max_output=output, timeout=timeout)
            )

            def keep(problem: EffectFailed, seconds: float | None, model: str = model) -> None:
                calls.append(failed_call(model, "digest", problem, seconds))

            try:
                reply = yield from asked(question, "digest", output, RETRIES, keep)
            except EffectFailed:
                continue
            why = _problem(reply, text)
            name, cost = reply.model or model, cost_of(reply.usage, model)
            calls.append(ModelCall(name, "digest", reply.usage, reply.assumed, why, cost=cost))
            if why is None:
                clean, _ = yield from clean_text(reply.text.strip())
                return clean, calls
        return None, calls


def _finite(limit: Quantity | None, scene: Scene) -> float | None:
    value = math.inf if limit is None else limit.value(scene.name)
    return None if math.isinf(value) else value


def _problem(reply: Reply, source: str) -> str | None:
    """Why an answer cannot be used: a reason of LANGUAGE §9, or None."""
    if reply.stop not in STOPPED:
        return PROBLEMS.get(reply.stop, "invalid")
    if not reply.text.strip():
        return "empty"
    # A stand-in has the declared size, whatever the source has.
    return "larger" if len(reply.text) >= len(source) and not reply.assumed else None
