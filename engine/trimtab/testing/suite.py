"""Finds the tests of packs and runs them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..packs.document import read_document
from ..packs.load import load
from ..packs.nodes import Document
from ..packs.pack import Pack
from ..packs.problems import PackError, Problem
from ..packs.sources import PACK_FILE, find_pack, is_path, packs_below, shipped_packs, shown_path
from .coverage import Coverage
from .judging import judge
from .model import Case, Failure
from .playing import Play, play
from .reading import CaseFile, case_file
from .snapshots import Snapshots, stale

TESTS = "tests"


@dataclass(frozen=True, slots=True)
class Ran:
    """One case that was run: for which pack, what failed, and how long it took."""

    case: Case
    pack: Pack
    failures: tuple[Failure, ...]
    seconds: float
    play: Play

    @property
    def passed(self) -> bool:
        return not self.failures


@dataclass(slots=True)
class Plan:
    """Test files with the packs they are for, and what is wrong with the names they were asked for by.

    ``looked_at`` are all files that were tried, those with mistakes among them.
    """

    files: list[CaseFile] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    without: list[str] = field(default_factory=list)
    looked_at: set[Path] = field(default_factory=set)

    @property
    def every_problem(self) -> list[Problem]:
        return [*self.problems, *(problem for one in self.files for problem in one.problems)]


def plan(names: Sequence[str]) -> Plan:
    """The test files of packs (names or paths), of folders with packs in them, and test files by their path.

    ``without`` are packs that have no tests. Nothing is raised: what is wrong stands in ``problems``.
    """
    found = Plan()
    packs = _Packs(found)
    seen: set[tuple[Path, Path]] = set()
    for name in names:
        pairs = _pairs(name, found)
        if pairs is None:
            continue
        if not pairs:
            found.without.append(name)
        for tests, home in pairs:
            mark = (tests.resolve(), home.resolve())
            found.looked_at |= {tests, home}
            if mark not in seen:
                seen.add(mark)
                pack = packs.get(home)
                if pack is not None:
                    found.files.append(case_file(tests, pack))
    return found


class _Packs:
    """Packs, each loaded once; what is wrong with one is told once."""

    def __init__(self, into: Plan) -> None:
        self._into = into
        self._known: dict[Path, Pack | None] = {}

    def get(self, path: Path) -> Pack | None:
        key = path.resolve()
        if key not in self._known:
            try:
                self._known[key] = load(path)
            except PackError as error:
                self._into.problems += error.problems
                self._known[key] = None
        return self._known[key]


def _pairs(name: str, into: Plan) -> list[tuple[Path, Path]] | None:
    """Test files with the pack each is for; None where the name means nothing."""
    try:
        path = Path(name)
        if not is_path(name) and name in shipped_packs():
            return _beside(shipped_packs()[name])
        if path.is_dir() and not (path / PACK_FILE).is_file():
            inside = path.parent if path.name == TESTS and (path.parent / PACK_FILE).is_file() else None
            packs = [inside / PACK_FILE] if inside else packs_below(path)
            return [pair for pack in packs for pair in _beside(pack)]
        if path.is_file() and _is_tests(path):
            return [(path, home_of(path))]
        return _beside(find_pack(name))
    except PackError as error:
        into.problems += error.problems
        return None


def _is_tests(path: Path) -> bool:
    """Whether a file looks like tests rather than like a pack, mistakes in it or not."""
    try:
        fields = read_document(path).root.mapping
    except PackError:
        return path.parent.name == TESTS
    return "stages" not in fields and ("cases" in fields or "include" in fields or path.parent.name == TESTS)


def _beside(pack: Path) -> list[tuple[Path, Path]]:
    """The tests beside a pack; those that name another pack are for that one."""
    found = []
    for tests in sorted((pack.parent / TESTS).glob("*.yaml")):
        found.append((tests, _named(tests) or pack))
    return found


def home_of(tests: Path) -> Path:
    """The pack a test file is for: the one it names, else the one it lies beside. Raises PackError."""
    named = _named(tests)
    if named is not None:
        return named
    beside = tests.parent.parent / PACK_FILE
    if not beside.is_file():
        message = f"no pack is named, and there is no {beside}"
        raise PackError([Problem("file", message, str(tests), hint="name one: `pack: ../house-rules.yaml`")])
    return beside


def _named(tests: Path) -> Path | None:
    """The pack a test file names, if it can be read. Raises PackError where there is no such pack."""
    try:
        document = read_document(tests, shown_path(tests))
    except PackError:
        return None
    node = document.root.mapping.get("pack")
    if node is None or node.text is None:
        return None
    try:
        return find_pack(str(node.value), tests.parent)
    except PackError as error:
        raise PackError([_at(document, error.problems[0])]) from None


def _at(document: Document, problem: Problem) -> Problem:
    pos = document.where(("pack",))
    return Problem(
        problem.code,
        problem.message,
        pos.file,
        pos.line,
        pos.column,
        pos.width,
        problem.hint,
        source=document.line(pos.line),
    )


def run_case(case: Case, pack: Pack, snapshots: Snapshots | None = None, *, twice: bool = True) -> Ran:
    """Play a case and judge it; ``twice``: play it again from the start and compare the bytes."""
    began = time.perf_counter()
    first = play(case, pack)
    second = play(case, pack) if twice else None
    failures = judge(case, pack, first, second, snapshots)
    return Ran(case, pack, tuple(failures), time.perf_counter() - began, first)


@dataclass(slots=True)
class Result:
    """What a round of tests came to. ``left_out``: cases that were not chosen; ``stale`` snapshots nobody asked for."""

    ran: list[Ran] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    coverage: list[Coverage] = field(default_factory=list)
    left_out: int = 0
    without: list[str] = field(default_factory=list)
    wrote: list[Path] = field(default_factory=list)
    stale: list[Path] = field(default_factory=list)

    @property
    def failed(self) -> list[Ran]:
        return [one for one in self.ran if not one.passed]


def run_plan(
    found: Plan,
    chosen: Callable[[Case], bool] = lambda case: True,
    snapshots: Snapshots | None = None,
    step: Callable[[str], None] = lambda text: None,
) -> Result:
    """Run the chosen cases of all test files, in order."""
    snapshots = snapshots or Snapshots()
    result = Result(problems=found.every_problem, without=list(found.without))
    coverage: dict[int, Coverage] = {}
    for one in found.files:
        measured = coverage.setdefault(id(one.pack), Coverage(one.pack))
        for case in one.cases:
            if not chosen(case):
                result.left_out += 1
                continue
            step(case.name)
            ran = run_case(case, one.pack, snapshots)
            measured.add(ran.play)
            result.ran.append(ran)
    result.coverage = list(coverage.values())
    result.wrote = snapshots.wrote
    if not result.left_out:
        whole = [one for one in found.files if not one.problems]
        result.stale = [path for one in whole for path in stale(one.path, one.cases)]
    return result


def watched(found: Plan) -> set[Path]:
    """Every file that the tests of a plan were made of."""
    files = set(found.looked_at)
    for one in found.files:
        files |= {Path(document.path) for document in one.documents}
        files |= {path for path in one.path.parent.rglob("*") if path.is_file()}
        for folder in one.pack.folders:
            files |= {*folder.parent.glob("*.yaml"), *(path for path in folder.rglob("*") if path.is_file())}
    return files


def chosen_by(texts: Iterable[str]) -> Callable[[Case], bool]:
    """Whether a case's title has one of the texts in it, in any case of letters; without texts all are chosen."""
    wanted = [text.casefold() for text in texts]
    return lambda case: not wanted or any(text in case.title.casefold() for text in wanted)
