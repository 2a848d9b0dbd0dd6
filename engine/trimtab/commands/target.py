"""Where ``--out`` writes: a place that loses nothing, and what the written request still lacks."""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path
from typing import Any

import click

from .subject import Wish
from .writing import replace_file


def check_target(wish: Wish, out: str | None) -> None:
    """Before anything is paid for: can the request be written there? Never over what it is made from."""
    if out == "-" and sys.__stdout__ is None:
        raise click.BadParameter("standard output is closed; name a file", param_hint="'--out'")
    if out is None or out == "-":
        return
    if Path(out).is_dir() or not Path(out).absolute().parent.is_dir():
        raise click.BadParameter(
            f"'{out}' cannot be written: name a file in a folder that exists", param_hint="'--out'"
        )
    if _is_same(out, wish.session):
        raise click.BadParameter("is the session file itself; name another one", param_hint="'--out'")
    if wish.folder is not None and _is_inside(out, wish.folder):
        raise click.BadParameter(
            f"'{out}' lies in the session directory, which is the journal's; name a file elsewhere",
            param_hint="'--out'",
        )
    kept = _kept_in(Path(out))
    if kept is not None:
        raise click.BadParameter(
            f"'{out}' is a file of the session kept in '{kept}', which would lose it; name another one",
            param_hint="'--out'",
        )


def _is_same(one: str, other: str) -> bool:
    return Path(one).exists() and Path(other).exists() and Path(one).samefile(other)


def _is_inside(out: str, folder: str) -> bool:
    """Whether the file would be one of the folder's, by whatever name: links are followed."""
    root = Path(folder).resolve()
    target = Path(out).resolve()
    folders = (target, *target.parents)
    if root in folders or any(_is_same(str(each), str(root)) for each in folders):
        return True
    return root.is_dir() and any(_is_same(out, str(each)) for each in root.rglob("*") if each.is_file())


def _kept_in(out: Path) -> Path | None:
    """The session directory an existing file belongs to: the journal by any name, or a file beside or below one."""
    from ..journal import is_journal

    if not out.is_file():
        return None
    target = out.resolve()
    if is_journal(target):
        return target.parent
    return next((each for each in target.parents if is_journal(each / "journal.jsonl")), None)


def check_json(request: Any) -> None:
    """Before anything is paid for: a request with NaN in it cannot be written. Raises click.ClickException."""
    from ..formats.anthropic import dumps

    try:
        dumps(request)
    except ValueError as error:
        raise click.ClickException(f"the request cannot be written: {error}") from None


def write_request(path: Path, request: Any) -> None:
    """Write the request for the owner alone (0600), whole or not at all; a pipe or a device just takes it.

    Raises OSError, also for a pipe that nobody reads.
    """
    from ..formats.anthropic import dumps

    data = (dumps(request) + "\n").encode("ascii")
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        with os.fdopen(_open_to_write(path), "wb") as file:
            file.write(data)
        return
    replace_file(path.resolve(), data, 0o600)


def _open_to_write(path: Path) -> int:
    """Open what is no regular file; a pipe without a reader is an error, where a plain open would wait for ever."""
    try:
        handle = os.open(path, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError as problem:
        if problem.errno == errno.ENXIO:
            raise OSError(errno.ENXIO, "nobody reads from this pipe", str(path)) from None
        raise
    if hasattr(os, "set_blocking"):
        os.set_blocking(handle, True)
    return handle


def lacks(request: Any, receipt: Any, folder: str | None) -> list[str]:
    """What the caller must know before a written request is sent; nothing for one that is whole.

    Session files hold messages only. ``max_tokens`` tells the two apart: the API takes no request without it.
    Without a directory the files that stored results name are nowhere on disk.
    """
    found: list[str] = []
    if not receipt.send:
        found.append("a guard blocks: the written request is not to be sent")
    if "max_tokens" not in request.extra:
        held = {"system": request.system, "tools": request.tools}
        names = [name for name, value in held.items() if value is None]
        *most, last = [*names, "max_tokens"]
        said = f"{', '.join(most)} or {last}" if most else last
        found.append(f"the session file holds no {said}; add your own before the request is sent")
    reports = [one for stage in receipt.stages for one in (stage, *stage.children)]
    count = sum(one.items for one in reports if one.verdict == "committed" and one.restorable == "stored")
    if count and folder is None:
        blocks = "1 block names a file" if count == 1 else f"{count} blocks name files"
        found.append(f"{blocks} that only this run had in memory; with --dir DIR they are written there")
    return found
