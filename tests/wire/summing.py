"""What the tests of summaries over the wire share: a conversation, small packs, what may become of a run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tests.fake_api.fixture import ServedApi
from tests.faults.support import HEAD, SECTIONS, Message, accepted, shown
from tests.session.packs import engine_of
from tests.wire.agent import TOOLS

from trimtab import Engine, Facts, Request
from trimtab.outcome import Outcome
from trimtab.policy.proposal import ModelCall
from trimtab.receipt import StageReport
from trimtab.summarizers.anthropic import AnthropicSummarizer

MODEL = "claude-haiku-4-5"
NOW = 1_700_000_000.0
SYSTEM = [{"type": "text", "text": "You keep the ledgers of a harbour. " * 40}]
NINE = f"expects: {{extract: summary, strip: [analysis], sections: [{', '.join(SECTIONS)}]}}"


def pack(more: str = NINE, *, keep: str = "keep: {newest: {rounds: 1}}", at: str = "", top: str = "") -> str:
    """A pack whose one stage has a model write; ``more`` are further keys of it, in flow style."""
    events = at or "{before_request: {tokens: {at_least: 2000}}, overflow: {}, manual: {}}"
    keys = ", ".join(
        part for part in (f"at: {events}", keep, "prompt: summary/nine-sections.md.j2", more) if part
    )
    return f"{HEAD}{top}stages:\n  - {{id: sum-up, kind: summarize, {keys}}}\n"


CHAIN = (
    "stages:\n"
    "  - id: compact\n"
    "    kind: first_of\n"
    "    at: {before_request: {tokens: {at_least: 2000}}, manual: {}}\n"
    "    defaults: {keep: {newest: {rounds: 1}}}\n"
    "    stages:\n"
    f"      - {{id: sum-up, kind: summarize, prompt: summary/nine-sections.md.j2, model: [MODELS], {NINE}}}\n"
    "      - {id: ledger, kind: summarize, when: {failure: [WHEN]}, template: summary/ledger.md.j2}\n"
)


def chain(models: str = "claude-opus-4-8, same", when: str = "unavailable, error, empty, refusal") -> str:
    return HEAD + CHAIN.replace("MODELS", models).replace("WHEN", when)


def engine(api: ServedApi, text: str | None = None, *, client: Any = None, **keywords: Any) -> Engine:
    """The pack with a writer that asks the fake."""
    writer = AnthropicSummarizer(client or api.client())
    return engine_of(text or pack(), summarizer=writer, **keywords)


def request(messages: Sequence[Message], model: str = MODEL, **extra: Any) -> Request:
    """A request as the agent would send it."""
    return Request(model, list(messages), SYSTEM, TOOLS, extra={"max_tokens": 4000, **extra})


def compact(
    ready: Any,
    messages: Sequence[Message],
    event: str = "before_request",
    *,
    model: str = MODEL,
    **facts: Any,
) -> Outcome:
    """One run, after which the conversation is byte for byte what it was, or validly compacted."""
    session = ready.session() if isinstance(ready, Engine) else ready
    before = json.dumps(list(messages))
    asked = request(messages, model, **facts.pop("extra", {}))
    outcome: Outcome = session.run(asked, event, Facts(now=facts.pop("now", NOW), caller="main", **facts))
    assert json.dumps(list(messages)) == before
    if not session.track.history.commits:
        assert json.dumps(unmarked(shown(outcome))) == before
    if event in ("before_request", "overflow"):
        accepted(outcome, model)
    return outcome


def unmarked(value: Any) -> Any:
    """Without the cache marks that a stage may have set; a text with one is a text again."""
    if isinstance(value, list):
        one = value[0] if len(value) == 1 else None
        if isinstance(one, dict) and one.keys() == {"type", "text", "cache_control"}:
            return one["text"]
        return [unmarked(inner) for inner in value]
    if isinstance(value, dict):
        return {key: unmarked(inner) for key, inner in value.items() if key != "cache_control"}
    return value


def report(outcome: Outcome, stage: str = "sum-up") -> StageReport:
    found = outcome.receipt.stage(stage)
    assert found is not None
    return found


def calls(outcome: Outcome, stage: str = "sum-up") -> Sequence[ModelCall]:
    return report(outcome, stage).calls


def problems(outcome: Outcome, stage: str = "sum-up") -> list[str | None]:
    """Why each call of the stage came to nothing; None: it did not."""
    return [call.problem for call in calls(outcome, stage)]
