"""Comments `# trimtab: allow CODE, reason`: what they silence, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from .document import allow_of
from .nodes import Allow, Document
from .problems import CODES, ERROR, SILENCEABLE, WARNING, Problem


@dataclass(frozen=True, slots=True)
class Silenced:
    """A problem that a comment answers, and the reason the comment gives."""

    problem: Problem
    reason: str


@dataclass(frozen=True, slots=True)
class Told:
    """What is left to tell, in the order of the files, and what was silenced."""

    problems: tuple[Problem, ...]
    silenced: tuple[Silenced, ...] = ()


def told(problems: Iterable[Problem], documents: Mapping[str, Document], unasked: frozenset[str]) -> Told:
    """Sort the problems into those to tell and those a comment on their line silences.

    ``unasked`` are codes nobody looked for this time: a comment that names one may well be needed.
    """
    kept: list[Problem] = []
    silenced: list[Silenced] = []
    used: set[tuple[str, int]] = set()
    for problem in problems:
        allow = _allow(problem, documents)
        if allow is None or allow.code != problem.code or not allow.reason or problem.code not in SILENCEABLE:
            kept.append(problem)
        else:
            silenced.append(Silenced(problem, allow.reason))
            used.add((problem.file, problem.line))
    # Beside a mistake not everything is looked for, so nobody knows what a comment would have silenced.
    whole = not any(each.severity == ERROR for each in kept)
    kept += _wrong(documents, used, unasked, whole)
    order = {file: number for number, file in enumerate(documents)}
    kept.sort(key=lambda each: (order.get(each.file, len(order)), each.file, each.line, each.column))
    return Told(tuple(kept), tuple(silenced))


def _allow(problem: Problem, documents: Mapping[str, Document]) -> Allow | None:
    document = documents.get(problem.file)
    # Of a template only the line is known: `{# trimtab: allow CODE, reason #}`.
    return document.allows.get(problem.line) if document else allow_of(problem.source)


def _wrong(
    documents: Mapping[str, Document], used: set[tuple[str, int]], unasked: frozenset[str], whole: bool
) -> Iterator[Problem]:
    for document in documents.values():
        for line, allow in document.allows.items():
            code, hint = "allow", "the comment names a code and, after a comma, the reason"
            if allow.code not in CODES:
                message = f"`allow {allow.code}` names no code of a finding"
            elif allow.code not in SILENCEABLE:
                message = f"`{allow.code}` cannot be silenced"
            elif not allow.reason:
                message = f"`allow {allow.code}` gives no reason"
            elif whole and (document.path, line) not in used and allow.code not in unasked:
                code, hint = "unused-allow", "remove the comment, or put it on the line of the finding"
                message = f"nothing on this line is a case of `{allow.code}`"
            else:
                continue
            source = document.line(line)
            width = max(1, len(source) - allow.column + 1)
            yield Problem(code, message, document.path, line, allow.column, width, hint, WARNING, source)
