"""``trimtab undo``: leave a commit out from now on."""

from __future__ import annotations

import click

from . import exits


@click.command("undo", short_help="Leave a commit out from now on.")
@click.argument("folder", metavar="DIR")
@click.argument("commit", metavar="COMMIT")
@click.option(
    "--with-later", is_flag=True, help="Also leave out what the same run committed on top of COMMIT."
)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(folder: str, commit: str, with_later: bool, as_json: bool) -> int:
    """Leave COMMIT (c7) of the session in DIR out from now on.

    Only recorded here: the next run of the session folds its view without it, checks it and repairs it.
    Nothing is erased. What the same run committed on top of it is named, and stays without --with-later.
    """
    from ..outputs.journal import commit_line, undo_words
    from ..outputs.words import escaped
    from .folder import open_folder

    session = open_folder(folder)
    try:
        later = session.later(commit)
        known = commit in session.track.history.undone
        undone = session.undo(commit, with_later=with_later)
    except LookupError as error:
        raise click.ClickException(str(error.args[0])) from None
    if as_json:
        from ..outputs.as_json import dumps

        on_top = [{"commit": one.id, "stage": one.stage, "undone": with_later} for one in later]
        click.echo(dumps({"undone": undone.id, "stage": undone.stage, "run": undone.run, "later": on_top}))
        return exits.FINE
    for one in (*(() if known else (undone,)), *(later if with_later else ())):
        click.echo(escaped(f"undone: {commit_line(one)}\n  {undo_words(one)}"))
    if later and not with_later:
        click.echo("still in force, though made on top of it in the same run:")
        for one in later:
            click.echo(escaped(f"  {commit_line(one)}"))
        them = "it" if len(later) == 1 else "them"
        click.echo(escaped(f"undo {them} too: trimtab undo {folder} {undone.id} --with-later"))
    return exits.FINE
