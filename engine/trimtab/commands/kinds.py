"""``trimtab kinds``: what a stage may be, with the keys of each kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from ..packs.load import known_kinds
from ..packs.schema import KINDS, MERGE_KEYS, pack_schema
from . import exits


@click.command("kinds", short_help="List the kinds of stages and their keys.")
@click.argument("kind", metavar="[KIND]", required=False)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(kind: str | None, as_json: bool) -> int:
    """List the kinds of stages, or the keys of one KIND."""
    if kind is not None and kind not in KINDS:
        from ..packs.problems import near_or_all

        raise click.BadParameter(
            f"there is no kind '{kind}': {near_or_all(kind, KINDS)}", param_hint="'KIND'"
        )
    chosen = KINDS if kind is None else (kind,)
    if as_json:
        from ..outputs.as_json import dumps

        click.echo(dumps({"kinds": [kind_dict(name) for name in chosen]}))
        return exits.FINE
    from ..outputs.table import show_table

    if kind is None:
        rows = [(name, "yes" if name in known_kinds() else "not yet", describe(name)) for name in KINDS]
        show_table(("kind", "runs", "what it does"), rows)
    else:
        click.echo(f"{kind}: {describe(kind)}\n")
        need = required(kind)
        keys = [
            (key, "yes" if key in need else "", meaning(spec), default(spec)) for key, spec in own_keys(kind)
        ]
        show_table(("key", "required", "meaning", "default"), keys)
        click.echo("\nKeys of every stage: " + ", ".join(key for key, _ in common_keys(kind)))
    return exits.FINE


def _stage(kind: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = pack_schema()["definitions"][f"stage-{kind}"]
    return found


def describe(kind: str) -> str:
    """One sentence."""
    return str(_stage(kind)["description"])


def required(kind: str) -> list[str]:
    """Keys the stage cannot do without (of alternatives, see the schema), ``id`` and ``kind`` aside."""
    return [key for key in _stage(kind)["required"] if key not in ("id", "kind")]


def common_keys(kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The keys every stage has."""
    shared = set.intersection(*(set(_stage(one)["properties"]) for one in KINDS)) - set(MERGE_KEYS)
    shared.add("accept")
    return ((key, spec) for key, spec in _stage(kind)["properties"].items() if key in shared)


def own_keys(kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The keys of this kind alone."""
    shared = {key for key, _ in common_keys(kind)} | set(MERGE_KEYS)
    return ((key, spec) for key, spec in _stage(kind)["properties"].items() if key not in shared)


def meaning(spec: Mapping[str, Any]) -> str:
    """What a key is for, from its description or that of what it refers to."""
    if "description" in spec:
        return str(spec["description"])
    for part in (spec, *spec.get("allOf", ())):
        reference = str(part.get("$ref", "")).rpartition("/")[2]
        if reference:
            target = pack_schema()["definitions"][reference]
            return str(target.get("description") or target.get("title") or "")
    return str(spec.get("title", ""))


def default(spec: Mapping[str, Any]) -> str:
    """The default, as it would be written."""
    if "default" not in spec:
        return ""
    from ..outputs.words import value_text

    value = spec["default"]
    return f"[{value_text(value)}]" if isinstance(value, list) else value_text(value)


def kind_dict(kind: str) -> dict[str, Any]:
    """A kind for programs."""
    need = required(kind)
    return {
        "name": kind,
        "description": describe(kind),
        "available": kind in known_kinds(),
        "keys": [
            {"name": key, "meaning": meaning(spec), "required": key in need} for key, spec in own_keys(kind)
        ],
        "common": [key for key, _ in common_keys(kind)],
    }
