"""What two packs do not have in common, key by key and stage by stage, with the place of each value."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..templating import Renderer, TemplateProblem
from .formatting import same
from .merge import stage_id
from .nodes import Node
from .problems import Position
from .schema import pack_schema
from .shapes import check_shape
from .sources import Resolved, shown_path

ADDED, REMOVED, CHANGED, MOVED = "added", "removed", "changed", "moved"
_PER_KEY = ("settings", "models", "limits", "tools", "facts", "api_errors")
_MATTERS_IN_ORDER = frozenset({"models"})


@dataclass(frozen=True, slots=True)
class Difference:
    """One value that differs. ``path`` is dotted (`limits.auto`, `stages.compact.keep`).

    ``what`` is one of ``added removed changed moved``; ``before`` and ``after`` are the values, or of what has
    moved the name it stands behind; ``was`` and ``now`` are places, ``file:line``.
    """

    path: str
    what: str
    before: Any = None
    after: Any = None
    was: str = ""
    now: str = ""


def differences(one: Resolved, other: Resolved) -> list[Difference]:
    """Everything in which two packs differ once all they extend is worked in; templates are compared too."""
    a, b = one.root.mapping, other.root.mapping
    found: list[Difference] = []
    for key in dict.fromkeys([*pack_schema()["properties"], *a, *b]):
        if key not in ("extends", "stages", *_PER_KEY):
            found += _values(key, a.get(key), b.get(key))
    for key in _PER_KEY:
        found += _mappings(key, a.get(key), b.get(key), key in _MATTERS_IN_ORDER)
    found += _stages(a.get("stages"), b.get("stages"))
    return found + list(_templates(one, other))


def _place(pos: Position | None) -> str:
    return f"{pos.file}:{pos.line}" if pos is not None else ""


def _one_sided(path: str, what: str, node: Node) -> Difference:
    place = _place(node.key or node.pos)
    if what == ADDED:
        return Difference(path, what, after=node.plain(), now=place)
    return Difference(path, what, before=node.plain(), was=place)


def _values(path: str, a: Node | None, b: Node | None) -> Iterator[Difference]:
    """Two values: mappings key by key, everything else as a whole."""
    if a is None or b is None:
        node = a or b
        if node is not None:
            yield _one_sided(path, ADDED if a is None else REMOVED, node)
    elif isinstance(a.value, dict) and isinstance(b.value, dict) and a.value and b.value:
        yield from _mappings(path, a, b, False)
    elif not same(a.plain(), b.plain()):
        yield Difference(path, CHANGED, a.plain(), b.plain(), _place(a.pos), _place(b.pos))


def _mappings(path: str, a: Node | None, b: Node | None, ordered: bool) -> Iterator[Difference]:
    mine, theirs = (a.mapping if a else {}), (b.mapping if b else {})
    for key in dict.fromkeys([*mine, *theirs]):
        yield from _values(f"{path}.{key}", mine.get(key), theirs.get(key))
    if ordered:
        yield from _moved(path, mine, theirs)


def _moved(path: str, mine: Mapping[str, Node], theirs: Mapping[str, Node]) -> Iterator[Difference]:
    """What both have, in another order: as few names as explain it."""
    old, new = [key for key in mine if key in theirs], [key for key in theirs if key in mine]
    for key in moved_names(old, new):
        was, now = _place(mine[key].key or mine[key].pos), _place(theirs[key].key or theirs[key].pos)
        yield Difference(
            f"{path}.{key}", MOVED, _behind(key, list(mine)), _behind(key, list(theirs)), was, now
        )


def moved_names(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Names of the same set that stand elsewhere: those that are no part of the longest common order."""
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    kept = {old[match.a + step] for match in matcher.get_matching_blocks() for step in range(match.size)}
    return [name for name in new if name not in kept]


def _behind(name: str, names: Sequence[str]) -> str:
    number = names.index(name)
    return f"behind {names[number - 1]}" if number else "first"


# --- stages


@dataclass(frozen=True, slots=True)
class _Placed:
    node: Node
    parent: str  # the `first_of` it is in, or nothing


def _every(stages: Node | None, parent: str = "") -> dict[str, _Placed]:
    """Stages by id, also those inside `first_of`; one without an id is not to be compared."""
    found: dict[str, _Placed] = {}
    for node in stages.items if stages else ():
        name = stage_id(node)
        if name is not None:
            found[name] = _Placed(node, parent)
            found |= _every(node.mapping.get("stages"), name)
    return found


def _stages(a: Node | None, b: Node | None) -> Iterator[Difference]:
    mine, theirs = _every(a), _every(b)
    moved = dict(_moved_stages(mine, theirs))
    for name in dict.fromkeys([*mine, *theirs]):
        path = f"stages.{name}"
        if name not in mine:
            yield _one_sided(path, ADDED, _without_stages(theirs[name].node))
        elif name not in theirs:
            yield _one_sided(path, REMOVED, _without_stages(mine[name].node))
        else:
            if name in moved:
                places = (_place(mine[name].node.pos), _place(theirs[name].node.pos))
                yield Difference(path, MOVED, *moved[name], *places)
            yield from _mappings(
                path, _without_stages(mine[name].node), _without_stages(theirs[name].node), False
            )


def _without_stages(node: Node) -> Node:
    """A stage without its children, which are compared by themselves."""
    return Node({key: each for key, each in node.mapping.items() if key != "stages"}, node.pos, node.key)


def _moved_stages(
    mine: Mapping[str, _Placed], theirs: Mapping[str, _Placed]
) -> Iterator[tuple[str, tuple[str, str]]]:
    parents = dict.fromkeys(each.parent for each in (*mine.values(), *theirs.values()))
    for parent in parents:
        before = [name for name, each in mine.items() if each.parent == parent]
        after = [name for name, each in theirs.items() if each.parent == parent]
        both = set(before) & set(after)
        for name in moved_names([x for x in before if x in both], [x for x in after if x in both]):
            yield name, (_behind(name, before), _behind(name, after))
        for name in after:
            if name in mine and mine[name].parent != parent:
                yield name, (_inside(mine[name].parent), _inside(parent))


def _inside(parent: str) -> str:
    return f"inside {parent}" if parent else "at the top"


# --- templates


def _templates(one: Resolved, other: Resolved) -> Iterator[Difference]:
    """Template files of one name that both packs read and that say different things."""
    mine, theirs = _files(one), _files(other)
    for name in sorted(mine.keys() & theirs.keys()):
        if mine[name] != theirs[name]:
            old, new = (path.read_text("utf-8", "replace") for path in (mine[name], theirs[name]))
            if old != new:
                places = (shown_path(mine[name]), shown_path(theirs[name]))
                yield Difference(f"templates.{name}", CHANGED, old, new, *places)


def _files(resolved: Resolved) -> dict[str, Path]:
    """The template files a pack reads, by name, those they include too."""
    renderer = Renderer(resolved.folders)
    shape = check_shape(pack_schema(), resolved.effective.plain())
    open_ = {each.value for each in shape.occurrences if each.role == "template"}
    found: dict[str, Path] = {}
    while open_:
        name = open_.pop()
        path = next((file for folder in resolved.folders if (file := folder / name).is_file()), None)
        if path is not None and name not in found:
            found[name] = path
            with suppress(TemplateProblem):  # an `allow` comment may stand for a template that is missing
                open_ |= set(renderer.template(name).includes)
    return found
