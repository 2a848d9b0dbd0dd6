"""Imports go downwards only: the order of the modules is the project's architecture, kept by this test."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from trimtab.data import data_root

PACKAGE = data_root() / "engine" / "trimtab"
MOST_LINES = 400

LAYERS: tuple[tuple[str, ...], ...] = (
    ("__main__", "pytest_plugin"),
    ("commands", "outputs"),
    ("rehearsal",),
    ("testing",),
    ("readers",),
    ("comparing", "starter", "one_summary"),
    ("engine",),
    (
        "session",
        "revision",
        "retrying",
        "sending",
        "asking",
        "manual",
        "outcome",
        "staging",
        "track",
        "recording",
        "resuming",
        "sleeping",
        "cautions",
        "accounting",
        "filestate",
        "jobs",
    ),
    ("ports",),
    ("answers",),
    ("journal", "store", "files", "summarizers", "redaction"),
    ("locks", "secrets"),
    ("packs",),
    ("interpreter", "mending", "measuring", "running", "trial", "receipt"),
    ("stages",),
    ("policy",),
    ("records",),
    ("templating", "effects", "facts", "matching", "naming", "directives"),
    ("validity",),
    ("tokens",),
    ("formats",),
    ("conversation",),
    ("data", "version", "writing"),
)
"""From top to bottom; a module may import its own line and those below. ``trimtab`` itself stands apart."""

HEAVY = frozenset(
    {
        "anthropic",
        "genai_prices",
        "httpx2",
        "openai",
        "tiktoken",
        "toktok",
        "toktok_rs",
        "rich",
        "click",
        "jsonschema",
        "tokenizers",
        "detect_secrets",
    }
)
"""Loaded inside functions only; ``click`` is the commands' own."""


def modules() -> dict[str, Path]:
    """Every module of the package: dotted name below ``trimtab`` and file."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imports(tree: ast.AST, everywhere: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    """Import statements that run when the module is loaded; ``everywhere``: also those inside functions."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from imports(ast.Module(node.orelse, []), everywhere)
        elif everywhere or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from imports(node, everywhere)


def targets(name: str, path: Path, everywhere: bool) -> set[str]:
    """The modules of the package that a module imports."""
    package = name.split(".") if path.name == "__init__.py" and name else name.split(".")[:-1]
    found = set()
    for node in imports(ast.parse(path.read_text("utf-8")), everywhere):
        if isinstance(node, ast.Import):
            bases = [
                alias.name.removeprefix("trimtab.")
                for alias in node.names
                if alias.name.startswith("trimtab.")
            ]
            found.update(bases)
            continue
        if node.level:
            base = package[: len(package) - node.level + 1]
            whole = ".".join([*base, *(node.module.split(".") if node.module else [])])
        elif (node.module or "").split(".")[0] == "trimtab":
            whole = (node.module or "").partition(".")[2]
        else:
            continue
        for alias in node.names:
            inner = f"{whole}.{alias.name}".lstrip(".")
            found.add(inner if inner in MODULES else whole)
    return {one for one in found if one and one != name}


def outer(path: Path) -> set[str]:
    """Top names of what a module imports from outside when it is loaded."""
    found = set()
    for node in imports(ast.parse(path.read_text("utf-8")), False):
        if isinstance(node, ast.Import):
            found.update(alias.name.split(".")[0] for alias in node.names)
        elif not node.level and node.module:
            found.add(node.module.split(".")[0])
    return found


def layer(name: str) -> int:
    """Number of the line a module stands on, from the top."""
    first = name.split(".")[0]
    return next(number for number, line in enumerate(LAYERS) if first in line)


def test_every_module_has_its_place() -> None:
    placed = {first for line in LAYERS for first in line}
    assert {name.split(".")[0] for name in MODULES if name} == placed


def test_a_module_imports_only_its_own_line_and_those_below() -> None:
    for name, path in MODULES.items():
        if name:
            above = [one for one in targets(name, path, True) if layer(one) < layer(name)]
            assert above == [], name


def test_no_imports_go_in_a_circle() -> None:
    graph = {name: targets(name, path, False) & set(MODULES) for name, path in MODULES.items() if name}
    done: set[str] = set()

    def walk(name: str, open_: tuple[str, ...]) -> None:
        assert name not in open_, " → ".join([*open_[open_.index(name) :], name])
        if name not in done:
            for one in sorted(graph[name]):
                walk(one, (*open_, name))
            done.add(name)

    for name in graph:
        walk(name, ())


def test_no_module_is_long() -> None:
    sizes = {name: len(path.read_text("utf-8").splitlines()) for name, path in MODULES.items()}
    assert {name: size for name, size in sizes.items() if size > MOST_LINES} == {}


def test_heavy_packages_are_loaded_inside_functions_only() -> None:
    for name, path in MODULES.items():
        allowed = {"click"} if name.split(".")[0] in ("commands", "outputs") else set()
        assert outer(path) & HEAVY - allowed == set(), name


def test_the_conversation_knows_nothing_of_the_rest() -> None:
    for name, path in MODULES.items():
        if name.split(".")[0] == "conversation":
            assert all(one.split(".")[0] == "conversation" for one in targets(name, path, True))


def test_kinds_reach_neither_session_nor_files() -> None:
    out_of_reach = {
        "session",
        "engine",
        "journal",
        "store",
        "files",
        "summarizers",
        "packs",
        "readers",
        "ports",
    }
    for name, path in MODULES.items():
        if name.split(".")[0] == "stages":
            assert {one.split(".")[0] for one in targets(name, path, True)} & out_of_reach == set()
