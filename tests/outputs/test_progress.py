"""The progress bar: for long work, on a terminal, and never in the way."""

from __future__ import annotations

import io
import sys
import time

import pytest

from trimtab.outputs import progress as module
from trimtab.outputs.progress import progress


class Terminal(io.StringIO):
    """A text that takes itself for a terminal."""

    def isatty(self) -> bool:
        return True


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress(2) as step:
        step("quick")
    assert sys.stderr.getvalue() == ""  # type: ignore[attr-defined]  # it is the Terminal above


def test_long_work_shows_its_step_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(module, "DELAY", 0.01)
    monkeypatch.setenv("TERM", "xterm")
    with progress(3) as step:
        step("reading a file")
        deadline = time.monotonic() + 5
        while "reading a file" not in terminal.getvalue() and time.monotonic() < deadline:
            time.sleep(0.02)
    assert "reading a file" in terminal.getvalue()


def test_long_work_shows_nothing_where_no_terminal_is(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = io.StringIO()
    monkeypatch.setattr(sys, "stderr", plain)
    monkeypatch.setattr(module, "DELAY", 0.01)
    with progress(1) as step:
        step("reading")
        time.sleep(0.1)
    assert plain.getvalue() == ""
