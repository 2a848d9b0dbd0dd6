"""The command line: one command a module, imported when it is called."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and end the process with its exit code (``exits``)."""
    # One command a process: collecting while modules load only costs time, a tenth of a check.
    gc.set_threshold(100_000, 20, 20)
    sys.exit(invoke(arguments))


def invoke(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; what went wrong stands on stderr in words."""
    _open_streams()
    import click

    from ..outputs.console import SeenEnough
    from ..outputs.words import escaped
    from . import exits
    from .group import trimtab

    for stream in (sys.stdout, sys.stderr):
        # A session may hold characters that the terminal's encoding lacks: shown as `?`, never an error.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    colour = False if os.environ.get("NO_COLOR") else None
    try:
        code = trimtab.main(
            args=None if arguments is None else list(arguments),
            prog_name="trimtab",
            standalone_mode=False,
            color=colour,
        )
        sys.stdout.flush()
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        _tell(click.echo, escaped(shown.getvalue()), err=True, nl=False)
        return exits.USAGE if isinstance(error, click.UsageError) else exits.PROBLEMS
    except (click.Abort, KeyboardInterrupt):
        _tell(click.echo, "trimtab: interrupted", err=True)
        return exits.PROBLEMS
    except (SeenEnough, BrokenPipeError):
        _silence()
        return exits.FINE
    except Exception as error:
        # Errors with a meaning become words; any other is a bug of ours, and its traceback is of use.
        failure = exits.failure_of(error)
        if failure is None:
            raise
        hint = f"\n  hint: {failure.hint}" if failure.hint else ""
        text = failure.message if failure.plain else escaped(f"trimtab: {failure.message}{hint}")
        _tell(click.echo, text, err=True, color=colour)
        return failure.code
    return code if isinstance(code, int) else exits.FINE


def _open_streams() -> None:
    """A stream the caller has closed is None in Python: what would be written there goes nowhere instead."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  # open to the end


def _tell(say: Callable[..., None], *arguments: Any, **options: Any) -> None:
    """Say what went wrong, if anybody still listens."""
    try:
        say(*arguments, **options)
    except BrokenPipeError:
        _silence()


def _silence() -> None:
    """The reader has seen enough (`| head`): what is still buffered must not raise at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
