"""``trimtab``: the group of all commands. A command's module is imported only when it is called."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from ..outputs.console import SeenEnough
from ..version import __version__

COMMANDS: Mapping[str, str] = {
    "run": "Run a pack on a session file; print the receipt, write the next request.",
    "explain": "Say what `run` would do and why; calls no model, writes nothing.",
    "summarize": "Write one summary; show its prompt, the gate's verdict, what it cost; commits nothing.",
    "context": "Say what fills the window, by category, and how far it is to the thresholds.",
    "check": "Check packs and their templates, offline.",
    "test": "Run the tests of packs; say what was expected, what was found, and why.",
    "show": "Show a pack: settings, limits, stages; --resolved with all it extends.",
    "diff": "Compare two packs: what they say, and what they do to sessions.",
    "packs": "List packs: those that ship, are installed, or lie in a folder.",
    "init": "Begin a pack: itself, its tests, and what CI, hooks and editors need.",
    "fmt": "Write packs in one order of keys; comments and line breaks stay.",
    "migrate": "Bring packs to the newest format of the language; comments stay.",
    "kinds": "List the kinds of stages and their keys.",
    "metrics": "List what conditions and expressions may ask about.",
    "schema": "Print a JSON Schema.",
    "journal": "Show what was decided in a session directory.",
    "undo": "Leave a commit out from now on.",
    "restore": "Bring an original back.",
}
"""Names and lines of help; the modules hold the rest."""


class Lazy(click.Group):
    """A group whose help needs none of its commands."""

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        try:
            return super().make_context(*arguments, **options)
        except BrokenPipeError as error:
            raise SeenEnough from error

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise SeenEnough from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f".{cmd_name}", __package__).command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from ..packs.problems import near_or_all

            raise click.UsageError(f"There is no command '{args[0]}': {near_or_all(args[0], COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="trimtab %(version)s")
def trimtab() -> None:
    """Decide what the next model call of an agent will see: a rule pack is run on its session.

    Exit codes: 0 fine, 1 problems found, 2 wrong usage, 5 nothing ran.
    """
