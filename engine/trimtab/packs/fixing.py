"""`check --fix`: mistakes mended in the text itself, where only one thing can have been meant.

Comments and layout stay, as only the characters at fault change. Each step is read again: it counts only if the
mistake is gone and nothing else says something new.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .document import LINES, parse_document
from .formatting import read_again, same
from .load import check_text
from .nodes import Node
from .problems import Edit, PackError, Problem
from .sources import TEMPLATES

ROUNDS = 50
"""A text that is no YAML is told of one mistake at a time."""


def fixed(text: str, name: str) -> tuple[str, tuple[str, ...]]:
    """The text of the pack ``name`` (a path) with what can safely be mended, and what was done, one line each."""
    done: list[str] = []
    refused: set[tuple[Edit, ...]] = set()
    for _ in range(ROUNDS):
        problem = next((each for each in _mendable(text, name) if each.edits not in refused), None)
        if problem is None:
            break
        after = applied(text, problem.edits)
        if _is_better(text, after, name, problem):
            text = after
            done.append(_said(problem))
        else:
            refused.add(problem.edits)
    return text, tuple(done)


def _mendable(text: str, name: str) -> list[Problem]:
    report = check_text(text, name, [Path(name).parent / TEMPLATES])
    return [each for each in report.problems if each.edits and all(edit.file == name for edit in each.edits)]


def applied(text: str, edits: Sequence[Edit]) -> str:
    """The text with all edits made, none of which may overlap another."""
    starts = [0, *(match.end() for match in re.finditer(LINES, text))]
    for edit in sorted(edits, key=lambda each: (each.line, each.column), reverse=True):
        at = starts[edit.line - 1] + edit.column - 1
        text = text[:at] + edit.text + text[at + edit.width :]
    return text


def _is_better(before: str, after: str, name: str, problem: Problem) -> bool:
    """Whether the mistake is gone, and the text says the same but for what was mended."""
    place = (problem.code, problem.line, problem.column)
    if any((each.code, each.line, each.column) == place for each in _all(after, name)):
        return False
    try:
        old = parse_document(before, name).root
    except PackError:
        return True  # it said nothing
    return same(_expected(old, problem), read_again(after, name))


def _all(text: str, name: str) -> tuple[Problem, ...]:
    return check_text(text, name, [Path(name).parent / TEMPLATES]).problems


def _expected(root: Node, problem: Problem) -> Any:
    """The data with the key at fault called what it was meant to be, or with an empty list of stages."""
    if problem.code in ("one-of", "missing-key"):
        data = root.plain()
        return {**data, "stages": []} if isinstance(data, dict) else None
    (edit,) = problem.edits
    return _renamed(root, edit)


def _renamed(node: Node, edit: Edit) -> Any:
    if isinstance(node.value, list):
        return [_renamed(each, edit) for each in node.items]
    if not isinstance(node.value, dict):
        return node.value
    return {
        edit.text if each.key and _stands_at(each, edit) else key: _renamed(each, edit)
        for key, each in node.mapping.items()
    }


def _stands_at(node: Node, edit: Edit) -> bool:
    key = node.key
    return key is not None and (key.line, key.column + key.lead) == (edit.line, edit.column)


def _said(problem: Problem) -> str:
    place = f"{problem.file}:{problem.line}:{problem.column}"
    return f"{place}: {problem.message} [{problem.code}] → {problem.edits[0].text.strip() or 'spaces'}"
