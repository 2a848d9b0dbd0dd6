"""Packs that other distributions bring: found by an entry point, read as files, never imported.

A distribution declares in its metadata, under the group ``trimtab.packs``, a name and the package that holds the
pack's folder (``house = "house_packs.strict"``: ``house_packs/strict/pack.yaml``). Whatever code it has stays
asleep: a pack is data. What is wrong with the metadata of one distribution is a problem of that one alone.

A name means the engine's own pack of that name, whatever else is installed; else that of the one distribution that
has one. ``DISTRIBUTION:NAME`` means a distribution's pack in any case.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from .problems import WARNING, PackError, Problem

if TYPE_CHECKING:
    from importlib.metadata import Distribution

T = TypeVar("T")

GROUP = "trimtab.packs"
PACK_FILE = "pack.yaml"
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
"""What a pack is called: its own name, or the one an entry point gives it."""
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

    @property
    def full_name(self) -> str:
        """The name that no other pack has."""
        return f"{self.distribution}:{self.name}"

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


@dataclass(frozen=True, slots=True)
class Survey:
    """Every pack of every installed distribution, by name; ``problems`` are of distributions that cannot be read."""

    packs: tuple[Installed, ...] = ()
    problems: tuple[Problem, ...] = ()

    def shadows(self, pack: Installed, shipped: Container[str]) -> Problem | None:
        """Why a pack cannot be named by its short name; None if it can."""
        if pack.name in shipped:
            message = f"the pack `{pack.name}` of {pack.origin} has the name of one of the engine's own"
        else:
            others = [each for each in self.packs if each.name == pack.name and each is not pack]
            if not others:
                return None
            origins = " and ".join(sorted(each.origin for each in (pack, *others)))
            message = f"the pack `{pack.name}` is there more than once: from {origins}"
        return Problem("file", message, hint=f"its own name is `{pack.full_name}`", severity=WARNING)


@cache
def installed_packs() -> Survey:
    """The packs of everything that is installed here."""
    return find_installed(sys.path)


def find_installed(path: Sequence[str]) -> Survey:
    """The packs of the distributions on ``path``."""
    found: dict[tuple[str, str], Installed] = {}
    problems: list[Problem] = []
    for info in (info for folder in path for info in _declaring(Path(folder or "."))):
        try:
            for pack in _packs_of(info, path):
                # The first on the path hides another copy of the same distribution, as with imports.
                found.setdefault((pack.name, pack.distribution), pack)
        except PackError as error:
            problems += error.problems
    packs = sorted(found.values(), key=lambda each: (each.name, each.distribution))
    return Survey(tuple(packs), tuple(problems))


def _declaring(folder: Path) -> Iterator[Path]:
    """The metadata in this folder of distributions that speak of packs at all: most speak of none."""
    for pattern in ("*.dist-info", "*.egg-info"):
        for info in sorted(folder.glob(pattern)):
            try:
                if GROUP.encode() in (info / "entry_points.txt").read_bytes():
                    yield info
            except OSError:
                continue


def _packs_of(info: Path, path: Sequence[str]) -> Iterator[Installed]:
    """The packs one distribution declares. Raises PackError where its metadata is broken."""
    from importlib.metadata import Distribution  # takes a tenth of the time of a check to load

    distribution = Distribution.at(info)
    name, version = _read(info, "METADATA", lambda: _identity(distribution))
    for entry in _read(info, "entry_points.txt", lambda: distribution.entry_points):
        if entry.group != GROUP:
            continue
        if not NAME.fullmatch(entry.name):
            raise _broken(info, f"`{entry.name}` in its entry_points.txt is no name of a pack (kebab-case)")
        package = entry.value.strip()
        file = None
        if _PACKAGE.fullmatch(package):
            file = _read(info, "RECORD", partial(_file, distribution, package, path))
        yield Installed(entry.name, package, name, version, file)


def _identity(distribution: Distribution) -> tuple[str, str]:
    fields = distribution.metadata
    name, version = fields["Name"], fields["Version"]
    if not name or not version:
        raise ValueError("it has no Name, or no Version")
    return name, version


def _read(info: Path, part: str, read: Callable[[], T]) -> T:
    """What ``read`` finds in one file of the metadata. Raises PackError."""
    try:
        return read()
    except Exception as error:  # a file of somebody else's, read by a library: it may fail in any way
        raise _broken(info, f"its {part} cannot be read ({error or type(error).__name__})") from None


def _broken(info: Path, message: str) -> PackError:
    name = " ".join(info.stem.rsplit("-", 1))
    hint = "install it again, or take it away; all other packs can be used"
    return PackError([Problem("file", f"the distribution {name}: {message}", str(info), hint=hint)])


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
    """The file of the pack called ``name``, None if there is none. ``shipped``: the engine's own of that name.

    Raises PackError where two distributions have one, and their names do not say which is meant.
    """
    if shipped is not None:
        return shipped
    survey = installed_packs()
    owner, _, short = name.rpartition(":")
    found = [
        each
        for each in survey.packs
        if each.name == short and (not owner or _folded(each.distribution) == _folded(owner))
    ]
    if len(found) > 1:
        message = f"the pack `{name}` is there more than once: from {' and from '.join(each.origin for each in found)}"
        hint = f"name one as {' or '.join(f'`{each.full_name}`' for each in found)}"
        raise PackError([Problem("file", message, hint=hint)])
    return found[0].file() if found else None


def _folded(distribution: str) -> str:
    """The name of a distribution as indexes and installers compare it (PyPA, name normalization)."""
    return re.sub(r"[-_.]+", "-", distribution).lower()
