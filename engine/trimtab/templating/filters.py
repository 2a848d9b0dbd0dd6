"""The filters and tests templates may use; nothing else can be called from one."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from jinja2 import Undefined
from jinja2.exceptions import FilterArgumentError

from .fencing import within, without_tag
from .sharing import shares

MAX_TEXT = 1_000_000
"""Characters any one text in a template, and its whole output, may have."""
MAX_INDENT = 200


class TooLong(Exception):
    """A text or the work for it went over its cap."""


def shown(value: Any) -> str:
    """A value as text: whole numbers without a point, no value as nothing, containers as JSON."""
    kind = type(value)
    if kind is str:
        return str(value)
    if value is None:
        return ""
    if kind is bool:
        return "true" if value else "false"
    if kind is float:
        if math.isinf(value):
            return "unlimited"
        # Never a power of ten where a number of tokens may be meant.
        whole = value.is_integer() or abs(value) >= 1e6
        return str(round(value)) if whole and abs(value) < 1e15 else f"{value:.6g}"
    if isinstance(value, Undefined):
        return str(value)
    if isinstance(value, Mapping | list | tuple):
        return as_json(value)
    return str(value)


def as_json(value: Any) -> str:
    """Compact JSON, non-ASCII kept; what JSON does not know becomes text."""
    plain = dict(value) if isinstance(value, Mapping) and not isinstance(value, dict) else value
    return json.dumps(plain, ensure_ascii=False, default=str)


def field(value: Any, path: str) -> Any:
    """A dotted field of nested mappings, or None."""
    for step in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(step)
    return value


def _capped(length: int) -> None:
    if length > MAX_TEXT:
        raise TooLong(f"a text of {length} characters; {MAX_TEXT} are allowed")


def _text(value: Any) -> str:
    text = shown(value)
    _capped(len(text))
    return text


def joined(value: Iterable[Any], separator: Any = "", attribute: str | None = None) -> str:
    parts = [_text(field(one, attribute) if attribute else one) for one in value]
    between = _text(separator)
    _capped(sum(map(len, parts)) + len(between) * max(0, len(parts) - 1))
    return between.join(parts)


def default(value: Any, other: Any = "", boolean: bool = False) -> Any:
    return other if isinstance(value, Undefined) or value is None or (boolean and not value) else value


def replaced(value: Any, old: Any, new: Any) -> str:
    text, old, new = _text(value), _text(old), _text(new)
    if not old:
        raise FilterArgumentError("replace needs something to look for")
    _capped(len(text) + text.count(old) * max(0, len(new) - len(old)))
    return text.replace(old, new)


def indented(value: Any, width: int = 4, first: bool = False) -> str:
    if not 0 <= int(width) <= MAX_INDENT:
        raise FilterArgumentError(f"indent takes 0 to {MAX_INDENT} columns")
    text, pad = _text(value), " " * int(width)
    _capped(len(text) + text.count("\n") * len(pad))
    return (pad if first else "") + text.replace("\n", "\n" + pad)


def quoted(value: Any) -> str:
    """Every line behind ``> ``: other people's words that cannot pass for a heading or a tag of ours."""
    # Every kind of line break, or a line that stands behind another kind would be outside of the quote.
    return "> " + joined(_text(value).strip("\n").splitlines(), "\n> ")


def on_one_line(value: Any) -> str:
    return " ".join(_text(value).split())


def clipped(value: Any, chars: int = 1000) -> str:
    """Head and tail of a long text with the number of characters left out; half the budget each."""
    text, chars = _text(value), max(0, int(chars))
    if len(text) <= chars:
        return text
    head = text[: chars - chars // 2]
    tail = text[len(text) - chars // 2 :]
    return f"{head}\n[… {len(text) - len(head) - len(tail)} characters left out …]\n{tail}"


def truncated(value: Any, length: int = 255) -> str:
    text, length = _text(value), max(1, int(length))
    return text if len(text) <= length else text[: length - 1] + "…"


def first(value: Sequence[Any], count: int | None = None) -> Any:
    if count is not None:
        return value[: max(0, int(count))]
    return value[0] if value else None


def last(value: Sequence[Any], count: int | None = None) -> Any:
    if count is not None:
        return value[max(0, len(value) - max(0, int(count))) :]
    return value[-1] if value else None


def attributes(value: Iterable[Any], attribute: str) -> list[Any]:
    return [found for one in value if (found := field(one, attribute)) is not None]


def selected(value: Iterable[Any], attribute: str, *equal: Any) -> list[Any]:
    """Those whose field is true, or equals the value given."""
    return [one for one in value if _chosen(one, attribute, equal)]


def rejected(value: Iterable[Any], attribute: str, *equal: Any) -> list[Any]:
    return [one for one in value if not _chosen(one, attribute, equal)]


def _chosen(one: Any, attribute: str, equal: tuple[Any, ...]) -> bool:
    found = field(one, attribute)
    return bool(found == equal[0]) if equal else bool(found)


def names(value: Iterable[Any]) -> list[str]:
    """The last part of each path."""
    return [re.split(r"[/\\\\]", _text(path).rstrip("/\\"))[-1] for path in value]


def ordered(value: Iterable[Any], attribute: str | None = None, reverse: bool = False) -> list[Any]:
    def key(one: Any) -> tuple[bool, Any]:
        found = field(one, attribute) if attribute else one
        return (found is not None, found if found is not None else 0)

    return sorted(value, key=key, reverse=reverse)


def unique(value: Iterable[Any], attribute: str | None = None) -> list[Any]:
    kept: dict[str, Any] = {}
    for one in value:
        kept.setdefault(as_json(field(one, attribute) if attribute else one), one)
    return list(kept.values())


def rounded(value: float, precision: int = 0) -> float | int:
    number = round(float(value), int(precision))
    return int(number) if precision <= 0 and math.isfinite(number) else number


def whole(value: Any, other: int = 0) -> int:
    try:
        return int(float(value)) if not isinstance(value, int) else value
    except (TypeError, ValueError, OverflowError):
        return other


def tagged(value: Any, tag: str) -> str:
    return within(_text(value), _tag(tag))


def untagged(value: Any, tag: str) -> str:
    return without_tag(_text(value), _tag(tag))


def _tag(tag: Any) -> str:
    if not isinstance(tag, str) or not re.fullmatch(r"[a-z][a-z0-9-]{0,40}", tag):
        raise FilterArgumentError("a tag is made of small letters, digits and hyphens")
    return tag


def escaped(value: Any) -> str:
    return replaced(replaced(replaced(_text(value), "&", "&amp;"), "<", "&lt;"), ">", "&gt;")


def spread(value: Sequence[Any], attribute: str, chars: float, least: int = 200) -> list[dict[str, Any]]:
    """Records whose texts are within a budget together, in order; long texts are clipped before any is left out.

    Where less than ``least`` would remain of each, those between the first and the newest are left out; one record
    ``{"left_out": N}`` stands in their place.
    """
    texts = [_text(field(one, attribute)) for one in value]
    room = max(0, int(chars))
    found: list[dict[str, Any]] = []
    for one, text, share in zip(
        value, texts, shares([len(text) for text in texts], room, least), strict=True
    ):
        if share or not text:
            found.append({**one, attribute: clipped(text, share)})
        elif found and "left_out" in found[-1]:
            found[-1]["left_out"] += 1
        else:
            found.append({"left_out": 1})
    return found


def fitting(value: Iterable[Any], chars: float, attribute: str | None = None, extra: int = 2) -> list[Any]:
    """As many of the first as fit together; each costs ``extra`` characters besides its text."""
    found: list[Any] = []
    for one in value:
        chars -= len(_text(field(one, attribute) if attribute else one)) + extra
        if chars < 0:
            break
        found.append(one)
    return found


FILTERS: Mapping[str, Callable[..., Any]] = {
    "clip": clipped,
    "default": default,
    "e": escaped,
    "escape_tag": untagged,
    "first": first,
    "fitting": fitting,
    "indent": indented,
    "int": whole,
    "items": lambda value: list(dict(value).items()),
    "join": joined,
    "json": lambda value: _text(as_json(value)),
    "last": last,
    "length": len,
    "list": list,
    "lower": lambda value: _text(value).lower(),
    "map": attributes,
    "names": names,
    "oneline": on_one_line,
    "quote": quoted,
    "rejectattr": rejected,
    "replace": replaced,
    "reverse": lambda value: value[::-1],
    "round": rounded,
    "selectattr": selected,
    "sort": ordered,
    "spread": spread,
    "trim": lambda value: _text(value).strip(),
    "truncate": truncated,
    "unique": unique,
    "upper": lambda value: _text(value).upper(),
    "within": tagged,
}

TESTS = frozenset(
    {"boolean", "defined", "even", "in", "mapping", "none", "number", "odd", "sequence", "string"}
)
"""Tests of Jinja2 that stay: they look at a value and call nothing of it."""
