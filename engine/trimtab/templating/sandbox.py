"""A Jinja2 environment in which templates only read plain data, and the check of what they are made of."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jinja2 import StrictUndefined, Template, nodes, pass_context
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import missing
from jinja2.visitor import NodeTransformer

from .filters import FILTERS, MAX_TEXT, TESTS, TooLong, joined, shown
from .problem import TemplateProblem

MAX_WORK = 4_000_000
"""Characters read or written and steps taken in one rendering; 100,000 turns of an empty loop."""
TURN = 40
"""Work of one turn of a loop, besides the text in it."""
BUDGET = "_work"
"""The variable that holds the work left; no template can name it."""
MAX_FACTOR = 10**15
LOOP_FIELDS = frozenset(
    {"index", "index0", "revindex", "revindex0", "first", "last", "length", "previtem", "nextitem"}
)


class Missing(StrictUndefined):
    """Says what is missing and what is there instead."""

    __slots__ = ()

    @property
    def _undefined_message(self) -> str:
        name = self._undefined_name
        if isinstance(self._undefined_obj, Mapping):
            known = ", ".join(sorted(map(str, self._undefined_obj))[:12]) or "no field at all"
            return f"there is no field {name} here; there is {known}"
        if self._undefined_obj is missing:
            return f"nothing here is called {name}"
        return f"a value of type {type(self._undefined_obj).__name__} has no field {name}"


def spend(context: Context, amount: int) -> None:
    """Take from the work left to this rendering. Raises TooLong when nothing is left."""
    left = context.get(BUDGET)
    if left is not None:
        left[0] -= amount
        if left[0] < 0:
            raise TooLong("the template works without end; loop over less")


@pass_context
def _finalize(context: Context, value: Any) -> str:
    text = shown(value)
    spend(context, len(text))
    return text


@pass_context
def _turns(context: Context, value: Any, static: int) -> list[Any]:
    if isinstance(value, StrictUndefined):
        return list(value)
    listed = list(value)
    spend(context, len(listed) * (TURN + static))
    return listed


def _metered(function: Callable[..., Any]) -> Callable[..., Any]:
    @pass_context
    def run(context: Context, value: Any, *args: Any, **kwargs: Any) -> Any:
        if type(value) is str or type(value) is list:
            spend(context, len(value))
        return function(value, *args, **kwargs)

    return run


class Sandbox(ImmutableSandboxedEnvironment):
    """Mappings give their keys, lists and texts their elements; nothing has attributes or can be called."""

    intercepted_binops = frozenset({"+", "*", "%", "-", "/", "//"})

    def __init__(self, load: Callable[[str], Template]) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=False,
            undefined=Missing,
            finalize=_finalize,
            optimized=False,
            cache_size=0,
        )
        self._load = load
        self.globals.clear()
        self.filters.clear()
        self.filters.update({name: _metered(function) for name, function in FILTERS.items()})
        self.filters.update({"_turns": _turns, "_joined": joined})
        self.tests = {name: test for name, test in self.tests.items() if name in TESTS}

    def get_template(self, name: Any, parent: Any = None, globals: Any = None) -> Template:
        return self._load(str(name))

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, Mapping):
            try:
                return obj[attribute]
            except KeyError:
                return self.undefined(obj=obj, name=attribute)
        if isinstance(obj, LoopContext) and attribute in LOOP_FIELDS:
            return getattr(obj, attribute)
        return self.undefined(obj=obj, name=attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        if isinstance(obj, Mapping):
            try:
                return obj[argument]
            except (KeyError, TypeError):
                return self.undefined(obj=obj, name=str(argument))
        if isinstance(obj, str | list | tuple) and isinstance(argument, int | slice):
            try:
                return obj[argument]
            except IndexError:
                return self.undefined(obj=obj, name=str(argument))
        return self.undefined(obj=obj, name=str(argument))

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        return False

    def is_safe_callable(self, obj: Any) -> bool:
        return False

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "+" and isinstance(left, str) and isinstance(right, str):
            if len(left) + len(right) > MAX_TEXT:
                raise TooLong(f"a text of over {MAX_TEXT} characters")
            return left + right
        for operand in (left, right):
            if isinstance(operand, StrictUndefined):
                str(operand)
            if not isinstance(operand, int | float):
                raise TypeError(f"{operator} takes numbers, not {type(operand).__name__}")
            if isinstance(operand, int) and abs(operand) > MAX_FACTOR:
                raise TooLong("a number beyond all use")
        return super().call_binop(context, operator, left, right)


_PLAIN: tuple[type[nodes.Node], ...] = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Const, nodes.Getattr, nodes.Getitem,
    nodes.Slice, nodes.Filter, nodes.Test, nodes.If, nodes.For, nodes.Assign, nodes.Compare, nodes.Operand,
    nodes.And, nodes.Or, nodes.Not, nodes.CondExpr, nodes.Add, nodes.Sub, nodes.Mul, nodes.Div,
    nodes.FloorDiv, nodes.Mod, nodes.Neg, nodes.Pos, nodes.Concat, nodes.List, nodes.Tuple, nodes.Keyword,
    nodes.Include, nodes.FilterBlock,
)  # fmt: skip
_HINTS: Mapping[str, str] = {
    "Call": "use a filter: {{ value | filter }}",
    "Macro": "put the text into a file of its own and include it",
    "CallBlock": "put the text into a file of its own and include it",
    "Import": "use {% include %}",
    "FromImport": "use {% include %}",
    "Extends": "use {% include %}",
    "Block": "use {% include %}",
    "AssignBlock": "set a value, or include a file",
    "Dict": "let the engine or a fact give the data",
    "Pow": "multiply",
}
_NAMES = frozenset({"self", "super", "varargs", "kwargs"})
MAX_NESTED = 16
"""Loops and conditions inside one another; Python itself allows twenty blocks."""


MAX_EXPRESSION = 60
"""Operators and filters inside one another; each is one or two parentheses, and Python allows two hundred."""


def too_deep(node: nodes.Node, depth: int = 0, within: int = 0) -> bool:
    """Whether loops and conditions stand inside one another more than ``MAX_NESTED`` deep, or operators and
    filters more than ``MAX_EXPRESSION``.
    """
    if isinstance(node, nodes.For | nodes.If | nodes.FilterBlock):
        depth += 1
    within = within + 1 if isinstance(node, nodes.Expr) else 0
    if depth > MAX_NESTED or within > MAX_EXPRESSION:
        return True
    return any(too_deep(child, depth, within) for child in node.iter_child_nodes())


def inspect(tree: nodes.Template, file: str, line_offset: int = 0) -> None:
    """Raises TemplateProblem at the first construct that templates do not have."""

    def refuse(node: nodes.Node, message: str, hint: str | None = None) -> TemplateProblem:
        return TemplateProblem("refused", message, file, (node.lineno or 1) + line_offset, hint)

    def near(name: str, known: Mapping[str, Any] | frozenset[str]) -> str:
        close = difflib.get_close_matches(name, known, 1)
        return f"did you mean {close[0]}?" if close else "there are " + ", ".join(sorted(known))

    for node in _walk(tree):
        kind = type(node).__name__
        if type(node) not in _PLAIN:
            what = "templates call nothing" if kind == "Call" else f"templates have no {kind.lower()}"
            raise refuse(node, what, _HINTS.get(kind))
        if isinstance(node, nodes.Name) and (node.name.startswith("_") or node.name in _NAMES):
            raise refuse(node, f"{node.name} is not a name for templates")
        if isinstance(node, nodes.Getattr) and node.attr.startswith("_"):
            raise refuse(node, f"{node.attr} is not a field for templates")
        if isinstance(node, nodes.Filter | nodes.Test) and (node.dyn_args or node.dyn_kwargs):
            raise refuse(node, "arguments are written one by one")
        if isinstance(node, nodes.Filter) and node.name not in FILTERS:
            raise refuse(node, f"there is no filter {node.name}", near(node.name, FILTERS))
        if isinstance(node, nodes.Test) and node.name not in TESTS:
            raise refuse(node, f"there is no test {node.name}", near(node.name, TESTS))
        if isinstance(node, nodes.List | nodes.Tuple) and getattr(node, "ctx", "load") == "load":
            # Lists of lists of one variable double with every line; what holds one thing does not.
            odd = [item for item in node.items if not isinstance(item, nodes.Const)]
            if odd and len(node.items) > 1:
                raise refuse(odd[0], "a list in a template holds plain values only")
        if isinstance(node, nodes.For) and node.recursive:
            raise refuse(node, "templates have no recursive loops")
        if isinstance(node, nodes.Include):
            if not isinstance(node.template, nodes.Const) or not isinstance(node.template.value, str):
                raise refuse(node, "an include names one file, in quotes")
            if node.ignore_missing or not node.with_context:
                raise refuse(node, "an include has no options")


def _walk(node: nodes.Node) -> Iterator[nodes.Node]:
    yield node
    for child in node.iter_child_nodes():
        yield from _walk(child)


def static_length(tree: nodes.Node, length_of: Callable[[str], int]) -> int:
    """Characters of fixed text below a node, with that of the templates it includes."""
    length = sum(len(data.data) for data in tree.find_all(nodes.TemplateData))
    for include in tree.find_all(nodes.Include):
        if isinstance(include.template, nodes.Const):
            length += length_of(include.template.value)
    return length


class Metering(NodeTransformer):
    """Puts the meters in: loops pay for their turns, ``~`` for its length.

    ``length_of`` gives the fixed text of a template by name.
    """

    def __init__(self, length_of: Callable[[str], int]) -> None:
        self._length_of = length_of

    def visit_For(self, node: nodes.For) -> nodes.Node:
        static = static_length(node, self._length_of)
        self.generic_visit(node)
        arguments: list[nodes.Expr] = [nodes.Const(static, lineno=node.lineno)]
        node.iter = nodes.Filter(node.iter, "_turns", arguments, [], None, None, lineno=node.lineno)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        self.generic_visit(node)
        parts = nodes.List(node.nodes, lineno=node.lineno)
        return nodes.Filter(parts, "_joined", [], [], None, None, lineno=node.lineno)
