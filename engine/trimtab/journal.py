"""The journal: what was decided, one record a line, append-only; in memory or in a session directory.

All lines of one append go out in one write, and all but the last of them carry ``"more": true``. So what a
crash left of a write is recognised, whole lines included, and cut off: a write is there whole or not at all.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from .conversation.edits import Commit
from .locks import lock, unlock
from .records import (
    FORMAT,
    Fail,
    Header,
    JournalError,
    Kept,
    Note,
    Record,
    RunRecord,
    Undo,
    decode,
    encode,
    ranges,
)

__all__ = [
    "FORMAT",
    "Commit",
    "Conflict",
    "DiskJournal",
    "Fail",
    "Header",
    "Journal",
    "JournalError",
    "Kept",
    "MemoryJournal",
    "Note",
    "Record",
    "RunRecord",
    "Undo",
    "decode",
    "encode",
    "ranges",
]

NAME = "journal.jsonl"
_START = b'{"t":"journal",'
_PRIVATE_FOLDER, _PRIVATE_FILE = 0o700, 0o600


class Conflict(Exception):
    """Somebody else has written to the journal since it was read: reload, and offer the changes again."""


class Journal(Protocol):
    """What a session needs of a journal."""

    @property
    def path(self) -> Path | None:
        """The file; None in memory."""

    def records(self) -> list[Record]:
        """All records, oldest first."""

    def stale(self) -> bool:
        """Whether it would have to be reloaded before anything can be appended."""

    def append(self, records: Sequence[Record]) -> None:
        """Write all records or none. Raises Conflict, JournalError, OSError."""

    def reload(self) -> None:
        """Read what is there now. Raises JournalError, OSError."""


class MemoryJournal:
    """A journal that ends with the process."""

    def __init__(self, records: Sequence[Record] = ()) -> None:
        self._records: list[Record] = list(records)

    @property
    def path(self) -> Path | None:
        return None

    def records(self) -> list[Record]:
        return list(self._records)

    def stale(self) -> bool:
        return False

    def append(self, records: Sequence[Record]) -> None:
        self._records.extend(records)

    def reload(self) -> None:
        """Nothing to do: nobody else writes here."""

    def cut(self, count: int) -> None:
        """Forget all records but the ``count`` oldest."""
        del self._records[count:]


class DiskJournal:
    """``journal.jsonl`` in a session directory, made by ``open`` or ``read``.

    The directory is created for the owner alone (0700), the file too (0600); a file that is a symlink
    is refused. There is no fsync: losing the last lines to a power cut costs a cache miss, not a
    message.
    """

    def __init__(self, folder: Path, engine: str, write: bool) -> None:
        self._folder = folder
        self._path = folder / NAME
        self._engine = engine
        self._write = write
        self._fd = -1
        self._records: list[Record] = []
        self._end = 0
        self._writer = ""
        self._process = 0
        self.reload()

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, engine: str) -> DiskJournal:
        """For reading and appending; ``engine`` is the version that writes.

        Makes directory and file if need be and cuts off what an interrupted write left. Raises
        JournalError when the file is no journal or is damaged, OSError.
        """
        return cls(Path(folder), engine, write=True)

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> DiskJournal:
        """For reading only: changes nothing on the disk. Raises JournalError, also if there is none,
        OSError.
        """
        return cls(Path(folder), "", write=False)

    @property
    def path(self) -> Path:
        return self._path

    def records(self) -> list[Record]:
        return list(self._records)

    def stale(self) -> bool:
        """Whether somebody else has written since it was read, or this process was forked. Raises OSError."""
        return self._fd >= 0 and (self._process != os.getpid() or self._changed(self._fd))

    def append(self, records: Sequence[Record]) -> None:
        """Write all records in one write, or none of them.

        Raises Conflict if it is ``stale``, JournalError for a record that is no JSON or a journal opened for
        reading, OSError if the disk takes less than all.
        """
        if not self._write:
            raise JournalError("the journal was opened for reading", path=self._path)
        if not records:
            return
        lines = [encode(record) for record in records]
        if self._engine != self._writer:
            lines.insert(0, encode(Header(FORMAT, self._engine)))
        data = self._bytes(lines)
        with self._locked() as fd:
            if self._changed(fd):
                raise Conflict(f"{self._path} was written by somebody else; reload it")
            self._put(fd, data)
        self._end += len(data)
        self._writer = self._engine
        self._records.extend(records)

    def reload(self) -> None:
        """Read the file anew, whatever has become of it. Raises JournalError, OSError."""
        self.close()
        self._forget()
        self._fd = self._open()
        self._process = os.getpid()
        try:
            with self._locked() as fd:
                data = _read(fd)
                self._take(data)
                if self._write and len(data) > self._end:
                    os.ftruncate(fd, self._end)
        except BaseException:  # also an interrupt: a file read halfway must not be written to
            self.close()
            raise

    def close(self) -> None:
        """Let go of the file; afterwards only ``records`` and ``reload`` are of use."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)

    def __enter__(self) -> DiskJournal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_fd", -1) >= 0:
            self.close()

    def _forget(self) -> None:
        self._records = []
        self._end = 0
        self._writer = ""

    def _open(self) -> int:
        # O_NONBLOCK: opening a pipe somebody put there must not hang; it means nothing for a regular file.
        flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        flags |= getattr(os, "O_CLOEXEC", 0)
        if self._write:
            flags |= os.O_RDWR | os.O_CREAT | os.O_APPEND
            self._folder.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
        try:
            fd = os.open(self._path, flags | (0 if self._write else os.O_RDONLY), _PRIVATE_FILE)
        except FileNotFoundError:
            raise JournalError(
                "there is no journal here", path=self._path, hint="name the directory a session was kept in"
            ) from None
        except OSError as problem:
            if problem.errno == errno.ELOOP:
                raise JournalError(
                    "the journal is a symbolic link, which is not followed",
                    path=self._path,
                    hint="name the directory it really lies in",
                ) from None
            raise
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise JournalError("this is not a regular file", path=self._path)
        return fd

    def _changed(self, fd: int) -> bool:
        status = os.fstat(fd)
        return status.st_size != self._end or status.st_nlink == 0

    @contextlib.contextmanager
    def _locked(self) -> Iterator[int]:
        if self._fd < 0:
            raise JournalError("the journal is closed", path=self._path, hint="reload it")
        if self._process != os.getpid():
            # The parent's lock is ours too: we could write while it writes, and would unlock it under its hands.
            raise Conflict(f"{self._path} was opened by the process this one was forked from; reload it")
        fd = self._fd
        lock(fd, exclusive=self._write)
        try:
            yield fd
        finally:
            unlock(fd)

    def _take(self, data: bytes) -> None:
        """Read all whole writes of ``data``; ``_end`` becomes the place where the last of them ends."""
        lines = data.split(b"\n")
        torn = lines.pop()
        if not lines and torn and not (torn.startswith(_START) or _START.startswith(torn)):
            raise self._foreign()
        place = 0
        writer = ""
        pending: list[Record] = []
        for number, line in enumerate(lines, 1):
            place += len(line) + 1
            if not line.strip():
                continue
            raw = self._line(line, number)
            if not writer and not (isinstance(raw, dict) and raw.get("t") == "journal"):
                raise self._foreign()
            try:
                record = decode(raw, writer)
            except JournalError as problem:
                hint = problem.hint or _MEND
                raise JournalError(problem.message, path=self._path, line=number, hint=hint) from None
            if isinstance(record, Header):
                writer = record.engine
            else:
                pending.append(record)
            if not raw.get("more"):
                self._records += pending
                self._writer = writer
                self._end = place
                pending = []

    def _line(self, line: bytes, number: int) -> Any:
        try:
            return json.loads(line)
        except (ValueError, RecursionError) as problem:
            if number == 1 and not line.startswith(_START):
                raise self._foreign() from None
            raise JournalError(
                f"this line is no JSON: {problem}", path=self._path, line=number, hint=_MEND
            ) from None

    def _foreign(self) -> JournalError:
        return JournalError(
            "this file is not a journal of ours; it is left alone",
            path=self._path,
            hint="choose another directory for the session",
        )

    def _bytes(self, lines: list[dict[str, Any]]) -> bytes:
        for line in lines[:-1]:
            line["more"] = True
        try:
            # ASCII: lone surrogates survive. NaN is let through: Python reads it back.
            texts = [json.dumps(line, separators=(",", ":"), default=_plain) for line in lines]
        except (TypeError, ValueError, RecursionError) as problem:
            raise JournalError(
                f"a record cannot be written as JSON: {problem}",
                path=self._path,
                hint="messages may hold only what JSON can say",
            ) from problem
        return ("\n".join(texts) + "\n").encode("ascii")

    def _put(self, fd: int, data: bytes) -> None:
        try:
            written = os.write(fd, data)
            if written != len(data):
                raise OSError(errno.ENOSPC, f"only {written} of {len(data)} bytes were taken")
        except OSError as problem:
            # Should cutting fail too, the marks tell the next reader what is left over.
            with contextlib.suppress(OSError):
                os.ftruncate(fd, self._end)
            reason = problem.strerror or str(problem)
            raise OSError(
                problem.errno,
                f"the journal could not be written: {reason}; nothing of this run was recorded "
                "(make room on the disk and run again)",
                str(self._path),
            ) from problem


def is_journal(path: Path) -> bool:
    """Whether a file is there that begins as a journal of ours does."""
    try:
        # A pipe is not read: it might wait for ever.
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(len(_START)) == _START
    except OSError:
        return False


_MEND = "put back a copy, or move the file away and the session starts anew; no message is lost"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is no JSON value")


def _read(fd: int) -> bytes:
    os.lseek(fd, 0, os.SEEK_SET)
    parts: list[bytes] = []
    while part := os.read(fd, 1 << 20):
        parts.append(part)
    return b"".join(parts)
