"""Findings about names nobody uses: in a file that extends another, a misspelt name is a new one that does nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..templating import TemplateProblem, Text
from ..templating.folders import MOST, beginning, files_below
from .context import Context
from .installed import PACK_FILE
from .names import HOST_FACTS
from .problems import WARNING, Position, did_you_mean
from .sources import OUTSIDE, TEMPLATES, shown_path

MOST_SHOWN = 500
"""Characters of a file's first line that are told."""
OWN_FACTS = frozenset({"files", "commands", "memory", "nested_memory"})
"""Facts the engine itself reads by name: paths, superseded results, what was removed, where memory stands."""


def names_are_used(context: Context) -> None:
    """Every setting, limit, category and fact that this file names is used somewhere in the merged pack.

    Not asked of a pack without stages, which is there to be extended, nor where values were set from outside,
    which may take a use away.
    """
    if not context.stages or any(name.startswith(OUTSIDE) for name in context.resolved.documents):
        return
    _report(context, "tools", "category", {each.value for each in context.of("category")})
    if any(problem.code.startswith("template-") for problem in context.problems):
        return  # What a template reads that is not there or misspelt nobody knows.
    texts = list(_texts(context))
    found = {"settings": _settings(context), "limits": _quantities(context), "facts": _facts(context)}
    for section, used in found.items():
        if not any(section in text.paths for text in texts):
            _report(context, section, section.removesuffix("s"), used | set(_fields(texts, section)))


def _report(context: Context, section: str, kind: str, used: set[str]) -> None:
    """Tell of the names the checked file itself declares: what it inherits and no longer needs is no mistake."""
    main = context.resolved.root.pos.file
    declared = context.section(section)
    always, spared = (HOST_FACTS, OWN_FACTS) if section == "facts" else (frozenset(), frozenset())
    known = always | (used & declared.keys())
    for name in declared:
        place = context.resolved.where((section, name), on_key=True)
        if name in used or name in spared or place.file != main:
            continue
        allow = f"# trimtab: allow unused-{kind}, the host reads it"
        context.report(
            f"unused-{kind}",
            f"nothing uses the {kind} `{name}`",
            place,
            did_you_mean(name, known - {name}) or f"remove it; if a host reads it, say so behind it: {allow}",
            severity=WARNING,
        )


def _texts(context: Context) -> Iterator[Text]:
    """All templates and inline texts of the pack."""
    for entry in context.of("template", "text"):
        try:
            if entry.role == "template":
                yield context.renderer.template(entry.value)
            else:
                yield context.inline(entry.where, entry.value)
        except TemplateProblem:
            continue  # told elsewhere


def _fields(texts: list[Text], section: str) -> Iterator[str]:
    """The names a text reads of `settings`, `limits` or `facts`."""
    for text in texts:
        for path in text.paths:
            head, _, rest = path.partition(".")
            if head == section:
                yield rest.partition(".")[0]


def _quantities(context: Context) -> set[str]:
    """The names expressions read; a limit that names itself is told elsewhere."""
    return {name for quantity in context.quantities.values() for name in quantity.names}


def _settings(context: Context) -> set[str]:
    """The settings of expressions, conditions, model entries, and those that name a writer."""
    found = _quantities(context) | {each.value for each in context.of("writer")}
    for entry in context.of("setting-values", "model-entry"):
        found.update(entry.value)
    return found


def _facts(context: Context) -> set[str]:
    return {each.value for each in context.of("fact")}


def templates_are_used(context: Context) -> None:
    """Every template in the pack's own folder is one that a stage or another template names.

    Asked only of a folder that is a pack: files named otherwise may share theirs.
    """
    folders = context.resolved.folders
    if not context.stages or len(folders) < 2 or Path(context.resolved.name).name != PACK_FILE:
        return
    own = Path(context.resolved.root.pos.file).parent / TEMPLATES
    if any(each.code == "template-syntax" for each in context.problems):
        return
    used = {each.value for each in context.of("template")}
    new = [name for text in _texts(context) for name in text.includes]
    while new:
        name = new.pop()
        if name not in used:
            used.add(name)
            new += context.renderer.template(name).includes
    names, whole = files_below(own)
    if not whole:
        message = f"the folder has more than {MOST:,} files, of which nobody can tell which are used"
        hint = "keep only this pack's templates in it"
        context.report("unused-template", message, Position(shown_path(own), 1, 1), hint)
        return
    for name in names:
        if not name.startswith(".") and "/." not in name and name not in used:
            line = beginning(own / name).partition("\n")[0][:MOST_SHOWN]
            place = Position(shown_path(own / name), 1, 1, max(1, len(line)))
            hint = did_you_mean(name, used) or "remove it, or name it in a stage"
            context.report("unused-template", f"nothing uses the template `{name}`", place, hint, source=line)
