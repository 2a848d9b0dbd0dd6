"""Where the packs, templates and schemas that ship with the engine are."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def data_root() -> Path:
    """The folder of ``rules``, ``templates`` and ``schemas``: in an installed package, else the checkout.

    Raises FileNotFoundError where neither is there.
    """
    package = Path(__file__).resolve().parent
    for folder in (package / "_data", package.parent.parent):
        if (folder / "schemas").is_dir():
            return folder
    raise FileNotFoundError(
        f"neither {package / '_data'} nor a checkout around it holds the shipped packs; install trimtab again"
    )
