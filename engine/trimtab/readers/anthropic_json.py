"""Plain requests as JSON: ``{model, messages, …}``, a bare list of messages, or a host's envelope."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..conversation.request import ORIGINS, Info, Message, Usage
from ..formats import anthropic
from ..tokens.figure import response_usage
from .base import NO_MODEL, ReadProblem, Recording, Unreadable, epoch, odd_time, parse

TIMES = ("ts", "timestamp", "time", "created_at")
"""Keys under which hosts keep the time of a message, in the order in which they are asked."""

HOST_KEYS = frozenset(
    {"id", "uuid", "type", "model", "modelInfo", "usage", "metrics", "origin", "pinned"}
    | set(TIMES)
    | {"stop_reason", "stop_sequence", "stop_details", "container", "context_management", "diagnostics"}
)
"""Keys of a message that hosts and responses add and the API refuses on the way in. Any other key passes."""

ENVELOPE = frozenset({"sessionId", "system_prompt", "updated_at", "version", "agent"})
"""Top-level keys of hosts' session files; they are no fields of a request."""

ROLES = frozenset({"user", "assistant", "system"})

_MESSAGES = re.compile(rb'"messages"\s*:\s*\[')
_ROLE = re.compile(rb'\[\s*\{[^{}\[\]]{0,400}"role"\s*:\s*"(user|assistant|system)"|\[\s*\{\s*"content"\s*:')


class AnthropicJson:
    """Reader of one JSON document in Anthropic's shape."""

    name = "anthropic-json"
    about = "a request {model, messages, …} or a list of messages as one JSON document"

    def detects(self, head: bytes) -> bool:
        start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
        if start == b"{":
            return _MESSAGES.search(head) is not None
        return start == b"[" and (_ROLE.search(head) is not None or head.split() == [b"[]"])

    def read(self, path: Path) -> Recording:
        try:
            document = parse(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
        except ValueError as error:
            raise Unreadable(
                f"not a JSON document: {error}", "a torn file cannot be mended here", str(path)
            ) from None
        if isinstance(document, list):
            document = {"messages": document}
        if not isinstance(document, dict) or not isinstance(document.get("messages"), list):
            raise Unreadable("there is no list of messages", 'expected {"messages": […]} or […]', str(path))
        recording = recording_of(document, str(path))
        if not recording.live.messages:
            raise Unreadable(
                "there is no message in it", "every message needs a role and a content", str(path)
            )
        return recording


def recording_of(document: Mapping[str, Any], path: str | None = None) -> Recording:
    """The recording of a body or envelope whose ``messages`` is a list."""
    problems: list[ReadProblem] = []
    envelope = bool(ENVELOPE & document.keys()) and "max_tokens" not in document
    messages: list[Message] = []
    info: list[Info | None] = []
    models: list[str] = []
    times: list[float] = []
    for number, raw in enumerate(document["messages"]):
        if not isinstance(raw, dict) or str(raw.get("role")) not in ROLES or "content" not in raw:
            problems.append(
                ReadProblem(
                    0, f"messages[{number}] has no known role or no content", "the message was left out"
                )
            )
            continue
        message, known = _message(raw, envelope)
        messages.append(message)
        info.append(known)
        if known is not None and known.at is not None:
            times.append(known.at)
        elif known is not None:
            odd = (odd_time(raw.get(key), 0, f"the {key} of messages[{number}]") for key in TIMES)
            problems += [problem for problem in odd if problem is not None][:1]
        model = _model(raw)
        if model and model not in models:
            models.append(model)
    body: dict[str, Any] = {
        key: value for key, value in document.items() if not (envelope and key in ENVELOPE)
    }
    body["messages"] = messages
    if envelope and "system" not in body and isinstance(document.get("system_prompt"), str):
        body["system"] = document["system_prompt"]
    if not isinstance(body.get("model"), str):
        body["model"] = next((model for raw in reversed(document["messages"]) if (model := _model(raw))), "")
        if not body["model"]:
            problems.append(
                ReadProblem(
                    0, "the file names no model", "name one, or the limits of an unknown model hold", NO_MODEL
                )
            )
    request = anthropic.from_body(body, tuple(info) if any(info) else ())
    if request.model and request.model not in models:
        models.append(request.model)
    meta = {
        "version": document.get("version") if envelope else None,
        "session": document.get("sessionId") if envelope else None,
        "models": tuple(models),
        "boundaries": (),
        "now": max(times, default=epoch(document.get("updated_at")) if envelope else None),
    }
    return Recording(AnthropicJson.name, path, request, request, tuple(problems), meta)


def _model(raw: object) -> str | None:
    if not isinstance(raw, dict):
        return None
    model = raw.get("model")
    if isinstance(model, str):
        return model
    described = raw.get("modelInfo")
    named = described.get("id") if isinstance(described, dict) else None
    return named if isinstance(named, str) else None


def _message(raw: dict[str, Any], envelope: bool) -> tuple[Message, Info | None]:
    """The API's part of a message, and what its other keys tell; the original stays as ``Info.source``."""
    strange = HOST_KEYS & raw.keys()
    message: Message = raw
    if strange or envelope:
        message = {key: value for key, value in raw.items() if key not in strange}
        if envelope:
            message = {"role": raw["role"], "content": _content(raw["content"])}
    if message == raw:
        return raw, None
    identity = raw.get("id", raw.get("uuid"))
    origin = raw.get("origin")
    known = Info(
        id=identity if isinstance(identity, str) else None,
        at=next((at for key in TIMES if (at := epoch(raw.get(key)))), None),
        origin=origin if isinstance(origin, str) and origin in ORIGINS else None,
        pinned=raw.get("pinned") is True,
        usage=_usage(raw) if raw["role"] == "assistant" else None,
        source=raw,
    )
    return message, known


def _usage(raw: Mapping[str, Any]) -> Usage | None:
    usage = raw.get("usage")
    if isinstance(usage, dict):
        final = "stop_reason" not in raw or raw["stop_reason"] is not None
        return response_usage(usage, _model(raw), final)
    metrics = raw.get("metrics")
    if not isinstance(metrics, dict):
        return None

    def number(key: str) -> int:
        value = metrics.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0

    whole, read, write = number("inputTokens"), number("cacheReadTokens"), number("cacheWriteTokens")
    if not whole:
        return None
    # These metrics count the cached part inside inputTokens; the API's own usage counts it beside.
    return Usage(max(0, whole - read - write), read, write, number("outputTokens"), _model(raw))


def _content(content: Any) -> Any:
    """Blocks of an envelope as the API takes them: files as text, results without the tool's name."""
    if not isinstance(content, list):
        return content
    blocks: list[Any] = []
    for block in content:
        if isinstance(block, dict):
            kind = block.get("type")
            if kind == "file" and isinstance(block.get("content"), str):
                text = f'<file path="{block.get("path", "")}">\n{block["content"]}\n</file>'
                block = {"type": "text", "text": text}
            elif kind == "tool_result" and "name" in block:
                block = {key: value for key, value in block.items() if key != "name"}
        blocks.append(block)
    return blocks
