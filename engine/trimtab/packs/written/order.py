"""The order of keys: of the top level and of stages. What any other mapping holds stays as it was written.

There the order may mean something (the first model that matches, the first condition that fails), or be the
order in which somebody wants it to be read.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..schema import KINDS, MERGE_KEYS, pack_schema
from .tree import Collection, Entry, Leaf, Written, every_entry


def put_in_order(written: Written) -> None:
    """Sort the keys of the top level and of every stage as the schema lists them; unknown ones go last."""
    if isinstance(written.root, Collection):
        sort(written.root, list(pack_schema()["properties"]))
    for stage in written.stages():
        kind = stage.entry("kind")
        if sort(stage, stage_keys(kind.value.text if kind and isinstance(kind.value, Leaf) else "")):
            for entry in stage.entries:  # blank lines that set groups of keys apart, and those are gone
                entry.leading = [line for line in entry.leading if line]


def stage_keys(kind: str) -> list[str]:
    """The keys of a stage in their order; of an unknown kind those of every kind."""
    definitions = pack_schema()["definitions"]
    kinds = [kind] if kind in KINDS else list(KINDS)
    every = dict.fromkeys(key for each in kinds for key in definitions[f"stage-{each}"]["properties"])
    # Where a stage goes is part of what it is called.
    return ["id", *MERGE_KEYS, *(key for key in every if key not in ("id", *MERGE_KEYS))]


def sort(found: Collection, order: Sequence[str]) -> bool:
    """Sort the entries of a mapping by their keys' places in ``order``; whether anything has moved."""
    if not found.is_map:
        return False
    rank = {key: number for number, key in enumerate(order)}
    new = sorted(found.entries, key=lambda each: rank.get(each.name, len(rank)))
    if [each.name for each in new] == [each.name for each in found.entries]:
        return False
    if found.flow:
        _join_lines(found)
    elif new[0] is not found.entries[0]:
        _without_blanks(new[0])
    found.entries = new
    return True


def _without_blanks(first: Entry) -> None:
    """A mapping does not begin with blank lines, whoever comes first in it."""
    while first.leading and not first.leading[0]:
        del first.leading[0]


def _join_lines(found: Collection) -> None:
    """The line breaks of a flow collection mean nothing once its entries have moved."""
    found.closes = -1
    for entry in every_entry(found):
        entry.breaks = False
        if isinstance(entry.value, Collection):
            entry.value.closes = -1
