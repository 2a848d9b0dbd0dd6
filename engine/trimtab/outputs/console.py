"""Where text for people goes: a terminal as wide as it is, anything else a fixed number of columns."""

from __future__ import annotations

import os
import re
import sys
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

PLAIN_WIDTH = 118
"""Columns where there is no terminal and ``COLUMNS`` says nothing: a table of stages fits."""


class SeenEnough(Exception):
    """Who read our output has closed it; click and rich, shown the error itself, would end the process with 1."""


def console(stream: IO[str] | None = None) -> Console:
    """A console on ``stream`` (default: stdout); colours only on a terminal and without ``NO_COLOR``."""
    from rich.console import Console

    target = stream or sys.stdout
    columns = os.environ.get("COLUMNS", "")
    if target.isatty():
        return Console(file=target, highlight=False, markup=False, emoji=False)
    width = int(columns) if columns.isdecimal() and int(columns) else PLAIN_WIDTH
    file: Any = _Trimmed(target)
    return Console(file=file, width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)


class _Trimmed:
    """A stream without the spaces that fill up the lines of a table."""

    def __init__(self, target: IO[str]) -> None:
        self._target = target

    def write(self, text: str) -> int:
        try:
            self._target.write(re.sub(r" +(?=\n|$)", "", text))
        except BrokenPipeError as error:
            raise SeenEnough from error
        return len(text)

    def flush(self) -> None:
        try:
            self._target.flush()
        except BrokenPipeError as error:
            raise SeenEnough from error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)
