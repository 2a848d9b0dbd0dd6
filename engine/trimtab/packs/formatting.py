"""`fmt`: a pack written in the order and with the spaces of every other pack; its meaning never changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .document import LINES, parse_document
from .nodes import Document, Node
from .problems import PackError, Problem, problem_at
from .written.order import put_in_order
from .written.printing import print_written
from .written.reading import read_written
from .written.tree import Collection, Entry, Unwritable, Value, Written


def formatted(text: str, name: str) -> str:
    """The text of a pack in its stable form: keys in order, comments and quotes kept, line breaks as they were.

    What has been formatted stays as it is. Raises PackError for a text the strict reader refuses, and for one
    whose layout cannot be kept.
    """
    before = parse_document(text, name)
    written = tree_of(text, name)
    put_in_order(written)
    after = printed(written, text)
    if not same(before.data, read_again(after, name)):
        raise PackError([_not_kept(tree_of(text, name).root, before)])
    return after


def tree_of(text: str, name: str) -> Written:
    """The text as a tree that can be changed and printed. Raises PackError."""
    try:
        return read_written(text.replace("\r\n", "\n"))
    except Unwritable as error:
        problem = Problem("layout", error.message, name, error.line, error.column, hint=error.hint)
        source = LINES.split(text)[error.line - 1]
        raise PackError([replace(problem, source=source)]) from None


def printed(written: Written, like: str) -> str:
    """The tree as text, with the line ends of the text ``like``."""
    text = print_written(written)
    first = like.find("\n")
    return text.replace("\n", "\r\n") if first > 0 and like[first - 1] == "\r" else text


def read_again(text: str, name: str) -> Any:
    """What a text that was printed says, or None where it cannot be read."""
    try:
        return parse_document(text, name).data
    except PackError:
        return None


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal in every type; the order of keys counts for nothing."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(each, other[key]) for key, each in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def _not_kept(value: Value, document: Document) -> Problem:
    """Where the text stands that would not say the same again: the innermost value that does not by itself."""
    node, key = document.root, ""
    while isinstance(value, Collection):
        inner = node.mapping.values() if value.is_map else node.items
        pairs = zip(value.entries, inner, strict=True)
        found = next(((entry, each) for entry, each in pairs if not _survives(value, entry, each)), None)
        if found is None:
            break
        key = found[0].name or key
        value, node = found[0].value, found[1]
    what = f"the value of `{key}`" if key else "it"
    message = f"{what} is laid out in a way that formatting could not keep: it would say something else"
    hint = "write it on one line, in double quotes, or in block style with two spaces a level"
    return problem_at(node.key or node.pos, "layout", message, hint, document.line(node.pos.line))


def _survives(found: Collection, entry: Entry, node: Node) -> bool:
    """Whether an entry alone reads back as what it says."""
    alone = replace(found, entries=[entry], footer=[])
    again = read_again(print_written(Written(alone, [], [])), "")
    return same(again, {entry.name: node.plain()} if found.is_map else [node.plain()])
