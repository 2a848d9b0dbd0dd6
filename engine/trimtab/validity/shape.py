"""Rule ``shape``: known roles, the fields each known block must have, blocks only where they may stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..conversation.items import Item
from .base import PlainRule, Violation

ROLES = frozenset({"user", "assistant", "system"})


@dataclass(frozen=True)
class Shape(PlainRule):
    """API-FACTS §4 rule 1. Blocks and keys nobody knows pass; there is no repair, for it would be a guess."""

    local: ClassVar[bool] = True

    name: str = "shape"

    def scan(self, items: Sequence[Item], start: int, state: Any) -> tuple[list[Violation], Any]:
        found: list[Violation] = []
        for index in range(start, len(items)):
            if items[index].plain:
                continue
            message = items[index].message
            content, role = message.get("content"), message.get("role")
            if type(content) is not list:
                if type(content) is not str or type(role) is not str or role not in ROLES:
                    found += self._slowly(index, message)
                continue
            if role == "user":
                # This loop and the next see every block: exact types of the common kinds, all else below.
                for block in content:
                    if type(block) is not dict:
                        break
                    what = block.get("type")
                    if what == "tool_result":
                        if type(block.get("tool_use_id")) is not str or not block["tool_use_id"]:
                            break
                        inner = type(block.get("content"))
                        if inner is not str and inner is not list:
                            break
                    elif what != "text" or type(block.get("text")) is not str:
                        break
                else:
                    continue
            elif role == "assistant":
                for block in content:
                    if type(block) is not dict:
                        break
                    what = block.get("type")
                    if what == "tool_use":
                        if (
                            type(block.get("input")) is not dict
                            or type(block.get("id")) is not str
                            or type(block.get("name")) is not str
                            or not block["id"]
                            or not block["name"]
                        ):
                            break
                    elif (what != "text" and what != "thinking") or type(block.get(what)) is not str:
                        break
                else:
                    continue
            found += self._slowly(index, message)
        return found, True

    def close(self, items: Sequence[Item], state: Any) -> list[Violation]:
        if any(item.role != "system" for item in items):
            return []
        return [Violation(self.name, 0, None, "the request has no messages", repairable=False)]

    def _slowly(self, index: int, message: Mapping[str, Any]) -> list[Violation]:
        role, content = message.get("role"), message.get("content")
        if not isinstance(role, str) or role not in ROLES:
            text = f"the role is {role!r}; it must be user, assistant or system"
            return [Violation(self.name, index, None, text, repairable=False)]
        if content is None or isinstance(content, str):
            return []
        if not isinstance(content, list | tuple):
            text = f"the content is {type(content).__name__}; it must be a text or a list of blocks"
            return [Violation(self.name, index, None, text, repairable=False)]
        found = []
        for number, block in enumerate(content):
            problem = wrong_with(block, role)
            if problem:
                found.append(Violation(self.name, index, number, problem, repairable=False))
        return found


def wrong_with(block: object, role: object) -> str | None:
    """What is wrong with a block of a message of this role, in words; None if nothing is."""
    if not isinstance(block, Mapping):
        return f"a block is {type(block).__name__}; it must be an object"
    kind = block.get("type")
    if not isinstance(kind, str) or not kind:
        return "a block has no type"
    if kind == "text":
        return None if isinstance(block.get("text"), str) else "a text block has no text"
    if kind == "tool_use":
        if role != "assistant":
            return "a tool_use block stands in a message that is not the assistant's"
        if not isinstance(block.get("id"), str) or not block["id"]:
            return "a tool_use block has no id"
        if not isinstance(block.get("name"), str) or not block["name"]:
            return "a tool_use block has no name"
        return (
            None if isinstance(block.get("input"), Mapping) else "the input of a tool_use block is no object"
        )
    if kind == "tool_result":
        if role != "user":
            return "a tool_result block stands in a message that is not a user's"
        if not isinstance(block.get("tool_use_id"), str) or not block["tool_use_id"]:
            return "a tool_result block has no tool_use_id"
        inner = block.get("content")
        if inner is None or isinstance(inner, str | list | tuple):
            return None
        return "the content of a tool_result block is neither a text nor a list"
    if kind == "thinking":
        return None if isinstance(block.get("thinking"), str) else "a thinking block has no thinking"
    if kind in ("image", "document"):
        return None if isinstance(block.get("source"), Mapping) else f"a block of type {kind} has no source"
    return None
