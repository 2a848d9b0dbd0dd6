"""Finding packs and reading them with all they extend: names and paths to one resolved pack."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from ..data import data_root
from ..templating.folders import instead_of_a_file
from .document import parse_document, read_document
from .gate import admit
from .installed import PACK_FILE as PACK_FILE
from .installed import chosen, installed_packs
from .merge import Merger, set_value, with_defaults
from .nodes import Document, Node, Where
from .problems import PackError, Position, Problem, near_or_all, problem_at
from .schema import CHILD_KINDS, pack_schema

TEMPLATES = "templates"
MAX_CHAIN = 20
"""Packs that may build on each other."""
OUTSIDE = "--set "
"""Prefix of the file name that values set from outside are reported under."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A pack with everything it extends merged in; every value still knows its place.

    ``root`` is what the files say, ``effective`` has each child's share of ``defaults`` besides. ``folders``
    are searched for templates in this order. ``lost`` are ids of stages left out because of a problem.
    """

    name: str
    root: Node
    effective: Node
    documents: Mapping[str, Document]
    folders: tuple[Path, ...]
    problems: tuple[Problem, ...] = ()
    lost: frozenset[str] = frozenset()

    @property
    def data(self) -> Any:
        """The merged pack as plain data."""
        return self.root.plain()

    def where(self, path: Where, on_key: bool = False) -> Position:
        """The place of the value (or its key) at ``path`` of the effective pack, or of the deepest before."""
        node, depth = self.effective.find(path)
        return node.key if on_key and depth == len(path) and node.key is not None else node.pos

    def source(self, pos: Position) -> str:
        """The line a place is on."""
        document = self.documents.get(pos.file)
        return document.line(pos.line) if document else ""


def shipped_packs() -> dict[str, Path]:
    """The packs that come with the engine: name to file."""
    rules = data_root() / "rules"
    if not rules.is_dir():
        return {}
    found = {folder.name: folder / PACK_FILE for folder in sorted(rules.iterdir())}
    return {name: path for name, path in found.items() if path.is_file()}


def to_look_at(names: Sequence[str]) -> tuple[str, ...]:
    """The packs named; else the one in the working directory, else all that come with the engine.

    A folder that is no pack itself stands for the packs below it, if there are any.
    """
    shipped = shipped_packs()
    if not names:
        return (".",) if Path(PACK_FILE).is_file() else tuple(shipped)
    found: dict[str, None] = {}
    for name in names:
        below = [] if name in shipped else packs_below(Path(name))
        found |= dict.fromkeys(map(str, below)) or {name: None}
    return tuple(found)


def packs_below(folder: Path) -> list[Path]:
    """The files of packs in the folders below one that is no pack itself."""
    try:
        inside = folder.is_dir() and not os.path.lexists(folder / PACK_FILE)
        return sorted(path for path in folder.rglob(PACK_FILE) if path.is_file()) if inside else []
    except (OSError, ValueError):
        return []


def is_path(name: str) -> bool:
    """Whether a pack is named by a path rather than by a name."""
    return "/" in name or "\\" in name or name.endswith((".yaml", ".yml")) or name in (".", "..")


def find_pack(name: str | Path, beside: Path | None = None) -> Path:
    """The file of a pack: the name of one that ships or is installed, or a path to its file or folder, relative
    to ``beside``.

    Raises PackError.
    """
    try:
        return _find_pack(name, beside)
    except OSError as error:
        shown = str(name) if len(str(name)) <= 80 else f"{str(name)[:79]}…"
        raise PackError(
            [Problem("file", f"cannot be looked for: {error.strerror or error}", shown)]
        ) from None


def _find_pack(name: str | Path, beside: Path | None) -> Path:
    text = str(name)
    if not text.strip():
        raise PackError(
            [Problem("file", "a pack without a name", hint="name one of `trimtab packs`, or a path")]
        )
    if isinstance(name, str) and not is_path(name):
        shipped = shipped_packs()
        named = chosen(name, shipped.get(name))
        if named is not None:
            return named
        if not (beside or Path()).joinpath(name, PACK_FILE).is_file():
            survey = installed_packs()
            names = [each.full_name if ":" in name else each.name for each in survey.packs]
            hint = near_or_all(name, [*shipped, *names], "known are")
            hint += "; a file or folder is named by its path"
            # It may be one of a distribution that cannot be read.
            raise PackError([Problem("file", f"there is no pack `{name}`", hint=hint), *survey.problems])
    path = (beside / text) if beside is not None else Path(text)
    if path.is_dir():
        path = path / PACK_FILE
    if not path.is_file():
        odd = instead_of_a_file(path)
        message = "there is no such pack file" if odd is None else f"the pack file is no file but {odd}"
        hint = f"name a file, or a folder that holds {PACK_FILE}"
        raise PackError([Problem("file", message, str(path), hint=hint)])
    return path


def shown_path(path: Path) -> str:
    """What problems call the file: shipped ones by their place below the data root, others as named."""
    root = data_root()
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


class _Chain:
    """Reads one pack and, before it, what it extends."""

    def __init__(self) -> None:
        self.documents: dict[str, Document] = {}
        self.folders: list[Path] = []
        self.merger = Merger(self.documents)
        self.open: list[Path] = []
        self.done: dict[Path, Node] = {}

    def read(self, path: Path) -> Node:
        """The merged tree of this file. Raises PackError if a file of the chain cannot be read."""
        place = path.resolve()
        if place in self.done:
            return self.done[place]
        document = read_document(path, shown_path(path))
        self.documents[document.path] = document
        admit(document)
        self.open.append(place)
        folder = path.parent / TEMPLATES
        if folder not in self.folders:
            self.folders.append(folder)
        merged = self.done[place] = self.extended(document, path)
        self.open.pop()
        return merged

    def extended(self, document: Document, path: Path) -> Node:
        """The document over all it extends; ``path`` is where it lies. Raises PackError."""
        base: Node | None = None
        extends = document.root.mapping.get("extends")
        for entry in extends.items if extends else ():
            if entry.text is not None:
                inherited = self.base(entry.text, entry.pos, path, document)
                base = self.merger.merge(base, inherited) if base is not None else inherited
        return self.merger.merge(base, document.root)

    def base(self, name: str, pos: Position, path: Path, document: Document) -> Node:
        """One pack that the document extends, with all that it extends itself. Raises PackError."""
        hint: str | None = None
        more: tuple[Problem, ...] = ()
        if PurePosixPath(name).is_absolute() or Path(name).is_absolute():
            message, hint = "an absolute path", "packs are named, or given by a path relative to this file"
        else:
            try:
                target = find_pack(name, path.parent)
            except PackError as error:
                message, hint = error.problems[0].message, error.problems[0].hint
                more = error.problems[1:]
            else:
                if target.resolve() not in self.open and len(self.open) < MAX_CHAIN:
                    inherited = self.read(target)
                    if isinstance(inherited.value, dict):
                        return inherited
                    message = f"`{name}` is no pack: its file holds {_kind(inherited)}, not a mapping"
                    hint = "a pack begins with `format: 1`"
                    raise PackError([problem_at(pos, "extends", message, hint, document.line(pos.line))])
                if len(self.open) >= MAX_CHAIN:
                    message = f"more than {MAX_CHAIN} packs build on each other"
                    raise PackError(
                        [problem_at(pos, "extends", message, "merge some", document.line(pos.line))]
                    )
                first = self.open.index(target.resolve())
                circle = [*self.open[first:], target.resolve()]
                chain = " → ".join(
                    each.parent.name if each.name == PACK_FILE else each.stem for each in circle
                )
                message, hint = f"`{name}` leads back to itself ({chain})", "remove one of the `extends`"
        raise PackError([problem_at(pos, "extends", message, hint, document.line(pos.line)), *more])


def _kind(node: Node) -> str:
    return (
        "a list" if isinstance(node.value, list) else "a text" if node.text is not None else "a single value"
    )


def resolve(name: str | Path, overrides: Sequence[tuple[str, str]] = ()) -> Resolved:
    """Read a pack with all it extends. ``overrides``: dotted places and YAML texts, merged last.

    Raises PackError where a file cannot be read at all; what can be told later stands in ``problems``.
    """
    path = find_pack(name)
    chain = _Chain()
    root = chain.read(path)
    return finish(
        shown_path(path),
        root,
        chain.documents,
        [*chain.folders, data_root() / TEMPLATES],
        chain.merger,
        overrides,
    )


def resolve_text(
    text: str, name: str = "pack", folders: Sequence[Path] = (), overrides: Sequence[tuple[str, str]] = ()
) -> Resolved:
    """The same for a pack given as text, which may extend shipped packs. Raises PackError."""
    document = parse_document(text, name)
    chain = _Chain()
    chain.documents[name] = document
    admit(document)
    root = chain.extended(document, Path(name))
    return finish(
        name,
        root,
        chain.documents,
        [*folders, *chain.folders, data_root() / TEMPLATES],
        chain.merger,
        overrides,
    )


def finish(
    name: str,
    root: Node,
    documents: dict[str, Document],
    folders: Sequence[Path],
    merger: Merger,
    overrides: Sequence[tuple[str, str]],
) -> Resolved:
    """Apply what was set from outside, and give children their defaults."""
    problems = merger.problems
    for place, text in overrides:
        shown = OUTSIDE + place
        try:
            document = parse_document(text, shown)
            documents[shown] = document
            root = set_value(root, place.split("."), document.root)
        except PackError as error:
            problems += error.problems
        except KeyError as error:
            part, known = error.args
            hint = known if "did you mean" in known else f"known are {known}" if known else None
            problems.append(
                Problem(
                    "set", f"`{part}` leads nowhere in this pack", shown, 1, 1, len(text), hint, source=text
                )
            )
    definitions = pack_schema()["definitions"]
    keys = {kind: frozenset(definitions[f"child-{kind}"]["properties"]) for kind in CHILD_KINDS}
    return Resolved(
        name,
        root,
        with_defaults(root, keys),
        documents,
        tuple(folders),
        tuple(problems),
        frozenset(merger.lost),
    )
