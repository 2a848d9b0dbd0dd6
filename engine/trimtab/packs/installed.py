"""Packs that other distributions bring: found by an entry point, read as files, never imported.

A distribution declares in its metadata, under the group ``trimtab.packs``, a name and the package that holds the
pack's folder (``house = "house_packs.strict"``: ``house_packs/strict/pack.yaml``). Whatever code it has stays
asleep: a pack is data.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from .problems import PackError, Problem

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

GROUP = "trimtab.packs"
PACK_FILE = "pack.yaml"
_PACKAGE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Installed:
    """A pack an installed distribution declares; ``path`` is None where its files are not to be found."""

    name: str
    package: str
    distribution: str
    version: str
    path: Path | None

    @property
    def origin(self) -> str:
        """Where it comes from, in words."""
        return f"{self.distribution} {self.version}"

    def file(self) -> Path:
        """The pack's file. Raises PackError."""
        if self.path is None:
            place = f"{self.package.replace('.', '/')}/{PACK_FILE}"
            raise PackError(
                [
                    Problem(
                        "file",
                        f"the distribution {self.origin} declares the pack `{self.name}` but has no {place}",
                        hint="install it again, unpacked; its entry point names the package that holds pack.yaml",
                    )
                ]
            )
        return self.path


@cache
def installed_packs() -> tuple[Installed, ...]:
    """Every pack of every installed distribution, by name; two may have one name (``chosen`` refuses that)."""
    return find_installed(sys.path)


def find_installed(path: Sequence[str]) -> tuple[Installed, ...]:
    """The packs of the distributions on ``path``."""
    folders = [folder for folder in path if _declares_packs(Path(folder or "."))]
    if not folders:
        return ()
    from importlib.metadata import distributions  # takes a tenth of the time of a check to load

    found: dict[tuple[str, str], Installed] = {}
    for distribution in distributions(path=folders):
        for entry in distribution.entry_points:
            if entry.group == GROUP:
                pack = _installed(distribution, entry, path)
                # The first on the path hides another copy of the same distribution, as with imports.
                found.setdefault((pack.name, pack.distribution), pack)
    return tuple(sorted(found.values(), key=lambda each: (each.name, each.distribution)))


def _declares_packs(folder: Path) -> bool:
    """Whether the metadata of a distribution in this folder speaks of packs at all: most speak of none."""
    for pattern in ("*.dist-info", "*.egg-info"):
        for info in folder.glob(pattern):
            try:
                if GROUP.encode() in (info / "entry_points.txt").read_bytes():
                    return True
            except OSError:
                continue
    return False


def _installed(distribution: Distribution, entry: EntryPoint, path: Sequence[str]) -> Installed:
    name = distribution.metadata["Name"] or "?"
    package = entry.value.strip()
    file = _file(distribution, package, path) if _PACKAGE.fullmatch(package) else None
    return Installed(entry.name, package, name, distribution.version or "?", file)


def _file(distribution: Distribution, package: str, path: Sequence[str]) -> Path | None:
    """The pack's file, out of the distribution's own list of files."""
    wanted = f"{package.replace('.', '/')}/{PACK_FILE}"
    files = distribution.files
    for each in files or ():
        if each.as_posix() == wanted:
            found = Path(str(distribution.locate_file(each)))
            return found if found.is_file() else None
    if files is None or distribution.read_text("direct_url.json"):
        # An editable install lists no files of its own: its folder stands on the path.
        return next((file for folder in path if (file := Path(folder or ".") / wanted).is_file()), None)
    return None


def chosen(name: str, shipped: Path | None) -> Path | None:
    """The file of the pack called ``name``, None if there is none.

    Raises PackError where two distributions, or one and the engine, have a pack of that name: which of them is
    meant must not depend on what is installed.
    """
    found = [each for each in installed_packs() if each.name == name]
    owners = [*(["the engine itself"] if shipped is not None else []), *(each.origin for each in found)]
    if len(owners) > 1:
        hint = "name one by its path, or uninstall one of the distributions"
        message = f"the pack `{name}` is there more than once: from {' and from '.join(owners)}"
        raise PackError([Problem("file", message, hint=hint)])
    return shipped if not found else found[0].file()
