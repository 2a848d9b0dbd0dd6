"""Building one pack from several files: what `extends` means, with the place of every value kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from .nodes import Document, Node, Where
from .problems import Position, Problem, did_you_mean, listed, near_or_all, problem_at
from .schema import MERGE_KEYS

IDENTITY = frozenset({"format", "name", "version", "description", "requires", "extends"})
"""Keys that say what a file is; they are never inherited."""
_WRITERS = frozenset({"prompt", "notes", "text", "template"})
"""Keys of which a stage has one: a default never stands beside the one a child has chosen."""


@dataclass(slots=True)
class Merger:
    """Merges documents; problems are collected, and what is at fault is left out.

    ``lost`` are the ids of stages left out, so that what refers to them isn't reported a second time.
    """

    documents: Mapping[str, Document]
    problems: list[Problem] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)

    def report(self, code: str, message: str, pos: Position, hint: str | None = None) -> None:
        document = self.documents.get(pos.file)
        source = document.line(pos.line) if document else ""
        self.problems.append(problem_at(pos, code, message, hint, source))

    def merge(self, base: Node | None, new: Node) -> Node:
        """The top level of ``new`` over ``base``."""
        if not isinstance(new.value, dict):
            return new
        inherited = base.mapping if base else {}
        merged = {key: node for key, node in inherited.items() if key not in IDENTITY}
        for key, node in new.mapping.items():
            old = merged.get(key)
            if key == "stages" and isinstance(node.value, list):
                merged[key] = self.stages(old, node, bool(inherited))
            elif key == "models" and old is not None and isinstance(node.value, dict):
                # Only the first match counts, and the extending file wins: its globs come first.
                both = value(old, node)
                order = [*node.mapping, *(each for each in old.mapping if each not in node.mapping)]
                merged[key] = Node({each: both.mapping[each] for each in order}, both.pos, both.key)
            else:
                if key == "settings" and old is not None:
                    node = self.same_types(old, node)
                merged[key] = value(old, node) if old is not None else node
        return Node(merged, new.pos)

    def same_types(self, old: Node, new: Node) -> Node:
        """An extending file never changes the type of a setting; values that would are left out."""
        kept = dict(new.mapping)
        for name, node in new.mapping.items():
            before = old.mapping.get(name)
            if before is None or isinstance(node.value, list | dict) or isinstance(before.value, list | dict):
                continue
            kinds = [
                _type(each, before.text is None or before.text == "unlimited")
                for each in (before.value, node.value)
            ]
            if kinds[0] != kinds[1]:
                self.report(
                    "type",
                    f"the inherited setting `{name}` is {kinds[0]}, not {kinds[1]}",
                    node.pos,
                    "give it a value of the same type, or another name",
                )
                del kept[name]
        return Node(kept, new.pos, new.key) if isinstance(new.value, dict) else new

    # --- stages

    def stages(self, base: Node | None, new: Node, extending: bool, everywhere: Node | None = None) -> Node:
        """Stages by id; ``everywhere``: the stage of which this list is a part, if it is one."""
        result = list(base.items) if base else []
        elsewhere = {stage_id(each): each for each in _all(base)} if base and everywhere is None else {}
        seen: dict[str, Position] = {}
        places = _places(result)
        for node in new.items:
            name = stage_id(node)
            if name is None:
                result.append(node)
                continue
            if name in seen:
                here = node.mapping["id"].pos
                self.report(
                    "stage-id",
                    f"the id `{name}` stands twice (first on line {seen[name].line})",
                    here,
                    "ids are unique in the whole pack",
                )
                continue
            seen[name] = node.mapping["id"].pos
            if name in places:
                number = places[name]
                result[number] = self.changed(result[number], node)
            elif name in elsewhere:
                result = [self.inside(each, name, node) for each in result]
            elif (fresh := self.fresh(node, name, result, extending, base)) is not None:
                result.insert(*fresh)
                if fresh[0] == len(result) - 1:
                    places[name] = fresh[0]
                else:
                    places = _places(result)
        return Node(result, new.pos, new.key)

    def inside(self, parent: Node, name: str, change: Node) -> Node:
        """``parent`` with the change in the child of that id, if it has one."""
        children = parent.mapping.get("stages")
        if children is None or all(stage_id(each) != name for each in children.items):
            return parent
        changed = [self.changed(each, change) if stage_id(each) == name else each for each in children.items]
        return Node(
            {**parent.mapping, "stages": Node(changed, children.pos, children.key)}, parent.pos, parent.key
        )

    def changed(self, old: Node, new: Node) -> Node:
        """An inherited stage with what an extending file says of it."""
        given = new.mapping
        for key in ("before", "after"):
            if key in given:
                place = given[key].key or given[key].pos
                self.report(
                    "place",
                    f"`{key}` places new stages; `{stage_id(new)}` is inherited",
                    place,
                    "switch it off with enabled: false and add a new stage",
                )
        kind, old_kind = given.get("kind"), old.mapping.get("kind")
        if kind is not None and old_kind is not None and kind.value != old_kind.value:
            return self.stripped(new)
        kept = dict(old.mapping)
        for each in given["reset"].items if "reset" in given else ():
            if each.text in ("id", "kind") or each.text not in kept:
                known = [key for key in kept if key not in ("id", "kind")]
                self.report(
                    "unknown-key",
                    f"`{each.value}` is not inherited, so there is nothing to reset",
                    each.pos,
                    near_or_all(str(each.value), known, "inherited are"),
                )
            else:
                del kept[each.text]
        for key, node in given.items():
            if key in MERGE_KEYS:
                continue
            before = kept.get(key)
            if key == "stages" and isinstance(node.value, list):
                kept[key] = self.stages(before, node, True, old)
            else:
                kept[key] = value(before, node) if before is not None else node
        return Node(kept, new.pos, new.key)

    def stripped(self, node: Node) -> Node:
        """A new stage without the keys that say how it is merged."""
        kept = {key: each for key, each in node.mapping.items() if key not in MERGE_KEYS}
        children = kept.get("stages")
        if children is not None and isinstance(children.value, list):
            kept["stages"] = self.stages(None, children, False, node)
        return Node(kept, node.pos, node.key)

    def fresh(
        self, node: Node, name: str, result: list[Node], extending: bool, base: Node | None
    ) -> tuple[int, Node] | None:
        """Where a new stage goes, and what it is; None if it cannot be one."""
        given = node.mapping
        where = given["id"].pos
        if "kind" not in given:
            self.lost.add(name)
            if extending:
                known = [each for each in map(stage_id, _all(base) if base else ()) if each]
                self.report(
                    "stage-id",
                    f"no stage `{name}` is inherited, and without a kind it is no new one",
                    where,
                    near_or_all(name, known, "inherited are"),
                )
            else:
                self.report(
                    "missing-key",
                    f"the stage `{name}` has no kind",
                    where,
                    "add `kind:`, for example kind: replace",
                )
            return None
        if "reset" in given:
            self.report(
                "place",
                f"`{name}` is new, so there is nothing to reset",
                given["reset"].key or given["reset"].pos,
                "remove `reset`",
            )
        fresh = self.stripped(node)
        if "before" in given and "after" in given:
            self.report(
                "one-of",
                "`before` and `after`; one place is enough",
                given["after"].key or given["after"].pos,
                "keep one of them",
            )
        for key, step in (("before", 0), ("after", 1)):
            if key not in given:
                continue
            target = given[key]
            for number, each in enumerate(result):
                if stage_id(each) == target.value:
                    return number + step, fresh
            known = [each for each in map(stage_id, result) if each]
            self.report(
                "unknown-stage",
                f"there is no stage `{target.value}` to stand {key}",
                target.pos,
                near_or_all(str(target.value), known),
            )
        return len(result), fresh


def _places(stages: list[Node]) -> dict[str, int]:
    """Where in a list of stages each id stands first."""
    found: dict[str, int] = {}
    for number, each in enumerate(stages):
        name = stage_id(each)
        if name is not None:
            found.setdefault(name, number)
    return found


def _type(value: object, unlimited: bool) -> str:
    if isinstance(value, bool):
        return "a boolean"
    return "a number" if isinstance(value, int | float) or (unlimited and value == "unlimited") else "a text"


def value(old: Node, new: Node) -> Node:
    """Mappings merge by key; everything else is replaced."""
    if not (isinstance(old.value, dict) and isinstance(new.value, dict)):
        return new
    merged = dict(old.value)
    for key, node in new.value.items():
        before = merged.get(key)
        merged[key] = value(before, node) if before is not None else node
    return Node(merged, new.pos, new.key)


def stage_id(node: Node) -> str | None:
    """The id of a stage, if it has a usable one."""
    found = node.mapping.get("id")
    return found.text if found is not None else None


def _all(stages: Node | None) -> Iterator[Node]:
    for each in stages.items if stages else ():
        yield each
        yield from _all(each.mapping.get("stages"))


def stages_of(root: Node) -> Iterator[tuple[Where, Node, Node | None]]:
    """Every stage with its path and its parent, parents first."""
    top = root.mapping.get("stages")
    for number, stage in enumerate(top.items if top else ()):
        yield ("stages", number), stage, None
        children = stage.mapping.get("stages")
        for count, child in enumerate(children.items if children else ()):
            yield ("stages", number, "stages", count), child, stage


def with_defaults(root: Node, keys_of: Mapping[str, Iterable[str]]) -> Node:
    """The pack with each child's share of its parent's ``defaults``; ``keys_of``: the keys of each kind."""
    top = root.mapping.get("stages")
    if top is None or not any("defaults" in each.mapping for each in top.items):
        return root
    stages = Node([_with_defaults(each, keys_of) for each in top.items], top.pos, top.key)
    return Node({**root.mapping, "stages": stages}, root.pos, root.key)


def _with_defaults(stage: Node, keys_of: Mapping[str, Iterable[str]]) -> Node:
    defaults, children = stage.mapping.get("defaults"), stage.mapping.get("stages")
    if defaults is None or children is None or not defaults.mapping:
        return stage
    done = []
    for child in children.items:
        kind = child.mapping.get("kind")
        keys = keys_of.get(kind.text or "", ()) if kind else ()
        chosen = _WRITERS & set(child.mapping)
        given = {
            key: node
            for key, node in defaults.mapping.items()
            if key in keys and key not in child.mapping and not (key in _WRITERS and chosen)
        }
        done.append(Node({**child.mapping, **given}, child.pos, child.key) if given else child)
    return Node({**stage.mapping, "stages": Node(done, children.pos, children.key)}, stage.pos, stage.key)


def set_value(root: Node, path: list[str], new: Node) -> Node:
    """The tree with ``new`` at ``path``: keys, list positions, and ids of stages wherever they are.

    Raises KeyError(part, the known ones) where the path leads nowhere.
    """
    if path[0] == "stages" and len(path) > 1:
        return _set_stage(root, path[1], path[2:], new)
    return _set(root, path, new)


def _set(node: Node, path: list[str], new: Node) -> Node:
    if not path:
        return value(node, new)
    part, rest = path[0], path[1:]
    if isinstance(node.value, list):
        if not (part.isascii() and part.isdecimal()) or int(part) >= len(node.value):
            raise KeyError(part, listed(str(number) for number in range(len(node.value))))
        parts = list(node.value)
        parts[int(part)] = _set(parts[int(part)], rest, new)
        return Node(parts, node.pos, node.key)
    if not isinstance(node.value, dict):
        raise KeyError(part, "")
    inner = node.value.get(part)
    if inner is None:
        for key in reversed(rest):
            new = Node({key: Node(new.value, new.pos, new.pos)}, new.pos, new.pos)
        changed = Node(new.value, new.pos, new.pos)
    else:
        changed = _set(inner, rest, new)
    return Node({**node.value, part: changed}, node.pos, node.key)


def _set_stage(root: Node, name: str, path: list[str], new: Node) -> Node:
    stages = root.mapping.get("stages")
    done, hit = [], False
    for each in stages.items if stages else ():
        if stage_id(each) == name:
            hit = True
            if path[:1] == ["stages"] and len(path) > 1:
                each = _set_stage(each, path[1], path[2:], new)
            else:
                each = _set(each, path, new)
        elif any(stage_id(child) == name for child in _all(each.mapping.get("stages"))):
            hit = True
            each = _set_stage(each, name, path, new)
        done.append(each)
    if not hit:
        known = [each for each in map(stage_id, _all(stages)) if each]
        raise KeyError(name, did_you_mean(name, known) or listed(known))
    assert stages is not None
    return Node({**root.mapping, "stages": Node(done, stages.pos, stages.key)}, root.pos, root.key)
