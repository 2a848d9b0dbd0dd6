"""The store: where originals go that the model no longer sees, under names that are safe everywhere."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from hashlib import blake2b
from pathlib import Path
from typing import Protocol

from .files import Folder, inside

_PART = re.compile(r"[\w@+-][\w.@+ -]*")
_ASIDE = re.compile(r"\.[0-9a-f]{16}\.part")
LONGEST_PART = 200
WRITES = 3
"""How often a text is written when another process, just started, takes the file for a dead one's."""


class StoreError(ValueError):
    """A name the store refuses, or a file that is not what was stored."""


class Store(Protocol):
    """What a run needs of a store. Names are ``folder/file``."""

    def put(self, name: str, text: str) -> str:
        """Keep ``text`` and return the path the agent can open. Raises StoreError, OSError: nothing is
        kept.
        """

    def place(self, name: str) -> str:
        """The path ``put`` would return; nothing is written."""

    def get(self, name: str) -> str | None:
        """The text, None if there is none. Raises StoreError, OSError."""

    def has(self, name: str) -> bool:
        """Whether there is a text of that name."""


def parts_of(name: str) -> list[str]:
    """The parts of a store name. Raises StoreError for one that could lead out of the store."""
    parts = name.split("/")
    for part in parts:
        if not _PART.fullmatch(part) or part[-1] in " ." or len(part) > LONGEST_PART:
            raise StoreError(
                f"{name[:LONGEST_PART]!r} is no name for the store: parts of letters, digits and . _ @ + -, "
                "joined by / and not beginning with a dot"
            )
    return parts


class MemoryStore:
    """A store that ends with the process; its paths are the names."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def put(self, name: str, text: str) -> str:
        place = self.place(name)
        self.texts[name] = text
        return place

    def place(self, name: str) -> str:
        return "/".join(parts_of(name))

    def get(self, name: str) -> str | None:
        return self.texts.get(name)

    def has(self, name: str) -> bool:
        return name in self.texts


class FolderStore:
    """Files below ``root``, for the owner alone (0700, 0600), each there whole or not at all.

    ``seen_as`` is the root as the agent sees it, where that is another path (a sandbox's mount). Texts
    come back to the character: no newline is translated, lone surrogates survive. Symlinks below
    ``root`` are not followed. What a killed process left half written goes with the first write of a
    new one to the same folder.
    """

    def __init__(self, root: str | os.PathLike[str], seen_as: str | None = None) -> None:
        self.root = Path(root).absolute()
        self._swept: set[str] = set()
        self.seen_as = seen_as.rstrip("/") if seen_as is not None else None

    def put(self, name: str, text: str) -> str:
        *folders, file = parts_of(name)
        data = text.encode("utf-8", "surrogatepass")
        try:
            with inside(self.root, folders, make=True) as folder:
                if _bytes(folder, file) != data:
                    self._sweep(folder, "/".join(folders))
                    _write(folder, file, data)
        except OSError as problem:
            raise self._failed("stored", name, problem) from problem
        return self.place(name)

    def place(self, name: str) -> str:
        parts = parts_of(name)
        return str(self.root.joinpath(*parts)) if self.seen_as is None else "/".join([self.seen_as, *parts])

    def get(self, name: str) -> str | None:
        *folders, file = parts_of(name)
        try:
            with inside(self.root, folders) as folder:
                data = _bytes(folder, file)
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise self._failed("read", name, problem) from problem
        try:
            return None if data is None else data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise StoreError(f"{self.root / name} was changed: it is no longer text") from None

    def has(self, name: str) -> bool:
        *folders, file = parts_of(name)
        try:
            with inside(self.root, folders) as folder:
                return _bytes(folder, file, 0) is not None
        except OSError:
            return False

    def _sweep(self, folder: Folder, name: str) -> None:
        if name in self._swept:
            return
        self._swept.add(name)
        for entry in os.listdir(folder.path if folder.fd is None else folder.fd):
            if _ASIDE.fullmatch(entry):
                with contextlib.suppress(OSError):
                    os.unlink(folder.at(entry), dir_fd=folder.fd)

    def _failed(self, what: str, name: str, problem: OSError) -> OSError:
        reason = problem.strerror or str(problem)
        return OSError(problem.errno, f"could not be {what}: {reason}", str(self.root / name))


def _bytes(folder: Folder, file: str, limit: int | None = None) -> bytes | None:
    with contextlib.suppress(FileNotFoundError):
        return folder.read(file, limit)
    return None


def _write(folder: Folder, file: str, data: bytes) -> None:
    """Write aside and rename, so that nobody ever reads half a file."""
    for left in reversed(range(WRITES)):
        try:
            _write_once(folder, file, data)
            return
        except FileNotFoundError:
            if not left:
                raise


def _write_once(folder: Folder, file: str, data: bytes) -> None:
    owner = f"{file} {os.getpid()} {threading.get_ident()}".encode()
    aside = folder.at(f".{blake2b(owner, digest_size=8).hexdigest()}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(aside, dir_fd=folder.fd)  # a dead process's, by the same number
    try:
        with os.fdopen(os.open(aside, flags, 0o600, dir_fd=folder.fd), "wb") as out:
            out.write(data)
        os.replace(aside, folder.at(file), src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
    except BaseException:  # an interrupt leaves nothing lying about either
        with contextlib.suppress(OSError):
            os.unlink(aside, dir_fd=folder.fd)
        raise
