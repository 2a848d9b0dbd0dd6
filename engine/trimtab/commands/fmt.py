"""``trimtab fmt``: packs in one order of keys, with comments and line breaks kept."""

from __future__ import annotations

import click

from . import exits
from .rewriting import as_dict, rewrite, rewriting_options, show


@click.command("fmt", short_help="Write packs in one order of keys.")
@rewriting_options
def command(packs: tuple[str, ...], only_check: bool, show_diff: bool, as_json: bool) -> int:
    """Write packs (files, or folders with a pack.yaml) with the keys of the pack and of its stages in order.

    Comments, quotes, blank lines, block and flow style stay; what a pack says never changes. Files are
    rewritten in place, read-only ones not; with --check or --diff nothing is written, and the exit code is 1 if a
    file would change.
    """
    from ..packs.formatting import formatted

    dry = only_check or show_diff
    done, problems = rewrite(packs, lambda text, name: (formatted(text, name), ()), dry)
    if as_json:
        from ..outputs.as_json import dumps

        click.echo(dumps(as_dict(done, problems)))
    else:
        show(done, problems, dry, show_diff)
    return exits.PROBLEMS if problems or (dry and any(each.changed for each in done)) else exits.FINE
