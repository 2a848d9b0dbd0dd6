"""A summarizer that is any program: the question on its standard input, the answer on its standard output."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
import subprocess
import sys
import weakref
from collections.abc import Sequence

from ..effects import AskFailed, Question, Reply
from .base import plain_text, too_late

STDERR_TAIL = 500
"""Characters of a failed program's last words in the message."""


class CommandSummarizer:
    """Runs ``command`` (a text is split as a shell would, without being given to one) for each question.

    It reads UTF-8 from standard input and writes the summary to standard output; the environment has
    ``TRIMTAB_MODEL`` and, where the stage sets it, ``TRIMTAB_MAX_OUTPUT`` (tokens). It runs in a
    process group of its own, which is killed when the time is up, the run is cancelled or the
    interpreter ends. Raises ValueError for an empty or badly quoted command.
    """

    def __init__(self, command: str | Sequence[str]) -> None:
        self.command = shlex.split(command) if isinstance(command, str) else list(command)
        if not self.command:
            raise ValueError("the summarizer's command is empty; `command:PROGRAM ARGUMENT…` is expected")
        self._running: set[int] = set()
        weakref.finalize(self, _kill_all, self._running)

    def answer(self, question: Question) -> Reply:
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
            out, err = process.communicate(_input(question), question.timeout)
        except BaseException as problem:
            _kill(process.pid)
            process.wait()
            if isinstance(problem, subprocess.TimeoutExpired):
                raise too_late(question.timeout) from None
            raise
        finally:
            self._running.discard(process.pid)
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
        return self._reply(process.returncode, out, err, question)

    async def aanswer(self, question: Question) -> Reply:
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
            async with asyncio.timeout(question.timeout):
                out, err = await process.communicate(_input(question))
        except BaseException as problem:
            _kill(process.pid)
            await process.wait()
            if isinstance(problem, TimeoutError):
                raise too_late(question.timeout) from None
            raise
        finally:
            self._running.discard(process.pid)
        return self._reply(process.returncode, out, err, question)

    def _reply(self, code: int | None, out: bytes, err: bytes, question: Question) -> Reply:
        if code:
            said = err.decode("utf-8", "replace").strip()[-STDERR_TAIL:]
            ended = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
            raise AskFailed("error", f"{self.command[0]} {ended}" + (f": {said}" if said else ""))
        return Reply(out.decode("utf-8", "replace").strip("\r\n"), model=question.model)

    def _missing(self, problem: Exception) -> AskFailed:
        return AskFailed("unavailable", f"{self.command[0]} cannot be started: {problem}")


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
