"""``trimtab packs``: what ships with the engine."""

from __future__ import annotations

import click

from ..packs.load import list_packs
from . import exits


@click.command("packs", short_help="List the packs that ship with the engine.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(as_json: bool) -> int:
    """List the packs that ship with the engine: name, version, description."""
    found = list_packs()
    if as_json:
        from ..outputs.as_json import dumps

        rows = [
            {"name": one.name, "version": one.version, "description": one.description, "path": str(one.path)}
            for one in found
        ]
        click.echo(dumps({"packs": rows}))
        return exits.FINE
    from ..outputs.table import show_table

    show_table(
        ("pack", "version", "description"), [(one.name, one.version, one.description) for one in found]
    )
    return exits.FINE if found else exits.NOTHING_RAN
