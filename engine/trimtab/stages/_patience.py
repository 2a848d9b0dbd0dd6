"""A question asked again after a failure that may pass: how often, after which pause, and what each try cost."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from ..effects import Core, EffectFailed, Question, Reply, ask, pause
from ..policy.proposal import ModelCall
from ..tokens.costs import cost_of

RETRIES = 2
"""Repeats of a call that failed for a passing reason (LANGUAGE §9)."""
MOST_RETRIES = 1000
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 8.0
"""Seconds before the first repeat, and at most before a later one; each is twice the one before. The vendors'
SDKs begin and end with the same; they add chance, which would make two equal runs differ."""
LONGEST_WISH = 60.0
"""Seconds an API may ask to be left alone for; who has to wait longer asks somebody else."""

Keep = Callable[[EffectFailed, float | None], None]
"""Told of each failed try, with the seconds until the next one (None: there is none)."""


def asked(question: Question, purpose: str, declared: int | None, retries: float, keep: Keep) -> Core[Reply]:
    """The reply, after ``retries`` repeats at most. The port itself repeats nothing: tries would multiply.

    Raises EffectFailed of the last try.
    """
    for repeat in count():
        try:
            return (yield from ask(question, purpose, declared))
        except EffectFailed as problem:
            left = repeat < min(retries, MOST_RETRIES) and problem.transient
            seconds = pause_before(repeat, problem.retry_after) if left else None
            keep(problem, seconds)
            if seconds is None:
                raise
        yield from pause(seconds)
    raise AssertionError("counting never ends")


def pause_before(repeat: int, wished: float | None) -> float | None:
    """Seconds before the repeat with this number, from 0; None if what the API wishes is too long to wait."""
    if wished is not None:
        return wished if wished <= LONGEST_WISH else None
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(repeat, 10))


def failed_call(
    model: str, purpose: str, problem: EffectFailed, seconds: float | None, rung: int = 0
) -> ModelCall:
    """A try without an answer, for the receipt; some are paid for all the same."""
    return ModelCall(
        model,
        purpose,
        problem.usage,
        problem=problem.reason,
        rung=rung,
        message=str(problem),
        cost=cost_of(problem.usage, model),
        paused=seconds,
    )
