"""Plays a case on the engine: a session on a real journal, one run after the other, as a host would raise them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..conversation.items import structure
from ..conversation.request import Request
from ..conversation.view import View
from ..effects import AskFailed, Question, Reply
from ..engine import Engine
from ..facts import Facts
from ..formats import anthropic
from ..interpreter import StageFailed
from ..outcome import Outcome
from ..packs.pack import MODEL_FIGURES, Pack, Setting
from ..packs.problems import Position
from ..policy.stage import SENDING
from ..receipt import StageReport
from ..session import Session
from ..staging import profile_of
from ..store import MemoryStore
from ..summarizers.canned import CannedSummarizer
from ..tokens.models import lookup
from ..validity.check import check, problems
from .looking import Shown, look
from .model import MODEL, Case, Impossible, Look, Step
from .usage import measured


class Answers:
    """The summarizer of a case: answers in turn; ``beyond`` are the questions it had no answer for."""

    def __init__(self) -> None:
        self._canned = CannedSummarizer([])
        self._left = 0
        self.beyond: list[Question] = []

    def renew(self, answers: Sequence[Any]) -> None:
        self._canned, self._left = CannedSummarizer(answers, "answers"), len(answers)

    def answer(self, question: Question) -> Reply:
        if not self._left:
            self.beyond.append(question)
            raise AskFailed("unavailable", "the case has no more answers")
        self._left -= 1
        return self._canned.answer(question)

    async def aanswer(self, question: Question) -> Reply:
        return self.answer(question)


@dataclass(slots=True)
class Disk:
    """The files a case says the host has."""

    texts: dict[str, str] = field(default_factory=dict)

    def read(self, path: str, limit: int) -> str | None:
        text = self.texts.get(path)
        return None if text is None else text.encode()[:limit].decode("utf-8", "ignore")


@dataclass(slots=True)
class Played:
    """What one run came to. ``shown``: what the looks of its expectations found, by where these stand.

    ``invalid`` are the rules of the API the request breaks, in words; ``error`` is what the run ended with instead,
    ``at`` where what was asked for stands.
    """

    step: Step
    outcome: Outcome | None = None
    error: str | None = None
    at: Position | None = None
    reports: tuple[StageReport, ...] = ()
    shown: dict[Position, list[Shown] | str] = field(default_factory=dict)
    invalid: tuple[str, ...] = ()
    changed_input: bool = False
    beyond: int = 0
    bytes: str = ""

    def report(self, stage: str) -> StageReport | None:
        """The report of a stage, also of a child; None if the run did not reach it."""
        return next(
            (one for report in self.reports for one in (report, *report.children) if one.id == stage), None
        )


@dataclass(slots=True)
class Play:
    """A case played through: its runs, and whether a second run of the last one rested or made progress."""

    runs: list[Played]
    restless: str | None = None

    @property
    def bytes(self) -> list[str]:
        return [run.bytes for run in self.runs]


def play(case: Case, pack: Pack, *, again: bool = True) -> Play:
    """Play all runs of a case; ``again``: then the last one once more."""
    with ExitStack() as stack:
        # Only a session that is opened again needs its journal on a disk.
        lasting = any(step.resume or step.settings is not None for step in case.steps[1:])
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory())) if lasting else None
        host = _Host(case, pack, folder)
        runs: list[Played] = []
        for step in case.steps:
            runs.append(host.run(step))
            if runs[-1].outcome is None and not runs[-1].reports:
                break
        restless = host.again() if again and runs[-1].outcome is not None else None
    return Play(runs, restless)


class _Host:
    """The host of one play: it keeps what a later run takes over from an earlier one."""

    def __init__(self, case: Case, pack: Pack, folder: Path | None) -> None:
        self.case = case
        self.pack = pack
        self.folder = folder
        self.answers = Answers()
        self.disk = Disk()
        self.store = MemoryStore()
        self.model = MODEL
        self.settings: dict[str, Setting] = {}
        self.facts: Mapping[str, Any] = {}
        self.now: float | None = None
        self.session: Session | None = None
        self.last: tuple[Request, str, Facts] | None = None
        self.before: Outcome | None = None

    def open(self) -> Session:
        figures = {name: float(value) for name, value in self.settings.items() if name in MODEL_FIGURES}
        engine = Engine(
            self.pack,
            settings={name: value for name, value in self.settings.items() if name not in MODEL_FIGURES},
            models={"*": figures} if figures else None,
            summarizer=self.answers,
            store=self.store,
            files=self.disk,
        )
        return engine.session() if self.folder is None else engine.open_session(self.folder)

    def run(self, step: Step) -> Played:
        """One run, as the step says; whatever it raises is part of the account."""
        self.model = step.model or self.model
        self.now = step.now if step.now is not None else self.now
        self.facts = step.facts if step.facts is not None else self.facts
        self.disk.texts |= step.files or {}
        if step.answers is not None:
            self.answers.renew(step.answers)
        if step.settings is not None:
            self.settings |= step.settings
        if self.session is None or step.resume or (step.settings is not None and self.last is not None):
            self.session = self.open()
        played = Played(step)
        asked = len(self.answers.beyond)
        try:
            self._run(self.session, step, played)
        except StageFailed as error:
            played.error, played.reports = str(error), (error.report,)
        except Impossible as error:
            played.error, played.at = str(error), error.at
        except (ValueError, OSError) as error:
            played.error = str(error)
        played.beyond = len(self.answers.beyond) - asked
        return played

    def _run(self, session: Session, step: Step, played: Played) -> None:
        if step.undo is not None:
            session.undo(self._newest(session, step, step.undo))
        messages = list(self.case.messages[: step.upto])
        request = Request(
            self.model,
            messages,
            system=step.system,
            tools=step.tools,
            info=tuple(self.case.infos[: step.upto]),
            extra=self.case.extra,
        )
        told: dict[str, Any] = {"caller": "main", **self.facts, "now": self.now}
        plain = Facts.of({**told, "error": step.error, "request": step.request})
        facts = plain
        if step.usage is not None:
            usage = measured(session, request, step.event, plain, step.usage, step.usage_at or step.at)
            facts = Facts.of({**told, "error": step.error, "request": step.request, "usage": usage})
        untouched = structure(messages)
        outcome = session.run(request, step.event, facts)
        for job in outcome.jobs:
            job.run()
        played.outcome, played.reports = outcome, outcome.receipt.stages
        played.changed_input = messages != untouched
        if step.event in SENDING and outcome.send:
            played.invalid = violations(session, outcome.request)
        self._look(session, request, step, plain, played)
        played.bytes = anthropic.dumps(outcome.request) + json.dumps(outcome.receipt.as_dict())
        self.last, self.before = (request, step.event, plain), outcome

    def _newest(self, session: Session, step: Step, stage: str) -> str:
        """The newest commit of a stage or of a child of it that still counts. Raises Impossible."""
        found = self.pack.stage(stage)
        names = {stage, *(child.id for child in found.children)} if found is not None else {stage}
        commits = [commit.id for commit in session.track.history.live() if commit.stage in names]
        if not commits:
            raise Impossible(f"`{stage}` has no commit that could be undone", step.undo_at or step.at)
        return commits[-1]

    def _look(self, session: Session, request: Request, step: Step, facts: Facts, played: Played) -> None:
        assert played.outcome is not None
        looks = [(one.at, one.value) for one in step.expects if isinstance(one.value, Look)]
        if not looks:
            return
        with session.scene(request, facts, step.event) as scene:
            for at, value in looks:
                played.shown[at] = look(scene, played.outcome.request.system, value.at)

    def again(self) -> str | None:
        """Once more the same: None if nothing changes or the view gets smaller, else what is wrong."""
        assert self.session is not None
        assert self.last is not None
        assert self.before is not None
        request, event, facts = self.last
        if event == "overflow":
            # The API has not refused again: the request that was made for it goes out.
            event, facts = "before_request", facts.but(usage=None, error=None, request=None)
        before = self.before.request
        try:
            outcome = self.session.run(request, event, facts)
        except StageFailed:
            # Nothing of such a run is kept.
            return None
        after = outcome.request
        if list(after.messages) == list(before.messages) and after.system == before.system:
            return None
        tokens = outcome.receipt.totals.tokens
        if tokens.after < tokens.before:
            return None
        fired = [report.id for report in outcome.receipt.stages if report.verdict in ("committed", "done")]
        return (
            f"a second run changes the view, {tokens.before:,} → {tokens.after:,} tokens, "
            f"by {', '.join(fired) or 'no stage'}"
        )


def violations(session: Session, request: Request) -> tuple[str, ...]:
    """What the API would refuse of a request, in words."""
    maker = session.engine.maker
    items = [maker.make(serial, message)[0] for serial, message in enumerate(request.messages, 1)]
    profile = session.engine.profile or profile_of(lookup(request.model), 0)
    return problems(items, check(View(items), profile))
