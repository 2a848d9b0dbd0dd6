"""Anthropic's own shape, which is the inner shape: messages pass through as the very objects that came."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..conversation.items import Item
from ..conversation.request import Info, Message, Request

NAME = "anthropic"

KNOWN = ("model", "system", "tools", "messages")


def read(message: Message) -> Message:
    """The inner message of a host message: itself."""
    return message


def write(item: Item) -> Message:
    """The host message of an item: the object it was made from."""
    return item.message


def request_body(request: Request) -> dict[str, Any]:
    """The JSON body of ``request`` as the Messages API takes it.

    Keys come as ``model``, the other fields in their order, ``system``, ``tools``, ``messages``; a system
    prompt or a tool list of None is left out. Nothing is copied: the lists are the request's own.
    """
    body: dict[str, Any] = {"model": request.model, **request.extra}
    if request.system is not None:
        body["system"] = request.system
    if request.tools is not None:
        body["tools"] = request.tools
    body["messages"] = request.messages
    return body


def from_body(body: Mapping[str, Any], info: Sequence[Info | None] = ()) -> Request:
    """The request of a JSON body; all but model, system, tools and messages goes to ``extra`` as it is.

    Raises ValueError where ``messages`` is not a list or ``model`` not a text; says what was found instead.
    """
    messages = body.get("messages")
    if not isinstance(messages, list | tuple):
        raise ValueError(f"'messages' must be a list of messages, not {type(messages).__name__}")
    model = body.get("model")
    if not isinstance(model, str):
        raise ValueError(f"'model' must be the name of a model, not {type(model).__name__}")
    extra = {key: value for key, value in body.items() if key not in KNOWN}
    return Request(
        model=model,
        messages=messages,
        system=body.get("system"),
        tools=body.get("tools"),
        format=NAME,
        info=info,
        extra=extra,
    )


def dumps(request: Request) -> str:
    """The body as one line of ASCII JSON: lone surrogates, which UTF-8 cannot hold, survive as escapes.

    Raises ValueError with the place of a number that JSON does not have: NaN or an infinity.
    """
    body = request_body(request)
    try:
        return json.dumps(body, ensure_ascii=True, separators=(",", ":"), default=_plain, allow_nan=False)
    except ValueError:
        found = _endless(body)
        if found is None:
            raise
        raise ValueError(f"{found} is no number JSON has, and no API takes it; replace it") from None


def _endless(body: Mapping[str, Any]) -> str | None:
    """The first number that is not finite: its place and value."""
    open_: list[tuple[str, Any]] = [("", body)]
    while open_:
        place, value = open_.pop()
        if isinstance(value, float) and not math.isfinite(value):
            return f"{place} ({value})"
        if isinstance(value, Mapping):
            inner = [(f"{place}.{key}" if place else str(key), each) for key, each in value.items()]
            open_ += reversed(inner)
        elif isinstance(value, list | tuple):
            open_ += reversed([(f"{place}[{number}]", each) for number, each in enumerate(value)])
    return None


def _plain(value: object) -> object:
    """JSON form of a mapping that is not a dict (frozen or proxied messages)."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
