"""Checks plain data against the schema: one mistake, one message, and the place of the key or value at fault.

It reads the part of draft-07 that the pack schemas use. A general validator answers a misspelt key inside an
alternative with a message for each alternative, and importing one takes longer than the whole check may.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from .problems import did_you_mean, listed, near_or_all, nearest
from .wording import flow, kind_of, unquoted

Schema: TypeAlias = Mapping[str, Any]
Where: TypeAlias = tuple[str | int, ...]

_TYPES: Mapping[str, str] = {
    "object": "a mapping",
    "array": "a list",
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
}


Inherited: TypeAlias = Callable[[Where, str, str], bool]


@dataclass(frozen=True, slots=True)
class Violation:
    """A mistake of shape at ``where``; ``on_key``: the key there is at fault, not its value.

    ``instead`` is the one key it may have been meant to be.
    """

    code: str
    where: Where
    message: str
    hint: str | None = None
    on_key: bool = False
    instead: str | None = None


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A value whose schema says what it means (``format``)."""

    role: str
    where: Where
    value: Any


@dataclass(slots=True)
class Shape:
    """What a check of shape found."""

    violations: list[Violation]
    occurrences: list[Occurrence]
    inherited: Inherited = lambda where, key, other: False


def check_shape(
    root: Schema,
    value: Any,
    schema: Schema | None = None,
    where: Where = (),
    inherited: Inherited = lambda where, key, other: False,
) -> Shape:
    """Check ``value`` against ``schema`` (default: ``root``), whose references point into ``root``.

    ``inherited`` says of a mapping that has ``key`` whether the key ``other`` comes from another file: then ``key`` may
    be a misspelt ``other`` all the same.
    """
    found = Shape([], [], inherited)
    _visit(root["definitions"], schema if schema is not None else root, value, where, found)
    return found


def has_type(value: Any, types: str | Sequence[str]) -> bool:
    """Whether the value is of one of these JSON types."""
    for name in (types,) if isinstance(types, str) else types:
        if name == "object" and isinstance(value, Mapping):
            return True
        if name == "array" and isinstance(value, list):
            return True
        if name == "string" and isinstance(value, str):
            return True
        if name == "boolean" and isinstance(value, bool):
            return True
        if name in ("number", "integer") and isinstance(value, int | float) and not isinstance(value, bool):
            return name == "number" or float(value).is_integer()
    return False


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # In JSON Schema `$` is the end of the text; Python's also matches in front of a last line break.
    return re.compile(re.sub(r"(?<!\\)\$\Z", r"\\Z", pattern))


def _resolve(definitions: Schema, schema: Any) -> Schema:
    while isinstance(schema, Mapping) and "$ref" in schema:
        schema = definitions[schema["$ref"].rsplit("/", 1)[1]]
    return schema if isinstance(schema, Mapping) else {}


def _only_required(schemas: Sequence[Schema]) -> list[str] | None:
    """The keys of a group `[{required: [a]}, {required: [b]}]`, or None where it is something else."""
    keys = [schema["required"][0] for schema in schemas if set(schema) == {"required"}]
    return keys if len(keys) == len(schemas) else None


def _named(where: Where) -> str:
    """What the value at ``where`` is called in a message."""
    names = [part for part in where if isinstance(part, str)]
    if not names:
        return "the file"
    return f"`{names[-1]}`" if isinstance(where[-1], str) else f"an entry of `{names[-1]}`"


def _holds(test: Schema, value: Any) -> bool:
    """The `if` of a schema: constants of keys, keys that must be there, and their negation."""
    if "not" in test:
        return not _holds(test["not"], value)
    if not isinstance(value, Mapping) or any(key not in value for key in test.get("required", ())):
        return False
    return all(
        key not in value or value[key] == each["const"] for key, each in test.get("properties", {}).items()
    )


def _types(definitions: Schema, schema: Schema) -> Any:
    schema = _resolve(definitions, schema)
    if "type" in schema or ("enum" not in schema and "const" not in schema):
        return schema.get("type", tuple(_TYPES))
    return "string"


def _visit(definitions: Schema, schema: Any, value: Any, where: Where, found: Shape) -> None:
    schema = _resolve(definitions, schema)
    role = schema.get("format")
    branches = schema.get("anyOf")
    if branches is not None and _only_required(branches) is None:
        fitting = [each for each in branches if has_type(value, _types(definitions, each))]
        if not fitting:
            _wrong_type(schema, value, where, found)
            return
        if role:
            found.occurrences.append(Occurrence(role, where, value))
        _visit(definitions, fitting[0], value, where, found)
        return
    if "type" in schema and not has_type(value, schema["type"]):
        _wrong_type(schema, value, where, found)
        return
    if "const" in schema and (
        value != schema["const"] or isinstance(value, bool) is not isinstance(schema["const"], bool)
    ):
        _not_allowed(schema, value, where, [schema["const"]], found)
        return
    if "enum" in schema and value not in schema["enum"]:
        _not_allowed(schema, value, where, schema["enum"], found)
        return
    if not isinstance(value, Mapping | list):
        before = len(found.violations)
        _scalar(schema, value, where, found)
        if role and len(found.violations) == before:
            found.occurrences.append(Occurrence(role, where, value))
        return
    if role:
        found.occurrences.append(Occurrence(role, where, value))
    if isinstance(value, Mapping):
        _object(definitions, schema, value, where, found)
    else:
        if len(value) < schema.get("minItems", 0):
            _add(
                found, "value", where, f"{_named(where)} is empty", "leave the key out, or name at least one"
            )
        if len(value) > schema.get("maxItems", len(value)):
            _add(found, "value", where, f"{_named(where)} has more than {schema['maxItems']} entries")
        if "items" in schema:
            for number, each in enumerate(value):
                _visit(definitions, schema["items"], each, (*where, number), found)


def _add(
    found: Shape, code: str, where: Where, message: str, hint: str | None = None, on_key: bool = False
) -> None:
    found.violations.append(Violation(code, where, message, hint, on_key))


def _wrong_type(schema: Schema, value: Any, where: Where, found: Shape) -> None:
    types = schema.get("type")
    words = [_TYPES[each] for each in ((types,) if isinstance(types, str) else types or ())]
    needed = schema.get("title") or " or ".join(words)
    hint = None
    if types == "array" and isinstance(value, str | int | float):
        hint = f"write a list: [{flow(value)}]"
    elif schema.get("title") == "a comparison" and not isinstance(value, list):
        hint = f"write {{at_least: {flow(value)}}}"
    elif types == "string" and isinstance(value, int | float) and "examples" not in schema:
        hint = f'quote it: "{flow(value)}"'
    elif examples := schema.get("examples"):
        hint = f"for example {flow(examples[0])}"
    elif isinstance(value, str) and has_type(unquoted(value), types or ()):
        hint = f"write it without quotes: {value}"
    elif words:
        hint = f"write {' or '.join(words)}"
    _add(found, "type", where, f"{_named(where)} needs {needed}, not {kind_of(value)}", hint)


def _not_allowed(schema: Schema, value: Any, where: Where, allowed: Sequence[Any], found: Shape) -> None:
    code = schema.get("x-code", "value")
    words = [flow(each) for each in allowed]
    if len(words) == 1:
        _add(found, code, where, f"{_named(where)} cannot be {kind_of(value)}", f"write {words[0]}")
        return
    if not isinstance(value, str):
        _add(found, "type", where, f"{_named(where)} cannot be {kind_of(value)}", f"one of {listed(words)}")
        return
    hint = schema.get("x-hints", {}).get(value) or near_or_all(value, words, "allowed are")
    _add(found, code, where, f"{_named(where)} cannot be `{value}`", hint)


def _scalar(schema: Schema, value: Any, where: Where, found: Shape) -> None:
    if isinstance(value, str):
        _string(schema, value, where, found)
    elif not isinstance(value, bool):
        if "minimum" in schema and value < schema["minimum"]:
            least = schema["minimum"]
            _add(
                found,
                "value",
                where,
                f"{_named(where)} is {value}; the least is {least}",
                f"write {least} or more",
            )
        if "maximum" in schema and value > schema["maximum"]:
            most = schema["maximum"]
            _add(
                found,
                "value",
                where,
                f"{_named(where)} is {value}; the most is {most}",
                f"write {most} or less",
            )


def _string(schema: Schema, value: str, where: Where, found: Shape) -> None:
    if len(value) < schema.get("minLength", 0):
        _add(found, "value", where, f"{_named(where)} is an empty text")
    elif len(value) > schema.get("maxLength", len(value)):
        _add(found, "value", where, f"{_named(where)} is longer than {schema['maxLength']} characters")
    elif "pattern" in schema and not _compiled(schema["pattern"]).search(value):
        example = schema.get("examples", [None])[0]
        hint = schema.get("x-hint") or (
            f"for example {example}" if example else f"it must match {schema['pattern']}"
        )
        _add(found, "name", where, f"{_named(where)} cannot be `{value}`", hint)


def _object(
    definitions: Schema, schema: Schema, value: Mapping[str, Any], where: Where, found: Shape
) -> None:
    properties = schema.get("properties", {})
    others = schema.get("additionalProperties", True)
    keys = schema.get("propertyNames", {})
    unknown = []
    for key, each in value.items():
        if key in properties:
            if properties[key] is not True:
                _visit(definitions, properties[key], each, (*where, key), found)
        elif others is False or ("enum" in keys and key not in keys["enum"]):
            unknown.append(key)
        elif "pattern" in keys and not _compiled(keys["pattern"]).search(key):
            hint = "names are snake_case: small letters, digits and _, a letter first"
            _add(found, "name", (*where, key), f"`{key}` is not allowed as a name", hint, True)
        elif isinstance(others, Mapping):
            _visit(definitions, others, each, (*where, key), found)
    for key in unknown:
        _unknown(
            definitions,
            schema,
            key,
            keys.get("enum")
            or [each for each in properties if each not in value or found.inherited(where, key, each)],
            where,
            found,
        )
    # A key that is missing because it is misspelt is one mistake, told where it was written.
    missing = [key for key in schema.get("required", ()) if key not in value]
    for key in missing:
        if not any(did_you_mean(each, [key]) for each in unknown):
            _add(
                found,
                "missing-key",
                where,
                f"{schema.get('title', _named(where))} needs the key `{key}`",
                _about(definitions, properties.get(key)),
            )
    if len(value) < schema.get("minProperties", 0):
        _add(
            found,
            "value",
            where,
            f"{_named(where)} is empty",
            f"give it one of {listed(properties)}" if properties else None,
        )
    elif not unknown and not missing:
        _groups(schema, value, where, found)
    for each in schema.get("allOf", ()):
        if _holds(each["if"], value):
            _visit(definitions, each["then"], value, where, found)


def _about(definitions: Schema, schema: Any) -> str | None:
    about = isinstance(schema, Mapping) and (
        schema.get("description") or _resolve(definitions, schema).get("description")
    )
    return str(about) if about else None


def _groups(schema: Schema, value: Mapping[str, Any], where: Where, found: Shape) -> None:
    """Keys of which exactly one, at least one or not all may stand."""
    title = schema.get("title", _named(where))
    for rule in ("oneOf", "anyOf"):
        group = _only_required(schema[rule]) if rule in schema else None
        if not group:
            continue
        given = [key for key in value if key in group]
        choice = " or ".join(f"`{key}`" for key in group)
        if not given:
            _add(found, "one-of", where, f"{title} needs {choice}", "add one of them")
        elif rule == "oneOf" and len(given) > 1:
            both = " and ".join(f"`{key}`" for key in given)
            _add(
                found,
                "one-of",
                (*where, given[-1]),
                f"{title} has {both}; exactly one may stand",
                f"keep one; an inherited one goes with reset: [{given[0]}]",
                True,
            )
    barred = schema.get("not", {}).get("required", ())
    if barred and all(key in value for key in barred):
        both = " and ".join(f"`{key}`" for key in barred)
        _add(
            found,
            "one-of",
            (*where, barred[-1]),
            f"{title} has {both}; at most one may stand",
            "keep one of them",
            True,
        )


def _unknown(
    definitions: Schema, schema: Schema, key: str, known: Sequence[str], where: Where, found: Shape
) -> None:
    title = schema.get("title", _named(where))
    code = schema.get("x-unknown", "unknown-key")
    hint = did_you_mean(key, known)
    if code == "unknown-metric":
        message, intro = f"there is no metric or entry `{key}` here", "known are"
        if key in definitions["accept"]["properties"]:
            hint = f"`{key}` is known only in `accept`, where the edit has been measured"
    else:
        message, intro = f"{title} has no key `{key}`", "its keys are"
        hint = hint or _at_home(definitions, title, key)
    hint = hint or (f"{intro} {listed(known, 40)}" if known else None)
    found.violations.append(Violation(code, (*where, key), message, hint, True, nearest(key, known)))


def _at_home(definitions: Schema, title: str, key: str) -> str | None:
    """Where a key would be right."""
    if title.endswith("inside first_of") and key in definitions["stage-first_of"]["properties"]:
        return f"`{key}` is a key of the first_of stage itself"
    stages = ((name, each) for name, each in definitions.items() if name.startswith("stage-"))
    homes = [name[6:] for name, each in stages if key in each["properties"]]
    return f"`{key}` is a key of {', '.join(homes)}" if title.endswith("stage") and homes else None


def check_required(
    root: Schema, schema: Schema, value: Mapping[str, Any], where: Where = ()
) -> list[Violation]:
    """Only the keys that must be there and the groups of which one must stand."""
    found = Shape([], [])
    title = schema.get("title", _named(where))
    missing = [key for key in schema.get("required", ()) if key not in value]
    for key in missing:
        hint = _about(root["definitions"], schema["properties"].get(key))
        _add(found, "missing-key", where, f"{title} needs the key `{key}`", hint)
    if not missing:
        _groups(schema, value, where, found)
    return found.violations
