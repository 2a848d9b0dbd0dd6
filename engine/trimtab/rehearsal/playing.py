"""A made-up session played with the engine, call by call, with a writer that always answers well."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..conversation.request import Info, Message, Request
from ..effects import Question, Reply
from ..engine import Engine
from ..facts import Facts
from ..interpreter import StageFailed
from ..packs.pack import Pack
from ..receipt import Change, StageReport
from ..summarizers.base import refuse_compaction
from .session import Made, rounds, tools_of

MODEL = "claude-sonnet-4-5"
FIGURES = {"window": 200_000.0, "max_output": 64_000.0}
"""Tokens; what the made-up model holds, whatever the pack says of it."""
EVENTS = ("tool_result", "before_request", "after_response")
WORDS = 12
"""Sentences of each part of a made-up answer."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the model: the stages that changed what had already been sent.

    ``grown`` and ``tokens``: what is new since the call before, and the whole of it, before any stage.
    """

    changed: frozenset[str]
    grown: float = 0.0
    tokens: float = 0.0


def play(pack: Pack, made: Made, data: Mapping[str, Any]) -> list[Call]:
    """The calls of the session; fewer where a stage with `on_failure: raise` ends it."""
    # No redactor: nothing here is secret, and its patterns are read for each text.
    engine = Engine(pack, models={"*": FIGURES}, summarizer=Writer(data), redactor=None)
    session = engine.session()
    messages: list[Message] = []
    infos: list[Info | None] = []
    calls: list[Call] = []
    left = 0.0
    # A request is sent each time, whether or not a stage has anything to do with it.
    heard = {"before_request", *(event for stage in pack.stages for event in stage.at)}
    events = [event for event in EVENTS if event in heard]
    for new, known, now in rounds(made, tools_of(data)):
        messages += new
        infos += known
        changed: set[str] = set()
        sizes: list[Change] = []
        for event in events:
            request = Request(MODEL, messages, info=tuple(infos))
            try:
                outcome = session.run(request, event, Facts(now=now, caller="main"))
            except StageFailed:
                return calls
            for job in outcome.jobs:
                job.run()
            changed.update(_changing(outcome.receipt.stages))
            sizes.append(outcome.receipt.totals.tokens)
        calls.append(Call(frozenset(changed), sizes[0].before - left, sizes[0].before))
        left = sizes[-1].after
    return calls


def _changing(reports: Iterable[StageReport]) -> Iterable[str]:
    for report in reports:
        for one in (report, *report.children):
            if one.verdict == "committed" and one.cache_loss_tokens and not one.children:
                yield one.id


class Writer:
    """Answers each question with all tags and sections that any stage of the pack expects."""

    def __init__(self, pack: Mapping[str, Any]) -> None:
        expects = list(_expects(pack))
        titles = dict.fromkeys(title for one in expects for title in one.get("sections", ()))
        body = "\n\n".join(f"## {title}\n{_sentences()}" for title in titles or ["Summary"])
        tags = dict.fromkeys(one["extract"] for one in expects if "extract" in one)
        self.text = "\n".join(f"<{tag}>\n{body}\n</{tag}>" for tag in tags) or body

    def answer(self, question: Question) -> Reply:
        """The same text each time. Raises AskFailed for the API's own compaction."""
        refuse_compaction(question)
        return Reply(self.text)

    async def aanswer(self, question: Question) -> Reply:
        return self.answer(question)


def _sentences() -> str:
    return " ".join(f"Step {number} of the work is done and was checked." for number in range(1, WORDS + 1))


def _expects(value: Any) -> Iterable[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        if isinstance(value.get("expects"), Mapping):
            yield value["expects"]
        for each in value.values():
            yield from _expects(each)
    elif isinstance(value, list):
        for each in value:
            yield from _expects(each)
