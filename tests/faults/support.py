"""What the tests of the field reports share: plain messages, long sessions, a run judged by a strict API."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tests.session.packs import engine_of
from tests.strict_api import problems_for
from tests.validity.support import Message, assistant, call, result, text, user

from trimtab import Engine, Facts, Request
from trimtab.effects import Question
from trimtab.outcome import Outcome
from trimtab.session import Session
from trimtab.summarizers.canned import CannedSummarizer
from trimtab.tokens.models import lookup

MODEL = "claude-sonnet-4-5"
"""200,000 tokens, thinking of the older kind, a prefilled answer is taken."""
BOUND = "claude-opus-5-5"
"""A million tokens; thinking is signed over everything before it."""
NOW = 1_700_000_000.0
HEAD = "format: 1\nname: small\nversion: 1.0.0\n"

TOO_LONG = "prompt is too long: 210432 tokens > 200000 maximum"
"""What the API says of a request over the window."""

NOTHING = HEAD + "stages: []\n"
CLEAR = HEAD + (
    "stages:\n"
    "  - {id: clear, kind: replace, select: {blocks: [tool_result], size: {chars: {above: 30}}},\n"
    "     keep: {newest: {items: 1}}, text: '[cleared]'}\n"
)
SUM_UP = HEAD + (
    "stages:\n"
    "  - {id: sum-up, kind: summarize, at: {before_request: {tokens: {at_least: 2000}}, overflow: {}, "
    "manual: {}},\n"
    "     keep: {newest: {rounds: 2}}, text: 'What was done: a great deal.'}\n"
)
GOOD = "The leak was looked for in twelve files. It is in the pool, which never closes what it opens."
"""A summary that a model might write."""
SECTIONS = (
    "Primary request and intent",
    "Key technical concepts",
    "Files and code sections",
    "Errors and fixes",
    "Problem solving",
    "All user messages",
    "Pending tasks",
    "Current work",
    "Optional next step",
)
"""What the shipped pack asks a summary for."""
NOTE_SECTIONS = (
    "Title",
    "Current state",
    "Task",
    "Files",
    "Workflow",
    "Errors and corrections",
    "System",
    "Learnings",
    "Key results",
    "Worklog",
)
"""What it asks notes for."""


def answer(body: str = "the pool never closes what it opens", sections: Sequence[str] = SECTIONS) -> str:
    """A model's answer as the shipped prompt asks for it: a scratch part, then the sections."""
    lines = "\n".join(f"{number}. {name}: {body}" for number, name in enumerate(sections, 1))
    return f"<analysis>\nscratch thoughts about the pool\n</analysis>\n<summary>\n{lines}\n</summary>"


def notes(body: str = "the pool leaks", sections: Mapping[str, str] = {}) -> str:
    """Notes as the shipped prompt asks for them; ``sections`` have bodies of their own."""
    return "\n".join(f"# {name}\n{sections.get(name, body)}" for name in NOTE_SECTIONS)


def stages(*lines: str, top: str = "") -> str:
    """A pack of these stages, each one line of flow style."""
    return HEAD + top + "stages:\n" + "".join(f"  - {line}\n" for line in lines)


def writes(more: str = "", **keys: Any) -> str:
    """A pack whose one stage has a model write; ``more`` are further keys of it."""
    at = keys.get("at", "{before_request: {tokens: {at_least: 2000}}, overflow: {}, manual: {}}")
    keep = keys.get("keep", "keep: {newest: {rounds: 1}}, ")
    return HEAD + (
        "stages:\n"
        f"  - {{id: sum-up, kind: summarize, at: {at}, {keep}prompt: summary/nine-sections.md.j2, "
        f"retries: 0{more}}}\n"
    )


# --- messages


def image(data: str) -> Message:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def round_of(name: str, content: Any = "ok", tool: str = "Read", /, **given: Any) -> list[Message]:
    return [assistant(call(name, tool, **given)), user(result(name, content))]


def rounds(count: int, chars: int = 400, start: int = 0, tool: str = "Read") -> list[Message]:
    """Rounds of one call each, with results of about so many characters."""
    out: list[Message] = []
    for number in range(start, start + count):
        line = f"line {number} of the output; "
        words = (line * (chars // len(line) + 1))[:chars]
        out += round_of(f"call-{number}", words, tool, file_path=f"/srv/file-{number}.py")
    return out


def loop(count: int, chars: int = 400) -> list[Message]:
    """A tool loop under one question."""
    return [user("Find the leak and mend it."), *rounds(count, chars)]


# --- running


def run(
    session: Session | Engine | str,
    messages: Sequence[Message],
    event: str = "before_request",
    *,
    model: str = MODEL,
    system: Any = None,
    tools: Any = None,
    info: Any = (),
    **facts: Any,
) -> Outcome:
    """One run, its input checked to be untouched and its request to be one that the API takes."""
    if isinstance(session, str):
        session = engine_of(session)
    if isinstance(session, Engine):
        session = session.session()
    given = copy.deepcopy(list(messages))
    request = Request(model, list(messages), system=system, tools=tools, info=info)
    outcome = session.run(request, event, Facts(**{"now": NOW, "caller": "main", **facts}))
    assert list(request.messages) == given, "the input was changed"
    if event in ("before_request", "overflow") and outcome.send:
        accepted(outcome, model)
    return outcome


def written(pack: str, messages: list[Message], *answers: Any, **more: Any) -> tuple[Any, list[Question]]:
    """A run with a writer that gives these answers, and what it was asked."""
    writer = CannedSummarizer(answers or [GOOD])
    return run(engine_of(pack, summarizer=writer), messages, **more), writer.asked


def asked(question: Question) -> str:
    """All that the writer is told."""
    given = question.request
    parts = [
        question.prompt,
        question.system,
        list(given.messages) if given else [],
        given.system if given else "",
    ]
    return json.dumps(parts, ensure_ascii=False)


def accepted(outcome: Outcome, model: str = MODEL) -> None:
    """The request as it would go to the API is not refused."""
    bad = problems_for(outcome.request.messages, lookup(model))
    assert not bad, bad


def shown(outcome: Outcome) -> list[Message]:
    return [dict(message) for message in outcome.request.messages]


def bodies(outcome: Outcome) -> str:
    return json.dumps([outcome.request.system, list(outcome.request.messages)])


def blocks(outcome: Outcome, kind: str) -> list[Message]:
    """All blocks of one type in the request, in order."""
    return [block for block in every_block(outcome.request.messages) if block.get("type") == kind]


def every_block(messages: Iterable[Any]) -> list[Message]:
    out: list[Message] = []
    for message in messages:
        content = message["content"]
        out += [text(content)] if isinstance(content, str) else [dict(block) for block in content]
    return out


def words(outcome: Outcome) -> str:
    """Everything the request says, in one text."""
    return json.dumps(list(outcome.request.messages), ensure_ascii=False)


def verdict(outcome: Outcome, stage: str) -> str:
    report = outcome.receipt.stage(stage)
    assert report is not None, f"no stage {stage} in the receipt"
    return report.verdict


def texts_of(outcome: Outcome, role: str = "user") -> list[str]:
    """The texts of one role's messages, in order."""
    messages = [message for message in shown(outcome) if message["role"] == role]
    return [block["text"] for block in every_block(messages) if block["type"] == "text"]


def codes(outcome: Outcome) -> list[str]:
    return [problem.code for problem in outcome.problems]


def small_claude(**keywords: Any) -> Engine:
    """The shipped pack over a window of 30,000 tokens: it compacts at 10,000."""
    return Engine.load("claude-code", models={"*": {"window": 30_000}}, **keywords)
