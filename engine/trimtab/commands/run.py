"""``trimtab run``: a pack on a session file; the receipt, and the next request."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
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

    Nothing is sent anywhere unless --summarizer says so, and SESSION is never changed.
    """
    from ..outputs.progress import progress

    wish = Wish(**options)
    _check_target(wish.session, out)
    with progress(4) as step:
        subject = prepare(wish, step)
        step(f"running {subject.engine.pack.label}")
        session = subject.engine.open_session(wish.folder) if wish.folder else subject.engine.session()
        outcome = session.run(subject.request, wish.event, subject.facts)
        step("writing")
        if out is not None and out != "-":
            write_request(Path(out), outcome.request)
    stream = sys.stderr if out == "-" else sys.stdout
    say_warnings(subject.warnings)
    _show(subject, outcome.receipt, as_json, wish.folder, stream)
    if out == "-":
        from ..formats.anthropic import dumps

        click.echo(dumps(outcome.request))
    elif out is not None and not as_json:
        click.echo(f"written to {out}")
    return exits.receipt_code(outcome.receipt, len(subject.warnings), wish.strict)


def _show(subject: Subject, receipt: Any, as_json: bool, folder: str | None, stream: Any) -> None:
    if as_json:
        from ..outputs.as_json import dumps

        click.echo(dumps({**receipt.as_dict(), "session": subject.about()}), file=stream)
        return
    from ..outputs.console import console
    from ..outputs.receipt import show_receipt

    show_receipt(receipt, console(stream), folder)


def _check_target(session: str, out: str | None) -> None:
    """Before anything is paid for: can the request be written there? Never over the session file."""
    if out is None or out == "-":
        return
    if Path(out).is_dir() or not Path(out).absolute().parent.is_dir():
        raise click.BadParameter(
            f"'{out}' cannot be written: name a file in a folder that exists", param_hint="'--out'"
        )
    if Path(out).exists() and Path(session).exists() and Path(out).samefile(session):
        raise click.BadParameter("is the session file itself; name another one", param_hint="'--out'")


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
