"""What two packs would do to one session: verdicts, messages, tokens and cost of both, side by side."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .conversation.request import Request
from .engine import Engine
from .facts import Facts
from .outcome import Outcome
from .receipt import Change, StageReport
from .tokens.pricing import dollars


@dataclass(frozen=True, slots=True)
class Cost:
    """US dollars of the next call's input: ``read`` tokens come from a warm cache, ``written`` do not.

    ``next_call`` is what it costs, ``later_call`` what every later one costs at least (all of it read);
    ``writers`` what the calls of writing models cost, as far as they are known. None: no prices are known.
    """

    read: int
    written: int
    next_call: float | None
    later_call: float | None
    writers: float | None


@dataclass(frozen=True, slots=True)
class Side:
    """One pack's dry run."""

    pack: str
    tokens: Change
    messages: int
    cache_loss_tokens: int
    thinking_loss: int
    send: bool
    cost: Cost


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What becomes of one stage under both; None: the pack has no such stage, or the run does not reach it."""

    id: str
    before: StageReport | None
    after: StageReport | None

    @property
    def differs(self) -> bool:
        """Whether the two would tell of it differently."""
        return bool(_told(self.before) != _told(self.after))


@dataclass(frozen=True, slots=True)
class Hunk:
    """Messages ``before[0]`` to ``before[1]`` (not included) of one request stand where ``after`` of the other do."""

    before: tuple[int, int]
    after: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Effect:
    """The two runs side by side. ``stages`` are all of both packs, in the order of the second."""

    before: Side
    after: Side
    stages: tuple[Verdicts, ...]
    hunks: tuple[Hunk, ...]
    requests: tuple[Request, Request]

    @property
    def differs(self) -> bool:
        """Whether what is sent, or what is said of it, differs."""
        first, second = self.requests
        return (
            bool(self.hunks)
            or self.before.send is not self.after.send
            or any(each.differs for each in self.stages)
            or not _same_rest(first, second)
        )


def compare(one: Engine, other: Engine, request: Request, event: str, facts: Sequence[Facts]) -> Effect:
    """Run both packs dry on the request; ``facts`` are those of each. Raises what a dry run raises."""
    outcomes = [
        engine.session().explain(request, event, given)
        for engine, given in zip((one, other), facts, strict=True)
    ]
    first, second = outcomes
    return Effect(
        _side(first),
        _side(second),
        tuple(_verdicts(first, second)),
        tuple(hunks(first.request.messages, second.request.messages)),
        (first.request, second.request),
    )


def hunks(before: Sequence[Any], after: Sequence[Any]) -> list[Hunk]:
    """The stretches in which two message lists differ."""
    old, new = ([_key(message) for message in messages] for messages in (before, after))
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return [Hunk((a, b), (c, d)) for tag, a, b, c, d in matcher.get_opcodes() if tag != "equal"]


def _key(message: Any) -> str:
    """A message as text: everything that is sent counts, cache marks too."""
    return json.dumps(message, sort_keys=True, default=str)


def _same_rest(one: Request, other: Request) -> bool:
    """Whether two requests are the same but for their messages."""
    return all(getattr(one, name) == getattr(other, name) for name in ("model", "system", "tools", "extra"))


def _side(outcome: Outcome) -> Side:
    totals = outcome.receipt.totals
    read = _read(outcome)
    written = totals.tokens.after - read
    model = outcome.request.model
    return Side(
        pack=outcome.receipt.run.pack,
        tokens=totals.tokens,
        messages=totals.messages.after,
        cache_loss_tokens=totals.cache_loss_tokens,
        thinking_loss=totals.thinking_loss,
        send=outcome.send,
        cost=Cost(
            read,
            written,
            dollars(model, cache_read=read, cache_write=written),
            dollars(model, cache_read=totals.tokens.after),
            _writers(outcome.receipt.stages),
        ),
    )


def _read(outcome: Outcome) -> int:
    """Tokens a warm cache still holds: what was sent last and stands unchanged, up to the first message that does.

    Never more than the new request has in front of that message; its messages share its tokens by their length.
    """
    totals = outcome.receipt.totals
    held = totals.tokens.before - totals.cache_loss_tokens
    if totals.first_changed is None:
        return max(0, min(held, totals.tokens.after))
    lengths = [len(_key(message)) for message in outcome.request.messages]
    overhead = totals.overhead_tokens + totals.beyond_estimate.after
    share = sum(lengths[: totals.first_changed]) / max(1, sum(lengths))
    front = overhead + share * max(0, totals.tokens.after - overhead)
    return max(0, min(held, round(front), totals.tokens.after))


def _writers(reports: Sequence[StageReport]) -> float | None:
    total: float | None = None
    for report in (inner for each in reports for inner in (each, *each.children)):
        for call in report.calls:
            if call.usage is not None:
                usage = call.usage
                cost = dollars(
                    call.model,
                    input=usage.input,
                    output=usage.output or 0,
                    cache_read=usage.cache_read,
                    cache_write=usage.cache_write,
                )
                total = (total or 0.0) + cost if cost is not None else total
    return total


def _verdicts(first: Outcome, second: Outcome) -> list[Verdicts]:
    mine, theirs = (_reports(each.receipt.stages) for each in (first, second))
    names = [*theirs, *(name for name in mine if name not in theirs)]
    return [Verdicts(name, mine.get(name), theirs.get(name)) for name in names]


def _reports(reports: Sequence[StageReport]) -> dict[str, StageReport]:
    return {inner.id: inner for each in reports for inner in (each, *each.children)}


def _told(report: StageReport | None) -> Any:
    """What counts as the same verdict: the same outcome on the same blocks and messages."""
    if report is None:
        return None
    return (
        report.verdict,
        report.spots,
        report.messages,
        report.tokens and (report.tokens.before - report.tokens.after),
    )
