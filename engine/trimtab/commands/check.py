"""``trimtab check``: packs and their templates, offline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from ..packs.load import Report, check
from ..packs.sources import shipped_packs
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
def command(
    packs: tuple[str, ...],
    form: str,
    as_json: bool,
    strict: bool,
    rehearse: bool | None,
    session: str | None,
) -> int:
    """Check packs (names or paths; default: all that ship): schema, names, types, templates, sense.

    Every problem says where it is, what it means and how to mend it. Calls nothing, needs no network. A comment
    `# trimtab: allow CODE, reason` on its line silences a finding of judgement.
    """
    from ..outputs.progress import progress

    shipped = shipped_packs()
    names = packs or tuple(shipped)
    if not names:
        click.echo("there is no pack to check: name one", err=True)
        return exits.NOTHING_RAN
    reports = []
    with progress(len(names)) as step:
        for name in names:
            step(f"checking {name}")
            report = check(name)
            if rehearse or (rehearse is None and name not in shipped):
                from ..rehearsal import rehearsed

                report = rehearsed(report)
            reports.append(report)
    _show(reports, "json" if as_json else form)
    return _code(reports, strict)


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
