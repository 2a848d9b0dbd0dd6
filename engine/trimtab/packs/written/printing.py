"""From a tree to its text: two spaces a level, one space where flow style needs one, lines broken as they were."""

from __future__ import annotations

from .tree import Collection, Entry, Leaf, Value, Written

STEP = 2
ALLOW = "trimtab:"
"""Begins a comment that silences a finding of its line."""
WIDTH = 120
"""Characters up to which a line is filled where the line breaks of a collection could not be kept."""


def print_written(written: Written) -> str:
    """The text of a tree, with one line break at its end."""
    lines = _without_double_blanks(written.header)
    lines = lines[1:] if lines[:1] == [""] else lines
    root = written.root
    if isinstance(root, Collection) and not root.flow:
        body = _block(root, 0)
        if not lines and body and not body[0]:
            body = body[1:]
        lines += body
    else:
        lines += _inline(root, 0, 0, 0).split("\n")
    lines += _without_double_blanks(written.footer)
    return "\n".join(lines) + "\n"


def _without_double_blanks(lines: list[str]) -> list[str]:
    return [line for number, line in enumerate(lines) if line or number == 0 or lines[number - 1]]


# --- block style


def _block(found: Collection, indent: int) -> list[str]:
    """The lines of a collection in block style."""
    space = " " * indent
    lines: list[str] = []
    before: Value | None = None
    for entry in found.entries:
        leading = list(entry.leading)
        nested = _is_block(entry.value)
        if found.is_map:
            assert entry.key is not None
            body = _below_key(entry, found, indent)
        elif nested:
            if entry.comment:
                leading.append(entry.comment.strip())
            inner = _block(entry.value, indent + STEP)  # type: ignore[arg-type]  # a collection, as `nested` says
            first = next(number for number, line in enumerate(inner) if line and not _is_comment(line))
            leading += [line.strip() for line in inner[:first]]
            body = [f"{space}- {inner[first].lstrip()}", *inner[first + 1 :]]
        else:
            body = _leafy(f"{space}-", entry, found, indent)
        leading = _without_double_blanks(_behind(before, leading))
        lines += [f"{space}{line}" if line else "" for line in leading]
        lines += body
        before = entry.value if not entry.tail else None
    footer = _behind(before, found.footer)
    lines += [f"{space}{line}" if line else "" for line in _without_double_blanks(footer)]
    return lines


def _behind(before: Value | None, lines: list[str]) -> list[str]:
    """Comments and blank lines behind a value; the first blank ones go where they would be part of its text."""
    number = 0
    if before is not None and _keeps_blanks(before):
        number = next((at for at, line in enumerate(lines) if line), len(lines))
    return lines[number:]


def _keeps_blanks(value: Value) -> bool:
    """Whether a text that keeps the blank lines below it (`|+`) ends the value."""
    if isinstance(value, Leaf):
        return value.source[:1] in ("|", ">") and "+" in value.source.split("\n")[0].split("#")[0]
    if value.flow or value.footer or not value.entries:
        return False
    return not value.entries[-1].tail and _keeps_blanks(value.entries[-1].value)


def _is_block(value: Value) -> bool:
    return isinstance(value, Collection) and not value.flow


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def _below_key(entry: Entry, found: Collection, indent: int) -> list[str]:
    assert entry.key is not None
    name = f"{' ' * indent}{entry.key.source}:"
    if not _is_block(entry.value):
        return _leafy(name, entry, found, indent)
    inner = _block(entry.value, indent + STEP)  # type: ignore[arg-type]  # a collection, as `_is_block` says
    return [name + entry.comment, *(inner if inner[0] else inner[1:])]


def _leafy(lead: str, entry: Entry, found: Collection, indent: int) -> list[str]:
    """The lines of a scalar or a collection in flow style behind its key or dash."""
    if entry.below:
        text = f"{lead}{entry.comment}\n" + " " * (indent + STEP)
        column = indent + STEP
    else:
        text, column = f"{lead} ", len(lead) + 1
    if ALLOW in entry.trailing and isinstance(entry.value, Collection) and not _keeps_breaks(entry.value):
        text += _one_line(entry.value)  # the comment is about this line, so what it is about stays on it
    else:
        text += _inline(entry.value, column, indent, indent - found.column)
    text += entry.trailing
    lines = text.split("\n")
    shift = indent - found.column
    return lines + [" " * max(indent + 1, at + shift) + line for at, line in entry.tail]


def _inline(value: Value, column: int, indent: int, shift: int) -> str:
    """A scalar or a collection in flow style that begins at ``column``.

    ``indent`` is that of the block around it, ``shift`` by how much that block has moved.
    """
    if isinstance(value, Leaf):
        return _shifted(value.source, indent, shift)
    if _keeps_breaks(value):
        return _as_broken(value, column, indent, shift)
    line = _one_line(value)
    if column + len(line) <= WIDTH or "\n" in line:
        return line
    return _filled(value, column)


def _shifted(source: str, indent: int, shift: int) -> str:
    """A scalar of several lines, all but the first moved along with the block around it."""
    if "\n" not in source or not shift:
        return source
    first, *rest = source.split("\n")
    moved = []
    for line in rest:
        bare = line.lstrip(" ")
        at = len(line) - len(bare)
        least = indent + 1 if bare else 0
        moved.append(" " * (max(least, at + shift) if at > 0 else 0) + bare)
    return "\n".join([first, *moved])


# --- flow style


def _keeps_breaks(value: Collection) -> bool:
    """Whether there is a line break in it that must or can stay."""
    return (
        value.closes >= 0
        or any(
            each.breaks
            or each.leading
            or each.trailing
            or (isinstance(each.value, Leaf) and "\n" in each.value.source)
            or (isinstance(each.value, Collection) and _keeps_breaks(each.value))
            for each in value.entries
        )
        or bool(value.footer)
    )


def _brackets(value: Collection) -> tuple[str, str]:
    return ("", "") if value.bare else ("{", "}") if value.is_map else ("[", "]")


def _key(entry: Entry) -> str:
    return f"{entry.key.source}: " if entry.key is not None else ""


def _one_line(value: Value) -> str:
    if isinstance(value, Leaf):
        return value.source
    left, right = _brackets(value)
    return left + ", ".join(_key(each) + _one_line(each.value) for each in value.entries) + right


def _filled(value: Value, column: int) -> str:
    """A collection over several lines, as few as fit."""
    if isinstance(value, Leaf) or value.bare:
        return _one_line(value)
    left, right = _brackets(value)
    text, at = left, column + 1
    last = len(value.entries) - 1
    for number, each in enumerate(value.entries):
        end = right if number == last else ","
        line = _key(each) + _one_line(each.value) + end
        lead = 1 if number else 0
        if at + lead + len(line) > WIDTH and number:
            text, at, lead = text + "\n" + " " * (column + 1), column + 1, 0
        if at + lead + len(line) > WIDTH:
            line = _key(each) + _filled(each.value, at + lead + len(_key(each))) + end
        text += " " * lead + line
        at = _end_column(text, column)
    return text


def _as_broken(value: Collection, column: int, indent: int, shift: int) -> str:
    """A collection with its line breaks where they were."""
    left, right = _brackets(value)
    hanging = bool(value.entries) and value.entries[0].breaks
    # What hangs below the bracket moves with it; what is indented by itself moves with the block.
    moved = shift if hanging else column - value.column
    text = left
    for number, each in enumerate(value.entries):
        forced = bool(each.leading) or "#" in _last(value, number)
        if each.breaks or forced:
            at = max(indent + 1, each.column + moved) if each.breaks else column + 1
            for line in (*each.leading, ""):
                text += "\n" + " " * at + line
        elif number:
            text += " "
        key = _key(each)
        start = _end_column(text, column) + len(key)
        text += key + _inline_kept(each.value, start, indent, moved if each.breaks or number == 0 else shift)
        text += "" if number == len(value.entries) - 1 else ","
        text += each.trailing
    for line in value.footer:
        text += "\n" + " " * (column + 1) + line
    if value.closes >= 0:
        text += "\n" + " " * max(min(indent + 1, value.closes), value.closes + moved)
    elif value.footer or "#" in _last(value, len(value.entries)):
        text += "\n" + " " * (column + 1)  # a comment must not swallow the bracket
    return text + right


def _last(value: Collection, number: int) -> str:
    return value.entries[number - 1].trailing if number else ""


def _inline_kept(value: Value, column: int, indent: int, shift: int) -> str:
    if isinstance(value, Leaf):
        return _shifted(value.source, indent, shift)
    return _as_broken(value, column, indent, shift) if _keeps_breaks(value) else _one_line(value)


def _end_column(text: str, column: int) -> int:
    """The column behind a text that began at ``column``."""
    last = text.rfind("\n")
    return column + len(text) if last < 0 else len(text) - last - 1
