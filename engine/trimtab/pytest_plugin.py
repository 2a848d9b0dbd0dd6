"""The pytest plugin: ``tests/*.yaml`` beside a ``pack.yaml`` are test files, each of their cases is a test.

Installed with the package (entry point ``pytest11``), so it is loaded by every pytest in the same environment: nothing
of the engine is imported before there is a test file of a pack. It leaves every other YAML file alone, also beside a
``pack.yaml`` of another tool.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .packs.pack import Pack
    from .testing.model import Case
    from .testing.snapshots import Snapshots
    from .testing.suite import Ran

FOLDER, BESIDE = "tests", "pack.yaml"
LOOKED_AT = 1_000_000
"""Bytes of a ``pack.yaml`` that are looked at; a pack is no longer."""
_OURS = re.compile(rb"""^[\s{\xef\xbb\xbf]*["']?(?:format|stages|extends)["']?\s*:""", re.MULTILINE)
"""A line that only a pack of ours begins with, broken or not."""

_SNAPSHOTS: pytest.StashKey[Snapshots] = pytest.StashKey()
_PACKS: pytest.StashKey[dict[Path, Pack]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--trimtab-update``."""
    group = parser.getgroup("trimtab")
    group.addoption(
        "--trimtab-update", action="store_true", help="write snapshots of packs' tests that differ"
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> CaseFileCollector | None:
    """A collector for the test files of a pack."""
    is_test = file_path.suffix == ".yaml" and file_path.parent.name == FOLDER
    if is_test and _is_ours(file_path.parent.parent / BESIDE):
        collector: CaseFileCollector = CaseFileCollector.from_parent(parent, path=file_path)
        return collector
    return None


def _is_ours(pack: Path) -> bool:
    """Whether this is a pack; one that nobody may read is, so that it is told of."""
    try:
        if not pack.is_file():
            return False
        with pack.open("rb") as file:
            return _OURS.search(file.read(LOOKED_AT)) is not None
    except OSError:
        return True


class CaseFileCollector(pytest.File):
    """A test file of a pack."""

    def collect(self) -> Iterator[CaseItem]:
        from .packs.problems import PackError
        from .testing.reading import case_file

        try:
            found = case_file(self.path, self._pack())
        except PackError as error:
            raise self.CollectError(str(error)) from None
        if found.problems:
            raise self.CollectError("\n".join(problem.render() for problem in found.problems))
        for case in found.cases:
            yield CaseItem.from_parent(self, name=case.title, case=case, pack=found.pack)

    def _pack(self) -> Pack:
        """The pack the file is for, loaded once in a session. Raises PackError."""
        from .packs.load import load
        from .testing.suite import home_of

        packs = self.config.stash.setdefault(_PACKS, {})
        path = home_of(self.path).resolve()
        if path not in packs:
            packs[path] = load(path)
        return packs[path]


class CaseFailed(Exception):
    """A case does not hold; ``ran`` has the failures."""

    def __init__(self, ran: Ran) -> None:
        super().__init__(f"{ran.case.title}: {ran.failures[0].what}")
        self.ran = ran


class CaseItem(pytest.Item):
    """One case."""

    def __init__(self, *, case: Case, pack: Pack, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.case = case
        self.pack = pack

    def runtest(self) -> None:
        from .testing.snapshots import Snapshots
        from .testing.suite import run_case

        stash = self.config.stash
        snapshots = stash.setdefault(_SNAPSHOTS, Snapshots(bool(self.config.getoption("--trimtab-update"))))
        ran = run_case(self.case, self.pack, snapshots)
        if not ran.passed:
            raise CaseFailed(ran)

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """Expected against found and what decided it; anything else is a bug, shown with its traceback."""
        if not isinstance(excinfo.value, CaseFailed):
            return super().repr_failure(excinfo, style)
        from .outputs.testing import failure_text

        return "\n\n".join(failure_text(failure) for failure in excinfo.value.ran.failures)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.case.at.line - 1, self.name
