"""Findings about single values: patterns, globs with a vocabulary, pointers, folders, facts, templates."""

from __future__ import annotations

import os
import re
from typing import Any

from ..facts import FactError, fact_rules
from ..matching import Globs, PatternError, pattern
from ..templating import TemplateProblem, Text
from ..templating.folders import beginning
from .context import TEMPLATE_CODES, Context
from .names import BUILT_IN_FACTS, HOST_FACTS, REMOVED, SIZES, variables
from .nodes import Where
from .problems import Position, did_you_mean, listed, near_or_all
from .schema import vocabulary
from .sources import shown_path

_FOLDER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.-]*)*\Z")


def patterns_can_be_read(context: Context) -> None:
    for entry in context.of("pattern"):
        try:
            pattern(entry.value)
        except PatternError as error:
            context.report("pattern", error.message, entry.where, error.hint, offset=error.offset)


def globs_can_match(context: Context) -> None:
    """A glob over a closed vocabulary fits one of its words."""
    for role, words in vocabulary().items():
        for entry in context.of(f"glob-{role}"):
            if not any(map(Globs([entry.value]).match, words)):
                context.report(
                    "unknown-value",
                    f"no {role.replace('_', ' ')} is called `{entry.value}`",
                    entry.where,
                    near_or_all(entry.value, words, "there are"),
                )


def folders_stay_inside(context: Context) -> None:
    for entry in context.of("folder"):
        if not _FOLDER.match(entry.value):
            context.report(
                "template-outside",
                f"`{entry.value}` is not the name of a folder inside the store",
                entry.where,
                "write a name such as tool-results",
            )


def tags_are_names(context: Context) -> None:
    for entry in context.of("tag"):
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_.:-]*", entry.value):
            context.report(
                "value",
                f"`{entry.value}` is not the name of a tag",
                entry.where,
                "write the bare name, without < and >",
            )


def facts_can_be_read(context: Context) -> None:
    """Every fact rule compiles; its patterns have been looked at already."""
    for name, raw in context.section("facts").items():
        if name in BUILT_IN_FACTS or not context.is_sound(("facts", name)):
            continue
        try:
            fact_rules({name: raw})
        except FactError as error:
            where = ("facts", *error.where)
            if all(each.where != where for each in context.of("pattern")) or "group" in error.message:
                context.report("value", error.message, where, error.hint)


# ------------------------------------------------------------------------------------------- templates


def templates_can_be_used(context: Context) -> None:
    """Templates exist, are read by the sandbox, and use variables their stage has."""
    for entry in context.of("template", "text"):
        stage = context.stage_at(entry.where)
        try:
            if entry.role == "template":
                text = context.renderer.template(entry.value)
            else:
                text = context.inline(entry.where, entry.value)
        except TemplateProblem as error:
            _template_problem(context, entry.role, entry.value, entry.where, error)
            continue
        if stage is not None and not (stage.kind == "server_edits" and entry.role == "text"):
            known = variables(stage.kind, entry.where[len(stage.where) :])
            _variables(context, text, entry.role, entry.where, known, stage.kind)


def _template_problem(context: Context, role: str, value: str, where: Where, error: TemplateProblem) -> None:
    code = TEMPLATE_CODES.get(error.code, "template-syntax")
    if role == "template" and code == "template-syntax":
        place = _in_file(context, error.file, error.line)
        if place is not None:
            way_out = error.hint or _syntax_hint(error.message)
            _report_in_file(context, place, where, code, error.message, way_out)
            return
    pos = context.resolved.where(where)
    line = error.line - context.lines_before(where)
    if role == "text" and (pos.block or (line > 1 and pos.width == 1)):
        pos = _word((pos.down(line), context.resolved.source(pos.down(line))), "")[0]
    hint = error.hint or (_syntax_hint(error.message) if code == "template-syntax" else None)
    context.report(code, error.message, pos, hint, blame=where)


def _syntax_hint(message: str) -> str:
    if "end of template" in message or "endif" in message or "endfor" in message:
        return "close every {% if %} with {% endif %} and every {% for %} with {% endfor %}"
    return "variables stand in {{ }}, tests and loops in {% %}"


def _in_file(context: Context, name: str, line: int) -> tuple[Position, str] | None:
    """The place in a template file, and that line."""
    for folder in context.resolved.folders:
        path = folder / name
        if os.path.isfile(path):
            lines = beginning(path).split("\n")
            shown = lines[line - 1] if 0 < line <= len(lines) else ""
            return Position(shown_path(path), line, 1, max(1, len(shown))), shown
    return None


def _report_in_file(
    context: Context, place: tuple[Position, str], where: Where, code: str, message: str, hint: str | None
) -> None:
    context.report(code, message, place[0], hint, source=place[1], blame=where)


def _variables(
    context: Context, text: Text, role: str, where: Where, known: frozenset[str], kind: str
) -> None:
    # A shared template serves packs with other settings, limits and facts than this one.
    own = role == "text" or not _is_shared(context, entry_name=text.source_name)
    for path in sorted(text.paths):
        head, _, rest = path.partition(".")
        field = rest.partition(".")[0]
        problem = _variable(context, head, field, known, kind, own)
        if problem is None:
            continue
        message, hint = problem
        line = text.line_of(path)
        if role == "template":
            place = _in_file(context, text.source_name, line)
            if place is not None:
                _report_in_file(context, _word(place, path), where, "template-variable", message, hint)
                continue
        pos = context.resolved.where(where)
        line -= context.lines_before(where)
        if not pos.block and line <= 1:
            at = text.source.find(path)
            context.report(
                "template-variable",
                message,
                pos,
                hint,
                offset=max(0, at),
                width=len(path),
                blame=where,
            )
        else:
            source = context.resolved.source(pos.down(line))
            place = _word((pos.down(line), source), path)
            context.report("template-variable", message, place[0], hint, blame=where)


def _is_shared(context: Context, entry_name: str) -> bool:
    """Whether the file comes from the last folder, the one all packs share."""
    return not any(os.path.isfile(folder / entry_name) for folder in context.resolved.folders[:-1])


def _word(place: tuple[Position, str], word: str) -> tuple[Position, str]:
    pos, source = place
    at = source.find(word) if word else len(source) - len(source.lstrip())
    return (Position(pos.file, pos.line, at + 1, max(1, len(word))), source) if at >= 0 else place


def _variable(
    context: Context, head: str, field: str, known: frozenset[str], kind: str, own: bool
) -> tuple[str, str] | None:
    """What is wrong with a variable, or None."""
    if head not in known:
        return f"a {kind} stage gives its template no variable `{head}`", near_or_all(
            head, sorted(known), "it has"
        )
    if not field:
        return None
    fields: Any = None
    if not own and head in ("limits", "settings", "facts"):
        return None
    if head == "limits":
        fields = context.section("limits")
    elif head == "settings":
        fields = context.section("settings")
    elif head == "facts":
        fields = BUILT_IN_FACTS | HOST_FACTS | set(context.section("facts"))
    elif head in ("size", "elided") and kind == "replace":
        fields = SIZES
    elif head == "removed" and kind == "drop":
        fields = REMOVED
    if fields is None or field in fields:
        return None
    return f"`{head}` has no `{field}`", did_you_mean(field, fields) or f"it has {listed(sorted(fields))}"
