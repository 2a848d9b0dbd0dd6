"""A progress bar on stderr for anything over a second; shorter work shows nothing, and loads nothing."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

DELAY = 1.0
"""Seconds before the bar appears."""

Step = Callable[[str], None]
"""Called when the next step begins, with what it is."""


@contextmanager
def progress(steps: int, first: str = "starting") -> Generator[Step, None, None]:
    """A bar of ``steps`` steps; nothing is shown where stderr is no terminal."""
    bar = _Bar(steps, first)
    timer = threading.Timer(DELAY, bar.show)
    timer.daemon = True
    timer.start()
    try:
        yield bar.step
    finally:
        timer.cancel()
        bar.hide()


class _Bar:
    """The state of one bar; shown by the timer's thread, moved on by the worker."""

    def __init__(self, steps: int, first: str) -> None:
        self._lock = threading.Lock()
        self._steps, self._at, self._text = steps, 0, first
        self._live: Any = None
        self._task: Any = None
        self._over = False

    def step(self, text: str) -> None:
        with self._lock:
            self._at, self._text = min(self._at + 1, self._steps), text
            if self._live is not None:
                self._live.update(self._task, completed=self._at, description=text)

    def show(self) -> None:
        with self._lock:
            if self._over or not _is_terminal():
                return
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
            )
            self._live = Progress(*columns, console=Console(file=sys.stderr), transient=True)
            self._task = self._live.add_task(self._text, total=self._steps, completed=self._at)
            self._live.start()

    def hide(self) -> None:
        with self._lock:
            self._over = True
            if self._live is not None:
                self._live.stop()
                self._live = None


def _is_terminal() -> bool:
    return bool(sys.stderr is not None and sys.stderr.isatty())
