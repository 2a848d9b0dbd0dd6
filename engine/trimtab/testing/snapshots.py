"""Snapshots: the whole view of a run and every verdict, kept in a file beside the tests."""

from __future__ import annotations

import difflib
import errno
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..receipt import StageReport
from ..writing import link_on_the_way, write_all
from .looking import content_text, message_text
from .model import Case
from .playing import Played

FOLDER = "snapshots"
SUFFIX = ".txt"
LONGEST = 1200
"""Characters of a text that a snapshot holds; of a longer one the beginning, its length and a digest."""
LINES = 24
"""Lines of a difference that a failure shows."""


@dataclass(frozen=True, slots=True)
class Differs:
    """How a snapshot is not what the run came to."""

    expected: str
    found: str
    lines: tuple[str, ...] = ()


@dataclass(slots=True)
class Snapshots:
    """The snapshot files of one round of tests; ``update`` writes those that differ. ``used`` were asked for."""

    update: bool = False
    used: set[Path] = field(default_factory=set)
    wrote: list[Path] = field(default_factory=list)

    def compare(self, case: Case, name: str, text: str) -> Differs | None:
        """None if the file holds this text, or does now."""
        path = path_of(case, name)
        again = path in self.used
        self.used.add(path)
        data = text.encode("utf-8", "backslashreplace")
        try:
            # A checkout may have changed the line ends.
            known = path.read_bytes().replace(b"\r\n", b"\n") if path.is_file() else None
            if known == data:
                return None
            if self.update and not again:
                write_snapshot(path, data)
                self.wrote.append(path)
                return None
        except OSError as error:
            return Differs("a snapshot", f"{path}: {error.strerror or error}")
        if known is None:
            return Differs("a snapshot", f"there is none yet: {path}; write it with --update")
        lines = list(
            difflib.unified_diff(
                known.decode("utf-8", "backslashreplace").splitlines(),
                data.decode("utf-8").splitlines(),
                "expected",
                "found",
                lineterm="",
                n=2,
            )
        )
        more = [f"… and {len(lines) - LINES} more lines"] if len(lines) > LINES else []
        which = "two expectations share it" if again else "accept it with --update"
        return Differs(f"what {path} holds", f"another view; {which}", (*lines[:LINES], *more))


def write_snapshot(path: Path, data: bytes) -> None:
    """Whole or not at all, and never through a link below the folder of the tests. Raises OSError."""
    tests = path.parents[2]
    name = path.relative_to(tests).as_posix()
    link = link_on_the_way(tests, [name])
    if link is not None:
        raise OSError(errno.ELOOP, "nothing is written through a symbolic link; remove it", str(link))
    write_all(tests, {name: data})


def stale(tests: Path, cases: Iterable[Case]) -> list[Path]:
    """Snapshots of a test file that none of its cases names, whether it came so far or not."""
    named = {
        path_of(case, one.value)
        for case in cases
        for step in case.steps
        for one in step.expects
        if one.kind == "snapshot"
    }
    folder = tests.parent / FOLDER / tests.stem
    if link_on_the_way(tests.parent, [f"{FOLDER}/{tests.stem}"]) is not None:
        return []  # they lie elsewhere, and may be another's
    return sorted(path for path in folder.glob(f"*{SUFFIX}") if path not in named)


def path_of(case: Case, name: str) -> Path:
    """The file of a snapshot: ``snapshots/FILE/NAME.txt`` beside the test file that was asked to run."""
    return case.home.parent / FOLDER / case.home.stem / f"{name}{SUFFIX}"


def written(run: Played) -> str:
    """The run as text: verdicts, problems and notices, then the view; no figure that rests on an estimate."""
    assert run.outcome is not None
    lines = ["stages", *_stages(run.reports)]
    for notice in run.outcome.notices:
        lines.append(f"notice {notice.stage} {notice.level}: {notice.text}")
    for problem in run.outcome.problems:
        lines.append(f"problem {problem.code}")
    if not run.outcome.send:
        lines.append("not to be sent")
    if run.outcome.request.system is not None:
        lines += ["", "system", *_text(content_text(run.outcome.request.system))]
    for number, message in enumerate(run.outcome.request.messages):
        lines += ["", f"{number} {message.get('role')}", *_text(message_text(message))]
    return "\n".join(lines) + "\n"


def _stages(reports: tuple[StageReport, ...], depth: int = 1) -> Iterator[str]:
    for report in reports:
        items = f" {report.items}" if report.items and not report.children else ""
        yield f"{'  ' * depth}{report.id} {report.verdict}{items}"
        yield from _stages(report.children, depth + 1)


def _text(text: str) -> Iterator[str]:
    shown = text[:LONGEST]
    for line in shown.splitlines():
        yield f"  | {line}".rstrip()
    if len(text) > LONGEST:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        yield f"  … {len(text) - LONGEST:,} more characters, {digest}"
