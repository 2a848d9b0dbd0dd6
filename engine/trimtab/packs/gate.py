"""What is looked at before anything else: the version of the language, and the engine a pack asks for."""

from __future__ import annotations

import re
from typing import NoReturn

from ..version import __version__ as VERSION
from .nodes import Document, Node
from .problems import PackError, problem_at

FORMAT = 1
_CLAUSE = re.compile(r"\s*(>=|<=|==|!=|~=|>|<)\s*([0-9]+(?:\.[0-9]+){0,3})\s*\Z")


def admit(document: Document, version: str = VERSION) -> None:
    """Raises PackError if this engine cannot read the file at all."""
    fields = document.root.mapping
    form = fields.get("format")
    if form is not None and (form.value != FORMAT or isinstance(form.value, bool)):
        _refuse(
            document,
            "format",
            form,
            f"format {form.value!r} is not known to this engine",
            f"this engine ({version}) reads format: {FORMAT}",
        )
    wanted = fields.get("requires")
    if wanted is None or wanted.text is None:
        return
    offset = 0
    for clause in wanted.text.split(","):
        match = _CLAUSE.match(clause)
        if not match:
            _refuse(
                document,
                "requires",
                wanted,
                f"`{clause.strip()}` is not a version clause",
                'write clauses such as ">=0.1,<1"',
                offset,
                len(clause),
            )
        if not _meets(version, match[1], match[2]):
            _refuse(
                document,
                "requires",
                wanted,
                f"the pack needs an engine {clause.strip()}; this is {version}",
                "use another version of trimtab, or of the pack",
                offset,
                len(clause),
            )
        offset += len(clause) + 1


def _refuse(
    document: Document, code: str, node: Node, message: str, hint: str, offset: int = 0, width: int = 0
) -> NoReturn:
    pos = node.pos.at(offset, width) if width else node.pos
    raise PackError([problem_at(pos, code, message, hint, document.line(pos.line))])


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"[0-9]+", text)[:4])


def _meets(version: str, sign: str, asked: str) -> bool:
    """Whether a version fits a clause, as PyPA's version specifiers have it: `1` and `1.0` are the same."""
    have, want = ((*_numbers(text), 0, 0, 0)[:4] for text in (version, asked))
    if sign == "~=":
        fixed = max(1, len(_numbers(asked)) - 1)  # all that was written but the last part
        return have >= want and have[:fixed] == want[:fixed]
    return {
        ">=": have >= want,
        "<=": have <= want,
        "==": have == want,
        "!=": have != want,
        ">": have > want,
        "<": have < want,
    }[sign]
