"""What lies in a folder that anybody may have filled: looked at with an end, whatever lies there."""

from __future__ import annotations

import os
import stat
from pathlib import Path

MOST = 2_000
"""Entries of a folder, those of folders in it among them, that are looked at."""
SHOWN = 1_000_000
"""Bytes of a file that are read to show a line of it; templates are shorter."""
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def files_below(folder: Path, most: int = MOST) -> tuple[list[str], bool]:
    """The files of a folder and of those in it, by their path from there, sorted; and whether that is all.

    Links to folders are not followed; what cannot be read is left out.
    """
    found: list[str] = []
    ahead, left = [""], most
    while ahead:
        inner = ahead.pop()
        try:
            with os.scandir(folder / inner) as entries:
                for entry in entries:
                    if not left:
                        return sorted(found), False
                    left -= 1
                    if entry.is_dir(follow_symlinks=False):
                        ahead.append(f"{inner}{entry.name}/")
                    elif os.path.isfile(entry):
                        found.append(inner + entry.name)
        except OSError:
            continue
    return sorted(found), True


def instead_of_a_file(path: Path) -> str | None:
    """What stands where a file was looked for, in words; None if nothing does."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return "a link that leads to no file" if path.is_symlink() else None
    return _KINDS.get(stat.S_IFMT(mode))


def beginning(path: Path) -> str:
    """The text of a file as far as it is looked at to show a line of it; nothing where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(SHOWN).decode("utf-8", "replace")
    except OSError:
        return ""
