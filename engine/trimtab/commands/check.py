"""``trimtab check``: packs and their templates, offline."""

from __future__ import annotations

import click

from ..packs.load import Report, check
from ..packs.sources import shipped_packs
from . import exits


@click.command("check", short_help="Check packs and their templates.")
@click.argument("packs", metavar="[PACK]...", nargs=-1)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--strict", is_flag=True, help="Exit 1 on warnings too.")
def command(packs: tuple[str, ...], form: str, as_json: bool, strict: bool) -> int:
    """Check packs (names or paths; default: all that ship): schema, names, types, templates, sense.

    Every problem says where it is, what it means and how to mend it. Calls nothing, needs no network.
    """
    from ..outputs.problems import as_dict, problem_text, summary
    from ..outputs.progress import progress

    names = packs or tuple(shipped_packs())
    if not names:
        click.echo("there is no pack to check: name one", err=True)
        return exits.NOTHING_RAN
    reports = []
    with progress(len(names)) as step:
        for name in names:
            step(f"checking {name}")
            reports.append(check(name))
    if as_json or form == "json":
        from ..outputs.as_json import dumps

        click.echo(dumps(as_dict(reports)))
    else:
        for report in reports:
            for problem in report.problems:
                click.echo(problem_text(problem) + "\n")
        click.echo(summary(reports))
    return _code(reports, strict)


def _code(reports: list[Report], strict: bool) -> int:
    bad = ("error", "warning") if strict else ("error",)
    found = any(problem.severity in bad for report in reports for problem in report.problems)
    return exits.PROBLEMS if found else exits.FINE
