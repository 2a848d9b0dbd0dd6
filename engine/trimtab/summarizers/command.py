"""A summarizer that is any program: the question on its standard input, the answer on its standard output."""

from __future__ import annotations

import asyncio
import contextlib
import os
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Sequence
from pathlib import Path

from ..effects import AskFailed, Question, Reply
from .base import plain_text, refuse_compaction, too_late

TIMEOUT = 600.0
"""Seconds a program may take where the stage sets no ``timeout_seconds``: one that hangs ends the run no more."""
MAX_OUTPUT = 10_000_000
"""Bytes a program may write: more than any window holds, and little enough to be kept in memory."""
CHUNK = 1 << 16
STDERR_TAIL = 500
"""Characters of a failed program's last words in the message."""


class CommandSummarizer:
    """Runs ``command`` (a text is split as a shell would, without being given to one) for each question.

    It reads UTF-8 from standard input and writes the summary to standard output; the environment has
    ``TRIMTAB_MODEL`` and, where the stage sets it, ``TRIMTAB_MAX_OUTPUT`` (tokens). It runs in a
    process group of its own, which is killed when the time is up (``TIMEOUT`` where the stage sets none),
    when it writes over ``MAX_OUTPUT``, when the run is cancelled or the interpreter ends. Raises
    ValueError for an empty or badly quoted command.
    """

    def __init__(self, command: str | Sequence[str]) -> None:
        self.command = shlex.split(command) if isinstance(command, str) else list(command)
        if not self.command:
            raise ValueError("the summarizer's command is empty; `command:PROGRAM ARGUMENT…` is expected")
        self._running: set[int] = set()
        weakref.finalize(self, _kill_all, self._running)

    def unusable(self) -> str | None:
        """Why the program cannot be started, None if it can."""
        program = self.command[0]
        if shutil.which(program) is not None:
            return None
        if Path(program).is_file() and os.path.dirname(program):
            return f"'{program}' is no program: it is not executable"
        where = "there" if os.path.dirname(program) else "on the PATH"
        return f"the program '{program}' was not found {where}"

    def answer(self, question: Question) -> Reply:
        refuse_compaction(question)
        try:
            process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                env=_environment(question),
            )
        except (OSError, ValueError) as problem:
            raise self._missing(problem) from problem
        self._running.add(process.pid)
        try:
            out, err = _talk(process, _input(question), _seconds(question))
        except BaseException as problem:  # whatever ends the wait, an interrupt too, ends the program
            _kill(process.pid)
            process.wait()
            if isinstance(problem, subprocess.TimeoutExpired):
                raise too_late(_seconds(question)) from None
            raise
        finally:
            self._running.discard(process.pid)
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
        return self._reply(process.returncode, out, err, question)

    async def aanswer(self, question: Question) -> Reply:
        refuse_compaction(question)
        try:
            process = await asyncio.create_subprocess_exec(
                *self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                env=_environment(question),
            )
        except (OSError, ValueError) as problem:
            raise self._missing(problem) from problem
        self._running.add(process.pid)
        try:
            async with asyncio.timeout(_seconds(question)):
                out, err = await _atalk(process, _input(question))
        except BaseException as problem:  # the same, and cancelling
            _kill(process.pid)
            await process.wait()
            if isinstance(problem, TimeoutError):
                raise too_late(_seconds(question)) from None
            raise
        finally:
            self._running.discard(process.pid)
        return self._reply(process.returncode, out, err, question)

    def _reply(self, code: int | None, out: bytes, err: bytes, question: Question) -> Reply:
        if len(out) > MAX_OUTPUT:
            raise AskFailed("error", f"{self.command[0]} wrote more than {MAX_OUTPUT:,} bytes")
        if code:
            said = err.decode("utf-8", "replace").strip()[-STDERR_TAIL:]
            ended = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
            raise AskFailed("error", f"{self.command[0]} {ended}" + (f": {said}" if said else ""))
        return Reply(out.decode("utf-8", "replace").strip("\r\n"), model=question.model)

    def _missing(self, problem: Exception) -> AskFailed:
        return AskFailed("unavailable", f"{self.command[0]} cannot be started: {problem}")


def _seconds(question: Question) -> float:
    return TIMEOUT if question.timeout is None else question.timeout


def _talk(process: subprocess.Popen[bytes], data: bytes, seconds: float) -> tuple[bytes, bytes]:
    """Feed a program and hear it out: all it writes up to a little over ``MAX_OUTPUT``, where it is killed, and
    the end of its last words. Raises subprocess.TimeoutExpired.
    """
    if sys.platform == "win32":  # no select on pipes: the cap is looked at only when the program has ended
        return process.communicate(data, seconds)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    until = time.monotonic() + seconds
    out, err = bytearray(), bytearray()
    rest = memoryview(data)
    os.set_blocking(process.stdin.fileno(), False)
    with selectors.DefaultSelector() as pipes:
        pipes.register(process.stdin, selectors.EVENT_WRITE)
        pipes.register(process.stdout, selectors.EVENT_READ, out)
        pipes.register(process.stderr, selectors.EVENT_READ, err)
        while pipes.get_map():
            left = until - time.monotonic()
            if left <= 0:
                raise subprocess.TimeoutExpired(process.args, seconds)
            for pipe, _ in pipes.select(left):
                if pipe.data is None:
                    rest = _fed(pipe.fd, rest)
                    if not rest:
                        pipes.unregister(pipe.fileobj)
                        process.stdin.close()
                    continue
                said = os.read(pipe.fd, CHUNK)
                if not said:
                    pipes.unregister(pipe.fileobj)
                pipe.data.extend(said)
                del err[: -4 * STDERR_TAIL]
            if len(out) > MAX_OUTPUT:
                _kill(process.pid)
                break
    process.wait(max(0.0, until - time.monotonic()))
    return bytes(out), bytes(err)


def _fed(pipe: int, rest: memoryview) -> memoryview:
    """What is left of the question after as much as the pipe takes; nothing if the program reads no more."""
    try:
        return rest[os.write(pipe, rest[:CHUNK]) :]
    except BlockingIOError:
        return rest
    except BrokenPipeError:
        return rest[len(rest) :]


async def _atalk(process: asyncio.subprocess.Process, data: bytes) -> tuple[bytes, bytes]:
    """The same in an event loop."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = bytearray(), bytearray()

    async def feed(pipe: asyncio.StreamWriter) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            pipe.write(data)
            await pipe.drain()
        pipe.close()

    async def hear(pipe: asyncio.StreamReader) -> None:
        while said := await pipe.read(CHUNK):
            out.extend(said)
            if len(out) > MAX_OUTPUT:
                _kill(process.pid)
                return

    async def last_words(pipe: asyncio.StreamReader) -> None:
        while said := await pipe.read(CHUNK):
            err.extend(said)
            del err[: -4 * STDERR_TAIL]

    await asyncio.gather(feed(process.stdin), hear(process.stdout), last_words(process.stderr))
    await process.wait()
    return bytes(out), bytes(err)


def _environment(question: Question) -> dict[str, str]:
    more = {"TRIMTAB_MODEL": question.model}
    if question.max_output is not None:
        more["TRIMTAB_MAX_OUTPUT"] = str(question.max_output)
    return os.environ | more


def _input(question: Question) -> bytes:
    return plain_text(question).encode("utf-8", "replace")


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            os.kill(pid, signal.SIGTERM)
        else:
            os.killpg(pid, signal.SIGKILL)


def _kill_all(running: set[int]) -> None:
    for pid in tuple(running):
        _kill(pid)
