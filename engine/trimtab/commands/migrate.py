"""``trimtab migrate``: packs from an older version of the language to this one, comments kept."""

from __future__ import annotations

import click

from . import exits
from .rewriting import as_dict, rewrite, rewriting_options, show


@click.command("migrate", short_help="Bring packs to the newest format.")
@rewriting_options
def command(packs: tuple[str, ...], only_check: bool, show_diff: bool, as_json: bool) -> int:
    """Bring packs (files, or folders with a pack.yaml) to the newest `format` of the language.

    Steps are taken one after another and keep comments; what a step cannot decide is said. Files are rewritten
    in place; with --check or --diff nothing is written, and the exit code is 1 if a file would change. A pack
    of a newer format than this engine reads is a problem: it is never taken back.
    """
    from ..packs import migrating
    from ..packs.gate import FORMAT

    def change(text: str, name: str) -> tuple[str, tuple[str, ...]]:
        found = migrating.migrated(text, name, migrating.MIGRATIONS)
        return found.text, found.remarks

    dry = only_check or show_diff
    done, problems = rewrite(packs, change, dry)
    if as_json:
        from ..outputs.as_json import dumps

        click.echo(dumps({"format": FORMAT, **as_dict(done, problems)}))
    else:
        show(done, problems, dry, show_diff)
        if done and not any(each.changed for each in done):
            click.echo(f"nothing to do: format {FORMAT} is the newest", err=show_diff)
    return exits.PROBLEMS if problems or (dry and any(each.changed for each in done)) else exits.FINE
