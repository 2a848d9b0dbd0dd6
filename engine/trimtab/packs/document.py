"""Strict YAML with positions: one plain reading of a file, the same with and without the C parser.

Scalars are those of YAML 1.2; what YAML offers beyond plain data (anchors, tags, null, odd keys) is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import yaml

from .mending import in_quotes, without_tabs
from .nodes import Allow, Document, Node, Scalar
from .problems import Edit, PackError, Position, Problem, problem_at

MAX_BYTES = 1_000_000
MAX_DEPTH = 40
MAX_NODES = 50_000
MAX_DIGITS = 300
"""Longest number, in characters; below Python's own limit on reading integers."""

_INT = re.compile(r"[-+]?[0-9]+\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_OTHER_FLOAT = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z")
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
MARK = "\ufeff"
"""The byte order mark some editors begin a file with: no part of what it says."""
LINES = re.compile(r"\r\n|[\n\r\x85\u2028\u2029]")
_ALLOW = re.compile(r"#\s*trimtab:\s*allow\b\s*([^,]*?)\s*(?:,\s*(.*?)\s*)?(?:-?#\})?$")


def read_document(path: Path, name: str | None = None) -> Document:
    """Read a file strictly; ``name`` is what problems call it. Raises PackError with exactly one problem."""
    shown = name or str(path)
    return parse_document(read_text(path, shown).removeprefix(MARK), shown)


def read_text(path: Path, shown: str) -> str:
    """The text of a file, its line ends and byte order mark as they are. Raises PackError."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise PackError([Problem("file", f"cannot be read: {error.strerror or error}", shown)]) from None
    if len(raw) > MAX_BYTES:
        raise PackError(
            [Problem("too-large", f"more than {MAX_BYTES:,} bytes", shown, hint="split it with `extends`")]
        )
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - (raw.rfind(b"\n", 0, error.start) + 1) + 1
        raise PackError(
            [Problem("encoding", "not UTF-8", shown, line, column, hint="save the file as UTF-8")]
        ) from None


def parse_document(text: str, name: str, *, pure: bool = False) -> Document:
    """Read YAML text strictly; ``pure``: without the C parser. Raises PackError with exactly one problem."""
    if len(text) > MAX_BYTES:
        raise PackError([Problem("too-large", f"more than {MAX_BYTES:,} characters", name)])
    lines = tuple(LINES.split(text))
    reader = _Reader(name, lines)
    tab = text.find("\t")
    if tab >= 0:
        line = len(LINES.findall(text, 0, tab)) + 1
        column = lines[line - 1].index("\t") + 1
        indent = not lines[line - 1][: column - 1].strip()
        reader.fail(
            "yaml-tab",
            "a tab in the indentation" if indent else "a tab",
            Position(name, line, column),
            "use spaces" if indent else r'use spaces; inside a text write "\t" in double quotes',
            without_tabs(name, lines),
        )
    loader: Any = yaml.Loader if pure or not yaml.__with_libyaml__ else yaml.CLoader
    try:
        root = reader.document(yaml.parse(text, Loader=loader))
    except yaml.YAMLError as error:
        reader.yaml_error(error, text)
    return Document(name, lines, root, _allows(lines))


def _allows(lines: Sequence[str]) -> dict[int, Allow]:
    found = {}
    for number, line in enumerate(lines, 1):
        allow = allow_of(line)
        if allow is not None:
            found[number] = allow
    return found


def allow_of(line: str) -> Allow | None:
    """The `allow` comment at the end of a line of YAML, or in a template's `{# … #}`."""
    match = _ALLOW.search(line) if "trimtab:" in line else None
    return Allow(match.group(1), match.group(2) or "", match.start() + 1) if match else None


class _Open:
    """A list or mapping that is being read."""

    __slots__ = ("entries", "flow", "is_map", "key", "key_node", "outer_key", "pos", "splits")

    def __init__(self, pos: Position, outer_key: Position | None, is_map: bool, flow: bool) -> None:
        self.pos = pos
        self.outer_key = outer_key
        self.is_map = is_map
        self.flow = flow
        self.entries: dict[str, Node] | list[Node] = {} if is_map else []
        self.key: str | None = None
        self.key_node: Position | None = None
        self.splits: Node | None = None


class _Reader:
    """Events to nodes, with every refusal at its place."""

    def __init__(self, name: str, lines: Sequence[str]) -> None:
        self.name = name
        self.lines = lines
        self.count = 0

    def fail(
        self,
        code: str,
        message: str,
        pos: Position,
        hint: str | None = None,
        edits: tuple[Edit, ...] = (),
    ) -> NoReturn:
        source = self.lines[pos.line - 1] if 0 < pos.line <= len(self.lines) else ""
        raise PackError([problem_at(pos, code, message, hint, source, edits=edits)])

    def yaml_error(self, error: yaml.YAMLError, text: str) -> NoReturn:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        if mark is not None:
            line, column = min(mark.line + 1, len(self.lines)), mark.column + 1
        else:
            # A reader error knows only how far it came: in characters or in bytes, as the parser goes.
            odd = re.search(r"[^\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", text)
            before = text[: odd.start()] if odd else ""
            line = len(LINES.findall(before)) + 1
            column = len(LINES.split(before)[-1]) + 1
            shown = (
                f"the control character {ord(odd.group()):#04x}" if odd else "a character YAML does not have"
            )
            self.fail(
                "yaml",
                shown,
                Position(self.name, line, column),
                "remove it, or write it as an escape in quotes",
            )
        problem = str(getattr(error, "problem", None) or error).strip()
        context = getattr(error, "context", None)
        self.fail(
            "yaml",
            f"{context}: {problem}" if context else problem,
            Position(self.name, line, column),
            _hint(problem),
        )

    def position(self, event: Any) -> Position:
        start, end = event.start_mark, event.end_mark
        style = getattr(event, "style", None) or ""
        width = end.column - start.column if end.line == start.line else 1
        return Position(
            self.name,
            start.line + 1,
            start.column + 1,
            max(1, width),
            style in ("'", '"'),
            style in ("|", ">"),
        )

    def document(self, events: Iterator[Any]) -> Node:
        stack: list[_Open] = []
        root: Node | None = None
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent) and root is not None:
                self.fail("yaml", "a second document", self.position(event), "one file holds one document")
            if not isinstance(event, yaml.NodeEvent):
                if isinstance(event, yaml.CollectionEndEvent):
                    root = self.close(stack) or root
                continue
            pos = self.position(event)
            if isinstance(event, yaml.AliasEvent):
                self.fail(
                    "yaml-alias", f"an alias (*{event.anchor})", pos, "write the value out, or use `extends`"
                )
            if event.anchor is not None:
                self.fail(
                    "yaml-alias",
                    f"an anchor (&{event.anchor})",
                    pos,
                    "anchors and aliases are not read; write the value out",
                )
            tag = getattr(event, "tag", None)
            if tag is not None:
                self.fail("yaml-tag", f"a tag ({tag})", pos, "values are plain data; remove the tag")
            self.count += 1
            if self.count > MAX_NODES:
                self.fail(
                    "too-large", f"more than {MAX_NODES:,} values", pos, "split the pack with `extends`"
                )
            if isinstance(event, yaml.ScalarEvent):
                root = self.scalar(stack, event, pos) or root
                continue
            top = stack[-1] if stack else None
            if top is not None and top.is_map and top.key is None:
                self.fail(
                    "yaml-key",
                    "a list or mapping as a key",
                    pos,
                    "keys are texts; a template in braces must be quoted",
                )
            if len(stack) >= MAX_DEPTH:
                self.fail(
                    "too-large",
                    f"nested deeper than {MAX_DEPTH}",
                    pos,
                    "name its parts in `limits`, or flatten it",
                )
            outer = top.key_node if top is not None and top.is_map else None
            stack.append(
                _Open(
                    pos,
                    outer,
                    isinstance(event, yaml.MappingStartEvent),
                    bool(getattr(event, "flow_style", False)),
                )
            )
        if root is None:
            self.fail(
                "yaml", "the file is empty", Position(self.name, 1, 1), "a pack begins with `format: 1`"
            )
        return root

    def close(self, stack: list[_Open]) -> Node | None:
        done = stack.pop()
        node = Node(done.entries, done.pos, done.outer_key)
        return self.place(stack, node)

    def place(self, stack: list[_Open], node: Node) -> Node | None:
        """Put a finished value where it belongs; the value itself if it is the whole document."""
        if not stack:
            return node
        top = stack[-1]
        if isinstance(top.entries, list):
            top.entries.append(node)
        elif top.key is not None:
            top.entries[top.key] = node
            top.key = None
        return None

    def scalar(self, stack: list[_Open], event: Any, pos: Position) -> Node | None:
        plain = bool(event.implicit[0])
        top = stack[-1] if stack else None
        if top is not None and top.flow and plain:
            self.commas(top, event.value, pos)
        if top is not None and top.is_map and top.key is None:
            self.key(top, event.value, plain, pos)
            return None
        if plain and event.value in _NULL:
            at = top.key_node if top is not None and top.is_map and top.key_node else pos
            what = f"`{top.key}` has no value" if top is not None and top.is_map else "an empty value"
            self.fail(
                "yaml-null",
                f"{what} (null)",
                at,
                'give it a value, or leave the key out; an empty text is ""',
            )
        outer = top.key_node if top is not None and top.is_map else None
        return self.place(stack, Node(self.value(event.value, pos) if plain else event.value, pos, outer))

    def key(self, top: _Open, text: str, plain: bool, pos: Position) -> None:
        if plain and (text in _NULL or not isinstance(self.value(text, pos), str)):
            shown = text or "an empty key"
            self.fail("yaml-key", f"`{shown}` is not a text, so it is no key", pos, f'quote it: "{text}"')
        if text in top.entries:
            first = top.entries[text].key  # type: ignore[call-overload]  # a mapping, since it has keys
            where = f" (first on line {first.line})" if first else ""
            self.fail("yaml-duplicate-key", f"the key `{text}` stands twice{where}", pos, "keep one of them")
        top.key, top.key_node = text, pos

    def commas(self, top: _Open, text: str, pos: Position) -> None:
        """Notice `{a: min(b, c)}`: flow style ends the value at the comma and makes a key of what follows."""
        if top.splits is not None:
            head = top.splits
            whole = f"{head.value}, {text}"
            self.fail(
                "yaml-comma",
                f"flow style splits `{whole}` at its comma",
                head.pos,
                f'quote the whole: "{whole}", or name it in `limits`',
                in_quotes(head.pos, self.lines[head.pos.line - 1]),
            )
        is_value = not top.is_map or top.key is not None
        if is_value and text.count("(") > text.count(")") and re.search(r"\w\s*\(", text):
            top.splits = Node(text, pos)

    def value(self, text: str, pos: Position) -> Scalar:
        """The scalar of YAML 1.2 that a plain text is."""
        first = text[:1]
        if first in "0123456789+-.":
            if _INT.match(text):
                if len(text) > MAX_DIGITS:
                    self.fail("yaml-number", "a number of too many digits", pos, "write `unlimited`")
                if len(text.lstrip("+-")) > 1 and text.lstrip("+-").startswith("0"):
                    self.fail(
                        "yaml-number",
                        f"`{text}` begins with 0",
                        pos,
                        "leave the 0 out, or quote it if it is a text",
                    )
                return int(text)
            if _FLOAT.match(text):
                number = float(text)
                if math.isinf(number):
                    self.fail("yaml-number", "the number is too large", pos, "write `unlimited`")
                return number
            if _OTHER_FLOAT.match(text):
                self.fail("yaml-number", f"`{text}` is no quantity", pos, "write `unlimited`")
        elif text in _TRUE:
            return True
        elif text in _FALSE:
            return False
        return text


def _hint(problem: str) -> str:
    """How to mend what the YAML parser stumbled over."""
    if "mapping values are not allowed" in problem:
        return "quote a text that contains `: `"
    if "cannot start any token" in problem:
        return "quote a text that begins with % @ ` or another sign of YAML"
    if "flow" in problem or "expected ','" in problem:
        return "check brackets and commas; quote a text that contains them"
    if "block" in problem or "simple key" in problem or "could not find" in problem:
        return "check the indentation and the colon; quote a text that contains special signs"
    return "quote texts that contain special signs"
