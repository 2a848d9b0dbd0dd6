"""Exit codes, and what an error means for a person: the one place both are decided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..packs.problems import Problem
    from ..receipt import Receipt

FINE = 0
PROBLEMS = 1
"""Errors, warnings with ``--strict``, an unreadable session, ``on_failure: raise``, an invalid request."""
USAGE = 2
NOTHING_RAN = 5

GRAVE = ("invalid-", "overflow-unhandled", "empty-request")
"""Beginnings of the codes in a receipt that are errors; every other code is a warning."""


class Failure(NamedTuple):
    """An error in words: the exit code, what happened, how to mend it. ``plain``: fit to be shown as it is."""

    code: int
    message: str
    hint: str = ""
    plain: bool = False


def failure_of(error: Exception) -> Failure | None:
    """What to say of an error a command ended with; None for one nobody expected, which is a bug."""
    from ..interpreter import StageFailed
    from ..journal import Conflict
    from ..packs.problems import PackError
    from ..readers import Unreadable
    from ..records import JournalError
    from ..session import InvalidRequest, SessionBusy
    from ..store import StoreError

    if isinstance(error, PackError):
        from ..outputs.problems import problem_text

        text = "\n\n".join(map(problem_text, error.problems))
        return Failure(pack_code(error.problems), text, plain=True)
    if isinstance(error, Unreadable):
        place = f"{error.path}: " if error.path else ""
        return Failure(PROBLEMS, f"{place}{error.message}", error.hint)
    if isinstance(error, JournalError):
        place = (
            ""
            if error.path is None
            else f"{error.path}: "
            if error.line is None
            else f"{error.path}:{error.line}: "
        )
        return Failure(PROBLEMS, f"{place}{error.message}", error.hint or "")
    if isinstance(error, Conflict):
        return Failure(PROBLEMS, str(error))
    if isinstance(error, StageFailed):
        return Failure(
            PROBLEMS, str(error), "the stage says `on_failure: raise`; nothing of this run was kept"
        )
    if isinstance(error, InvalidRequest):
        return Failure(
            PROBLEMS, f"the request is invalid: {error}", "without --strict it is written as it is"
        )
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return Failure(PROBLEMS, f"{place}{error.strerror or error}")
    if isinstance(error, StoreError | SessionBusy):
        return Failure(PROBLEMS, str(error))
    return None


def pack_code(problems: Sequence[Problem]) -> int:
    """A pack that cannot be used is a problem; if only ``--set`` is to blame, it is wrong usage."""
    return USAGE if problems and all(problem.file.startswith("--set ") for problem in problems) else PROBLEMS


def receipt_code(receipt: Receipt, warnings: int = 0, strict: bool = False) -> int:
    """The exit code of a run; ``warnings`` counts what was found in the file and in the pack."""
    if not receipt.stages:
        return NOTHING_RAN
    if any(problem.code.startswith(GRAVE) for problem in receipt.problems):
        return PROBLEMS
    doubtful = warnings or receipt.problems or not receipt.send
    failed = any(report.verdict == "failed" for report in (*receipt.stages, *receipt.jobs))
    return PROBLEMS if strict and (doubtful or failed) else FINE
