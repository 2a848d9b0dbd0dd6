"""Locks between processes: the one around a write, and the turn that a writer who keeps losing asks for."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_FLAGS = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)

STOPPED = 5.0
"""Seconds after which a turn is nobody's: it takes milliseconds, so the process that has it was stopped."""


class Turn:
    """The turn to write to a journal: a lock on a file beside it, which is there only while somebody asks for it.

    It binds nobody: a writer looks whether another one has it, and waits a little before it begins. Nobody waits
    inside these methods, and where no such file can be had there are no turns.
    """

    def __init__(self, journal: Path) -> None:
        self._path = journal.with_suffix(".turn")
        self._fd = -1

    def taken(self) -> bool:
        """Whether somebody else has the turn, and has not been stopped meanwhile."""
        if self._fd >= 0:
            return False
        try:
            fd = os.open(self._path, _FLAGS)
        except OSError:
            return False
        try:
            return not try_lock(fd) and time.time() < os.fstat(fd).st_mtime + STOPPED
        finally:
            os.close(fd)

    def take(self) -> bool:
        """Take the turn, if nobody else has it; whether it is ours now. Raises OSError where there can be none."""
        if self._fd >= 0:
            return True
        fd = os.open(self._path, _FLAGS | os.O_CREAT, 0o600)
        # The file of a turn that has just ended is gone: whoever looks for ours would not find it.
        if not try_lock(fd) or not os.fstat(fd).st_nlink:
            os.close(fd)
            return False
        self._fd = fd
        # The time of the file is when the turn began, also of one that a killed process has left.
        os.lseek(fd, 0, os.SEEK_SET)
        os.write(fd, b".")
        return True

    def leave(self) -> None:
        """Give the turn back, if it is ours."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            # Before the lock goes with the file descriptor: afterwards it might be another one's.
            with contextlib.suppress(OSError):
                self._path.unlink()
            os.close(fd)


if sys.platform == "win32":
    # Locks there are mandatory and cover bytes: one far behind the end keeps the text readable.
    _LOCKED_BYTE = 1 << 40

    def lock(fd: int, exclusive: bool) -> None:
        os.lseek(fd, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_LOCK, 1)

    def unlock(fd: int) -> None:
        os.lseek(fd, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)

    def try_lock(fd: int) -> bool:
        os.lseek(fd, _LOCKED_BYTE, os.SEEK_SET)
        with contextlib.suppress(OSError):
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
            return True
        return False

else:

    def lock(fd: int, exclusive: bool) -> None:
        """Wait for the lock on an open file."""
        fcntl.flock(fd, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)

    def unlock(fd: int) -> None:
        """Let go of it."""
        fcntl.flock(fd, fcntl.LOCK_UN)

    def try_lock(fd: int) -> bool:
        """Take the lock for ourselves if nobody has it, without waiting; whether we have it."""
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        return False
