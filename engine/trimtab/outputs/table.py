"""A plain table on stdout."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .console import console
from .words import escaped


def show_table(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str | None = None) -> None:
    """Print rows under column names; the last column takes what room is left, and folds."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    for place, name in enumerate(columns):
        table.add_column(name, no_wrap=place == 0, overflow="fold")
    for row in rows:
        table.add_row(*map(escaped, row))
    out = console()
    if title:
        out.print(title, style="bold")
    out.print(table)
