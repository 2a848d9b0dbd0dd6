"""A message as the events of a stream, and how a stream looks on the wire."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

Json = Any

PIECE = 40
"""Characters of a text in one event."""


def events(message: Mapping[str, Json], pings: int = 1) -> Iterator[dict[str, Json]]:
    """The message from ``message_start`` to ``message_stop``; put together again they are the same message."""
    ends = ("content", "stop_reason", "stop_sequence", "stop_details", "context_management")
    start = {**message, "content": [], "stop_reason": None, "stop_sequence": None}
    start = {key: value for key, value in start.items() if key not in ("stop_details", "context_management")}
    start["usage"] = {**message["usage"], "output_tokens": 1}
    yield {"type": "message_start", "message": start}
    yield from [{"type": "ping"}] * pings
    for index, block in enumerate(message["content"]):
        opened, deltas = _opened(block)
        yield {"type": "content_block_start", "index": index, "content_block": opened}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    delta = {key: message[key] for key in ends[1:4] if key in message}
    end: dict[str, Json] = {"type": "message_delta", "delta": delta, "usage": message["usage"]}
    if "context_management" in message:
        end["context_management"] = message["context_management"]
    yield end
    yield {"type": "message_stop"}


def _opened(block: Mapping[str, Json]) -> tuple[dict[str, Json], list[dict[str, Json]]]:
    """A block as it begins, and what is added to it."""
    kind = block["type"]
    if kind == "text":
        return {**block, "text": ""}, [{"type": "text_delta", "text": part} for part in _parts(block["text"])]
    if kind == "thinking":
        words = [{"type": "thinking_delta", "thinking": part} for part in _parts(block["thinking"])]
        signed = {"type": "signature_delta", "signature": block["signature"]}
        return {**block, "thinking": "", "signature": ""}, [*words, signed]
    if kind in ("tool_use", "server_tool_use"):
        parts = _parts(json.dumps(block["input"])) if block["input"] else [""]
        return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": part} for part in parts]
    if kind == "compaction":
        delta = {"type": "compaction_delta", "content": block["content"]}
        if "encrypted_content" in block:
            delta["encrypted_content"] = block["encrypted_content"]
        return {**block, "content": None}, [delta]
    return dict(block), []


def _parts(text: str) -> list[str]:
    return [text[at : at + PIECE] for at in range(0, len(text), PIECE)]


def frame(event: Mapping[str, Json]) -> bytes:
    """One event on the wire."""
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
