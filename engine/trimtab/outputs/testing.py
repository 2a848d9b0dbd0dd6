"""Results of packs' tests: for people, and as data for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..packs.problems import Problem
from .words import escaped, plural, safe, why

if TYPE_CHECKING:
    from rich.console import Console

    from ..receipt import StageReport
    from ..testing.coverage import Coverage
    from ..testing.model import Failure
    from ..testing.suite import Ran, Result

NAMES = 12
"""Columns in front of what was expected and found."""


def show_result(result: Result, out: Console, verbose: bool = False, coverage: bool = False) -> None:
    """Print the cases that failed, the coverage if it is wanted, and a summary; ``verbose``: every case."""
    from rich.text import Text

    for ran in result.ran:
        if verbose:
            mark = "✓" if ran.passed else "✗"
            line = f"{mark} {ran.pack.name}: {safe(ran.case.title)} ({1000 * ran.seconds:.0f} ms)"
            out.print(Text(line, style="" if ran.passed else "red"))
    for ran in result.failed:
        out.print()
        out.print(Text(f"FAILED {ran.pack.name}: {safe(ran.case.title)}", style="bold red"))
        for failure in ran.failures:
            for text, style in failure_lines(failure):
                out.print(Text(text, style=style), soft_wrap=True)
    if result.ran and coverage:
        out.print()
        for line, style in coverage_lines(result.coverage):
            out.print(Text(line, style=style), soft_wrap=True)
    if result.failed or coverage or verbose:
        out.print()
    for line, style in _notes(result):
        out.print(Text(line, style=style), soft_wrap=True)
    out.print(Text(summary(result), style="red" if result.failed else "green" if result.ran else "yellow"))


def failure_lines(failure: Failure) -> Iterator[tuple[str, str]]:
    """One failure: its place and line with a caret, expected against found, and what decided it."""
    at = failure.at
    shown = Problem("", failure.what, at.file, at.line, at.column, at.width, source=failure.source).render()
    first, *rest = escaped(shown).split("\n")
    yield first.removesuffix(" []"), "bold"
    for line in rest:
        yield line, "dim"
    yield f"{'  expected':<{NAMES}}{escaped(failure.expected)}", ""
    yield f"{'  found':<{NAMES}}{escaped(failure.found)}", "red"
    name = "  receipt"
    for line in [line for report in failure.reports for line in report_lines(report)]:
        yield f"{name:<{NAMES}}{line}", ""
        name = ""
    for note in failure.notes:
        yield f"{'':<{NAMES}}{escaped(note)}", ""


def failure_text(failure: Failure) -> str:
    """The same as one text."""
    return "\n".join(line for line, _ in failure_lines(failure))


def report_lines(report: StageReport, depth: int = 0) -> Iterator[str]:
    """A stage's verdict and why, its children below it."""
    reason = why(report, brief=False)
    yield f"{'  ' * depth}{report.id} {report.verdict}" + (f": {reason}" if reason else "")
    for child in report.children:
        yield from report_lines(child, depth + 1)


def coverage_lines(coverages: Sequence[Coverage]) -> Iterator[tuple[str, str]]:
    """How many stages of each pack fire, and the place of each that does not."""
    for one in coverages:
        missing = one.missing
        fired = len(one.stages) - len(missing)
        line = f"{one.pack.name}: {fired} of {plural(len(one.stages), 'stage')} fired ({one.percent:.0f} %)"
        yield line, "" if missing else "green"
        for name, origin in missing:
            yield f"  {origin}: no test makes `{name}` fire", "yellow"


def _notes(result: Result) -> Iterator[tuple[str, str]]:
    for name in result.without:
        yield f"{safe(name)} has no tests: tests/*.yaml beside the pack", "yellow"
    for path in result.wrote:
        yield f"written: {safe(str(path))}", ""
    for path in result.stale:
        yield f"no case asks for the snapshot {safe(str(path))}", "yellow"


def summary(result: Result) -> str:
    """``5 packs, 120 cases: 118 passed, 2 failed in 1.2 s``."""
    packs = len({ran.pack.label for ran in result.ran})
    counts = [f"{len(result.ran) - len(result.failed)} passed"]
    counts += [f"{len(result.failed)} failed"] if result.failed else []
    counts += [f"{result.left_out} left out"] if result.left_out else []
    counts += [plural(len(result.problems), "problem")] if result.problems else []
    if not result.ran:
        what = "no case could be run" if result.problems else "nothing ran"
        return what + (f": {', '.join(counts[1:])}" if counts[1:] else "")
    seconds = sum(ran.seconds for ran in result.ran)
    return (
        f"{plural(packs, 'pack')}, {plural(len(result.ran), 'case')}: {', '.join(counts)} in {seconds:.1f} s"
    )


def as_dict(result: Result) -> dict[str, Any]:
    """The result for programs."""
    return {
        "ok": not result.failed and not result.problems,
        "cases": [_case(ran) for ran in result.ran],
        "problems": [problem.to_dict() for problem in result.problems],
        "coverage": [_coverage(one) for one in result.coverage],
        "left_out": result.left_out,
        "without_tests": result.without,
        "written": [str(path) for path in result.wrote],
        "stale_snapshots": [str(path) for path in result.stale],
    }


def _case(ran: Ran) -> Mapping[str, Any]:
    case = ran.case
    return {
        "name": case.title,
        "pack": ran.pack.label,
        "file": case.at.file,
        "line": case.at.line,
        "column": case.at.column,
        "passed": ran.passed,
        "seconds": round(ran.seconds, 4),
        "failures": [_failure(failure) for failure in ran.failures],
    }


def _failure(failure: Failure) -> Mapping[str, Any]:
    return {
        "what": failure.what,
        "expected": failure.expected,
        "found": failure.found,
        "file": failure.at.file,
        "line": failure.at.line,
        "column": failure.at.column,
        "receipt": [line for report in failure.reports for line in report_lines(report)],
        "notes": list(failure.notes),
    }


def _coverage(one: Coverage) -> Mapping[str, Any]:
    return {
        "pack": one.pack.label,
        "stages": len(one.stages),
        "percent": round(one.percent, 1),
        "fired": one.fired,
        "missing": [{"stage": name, "at": str(origin)} for name, origin in one.missing],
    }
