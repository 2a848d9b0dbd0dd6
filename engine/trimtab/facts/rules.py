"""The pack's ``facts`` compiled: which fields of which calls make a record."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..conversation.items import structure
from ..conversation.request import GENUINE
from ..matching import PatternError, pattern

MAX_MATCHES = 1000
"""Records one call may give through a pattern or a ``*``."""


class FactError(ValueError):
    """A fact rule that cannot be used; ``where`` is the path inside the pack's ``facts``."""

    def __init__(self, where: tuple[str | int, ...], message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.where = where
        self.message = message
        self.hint = hint


Found: TypeAlias = dict[tuple[int, ...], Any]
"""Values by the element numbers of their ``*`` or by the number of the match; ``()``: one value for all."""
Take: TypeAlias = Callable[[Mapping[str, Any], str], Found]


@dataclass(frozen=True, slots=True)
class Source:
    """One way to read a record: from calls of tools in these categories, or from the words of messages of these
    origins (genuine ones of users only: whatever else there is could be forged). Such a message is read like a call
    with the input ``{text}`` and its words as result.
    """

    tools: tuple[str, ...]
    take: tuple[tuple[str, Take], ...]
    set: Mapping[str, Any]
    errors: bool
    plain: tuple[tuple[str, str | None], ...] | None = None
    """The same as ``take`` where each value is a field of the input, or (None) the result: the short way."""
    origins: tuple[str, ...] = ()

    def read(self, given: Mapping[str, Any], result: str, main: str | None) -> Iterator[dict[str, Any]]:
        """Records of one call; a field that is taken and missing is None."""
        if self.plain is not None:
            record: dict[str, Any] = {}
            for field, name in self.plain:
                value = result if name is None else given.get(name)
                record[field] = structure(value) if type(value) is dict or type(value) is list else value
            record.update(self.set)
            if main is None or record.get(main) is not None:
                yield record
            return
        if not self.take:
            yield dict(self.set)
            return
        found = [(field, take(given, result)) for field, take in self.take]
        keys = dict.fromkeys(key for _, values in found for key in values)
        inner = {key[:length] for key in keys for length in range(len(key))}
        for key in keys:
            if key in inner:
                continue
            prefixes = [key[:length] for length in range(len(key), -1, -1)]
            record = {
                field: next((values[prefix] for prefix in prefixes if prefix in values), None)
                for field, values in found
            }
            record.update(self.set)
            if main is None or record.get(main) is not None:
                yield record


@dataclass(frozen=True, slots=True)
class FactRule:
    """How a fact is read from tool traffic."""

    name: str
    key: str | None
    last: bool
    sources: tuple[Source, ...]

    @property
    def main(self) -> str | None:
        """The main field: the key, else the first field taken (LANGUAGE §4)."""
        if self.key:
            return self.key
        return next((field for source in self.sources for field, _ in source.take), None)

    @property
    def fields(self) -> frozenset[str]:
        """Every field a record may have."""
        names = {field for source in self.sources for field, _ in source.take}
        return frozenset(names.union(*(source.set for source in self.sources)))


ALWAYS: Mapping[str, FactRule] = {
    name: FactRule(name, "name" if name == "tool_names" else None, False, ())
    for name in ("user_messages", "errors", "images", "tool_names", "mentions")
}


def fact_rules(raw: Mapping[str, Any]) -> Mapping[str, FactRule]:
    """The pack's ``facts``, compiled. Raises FactError at the first rule that cannot be used."""
    rules = {}
    for name, value in raw.items():
        if name in ALWAYS:
            raise FactError((name,), f"the fact {name} is always there", "take another name")
        if not isinstance(value, Mapping):
            raise FactError((name,), "a fact is a mapping with `from`")
        sources = []
        for number, source in enumerate(value.get("from", ())):
            where = (name, "from", number)
            if not isinstance(source, Mapping):
                raise FactError(where, "an entry is a mapping with `tools` and `take`")
            takes = source.get("take", {})
            if not takes and not source.get("set"):
                raise FactError(where, "nothing is taken and nothing is set", "add `take: {FIELD: /pointer}`")
            own = sorted({"serial", "serials", "uses", "origin"} & {*takes, *source.get("set", {})})
            if own:
                raise FactError(where, f"the field {own[0]} is filled by the engine", "take another name")
            take = tuple((field, _take(one, (*where, "take", field))) for field, one in takes.items())
            tools, origins = tuple(source.get("tools", ())), tuple(source.get("origins", ()))
            if origins and (tools or not GENUINE.issuperset(origins)):
                hint = f"origins are {' or '.join(sorted(GENUINE))}, and go without `tools`"
                raise FactError(where, "only the words of users can be read", hint)
            errors = bool(source.get("errors", False))
            sources.append(Source(tools, take, dict(source.get("set", {})), errors, _plain(takes), origins))
        rule = FactRule(name, value.get("key"), bool(value.get("last", False)), tuple(sources))
        for number, source in enumerate(sources):
            if rule.key and rule.key not in {field for field, _ in source.take}:
                hint = f"add `take: {{{rule.key}: …}}`"
                raise FactError((name, "from", number), f"the key {rule.key} is not taken here", hint)
        rules[name] = rule
    return rules


def _plain(takes: Mapping[str, Any]) -> tuple[tuple[str, str | None], ...] | None:
    found: list[tuple[str, str | None]] = []
    for field, raw in takes.items():
        if raw == "result":
            found.append((field, None))
        elif isinstance(raw, str) and re.fullmatch(r"/[^/~*]+", raw):
            found.append((field, raw[1:]))
        else:
            return None
    return tuple(found)


def _take(raw: Any, where: tuple[str | int, ...]) -> Take:
    if isinstance(raw, Mapping):
        inside = _take(raw.get("in", "result"), (*where, "in"))
        try:
            expression = pattern(str(raw.get("pattern", "")))
        except PatternError as error:
            raise FactError((*where, "pattern"), error.message, error.hint) from None
        if not raw.get("pattern") or not expression.groups:
            hint = "put brackets around the part that is the value"
            raise FactError((*where, "pattern"), "the pattern has no group to take the value from", hint)
        return lambda given, result: _matches(expression, inside(given, result))
    if raw == "result":
        return lambda given, result: {(): result}
    if not isinstance(raw, str) or (raw and not raw.startswith("/")):
        hint = f"write /{raw}" if isinstance(raw, str) else "write /field, result, or {pattern, in}"
        raise FactError(where, f"not a JSON pointer: {raw!r}", hint)
    steps = tuple(step.replace("~1", "/").replace("~0", "~") for step in raw.split("/")[1:])
    return lambda given, result: dict(_walk(given, steps, ()))


def _matches(expression: re.Pattern[str], found: Found) -> Found:
    groups: list[str] = []
    for value in found.values():
        if not isinstance(value, str):
            continue
        for match in expression.finditer(value):
            if len(groups) >= MAX_MATCHES:
                break
            if match[1]:
                groups.append(match[1])
    return {(number,): group for number, group in enumerate(groups)}


def _walk(value: Any, steps: tuple[str, ...], key: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Any]]:
    for number, step in enumerate(steps):
        if step == "*":
            inner = list(value.values()) if isinstance(value, Mapping) else value
            if isinstance(inner, list | tuple):
                for place, one in enumerate(inner[:MAX_MATCHES]):
                    yield from _walk(one, steps[number + 1 :], (*key, place))
            return
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif isinstance(value, list | tuple) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return
    if value is not None:
        # A copy of the containers: the host may change its own message later, a record must not follow.
        yield key, structure(value)
