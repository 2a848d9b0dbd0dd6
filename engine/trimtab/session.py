"""A session: one conversation, its journal and its view; runs the pack, explains, undoes and restores."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .accounting import Account, account_of
from .cautions import cautions
from .conversation.digest import digest
from .conversation.edits import Commit, Splice, Spot
from .conversation.fold import sequence
from .conversation.request import Request
from .directives import unmarked, write
from .effects import Effect, Wait, adrive, drive
from .facts import Facts, checked
from .filestate import cleared_between, is_full_compaction
from .interpreter import execute
from .jobs import Desk, Job, adopted
from .journal import Conflict, Journal, JournalError
from .manual import left_alone
from .mending import close, mend_input
from .outcome import Outcome, make_receipt, moment_text
from .policy.scene import Scene
from .policy.stage import EVENTS, SENDING
from .receipt import StageReport, Trouble
from .recording import as_before
from .records import Record, RunRecord
from .resuming import factor_numbers
from .retrying import at_once, lasting
from .revision import later, restored, undone
from .running import Run
from .sending import failed_facts, may_send, refused_tokens, throttled
from .staging import Staged, Staging
from .track import Seen, Track
from .trial import Sent

if TYPE_CHECKING:
    from .engine import Engine


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
        self._torn: Callable[[], None] | None = None
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

        Raises ValueError for an unknown event, a request not made of messages or facts that are none, SessionBusy,
        StageFailed where a stage says ``on_failure: raise``, InvalidRequest if the engine is strict, OSError or
        JournalError if the journal cannot be written, Conflict if other processes write to it all the time (wait and
        run again, or give each a session directory of its own); then nothing has happened.
        """
        facts = checked(request, facts)
        with self._turn():
            return drive(lasting(self, lambda: self._core(request, event, facts)), self._answer)

    async def arun(
        self, request: Request, event: str = "before_request", facts: Facts | None = None
    ) -> Outcome:
        """The same with async ports; cancelling it leaves no trace. Raises what ``run`` does."""
        facts = checked(request, facts)
        with self._turn():
            return await adrive(lasting(self, lambda: self._core(request, event, facts)), self._aanswer)

    def explain(self, request: Request, event: str = "before_request", facts: Facts | None = None) -> Outcome:
        """What ``run`` would do and why, with every condition; no model is called and nothing is written."""
        facts = checked(request, facts)
        with self._turn():
            self._refresh()
            return drive(self._core(request, event, facts, dry=True), self.engine.ports.dry)

    def adopt(self, request: Request, facts: Facts | None = None) -> tuple[StageReport, ...]:
        """Write to the journal what ended background jobs have made, before a next run does; no stage runs.

        For a host that will not run the session again in this process: another one finds the notes there.
        ``request`` is the conversation as it is now; notes about messages it no longer has are void. Returns what
        became of each ended job, as ``Receipt.jobs`` has it (``done``, ``refused`` or ``failed``; ``remarks`` of one
        that is done have ``written``: its ``chars`` and ``tokens``); jobs that have not ended stay. Raises ValueError
        for a request not made of messages, SessionBusy, OSError if the journal cannot be written, Conflict as ``run``
        does.
        """
        facts = checked(request, facts)
        with self._turn():
            return drive(lasting(self, lambda: at_once(lambda: adopted(self, request, facts))), self._answer)

    def _answer(self, effect: Effect) -> Any:
        return self.desk.wait(effect) if isinstance(effect, Wait) else self.engine.ports.perform(effect)

    async def _aanswer(self, effect: Effect) -> Any:
        if isinstance(effect, Wait):
            import asyncio  # costs what a synchronous program need not pay

            return await asyncio.to_thread(self.desk.wait, effect)
        return await self.engine.ports.aperform(effect)

    def account(self, request: Request, facts: Facts | None = None, event: str = "before_request") -> Account:
        """What the request holds by category, before any stage runs; nothing is written (``accounting``)."""
        return account_of(self, request, facts, event)

    @contextmanager
    def scene(
        self, request: Request, facts: Facts | None = None, event: str = "before_request"
    ) -> Generator[Scene, None, None]:
        """The scene before any stage runs, earlier commits applied; the session stays as it was.

        Raises ValueError and SessionBusy as ``run`` does.
        """
        _check_event(event)
        facts = checked(request, facts)
        with self._turn():
            self._refresh()
            saved = self.track.save()
            try:
                seen = self.track.observe(request)
                staged = self.staging.stage(request, event, facts, seen)
                yield self._begin(staged, seen, dry=True).scene()
            finally:
                self.track.restore(saved)
                self.staging.forget()

    @contextmanager
    def _turn(self) -> Generator[None, None, None]:
        if self._running:
            raise SessionBusy("this session is in the middle of a run; open another one, or wait for it")
        try:
            self._running = True
            if self._torn is not None:
                self._mend(self._torn)
            yield
        finally:
            self._running = False

    # --- being whole again

    def _mend(self, how: Callable[[], None]) -> None:
        # Should this be interrupted, or fail, the next one to use the session begins with it.
        self._torn = how
        how()
        self._torn = None

    def _reload(self) -> None:
        """Be what the journal on the disk says."""
        self._mend(self._read)

    def _refresh(self) -> None:
        """Know what others have written by now."""
        if self.journal.stale():
            self._reload()

    def _read(self) -> None:
        self.journal.reload()
        self._load()

    def _core(
        self, request: Request, event: str, facts: Facts, dry: bool = False
    ) -> Generator[Effect, Any, Outcome]:
        """One run from observation to outcome; whatever goes wrong, the session is as it was."""
        _check_event(event)
        saved = self.track.save()
        settled, count = False, None
        try:
            same = self.track.lineage.same(request.messages)
            request = unmarked(request, self.track.history.marked, same)
            seen = self.track.observe(request, same)
            staged = self.staging.stage(request, event, facts, seen)
            run = self._begin(staged, seen, dry)
            self.desk.take_over(run)
            before = run.scene()
            run.refused = refused_tokens(staged, before.tokens)
            run.forget_scene()
            before = run.scene()
            if not throttled(staged):
                yield from execute(run, self.engine.pack.stages)
            close(run)
            after = run.scene()
            cleared = cleared_between(before, after, self._compacted(run))
            run.problems.extend(failed_facts(facts))
            run.problems.extend(left_alone(run, before, self.staging.index.by_id))
            send = may_send(run, staged, self.staging.overhead)
            receipt = make_receipt(
                run,
                staged,
                seen,
                before,
                after,
                self.engine.pack.label,
                self.engine.counter.name,
                send,
                dry,
            )
            if self.engine.strict:
                invalid = [problem for problem in run.problems if problem.code.startswith("invalid-")]
                if invalid:
                    raise InvalidRequest(invalid)
            written = write(request, run.standing.view.items, run.directives)
            jobs: tuple[Job, ...] = ()
            if not dry:
                count = len(self.journal.records())
                self._append(run, staged, seen, send, written.marks)
                settled = True
                jobs = self.desk.settle(run.begun, self.engine.ports)
            return Outcome(
                written.request,
                send,
                receipt,
                receipt.notices,
                jobs,
                receipt.problems,
                written.serials,
                cleared,
            )
        except (Conflict, JournalError, OSError):
            count = None  # nothing was written
            raise
        finally:
            if not settled:
                self._mend(lambda: as_before(self, saved, count))

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
            usage=staged.usage,
        )
        last = history.last_run
        if last is not None and seen.how == "append" and seen.new == len(self.track.base.items):
            run.ceilings.extend(last.ceilings)
        if staged.must_mend:
            mend_input(run)
            if self.track.sent is None and run.commits:
                run.usage = self.staging.after_mending(run)
        if self.engine.thinking == "drop_block" and staged.bench.profile.thinking == "bound":
            thinking = dict(staged.request.extra.get("thinking") or {})
            run.directives["thinking"] = {
                **thinking,
                "block_binding": {"prefix_mismatch_behavior": "drop_block"},
            }
        run.problems.extend(cautions(staged, seen, history, self.engine.pack.facts))
        return run

    def _compacted(self, run: Run) -> bool:
        """Whether a summary has taken the place of the conversation in this run."""
        stages = self.staging.index.by_id
        return any(is_full_compaction(stages.get(commit.stage)) for commit in run.commits)

    # --- the journal

    def _append(
        self, run: Run, staged: Staged, seen: Seen, send: bool, marks: Sequence[tuple[str, int]]
    ) -> None:
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
            estimate=staged.overhead + view.tokens - view.deleted_tokens,
            usage=staged.facts.usage,
            overflow=run.refused,
            meter=meter,
            ceilings=tuple(run.ceilings),
            answered=self.staging.answered,
            marks=tuple(mark for mark in marks if mark not in track.history.marked),
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
        upto = sequence(track.history.commits[-1]) if track.history.commits else 0
        track.handed = Sent(list(view.items), staged.bench.head, upto)
        if sent:
            track.sent = track.handed
        for commit in commits:
            for edit in commit.edits:
                if isinstance(edit, Splice) and path and edit.covers[0] == path[0]:
                    track.lineage.hide(len(edit.covers))

    # --- taking back

    def undo(self, commit_id: str, *, with_later: bool = False) -> Commit:
        """Leave a commit out from now on; the next view is checked and repaired like any other.

        What its run committed on top of it stays, unless ``with_later``: ``later`` says what that is. The commit's
        stage keeps off what it had changed, but at ``overflow``; other stages may change it. Messages that an
        undone commit had added may be added again. Raises LookupError if there is no such commit, or it is undone
        already (``with_later``: and all that is on top of it), SessionBusy, OSError, Conflict as ``run`` does.
        """
        with self._turn():
            return undone(self, commit_id, with_later)

    def later(self, commit_id: str) -> tuple[Commit, ...]:
        """The commits that the same run made on top of this one and that are in force, oldest first.

        They may speak of what it did: state that was attached after a summary, say. Raises LookupError if there is
        no such commit.
        """
        with self._turn():
            return later(self, commit_id)

    def restore(self, spots: str | Iterable[Spot | tuple[int, int] | str]) -> Commit:
        """Bring originals back and keep every stage away from them; a text is ``17:0`` or names a tool call.

        Raises LookupError where there is nothing to restore, it is restored already, or the original is gone,
        TypeError for what is no spot, SessionBusy, OSError, Conflict as ``run`` does.
        """
        with self._turn():
            if isinstance(spots, str | Spot) or not isinstance(spots, Iterable):
                return restored(self, [spots])
            return restored(self, list(spots))


def _check_event(event: str) -> None:
    if event not in EVENTS:
        raise ValueError(f"unknown event {event!r}; the events are {', '.join(EVENTS)}")


def _with_results(commit: Commit, shown: Any) -> Commit:
    """The commit with the digest of each message it changed ("-" where no block is left)."""
    results = {
        serial: "-" if item is None else digest(item.message) for serial, item in sorted(shown.items())
    }
    return replace(commit, results=results)


__all__ = ["InvalidRequest", "Session", "SessionBusy"]
