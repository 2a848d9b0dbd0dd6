"""``trimtab restore``: bring an original back."""

from __future__ import annotations

import click

from . import exits


@click.command("restore", short_help="Bring an original back.")
@click.argument("folder", metavar="DIR")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(folder: str, ids: tuple[str, ...], as_json: bool) -> int:
    """Bring the originals of ID (a spot 17:0, or a tool id) of the session in DIR back, for good.

    No stage touches them again, unless the API refuses the request as too long.
    """
    from ..conversation.edits import Rewrite
    from .folder import open_folder

    session = open_folder(folder)
    try:
        commit = session.restore(ids)
    except LookupError as error:
        raise click.ClickException(str(error.args[0])) from None
    edits = [edit for edit in commit.edits if isinstance(edit, Rewrite)]
    spots = list(dict.fromkeys(f"{spot.serial}:{spot.block}" for edit in edits for spot in edit.spots))
    if as_json:
        from ..outputs.as_json import dumps

        click.echo(dumps({"commit": commit.id, "restored": spots}))
    else:
        click.echo(f"restored by commit {commit.id}: {', '.join(spots)}")
    return exits.FINE
