"""``trimtab undo``: leave a commit out from now on."""

from __future__ import annotations

import click

from . import exits


@click.command("undo", short_help="Leave a commit out from now on.")
@click.argument("folder", metavar="DIR")
@click.argument("commit", metavar="COMMIT")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(folder: str, commit: str, as_json: bool) -> int:
    """Leave COMMIT (c7) of the session in DIR out from now on.

    Only recorded here: the next run of the session folds its view without it, checks it and repairs it.
    Nothing is erased.
    """
    from ..outputs.journal import commit_line
    from ..outputs.words import escaped
    from .folder import open_folder

    session = open_folder(folder)
    try:
        undone = session.undo(commit)
    except LookupError as error:
        raise click.ClickException(str(error.args[0])) from None
    if as_json:
        from ..outputs.as_json import dumps

        click.echo(dumps({"undone": undone.id, "stage": undone.stage, "run": undone.run}))
    else:
        click.echo(escaped(f"undone: {commit_line(undone)}"))
        click.echo("the next run shows the originals again; the stage will not touch them")
    return exits.FINE
