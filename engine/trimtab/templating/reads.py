"""What a template reads from outside, told from its syntax."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from jinja2 import nodes

Path_: TypeAlias = tuple[str, ...]
"""A variable and the fields read from it: ``("limits", "auto")``."""


def _path(node: nodes.Node) -> Path_ | None:
    """The dotted path a node reads, if it is one."""
    if isinstance(node, nodes.Name):
        return (node.name,)
    if isinstance(node, nodes.Getattr):
        before = _path(node.node)
        return (*before, node.attr) if before else None
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
        before = _path(node.node)
        return (*before, node.arg.value) if before and isinstance(node.arg.value, str) else None
    return None


def uses_of(
    tree: nodes.Template, included: Callable[[str, int], Iterable[tuple[Path_, bool]]]
) -> dict[Path_, tuple[int, bool]]:
    """What the template and those it includes read from outside: first line, and whether it must be there."""
    found: dict[Path_, tuple[int, bool]] = {}
    guards: set[Path_] = set()

    def add(path: Path_, line: int, needed: bool, local: frozenset[str]) -> None:
        if path[0] not in local:
            first, before = found.get(path, (line, False))
            found[path] = first, before or (needed and path not in guards)

    def visit(node: nodes.Node, local: frozenset[str]) -> frozenset[str]:
        """The names that are local behind the node."""
        path = _path(node)
        if path:
            add(path, node.lineno, True, local)
            return local
        if isinstance(node, nodes.Filter | nodes.Test) and node.name in ("default", "defined"):
            guarded = _path(node.node) if node.node is not None else None
            if guarded:
                add(guarded, node.lineno, False, local)
                for argument in node.args:
                    visit(argument, local)
                return local
        if isinstance(node, nodes.Include) and isinstance(node.template, nodes.Const):
            for read, needed in included(node.template.value, node.lineno):
                add(read, node.lineno, needed, local)
            return local
        if isinstance(node, nodes.Assign):
            visit(node.node, local)
            return local | {name.name for name in _named(node.target)}
        if isinstance(node, nodes.For):
            visit(node.iter, local)
            inner = local | {name.name for name in _named(node.target)} | {"loop"}
            if node.test:
                visit(node.test, inner)
            body(node.body, inner)
            body(node.else_, local)
            return local
        if isinstance(node, nodes.CondExpr):
            visit(node.test, local)
            with_guards([node.expr1], node.test, local)
            body([node.expr2] if node.expr2 else [], local)
            return local
        if isinstance(node, nodes.If):
            visit(node.test, local)
            ends = [with_guards(node.body, node.test, local)]
            ends += [body(part, local) for part in (list(node.elif_), node.else_)]
            # A name set in one branch only is still read from outside where the branch is not taken.
            return local | (ends[0] & ends[2]) if node.else_ else local
        children = local
        for child in node.iter_child_nodes():
            children = visit(child, children)
        return children if isinstance(node, nodes.Template) else local

    def body(parts: Sequence[nodes.Node], local: frozenset[str]) -> frozenset[str]:
        for part in parts:
            local = visit(part, local)
        return local

    def with_guards(parts: Sequence[nodes.Node], test: nodes.Node, local: frozenset[str]) -> frozenset[str]:
        """A branch taken only where the names its test asks about are there."""
        new = {path for asked in _asked(test) if (path := _path(asked))} - guards
        guards.update(new)
        local = body(parts, local)
        guards.difference_update(new)
        return local

    visit(tree, frozenset())
    return found


def _asked(test: nodes.Node) -> Iterator[nodes.Node]:
    """What a test reads through ``default`` or ``is defined``."""
    for node in [test, *test.find_all((nodes.Filter, nodes.Test))]:
        if isinstance(node, nodes.Filter | nodes.Test) and node.name in ("default", "defined") and node.node:
            yield node.node


def _named(target: nodes.Node) -> Iterator[nodes.Name]:
    if isinstance(target, nodes.Name):
        yield target
    yield from target.find_all(nodes.Name)


def parts_of(tree: nodes.Template) -> tuple[str | Path_, ...] | None:
    """Text and paths of a template without logic, which needs no Jinja2 to be filled."""
    parts: list[str | Path_] = []
    for output in tree.body:
        if not isinstance(output, nodes.Output):
            return None
        for node in output.nodes:
            part = node.data if isinstance(node, nodes.TemplateData) else _path(node)
            if part is None:
                return None
            parts.append(part)
    return tuple(parts)
