"""Repairs nobody's stage asked for: of the list that came in, and of the end of a request about to be sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .conversation.view import View
from .policy.proposal import Proposal
from .policy.stage import SENDING
from .receipt import Trouble
from .running import Run
from .trial import Trial, attempt
from .validity import check

INPUT, CLOSE = "@input", "@close"
"""Stage names of the commits that hold such repairs; no stage of a pack can have them."""


def close(run: Run) -> None:
    """Rules about the end of a request that is about to be sent."""
    if run.event not in SENDING:
        return
    now = run.standing
    report = check(now.view, run.bench.profile, now.states, len(now.view.items))
    if not report.violations:
        run.problems.extend(broken_rules(now.view, now.violations))
        return
    trial = attempt(run.bench, run.standing, run.number, (), closing=True)
    if trial.repairs:
        run.settle(CLOSE, trial, Proposal())
        run.problems.append(Trouble("repaired", _said(trial), CLOSE))
    run.problems.extend(broken_rules(run.standing.view, trial.standing.violations, trial.broken))


def mend_input(run: Run) -> None:
    """Repair what the host's list itself breaks; what no rule can mend is reported and blocks nothing.

    A request that is about to go is judged with its end: no result can still come for a call that is waiting then.
    """
    trial = attempt(run.bench, replace(run.standing, violations=()), run.number, (), run.event in SENDING)
    if trial.repairs:
        run.settle(INPUT, trial, Proposal())
        run.problems.append(Trouble("repaired", _said(trial), INPUT))
    else:
        run.standing = replace(trial.standing, view=run.standing.view)


def broken_rules(view: View, *groups: Sequence[Any]) -> list[Trouble]:
    """One problem for each rule that is still broken, with the message it concerns."""
    found: dict[tuple[str, int], Trouble] = {}
    for violation in (one for group in groups for one in group):
        inside = 0 <= violation.index < len(view.items)
        serial = view.items[violation.index].serial if inside else 0
        found.setdefault(
            (violation.rule, serial),
            Trouble(f"invalid-{violation.rule}", violation.message, f"message {serial}"),
        )
    return list(found.values())


def _said(trial: Trial) -> str:
    """What was wrong with the request, in words; thinking that went because of a change before it comes last."""
    wrong = list(dict.fromkeys(violation.message for violation in trial.mended))
    parts = wrong[:3] + ([f"and {len(wrong) - 3} more"] if len(wrong) > 3 else [])
    if trial.thinking_loss:
        parts.append(f"{trial.thinking_loss} signed thoughts behind a change were left out")
    return "mended: " + "; ".join(parts or ["the end of the request"])
