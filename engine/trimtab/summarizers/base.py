"""The summarizer port: who answers a ``Question``; and a request as plain text, for writers that take no
blocks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Protocol

from ..conversation.items import blocks_of
from ..conversation.request import Message, Request
from ..effects import AskFailed, Question, Reply
from ..templating import fence, mark, without_labels

__all__ = [
    "AskFailed",
    "Question",
    "Reply",
    "Summarizer",
    "plain_text",
    "refuse_compaction",
    "scrub",
    "too_late",
]

_LONE = re.compile("[\ud800-\udfff]")
_LABEL = re.compile(r"\s*(?:system|user|assistant|result of)\b.*:\s*$")
"""A line that could pass for one of our labels, as it looks."""


class Summarizer(Protocol):
    """Answers one question at a time; both methods raise AskFailed and nothing else on purpose.

    It repeats nothing by itself: the stage does, and accounts for each try. A question that ``compacts`` is
    refused as ``unavailable`` by whoever has no such thing.
    """

    def answer(self, question: Question) -> Reply:
        """Answer, blocking."""

    async def aanswer(self, question: Question) -> Reply:
        """Answer in an event loop; cancelling stops the writer."""


def refuse_compaction(question: Question) -> None:
    """For ports that write texts only. Raises AskFailed if the API's own compaction is asked for."""
    if question.compacts:
        raise AskFailed("unavailable", "this summarizer writes texts; the API's own compaction is not its")


def too_late(seconds: float) -> AskFailed:
    """The failure of a writer that took too long; the same words as the driver's."""
    return AskFailed("error", f"no answer within {seconds:g} s", transient=True)


def scrub(value: Any) -> Any:
    """A copy in which U+FFFD stands for every lone surrogate: they cannot be sent as UTF-8."""
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {scrub(key): scrub(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [scrub(inner) for inner in value]
    return value


def plain_text(question: Question) -> str:
    """The whole question as one text: system, the conversation in a fence it cannot close, then the prompt.

    Of tool calls the input stands there as JSON; thinking is left out, media are named.
    """
    if question.request is None:
        parts = [question.system or "", question.prompt]
    else:
        inner = _transcript(question.request)
        parts = [fence(inner, mark([inner])), question.prompt]
    return "\n\n".join(part for part in parts if part)


def _transcript(request: Request) -> str:
    lines: list[str] = []
    if request.system:
        lines.append(f"System:\n{without_labels(_inner(request.system), _LABEL)}")
    names: dict[str, str] = {}
    for message in request.messages:
        role = str(message.get("role", "user")).capitalize()
        for block in blocks_of(message):
            label, text = _block(role, block, names)
            if text.strip():
                lines.append(f"{label}:\n{without_labels(text, _LABEL)}")
    return "\n\n".join(lines)


def _block(role: str, block: Message, names: dict[str, str]) -> tuple[str, str]:
    """Label and words of a block; thinking has none."""
    kind = block.get("type")
    if kind == "tool_use":
        names[str(block.get("id"))] = name = _on_one_line(block.get("name"))
        return f"{role} calls {name}", _json(block.get("input"))
    if kind == "tool_result":
        name = names.get(str(block.get("tool_use_id")), "a tool")
        failed = " (an error)" if block.get("is_error") else ""
        return f"Result of {name}{failed}", _inner(block.get("content")) or "(empty)"
    if kind in ("thinking", "redacted_thinking"):
        return role, ""
    return role, _inner([block])


def _on_one_line(name: Any) -> str:
    """A name that comes from the traffic, safe inside a label."""
    return " ".join(str(name).split())[:100]


def _inner(content: Any) -> str:
    """Text of a content: a string or a list of blocks."""
    if content is None or isinstance(content, str):
        return content or ""
    texts = []
    for block in content if isinstance(content, list | tuple) else [content]:
        kind = block.get("type") if isinstance(block, Mapping) else None
        if kind == "text":
            texts.append(str(block.get("text") or ""))
        elif kind in ("image", "document"):
            texts.append(f"[{kind}]")
        else:
            texts.append(_json(block))
    return "\n".join(texts)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
