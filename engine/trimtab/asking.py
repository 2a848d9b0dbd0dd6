"""Tools a pack offers the model: their definitions for the request, what a call asks for, and what to answer it.

A call is no stage's business: it becomes a manual request like any other, and the run decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from .facts import ManualRequest
from .facts.host import Name, Named
from .manual import LEFT
from .outcome import Outcome
from .packs.pack import Pack, Setting
from .policy.conditions import Condition
from .policy.relations import SERIAL_DIGITS, serial_of
from .policy.stage import Stage
from .receipt import StageReport

_ID: dict[str, Any] = {"type": "string", "description": "the id of a message, without the brackets"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "messages": {"type": "array", "items": _ID, "description": "single messages"},
        "ranges": {
            "type": "array",
            "description": "stretches of messages, both ends included",
            "items": {
                "type": "object",
                "properties": {"from": _ID, "to": _ID},
                "required": ["from", "to"],
                "additionalProperties": False,
            },
        },
    },
    "additionalProperties": False,
}
"""What a call may name."""

TOLD, TOLD_CHARS = 20, 80
"""Reasons that one answer lists at most, and characters of what was named that each of them repeats."""
_TAG = re.compile(r"\[?\s*(?:id:)?\s*(.*?)\s*\]?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Asked:
    """A call of an offered tool: give ``request`` to a manual run, and its outcome to ``result``.

    ``problems`` are what of the call's input could not be read.
    """

    id: str
    stage: str
    request: ManualRequest
    problems: tuple[str, ...] = ()

    def result(self, outcome: Outcome) -> dict[str, Any]:
        """The ``tool_result`` block that tells the model what was removed, and why the rest was not.

        It is an error where nothing was removed. Of more than ``TOLD`` reasons the others are counted.
        """
        report = outcome.receipt.stage(self.stage)
        done = report is not None and report.verdict == "committed"
        left = [f"{one.where:.{TOLD_CHARS}}: {one.message}" for one in outcome.problems if one.code == LEFT]
        lines = [_removed(report) if report is not None and done else _nothing(report, bool(left), self)]
        reasons = [*left, *self.problems]
        if reasons:
            lines += ["Not removed:" if done else "", *(f"- {one}" for one in reasons[:TOLD])]
        if len(reasons) > TOLD:
            lines.append(f"- and {len(reasons) - TOLD:,} more")
        text = "\n".join(line for line in lines if line)
        block = {"type": "tool_result", "tool_use_id": self.id, "content": text}
        return block if done else {**block, "is_error": True}


def _removed(report: StageReport) -> str:
    count = len(report.messages)
    said = f"Removed {count} message{'' if count == 1 else 's'}"
    if report.tokens is not None:
        said += f", about {report.tokens.before - report.tokens.after:,} tokens"
    return said + "."


def _nothing(report: StageReport | None, explained: bool, asked: Asked) -> str:
    if report is None or explained:
        return "Nothing was removed."
    if not asked.request.messages:
        return "Nothing was removed: the call names no message."
    failing = next((one for one in report.conditions if not one.holds), None)
    why = report.reason or report.verdict
    if failing is not None:
        value = failing.value
        why = f"{failing.path} is {str(value).lower() if isinstance(value, bool) else value}"
    return f"Nothing was removed: {why}."


# --- what is offered


def _offers(pack: Pack) -> Iterator[tuple[Stage, tuple[Condition | None, ...]]]:
    """Stages with a tool that a manual run may reach, and the conditions in front of each."""
    for top in pack.stages:
        for stage in (top, *top.children):
            if stage.offer is not None and top.enabled and stage.enabled and "manual" in top.at:
                yield stage, (top.at["manual"], top.when, stage.when)


def definitions(pack: Pack, settings: Mapping[str, Setting], model: str) -> list[dict[str, Any]]:
    """Anthropic tool definitions of what the pack offers under these settings, in the order of its stages."""
    found: list[dict[str, Any]] = []
    for stage, conditions in _offers(pack):
        if stage.offer is not None and all(one is None or one.admits(settings) for one in conditions):
            text = stage.offer.text.render({"settings": settings, "model": model})
            found.append({"name": stage.offer.name, "description": text, "input_schema": deepcopy(SCHEMA)})
    return found


def asked(pack: Pack, call: Any) -> Asked | None:
    """What a ``tool_use`` block (a mapping, or an object of an SDK) asks for; None if the tool is not the pack's.

    Input that makes no sense is not refused here: the run removes nothing, and ``Asked.result`` says why.
    """
    name, given = _of(call, "name"), _of(call, "input")
    stage = next((one for one, _ in _offers(pack) if one.offer is not None and one.offer.name == name), None)
    if stage is None or _of(call, "type") not in ("tool_use", None):
        return None
    named, problems = _read(given)
    return Asked(str(_of(call, "id")), stage.id, ManualRequest(str(name), "model", messages=named), problems)


def _of(call: Any, key: str) -> Any:
    return call.get(key) if isinstance(call, Mapping) else getattr(call, key, None)


def _read(given: Any) -> tuple[tuple[Named, ...], tuple[str, ...]]:
    if not isinstance(given, Mapping):
        return (), ("the input is no object with `messages` or `ranges`",)
    found: list[Named] = []
    problems: list[str] = []
    for one in _listed(given.get("messages")):
        name = _name(one)
        if name is None:
            problems.append(f"{_shown(one)} in `messages` is no id")
        else:
            found.append(name)
    for one in _listed(given.get("ranges")):
        ends = [_name(one.get(key)) for key in ("from", "to")] if isinstance(one, Mapping) else [None]
        start, stop = ends[0], ends[-1]
        if start is None or stop is None:
            problems.append(f"{_shown(one)} in `ranges` does not say `from` which id `to` which")
        else:
            found.append((start, stop))
    problems += [
        f"the input has no `{key}`"
        for key in sorted(
            [_shown(key) if not isinstance(key, str) else f"{key:.{TOLD_CHARS}}" for key in given]
        )
        if key not in SCHEMA["properties"]
    ]
    return tuple(found), tuple(problems)


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _shown(value: Any) -> str:
    """What a model has written, shortened."""
    try:
        return f"{value!r:.{TOLD_CHARS}}"
    except ValueError:  # Python writes no number of more than some thousand digits
        return f"a {type(value).__name__}"


def _name(value: Any) -> Name | None:
    """A serial, or a host's id, also where the model has copied the whole mark."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    if isinstance(value, int) and not 0 <= value < 10**SERIAL_DIGITS:
        return None
    match = _TAG.fullmatch(str(value))
    text = match[1] if match else ""
    serial = serial_of(text)
    return text or None if serial is None else serial
