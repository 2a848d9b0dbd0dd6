"""What the tests of lasting sessions share: a pack that does everything, a conversation, and what must hold on disk."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from jsonschema import Draft7Validator
from tests.faults.support import bodies as body
from tests.session.packs import pack_of
from tests.strict_api import problems

from trimtab import Engine, Facts, Request
from trimtab.conversation.edits import Commit
from trimtab.data import data_root
from trimtab.journal import DiskJournal
from trimtab.outcome import Outcome
from trimtab.records import RunRecord
from trimtab.session import Session
from trimtab.store import FolderStore

Message = dict[str, Any]

MODEL = "claude-sonnet-4-5"
NOW = 1_700_000_000.0
SEEN_AS = "/session"
"""The folder as the agent sees it: the same in every run, so that equal runs give equal bytes."""

LASTING = """
format: 1
name: lasting
version: 1.0.0
tools: {read: [Read]}
facts: {files: {key: path, from: [{tools: [read], take: {path: /path}, set: {read: true}}]}}
stages:
  - {id: offload, kind: replace, at: [tool_result, before_request], once: true, store: results,
     select: {blocks: [tool_result], size: {chars: {above: 300}}}, preview: {head: {chars: 40}},
     text: "<stored in {{ path }}> {{ head }}"}
  - {id: clear, kind: replace, select: {blocks: [tool_result], size: {chars: {above: 12}}}, keep: {newest: {items: 2}},
     accept: {items: {at_least: 3}}, text: "[cleared]"}
  - {id: shrink, kind: summarize, at: {before_request: {messages: {at_least: 17}}}, keep: {newest: {messages: 6}},
     store: history, text: "What was done so far; the whole of it is kept."}
  - {id: files, kind: attach, when: {committed: [shrink]},
     from: [{fact: files, text: "{% for one in items %}{{ one.path }} {% endfor %}"}]}
"""
"""Stores originals, clears, sums up and attaches; calls no model."""


class Step(NamedTuple):
    """One thing a host does: a run with its first ``size`` messages, or taking back (``what``)."""

    event: str
    size: int
    what: str = ""


def conversation(turns: int = 7, name: str = "") -> list[Message]:
    """A question, two calls with results long and short, an answer; every text occurs once."""
    out: list[Message] = []
    for turn in range(turns):
        out.append({"role": "user", "content": f"{name}question {turn}"})
        for number in range(2):
            call = f"{name}call_{turn}_{number}"
            given = {"path": f"/src/{name}{turn}/{number}.py"}
            use = {"type": "tool_use", "id": call, "name": "Read", "input": given}
            text = f"{name}result {turn} {number}; " * (30 if (turn + number) % 3 == 0 else 3)
            out.append({"role": "assistant", "content": [use]})
            result = {"type": "tool_result", "tool_use_id": call, "content": text}
            out.append({"role": "user", "content": [result]})
        out.append({"role": "assistant", "content": [{"type": "text", "text": f"{name}answer {turn}"}]})
    return out


def steps(messages: Sequence[Message]) -> list[Step]:
    """An engine's day: every result when it comes, every request before it is sent, and two things taken back."""
    out: list[Step] = []
    for size, message in enumerate(messages, 1):
        if message["role"] == "user":
            if isinstance(message["content"], list):
                out.append(Step("tool_result", size))
            out.append(Step("before_request", size))
    out.insert(len(out) // 2, Step("", 0, "undo c1"))
    # While no summary stands in its place: such a result cannot be restored alone.
    out.insert(len(out) * 2 // 3, Step("", 0, "restore call_3_0"))
    return out


MESSAGES = conversation()
STEPS = steps(MESSAGES)


@cache
def engine_for(folder: Path, pack: str = LASTING) -> Engine:
    return Engine(pack_of(pack), store=FolderStore(folder, seen_as=SEEN_AS))


def opened(folder: Path, pack: str = LASTING) -> Session:
    return engine_for(folder, pack).open_session(folder)


def run(session: Session, messages: Sequence[Message], event: str = "before_request", **more: Any) -> Outcome:
    facts = Facts(**{"now": NOW + 30 * len(messages), "caller": "main", **more})
    outcome = session.run(Request(MODEL, list(messages), system="You help."), event, facts)
    if event == "before_request":
        assert not problems(list(outcome.request.messages), prefill=False)
    return outcome


def take(session: Session, messages: Sequence[Message], step: Step) -> str | None:
    """Do one step; the body of the request if it was a run. What was taken back before a crash stays so."""
    what, _, name = step.what.partition(" ")
    if what == "undo":
        if name not in session.track.history.undone:
            session.undo(name)
        return None
    if what == "restore":
        try:
            session.restore([name])
        except LookupError as problem:
            if "restored already" not in str(problem):
                raise
        return None
    return body(run(session, messages[: step.size], step.event))


class Undisturbed(NamedTuple):
    """A run that nothing befell: the body of each step, the journal's length after it, and what then lies there."""

    bodies: list[str | None]
    ends: list[int]
    journal: bytes
    files: dict[str, bytes]


def undisturbed(
    folder: Path, messages: Sequence[Message], todo: Sequence[Step], pack: str = LASTING
) -> Undisturbed:
    session = opened(folder, pack)
    path = folder / "journal.jsonl"
    bodies: list[str | None] = []
    ends = [0]
    for step in todo:
        bodies.append(take(session, messages, step))
        ends.append(path.stat().st_size)
    return Undisturbed(bodies, ends, path.read_bytes(), stored_files(folder))


class Lines:
    """A trace function that counts lines of ``watched`` files; before the ``point``-th (from 0) it calls ``then``."""

    def __init__(self, watched: frozenset[str], point: int | None, then: Callable[[], object]) -> None:
        self.count, self.watched, self.point, self.then = 0, watched, point, then

    def __call__(self, frame: Any, event: str, _: object) -> Any:
        return self.line if frame.f_code.co_filename in self.watched else None

    def line(self, frame: Any, event: str, _: object) -> Any:
        if event == "line":
            if self.count == self.point:
                self.then()
            self.count += 1
        return self.line


# --- what must hold on disk


@cache
def validator() -> Draft7Validator:
    return Draft7Validator(json.loads((data_root() / "schemas" / "journal.schema.json").read_text("utf-8")))


def stored_files(folder: Path) -> dict[str, bytes]:
    """Everything below the folder but the journal, by relative name."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "journal.jsonl")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def check_folder(folder: Path, originals: Sequence[str] = ()) -> list[Any]:
    """The folder of a session is whole and private; its records.

    Every line fits the schema, ids and numbers are each given once, every file the journal names is there, and each
    stored result is one of ``originals`` to the character.
    """
    for line in (folder / "journal.jsonl").read_bytes().splitlines():
        errors = [error.message for error in validator().iter_errors(json.loads(line))]
        assert not errors, (line[:200], errors)
    with DiskJournal.read(folder) as journal:
        records = journal.records()
    numbers = [record.n for record in records if isinstance(record, RunRecord)]
    assert numbers == sorted(set(numbers)), "two runs of one number"
    commits = [record for record in records if isinstance(record, Commit)]
    assert len({commit.id for commit in commits}) == len(commits), "two commits of one id"
    store = FolderStore(folder)
    known = set(originals)
    for commit in commits:
        for name in commit.stored.values():
            text = store.get(name)
            assert text is not None, f"{name} of {commit.id} is lost"
            whole = not known or text in known or not name.startswith("results/")
            assert whole, f"{name} of {commit.id} is not whole"
    check_private(folder)
    return records


def check_private(folder: Path) -> None:
    """Nobody but the owner can read anything here, and nothing leads out."""
    for path in [folder, *folder.rglob("*")]:
        status = path.lstat()
        assert not stat.S_ISLNK(status.st_mode), path
        assert stat.S_IMODE(status.st_mode) == (0o700 if path.is_dir() else 0o600), path


def results_of(messages: Sequence[Message]) -> list[str]:
    """The texts of all tool results."""
    return [
        block["content"]
        for message in messages
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_result"
    ]
