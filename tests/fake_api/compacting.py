"""Compaction by the server: on demand (``compaction``) and the blocks that come back (API-FACTS §3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .errors import invalid
from .requests import Asked
from .rules import blocks
from .signing import SigningApi

Json = Any


def check_blocks(asked: Asked, signing: SigningApi) -> None:
    """Raises Refused where a ``compaction`` block is not as it came, or not where it belongs.

    Only signed blocks must stand first and alone; those of the edit ``compact_20260112`` stay in their turn.
    """
    if any(block.get("content") == "" for _, _, block in _compactions(asked)):
        raise invalid("compaction: content must be null or non-empty")
    signed = [found for found in _compactions(asked) if found[2].get("signature") is not None]
    if sum(1 for _, _, block in signed if block.get("content") is not None) > 1:
        raise invalid("messages: more than one compaction block", "compaction_block_ambiguous")
    for index, number, block in signed:
        where = f"messages.{index}.content.{number}"
        if index or number or asked.messages[0]["role"] == "system":
            text = "the compaction block must come first"
            raise invalid(f"{where}: {text}", "compaction_block_misplaced")
        known, content = signing.compacted(block["signature"])
        if not known:
            raise invalid(f"{where}: the signature does not verify", "compaction_signature_invalid")
        if content != block.get("content"):
            raise invalid(f"{where}: the content was changed", "compaction_content_mismatch")
        if block.get("tool_changes"):
            raise invalid(f"{where}: tool_changes was changed", "compaction_tool_changes_mismatch")


def check_request(asked: Asked) -> None:
    """Raises Refused for a request for a compaction that cannot be done."""
    body, messages = asked.body, asked.messages
    if body["compaction"].get("type") != "summarize":
        raise invalid("compaction.type: Input should be 'summarize'")
    others = {
        "context_management": body.get("context_management"),
        "stop_sequences": body.get("stop_sequences"),
        "output_config.format": (body.get("output_config") or {}).get("format"),
        "tool_choice": (body.get("tool_choice") or {}).get("type") in ("any", "tool"),
        "task_budget.remaining": ((body.get("output_config") or {}).get("task_budget") or {}).get(
            "remaining"
        ),
    }
    for name, value in others.items():
        if value:
            raise invalid(f"compaction: cannot be combined with {name}")
    if all(block["type"] == "compaction" for message in messages for block in _spoken(message)):
        raise invalid("messages: there is nothing to summarize", "compaction_nothing_to_summarize")
    calls = [
        block["id"] for block in blocks(messages[-1]) if block["type"] in ("tool_use", "server_tool_use")
    ]
    answered = [block.get("tool_use_id") for block in blocks(messages[-1])]
    if messages[-1]["role"] == "assistant" and any(call not in answered for call in calls):
        raise invalid("messages: the last turn is not finished", "compaction_incomplete_turn")


def _spoken(message: Json) -> list[Json]:
    return [] if message["role"] == "system" else blocks(message)


def _compactions(asked: Asked) -> Iterator[tuple[int, int, Json]]:
    for index, message in enumerate(asked.messages):
        for number, block in enumerate(blocks(message)):
            if block["type"] == "compaction":
                yield index, number, block
