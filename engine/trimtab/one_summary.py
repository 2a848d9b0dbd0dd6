"""One summary of a session, tried out: what a writer is asked, what it says, what the gate makes of it.

Only the one stage runs, in memory: nothing is committed to a session directory and nothing is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .conversation.items import blocks_of
from .conversation.request import Message, Request
from .effects import AskFailed, Question, Reply
from .engine import Engine
from .facts import Facts
from .journal import MemoryJournal
from .packs.pack import Pack
from .policy.stage import Stage
from .receipt import Receipt, StageReport
from .records import Record
from .session import Session
from .stages.summarize import Summarize
from .store import Store
from .summarizers.base import Summarizer
from .tokens.models import lookup


@dataclass(frozen=True, slots=True)
class Exchange:
    """One question as it was put to the summarizer, with the ``reply``, or why there was none."""

    question: Question
    reply: Reply | None = None
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """What a question consists of: the ``system`` prompt, the ``tools``, the ``messages``, our ``prompt``.

    ``count`` counts tools or messages; ``tokens`` is an estimate in the tokens of the question's model.
    """

    name: str
    chars: int
    tokens: int
    count: int | None = None


@dataclass(frozen=True, slots=True)
class OneSummary:
    """What came of it. ``text`` is what would stand in the range's place, as the model would read it."""

    receipt: Receipt
    report: StageReport
    exchanges: tuple[Exchange, ...] = ()
    text: str = ""
    sections: tuple[str, ...] = ()

    @property
    def cost(self) -> float | None:
        """US dollars of all calls together, as far as prices are known; None where none is."""
        known = [call.cost for call in self.report.calls if call.cost is not None]
        return sum(known) if known else None


@dataclass(slots=True)
class Listener:
    """A summarizer that hears what another one is asked and what it says."""

    inner: Summarizer | None
    heard: list[Exchange] = field(default_factory=list)

    def answer(self, question: Question) -> Reply:
        try:
            return self._heard(question, self._there().answer(question))
        except Exception as problem:
            self.heard.append(Exchange(question, failure=str(problem)))
            raise

    async def aanswer(self, question: Question) -> Reply:
        try:
            return self._heard(question, await self._there().aanswer(question))
        except Exception as problem:
            self.heard.append(Exchange(question, failure=str(problem)))
            raise

    def _there(self) -> Summarizer:
        if self.inner is None:
            raise AskFailed("unavailable", "nobody was asked: no summarizer is given")
        return self.inner

    def _heard(self, question: Question, reply: Reply) -> Reply:
        self.heard.append(Exchange(question, reply))
        return reply


@dataclass(frozen=True, slots=True)
class ReadOnly:
    """A store that reads another one and keeps nothing."""

    inner: Store

    def put(self, name: str, text: str) -> str:
        return self.inner.place(name)

    def place(self, name: str) -> str:
        return self.inner.place(name)

    def get(self, name: str) -> str | None:
        return self.inner.get(name)

    def has(self, name: str) -> bool:
        return self.inner.has(name)


def summary_stages(pack: Pack) -> list[Stage]:
    """The pack's stages that write summaries: first those that have a model write one, then those of several spans."""

    def rank(stage: Stage) -> int:
        params = stage.params
        assert isinstance(params, Summarize)
        return 2 if params.writer is None else int(params.spans is not None)

    return sorted([stage for stage in pack.every_stage() if isinstance(stage.params, Summarize)], key=rank)


def summarize_once(
    engine: Engine,
    stage: Stage,
    request: Request,
    facts: Facts,
    *,
    model: str | None = None,
    records: Iterable[Record] = (),
) -> OneSummary:
    """Let the stage sum up ``request`` as for a manual run (``facts.request`` names the ends), whatever its ``when``
    and its breaker say.

    ``model`` is asked instead of those the stage names; ``records`` are those of an earlier journal.
    """
    listener = Listener(engine.ports.summarizer)
    pack = replace(engine.pack, stages=(_alone(stage, model),))
    ports = replace(engine.ports, summarizer=listener, store=ReadOnly(engine.ports.store), hooks=None)
    session = Session(engine.twin(pack, ports), MemoryJournal(list(records)))
    outcome = session.run(request, "manual", facts)
    [report] = outcome.receipt.stages
    brought = [
        message
        for serial, message in zip(outcome.serials, outcome.request.messages, strict=True)
        if serial in report.brought
    ]
    writer = _writer(stage)
    sections = writer.expects.sections if writer is not None else ()
    return OneSummary(outcome.receipt, report, tuple(listener.heard), _words(brought), sections)


def parts_of(question: Question, engine: Engine) -> list[Part]:
    """What a question consists of, with the size of each part."""
    request = question.request
    factor = lookup(question.model).factor

    def part(name: str, texts: Sequence[str], count: int | None = None) -> Part:
        tokens = sum(engine.counter.count(text) for text in texts)
        return Part(name, sum(map(len, texts)), round(tokens * factor), count)

    if request is None:
        system = [part("system", [question.system])] if question.system else []
        return [*system, part("prompt", [question.prompt])]
    found = []
    if request.system:
        found.append(part("system", [_text(request.system)]))
    if request.tools:
        found.append(part("tools", [str(dict(tool)) for tool in request.tools], len(request.tools)))
    items = [engine.maker.make(0, message)[0] for message in request.messages]
    chars = sum([sum(item.chars) for item in items])
    found.append(Part("messages", chars, round(sum([item.total for item in items]) * factor), len(items)))
    return [*found, part("prompt", [question.prompt])]


def _alone(stage: Stage, model: str | None) -> Stage:
    """The stage as it would run if somebody asked for it by name."""
    params = stage.params
    assert isinstance(params, Summarize)
    if model is not None and params.writer is not None:
        params = replace(params, writer=replace(params.writer, models=(model,)))
    return replace(
        stage, params=params, at={"manual": None}, when=None, breaker=None, on_failure="keep", enabled=True
    )


def _writer(stage: Stage) -> Any:
    return stage.params.writer if isinstance(stage.params, Summarize) else None


def _words(messages: Iterable[Message]) -> str:
    """What messages say, a block of the API's own compaction too."""
    found = [
        str(block.get("text") or block.get("content") or "")
        for message in messages
        for block in blocks_of(message)
        if block.get("type") in ("text", "compaction")
    ]
    return "\n\n".join([text for text in found if text])


def _text(system: Any) -> str:
    return (
        system if isinstance(system, str) else "\n".join([str(block.get("text") or "") for block in system])
    )
