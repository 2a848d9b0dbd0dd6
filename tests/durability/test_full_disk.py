"""A disk that is full, or may not be written, at any moment: nothing is lost, and the next run is fine."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from tests.durability.support import (
    MESSAGES,
    STEPS,
    Undisturbed,
    check_folder,
    opened,
    results_of,
    stored_files,
    take,
)

from trimtab import commands


def full(*_: object, **__: object) -> Any:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_every_write_of_the_journal_may_fail_once(
    tmp_path: Path, whole: Undisturbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "session"
    session = opened(folder)
    path = folder / "journal.jsonl"
    real = os.write
    taken = cycle([0, 1, 30, 80, 1 << 20])
    for step, expected in zip(STEPS, whole.bodies, strict=True):
        before = path.read_bytes()
        size = next(taken)
        with monkeypatch.context() as patch:
            # One less than all at most: a write that takes all is none that fails.
            patch.setattr(
                os, "write", lambda fd, data, size=size: real(fd, data[:size][:-1]) if size else full()
            )
            with pytest.raises(OSError, match="nothing of this run was recorded"):
                take(session, MESSAGES, step)
        assert path.read_bytes() == before
        assert take(session, MESSAGES, step) == expected
    check_folder(folder, results_of(MESSAGES))
    assert path.read_bytes() == whole.journal, "what failed has left no trace"
    assert stored_files(folder) == whole.files


class Sink:
    """A file that takes a few bytes and then no more."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def __enter__(self) -> Sink:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)

    def write(self, data: bytes) -> None:
        os.write(self.fd, data[:20])
        full()


def faults() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Ways in which the store cannot write, one after the other."""
    fdopen, open_ = os.fdopen, os.open

    def sink(fd: int, mode: str = "r", *more: Any) -> Any:
        return Sink(fd) if mode == "wb" else fdopen(fd, mode, *more)

    def no_file(path: Any, flags: int, *more: Any, **named: Any) -> int:
        return full() if flags & os.O_EXCL else open_(path, flags, *more, **named)

    yield from cycle([("fdopen", sink), ("open", no_file), ("replace", full), ("mkdir", full)])


def test_every_write_of_the_store_may_fail_once(
    tmp_path: Path, whole: Undisturbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "session"
    session = opened(folder)
    failed = 0
    for (name, fault), step, expected in zip(faults(), STEPS, whole.bodies, strict=False):
        if not step.event:
            take(session, MESSAGES, step)
            continue
        with monkeypatch.context() as patch:
            patch.setattr(os, name, fault)
            said = take(session, MESSAGES, step)
        failed += said != expected
        assert not list(folder.rglob(".*")), "a half written file is left"
        assert take(session, MESSAGES, step) == expected, step
    assert failed > 2, "the faults met no write"
    check_folder(folder, results_of(MESSAGES))
    results = {name: text for name, text in whole.files.items() if name.startswith("results/")}
    assert {k: v for k, v in stored_files(folder).items() if k.startswith("results/")} == results


def test_a_session_that_may_not_be_written_is_refused_by_name_and_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "session"
    session = opened(folder)
    for step in STEPS[:9]:
        take(session, MESSAGES, step)
    before = (folder / "journal.jsonl").read_bytes()
    real = os.open

    def read_only(path: Any, flags: int, *more: Any, **named: Any) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        return real(path, flags, *more, **named)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", read_only)
        with pytest.raises(OSError, match=r"Read-only.*journal\.jsonl"):
            opened(folder)
        assert commands.invoke(["journal", str(folder)]) == 0, "it can still be looked at"
        assert commands.invoke(["undo", str(folder), "c1"]) == 1
        assert "journal.jsonl" in capsys.readouterr().err
    assert (folder / "journal.jsonl").read_bytes() == before
    take(opened(folder), MESSAGES, STEPS[9])


NEWER = {
    "format": (b'{"t":"journal","format":2,"engine":"3.0.0"}\n', "format 2"),
    "record": (b'{"t":"journal","format":1,"engine":"0.9.0","more":true}\n{"t":"dream"}\n', "0.9.0 or newer"),
    "damaged": (b'{"t":"run","n":}\n', "put back a copy"),
    "no journal": (b'{"t":"undo","id":7}\n', "damaged"),
}


@pytest.mark.parametrize("kind", NEWER)
def test_a_journal_this_engine_cannot_read_is_refused_everywhere_and_left_alone(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "session"
    session = opened(folder)
    for step in STEPS[:9]:
        take(session, MESSAGES, step)
    more, says = NEWER[kind]
    path = folder / "journal.jsonl"
    path.write_bytes(path.read_bytes() + more)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=says):
        opened(folder)
    for command in (["journal"], ["undo", "c1"], ["restore", "3:0"]):
        assert commands.invoke([command[0], str(folder), *command[1:]]) == 1
        assert says in capsys.readouterr().err
    assert path.read_bytes() == before
    # A session that is open already is told so too, and loses nothing.
    with pytest.raises(ValueError, match=says):
        take(session, MESSAGES, STEPS[9])
    assert path.read_bytes() == before
