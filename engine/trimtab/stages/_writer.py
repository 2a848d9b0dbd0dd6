"""A text from a model: each model in turn, the plain input and then the ladder, until an answer passes the
gate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..effects import Core, EffectFailed, Question, Reply, ask
from ..policy.expressions import Quantity
from ..policy.maker import Maker
from ..policy.proposal import ModelCall
from ..policy.scene import Scene
from ..templating import Text, fence
from ._expects import Expects, Refused
from ._input import Input, Sheet, excess, factor_of, sheet, tokens_each
from ._ladder import Rung
from ._material import Material, paired
from ._models import models_of
from ._redact import clean_question, clean_text, without_secrets
from ._source import Source, source_of
from ._variables import variables

SERVER = "server"
RETRIES = 2
"""Repeats of a call that failed for a passing reason (LANGUAGE §9)."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be written about: view items ``[start, stop)``, and the prompt's variables.

    ``room``: tokens the text must stay under; ``users`` are the headings of sections with words of users.
    """

    start: int
    stop: int
    room: float
    direction: str
    previous: str
    instructions: str
    pending: str
    users: tuple[str, ...] = ()


@dataclass(slots=True)
class Written:
    """What came of it: the text and who wrote it, or the failure that stood last; the calls and what was
    shortened.
    """

    text: str | None = None
    failure: Refused | None = None
    calls: list[ModelCall] = field(default_factory=list)
    remarks: dict[str, Any] = field(default_factory=dict)

    def redacted(self, *, given: int = 0, text: int = 0) -> None:
        """Count the places where secrets were: in what the writer was given, and in its text."""
        for name, places in (("redacted_given", given), ("redacted_text", text)):
            if places:
                self.remarks[name] = self.remarks.get(name, 0) + places


@dataclass(frozen=True, slots=True)
class Review:
    """A second call that sees the text."""

    prompt: Text
    models: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Writer:
    """Everything about the calls of a stage that writes. ``effort`` is ``none low medium high`` or None."""

    prompt: Text
    models: tuple[str, ...]
    input: Input
    ladder: tuple[Rung, ...]
    expects: Expects
    review: Review | None
    retries: Quantity | None
    timeout: Quantity | None
    max_output: Quantity | None
    effort: str | None

    @classmethod
    def build(cls, raw: Mapping[str, Any], make: Maker) -> Writer:
        """From the raw keys of a stage with a ``prompt``."""

        def number(key: str) -> Quantity | None:
            return make.quantity(raw[key], key) if key in raw else None

        review = raw.get("review")
        return cls(
            make.template(str(raw.get("prompt")), "prompt"),
            tuple(raw.get("model") or ("same",)),
            Input.build(raw.get("input") or {}, raw.get("previous"), make),
            tuple(Rung.build(one, make, "ladder", at) for at, one in enumerate(raw.get("ladder") or ())),
            Expects.build(raw.get("expects") or {}, make),
            None
            if review is None
            else Review(
                make.template(str(review.get("prompt")), "review", "prompt"),
                tuple(review.get("model") or ("same",)),
            ),
            number("retries"),
            number("timeout_seconds"),
            number("max_output"),
            raw.get("effort"),
        )

    def write(self, scene: Scene, task: Task, purpose: str = "summary") -> Core[Written]:
        """A text about the task's range. Raises TemplateProblem, NoValue."""
        written = Written()
        session = _Session(self, scene, task, purpose, written)
        reasons: list[Refused] = []
        for name in self.models:
            failures = yield from session.with_model(name)
            if written.text is not None:
                return written
            # Of a model that is not there it does not matter what else it would have failed over.
            missing = [one for one in failures if one.reason == "unavailable"]
            reasons.extend(missing[-1:] or failures)
        # That a model is not there says less than why another one could not do it.
        told = [one for one in reasons if one.reason != "unavailable"] or reasons
        written.failure = told[-1] if told else Refused("unavailable", "the stage names no model")
        return written


@dataclass(slots=True)
class _Session:
    """One text being written; what its attempts share."""

    writer: Writer
    scene: Scene
    task: Task
    purpose: str
    written: Written
    plain: Material | None = None
    asked: set[str] = field(default_factory=set)

    def with_model(self, name: str) -> Core[list[Refused]]:
        """Plain input, then the ladder, with one model; what failed, in order."""
        writer, scene = self.writer, self.scene
        if name == SERVER and SERVER not in scene.settings:
            self.written.calls.append(ModelCall(name, self.purpose, problem="unavailable"))
            return [Refused("unavailable", "the API's own compaction is not offered by this engine yet")]
        named = models_of([name], scene)
        model = scene.request.model if named == ["same"] else named[0] if named else None
        if model is None or model in self.asked:
            return []
        self.asked.add(model)
        if self.plain is None:
            try:
                self.plain = yield from self._material(writer.input.originals)
            except EffectFailed as problem:
                self.written.calls.append(ModelCall(model, self.purpose, problem=problem.reason))
                return [Refused(problem.reason, str(problem), problem.excess_tokens)]
        failures: list[Refused] = []
        last = yield from self._attempt(self.plain, model, 0)
        if last is None:
            return failures
        failures.append(last)
        for number, rung in enumerate(writer.ladder, 1):
            if last.reason not in rung.reasons:
                continue
            material = self.plain
            if rung.shortened and writer.input.originals:
                material = yield from self._material(False)
            elif rung.shortened and rung.removal is None and not rung.clips and rung.media is None:
                continue
            for _ in range(rung.repeats(scene)):
                too_much = None if last.excess is None else last.excess / self._ratio(material, model)
                shorter = rung.apply(scene, material, too_much)
                if shorter is None:
                    break
                again = yield from self._attempt(shorter, model, number)
                if again is None:
                    return failures
                last = again
                failures.append(last)
                if last.reason not in rung.reasons or shorter is material:
                    break
                material = shorter
        return failures

    def _ratio(self, material: Material, model: str) -> float:
        """The model's tokens for one estimated token of this input."""
        if self.writer.input.as_text:
            return factor_of(self.scene, model)
        return tokens_each(self.scene, material, model)

    def _material(self, originals: bool) -> Core[Material]:
        task = self.task
        plain = self.writer.input.material(self.scene, task.start, task.stop, originals=originals)
        clean, places = yield from without_secrets(self.scene, plain)
        self.written.redacted(given=places)
        return paired(self.scene, clean) if clean is not plain else plain

    def _source(self) -> Source:
        """All that a text could be made from: the plain input, whatever a rung leaves out, and the prompt's words."""
        task, plain = self.task, self.plain
        assert plain is not None
        blocks = (block for entry in plain.entries for block in entry.blocks)
        return source_of(self.scene, blocks, [task.previous, task.instructions, task.pending])

    def _attempt(self, material: Material, model: str, rung: int) -> Core[Refused | None]:
        """One input, asked with one model; None if its text is accepted."""
        writer, scene, written = self.writer, self.scene, self.written
        page = sheet(scene, writer.input, material, self.task.start, model, [self.task.previous])
        question = self._question(writer.prompt, page, model)
        output = question.max_output
        prompt = (
            scene.count(question.prompt)
            if page.request is not None
            else scene.count(question.prompt) - scene.count(page.transcript)
        )
        tokens = page.tokens + max(0, prompt) * factor_of(scene, model)
        over = excess(scene, model, tokens, output)
        if over > 0:
            written.remarks["unsent"] = written.remarks.get("unsent", 0) + 1
            return Refused(
                "too_long",
                f"about {round(tokens)} tokens do not fit {model}: {math.ceil(over)} too many",
                over,
            )
        judged = yield from self._ask(question, model, rung, self.purpose, writer.retries)
        if isinstance(judged, Refused):
            return judged
        written.text = judged
        self._account(material, rung, tokens)
        if writer.review is not None:
            yield from self._review(writer.review, judged, material, rung)
        return None

    def _ask(
        self, question: Question, model: str, rung: int, purpose: str, retries: Quantity | None
    ) -> Core[str | Refused]:
        """The accepted text of one question, repeated after transient errors; no secret goes there or comes back."""
        scene, calls = self.scene, self.written.calls
        question, places = yield from clean_question(question)
        self.written.redacted(given=places)
        left = RETRIES if retries is None else min(retries.value(scene.name), 1000)
        while True:
            try:
                reply: Reply = yield from ask(question, purpose, self._declared())
            except EffectFailed as problem:
                calls.append(ModelCall(model, purpose, problem=problem.reason, rung=rung))
                if problem.transient and left >= 1:
                    left -= 1
                    continue
                return Refused(problem.reason, str(problem), problem.excess_tokens)
            judged = self.writer.expects.judge(reply, scene, self.task.room, self._source(), self.task.users)
            why = judged.reason if isinstance(judged, Refused) else None
            calls.append(ModelCall(reply.model or model, purpose, reply.usage, reply.assumed, why, rung))
            if isinstance(judged, Refused):
                return judged
            text, places = yield from clean_text(judged)
            self.written.redacted(text=places)
            return text

    def _review(self, review: Review, text: str, material: Material, rung: int) -> Core[None]:
        """A second opinion; its text stands if it passes the gate, else the first one does."""
        why: Refused | None = None
        for name in review.models:
            named = models_of([name], self.scene)
            model = self.scene.request.model if named == ["same"] else named[0] if named else None
            if model is None:
                continue
            fenced = [self.task.previous, text]
            page = sheet(self.scene, self.writer.input, material, self.task.start, model, fenced)
            question = self._question(review.prompt, page, model, {"summary": fence(text, page.seal)})
            judged = yield from self._ask(question, model, rung, "review", self.writer.retries)
            if not isinstance(judged, Refused):
                self.written.text = judged
                return
            why = judged
        self.written.remarks["review"] = why.message if why is not None else "the review names no model"

    # --- the question

    def _declared(self) -> int | None:
        """Tokens the stage declares for an answer: ``max_tokens``, else ``max_output``."""
        for limit in (self.writer.expects.max_tokens, self.writer.max_output):
            if limit is not None and (value := limit.value(self.scene.name)) < math.inf:
                return int(value)
        return None

    def _question(
        self, text: Text, page: Sheet, model: str, own: Mapping[str, Any] | None = None
    ) -> Question:
        """The prompt filled in. Raises TemplateProblem, NoValue."""
        scene, task, writer = self.scene, self.task, self.writer
        given = {
            "transcript": page.transcript,
            "previous": fence(task.previous, page.seal) if task.previous else "",
            "instructions": task.instructions,
            "direction": task.direction,
            "sections": list(writer.expects.sections),
            "pending": task.pending,
            **(own or {}),
        }
        parts = [text.render(variables(scene, text, given))]
        if page.transcript and "transcript" not in text.variables:
            parts.append(page.transcript)
        if own and "summary" in own and "summary" not in text.variables:
            parts.append(str(own["summary"]))
        if page.point:
            parts.append(page.point)
        prompt = "\n\n".join([part.rstrip() for part in parts if part.strip()])
        output, timeout = _finite(writer.max_output, scene), _finite(writer.timeout, scene)
        return Question(
            prompt,
            model,
            request=page.request,
            system=page.system,
            max_output=None if output is None else max(1, int(output)),
            effort=writer.effort,
            timeout=timeout,
        )

    def _account(self, material: Material, rung: int, tokens: float) -> None:
        """For the receipt: what of the range the accepted text could not know of, and how that came."""
        remarks = self.written.remarks
        assert self.plain is not None
        shown = {entry.item.serial for entry in material.entries}
        dropped = [
            entry.item.serial
            for entry in self.plain.entries
            if entry.index >= self.task.start and entry.item.serial not in shown
        ]
        remarks["input_tokens"] = round(tokens)
        if rung:
            remarks["rung"] = rung
        if dropped:
            remarks["dropped"] = dropped
        if material.emptied:
            remarks["results_left_out"] = material.emptied


def _finite(limit: Quantity | None, scene: Scene) -> float | None:
    value = math.inf if limit is None else limit.value(scene.name)
    return None if math.isinf(value) else value
