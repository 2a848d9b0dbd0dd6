"""Files as programs that read a repository want them named."""

from __future__ import annotations

import os
from pathlib import Path


def relative(file: str) -> str:
    """The file from the working directory where it lies below it, else as it is; always with ``/``."""
    path = Path(file)
    if path.is_absolute():
        here = Path.cwd()
        path = path.relative_to(here) if path.is_relative_to(here) else path
    return Path(os.path.normpath(path)).as_posix()
