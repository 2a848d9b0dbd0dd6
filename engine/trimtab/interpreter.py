"""Executes a pack's stages, in declared order, against one view: trigger, select, propose, check, measure, commit.

Every kind goes through the same steps; a kind only says how to propose. The interpreter never does I/O: effects are
yielded to a driver. It knows no YAML and no files.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from .conversation.view import View
from .directives import merge
from .effects import Effect, EffectFailed
from .measuring import measure
from .policy.evaluation import NoValue
from .policy.gates import breaker_state
from .policy.narrowing import run_start
from .policy.proposal import Cover, Later, ModelCall, Proposal
from .policy.protection import Judged
from .policy.scene import Proposed, Scene
from .policy.selection import Chosen, candidates
from .policy.stage import Stage
from .policy.values import ConditionReport
from .receipt import Change, StageReport
from .records import Fail, Kept
from .running import Run
from .trial import Trial, attempt, attempt_each, together

COUNTED = frozenset({"failed", "refused"})


class StageFailed(RuntimeError):
    """A stage with ``on_failure: raise`` has failed; nothing of the run is kept. ``report`` is its account."""

    def __init__(self, report: StageReport) -> None:
        super().__init__(f"stage {report.id}: {report.reason or report.verdict}")
        self.report = report


Core = Generator[Effect, Any, StageReport]


def execute(run: Run, stages: Sequence[Stage]) -> Generator[Effect, Any, None]:
    """All stages that list the event, once each. Raises StageFailed where a stage says so."""
    for stage in stages:
        if run.event not in stage.at:
            continue
        report = yield from consider(run, stage, stage.at[run.event])
        run.reports.append(report)
        if report.verdict == "failed" and stage.on_failure == "raise":
            raise StageFailed(report)


def consider(run: Run, stage: Stage, at: Any = None, failure: str | None = None) -> Core:
    """Steps 1 to 7 for one stage; ``failure`` is why the child before failed, inside ``first_of``."""
    scene = run.scene()
    scene.stage, scene.failure, scene.chosen, scene.proposal = stage, failure, None, None
    blank = StageReport(stage.id, stage.kind, "skipped")
    if not stage.enabled:
        return replace(blank, reason="disabled")
    if stage.params is None and not stage.children:
        return replace(blank, reason=f"this engine has no kind `{stage.kind}`")
    holds, entries = _trigger(scene, stage, at, run.full)
    # What a run would have looked at is what counts, also where a dry run looks at everything.
    run.looked_at[stage.id] = _trigger(scene, stage, at, False)[1] if run.full else entries
    blank = replace(blank, conditions=entries)
    if not holds:
        return blank
    try:
        gate = breaker_state(stage.breaker, scene)
    except NoValue as problem:
        return _fail(run, stage, blank, f"breaker: {problem}", "error", ())
    if gate.open:
        note = f"breaker open after {gate.failures} failures" + (f", {gate.note}" if gate.note else "")
        return replace(blank, reason=note, remarks={"breaker": gate.failures})
    if stage.children:
        return (yield from _first_of(run, stage, blank))
    return (yield from _one(run, scene, stage, blank))


def _trigger(scene: Scene, stage: Stage, at: Any, full: bool) -> tuple[bool, tuple[Any, ...]]:
    entries: tuple[Any, ...] = ()
    holds = True
    for condition in (at, stage.when):
        if condition is not None and (holds or full):
            verdict = condition.test(scene, full)
            entries += verdict.entries
            holds = holds and verdict.holds
    return holds, entries


def _first_of(run: Run, stage: Stage, blank: StageReport) -> Core:
    """Children in order until one fires; its outcome is the stage's."""
    children: list[StageReport] = []
    failure: str | None = None
    worst = "nothing"
    for child in stage.children:
        report = yield from consider(run, child, failure=failure)
        children.append(report)
        if report.verdict in ("committed", "done"):
            run.committed_now.append(stage.id)
            _remember_ceilings(run, stage, report.tokens)
            return replace(
                report,
                id=stage.id,
                kind=stage.kind,
                conditions=blank.conditions,
                children=tuple(children),
                calls=(),
            )
        if report.verdict == "failed" or (report.verdict == "refused" and report.calls):
            worst, failure = "failed", report.remarks.get("failure", report.reason)
        elif "breaker" in report.remarks:
            failure = "breaker"
        elif "vetoed" in report.remarks:
            failure = "vetoed"
    reason = next((child.reason for child in reversed(children) if child.verdict in COUNTED), None)
    if worst == "failed":
        run.fails.append(Fail(stage.id, run.n, reason or "failed"))
    return replace(blank, verdict=worst, reason=reason, children=tuple(children))


def _one(run: Run, scene: Scene, stage: Stage, blank: StageReport) -> Core:
    """Select, propose, check, measure, commit: one stage that is no ``first_of``."""
    kind = stage.params
    assert kind is not None
    try:
        if kind.picks:
            chosen = _choose(run, scene, stage)
            if not chosen.candidates:
                _judge(run, stage, scene.view)
                return replace(blank, verdict="nothing", reason=why_none(chosen, stage.once))
            scene.chosen = chosen
        made = kind.propose(scene)
        proposal = (yield from made) if isinstance(made, Generator) else made
        if (later := proposal.later) is not None:
            if later.background and not run.full:
                return _leave(run, scene, stage, blank, later)
            proposal = yield from later.write(scene)
    except EffectFailed as problem:
        return _fail(run, stage, blank, str(problem), problem.reason, ())
    except NoValue as problem:
        return _fail(run, stage, blank, str(problem), "error", ())
    report = replace(blank, calls=proposal.calls, items=proposal.items, remarks=proposal.remarks)
    report = replace(report, assumed=any(call.assumed for call in proposal.calls), reason=proposal.reason)
    if proposal.failure is not None:
        return _fail(
            run, stage, report, proposal.reason or proposal.failure, proposal.failure, proposal.calls
        )
    if proposal.refused:
        return _refuse(run, stage, report, proposal.reason or "refused")
    if proposal.notes:
        return _note(run, stage, report, proposal)
    if not proposal.edits:
        return _effectless(run, stage, report, proposal)
    return _try(run, scene, stage, report, proposal)


def _choose(run: Run, scene: Scene, stage: Stage) -> Chosen:
    """Step 2; a ``once`` stage looks only at what it has not judged, and at what counts to the same message."""
    if stage.select is None:
        return Chosen([])
    joined = stage.fit is not None and stage.fit.per == "message"
    if not stage.once:
        return candidates(scene, stage.select, scene.protection(), stage.keep, staying=joined)
    view = scene.view
    start = _unjudged(run, stage, view)
    if start >= len(view.items):
        return Chosen([])
    guard = Judged(scene.protection(), view, partial(run.history.judged_blocks, stage.id))
    start = run_start(view.items, start) if joined else start
    return candidates(scene, stage.select, guard, stage.keep, start, joined)


def why_none(chosen: Chosen, once: bool) -> str:
    """Why nothing can be chosen, in words."""
    if not chosen.matched:
        return "nothing new matches" if once else "nothing matches"
    parts = [f"{chosen.protected} protected"] if chosen.protected else []
    parts += [f"{chosen.spared} kept"] if chosen.spared else []
    return f"{chosen.matched} match: " + ", ".join(parts)


def _effectless(run: Run, stage: Stage, report: StageReport, proposal: Proposal) -> StageReport:
    """No edit: a guard spoke, a request field was set, or nothing happened."""
    run.notices.extend(proposal.notices)
    merge(run.directives, proposal.directives)
    if proposal.notices or proposal.directives:
        run.committed_now.append(stage.id)
        return replace(report, verdict="done")
    _judge(run, stage, run.standing.view)
    return replace(report, verdict="nothing")


def _leave(run: Run, scene: Scene, stage: Stage, blank: StageReport, later: Later) -> StageReport:
    """Work that the host may let finish when it likes; one at a time for each stage."""
    if run.busy(stage.id):
        return replace(blank, verdict="nothing", reason="its background job has not ended yet")
    run.begin(stage.id, scene, later)
    return replace(blank, verdict="done", reason="a background job has begun")


def _note(run: Run, stage: Stage, report: StageReport, proposal: Proposal) -> StageReport:
    """Notes are kept with this run; those that a dry run would leave to a job are only accounted for."""
    if run.full and bool(getattr(stage.params, "background", False)):
        return replace(report, verdict="done", reason="would be written by a background job")
    for note in proposal.notes:
        run.note(stage.id, note, run.n)
    run.committed_now.append(stage.id)
    return replace(report, verdict="done")


def _try(run: Run, scene: Scene, stage: Stage, report: StageReport, proposal: Proposal) -> StageReport:
    """Steps 5 to 7."""
    trials = _trials(run, proposal)
    trial = together(trials)
    if trial.broken:
        return _refuse(run, stage, report, f"would leave the request invalid: {trial.broken[0].message}")
    after = trial.standing.view
    measured = measure(run, scene, stage, report, trial)
    grown = after.tokens - scene.view.tokens
    if stage.params is not None and stage.params.shrinks and not _may_grow(proposal, grown):
        return _refuse(run, stage, measured, f"not smaller: {grown:+d} tokens", "larger")
    if stage.accept is not None:
        verdict = _accepted(run, scene, stage, trial, measured)
        measured = replace(measured, conditions=(*measured.conditions, *verdict.entries))
        if not verdict.holds:
            return _refuse(run, stage, measured, "accept does not hold", "rejected")
    _judge(run, stage, scene.view)
    commits = [run.settle(stage.id, one, proposal, one is trials[-1]) for one in trials]
    if len(commits) > 1:
        measured = replace(
            measured, remarks={**measured.remarks, "commits": [commit.id for commit in commits]}
        )
    run.committed_now.append(stage.id)
    run.notices.extend(proposal.notices)
    merge(run.directives, proposal.directives)
    _remember_ceilings(run, stage, measured.tokens)
    return replace(measured, verdict="committed", commit=commits[0].id)


def _trials(run: Run, proposal: Proposal) -> list[Trial]:
    """The proposal tried out: as one commit, or, where it says so, each cover as one."""
    covers = [edit for edit in proposal.edits if isinstance(edit, Cover)] if proposal.apart else []
    if len(covers) > 1:
        return attempt_each(run.bench, run.standing, run.number, covers)
    return [attempt(run.bench, run.standing, run.number, proposal.edits)]


def _may_grow(proposal: Proposal, grown: int) -> bool:
    """Whether a view that grew by so many tokens is acceptable: a text for an empty block, or for a match, may."""
    allowed = proposal.remarks.get("may_grow")
    return grown < 0 if allowed is None else grown <= allowed["tokens"]


def _accepted(run: Run, scene: Scene, stage: Stage, trial: Trial, report: StageReport) -> Any:
    """``accept`` is asked of the view after the edit, with the proposal's numbers."""
    tokens, size = report.tokens, report.bytes
    assert tokens is not None
    assert size is not None
    assert stage.accept is not None
    freed = tokens.before - tokens.after
    standing, run.standing = run.standing, trial.standing
    try:
        later = run.make_scene(run)
    finally:
        run.standing = standing
    later.stage = stage
    later.proposal = Proposed(
        freed_tokens=freed,
        freed_bytes=size.before - size.after,
        freed_share=freed / tokens.before if tokens.before else 0.0,
        items=report.items,
        cache_loss_tokens=report.cache_loss_tokens,
        thinking_loss=report.thinking_loss,
    )
    return stage.accept.test(later, run.full)


def _remember_ceilings(run: Run, stage: Stage, tokens: Change | None) -> None:
    """Token triggers of a stage that made the view smaller, each with the size before: nothing later in the run may
    push the view back over the one, nor, where the trigger was not reached, over the other.
    """
    if tokens is None or tokens.after >= tokens.before:
        return
    pending: list[ConditionReport] = list(run.looked_at.get(stage.id, ()))
    while pending:
        entry = pending.pop()
        pending.extend(entry.nested)
        if (
            entry.holds
            and entry.path.endswith(("tokens at_least", "tokens above"))
            and _is_number(entry.limit)
        ):
            run.ceilings.append((float(entry.limit), float(tokens.before)))  # type: ignore[arg-type]  # a number


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _unjudged(run: Run, stage: Stage, view: View) -> int:
    """Index of the first item with a block a ``once`` stage has not judged; kept per view, so that it costs once."""
    items, history = view.items, run.history
    index = view.memo.get(stage.id, 0)
    while index < len(items) and history.judged_blocks(stage.id, items[index].serial) >= len(
        items[index].chars
    ):
        index += 1
    view.memo[stage.id] = index
    return index


def _judge(run: Run, stage: Stage, view: View) -> None:
    """Journal that a ``once`` stage has judged everything in the view; both verdicts are final."""
    if not stage.once:
        return
    known, start = run.history, _unjudged(run, stage, view)
    new = [i.serial for i in view.items[start:] if known.judged_blocks(stage.id, i.serial) < len(i.chars)]
    if new:
        run.kept.append(Kept(stage.id, tuple(new)))


def _fail(
    run: Run, stage: Stage, report: StageReport, why: str, reason: str, calls: tuple[ModelCall, ...]
) -> StageReport:
    run.fails.append(Fail(stage.id, run.n, reason))
    return replace(
        report, verdict="failed", reason=why, calls=calls, remarks={**report.remarks, "failure": reason}
    )


def _refuse(run: Run, stage: Stage, report: StageReport, why: str, reason: str = "rejected") -> StageReport:
    """Refused; it counts for the breaker only if a model was paid for it."""
    if report.calls:
        run.fails.append(Fail(stage.id, run.n, reason))
        report = replace(report, remarks={**report.remarks, "failure": reason})
    return replace(report, verdict="refused", reason=why)
