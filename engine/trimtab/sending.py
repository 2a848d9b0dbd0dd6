"""Whether a request may go, what a refusal says of it, and facts that could not be had."""

from __future__ import annotations

from .facts import Facts
from .mending import CLOSE, INPUT
from .policy.refusals import RETRY_LATER
from .policy.stage import SENDING
from .receipt import Trouble
from .running import Run
from .staging import Staged
from .validity.base import leading_system


def may_send(run: Run, staged: Staged, overhead: float) -> bool:
    """False without a message, after a guard of level ``block``, and at an overflow nothing was done about."""
    items = run.standing.view.items
    if run.event in SENDING and leading_system(items) == len(items):
        why = "no message is left to send: what there was answers no call, or was taken out"
        run.problems.append(Trouble("empty-request", why, hint="add a user message"))
        return False
    if any(notice.level == "block" for notice in run.notices):
        return False
    if run.event != "overflow":
        return True
    if throttled(staged):
        run.problems.append(
            Trouble(
                "retry-later",
                "the API is busy; this is no overflow",
                hint="wait and send the same request",
            )
        )
        return False
    if any(commit.stage not in (INPUT, CLOSE) for commit in run.commits):
        return True
    base = round(overhead)
    why = f"nothing could be taken out of the request; system and tools alone are about {base} tokens"
    run.problems.append(Trouble("overflow-unhandled", why, hint="raise the window, or drop messages by hand"))
    return False


def throttled(staged: Staged) -> bool:
    """Whether the API is only busy: no reason to take anything out of the request."""
    return staged.event == "overflow" and staged.refusal is not None and staged.refusal.kind == RETRY_LATER


def refused_tokens(staged: Staged, figure: float) -> float | None:
    """Size of a request that was refused as too long: what the API says, else just over its limit, else ours."""
    refusal = staged.refusal
    if staged.event != "overflow" or refusal is None or refusal.kind != "prompt_too_long":
        return None
    if refusal.tokens is not None:
        return float(refusal.tokens)
    return refusal.limit + 1.0 if refusal.limit is not None else float(round(figure))


def failed_facts(facts: Facts) -> list[Trouble]:
    """What a person should know of providers that did not work."""
    hint = "the fact counts as unknown in this run; mend the provider, or leave the fact out"
    return [
        Trouble("fact-failed", f"the provider of the fact {name} failed: {why}", name, hint)
        for name, why in facts.failed.items()
    ]
