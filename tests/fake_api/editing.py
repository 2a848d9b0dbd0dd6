"""``context_management``: what the server clears before the model sees the messages (API-FACTS §2)."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from .counting import block_tokens, message_tokens
from .errors import invalid
from .rules import blocks
from .signing import KINDS

Json = Any
Message = dict[str, Any]

CLEARED = "[cleared by the server]"
"""The wording of the API's own placeholder is not known."""
CLEAR_TOOLS, CLEAR_THINKING, COMPACT = (
    "clear_tool_uses_20250919",
    "clear_thinking_20251015",
    "compact_20260112",
)
KEYS = {
    CLEAR_TOOLS: {"type", "trigger", "keep", "clear_at_least", "exclude_tools", "clear_tool_inputs"},
    CLEAR_THINKING: {"type", "keep"},
    COMPACT: {"type", "trigger", "pause_after_compaction", "instructions"},
}
CLEAR_TRIGGER, CLEAR_KEEP = 100_000, 3
COMPACT_TRIGGER, LEAST_COMPACT_TRIGGER = 150_000, 50_000
THINKING_KEEP = 1


def edits_of(body: Mapping[str, Json]) -> list[dict[str, Json]]:
    """The edits a request declares. Raises Refused for one that the API does not know or take."""
    found = list((body.get("context_management") or {}).get("edits") or ())
    for at, edit in enumerate(found):
        where = f"context_management.edits.{at}"
        kind = edit.get("type")
        if kind not in KEYS:
            raise invalid(f"{where}: Input tag '{kind}' found using 'type' does not match any expected tag")
        for key in edit:
            if key not in KEYS[kind]:
                raise invalid(f"{where}.{kind}.{key}: Extra inputs are not permitted")
        if kind == CLEAR_THINKING and at:
            raise invalid(f"{where}: {CLEAR_THINKING} must be listed first")
        if kind == COMPACT and compact_trigger(edit) < LEAST_COMPACT_TRIGGER:
            least = LEAST_COMPACT_TRIGGER
            raise invalid(f"{where}.trigger.value: Input should be greater than or equal to {least}")
    kinds = [edit["type"] for edit in found]
    if len(set(kinds)) < len(kinds):
        raise invalid("context_management.edits: each type of edit may be listed once")
    return found


def compact_trigger(edit: Mapping[str, Json]) -> int:
    return int((edit.get("trigger") or {}).get("value", COMPACT_TRIGGER))


def from_last_compaction(messages: Sequence[Message]) -> list[Message]:
    """What the model is shown: nothing before the last compaction block that has a text."""
    for index in reversed(range(len(messages))):
        content = blocks(messages[index])
        for number in reversed(range(len(content))):
            if content[number]["type"] == "compaction" and content[number].get("content") is not None:
                return [{**messages[index], "content": content[number:]}, *messages[index + 1 :]]
    return list(messages)


def edited(
    messages: Sequence[Message], edits: Sequence[Mapping[str, Json]], tokens: int
) -> tuple[list[Message], list[dict[str, Json]]]:
    """The messages after the clearing edits, and ``applied_edits``; ``tokens`` of the prompt before."""
    shown, applied = list(messages), []
    for edit in edits:
        if edit["type"] == CLEAR_THINKING:
            shown, said = _without_thinking(shown, edit)
        elif edit["type"] == CLEAR_TOOLS:
            shown, said = _without_results(shown, edit, tokens)
        else:
            continue
        if said:
            applied.append(said)
            tokens -= said["cleared_input_tokens"]
    return shown, applied


def _without_thinking(
    messages: list[Message], edit: Mapping[str, Json]
) -> tuple[list[Message], dict[str, Json] | None]:
    keep = edit.get("keep", {"type": "thinking_turns", "value": THINKING_KEEP})
    if keep == "all" or keep.get("type") == "all":
        return messages, None
    thinking = [
        index for index, message in enumerate(messages) if any(b["type"] in KINDS for b in blocks(message))
    ]
    gone = thinking[: max(0, len(thinking) - int(keep["value"]))]
    if not gone:
        return messages, None
    shown = list(messages)
    for index in gone:
        left = [block for block in blocks(messages[index]) if block["type"] not in KINDS]
        shown[index] = {**messages[index], "content": left}
    cleared = sum(message_tokens(messages[index]) - message_tokens(shown[index]) for index in gone)
    return [message for message in shown if message["content"]], {
        "type": CLEAR_THINKING,
        "cleared_input_tokens": cleared,
        "cleared_thinking_turns": len(gone),
    }


def _without_results(
    messages: list[Message], edit: Mapping[str, Json], tokens: int
) -> tuple[list[Message], dict[str, Json] | None]:
    calls = [block for message in messages for block in blocks(message) if block["type"] == "tool_use"]
    trigger = edit.get("trigger") or {"type": "input_tokens", "value": CLEAR_TRIGGER}
    if (tokens if trigger["type"] == "input_tokens" else len(calls)) <= trigger["value"]:
        return messages, None
    keep = int((edit.get("keep") or {"value": CLEAR_KEEP})["value"])
    spared = set(edit.get("exclude_tools") or ())
    old = calls[: max(0, len(calls) - keep)]
    names = {call["id"]: call["name"] for call in old if call["name"] not in spared}
    inputs = edit.get("clear_tool_inputs") or ()
    shown, cleared, uses = copy.deepcopy(messages), 0, set()
    for message in shown:
        for block in blocks(message):
            before = block_tokens(block)
            if block["type"] == "tool_result" and block["tool_use_id"] in names:
                if block.get("content") == CLEARED:
                    continue
                block["content"] = CLEARED
                uses.add(block["tool_use_id"])
            elif block["type"] == "tool_use" and _clears(inputs, names.get(block["id"])):
                block["input"] = {}
            cleared += before - block_tokens(block)
    least = edit.get("clear_at_least")
    if not uses or cleared < (least["value"] if least else 0):
        return messages, None
    return shown, {"type": CLEAR_TOOLS, "cleared_input_tokens": cleared, "cleared_tool_uses": len(uses)}


def _clears(inputs: Json, name: str | None) -> bool:
    """Whether ``clear_tool_inputs`` takes the input of a call whose result goes; None: it stays."""
    return name is not None and (inputs is True or (inputs is not False and name in inputs))
