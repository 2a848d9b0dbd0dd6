"""``trimtab packs``: the packs that can be named, and where each comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..packs.check import errors
from ..packs.load import Listed, available_packs, unreadable_distributions
from . import exits


@click.command("packs", short_help="List packs and where each comes from.")
@click.argument("folders", metavar="[FOLDER]...", nargs=-1, type=click.Path(exists=True, file_okay=False))
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(folders: tuple[str, ...], as_json: bool) -> int:
    """List packs with name, version, origin and description: those that ship with the engine, those of installed
    distributions (entry points of the group trimtab.packs), and those in FOLDERs or one level below.

    A name means the pack that ships, if there is one; DISTRIBUTION:NAME means that of a distribution in any case. A
    pack is data: nothing of a distribution is imported. Exit code 1: a pack, or a distribution, cannot be used.
    """
    from ..outputs.problems import problem_text

    found = available_packs([Path(folder) for folder in folders])
    broken = unreadable_distributions()
    problems = list(dict.fromkeys([*broken, *(problem for one in found for problem in one.problems)]))
    if as_json:
        from ..outputs.as_json import dumps

        data = {"packs": [_as_dict(one) for one in found]}
        if broken:
            data["problems"] = [problem.to_dict() for problem in broken]
        click.echo(dumps(data))
    else:
        from ..outputs.table import show_table

        show_table(
            ("pack", "version", "from", "description"),
            [(one.name, one.version, one.origin, one.description or _broken(one)) for one in found],
        )
        for problem in problems:
            click.echo(problem_text(problem), err=True)
    return exits.NOTHING_RAN if not found else exits.PROBLEMS if errors(problems) else exits.FINE


def _broken(one: Listed) -> str:
    return "(cannot be used)" if errors(one.problems) else ""


def _as_dict(one: Listed) -> dict[str, Any]:
    fields = {
        "name": one.name,
        "version": one.version,
        "description": one.description,
        "origin": one.origin,
        "path": "" if one.path is None else str(one.path),
    }
    if one.problems:
        fields["problems"] = [problem.to_dict() for problem in one.problems]  # type: ignore[assignment]
    return fields
