"""``diagnostics``: why the prompt cache could not reuse the prefix of an earlier request (API-FACTS §5)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .caching import Segment
from .counting import system_blocks
from .requests import Asked
from .signing import canonical

Json = Any


@dataclass(frozen=True)
class Fingerprint:
    """What is kept of a request to compare a later one with it."""

    model: str
    system: str
    tools: str
    prompt: tuple[Segment, ...]


def fingerprint(asked: Asked, prompt: Sequence[Segment]) -> Fingerprint:
    tools = json.dumps([canonical(tool) for tool in asked.tools])
    system = json.dumps([canonical(block) for block in system_blocks(asked.system)])
    return Fingerprint(asked.body["model"], system, tools, tuple(prompt))


def diagnosis(before: Fingerprint | None, now: Fingerprint) -> dict[str, Json] | None:
    """The value of the response's ``diagnostics``; None where the earlier request is a prefix of this one."""
    if before is None:
        return {"cache_miss_reason": {"type": "previous_message_not_found"}}
    for name in ("model", "system", "tools"):
        if getattr(before, name) != getattr(now, name):
            return _missed(f"{name}_changed", before, 0)
    keys = {segment.key for segment in now.prompt}
    shared = [segment for segment in before.prompt if segment.key in keys]
    if len(shared) == len(before.prompt):
        return None
    return _missed("messages_changed", before, len(shared))


def _missed(kind: str, before: Fingerprint, shared: int) -> dict[str, Json]:
    tokens = sum(segment.tokens for segment in before.prompt[shared:])
    return {"cache_miss_reason": {"type": kind, "cache_missed_input_tokens": tokens}}
