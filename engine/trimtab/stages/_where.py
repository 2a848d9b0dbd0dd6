"""``where`` of an entry: which records of a fact are meant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..matching import Globs


@dataclass(frozen=True, slots=True)
class Where:
    """All fields must match, and none of ``none``. A field that is missing is false, and matches no glob."""

    fields: tuple[tuple[str, bool | Globs], ...]
    none: tuple[Where, ...] = ()

    @classmethod
    def build(cls, raw: Mapping[str, Any]) -> Where:
        fields = tuple(
            (name, value if isinstance(value, bool) else Globs(value))
            for name, value in raw.items()
            if name != "none"
        )
        return cls(fields, tuple(cls.build(one) for one in raw.get("none", ())))

    def matches(self, record: Mapping[str, Any]) -> bool:
        return all(_fits(record.get(name), wanted) for name, wanted in self.fields) and not any(
            one.matches(record) for one in self.none
        )


def _fits(value: Any, wanted: bool | Globs) -> bool:
    if isinstance(wanted, bool):
        return bool(value) is wanted
    if isinstance(value, list | tuple):
        return any(_fits(one, wanted) for one in value)
    if value is None or isinstance(value, bool | Mapping):
        return False
    return wanted.match(str(value))
