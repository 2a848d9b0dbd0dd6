"""From one version of the pack language to the next, a step at a time; comments stay where they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..version import __version__ as VERSION
from .document import parse_document
from .formatting import printed, read_again, tree_of
from .gate import FORMAT
from .nodes import Document
from .problems import PackError, Problem, problem_at
from .written.editing import replace
from .written.tree import Collection, Written


@dataclass(frozen=True, slots=True)
class Migration:
    """The step from format ``before`` to the next one.

    ``change`` edits the tree and returns what a person has to look at, in sentences; the number in `format` is
    not its business.
    """

    before: int
    summary: str
    change: Callable[[Written], list[str]]


MIGRATIONS: tuple[Migration, ...] = ()
"""Every step there is, oldest first. There is one format so far, so there are none."""


@dataclass(frozen=True, slots=True)
class Migrated:
    """A pack in the newest format. ``steps`` were taken; none: it was there already. ``remarks`` are for people."""

    text: str
    steps: tuple[Migration, ...] = ()
    remarks: tuple[str, ...] = ()


def migrated(
    text: str, name: str, migrations: Sequence[Migration] = MIGRATIONS, target: int = FORMAT
) -> Migrated:
    """The pack in format ``target``. Raises PackError if no way leads there, or a step breaks the file."""
    document = parse_document(text, name)
    steps = _way(document, migrations, target)
    if not steps:
        return Migrated(text)
    written = tree_of(text, name)
    assert isinstance(written.root, Collection)
    remarks: list[str] = []
    for step in steps:
        remarks += step.change(written)
    entry = written.root.entry("format")
    assert entry is not None
    replace(entry, str(target))
    after = printed(written, text)
    found = read_again(after, name)
    if not isinstance(found, dict) or found.get("format") != target:
        message = f"the step from format {steps[0].before} would leave a file that cannot be read"
        raise PackError([Problem("format", message, name, hint="nothing was written; report this file")])
    return Migrated(after, steps, tuple(remarks))


def _way(document: Document, migrations: Sequence[Migration], target: int) -> tuple[Migration, ...]:
    """The steps from the document's format to ``target``."""
    node = document.root.mapping.get("format")
    if node is None:
        pos = document.root.pos
        hint = f"a pack begins with `format: {target}`"
        raise PackError(
            [problem_at(pos, "missing-key", "`format` is missing", hint, document.line(pos.line))]
        )
    form = node.value
    line = document.line(node.pos.line)
    if not isinstance(form, int) or isinstance(form, bool) or form < 0:
        hint = f"this engine ({VERSION}) reads format: {target}"
        raise PackError([problem_at(node.pos, "format", f"{form!r} is no format", hint, line)])
    if form > target:
        message = f"format {form} is newer than this engine ({VERSION}), which reads format: {target}"
        hint = "install a newer trimtab; packs are never taken back to an older format"
        raise PackError([problem_at(node.pos, "format", message, hint, line)])
    known = {step.before: step for step in migrations}
    missing = [number for number in range(form, target) if number not in known]
    if missing:
        oldest = min((step.before for step in migrations), default=target)
        message = f"no step leads from format {missing[0]} to {missing[0] + 1}"
        hint = f"the oldest format this engine ({VERSION}) can start from is {oldest}"
        raise PackError([problem_at(node.pos, "format", message, hint, line)])
    return tuple(known[number] for number in range(form, target))
