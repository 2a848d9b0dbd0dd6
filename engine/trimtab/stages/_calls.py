"""One question to a writer, from the first try to the gate; each try is a call in the receipt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ..effects import Core, EffectFailed, Question, Reply
from ..policy.proposal import ModelCall
from ..tokens.costs import cost_of
from ._checks import Judge, checks
from ._expects import Expects, Refused
from ._patience import asked, failed_call
from ._redact import clean_question, clean_text


@dataclass(frozen=True, slots=True)
class Caller:
    """Asks with so many ``retries`` after passing failures; ``calls`` gathers what came of each try.

    ``declared``: tokens the stage declares for an answer, for a dry run; ``redacted`` is told of places in what was
    given and in the text; ``estimate``: what the request is taken to have.
    """

    expects: Expects
    judge: Judge
    retries: float
    declared: int | None
    calls: list[ModelCall]
    redacted: Callable[..., None]
    estimate: float | None = None

    def text(
        self, question: Question, model: str, purpose: str, rung: int, room: float
    ) -> Core[str | Refused]:
        """The accepted text of at most so many tokens, or why there is none. Raises NoValue.

        No secret goes there or comes back. After a tool call the question is put once more, with tools forbidden: to
        forbid them at once would cost the cache.
        """
        question, places = yield from clean_question(question)
        self.redacted(given=places)
        judged = yield from self._once(question, model, purpose, rung, room)
        called = isinstance(judged, Refused) and judged.reason == "tool_call"
        if called and question.request is not None and question.request.tools and self.retries >= 1:
            again = yield from self._once(replace(question, forbids_tools=True), model, purpose, rung, room)
            judged = judged if isinstance(again, Refused) else again
        if isinstance(judged, Refused):
            return judged
        text, places = yield from clean_text(judged)
        self.redacted(text=places)
        return text

    def _once(
        self, question: Question, model: str, purpose: str, rung: int, room: float
    ) -> Core[str | Refused]:
        reply = yield from self.reply(question, model, purpose, rung)
        if isinstance(reply, Refused):
            return reply
        judged = self.judge(self.expects, reply, room)
        call = answered_call(reply, model, purpose, judged, rung)
        looked_at = () if reply.assumed else checks(self.expects, reply, room, self.judge)
        self.calls.append(replace(call, checks=looked_at))
        return judged

    def reply(self, question: Question, model: str, purpose: str, rung: int) -> Core[Reply | Refused]:
        """The answer, whatever it says, or why there is none."""

        def keep(problem: EffectFailed, seconds: float | None) -> None:
            self.calls.append(failed_call(model, purpose, problem, seconds, rung))

        try:
            return (yield from asked(question, purpose, self.declared, self.retries, keep))
        except EffectFailed as problem:
            return Refused(problem.reason, str(problem), self._excess(problem))

    def _excess(self, problem: EffectFailed) -> float | None:
        """Tokens too many on the estimate's scale: an API that counts another way says so by what it counts."""
        if problem.excess_tokens is None or not self.estimate or not problem.size_tokens:
            return problem.excess_tokens
        return problem.excess_tokens * self.estimate / problem.size_tokens


def answered_call(reply: Reply, model: str, purpose: str, judged: str | Refused, rung: int = 0) -> ModelCall:
    """A call that was answered, for the receipt."""
    refused = judged if isinstance(judged, Refused) else None
    return ModelCall(
        reply.model or model,
        purpose,
        reply.usage,
        reply.assumed,
        refused.reason if refused is not None else None,
        rung,
        refused.message if refused is not None else None,
        cost_of(reply.usage, model),
    )
