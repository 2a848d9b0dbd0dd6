"""Problems as workflow commands of GitHub Actions: each becomes an annotation at its line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from .place import relative

if TYPE_CHECKING:
    from ..packs.problems import Problem

LEVELS: Mapping[str, str] = {"error": "error", "warning": "warning", "info": "notice"}


def all_annotations(problems: Iterable[Problem]) -> str:
    """One command a line; files are named from the working directory, which is the repository's in a workflow."""
    return "\n".join(map(annotation, problems))


def annotation(problem: Problem) -> str:
    """``::error file=…,line=…,col=…,endColumn=…,title=…::message``."""
    places: dict[str, object] = {}
    if problem.file:
        places["file"] = relative(problem.file)
    if problem.line:
        places |= {"line": problem.line, "col": problem.column, "endColumn": problem.column + problem.width}
    places["title"] = f"trimtab {problem.code}"
    message = problem.message + (f"\nhint: {problem.hint}" if problem.hint else "")
    values = ",".join(f"{key}={_property(str(value))}" for key, value in places.items())
    return f"::{LEVELS[problem.severity]} {values}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
