"""What an editor shows of every key: its meaning, and what may stand there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft7Validator

from trimtab.data import data_root

ROOT = data_root()
NAMES = ("pack", "test")
SCHEMAS = {name: json.loads((ROOT / "schemas" / f"{name}.schema.json").read_text("utf-8")) for name in NAMES}
MODELINE = re.compile(r"# yaml-language-server: \$schema=(\S+)\Z")
NO_MODELINE = ("docs", ".venv", "node_modules")


def keys(schema: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every key a schema names, with its schema; the `if` of a condition names none."""
    if not isinstance(schema, dict):
        return
    for name, inner in schema.get("properties", {}).items():
        yield f"{path}.{name}", inner
        yield from keys(inner, f"{path}.{name}")
    for word in ("items", "additionalProperties", "then"):
        yield from keys(schema.get(word), f"{path}[{word}]")
    for word in ("anyOf", "oneOf", "allOf"):
        for number, inner in enumerate(schema.get(word, ())):
            yield from keys(inner, f"{path}[{number}]")
    for name, inner in schema.get("definitions", {}).items():
        yield from keys(inner, f"#{name}")


def layers(root: Any, schema: Any) -> Iterator[Any]:
    """A schema and what it refers to."""
    while isinstance(schema, dict):
        yield schema
        if "$ref" not in schema:
            return
        schema = root["definitions"][schema["$ref"].rpartition("/")[2]]


@pytest.mark.parametrize("name", NAMES)
def test_every_key_has_a_description(name: str) -> None:
    root = SCHEMAS[name]
    bare = [
        path for path, each in keys(root) if not any(layer.get("description") for layer in layers(root, each))
    ]
    assert len(list(keys(root))) > 80
    assert bare == []


@pytest.mark.parametrize("name", NAMES)
def test_every_key_shows_what_may_stand_there(name: str) -> None:
    root = SCHEMAS[name]

    def shows(schema: Any) -> bool:
        return any(
            {"examples", "enum", "const", "default"} & set(layer) or layer.get("type") == "boolean"
            for layer in layers(root, schema)
        )

    skipped = ("#defaults.", "[additionalProperties]")
    assert [
        path
        for path, each in keys(root)
        if not shows(each) and not path.startswith(skipped[0]) and skipped[1] not in path
    ] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_example_and_default_is_what_its_schema_asks_for(name: str) -> None:
    root = SCHEMAS[name]
    for path, each in [*keys(root), *((f"#{key}", one) for key, one in root["definitions"].items())]:
        if isinstance(each, dict):
            # References point into the whole, so the whole comes along.
            whole = Draft7Validator({"definitions": root["definitions"], "allOf": [each]})
            for value in [*each.get("examples", ()), *([each["default"]] if "default" in each else [])]:
                problems = [error.message for error in whole.iter_errors(value)]
                assert problems == [], f"{path}: {value}"


@pytest.mark.parametrize(
    "path",
    sorted(
        path
        for pattern in ("rules/*/pack.yaml", "rules/*/tests/*.yaml", "examples/**/*.yaml", "bench/*.yaml")
        for path in ROOT.glob(pattern)
        if not path.name.startswith(".") and "workflows" not in path.parts
    ),
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_every_file_that_ships_tells_editors_its_schema(path: Any) -> None:
    found = MODELINE.match(path.read_text("utf-8").splitlines()[0])
    assert found, "the first line is: # yaml-language-server: $schema=…"
    target = (path.parent / found[1]).resolve()
    assert target.parent == ROOT / "schemas"
    assert target.name == ("test.schema.json" if path.parent.name == "tests" else "pack.schema.json")
    assert target.is_file()
