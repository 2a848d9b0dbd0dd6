"""The JSON Schema of a pack, put together from one fragment a kind.

``python -m trimtab.packs.schema`` writes it. ``common.json`` holds the keys of every stage, the top level and
shared definitions, ``kinds/*.json`` what a kind adds. Shared definitions carry a ``format`` that says what a
value means (a quantity, a category, …): `check` goes by it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ..data import data_root

KINDS = (
    "replace",
    "drop",
    "summarize",
    "notes",
    "attach",
    "server_edits",
    "cache_edits",
    "cache_marks",
    "guard",
    "first_of",
)
CHILD_KINDS = KINDS[:-1]
MERGE_KEYS = ("before", "after", "reset")
"""Keys that say how a stage of an extending file is merged; gone once it is."""
NOT_IN_CHILDREN = frozenset({"at", "on_failure"})
NOT_IN_FIRST_OF = frozenset({"accept"})


def _load(path: Path) -> Any:
    with path.open(encoding="utf-8") as file:
        return json.load(file)


def assemble(folder: Path | None = None) -> dict[str, Any]:
    """The whole pack schema (draft-07) from its fragments."""
    folder = folder or data_root() / "schemas"
    common = _load(folder / "common.json")
    keys, definitions = common["stage"], dict(common["definitions"])
    extra = {
        **{
            place: {
                "description": f"place a new stage {place} this one",
                "type": "string",
                "format": "stage",
                "examples": ["compact"],
            }
            for place in ("before", "after")
        },
        "reset": {
            "description": "inherited keys to drop first",
            "type": "array",
            "minItems": 1,
            "items": {"type": "string"},
            "examples": [["keep", "accept"]],
        },
    }
    every: dict[str, Any] = {}
    for kind in KINDS:
        fragment = _load(folder / "kinds" / f"{kind}.json")
        left_out = NOT_IN_FIRST_OF if kind == "first_of" else frozenset()
        own = {key: value for key, value in keys.items() if key not in left_out}
        own["kind"] = {"description": fragment["description"], "const": kind}
        groups = {key: fragment[key] for key in ("oneOf", "not") if key in fragment}
        every |= dict.fromkeys(fragment["properties"])
        definitions[f"stage-{kind}"] = {
            "title": f"a {kind} stage" if kind[0] not in "aeiou" else f"an {kind} stage",
            "description": fragment["description"],
            "type": "object",
            "additionalProperties": False,
            "required": ["id", "kind", *fragment["required"]],
            "properties": {**own, **extra, **fragment["properties"]},
            **groups,
            "examples": fragment["examples"],
        }
        if kind in CHILD_KINDS:
            # `defaults` of the parent may supply what is required, so a child alone requires less.
            child = {key: value for key, value in own.items() if key not in NOT_IN_CHILDREN}
            definitions[f"child-{kind}"] = {
                "title": f"a {kind} stage inside first_of",
                "description": fragment["description"],
                "type": "object",
                "additionalProperties": False,
                "required": ["id"],
                "properties": {**child, **extra, **fragment["properties"]},
            }
    known = dict.fromkeys([*keys, *every], True)
    definitions["stage"] = _by_kind("stage", KINDS, [*known, *extra])
    definitions["child"] = _by_kind("child", CHILD_KINDS, [*known, *extra])
    definitions["defaults"] = {
        "title": "defaults",
        "description": "keys given to every child whose kind has them and that does not set them",
        "type": "object",
        "additionalProperties": False,
        "minProperties": 1,
        "properties": {
            key: {"description": _described(key, definitions)}
            for key in known
            if key not in ("id", "kind", "at", "on_failure", "stages", "defaults")
        },
        "examples": [{"keep": {"newest": {"items": 5}}}],
    }
    definitions["stage-first_of"]["properties"]["defaults"] = {"$ref": "#/definitions/defaults"}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "a pack",
        "description": "A rule pack, format 1: what the next model call of an agent will see.",
        "type": "object",
        "additionalProperties": False,
        "required": ["format", "name", "version"],
        # A file that only changes single values of another pack has no stages of its own.
        "anyOf": [{"required": ["stages"]}, {"required": ["extends"]}],
        "properties": common["pack"],
        "x-vocabulary": common["vocabulary"],
        "definitions": definitions,
    }


def _described(key: str, definitions: Mapping[str, Any]) -> str:
    """What a key means where it goes to any child that has it."""
    specs = (definitions[f"stage-{kind}"]["properties"].get(key) for kind in CHILD_KINDS)
    spec = next(each for each in specs if each is not None)
    named = definitions[spec["$ref"].rpartition("/")[2]] if "$ref" in spec else {}
    return str(spec.get("description") or named.get("description") or named["title"])


def _by_kind(name: str, kinds: tuple[str, ...], keys: list[str]) -> dict[str, Any]:
    return {
        "title": "a stage" if name == "stage" else "a stage inside first_of",
        "type": "object",
        "required": ["id"],
        "properties": {
            "kind": {
                "description": "what the stage does",
                "enum": list(kinds),
                "x-code": "unknown-kind",
                "x-hints": {"first_of": "first_of does not nest"} if name == "child" else {},
            },
            "id": {"$ref": "#/definitions/id", "description": "name of the stage, unique in the pack"},
        },
        "allOf": [
            {
                "if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]},
                "then": {"$ref": f"#/definitions/{name}-{kind}"},
            }
            for kind in kinds
        ]
        # A change to an inherited stage has no kind; its keys are checked once it is merged.
        + [{"if": {"not": {"required": ["kind"]}}, "then": {"propertyNames": {"enum": keys}}}],
    }


@cache
def pack_schema() -> Mapping[str, Any]:
    """The schema that ships; read once."""
    schema: Mapping[str, Any] = _load(data_root() / "schemas" / "pack.schema.json")
    return schema


def written(schema: Mapping[str, Any]) -> str:
    """The schema as its file holds it."""
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def vocabulary() -> Mapping[str, list[str]]:
    """The words of the text metrics that have only so many."""
    found: Mapping[str, list[str]] = pack_schema()["x-vocabulary"]
    return found


@cache
def metric_names() -> Mapping[str, frozenset[str]]:
    """The metrics the schema lists: `number`, `text`, `boolean`, `accept` (numbers only there)."""
    definitions = pack_schema()["definitions"]
    plain, accept = definitions["condition"]["properties"], definitions["accept"]["properties"]
    not_metrics = {"settings", "committed", "since", "any", "none"}
    numbers = {name for name, each in plain.items() if each.get("$ref") == "#/definitions/comparison"}
    texts = {name for name, each in plain.items() if each.get("type") == "array"} - not_metrics
    booleans = {name for name, each in plain.items() if each.get("type") == "boolean"}
    return {
        "number": frozenset(numbers),
        "text": frozenset(texts),
        "boolean": frozenset(booleans),
        "accept": frozenset(set(accept) - set(plain)),
    }


def main() -> None:
    """Write ``schemas/pack.schema.json`` anew."""
    target = data_root() / "schemas" / "pack.schema.json"
    target.write_text(written(assemble()), encoding="utf-8")


if __name__ == "__main__":
    main()
