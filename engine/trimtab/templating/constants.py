"""Expressions of a template that read nothing, tried out when it is parsed: one that fails would always fail."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import nodes
from jinja2.exceptions import TemplateError
from jinja2.runtime import Context

from .filters import TooLong
from .problem import TemplateProblem
from .sandbox import Sandbox

_OPEN = object()
"""The value of what reads a variable, or is not looked into."""
_SIGNS: Mapping[type[nodes.Node], Callable[[Any], Any]] = {
    nodes.Neg: operator.neg,
    nodes.Pos: operator.pos,
    nodes.Not: operator.not_,
}
_ARITHMETIC = (nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod)
_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "gt": operator.gt,
    "gteq": operator.ge,
    "lt": operator.lt,
    "lteq": operator.le,
    "in": lambda left, right: left in right,
    "notin": lambda left, right: left not in right,
}


def try_constants(tree: nodes.Template, sandbox: Sandbox, file: str, line_offset: int = 0) -> None:
    """Work out every operator whose operands are constants. Filters are left to the rendering, which meters them.

    Raises TemplateProblem (``failed``) at the first that cannot be worked out.
    """

    nothing = Context(sandbox, {}, None, {})

    def value(node: nodes.Node) -> Any:
        inner = [value(child) for child in node.iter_child_nodes()]
        if isinstance(node, nodes.Const):
            return node.value
        if isinstance(node, nodes.Operand):
            return inner[0]
        if not isinstance(node, (*_ARITHMETIC, *_SIGNS, nodes.Compare)) or any(one is _OPEN for one in inner):
            return _OPEN
        try:
            return worked_out(node, inner)
        except (TooLong, TemplateError, TypeError, ValueError, ArithmeticError) as error:
            message, line = f"can never be rendered: {error}", (node.lineno or 1) + line_offset
            raise TemplateProblem("failed", message, file, line) from None

    def worked_out(node: nodes.Node, inner: list[Any]) -> Any:
        if isinstance(node, nodes.BinExpr):
            return sandbox.call_binop(nothing, node.operator, *inner)
        if isinstance(node, nodes.Compare):
            left = inner[0]
            for operand, right in zip(node.ops, inner[1:], strict=True):
                if not _COMPARISONS[operand.op](left, right):
                    return False
                left = right
            return True
        return _SIGNS[type(node)](inner[0])

    value(tree)
