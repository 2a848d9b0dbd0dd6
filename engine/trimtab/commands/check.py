"""``trimtab check``: packs and their templates, offline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from ..packs.load import Report, check
from ..packs.sources import shipped_packs, to_look_at
from . import exits

FORMATS = ("text", "json", "github", "sarif")


@click.command("check", short_help="Check packs and their templates.")
@click.argument("packs", metavar="[PACK]...", nargs=-1)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="github: annotations of a workflow; sarif: version 2.1.0.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--strict", is_flag=True, help="Exit 1 on warnings too.")
@click.option(
    "--rehearse/--no-rehearse",
    default=None,
    help="Play each pack on a made-up session to see whether it settles (default: packs that do not ship).",
)
@click.option(
    "--against",
    "session",
    metavar="SESSION",
    help="Hold the names of tools against those of a session file.",
)
@click.option("--model", metavar="MODEL", help="Hold stages against what this model and its API can do.")
@click.option("--fix", is_flag=True, help="Mend in the files what can only have been meant otherwise.")
@click.option("--diff", "show_diff", is_flag=True, help="With --fix: show what would change; write nothing.")
def command(
    packs: tuple[str, ...],
    form: str,
    as_json: bool,
    strict: bool,
    rehearse: bool | None,
    session: str | None,
    model: str | None,
    fix: bool,
    show_diff: bool,
) -> int:
    """Check packs: schema, names, types, templates, sense.

    PACK is a name or path, or a folder with packs in it; default: the pack here, else all that ship.

    Every problem says where it is, what it means and how to mend it. Calls nothing, needs no network. A comment
    `# trimtab: allow CODE, reason` on its line silences a finding of judgement.
    """
    from ..outputs.progress import progress

    if fix or show_diff:
        code = _fix(packs, fix, show_diff)
        if code is not None:
            return code
    shipped = shipped_packs()
    names = to_look_at(packs)
    if not names:
        click.echo("there is no pack to check: name one", err=True)
        return exits.NOTHING_RAN
    tools = _tools(session) if session is not None else None
    reports = []
    with progress(len(names)) as step:
        for name in names:
            step(f"checking {name}")
            report = check(name)
            if rehearse or (rehearse is None and name not in shipped):
                from ..rehearsal import rehearsed

                report = rehearsed(report)
            if tools is not None:
                report = _held_against(report, tools)
            if model is not None:
                report = _for_model(report, model)
            reports.append(report)
    _show(reports, "json" if as_json else form)
    return _code(reports, strict)


def _tools(session: str) -> frozenset[str]:
    """The tools a session file offers or calls. Raises Unreadable."""
    from ..conversation.items import blocks_of
    from ..readers import read

    request = read(session).history
    called = (block for message in request.messages for block in blocks_of(message))
    names = [block.get("name") for block in (*called, *(request.tools or ())) if block.get("name")]
    return frozenset(map(str, names))


def _held_against(report: Report, tools: frozenset[str]) -> Report:
    from ..packs.catalogue import AGAINST
    from ..packs.check_tools import tools_are_those_of
    from ..packs.load import completed

    if report.context is not None:
        tools_are_those_of(report.context, tools)
    return completed(report, (), AGAINST)


def _for_model(report: Report, model: str) -> Report:
    from ..packs.catalogue import FOR_MODEL
    from ..packs.check_model import model_can
    from ..packs.load import completed

    if report.context is not None:
        model_can(report.context, model)
    return completed(report, (), FOR_MODEL)


def _fix(packs: Sequence[str], fix: bool, show_diff: bool) -> int | None:
    """Mend the files; the exit code if that is all there is to do. Raises click.UsageError."""
    from ..packs.fixing import fixed
    from .rewriting import rewrite, show, told

    if not fix:
        raise click.UsageError("--diff goes with --fix")
    if not packs:
        raise click.UsageError("--fix needs the name of a file, or of a folder that holds pack.yaml")
    done, problems = rewrite(packs, fixed, show_diff)
    if not show_diff:
        told(done, "fixed")
        if not problems and not any(each.changed for each in done):
            click.echo("fixed: nothing; whatever is wrong can be mended in more than one way", err=True)
        return None  # what cannot be read is told once more by the check
    show(done, problems, True, True)
    return exits.PROBLEMS if problems or any(each.changed for each in done) else exits.FINE


def _show(reports: Sequence[Report], form: str) -> None:
    from ..outputs.problems import as_dict, problem_text, summary

    problems = [problem for report in reports for problem in report.problems]
    if form in ("json", "sarif"):
        from ..outputs.as_json import dumps

        found: Any = as_dict(reports)
        if form == "sarif":
            from ..outputs.sarif import as_sarif

            found = as_sarif(reports)
        click.echo(dumps(found))
        return
    if form == "github":
        from ..outputs.github import all_annotations

        click.echo(all_annotations(problems), nl=bool(problems))
    else:
        for problem in problems:
            click.echo(problem_text(problem) + "\n")
    click.echo(summary(reports))


def _code(reports: Sequence[Report], strict: bool) -> int:
    bad = ("error", "warning") if strict else ("error",)
    found = any(problem.severity in bad for report in reports for problem in report.problems)
    return exits.PROBLEMS if found else exits.FINE
