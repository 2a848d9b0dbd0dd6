"""`fmt`: a pack written in the order and with the spaces of every other pack; its meaning never changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .document import MAX_BYTES, parse_document
from .problems import PackError, Problem
from .written.order import put_in_order
from .written.printing import print_written
from .written.reading import read_written
from .written.tree import Unwritable, Written


def formatted(text: str, name: str) -> str:
    """The text of a pack in its stable form: keys in order, comments and quotes kept, line breaks as they were.

    What has been formatted stays as it is. Raises PackError for a text the strict reader refuses, and for one
    whose layout cannot be kept.
    """
    before = parse_document(text, name).data
    written = tree_of(text, name)
    put_in_order(written)
    after = printed(written, text)
    if not same(before, read_again(after, name)):
        raise _unwritable("its layout is so unusual that formatting would change what it says", name, 1)
    return after


def tree_of(text: str, name: str) -> Written:
    """The text as a tree that can be changed and printed. Raises PackError."""
    try:
        return read_written(text.replace("\r\n", "\n"))
    except Unwritable as error:
        raise _unwritable(error.message, name, error.line) from None


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


def read_text(path: Path) -> str:
    """The text of a pack's file, its line ends as they are. Raises PackError, OSError."""
    raw = path.read_bytes()
    if len(raw) > MAX_BYTES:
        raise PackError([Problem("too-large", f"more than {MAX_BYTES:,} bytes", str(path))])
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        hint = "save the file as UTF-8"
        raise PackError([Problem("encoding", "not UTF-8", str(path), hint=hint)]) from None


def _unwritable(message: str, name: str, line: int) -> PackError:
    hint = "write it in plain block style; `trimtab show --resolved` shows how"
    return PackError([Problem("layout", message, name, line, 1, hint=hint)])
