"""The command line: one command a module, imported when it is called."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and end the process with its exit code (``exits``)."""
    # One command a process: collecting while modules load only costs time, a tenth of a check.
    gc.set_threshold(100_000, 20, 20)
    sys.exit(invoke(arguments))


def invoke(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; what went wrong stands on stderr in words."""
    import click

    from . import exits
    from .group import trimtab

    for stream in (sys.stdout, sys.stderr):
        # A session may hold characters that the terminal's encoding lacks: shown as `?`, never an error.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        code = trimtab.main(
            args=None if arguments is None else list(arguments),
            prog_name="trimtab",
            standalone_mode=False,
            color=False if os.environ.get("NO_COLOR") else None,
        )
        sys.stdout.flush()
    except click.UsageError as error:
        error.show()
        return exits.USAGE
    except click.ClickException as error:
        error.show()
        return exits.PROBLEMS
    except (click.Abort, KeyboardInterrupt):
        click.echo("trimtab: interrupted", err=True)
        return exits.PROBLEMS
    except BrokenPipeError:
        # The reader has seen enough (`| head`). What is still buffered must not raise at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exits.FINE
    except Exception as error:
        # Errors with a meaning become words; any other is a bug of ours, and its traceback is of use.
        failure = exits.failure_of(error)
        if failure is None:
            raise
        click.echo(failure.message if failure.plain else f"trimtab: {failure.message}", err=True)
        if failure.hint:
            click.echo(f"  hint: {failure.hint}", err=True)
        return failure.code
    return code if isinstance(code, int) else exits.FINE
