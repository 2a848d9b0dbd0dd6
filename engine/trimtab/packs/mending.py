"""Changes of a text that mend what keeps it from being read, where nobody can mean anything else."""

from __future__ import annotations

from collections.abc import Sequence

from .problems import Edit, Position

INDENT = "  "
"""What a tab in the indentation becomes: the step of every pack that ships."""


def without_tabs(name: str, lines: Sequence[str]) -> tuple[Edit, ...]:
    """Spaces for the tabs in front of each line's first word; a tab further on may be part of a text."""
    return tuple(
        Edit(name, number, column, 1, INDENT)
        for number, line in enumerate(lines, 1)
        for column, sign in enumerate(line[: len(line) - len(line.lstrip(" \t"))], 1)
        if sign == "\t"
    )


def in_quotes(start: Position, line: str) -> tuple[Edit, ...]:
    """Quotes around the expression that begins here, if it ends on its line with its last parenthesis."""
    depth = 0
    for at in range(start.column - 1, len(line)):
        sign = line[at]
        if sign in "\"'#\\[]{}":
            return ()
        depth += (sign == "(") - (sign == ")")
        if depth < 0:
            return ()
        # Behind the last parenthesis only what ends the value may follow: `min(a, b) * 2` is one expression.
        if depth == 0 and sign == ")" and line[at + 1 :].lstrip()[:1] in (",", "}", "]"):
            text = line[start.column - 1 : at + 1]
            return (Edit(start.file, start.line, start.column, len(text), f'"{text}"'),)
    return ()
