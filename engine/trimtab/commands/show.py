"""``trimtab show``: a pack at a glance, or resolved with the place of every value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from ..packs.load import check
from ..packs.problems import PackError
from . import exits


@click.command("show", short_help="Show a pack.")
@click.argument("pack", metavar="[PACK]", default="claude-code")
@click.option(
    "--resolved",
    is_flag=True,
    help="The whole pack as YAML, `extends` worked in, with the place of each value.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="The resolved pack as JSON; with --resolved, the place of each value beside it.",
)
def command(pack: str, resolved: bool, as_json: bool) -> int:
    """Show PACK (a name or a path; default claude-code): settings, limits, tools, and its stages in order."""
    report = check(pack)
    if report.resolved is None:
        raise PackError(report.problems)
    if as_json:
        from ..outputs.as_json import dumps
        from ..packs.show import in_order, places

        data = in_order(report.resolved.data)
        click.echo(dumps({"pack": data, "places": places(report.resolved)} if resolved else data))
    elif resolved:
        from ..outputs.words import escaped
        from ..packs.show import resolved_yaml

        # An escape reads back as its character: only texts in double quotes hold any.
        click.echo(escaped(resolved_yaml(report.resolved)), nl=False)
    else:
        _summary(report.resolved.data, report.resolved.name)
    if report.ok:
        return exits.FINE
    from ..outputs.problems import problem_text

    for problem in report.problems:
        click.echo(problem_text(problem), err=True)
    return exits.PROBLEMS


def _summary(data: Mapping[str, Any], path: str) -> None:
    from ..outputs.table import show_table
    from ..outputs.words import escaped, value_text

    head = f"{data.get('name')}@{data.get('version')}  ({path})\n{data.get('description', '')}\n"
    click.echo(escaped(head))
    for section in ("settings", "limits", "tools"):
        values = data.get(section)
        if isinstance(values, Mapping) and values:
            show_table((section, ""), [(name, value_text(value)) for name, value in values.items()])
            click.echo()
    rows = []
    for stage in data.get("stages", ()):
        rows.append(_row(stage, ""))
        rows += [_row(child, "  ") for child in stage.get("stages", ()) if isinstance(child, Mapping)]
    show_table(("stage", "kind", "events", "when"), rows)


def _row(stage: Mapping[str, Any], lead: str) -> tuple[str, str, str, str]:
    from ..packs.show import flow
    from ..policy.stage import DEFAULT_EVENTS

    at = stage.get("at")
    events = "" if lead else ", ".join(DEFAULT_EVENTS if at is None else at)
    conditions = (
        [f"{event}: {flow(inner)}" for event, inner in at.items() if inner] if isinstance(at, Mapping) else []
    )
    if "when" in stage:
        conditions.append(flow(stage["when"]))
    off = " (off)" if stage.get("enabled") is False else ""
    return f"{lead}{stage.get('id')}{off}", str(stage.get("kind")), events, "; ".join(conditions)
