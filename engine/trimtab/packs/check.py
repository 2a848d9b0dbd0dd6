"""`check`: everything that can be said of a pack without running it.

A finding is one function over a :class:`Context`; the tables below are the registry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

from . import check_names, check_sense, check_unused, check_values
from .context import Context
from .problems import CODES, ERROR, SILENCEABLE, WARNING, Problem
from .schema import CHILD_KINDS, pack_schema
from .shapes import Violation, check_required, check_shape
from .sources import Resolved

Finding: TypeAlias = Callable[[Context], None]

NAMES: tuple[Finding, ...] = (
    check_names.names_are_free,
    check_names.stages_have_their_own_ids,
    check_names.model_entries_fit,
    check_names.conditions_name_settings,
    check_names.expressions_name_what_exists,
    check_names.limits_have_an_end,
    check_names.writers_are_texts,
    check_names.categories_exist,
    check_names.facts_exist,
    check_names.stages_exist,
)
"""Findings about what names mean."""

VALUES: tuple[Finding, ...] = (
    check_values.patterns_can_be_read,
    check_values.globs_can_match,
    check_values.folders_stay_inside,
    check_values.tags_are_names,
    check_values.facts_can_be_read,
    check_values.templates_can_be_used,
)
"""Findings about single values."""

SENSE: tuple[Finding, ...] = (
    check_sense.targets_lie_below_triggers,
    check_sense.keys_go_together,
    check_sense.words_of_selectors_can_match,
    check_sense.offered_tools_can_be_called,
    check_sense.defaults_are_taken,
    check_unused.names_are_used,
)
"""Findings about what keys mean together; asked only of packs in which nothing else is wrong."""


OF_TEMPLATES = frozenset({"template-missing", "template-syntax", "template-variable"})
"""Problems of texts: the rest of the pack can still be judged."""


def examine(resolved: Resolved) -> Context:
    """The pack with all problems found, each told once."""
    schema = pack_schema()
    data = resolved.effective.plain()
    shape = check_shape(schema, data)
    plain = data if isinstance(data, Mapping) else {}
    broken = tuple(violation.where for violation in shape.violations)
    context = Context(resolved, plain, shape.occurrences, list(resolved.problems), broken)
    for violation in shape.violations:
        _report(context, violation)
    for stage in context.stages:
        # A child's required keys may come from the defaults of its parent, so they are looked for only now.
        if stage.parent is not None and stage.kind in CHILD_KINDS:
            for violation in check_required(
                schema, schema["definitions"][f"stage-{stage.kind}"], stage.data, stage.where
            ):
                _report(context, violation)
    for finding in (*NAMES, *VALUES):
        finding(context)
    if not any(
        problem.severity == ERROR and problem.code not in OF_TEMPLATES for problem in context.problems
    ):
        for finding in SENSE:
            finding(context)
    return context


def _report(context: Context, violation: Violation) -> None:
    context.report(
        violation.code, violation.message, violation.where, violation.hint, on_key=violation.on_key
    )


def finished(context: Context) -> list[Problem]:
    """The problems in the order of their places, without those an `allow` comment silences."""
    documents = context.resolved.documents
    kept = []
    for problem in context.problems:
        document = documents.get(problem.file)
        allow = document.allows.get(problem.line) if document else None
        if allow is None or allow.code != problem.code or not allow.reason or problem.code not in SILENCEABLE:
            kept.append(problem)
    kept += _bad_allows(context)
    order = {file: number for number, file in enumerate(documents)}
    return sorted(kept, key=lambda each: (order.get(each.file, len(order)), each.line, each.column))


def _bad_allows(context: Context) -> Iterable[Problem]:
    for document in context.resolved.documents.values():
        for line, allow in document.allows.items():
            if allow.code not in CODES:
                message = f"`allow {allow.code}` names no code of a finding"
            elif allow.code not in SILENCEABLE:
                message = f"`{allow.code}` cannot be silenced"
            elif not allow.reason:
                message = f"`allow {allow.code}` gives no reason"
            else:
                continue
            hint = "the comment names a code and, after a comma, the reason"
            yield Problem(
                "allow", message, document.path, line, allow.column, 1, hint, WARNING, document.line(line)
            )


def errors(problems: Iterable[Problem]) -> list[Problem]:
    """Those that keep a pack from running."""
    return [problem for problem in problems if problem.severity == ERROR]


def downgraded(problems: Iterable[Problem], *codes: str) -> list[Problem]:
    """The problems with these codes as warnings."""
    return [
        replace(each, severity=WARNING) if each.code in codes and each.severity == ERROR else each
        for each in problems
    ]
