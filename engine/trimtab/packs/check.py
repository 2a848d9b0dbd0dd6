"""`check`: everything that can be said of a pack without running it.

A finding is one function over a :class:`Context`; the tables below are the registry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from . import check_advice, check_names, check_numbers, check_reach, check_sense, check_unused, check_values
from .catalogue import AGAINST, FOR_MODEL, REHEARSED
from .context import Context
from .mended import is_sound, mended
from .problems import ERROR, WARNING, Edit, Problem
from .schema import CHILD_KINDS, pack_schema
from .shapes import Violation, Where, check_required, check_shape
from .silencing import Told, told
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
    check_reach.stages_can_run,
    check_reach.triggers_can_be_met,
    check_numbers.numbers_are_of_their_unit,
    check_numbers.limits_are_not_negative,
    check_numbers.what_is_kept_fits_the_window,
    check_numbers.writers_have_room,
    check_numbers.placeholders_are_shorter,
)
"""Findings about what keys mean together; asked of what is sound in a pack."""

ADVICE: tuple[Finding, ...] = (
    check_advice.stages_are_not_shadowed,
    check_advice.results_have_been_read,
    check_advice.attachments_end,
    check_advice.user_words_are_kept,
    check_advice.ladders_are_short,
    check_advice.something_needs_no_model,
    check_unused.names_are_used,
    check_unused.templates_are_used,
)
"""Findings about what could be done better; asked only of packs in which all the rest is sound."""


def examine(resolved: Resolved) -> Context:
    """The pack with all problems found, each told once.

    ``Context.sound`` is what of it can be judged as a whole: the pack itself, or what was meant.
    """
    context = _looked_at(resolved)
    sound, whole = mended(context, _looked_at)
    context.sound = sound if whole else None
    if sound is not None:
        before = len(sound.problems)
        for finding in SENSE:
            finding(sound)
        if sound is context and is_sound(context):
            for finding in ADVICE:
                finding(context)
        if sound is not context:
            context.adopt(sound.problems[before:])
    return context


def _looked_at(resolved: Resolved) -> Context:
    """Shape, names and single values."""
    schema = pack_schema()
    data = resolved.effective.plain()
    shape = check_shape(schema, data, inherited=partial(_inherited, resolved))
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
    return context


def _inherited(resolved: Resolved, where: Where, key: str, other: str) -> bool:
    """Whether two keys of a mapping come from different files."""
    keys = resolved.effective.find(where)[0].mapping
    return key in keys and other in keys and keys[key].pos.file != keys[other].pos.file


def _report(context: Context, violation: Violation) -> None:
    edits = _no_stages(context) if violation.code == "one-of" and violation.where == () else ()
    context.report(
        violation.code,
        violation.message,
        violation.where,
        violation.hint,
        on_key=violation.on_key,
        instead=violation.instead,
        edits=edits,
    )


def _no_stages(context: Context) -> tuple[Edit, ...]:
    """What makes a file without stages a pack to build on: an empty list behind all else."""
    document = context.resolved.documents.get(context.resolved.root.pos.file)
    if document is None:
        return ()
    last = document.lines[-1]
    text = "stages: []\n" if not last else "\nstages: []\n"
    return (Edit(document.path, len(document.lines), len(last) + 1, 0, text),)


def finished(context: Context, asked: frozenset[str] = frozenset()) -> Told:
    """The problems in the order of their places, and those that an `allow` comment silences.

    ``asked`` are codes that were looked for besides those of a check alone.
    """
    return told(context.problems, context.resolved.documents, (REHEARSED | AGAINST | FOR_MODEL) - asked)


def errors(problems: Iterable[Problem]) -> list[Problem]:
    """Those that keep a pack from running."""
    return [problem for problem in problems if problem.severity == ERROR]


def downgraded(problems: Iterable[Problem], *codes: str) -> list[Problem]:
    """The problems with these codes as warnings."""
    return [
        replace(each, severity=WARNING) if each.code in codes and each.severity == ERROR else each
        for each in problems
    ]
