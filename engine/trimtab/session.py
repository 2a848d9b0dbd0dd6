"""A session: one conversation, its journal and its view; runs the pack, explains, undoes and restores."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .conversation.digest import digest
from .conversation.edits import Commit, Splice, Spot
from .conversation.fold import sequence
from .conversation.request import Request
from .effects import Effect, Wait, adrive, drive
from .facts import Facts
from .interpreter import execute
from .jobs import Desk, Job
from .journal import Conflict, Journal
from .mending import close, mend_input
from .outcome import Outcome, make_receipt, moment_text, written_request
from .policy.refusals import RETRY_LATER
from .policy.stage import EVENTS, SENDING
from .receipt import Trouble
from .records import Record, RunRecord
from .revision import restored, undone
from .running import Run
from .staging import Staged, Staging
from .track import Seen, Track, factor_numbers
from .trial import Sent

if TYPE_CHECKING:
    from .engine import Engine

TRIES = 3
"""How often a run starts over when another process has written to the journal meanwhile."""


class SessionBusy(RuntimeError):
    """A session serves one run at a time."""


class InvalidRequest(RuntimeError):
    """``strict``: the request is invalid and no rule can mend it. ``problems`` says where."""

    def __init__(self, problems: Sequence[Trouble]) -> None:
        super().__init__(
            "; ".join(f"{problem.where}: {problem.message} [{problem.code}]" for problem in problems)
        )
        self.problems = tuple(problems)


class Session:
    """Made by ``Engine.session`` and ``Engine.open_session``. Not for two threads at once, and it says so."""

    def __init__(self, engine: Engine, journal: Journal) -> None:
        self.engine = engine
        self.journal = journal
        self._running = False
        self._unstable = 0
        self.desk = Desk()
        self._load()

    def _load(self) -> None:
        pack = self.engine.pack
        self.track = Track(self.engine.maker, pack.facts, pack.categories)
        self.track.replay(self.journal.records())
        self.staging = Staging(self.engine, self.track)

    # --- running

    def run(self, request: Request, event: str = "before_request", facts: Facts | None = None) -> Outcome:
        """Run the pack for one event. The journal is written before this returns.

        Raises ValueError for an unknown event, SessionBusy, StageFailed where a stage says ``on_failure: raise``,
        InvalidRequest if the engine is strict, OSError if the journal cannot be written; then nothing has happened.
        """
        known: list[tuple[Effect, Any]] = []

        def perform(effect: Effect) -> Any:
            reply = _recall(known, effect)
            if reply is _UNKNOWN:
                reply = self._answer(effect)
                known.append((effect, reply))
            return reply

        with self._turn():
            for left in reversed(range(TRIES)):
                try:
                    return drive(self._core(request, event, facts or Facts()), perform)
                except Conflict:
                    if not left:
                        raise
                    self._reload()
        raise AssertionError("the last try returns or raises")

    async def arun(
        self, request: Request, event: str = "before_request", facts: Facts | None = None
    ) -> Outcome:
        """The same with async ports; cancelling it leaves no trace."""
        import asyncio  # costs what a synchronous program need not pay

        known: list[tuple[Effect, Any]] = []

        async def perform(effect: Effect) -> Any:
            reply = _recall(known, effect)
            if reply is _UNKNOWN:
                if isinstance(effect, Wait):
                    reply = await asyncio.to_thread(self.desk.wait, effect)
                else:
                    reply = await self.engine.ports.aperform(effect)
                known.append((effect, reply))
            return reply

        with self._turn():
            for left in reversed(range(TRIES)):
                try:
                    return await adrive(self._core(request, event, facts or Facts()), perform)
                except Conflict:
                    if not left:
                        raise
                    self._reload()
        raise AssertionError("the last try returns or raises")

    def explain(self, request: Request, event: str = "before_request", facts: Facts | None = None) -> Outcome:
        """What ``run`` would do and why, with every condition; no model is called and nothing is written."""
        with self._turn():
            return drive(self._core(request, event, facts or Facts(), dry=True), self.engine.ports.dry)

    def _answer(self, effect: Effect) -> Any:
        return self.desk.wait(effect) if isinstance(effect, Wait) else self.engine.ports.perform(effect)

    @contextmanager
    def _turn(self) -> Generator[None, None, None]:
        if self._running:
            raise SessionBusy("this session is in the middle of a run; open another one, or wait for it")
        self._running = True
        try:
            yield
        finally:
            self._running = False

    def _reload(self) -> None:
        self.journal.reload()
        self._load()

    def _core(
        self, request: Request, event: str, facts: Facts, dry: bool = False
    ) -> Generator[Effect, Any, Outcome]:
        """One run from observation to outcome; whatever goes wrong, the session is as it was."""
        if event not in EVENTS:
            raise ValueError(f"unknown event {event!r}; the events are {', '.join(EVENTS)}")
        saved = self.track.save()
        settled = False
        try:
            seen = self.track.observe(request)
            staged = self.staging.stage(request, event, facts, seen)
            run = self._begin(staged, seen, dry)
            self.desk.take_over(run)
            before = run.scene()
            yield from execute(run, self.engine.pack.stages)
            close(run)
            send = self._may_send(run, staged)
            receipt = make_receipt(
                run,
                staged,
                seen,
                before,
                run.scene(),
                self.engine.pack.label,
                self.engine.counter.name,
                send,
                dry,
            )
            if self.engine.strict:
                invalid = [problem for problem in run.problems if problem.code.startswith("invalid-")]
                if invalid:
                    raise InvalidRequest(invalid)
            written, serials = written_request(request, run.standing.view.items, run.directives)
            jobs: tuple[Job, ...] = ()
            if not dry:
                self._append(run, staged, seen, send)
                settled = True
                jobs = self.desk.settle(run.begun, self.engine.ports)
            return Outcome(written, send, receipt, receipt.notices, jobs, receipt.problems, serials)
        finally:
            if not settled:
                self.track.restore(saved)
                self.staging.forget()

    def _begin(self, staged: Staged, seen: Seen, dry: bool) -> Run:
        history = self.track.history
        run = Run(
            n=history.next_run(),
            event=staged.event,
            bench=staged.bench,
            standing=staged.standing,
            history=history,
            make_scene=lambda run: self.staging.scene(run, staged),
            fact_snapshot=self.track.book.snapshot,
            snapshot=self.staging.snapshot,
            full=dry,
            busy=self.desk.busy,
            number=sequence(history.commits[-1]) + 1 if history.commits else 1,
        )
        last = history.last_run
        if last is not None and seen.how == "append" and seen.new == len(self.track.base.items):
            run.ceilings.extend(last.ceilings)
        if staged.must_mend:
            mend_input(run)
        if self.engine.thinking == "drop_block" and staged.bench.profile.thinking == "bound":
            thinking = dict(staged.request.extra.get("thinking") or {})
            run.directives["thinking"] = {
                **thinking,
                "block_binding": {"prefix_mismatch_behavior": "drop_block"},
            }
        if seen.dropped and seen.how == "changed in place":
            self._unstable += 1
            if self._unstable > 1:
                hint = "the host changes a message that a stage has already replaced; keep it as it was first sent"
                run.problems.append(
                    Trouble("unstable-message", "edits sleep again in this run", seen.dropped[0].commit, hint)
                )
        return run

    def _may_send(self, run: Run, staged: Staged) -> bool:
        """False after a guard of level ``block``, and at an overflow about which nothing was done."""
        if any(notice.level == "block" for notice in run.notices):
            return False
        if run.event != "overflow":
            return True
        if staged.refusal is not None and staged.refusal.kind == RETRY_LATER:
            run.problems.append(
                Trouble(
                    "retry-later",
                    "the API is busy; this is no overflow",
                    hint="wait and send the same request",
                )
            )
            return False
        if run.committed_now:
            return True
        base = round(self.staging.overhead)
        why = f"nothing could be taken out of the request; system and tools alone are about {base} tokens"
        run.problems.append(
            Trouble("overflow-unhandled", why, hint="raise the window, or drop messages by hand")
        )
        return False

    # --- the journal

    def _append(self, run: Run, staged: Staged, seen: Seen, send: bool) -> None:
        """Write what has happened in one go; only then it has happened."""
        track, durable = self.track, self.journal.path is not None
        path = track.lineage.path
        items = track.base.items[seen.new :]
        sent = send and run.event in SENDING
        view = run.standing.view
        before = track.history.runs[-1].length if track.history.runs else 0
        meter = factor_numbers(track.meter) if track.meter.last is not None else None
        record = RunRecord(
            n=run.n,
            event=run.event,
            at=moment_text(staged.facts.now),
            keep=None if seen.new == before else seen.new,
            add=tuple(path[seen.new :]),
            digests=tuple([track.lineage.digest_at(i) for i in range(seen.new, len(path))])
            if durable
            else (),
            blocks=tuple([len(item.chars) for item in items]),
            head=staged.bench.head,
            model=staged.request.model,
            pack=self.engine.pack.label,
            sent=sent,
            estimate=staged.overhead + view.tokens,
            usage=staged.facts.usage,
            overflow=staged.refusal.tokens
            if staged.refusal is not None and run.event == "overflow"
            else None,
            meter=meter,
            ceilings=tuple(run.ceilings),
        )
        commits = run.commits
        if durable:
            commits = [
                _with_results(commit, shown) for commit, shown in zip(run.commits, run.shown, strict=True)
            ]
        notes = [note for note, _ in run.notes]
        records: list[Record] = [record, *run.kept, *notes, *commits, *run.fails]
        self.journal.append(records)
        for one in records:
            track.history.add(one)
        track.standing = run.standing
        if sent:
            upto = sequence(track.history.commits[-1]) if track.history.commits else 0
            track.sent = Sent(list(view.items), staged.bench.head, upto)
        for commit in commits:
            for edit in commit.edits:
                if isinstance(edit, Splice) and path and edit.covers[0] == path[0]:
                    track.lineage.hide(len(edit.covers))

    # --- taking back

    def undo(self, commit_id: str) -> Commit:
        """Leave a commit out from now on; the next view is checked and repaired like any other.

        Raises LookupError if there is no such commit, or it is undone already.
        """
        with self._turn():
            return undone(self, commit_id)

    def restore(self, spots: Iterable[Spot | tuple[int, int] | str]) -> Commit:
        """Bring originals back and keep every stage away from them; a text names a tool call.

        Raises LookupError where there is nothing to restore, or the original is gone.
        """
        with self._turn():
            return restored(self, list(spots))


_UNKNOWN = object()


def _recall(known: Sequence[tuple[Effect, Any]], effect: Effect) -> Any:
    """The reply an earlier try of this run had: what was paid for once is not paid for again."""
    for one, reply in known:
        if one == effect:
            return reply
    return _UNKNOWN


def _with_results(commit: Commit, shown: Any) -> Commit:
    """The commit with the digest of each message it changed ("-" where no block is left)."""
    results = {
        serial: "-" if item is None else digest(item.message) for serial, item in sorted(shown.items())
    }
    return replace(commit, results=results)


__all__ = ["InvalidRequest", "Session", "SessionBusy"]
