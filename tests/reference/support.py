"""What the tests of the reference rows share: the shipped pack and its variants, a writer, conversations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from tests.faults.support import (
    MODEL,
    NOTE_SECTIONS,
    NOW,
    SECTIONS,
    TOO_LONG,
    Message,
    answer,
    assistant,
    blocks,
    bodies,
    call,
    every_block,
    image,
    loop,
    notes,
    result,
    round_of,
    rounds,
    run,
    shown,
    text,
    texts_of,
    user,
    verdict,
    words,
)

from trimtab import Engine, Info, Pack
from trimtab.conversation.request import Usage
from trimtab.outcome import Outcome
from trimtab.packs.load import load
from trimtab.receipt import StageReport
from trimtab.summarizers.canned import Answer, CannedSummarizer

__all__ = [
    "ANSWER",
    "MODEL",
    "NOTE_SECTIONS",
    "NOW",
    "SECTIONS",
    "TOO_LONG",
    "Message",
    "Writer",
    "answer",
    "assistant",
    "at",
    "blocks",
    "bodies",
    "call",
    "claude",
    "every_block",
    "image",
    "loop",
    "notes",
    "parallel",
    "report",
    "result",
    "results",
    "round_of",
    "rounds",
    "run",
    "shown",
    "small",
    "text",
    "texts_of",
    "used",
    "user",
    "verdict",
    "with_places",
    "words",
]

Writer = CannedSummarizer


ANSWER = answer()


@cache
def shipped(variant: str) -> Pack:
    """The shipped pack, read once."""
    return load(f"claude-code{variant}")


def claude(variant: str = "", answers: Sequence[Answer] | None = None, **keywords: Any) -> Engine:
    """The shipped pack or a variant of it, with a writer that gives these answers."""
    if answers is not None:
        keywords["summarizer"] = CannedSummarizer(answers)
    return Engine(shipped(variant), **keywords)


def small(variant: str = "", answers: Sequence[Answer] | None = None, **keywords: Any) -> Engine:
    """The same over a window of 30,000 tokens: effective 20,000, compacted at 10,000."""
    return claude(variant, answers, models={"*": {"window": 30_000}}, **keywords)


def with_places(*places: tuple[str, str], **keywords: Any) -> Engine:
    """The shipped pack with other values at some of its places, as ``--set`` would put them there."""
    return Engine(load("claude-code", places), **keywords)


def used(tokens: int, model: str = MODEL) -> Usage:
    """The usage of a response to a request of so many tokens."""
    return Usage(input=tokens, model=model)


def report(outcome: Outcome, stage: str) -> StageReport:
    found = outcome.receipt.stage(stage)
    assert found is not None, f"no stage {stage} in the receipt"
    return found


def parallel(*sizes: int, tool: str = "Bash", name: str = "p") -> list[Message]:
    """One round of parallel calls, with results of so many characters."""
    calls = [call(f"{name}{number}", tool, command=f"job {number}") for number in range(len(sizes))]
    found = [
        result(f"{name}{number}", (f"line of job {number}\n" * (size // 10))[:size])
        for number, size in enumerate(sizes)
    ]
    return [assistant(*calls), user(*found)]


def results(outcome: Outcome) -> dict[str, Any]:
    """Content of every result in the request, by the id of its call."""
    return {block["tool_use_id"]: block["content"] for block in blocks(outcome, "tool_result")}


def at(messages: Sequence[Message], *ages: tuple[int, float]) -> list[Info]:
    """Infos that give messages by index a time so many minutes ago."""
    minutes = dict(ages)
    return [
        Info(at=NOW - 60 * minutes[index]) if index in minutes else Info() for index in range(len(messages))
    ]
