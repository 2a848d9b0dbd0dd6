"""A resolved pack as YAML that can be read again, each line with the place its value comes from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from .merge import stage_id
from .nodes import Node
from .problems import Position
from .schema import pack_schema
from .sources import Resolved

T = TypeVar("T")

WIDTH = 100
"""Characters up to which a mapping or list stands on one line."""
MOST = 4
"""Places named on one line."""
_PLAIN = re.compile(r"[A-Za-z0-9_(](?:[A-Za-z0-9_ ()*/.<>=+@-]*[A-Za-z0-9_)])?")
_ODD = re.compile(r"[\x7f-\xa0\ud800-\udfff\u2028\u2029\ufeff\ufffe\uffff]")


def resolved_yaml(resolved: Resolved, provenance: bool = True) -> str:
    """The merged pack, `extends` worked in; with ``provenance`` comments say where each value comes from."""
    kept = in_order(resolved.root.mapping)
    main = next(iter(resolved.documents), "")
    lines = list(_mapping(Node(kept, resolved.root.pos), 0))
    if not provenance:
        return "".join(f"{text}\n" for text, _ in lines)
    column = min(max((len(text) for text, _ in lines), default=0), WIDTH) + 2
    shown = []
    for text, node in lines:
        places = _places(node) if not text.endswith(":") else [node.key or node.pos]
        where = dict.fromkeys(
            str(pos.line) if pos.file == main else f"{pos.file}:{pos.line}" for pos in places
        )
        shown.append(
            f"{text:<{column}} # {', '.join(list(where)[:MOST])}{' …' if len(where) > MOST else ''}\n"
        )
    return f"# the numbers are lines of {main}\n" + "".join(shown)


def in_order(pack: Mapping[str, T]) -> dict[str, T]:
    """The top level of a merged pack in the order of the language, what was worked in (`extends`) left out."""
    known = [key for key in pack_schema()["properties"] if key in pack]
    return {key: pack[key] for key in dict.fromkeys([*known, *pack]) if key != "extends"}


def _places(node: Node) -> list[Position]:
    """The places of the values in a node that stands on one line."""
    inner = [each for _, each in node.walk() if not isinstance(each.value, dict | list)]
    return [each.pos for each in inner] or [node.key or node.pos]


def _is_mixed(node: Node) -> bool:
    """Whether one comment cannot say where everything in a node comes from: several files, or very many lines."""
    places = _places(node)
    return len({pos.file for pos in places}) > 1 or len({pos.line for pos in places}) > MOST


def places(resolved: Resolved) -> dict[str, str]:
    """The place (``file:line:column``) of every single value of the merged pack, by its dotted path.

    Stages go by their ids wherever they are (`stages.compact.keep.newest.turns`), entries of lists by number.
    """
    found: dict[str, str] = {}

    def visit(node: Node, path: str) -> None:
        name = stage_id(node)
        if isinstance(node.value, dict) and name is not None and "kind" in node.value:
            path = f"stages.{name}"
        if isinstance(node.value, dict | list) and node.value:
            inner = node.value.items() if isinstance(node.value, dict) else enumerate(node.value)
            for key, each in inner:
                visit(each, f"{path}.{key}" if path else str(key))
        else:
            found[path] = f"{node.pos.file}:{node.pos.line}:{node.pos.column}"

    for key, node in resolved.root.mapping.items():
        if key != "extends":
            visit(node, key)
    return found


def _mapping(node: Node, indent: int, first: str = "") -> Iterator[tuple[str, Node]]:
    """Lines of a block mapping; ``first`` opens the first one."""
    space = " " * indent
    for number, (key, each) in enumerate(node.mapping.items()):
        lead = (first or space) if number == 0 else space
        name = scalar(key)
        short = flow(each.plain())
        block = (
            isinstance(each.value, dict | list)
            and each.value
            and (indent == 0 or len(short) + indent + len(name) > WIDTH or _is_mixed(each))
        )
        if not block:
            yield f"{lead}{name}: {short}", each
            continue
        yield f"{lead}{name}:", each
        yield from _mapping(each, indent + 2) if isinstance(each.value, dict) else _list(each, indent + 2)


def _list(node: Node, indent: int) -> Iterator[tuple[str, Node]]:
    space = " " * indent
    for each in node.items:
        short = flow(each.plain())
        if (
            isinstance(each.value, dict)
            and each.value
            and (len(short) + indent > WIDTH or "kind" in each.value or _is_mixed(each))
        ):
            yield from _mapping(each, indent + 2, f"{space}- ")
        elif isinstance(each.value, list) and each.value and len(short) + indent > WIDTH:
            yield f"{space}-", each
            yield from _list(each, indent + 2)
        else:
            yield f"{space}- {short}", each


def flow(value: Any) -> str:
    """Plain data on one line, in flow style; it reads back as itself."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(key)}: {flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    return scalar(value)


def scalar(value: str | int | float | bool) -> str:
    """A scalar that reads back as itself; texts are quoted where YAML would take them for something else."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if _PLAIN.fullmatch(value) and "  " not in value and _is_text(value):
        return value
    quoted = json.dumps(value, ensure_ascii=False)
    return _ODD.sub(lambda found: f"\\u{ord(found.group()):04x}", quoted)


def _is_text(value: str) -> bool:
    """Whether the plain scalar is a text in every version of YAML."""
    if re.match(r"[-+0-9.]", value) and re.fullmatch(r"[-+0-9._:eExXoOabcdefABCDEF]+", value):
        return False
    return value.casefold() not in ("true", "false", "null", "on", "off", "yes", "no", "y", "n")
