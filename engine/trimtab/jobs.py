"""Background jobs: notes that are written after a run, whenever the host likes, and taken over by the next run.

The engine starts no thread and keeps no queue: a job does nothing until the host lets it. What it has written is
taken over by the session's next run, or before that by ``Session.adopt``.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from .conversation.request import Request
from .effects import Core, EffectFailed, Wait, adrive, drive
from .facts import Facts
from .policy.proposal import NoteText, Proposal
from .policy.scene import Scene
from .policy.standing import missing
from .ports import Ports
from .receipt import StageReport
from .recording import record
from .records import Fail, Record
from .running import Begun, Run

if TYPE_CHECKING:
    from .session import Session

WAITING, RUNNING, ENDED, VOID = "waiting", "running", "ended", "void"


class Job:
    """Notes of stage ``stage``, to be written from what run ``began`` saw. Run it once, in any thread.

    ``result`` is there when it has ended; the session's next run, or ``Session.adopt``, takes it over, if what it
    read is still there. A job that never runs, or ends with its process before that, leaves no trace.
    """

    def __init__(self, begun: Begun, ports: Ports) -> None:
        self.stage = begun.stage
        self.began = begun.n
        self.result: Proposal | None = None
        self._begun = begun
        self._ports = ports
        self._state = WAITING
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = 0

    def __repr__(self) -> str:
        return f"Job({self.stage!r}, run {self.began}, {self._state})"

    @property
    def state(self) -> str:
        """``waiting`` (not run yet), ``running``, ``ended``, or ``void``: a later job has taken its place."""
        return self._state

    def run(self) -> None:
        """Do the work now. That a port fails is a result, too. Does nothing unless the job is waiting."""
        if not self._take():
            return
        result: Proposal | None = None
        try:
            result = drive(self._core(), self._ports.perform)
        finally:
            self._leave(result)

    async def arun(self) -> None:
        """The same with async ports; cancelled, the job is waiting again."""
        if not self._take():
            return
        result: Proposal | None = None
        try:
            result = await adrive(self._core(), self._ports.aperform)
        finally:
            self._leave(result)

    def wait(self, seconds: float) -> Proposal | None:
        """The result, if the job has ended, or is running elsewhere and ends in time."""
        if self._state == RUNNING and self._thread != threading.get_ident():
            self._ended.wait(max(0.0, seconds))
        return self.result

    def give_up(self) -> None:
        """Make a job void that nobody has run: another one takes its place."""
        with self._lock:
            if self._state == WAITING:
                self._state = VOID

    def _core(self) -> Core[Proposal]:
        try:
            return (yield from self._begun.later.write(self._begun.scene))
        except EffectFailed as problem:
            return Proposal(failure=problem.reason, reason=str(problem))

    def _take(self) -> bool:
        with self._lock:
            if self._state != WAITING:
                return False
            self._state, self._thread = RUNNING, threading.get_ident()
            self._ended.clear()
            return True

    def _leave(self, result: Proposal | None) -> None:
        with self._lock:
            self.result = result
            self._state = WAITING if result is None else ENDED
        # Whoever waits is let go in either case; a job that waits again has nothing for them.
        self._ended.set()


class Desk:
    """The jobs of one session, one for each stage: those handed out and those to be taken over."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._taken: list[Job] = []

    def busy(self, stage: str) -> bool:
        """Whether the stage's job is running, or has ended and this run has not taken it over."""
        job = self._jobs.get(stage)
        return job is not None and job not in self._taken and job.state in (RUNNING, ENDED)

    def wait(self, effect: Wait) -> Proposal | None:
        """Answer to ``Wait``. A job that nobody has begun to run is not waited for."""
        job = self._jobs.get(effect.job)
        return None if job is None else job.wait(effect.timeout)

    def take_over(self, run: Run) -> None:
        """Step 0: the notes of ended jobs become notes of this run; of what is void the receipt says why.

        The jobs stay here until ``settle``: a run that comes to nothing has taken over nothing.
        """
        self._taken = [job for job in self._jobs.values() if job.state == ENDED]
        for job in self._taken:
            assert job.result is not None
            run.jobs.append(_taken(run, job, job.result))

    def settle(self, begun: Sequence[Begun], ports: Ports) -> tuple[Job, ...]:
        """After a run: forget what it has taken over, and make the jobs it has begun."""
        for job in self._taken:
            del self._jobs[job.stage]
        self._taken = []
        made = [Job(one, ports) for one in begun]
        for job in made:
            before = self._jobs.get(job.stage)
            if before is not None:
                before.give_up()
            self._jobs[job.stage] = job
        return tuple(made)


def adopted(session: Session, request: Request, facts: Facts) -> tuple[StageReport, ...]:
    """Take over ended jobs without a run: their records are appended, and nothing else of the session changes."""
    track, desk = session.track, session.desk
    saved = track.save()
    try:
        seen = track.observe(request)
        run = session._begin(session.staging.stage(request, "idle", facts, seen), seen, dry=True)
        desk.take_over(run)
    finally:
        track.restore(saved)
        session.staging.forget()
    records: list[Record] = [*(note for note, _ in run.notes), *run.fails]
    record(session, records)
    desk.settle((), session.engine.ports)
    return tuple(run.jobs)


def _taken(run: Run, job: Job, result: Proposal) -> StageReport:
    """What becomes of an ended job, as the receipt shows it."""
    report = StageReport(job.stage, "notes", "done", calls=result.calls, remarks=result.remarks)
    if result.failure is not None:
        run.fails.append(Fail(job.stage, run.n, result.failure))
        remarks = {**result.remarks, "failure": result.failure}
        return replace(report, verdict="failed", reason=result.reason or result.failure, remarks=remarks)
    voids: list[str] = []
    kept: list[str] = []
    for note in result.notes:
        void = _void(run.scene(), job, note)
        if void is None:
            run.note(job.stage, note, job.began)
            kept.append(note.text)
        else:
            voids.append(void)
    if not kept:
        why = voids[-1] if voids else result.reason or "it has written nothing"
        return replace(report, verdict="refused", reason=f"void: {why}")
    left = f"; {len(voids)} of {len(result.notes)} void: {voids[-1]}" if voids else ""
    size = {"chars": sum(map(len, kept)), "tokens": sum(map(run.scene().count, kept))}
    remarks = {**result.remarks, "written": size}
    return replace(report, reason=f"begun in run {job.began}{left}", items=len(kept), remarks=remarks)


def _void(scene: Scene, job: Job, note: NoteText) -> str | None:
    """Why a note cannot be taken over; None if it can."""
    lost = missing(scene, note.reads)
    if lost is not None:
        return f"message {lost}, which it had read, was changed or is not on this branch"
    known = scene.history.note(job.stage)
    if not note.covers and known is not None and known.run > job.began:
        return f"notes from run {known.run} are there already"
    return None
