"""Problems of packs as text: place, message, source line, caret, hint. Plain: a check loads little."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from .words import escaped, plural

if TYPE_CHECKING:
    from ..packs.load import Report
    from ..packs.problems import Problem

COLOURS: Mapping[str, str] = {"error": "red", "warning": "yellow", "info": "blue"}


def problem_text(problem: Problem) -> str:
    """A problem with its severity in front; colours are dropped where no terminal shows them."""
    return mark(problem.severity) + escaped(problem.render())


def mark(severity: str) -> str:
    """What stands in front of a problem: ``error: `` in its colour."""
    return click.style(f"{severity}: ", fg=COLOURS.get(severity), bold=True)


def summary(reports: Iterable[Report]) -> str:
    """``2 packs: 1 error, 3 warnings``."""
    every = list(reports)
    found = [problem.severity for report in every for problem in report.problems]
    counts = [plural(found.count(word), word) for word in ("error", "warning") if word in found]
    return f"{plural(len(every), 'pack')}: {', '.join(counts) if counts else 'no problems'}"


def as_dict(reports: Iterable[Report]) -> dict[str, Any]:
    """The same for programs, as ``check.schema.json`` describes it."""
    return {
        "packs": [
            {
                "name": report.name,
                "ok": report.ok,
                "problems": [problem.to_dict() for problem in report.problems],
                **({"version": report.pack.version} if report.pack else {}),
                **(
                    {
                        "silenced": [
                            {"problem": one.problem.to_dict(), "reason": one.reason}
                            for one in report.silenced
                        ]
                    }
                    if report.silenced
                    else {}
                ),
            }
            for report in reports
        ]
    }
