"""Problems as SARIF 2.1.0, which code scanning reads: rules with their help, places, fixes, suppressions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ..packs.catalogue import CATALOGUE
from ..version import __version__
from .place import relative

if TYPE_CHECKING:
    from ..packs.load import Report
    from ..packs.problems import Edit, Problem

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
LEVELS: Mapping[str, str] = {"error": "error", "warning": "warning", "info": "note"}


def as_sarif(reports: Iterable[Report]) -> dict[str, Any]:
    """One run with a result for each problem; what comments in the packs answer is there as suppressed."""
    every = list(reports)
    found = [(problem, "") for report in every for problem in report.problems]
    found += [(one.problem, one.reason) for report in every for one in report.silenced]
    codes = sorted({problem.code for problem, _ in found})
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "trimtab",
                        "semanticVersion": __version__,
                        "rules": [*map(_rule, codes)],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(problem, reason, codes) for problem, reason in found],
            }
        ],
    }


def _rule(name: str) -> dict[str, Any]:
    # No `helpUri`: it has to be absolute, and the page is part of the project. The help itself is here.
    code = CATALOGUE[name]
    return {
        "id": name,
        "shortDescription": {"text": code.meaning},
        "fullDescription": {"text": f"{code.why} {code.mend}"},
        "help": {
            "text": f"{code.why} {code.mend}",
            "markdown": f"**Why**: {code.why}\n\n**Mend**: {code.mend}\n",
        },
        "defaultConfiguration": {"level": LEVELS[code.severity]},
        "properties": {"page": f"docs/findings.md#{name}"},
    }


def _result(problem: Problem, reason: str, codes: Sequence[str]) -> dict[str, Any]:
    hint = f" Hint: {problem.hint}" if problem.hint else ""
    found: dict[str, Any] = {
        "ruleId": problem.code,
        "ruleIndex": codes.index(problem.code),
        "level": LEVELS[problem.severity],
        "message": {"text": f"{problem.message}.{hint}"},
    }
    if problem.file:
        place: dict[str, Any] = {"artifactLocation": {"uri": _uri(problem.file)}}
        if problem.line:
            place["region"] = _region(problem.line, problem.column, problem.width)
            if problem.source:
                place["region"]["snippet"] = {"text": problem.source}
        found["locations"] = [{"physicalLocation": place}]
    if problem.edits:
        found["fixes"] = [
            {
                "description": {"text": problem.hint or problem.message},
                "artifactChanges": [*map(_change, problem.edits)],
            }
        ]
    # A viewer hides what is suppressed; a result without the list is open.
    if reason:
        found["suppressions"] = [{"kind": "inSource", "justification": reason}]
    return found


def _region(line: int, column: int, width: int) -> dict[str, Any]:
    return {"startLine": line, "startColumn": column, "endLine": line, "endColumn": column + width}


def _change(edit: Edit) -> dict[str, Any]:
    replacement = {
        "deletedRegion": _region(edit.line, edit.column, edit.width),
        "insertedContent": {"text": edit.text},
    }
    return {"artifactLocation": {"uri": _uri(edit.file)}, "replacements": [replacement]}


def _uri(file: str) -> str:
    path = PurePath(relative(file))
    return (
        path.as_uri() if path.is_absolute() else quote(path.as_posix(), safe="/~", errors="surrogateescape")
    )
