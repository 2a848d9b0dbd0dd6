"""``trimtab context``: what the window holds, by category, and how far it is to the pack's thresholds."""

from __future__ import annotations

from typing import Any

import click

from . import exits
from .explain import dry_session
from .subject import Wish, prepare, say_warnings, subject_options


@click.command("context", short_help="Say what fills the window.")
@subject_options(
    "pack", "model", "values", "now", "folder", "session_format", "history", json="The account as JSON."
)
def command(as_json: bool, **options: Any) -> int:
    """What the next request of SESSION would hold before any stage runs: tokens by category, and what is free.

    The figure is the one every trigger goes by. With --dir earlier commits count. Nothing is written.
    """
    from ..accounting import account_of
    from ..outputs.progress import progress

    wish = Wish(**options)
    with progress(3) as step:
        subject = prepare(wish, step)
        step("counting")
        account = account_of(dry_session(subject.engine, wish.folder), subject.request, subject.facts)
    say_warnings(subject.warnings)
    if as_json:
        from ..outputs.as_json import dumps

        click.echo(dumps({"context": account, "pack": subject.engine.pack.label, "session": subject.about()}))
    else:
        from ..outputs.console import console
        from ..outputs.context import show_account

        show_account(account, console())
    return exits.FINE
