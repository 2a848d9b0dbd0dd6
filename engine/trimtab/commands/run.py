"""``trimtab run``: a pack on a session file; the receipt, and the next request."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from . import exits
from .subject import Subject, Wish, prepare, say_warnings, subject_options


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
    _check_target(wish, out)
    with progress(5) as step:
        subject = prepare(wish, step)
        if out is not None:
            _check_json(subject.request)
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


def _check_target(wish: Wish, out: str | None) -> None:
    """Before anything is paid for: can the request be written there? Never over what it is made from."""
    if out == "-" and sys.__stdout__ is None:
        raise click.BadParameter("standard output is closed; name a file", param_hint="'--out'")
    if out is None or out == "-":
        return
    if Path(out).is_dir() or not Path(out).absolute().parent.is_dir():
        raise click.BadParameter(
            f"'{out}' cannot be written: name a file in a folder that exists", param_hint="'--out'"
        )
    if _is_same(out, wish.session):
        raise click.BadParameter("is the session file itself; name another one", param_hint="'--out'")
    if wish.folder is not None and _is_inside(out, wish.folder):
        raise click.BadParameter(
            f"'{out}' lies in the session directory, which is the journal's; name a file elsewhere",
            param_hint="'--out'",
        )


def _is_same(one: str, other: str) -> bool:
    return Path(one).exists() and Path(other).exists() and Path(one).samefile(other)


def _is_inside(out: str, folder: str) -> bool:
    """Whether the file would be one of the folder's, by whatever name: links are followed."""
    root = Path(folder).resolve()
    target = Path(out).resolve()
    folders = (target, *target.parents)
    if root in folders or any(_is_same(str(each), str(root)) for each in folders):
        return True
    return root.is_dir() and any(_is_same(out, str(each)) for each in root.rglob("*") if each.is_file())


def _check_json(request: Any) -> None:
    """Before anything is paid for: a request with NaN in it cannot be written. Raises click.ClickException."""
    from ..formats.anthropic import dumps

    try:
        dumps(request)
    except ValueError as error:
        raise click.ClickException(f"the request cannot be written: {error}") from None


def write_request(path: Path, request: Any) -> None:
    """Write the request for the owner alone (0600), whole or not at all. Raises OSError."""
    from ..formats.anthropic import dumps

    data = (dumps(request) + "\n").encode("ascii")
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        path.write_bytes(data)
        return
    path = path.resolve()
    handle, aside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(aside).replace(path)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise
