"""``trimtab run``: a pack on a session file; the receipt, and the next request."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from . import exits
from .subject import Subject, Wish, prepare, say_warnings, subject_options
from .target import check_json, check_target, lacks, write_request


@click.command("run", short_help="Run a pack on a session file.")
@subject_options()
@click.option(
    "--out", metavar="FILE", help="Write the next request as JSON; - is stdout (the receipt goes to stderr)."
)
def command(as_json: bool, out: str | None, **options: Any) -> int:
    """Run a pack on SESSION (its format is detected), print the receipt, write the next request.

    Nothing is sent anywhere unless --summarizer says so, and SESSION is never changed. Notes that the pack wants
    written in the background are written before the command ends.
    """
    from ..outputs.progress import progress
    from ..outputs.words import escaped

    wish = Wish(**options)
    check_target(wish, out)
    with progress(5) as step:
        subject = prepare(wish, step)
        if out is not None:
            check_json(subject.request)
        step(f"running {subject.engine.pack.label}")
        session = (
            subject.engine.open_session(wish.folder) if wish.folder is not None else subject.engine.session()
        )
        outcome = session.run(subject.request, wish.event, subject.facts)
        step("writing")
        if out is not None and out != "-":
            write_request(Path(out), outcome.request)
        receipt = _with_jobs(session, subject, outcome, step)
    stream = sys.stderr if out == "-" else sys.stdout
    say_warnings(subject.warnings)
    _show(subject, receipt, as_json, wish.folder, stream)
    if out == "-":
        from ..formats.anthropic import dumps

        click.echo(dumps(outcome.request))
    elif out is not None and not as_json:
        click.echo(escaped(f"written to {out}"))
    for missing in lacks(outcome.request, receipt, wish.folder) if out is not None else ():
        click.echo(f"note: {missing}", err=True)
    return exits.receipt_code(receipt, len(subject.warnings), wish.strict)


def _with_jobs(session: Any, subject: Subject, outcome: Any, step: Callable[[str], None]) -> Any:
    """The receipt with what became of the background jobs; they are run here: nobody does it later."""
    if not outcome.jobs:
        return outcome.receipt
    for job in outcome.jobs:
        step(f"writing the notes of {job.stage}")
        job.run()
    ended = session.adopt(subject.request, subject.facts)
    return replace(outcome.receipt, jobs=(*outcome.receipt.jobs, *ended))


def _show(subject: Subject, receipt: Any, as_json: bool, folder: str | None, stream: Any) -> None:
    if as_json:
        from ..outputs.as_json import dumps

        click.echo(dumps({**receipt.as_dict(), "session": subject.about()}), file=stream)
        return
    from ..outputs.console import console
    from ..outputs.receipt import show_receipt

    show_receipt(receipt, console(stream), folder)
