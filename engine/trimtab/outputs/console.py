"""Where text for people goes: a terminal as wide as it is, anything else a fixed number of columns."""

from __future__ import annotations

import os
import sys
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

PLAIN_WIDTH = 118
"""Columns where there is no terminal and ``COLUMNS`` says nothing: a table of stages fits, on every machine alike."""


def console(stream: IO[str] | None = None) -> Console:
    """A console on ``stream`` (default: stdout); colours only on a terminal and without ``NO_COLOR``."""
    from rich.console import Console

    target = stream or sys.stdout
    columns = os.environ.get("COLUMNS", "")
    width = None if target.isatty() or columns.isdecimal() else PLAIN_WIDTH
    return Console(file=target, width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)
