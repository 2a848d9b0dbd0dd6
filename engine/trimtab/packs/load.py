"""Packs by name or path: loaded for an engine, checked for people, listed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from .check import downgraded, errors, examine, finished
from .context import Context
from .given import given_settings
from .installed import PACK_FILE, installed_packs
from .pack import Pack, Setting
from .problems import PackError, Problem
from .silencing import Silenced
from .sources import Resolved, resolve, resolve_text, shipped_packs

if TYPE_CHECKING:
    from ..policy.stage import Kind

SHIPPED, FOLDER = "shipped", "folder"
STAND_IN = "(a template that is not written yet)"


@dataclass(frozen=True, slots=True)
class Report:
    """What a check found. ``pack`` is None where there are errors, ``name`` as it was asked for.

    ``silenced`` are the problems that comments in the pack answer; ``context`` what was examined,
    ``asked`` the codes of :data:`REHEARSED`, :data:`AGAINST` and :data:`FOR_MODEL` that were looked for.
    """

    name: str
    problems: tuple[Problem, ...]
    pack: Pack | None = None
    resolved: Resolved | None = None
    context: Context | None = field(default=None, repr=False, compare=False)
    silenced: tuple[Silenced, ...] = ()
    asked: frozenset[str] = frozenset()

    @property
    def ok(self) -> bool:
        """Whether nothing keeps the pack from running."""
        return not errors(self.problems)


@dataclass(frozen=True, slots=True)
class Listed:
    """A pack that can be named. ``origin`` is `shipped`, `folder`, or a distribution with its version.

    ``problems`` that are errors keep it from being used; then version and description may be empty.
    """

    name: str
    version: str
    description: str
    path: Path | None
    origin: str
    problems: tuple[Problem, ...] = ()


def known_kinds() -> Mapping[str, type[Kind]]:
    """The kinds this engine runs; the module is imported only when a pack is built."""
    kinds: Mapping[str, type[Kind]] = import_module("trimtab.stages").KINDS
    return kinds


def check(
    name: str | Path,
    overrides: Sequence[tuple[str, str]] = (),
    *,
    kinds: Mapping[str, type[Kind]] | None = None,
    missing_templates: bool = False,
) -> Report:
    """Check a pack; never raises for what is wrong with it.

    ``overrides`` are dotted places with YAML texts (`limits.auto`, `stages.compact.keep.newest.turns`).
    ``missing_templates``: a template that is not there is a warning, and a stand-in takes its place.
    """
    try:
        resolved = resolve(name, overrides)
    except PackError as error:
        return Report(str(name), error.problems)
    return _report(str(name), resolved, kinds, missing_templates)


def check_text(
    text: str,
    name: str = "pack",
    folders: Sequence[Path] = (),
    *,
    kinds: Mapping[str, type[Kind]] | None = None,
    missing_templates: bool = False,
) -> Report:
    """The same for a pack given as text."""
    try:
        resolved = resolve_text(text, name, folders)
    except PackError as error:
        return Report(name, error.problems)
    return _report(name, resolved, kinds, missing_templates)


def _report(
    name: str, resolved: Resolved, kinds: Mapping[str, type[Kind]] | None, missing_templates: bool
) -> Report:
    from .build import build

    context = examine(resolved)
    pack = None
    spared = ("template-missing",) if missing_templates else ()
    if not errors(downgraded(finished(context).problems, *spared)):
        pack = build(
            context, known_kinds() if kinds is None else kinds, STAND_IN if missing_templates else None
        )
    found = finished(context)
    problems = downgraded(found.problems, *spared)
    own = pack if not errors(problems) else None
    return Report(name, tuple(problems), own, resolved, context, found.silenced)


def completed(report: Report, more: Sequence[Problem], asked: frozenset[str]) -> Report:
    """The report with what was found otherwise; ``asked`` are the codes that were looked for."""
    if report.context is None:
        return report
    report.context.adopt(more)
    asked |= report.asked
    found = finished(report.context, asked)
    return replace(report, problems=found.problems, silenced=found.silenced, asked=asked)


def load(
    name: str | Path,
    overrides: Sequence[tuple[str, str]] = (),
    *,
    settings: Mapping[str, Setting] | None = None,
    kinds: Mapping[str, type[Kind]] | None = None,
    missing_templates: bool = False,
) -> Pack:
    """A pack that can be run. ``settings`` are the host's, checked here. Raises PackError with all errors."""
    report = check(name, overrides, kinds=kinds, missing_templates=missing_templates)
    if report.pack is None:
        raise PackError(errors(report.problems))
    given_settings(report.pack, settings)
    return report.pack


def list_packs() -> list[Listed]:
    """The packs that come with the engine, by name."""
    return [_listed(name, path, SHIPPED) for name, path in shipped_packs().items()]


def available_packs(folders: Sequence[Path] = ()) -> list[Listed]:
    """The packs that ship, those of installed distributions, and those in ``folders`` or one level below.

    One that cannot be named by its short name goes by its full one, and a warning says so.
    """
    found = list_packs()
    shipped = {each.name for each in found}
    survey = installed_packs()
    for each in survey.packs:
        shadowed = survey.shadows(each, shipped)
        name = each.name if shadowed is None else each.full_name
        try:
            listed = _listed(name, each.file(), each.origin)
        except PackError as error:
            listed = Listed(name, "", "", each.path, each.origin, error.problems)
        found.append(listed if shadowed is None else replace(listed, problems=(*listed.problems, shadowed)))
    for folder in folders:
        for path in [folder / PACK_FILE, *sorted(folder.glob(f"*/{PACK_FILE}"))]:
            if path.is_file():
                found.append(_listed(path.parent.name or str(path.parent), path, FOLDER))
    return found


def unreadable_distributions() -> tuple[Problem, ...]:
    """What is wrong with installed distributions that seem to have packs and cannot be read."""
    return installed_packs().problems


def _listed(name: str, path: Path, origin: str) -> Listed:
    try:
        fields = resolve(path).root.mapping
    except PackError as error:
        return Listed(name, "", "", path, origin, error.problems)
    version, description = (fields[key].text if key in fields else None for key in ("version", "description"))
    return Listed(name, version or "", description or "", path, origin)
