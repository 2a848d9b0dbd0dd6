"""A text from a model: each model in turn, the plain input and then the ladder, until an answer passes the
gate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..effects import Core, EffectFailed, Question, Reply
from ..policy.expressions import Quantity
from ..policy.maker import Maker
from ..policy.proposal import ModelCall
from ..policy.scene import Scene
from ..templating import Text, fence
from ._calls import Caller, answered_call
from ._expects import Expects, Refused
from ._input import Input, Sheet, excess, factor_of, sheet, tokens_each
from ._ladder import Rung
from ._left_out import LeftOut, left_out
from ._material import Material, gather, paired
from ._models import models_of
from ._patience import RETRIES
from ._redact import clean_text, without_secrets
from ._source import Source, source_of
from ._variables import variables

SERVER = "server"
"""The name of the API's own compaction among the models of a stage."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be written about: view items ``[start, stop)``, and the prompt's variables.

    ``room``: tokens the text must stay under; ``users`` are the headings of sections with words of users;
    ``no_block``: why nothing the API compacts by itself can stand there.
    """

    start: int
    stop: int
    room: float
    direction: str
    previous: str
    instructions: str
    pending: str
    users: tuple[str, ...] = ()
    no_block: str | None = "only a summary can be a block of the API"


@dataclass(slots=True)
class Written:
    """What came of it: the text and who wrote it, or the failure that stood last; the calls and what was
    shortened. ``block``: the API's own, which says the same as the text.
    """

    text: str | None = None
    block: Mapping[str, Any] | None = None
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
    source: Source | None = None
    asked: set[str] = field(default_factory=set)

    def with_model(self, name: str) -> Core[list[Refused]]:
        """Plain input, then the ladder, with one model; what failed, in order."""
        writer, scene = self.writer, self.scene
        if name == SERVER and SERVER not in scene.settings:
            failure = yield from self._by_the_api()
            return [] if failure is None else [failure]
        named = models_of([name], scene)
        model = scene.request.model if named == ["same"] else named[0] if named else None
        if model is None or model in self.asked:
            return []
        self.asked.add(model)
        if self.plain is None:
            try:
                self.plain = yield from self._material(writer.input.originals)
            except EffectFailed as problem:
                self.written.calls.append(
                    ModelCall(model, self.purpose, problem=problem.reason, message=str(problem))
                )
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
            elif rung.only_back:
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
        if self.source is None:
            blocks = (block for entry in plain.entries for block in entry.blocks)
            self.source = source_of(self.scene, blocks, [task.previous, task.instructions, task.pending])
        return self.source

    def _attempt(self, material: Material, model: str, rung: int) -> Core[Refused | None]:
        """One input, asked with one model; None if its text is accepted."""
        writer, scene, written = self.writer, self.scene, self.written
        assert self.plain is not None
        page = sheet(scene, writer.input, material, self.task.start, model, [self.task.previous])
        question = self._question(writer.prompt, page, model)
        output = question.max_output
        count = scene.maker.count
        prompt = count(question.prompt) - (0 if page.request is not None else count(page.transcript))
        tokens = page.tokens + max(0, prompt) * factor_of(scene, model)
        over = excess(scene, model, tokens, output)
        if over > 0:
            written.remarks["unsent"] = written.remarks.get("unsent", 0) + 1
            return Refused(
                "too_long",
                f"about {round(tokens)} tokens do not fit {model}: {math.ceil(over)} too many",
                over,
            )
        shown = left_out(self.plain, material, self.task.start)
        room = self.task.room - scene.count(shown.words)
        judged = yield from self._caller(tokens).text(question, model, self.purpose, rung, room)
        if isinstance(judged, Refused):
            return judged
        written.text = shown.told(judged)
        self._account(shown, rung, tokens)
        if writer.review is not None:
            yield from self._review(writer.review, judged, material, rung, shown)
        return None

    def _caller(self, tokens: float | None = None) -> Caller:
        retries = RETRIES if self.writer.retries is None else self.writer.retries.value(self.scene.name)
        return Caller(
            self.writer.expects,
            self._judge,
            retries,
            self._declared(),
            self.written.calls,
            self.written.redacted,
            tokens,
        )

    def _judge(self, expects: Expects, reply: Reply, room: float) -> str | Refused:
        return expects.judge(reply, self.scene, room, self._source(), self.task.users)

    def _by_the_api(self) -> Core[Refused | None]:
        """The API's own compaction of all up to the range's end; None if it is accepted."""
        scene, task, written = self.scene, self.task, self.written
        model = scene.request.model
        if task.no_block is not None:
            written.calls.append(
                ModelCall(SERVER, self.purpose, problem="unavailable", message=task.no_block)
            )
            return Refused("unavailable", task.no_block)
        page = sheet(
            scene,
            Input(),
            gather(scene, 0, task.stop, originals=False, previous=True),
            0,
            model,
            [task.previous],
        )
        # Wishes replace the API's own prompt, so that they cannot go without the whole of ours.
        words = self._question(self.writer.prompt, page, model).prompt if task.instructions else ""
        question = Question(
            words,
            model,
            request=page.request,
            max_output=self._max_output(),
            timeout=_finite(self.writer.timeout, scene),
            compacts=True,
        )
        reply = yield from self._caller().reply(question, model, self.purpose, 0)
        if isinstance(reply, Refused):
            return reply
        judged: str | Refused = reply.text
        if not reply.assumed and reply.stop != "compaction":
            judged = Refused("unavailable", "the summarizer does not know the API's own compaction")
        elif not reply.assumed and reply.block is None:
            judged = Refused("empty", "the API could not compact the conversation")
        elif (yield from clean_text(reply.text))[1]:
            judged = Refused("invalid", "the API's own compaction quotes a secret, and cannot be changed")
        written.calls.append(answered_call(reply, model, self.purpose, judged))
        if isinstance(judged, Refused):
            return judged
        written.text, written.block = judged, reply.block
        written.remarks["input_tokens"] = round(page.tokens)
        return None

    def _review(self, review: Review, text: str, material: Material, rung: int, shown: LeftOut) -> Core[None]:
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
            room = self.task.room - self.scene.count(shown.words)
            judged = yield from self._caller().text(question, model, "review", rung, room)
            if not isinstance(judged, Refused):
                self.written.text = shown.told(judged)
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
        return Question(
            prompt,
            model,
            request=page.request,
            system=page.system,
            max_output=self._max_output(),
            effort=writer.effort,
            timeout=_finite(writer.timeout, scene),
        )

    def _max_output(self) -> int | None:
        output = _finite(self.writer.max_output, self.scene)
        return None if output is None else max(1, int(output))

    def _account(self, shown: LeftOut, rung: int, tokens: float) -> None:
        """For the receipt: what of the range the accepted text could not know of, and how that came about."""
        remarks = self.written.remarks
        remarks["input_tokens"] = round(tokens)
        if rung:
            remarks["rung"] = rung
        remarks |= shown.remarks


def _finite(limit: Quantity | None, scene: Scene) -> float | None:
    value = math.inf if limit is None else limit.value(scene.name)
    return None if math.isinf(value) else value
