"""A pack played on a made-up session, to see whether it settles: `check` for what only a run shows."""

from __future__ import annotations

from collections.abc import Sequence

from ..packs.build import build
from ..packs.catalogue import ERROR, REHEARSED, WARNING
from ..packs.context import Context, StageView
from ..packs.load import STAND_IN, Report, completed, known_kinds
from ..packs.pack import Pack
from .playing import Call, play
from .session import SESSIONS

__all__ = ["rehearsed"]

IN_A_ROW = 4
"""Calls one after the other on which a stage with a trigger may fire: once is its purpose, twice may be chance."""
SHARE = 1 / 3
"""Of the calls after the first change: more with a change of what was sent are hostile to the cache."""
LEAST = 8
"""Calls after the first change below which a share means nothing."""
STEADY = 5
"""A conversation so many times as large as what a call adds: if it were smaller, any trigger would be reached."""
MOST_STAGES = 200
"""Stages that are played on some hundred calls in a second or two; the packs that ship have a tenth of them."""
PAID = frozenset({"summarize"})
SIZES = frozenset(
    {
        "tokens",
        "message_tokens",
        "prompt_tokens",
        "bytes",
        "messages",
        "rounds",
        "turns",
        "tool_calls",
        "images",
    }
)
"""Metrics that a stage's own relief is to bring down again."""


def rehearsed(report: Report) -> Report:
    """The report with what made-up sessions show. Without change where the pack cannot be told as a whole."""
    context = report.context.sound if report.context is not None else None
    if context is not None and len(context.stages) > MOST_STAGES:
        message = (
            f"the pack has {len(context.stages):,} stages; one of more than {MOST_STAGES} is not rehearsed"
        )
        hint = "replace stages that differ in a number by one with a limit"
        before = len(context.problems)
        context.report("too-large", message, ("stages",), hint, on_key=True, severity=WARNING)
        return completed(report, context.problems[before:], frozenset())
    pack = _built(context) if context is not None else None
    if context is None or pack is None:
        return report
    for session in SESSIONS:
        before = len(context.problems)
        _judge(context, play(pack, session, context.data))
        if len(context.problems) > before:
            return completed(report, context.problems[before:], REHEARSED)
    return completed(report, (), REHEARSED)


def _built(context: Context) -> Pack | None:
    before = len(context.problems)
    pack = build(context, known_kinds(), STAND_IN)
    new = context.problems[before:]
    return pack if not any(each.severity == ERROR for each in new) else None


def _judge(context: Context, calls: Sequence[Call]) -> None:
    restless = False
    for stage in context.stages:
        longest = _longest(
            [stage.id in call.changed and call.tokens >= STEADY * call.grown for call in calls]
        )
        if longest >= IN_A_ROW and (stage.kind in PAID or _has_trigger(stage)):
            restless = True
            context.report(
                "thrash",
                f"on a made-up session `{stage.id}` fires on {longest} calls in a row: what it leaves is due again",
                (*stage.where, "id"),
                "keep less (a share of the trigger), or set `accept` so that it waits until much can go",
            )
    if not restless:
        _judge_cache(context, calls)


def _judge_cache(context: Context, calls: Sequence[Call]) -> None:
    first = next((at for at, call in enumerate(calls) if call.changed), len(calls))
    rest = calls[first:]
    hits = [call for call in rest if call.changed and _is_steady(call)]
    if len(rest) < LEAST or len(hits) <= SHARE * len(rest):
        return
    counts = {stage.id: sum(stage.id in call.changed for call in hits) for stage in context.stages}
    worst = max(context.stages, key=lambda stage: counts[stage.id])
    context.report(
        "cache-hostile",
        f"on a made-up session {len(hits)} of {len(rest)} calls change something already sent,"
        f" `{worst.id}` on {counts[worst.id]}: the prompt cache is lost each time",
        (*worst.where, "id"),
        "clear much at once: a trigger with `fit` at half of it, or accept: {items: {at_least: 10}}",
    )


def _is_steady(call: Call) -> bool:
    return call.tokens >= STEADY * call.grown


def _longest(hits: Sequence[bool]) -> int:
    longest = run = 0
    for hit in hits:
        run = run + 1 if hit else 0
        longest = max(longest, run)
    return longest


def _has_trigger(stage: StageView) -> bool:
    """Whether some size makes the stage due, and not only its candidates."""
    home = stage.parent or stage
    at = home.data.get("at")
    conditions = [home.data.get("when"), stage.data.get("when")]
    conditions += at.values() if isinstance(at, dict) else []
    return any(_names_size(each) for each in conditions)


def _names_size(condition: object) -> bool:
    if isinstance(condition, list):
        return any(map(_names_size, condition))
    if not isinstance(condition, dict):
        return False
    return not SIZES.isdisjoint(condition) or _names_size(condition.get("any"))
