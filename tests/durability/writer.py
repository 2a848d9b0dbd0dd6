"""A process that forks writers and kills them where it is told; run as ``python -m tests.durability.writer``.

It takes one JSON object a line, ``{"folder": …, "mode": …, "point": …}``, and answers with one. A writer plays the
whole conversation of ``support`` in ``folder`` and dies of SIGKILL

    line    before it executes the ``point``-th line of the modules that write
    byte    when it has written ``point`` bytes, in the middle of a write if need be
    call    at its ``point``-th call that changes the folder, before the call
    time    ``point`` seconds after it began

The answer says how many steps it had finished, and what it counted.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from tests.durability.support import MESSAGES, STEPS, Lines, opened, take

import trimtab.conversation.lineage
import trimtab.files
import trimtab.journal
import trimtab.revision
import trimtab.session
import trimtab.store
import trimtab.track

WATCHED = frozenset(
    str(module.__file__)
    for module in (
        trimtab.files,
        trimtab.journal,
        trimtab.revision,
        trimtab.session,
        trimtab.store,
        trimtab.track,
    )
)
CALLS = ("open", "write", "ftruncate", "replace", "unlink", "mkdir", "close")

_write = os.write


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("nobody survives that")


class Bytes:
    """Counts what is written to the disk, by ``os.write`` or through a file."""

    def __init__(self, point: int | None) -> None:
        self.count, self.point = 0, point
        fdopen = os.fdopen

        def sink(fd: int, mode: str = "r", *more: Any) -> Any:
            return Sink(fd, self) if mode == "wb" else fdopen(fd, mode, *more)

        for name, function in (("write", self.write), ("fdopen", sink)):
            setattr(os, name, function)

    def write(self, fd: int, data: bytes) -> int:
        left = len(data) if self.point is None else self.point - self.count
        if left < len(data):
            _write(fd, data[:left])
            die()
        self.count += len(data)
        return _write(fd, data)


class Sink:
    """A file opened for writing whose bytes are counted."""

    def __init__(self, fd: int, bytes_: Bytes) -> None:
        self.fd, self.bytes = fd, bytes_

    def __enter__(self) -> Sink:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)

    def write(self, data: bytes) -> int:
        return self.bytes.write(self.fd, data)


class Calls:
    """Counts calls of the functions that reach the disk."""

    def __init__(self, point: int | None) -> None:
        self.count, self.point = 0, point
        for name in CALLS:
            setattr(os, name, self.counted(getattr(os, name)))

    def counted(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            if self.count == self.point:
                die()
            self.count += 1
            return real(*given, **named)

        return call


def play(folder: Path, mode: str, point: int | None, report: int) -> None:
    """The whole conversation; after each step a byte goes to ``report``, at the end what was counted."""
    counter: Lines | Bytes | Calls | None = None
    if mode == "line":
        counter = Lines(WATCHED, point, die)
        sys.settrace(counter)
    elif mode == "byte":
        counter = Bytes(point)
    elif mode == "call":
        counter = Calls(point)
    session = opened(folder)
    for step in STEPS:
        take(session, MESSAGES, step)
        _write(report, b".")
    sys.settrace(None)
    _write(report, str(counter.count if counter else 0).encode())


def fork(folder: Path, mode: str, point: float | None) -> dict[str, Any]:
    """One writer; what became of it."""
    read, write = os.pipe()
    begin = time.perf_counter()
    child = os.fork()
    if not child:
        try:
            os.close(read)
            play(folder, mode, None if point is None else int(point), write)
            os._exit(0)
        finally:
            os._exit(1)
    os.close(write)
    if mode == "time" and point is not None:
        time.sleep(point)
        os.kill(child, signal.SIGKILL)
    said = b""
    while part := os.read(read, 1 << 16):
        said += part
    os.close(read)
    _, status = os.waitpid(child, 0)
    return {
        "done": said.count(b"."),
        "counted": int(said.replace(b".", b"") or 0),
        "killed": os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL,
        "code": os.waitstatus_to_exitcode(status),
        "took": time.perf_counter() - begin,
    }


def main() -> None:
    for line in sys.stdin:
        wish = json.loads(line)
        print(json.dumps(fork(Path(wish["folder"]), wish["mode"], wish["point"])), flush=True)


if __name__ == "__main__":
    main()
