"""The tool by which a model may ask for a stage: its name and what it says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..templating import Text
from .maker import Maker


@dataclass(frozen=True, slots=True)
class Offer:
    """``name`` is the tool's, and that of the manual request a call of it makes; ``text`` is its description."""

    name: str
    text: Text

    @classmethod
    def build(cls, raw: Mapping[str, Any], make: Maker) -> Offer | None:
        given = raw.get("tool")
        text = make.text(given, "tool") if given else None
        return cls(given["name"], text) if given and text is not None else None
