"""What a commit keeps of facts, read back from a journal: records by name of fact, and what a stage has told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def kept_facts(raw: Any) -> Mapping[str, Any]:
    """The facts of a commit, as they are. Raises ValueError where they have a shape that no commit gives them."""
    for name, value in _a(dict, raw, "facts").items():
        if name == "told":
            for key, told in _a(dict, value, "told").items():
                _check_told(_a(dict, told, f"what was told of {key[:40]!r}"))
        else:
            for record in _a(list, value, f"the fact {name[:40]!r}"):
                _check_record(_a(dict, record, f"a record of the fact {name[:40]!r}"))
    return raw  # type: ignore[no-any-return]  # looked at just now


def _check_told(told: Mapping[str, Any]) -> None:
    for name in ("keys", "added", "removed"):
        for key in _a(list, told.get(name, []), name):
            if isinstance(key, dict | list):
                raise ValueError(f"{name} holds {str(key)[:40]}")


def _check_record(record: Mapping[str, Any]) -> None:
    numbers = [record[name] for name in ("serial", "uses") if name in record]
    for number in [*numbers, *_a(list, record.get("serials", []), "serials")]:
        _a(int, number, "a number of a fact")


def _a(kind: type[Any], value: Any, name: str) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"{name} is {str(value)[:40]!r}")
    return value
