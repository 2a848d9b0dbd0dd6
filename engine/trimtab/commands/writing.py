"""Files written whole or not at all: put aside first, then moved to their place."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

FOR_ALL = 0o666
"""Rights of a new file before the umask takes its share."""


def replace_file(path: Path, data: bytes, mode: int) -> None:
    """Put ``data`` into the place of a file, whole or not at all. Raises OSError.

    ``path`` is the file itself: where it is a link, the link is replaced.
    """
    with ExitStack() as tidy:
        _aside(path, data, mode, tidy).replace(path)


def write_all(root: Path, files: Mapping[str, bytes]) -> None:
    """Write files by their paths below ``root``, all of them or none; rights of files that are there stay.

    Folders that are missing are made, and gone again where a file cannot be written. Raises OSError.
    """
    mask = os.umask(0)
    os.umask(mask)
    spares: list[Path] = []
    with ExitStack() as undo:
        for folder in _missing(root, files):
            folder.mkdir()
            undo.callback(_quietly_removed, folder)
        ready: list[tuple[Path, Path]] = []
        for name, data in files.items():
            target = root / name
            there = os.path.lexists(target)
            mode = rights_to_replace(target) if there else FOR_ALL & ~mask
            ready.append((_aside(target, data, mode, undo), target))
        for aside, target in ready:
            if os.path.lexists(target):
                # A copy, not the file itself: until the new one takes its place the old one stands there.
                spares.append(_aside(target, target.read_bytes(), rights_to_replace(target), undo))
                undo.callback(spares[-1].replace, target)
            else:
                undo.callback(target.unlink, missing_ok=True)
            aside.replace(target)
        undo.pop_all()
    for spare in spares:
        spare.unlink()


def rights_to_replace(path: Path) -> int:
    """The rights of a file that may be written over. Raises OSError for one that may not, and for what is none."""
    found = path.stat()
    if stat.S_ISDIR(found.st_mode):
        raise OSError(errno.EISDIR, "a folder stands where a file is to be", str(path))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "no regular file", str(path))
    # Moving another file into its place would work all the same: rights of the folder decide on that.
    if not found.st_mode & stat.S_IWUSR or not os.access(path, os.W_OK):
        raise OSError(
            errno.EACCES, "read-only, so it stays as it is (chmod u+w lets it be written)", str(path)
        )
    return stat.S_IMODE(found.st_mode)


def _aside(path: Path, data: bytes, mode: int, tidy: ExitStack) -> Path:
    """A new file beside ``path``; it is gone again when ``tidy`` closes, unless it was moved."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:100]}.", dir=path.parent)
    tidy.callback(Path(name).unlink, missing_ok=True)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    Path(name).chmod(mode)
    return Path(name)


def _missing(root: Path, files: Mapping[str, bytes]) -> list[Path]:
    """The folders that have to be made, outer ones first."""
    found: dict[Path, None] = {}
    for name in files:
        folders = [(root / name).parent, *(root / name).parent.parents]
        found |= dict.fromkeys(each for each in reversed(folders) if not os.path.lexists(each))
    return list(found)


def _quietly_removed(folder: Path) -> None:
    """Somebody else may have put something into it meanwhile: then it stays."""
    with contextlib.suppress(OSError):
        folder.rmdir()
