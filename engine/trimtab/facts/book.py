"""Facts from the traffic: records read from the calls and results of the transcript."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..conversation.items import MEDIA, RESULT, TEXT, USE, Item, blocks_of, is_genuine
from ..matching import Categories
from .host import MAIN_FIELDS, Record
from .rules import ALWAYS, FactRule, Source

ERROR_CHARS = 2000
"""Characters kept of a failed result in the fact ``errors``: half from its head, half from its tail."""


def text_of(content: Any) -> str:
    """The words of a message's or a tool result's content; media and calls have none."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple):
        return ""
    parts = [part.get("text") for part in content if isinstance(part, Mapping) and part.get("type") == "text"]
    return "\n".join(part for part in parts if isinstance(part, str))


class _Merged:
    """How far a fact's log has been merged, and into what."""

    __slots__ = ("by_key", "done", "listed")

    def __init__(self) -> None:
        self.done = 0
        self.by_key: dict[Any, dict[str, Any]] = {}
        self.listed: list[Record] = []


def _blocks(item: Item) -> Sequence[Mapping[str, Any]]:
    content = item.message.get("content")
    if type(content) is list and {type(block) for block in content} <= {dict}:
        return content
    return blocks_of(item.message)


def _merge(
    key: str, records: Iterable[dict[str, Any]], into: dict[Any, dict[str, Any]]
) -> dict[Any, dict[str, Any]]:
    for record in records:
        name = hashable(record.get(key))
        before = into.pop(name, {})
        into[name] = {**before, **record, "uses": before.get("uses", 0) + record.get("uses", 1)}
    return into


def _present(record: Record) -> Record:
    return {field: value for field, value in record.items() if value is not None and field != "serials"}


def _serial(record: Record) -> int:
    found: int = record["serial"]
    return found


def _serials(record: Record) -> list[int]:
    """Serials of all messages a record was merged from."""
    found: list[int] = record.get("serials") or [record["serial"]]
    return found


def _without(record: dict[str, Any], known: set[int]) -> dict[str, Any] | None:
    """A restored record less what it has from these messages; its fields are of all together and stay."""
    serials = _serials(record)
    left = [serial for serial in serials if serial not in known]
    if len(left) == len(serials):
        return record
    if not left:
        return None
    less = {**record, "serial": left[-1], "uses": len(left), "serials": left}
    if len(left) == 1:
        del less["serials"]
    return less


class FactBook:
    """The facts the traffic tells, read once from every message of the path.

    A rewound path needs a new book. Records are plain data with the ``serial`` of the message they were read
    from (of a call: the message that made it); those merged by a key have ``uses``, the number of calls, too.
    Neither records nor their lists may be changed by the reader.
    """

    __slots__ = (
        "_by_tool",
        "_categories",
        "_heard",
        "_live",
        "_log",
        "_merged",
        "_open",
        "_restored",
        "_unread",
        "_unsorted",
        "rules",
    )

    def __init__(self, rules: Mapping[str, FactRule], categories: Categories) -> None:
        self.rules = {**rules, **ALWAYS}
        self._categories = categories
        self._heard = [(rule, source) for rule in rules.values() for source in rule.sources if source.origins]
        self._by_tool: dict[str, list[tuple[FactRule, Source]]] = {}
        self._log: dict[str, list[dict[str, Any]]] = {name: [] for name in self.rules}
        self._merged: dict[str, _Merged] = {}
        self._live: set[int] = set()
        self._restored: dict[str, list[dict[str, Any]]] = {}
        self._unread: list[Item] = []
        self._unsorted: set[str] = set()
        self._open: dict[str, tuple[int, str, Mapping[str, Any]]] = {}

    def extend(self, items: Iterable[Item]) -> None:
        """Take further messages of the path, in order; they are read when a fact is first asked for."""
        self._unread.extend(items)

    def _catch_up(self) -> None:
        unread, self._unread = self._unread, []
        here = {item.serial for item in unread}
        self._live |= here
        for name in self._restored:
            self._give_way(name, here)
        for item in unread:
            mask = item.mask
            if mask & USE:
                self._calls(item)
            if mask & (RESULT | MEDIA):
                self._results(item)
            if mask & TEXT and is_genuine(item):
                text = text_of(item.message.get("content"))
                if text.strip():
                    self._add("user_messages", item.serial, {"text": text, "origin": item.origin})
                    self._spoken(item, text)

        # Restored records stand where their messages stood, also among those the host still has.
        for name in self._unsorted:
            self._log[name].sort(key=_serial)
            self._merged.pop(name, None)
        self._unsorted.clear()

    def _spoken(self, item: Item, text: str) -> None:
        """What rules about the words of users read."""
        for rule, source in self._heard:
            if item.origin in source.origins:
                for record in source.read({"text": text}, text, rule.main):
                    self._add(rule.name, item.serial, {**record, "origin": item.origin})

    def _calls(self, item: Item) -> None:
        for name in item.names:
            self._add("tool_names", item.serial, {"name": name})
        for block in _blocks(item):
            if block.get("type") == "tool_use":
                given = block.get("input")
                if type(given) is not dict and not isinstance(given, Mapping):
                    given = {}
                # An id that is used again belongs to its newest call: a result can only answer that one.
                self._open[str(block.get("id"))] = (item.serial, str(block.get("name")), given)

    def _results(self, item: Item) -> None:
        for number, block in enumerate(_blocks(item)):
            kind = block.get("type")
            if kind == "image":
                self._add("images", item.serial, {"block": number})
            if kind != "tool_result":
                continue
            content = block.get("content")
            if item.mask & MEDIA and isinstance(content, list):
                images = any(isinstance(part, Mapping) and part.get("type") == "image" for part in content)
                if images:
                    self._add("images", item.serial, {"block": number})
            call = self._open.pop(str(block.get("tool_use_id")), None)
            failed = block.get("is_error") is True
            if failed:
                text = _shortened(text_of(content))
                self._add("errors", item.serial, {"tool": call[1] if call else None, "text": text})
            if call:
                self._read(call, failed, content)

    def _read(self, call: tuple[int, str, Mapping[str, Any]], failed: bool, content: Any) -> None:
        serial, tool, given = call
        text: str | None = None
        for rule, source in self._readers(tool):
            if failed and not source.errors:
                continue
            text = text_of(content) if text is None else text
            for record in source.read(given, text, rule.main):
                self._add(rule.name, serial, record)

    def _readers(self, tool: str) -> list[tuple[FactRule, Source]]:
        readers = self._by_tool.get(tool)
        if readers is None:
            readers = self._by_tool[tool] = [
                (rule, source)
                for rule in self.rules.values()
                for source in rule.sources
                if self._categories.matches(tool, source.tools)
            ]
        return readers

    def of_call(self, name: str, tool: str, given: Any, result: str = "") -> list[Record]:
        """The records of a fact that one call gives, whether or not it succeeded."""
        given = given if isinstance(given, Mapping) else {}
        return [
            _present(record)
            for rule, source in self._readers(tool)
            if rule.name == name
            for record in source.read(given, result, rule.main)
        ]

    def main_field(self, name: str) -> str | None:
        """The main field of a fact: declared by the pack, always there, or the host's; else None."""
        rule = self.rules.get(name)
        return MAIN_FIELDS.get(name) if rule is None or name in ALWAYS else rule.main

    def _add(self, name: str, serial: int, record: dict[str, Any]) -> None:
        record["serial"] = serial
        log = self._log[name]
        if log and serial < log[-1]["serial"] and name in self._restored:
            self._unsorted.add(name)
        log.append(record)

    def records(self, name: str) -> list[Record] | None:
        """The records of a fact, newest last; None if no rule reads it."""
        rule = self.rules.get(name)
        if rule is None:
            return None
        if self._unread:
            self._catch_up()
        log = self._log[name]
        state = self._merged.get(name)
        if state is None:
            state = self._merged[name] = _Merged()
        if state.done < len(log):
            new = log[state.done :]
            state.done = len(log)
            if rule.last:
                state.listed = [_present(new[-1])]
            elif rule.key:
                _merge(rule.key, new, state.by_key)
                state.listed = [_present(record) for record in state.by_key.values()]
            else:
                state.listed.extend(_present(record) for record in new)
        return state.listed

    def snapshot(self, serials: Iterable[int]) -> dict[str, list[dict[str, Any]]]:
        """The records read from these messages, as JSON data for ``restore``; only facts that have some."""
        self._catch_up()
        wanted = frozenset(serials)
        kept: dict[str, list[dict[str, Any]]] = {}
        for name, log in self._log.items():
            rule = self.rules[name]
            chosen = [record for record in log if record["serial"] in wanted]
            if rule.last:
                chosen = chosen[-1:]
            elif rule.key:
                merged_from: dict[Any, list[int]] = {}
                for record in chosen:
                    merged_from.setdefault(hashable(record.get(rule.key)), []).extend(_serials(record))
                chosen = [
                    {**record, "serials": merged_from[key]} if len(merged_from[key]) > 1 else record
                    for key, record in _merge(rule.key, chosen, {}).items()
                ]
            if chosen:
                kept[name] = [dict(record) for record in chosen]
        return kept

    def restore(self, snapshot: Mapping[str, Sequence[Record]]) -> None:
        """Take over records of messages the host may no longer have.

        Each message counts once: what can be read from it goes first, then what was restored earlier.
        """
        self._catch_up()
        for name, records in snapshot.items():
            if name not in self.rules:
                continue
            before = self._restored.setdefault(name, [])
            given = [dict(record) for record in records if isinstance(record.get("serial"), int)]
            known = {serial for record in given for serial in _serials(record)} & self._live
            known.update(serial for record in before for serial in _serials(record))
            new = [left for record in given if (left := _without(record, known))]
            before.extend(new)
            self._log[name] = sorted(self._log[name] + new, key=_serial)
            self._merged.pop(name, None)

    def _give_way(self, name: str, here: set[int]) -> None:
        """Of what was restored, leave out what these messages, which the host does have, tell themselves."""
        before = self._restored[name]
        if here.isdisjoint(serial for record in before for serial in _serials(record)):
            return
        old = {id(record) for record in before}
        left = self._restored[name] = [kept for record in before if (kept := _without(record, here))]
        read = [record for record in self._log[name] if id(record) not in old]
        self._log[name] = sorted(read + left, key=_serial)
        self._merged.pop(name, None)


def hashable(value: Any) -> Any:
    """A key for a record's main field, whatever its type."""
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    return json.dumps(value, sort_keys=True, default=repr)


def _shortened(text: str) -> str:
    if len(text) <= ERROR_CHARS:
        return text
    half = ERROR_CHARS // 2
    return f"{text[:half]}\n[{len(text) - 2 * half} characters left out]\n{text[-half:]}"
