"""From a text to its tree. What the strict reader refuses never comes here."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from .tree import Collection, Entry, Leaf, Unwritable, Value, Written

_TOKEN = re.compile(r"#[^\n]*|\n|[ \t]+|.", re.DOTALL)
_END_OF_LINE = re.compile(r"[ \t]*(#[^\n]*)?(?=\n|\Z)")
_ODD_BREAK = re.compile("[\r\x85\u2028\u2029]")
_ABOVE = re.compile(r"#.*|%.*|---([ \t]+#.*)?|")
_BELOW = re.compile(r"#.*|\.\.\.([ \t]+#.*)?|")


def read_written(text: str) -> Written:
    """The tree of a text that the strict reader accepts. Raises Unwritable."""
    reader = _Reader(text)
    odd = _ODD_BREAK.search(text)
    if odd is not None:
        hint = "end lines with a line feed; inside a text write it as an escape in double quotes"
        raise reader.fail(f"a line break of another kind (U+{ord(odd.group()):04X})", odd.start(), hint)
    # The parser of the strict reader: the two that PyYAML has do not accept quite the same.
    loader: Any = yaml.CBaseLoader if yaml.__with_libyaml__ else yaml.BaseLoader
    try:
        node = yaml.compose(text, Loader=loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        at = reader.offset(mark) if mark is not None else 0
        raise reader.fail(f"no YAML: {getattr(error, 'problem', error)}", at, "see `trimtab check`") from None
    assert node is not None
    return reader.whole(node)


@dataclass(slots=True)
class _Gap:
    """What stands between two values: comments and blank lines."""

    first: str = ""  # the comment on the line where the gap begins
    spaces: str = ""  # in front of it
    lines: list[str] = field(default_factory=list)  # comments below it; an empty one is a blank line
    breaks: bool = False


class _Reader:
    """Walks the nodes in the order of the text; ``at`` is how far it has come."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines = [0, *(match.end() for match in re.finditer("\n", text))]

    def offset(self, mark: Any) -> int:
        """Where a mark of the parser is in the text; of its own counts only line and column are characters."""
        line = min(int(mark.line), len(self.lines) - 1)
        return min(self.lines[line] + int(mark.column), len(self.text))

    def whole(self, node: Any) -> Written:
        start = self.offset(node.start_mark)
        *lines, rest = self.text[:start].split("\n")
        # A value behind its `---` goes to a line of its own.
        header = self.around([*lines, rest] if rest.strip() else lines, 0, _ABOVE)
        self.at = start
        value = self.value(node, -1)
        is_block = isinstance(value, Collection) and not value.flow
        rest = "" if is_block else self.rest_of_line().strip()
        if self.at < len(self.text) and self.text[self.at] == "\n":
            self.at += 1
        footer = self.around(self.text[self.at :].split("\n"), self.at, _BELOW)
        footer = [rest, *footer] if rest else footer
        while footer and not footer[-1]:
            del footer[-1]
        if isinstance(value, Collection) and is_block:
            value.footer += footer
            footer = []
        return Written(value, header, footer)

    def around(self, lines: list[str], at: int, known: re.Pattern[str]) -> list[str]:
        """The lines above or below the value, of which the first begins at ``at``; all have to be ``known``."""
        for line in lines:
            if not known.fullmatch(line.strip()):
                raise self.unknown(at + len(line) - len(line.lstrip()))
            at += len(line) + 1
        return [line.strip() for line in lines]

    def fail(self, message: str, at: int, hint: str) -> Unwritable:
        return Unwritable(message, self.text.count("\n", 0, at) + 1, self.column(at) + 1, hint)

    def unknown(self, at: int) -> Unwritable:
        """What stands where only comments and blank lines are expected."""
        found = self.text[at]
        if found == "?":
            return self.fail("a key written with `?`", at, "write `key: value`, a long key in quotes")
        where = "where only a comment or a blank line can be kept"
        return self.fail(
            f"`{found}` stands {where}", at, "write each key on a line of its own, in block style"
        )

    def column(self, at: int) -> int:
        return at - (self.text.rfind("\n", 0, at) + 1)

    def gap(self, end: int, allowed: str = "") -> _Gap:
        """What stands from here to ``end``; ``allowed`` is the sign of YAML that may be among it."""
        found = _Gap()
        spaces, empty = "", False
        for match in _TOKEN.finditer(self.text, self.at, end):
            token = match.group()
            if token == "\n":
                if empty:
                    found.lines.append("")
                empty, found.breaks = True, True
                spaces = ""
            elif token[0] in " \t":
                spaces = token
            elif token[0] == "#":
                if found.breaks:
                    found.lines.append(token.rstrip())
                else:
                    found.first, found.spaces = token.rstrip(), spaces
                empty = False
            elif token == allowed:
                empty = False
            else:
                raise self.unknown(match.start())
        self.at = end
        return found

    def rest_of_line(self) -> str:
        """The comment behind a value, with the spaces before it."""
        match = _END_OF_LINE.match(self.text, self.at)
        if match is None:
            return ""
        self.at = match.end()
        return match.group().rstrip()

    def below(self, column: int, direct: bool) -> list[tuple[int, str]]:
        """Comment lines from here on that are indented deeper than ``column``.

        ``direct``: up to the first blank line; otherwise blank lines between them are taken along.
        """
        taken: list[tuple[int, str]] = []
        blank = 0
        at = self.at
        while at < len(self.text) and self.text[at] == "\n":
            end = self.text.find("\n", at + 1)
            line = self.text[at + 1 : end if end >= 0 else len(self.text)]
            words = line.strip()
            if not words and not direct and end >= 0:
                blank += 1
                at = end
                continue
            indent = len(line) - len(line.lstrip())
            if not words.startswith("#") or indent <= column:
                break
            taken += [(0, "")] * blank + [(indent, words)]
            blank = 0
            at = self.at = end if end >= 0 else len(self.text)
        return taken

    def value(self, node: Any, parent: int) -> Value:
        """The value of a node; ``parent`` is the column of the collection it stands in."""
        if isinstance(node, yaml.ScalarNode):
            return self.leaf(node)
        if node.flow_style:
            return self.flow(node)
        if isinstance(node, yaml.MappingNode):
            return self.block_map(node, parent)
        return self.block_list(node, parent)

    def leaf(self, node: Any) -> Leaf:
        start, end = self.offset(node.start_mark), self.offset(node.end_mark)
        source = self.text[start:end]
        if node.style in ("|", ">"):
            source = _whole_lines(source, node.value)
        self.at = start + len(source)
        return Leaf(source, node.value)

    # --- block style

    def block_map(self, node: Any, parent: int) -> Collection:
        found = Collection(True, False, self.column(self.offset(node.start_mark)))
        for key, value in node.value:
            gap = self.gap(self.offset(key.start_mark))
            entry = Entry(Leaf("", ""), self.leaf(key), gap.lines)
            self.content(entry, value, ":", found.column)
            found.entries.append(entry)
        found.footer = [line for _, line in self.below(parent, False)]
        return found

    def block_list(self, node: Any, parent: int) -> Collection:
        found = Collection(False, False, self.column(self.offset(node.start_mark)))
        for value in node.value:
            start = self.offset(value.start_mark)
            dash = self.dash(start)
            gap = self.gap(dash)
            entry = Entry(Leaf("", ""), None, gap.lines)
            self.content(entry, value, "-", found.column)
            found.entries.append(entry)
        found.footer = [line for _, line in self.below(parent, False)]
        return found

    def dash(self, end: int) -> int:
        """Where the dash of the next entry is."""
        for match in _TOKEN.finditer(self.text, self.at, end):
            if match.group() == "-":
                return match.start()
        raise self.unknown(end)

    def content(self, entry: Entry, node: Any, mark: str, column: int) -> None:
        """The value of an entry in block style, with all that belongs to it."""
        self.at = self.text.index(mark, self.at) + 1
        start = self.offset(node.start_mark)
        leafy = isinstance(node, yaml.ScalarNode) or node.flow_style
        if leafy:
            gap = self.gap(start)
            entry.comment = gap.spaces + gap.first if gap.first else ""
            entry.below = gap.breaks
            lines = [line for line in gap.lines if line]
            if lines:  # comments between a key and its value: they go in front of both
                entry.leading += lines
            entry.value = self.value(node, column)
            entry.trailing = self.rest_of_line()
            entry.tail = self.below(column, True)
            return
        entry.comment = self.rest_of_line()
        entry.value = self.value(node, column)

    # --- flow style

    def flow(self, node: Any) -> Collection:
        start = self.offset(node.start_mark)
        is_map = isinstance(node, yaml.MappingNode)
        bare = is_map and self.text[start] != "{"
        found = Collection(is_map, True, self.column(start), bare=bare)
        self.at = start if bare else start + 1
        for each in node.value:
            key, value = each if is_map else (None, each)
            first = key if key is not None else value
            gap = self.gap(self.offset(first.start_mark), ",")
            self.behind(found, gap)
            entry = Entry(Leaf("", ""), None, [line for line in gap.lines if line])
            entry.breaks, entry.column = gap.breaks, self.column(self.offset(first.start_mark))
            if key is not None:
                entry.key = self.leaf(key)
                inside = self.gap(self.offset(value.start_mark), ":")
                between = ([inside.first] if inside.first else []) + inside.lines
                entry.leading += [line for line in between if line]
            entry.value = self.value(value, found.column)
            found.entries.append(entry)
        if not bare:
            end = self.offset(node.end_mark) - 1
            gap = self.gap(end, ",")
            self.behind(found, gap)
            found.footer = [line for line in gap.lines if line]
            if gap.breaks:
                found.closes = self.column(end)
            self.at = end + 1
        return found

    def behind(self, found: Collection, gap: _Gap) -> None:
        """A comment on the line where an entry ends is that entry's; one behind the bracket, the first one's."""
        if not gap.first:
            return
        if found.entries:
            found.entries[-1].trailing = gap.spaces + gap.first
        else:
            gap.lines.insert(0, gap.first)


def _whole_lines(source: str, text: str) -> str:
    """A block scalar without what of the file's blank lines is none of its text, and with no need of the file's end."""
    header, *lines = source.split("\n")
    sign, remark, comment = header.partition("#")
    if "+" in sign:
        lines = lines[:-1] if lines and not lines[-1] else lines
    else:
        last = text.rstrip("\n").rpartition("\n")[2]
        blanks = last if not last.strip() else ""  # a last line of nothing but blanks is text
        while lines and not lines[-1].strip() and not (blanks and lines[-1].endswith(blanks)):
            del lines[-1]
    if text and not text.endswith("\n") and "-" not in sign:
        # The file ends with this very line: with a line break behind it the text would have one more.
        header = sign.replace("+", "").replace(sign[0], f"{sign[0]}-") + remark + comment
    return "\n".join([header, *lines])
