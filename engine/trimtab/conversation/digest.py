"""Digests of messages: equal for what the model would read as equal."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Any, Protocol

from .items import MAX_DEPTH, blocks_of
from .request import Message

_ROLES = {"user": "u", "assistant": "a", "system": "s"}


class _Hash(Protocol):
    def update(self, data: bytes, /) -> None: ...


def digest(message: Message) -> str:
    """Role letter and 16 characters for each block.

    ``cache_control``, null fields and key order do not count; a string content is one text block.
    """
    role = message.get("role")
    letter = _ROLES.get(role, "?") if isinstance(role, str) else "?"
    return letter + "".join([block_digest(block) for block in blocks_of(message)])


def block_digest(block: Mapping[str, Any]) -> str:
    """blake2b (12 bytes) over the block's canonical content, in URL-safe base64."""
    hashed = hashlib.blake2b(digest_size=12)
    _feed(hashed, block, 0)
    return base64.urlsafe_b64encode(hashed.digest()).decode("ascii")


def value_digest(value: Any) -> str:
    """The same for any JSON value (system prompt, tool list)."""
    return block_digest({"value": value})


def _feed(hashed: _Hash, value: Any, depth: int) -> None:
    kind = type(value)
    if kind is str:
        data = value.encode("utf-8", "surrogatepass")
        hashed.update(b"s%d:" % len(data))
        hashed.update(data)
    elif depth > MAX_DEPTH:
        hashed.update(f"deep {kind.__name__} {len(value) if hasattr(value, '__len__') else value}".encode())
    elif kind is dict or isinstance(value, Mapping):
        hashed.update(b"{")
        for key in sorted(value, key=str):
            inner = value[key]
            if inner is None or key == "cache_control":
                continue
            name = str(key).encode("utf-8", "surrogatepass")
            if type(inner) is str:
                data = inner.encode("utf-8", "surrogatepass")
                hashed.update(b"%b=s%d:%b" % (name, len(data), data))
            else:
                hashed.update(name)
                hashed.update(b"=")
                _feed(hashed, inner, depth + 1)
        hashed.update(b"}")
    elif isinstance(value, list | tuple):
        hashed.update(b"[")
        for inner in value:
            _feed(hashed, inner, depth + 1)
        hashed.update(b"]")
    else:
        hashed.update(repr(value).encode("utf-8", "surrogatepass"))
