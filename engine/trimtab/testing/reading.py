"""Test files: strict YAML to cases, with every mistake told at its place."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from ..data import data_root
from ..packs.document import read_document
from ..packs.nodes import Document, Node, Scalar
from ..packs.pack import Pack
from ..packs.problems import PackError, Problem, problem_at
from ..packs.shapes import check_shape
from ..packs.sources import shown_path
from ..policy.stage import SENDING
from .conversation import Conversation, repeated
from .expecting import expectations
from .filling import filled
from .hosting import Host
from .model import Case, Step
from .values import Values

MOST_FILES = 200
"""Files a test file may be made of, each counted as often as it is included; more is a slip, or no honest file."""
MOST_DEEP = 20
"""Files that may lie between a test file and one it includes."""
LONGEST = 40
"""Characters of a value that the name of a case may show."""


@cache
def cases_schema() -> Mapping[str, Any]:
    """The schema of test files that ships; read once."""
    text = (data_root() / "schemas" / "test.schema.json").read_text(encoding="utf-8")
    schema: Mapping[str, Any] = json.loads(text)
    return schema


@dataclass(slots=True)
class CaseFile:
    """A test file for one pack: its cases, and what is wrong with it.

    ``documents`` are all files it was read from, ``tried`` counts each as often as it was included.
    """

    path: Path
    pack: Pack
    cases: list[Case] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    documents: list[Document] = field(default_factory=list)
    tried: int = 0

    def wrong(self, error: PackError) -> None:
        """Keep what is wrong; a file that is included twice has its mistakes once."""
        self.problems += [each for each in error.problems if each not in self.problems]


def read_tests(path: Path) -> Document:
    """The file as a document of the right shape. Raises PackError with all that is wrong with its shape."""
    document = read_document(path, shown_path(path))
    found = check_shape(cases_schema(), document.data)
    problems = []
    for each in found.violations:
        node, depth = document.root.find(each.where)
        pos = node.key if each.on_key and depth == len(each.where) and node.key is not None else node.pos
        problems.append(problem_at(pos, each.code, each.message, each.hint, document.line(pos.line)))
    if problems:
        raise PackError(problems)
    return document


def case_file(path: Path, pack: Pack) -> CaseFile:
    """All cases of a test file, read for this pack; never raises for what is wrong in it."""
    found = CaseFile(path, pack)
    _collect(path, {}, found, ())
    return found


def _collect(path: Path, given: Mapping[str, Scalar], into: CaseFile, trail: tuple[Path, ...]) -> None:
    """The cases of a file and of those it includes; ``given`` are values of the files that include it."""
    into.tried += 1
    try:
        document = read_tests(path)
    except PackError as error:
        into.wrong(error)
        return
    into.documents.append(document)
    fields = document.root.mapping
    try:
        named = fields["values"].mapping if "values" in fields else {}
        own = {name: _value(Values(document), node) for name, node in named.items()}
    except PackError as error:
        into.wrong(error)
        return
    known = {**own, **given}
    for node in fields["include"].items if "include" in fields else ():
        other = Path(os.path.normpath(path.parent / str(node.value)))
        if not other.is_file():
            message = f"there is no test file `{node.value}`"
            into.problems.append(
                _problem(document, node, "file", message, "a path relative to this file is needed")
            )
        elif other.resolve() in (path.resolve(), *trail):
            into.problems.append(_problem(document, node, "extends", f"`{node.value}` leads back to itself"))
        elif len(trail) >= MOST_DEEP or into.tried >= MOST_FILES:
            _too_many(document, node, into)
            return
        else:
            _collect(other, known, into, (*trail, path.resolve()))
    for node in fields["cases"].items if "cases" in fields else ():
        for row in _rows(node):
            values = filled(row, known).plain() if row is not None else {}
            try:
                whole = filled(_with_settings(node, fields.get("settings")), {**known, **values})
                case = _case(document, path.parent, whole, into)
                into.cases.append(replace(case, row=_telling(row, values, case.name)))
            except PackError as error:
                into.wrong(error)


def _too_many(document: Document, node: Node, into: CaseFile) -> None:
    """Told once: each of the files on the way here has more to include."""
    message = f"`{node.value}` is one file too many: {MOST_FILES} may be included, {MOST_DEEP} deep"
    if not any(each.code == "too-large" for each in into.problems):
        hint = "name several files after `trimtab test`"
        into.problems.append(_problem(document, node, "too-large", message, hint))


def _value(values: Values, node: Node) -> Scalar:
    """A value of the file; one that is made up is a text of that size. Raises PackError."""
    if not isinstance(node.value, dict):
        plain: Scalar = node.plain()
        return plain
    given = node.mapping
    text = str(given["text"].value) if "text" in given else None
    return repeated(text, values.size(given["chars"]), node.pos.line)


def _problem(document: Document, node: Node, code: str, message: str, hint: str | None = None) -> Problem:
    return problem_at(node.pos, code, message, hint, document.line(node.pos.line))


def _rows(node: Node) -> list[Node | None]:
    """The entries of the case's table; one that is nothing without a table."""
    table = node.mapping.get("table")
    return [None] if table is None else list(table.items)


def _case(document: Document, folder: Path, node: Node, into: CaseFile) -> Case:
    """One case with its placeholders filled in. Raises PackError with the first thing that is wrong."""
    pack, values, fields = into.pack, Values(document), node.mapping
    talk = Conversation(values, folder)
    host = Host(values, pack)
    talk.give(fields["given"])
    first = _step(values, host, node, talk, pack)
    if first.model is None and talk.model:
        first = replace(first, model=talk.model)
    if talk.facts:
        first = replace(first, facts={**talk.facts, **(first.facts or {})})
        if first.now is None:
            first = replace(first, now=talk.facts.get("now"))
    steps = [first]
    for each in fields["steps"].items if "steps" in fields else ():
        if "given" in each.mapping:
            talk.give(each.mapping["given"])
        step = _step(values, host, each, talk, pack)
        if step.usage is not None and step.upto == steps[-1].upto and steps[-1].event in SENDING:
            values.fail(
                each.mapping["usage"],
                "value",
                "a usage comes with a response, and nothing has been said since the request before",
                "give the response: given: {then: [{role: assistant, content: …}]}",
                on_key=True,
            )
        steps.append(step)
    return Case(
        str(fields["name"].value),
        fields["name"].pos,
        document,
        into.path,
        tuple(talk.messages),
        tuple(talk.infos),
        talk.extra,
        tuple(steps),
    )


def _with_settings(case: Node, common: Node | None) -> Node:
    """The case with the settings of its file under its own."""
    if common is None:
        return case
    own = case.mapping.get("settings", common)
    settings = Node({**common.mapping, **own.mapping}, own.pos, own.key)
    return Node({**case.mapping, "settings": settings}, case.pos, case.key)


def _telling(row: Node | None, values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The table's entry, where the case's name does not hold all of it; what is long stands as it does there."""
    if row is None or all(str(value) in name for value in values.values()):
        return {}
    plain = row.plain()
    return {key: value if len(str(value)) <= LONGEST else plain[key] for key, value in values.items()}


def _step(values: Values, host: Host, node: Node, talk: Conversation, pack: Pack) -> Step:
    step = replace(host.step(node, len(talk.messages)), system=talk.system, tools=talk.tools)
    fields = node.mapping
    return replace(step, expects=expectations(values, fields["expect"], pack)) if "expect" in fields else step
