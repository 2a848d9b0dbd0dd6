"""The files port: reads text files the host lets a pack re-attach, and nothing else."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_READ = os.O_RDONLY | _NOFOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_BY_FD = os.open in os.supports_dir_fd and bool(_NOFOLLOW)


class Files(Protocol):
    """What the engine needs of the host's disk."""

    def read(self, path: str, limit: int) -> str | None:
        """Text of the file, its first ``limit`` bytes at most; None if it cannot be had."""


class NoFiles:
    """Nothing can be read."""

    def read(self, path: str, limit: int) -> str | None:
        return None


class RootedFiles:
    """Regular text files below ``roots``, symlinks resolved first; without roots nothing can be read.

    A relative path is looked for under each root in turn. None stands for every file that is missing,
    outside, not readable, no regular file, or not UTF-8 text. A longer file is cut at a character's
    edge: whoever must know whether it was, asks for more bytes than may be used.
    """

    def __init__(self, roots: Iterable[str | os.PathLike[str]]) -> None:
        self.roots = tuple(Path(root).resolve() for root in roots)

    def read(self, path: str, limit: int) -> str | None:
        for root in self.roots:
            # OSError: cannot be had; ValueError: a zero byte; RuntimeError: a loop of symlinks.
            with contextlib.suppress(OSError, ValueError, RuntimeError):
                full = (root / path).resolve(strict=True)
                if full.is_relative_to(root) and full != root:
                    return _text(root, full.relative_to(root).parts, max(0, limit))
        return None


def _text(root: Path, parts: tuple[str, ...], limit: int) -> str | None:
    with inside(root, parts[:-1]) as folder:
        data = folder.read(parts[-1], limit + 1)
    if data is None or b"\0" in data:
        return None
    cut = len(data) > limit
    data = data[:limit]
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as problem:
        if cut and problem.reason == "unexpected end of data":
            return data[: problem.start].decode("utf-8")
        return None


class Folder(NamedTuple):
    """A directory that was entered: by descriptor where the system can, else by path."""

    fd: int | None
    path: Path

    def at(self, name: str) -> str:
        """``name`` in the form the ``os`` functions take beside ``dir_fd=folder.fd``."""
        return name if self.fd is not None else str(self.path / name)

    def read(self, name: str, limit: int | None = None) -> bytes | None:
        """Bytes of a regular file, at most ``limit``; None for anything else. Raises OSError."""
        # Looked at before it is opened, because opening a device may already do something.
        if not stat.S_ISREG(os.stat(self.at(name), dir_fd=self.fd, follow_symlinks=False).st_mode):
            return None
        with os.fdopen(os.open(self.at(name), _READ, dir_fd=self.fd), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            return file.read(-1 if limit is None else limit)


@contextlib.contextmanager
def inside(root: Path, folders: Sequence[str], make: bool = False) -> Iterator[Folder]:
    """The directory ``root/folders…``, entered one by one; a symlink below ``root`` is never followed.

    ``make`` creates what is missing, for the owner alone (0700). Raises OSError.
    """
    if make:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _BY_FD:
        path = root
        for name in folders:
            path = path / name
            if make:
                path.mkdir(mode=0o700, exist_ok=True)
            if path.is_symlink() or not path.is_dir():
                raise NotADirectoryError(20, "a symbolic link or no directory", str(path))
        yield Folder(None, path)
        return
    flags = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
    fd = os.open(root, flags)
    try:
        for name in folders:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, 0o700, dir_fd=fd)
            deeper = os.open(name, flags | _NOFOLLOW, dir_fd=fd)
            os.close(fd)
            fd = deeper
        yield Folder(fd, root.joinpath(*folders))
    finally:
        os.close(fd)
