"""``trimtab journal``: what was decided in a session directory."""

from __future__ import annotations

import click

from . import exits


@click.command("journal", short_help="Show what was decided in a session directory.")
@click.argument("folder", metavar="DIR")
@click.option("--json", "as_json", is_flag=True, help="Every record as it is written.")
def command(folder: str, as_json: bool) -> int:
    """Show the journal of the session in DIR: runs, commits with what they changed, what was undone."""
    from ..journal import DiskJournal

    with DiskJournal.read(folder) as journal:
        records = journal.records()
        path = str(journal.path)
    if as_json:
        from ..outputs.as_json import dumps
        from ..records import encode

        click.echo(dumps({"journal": path, "records": [encode(record) for record in records]}))
        return exits.FINE
    from ..outputs.journal import lines
    from ..outputs.words import escaped

    for line in lines(records):
        click.echo(escaped(line))
    if not records:
        click.echo(f"{path}: no run yet")
    return exits.FINE
