"""Problems as workflow commands of GitHub Actions: each becomes an annotation at its line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ..packs.problems import Position
from .place import relative

if TYPE_CHECKING:
    from ..packs.problems import Problem
    from ..testing.suite import Result

LEVELS: Mapping[str, str] = {"error": "error", "warning": "warning", "info": "notice"}


def all_annotations(problems: Iterable[Problem]) -> str:
    """One command a line; files are named from the working directory, which is the repository's in a workflow."""
    return "\n".join(map(annotation, problems))


def annotation(problem: Problem) -> str:
    """``::error file=…,line=…,col=…,endColumn=…,title=…::message``."""
    message = problem.message + (f"\nhint: {problem.hint}" if problem.hint else "")
    at = Position(problem.file, problem.line, problem.column, problem.width)
    return _command(LEVELS[problem.severity], at, problem.code, message)


def of_tests(result: Result) -> str:
    """The same for a round of tests: what is wrong with files, and every expectation that does not hold."""
    lines = [annotation(problem) for problem in result.problems]
    for ran in result.failed:
        for failure in ran.failures:
            said = f"{ran.case.title}: {failure.what}"
            message = f"{said}\nexpected {failure.expected}\nfound {failure.found}"
            lines.append(_command("error", failure.at, "test", message))
    return "\n".join(lines)


def _command(level: str, at: Position, code: str, message: str) -> str:
    places: dict[str, object] = {}
    if at.file:
        places["file"] = relative(at.file)
    if at.line:
        places |= {"line": at.line, "col": at.column, "endColumn": at.column + at.width}
    places["title"] = f"trimtab {code}"
    values = ",".join(f"{key}={_property(str(value))}" for key, value in places.items())
    return f"::{level} {values}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
