"""What the tests of the fake share: a smallest request, tools, conversations."""

from __future__ import annotations

import base64
import struct
from typing import Any

import anthropic
from tests.fake_api.fixture import ServedApi

MODEL = "claude-haiku-4-5"
BOUND = "claude-opus-5-5"
FREE = "claude-opus-4-8"
OLD = "claude-3-5-haiku"
ASK: dict[str, Any] = {
    "model": MODEL,
    "max_tokens": 1000,
    "messages": [{"role": "user", "content": "hi"}],
}
TOOLS: list[Any] = [{"name": "Read", "description": "reads a file", "input_schema": {"type": "object"}}]


def ask(api: ServedApi, **more: Any) -> Any:
    """A plain message."""
    return api.client().messages.create(**{**ASK, **more})


def ask_beta(api: ServedApi, *betas: str, **more: Any) -> Any:
    return api.client().beta.messages.create(**{**ASK, **more}, betas=list(betas))


def error_of(api: ServedApi, *betas: str, **more: Any) -> anthropic.APIStatusError:
    """The error a request is refused with; nothing of the script is used up."""
    left = len(api.script)
    try:
        if betas:
            ask_beta(api, *betas, **more)
        else:
            ask(api, **more)
    except anthropic.APIStatusError as problem:
        assert len(api.script) == left
        return problem
    raise AssertionError("the request was answered")


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content[0] if len(content) == 1 else list(content)}


def assistant(*content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(content)}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def use(id: str, name: str = "Read", **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def result(id: str, content: Any = "ok", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def png(width: int, height: int) -> dict[str, Any]:
    """A picture of this size, as far as its header says."""
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + b"\x08\x02\0\0\0"
    data = base64.b64encode(head + bytes(20)).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
