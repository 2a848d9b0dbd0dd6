"""Values in the words of messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def kind_of(value: Any) -> str:
    """The value's type, in words."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"the text `{value}`" if len(value) <= 40 else "a text"
    if isinstance(value, int | float):
        return f"the number {value}"
    return "a mapping" if isinstance(value, Mapping) else "a list" if isinstance(value, list) else "nothing"


def flow(value: Any) -> str:
    """A value as one would write it in flow style."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow(each) for each in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def unquoted(text: str) -> Any:
    """What a text would have been without its quotes, if that is a number or a switch."""
    if text in ("true", "false"):
        return text == "true"
    try:
        return float(text)
    except ValueError:
        return text
