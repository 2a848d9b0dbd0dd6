"""What a host's ports answer, held to what they should: anything else is a failure of the port, told in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .conversation.request import Usage
from .effects import HookReply, Reply


def summary_reply(said: Any) -> Reply:
    """A summarizer's answer. Raises TypeError for anything but a ``Reply`` with fields of the right types."""
    _need("the summarizer's answer", said, Reply)
    _need("Reply.text", said.text, str)
    _need("Reply.stop", said.stop, str)
    _need("Reply.usage", said.usage, Usage, type(None))
    _need("Reply.model", said.model, str, type(None))
    _need("Reply.block", said.block, Mapping, type(None))
    return said  # type: ignore[no-any-return]  # looked at just now


def hook_reply(said: Any) -> HookReply | None:
    """A hook's answer; a text alone is one for the conversation. Raises TypeError for anything else."""
    if said is None or isinstance(said, str):
        return None if said is None else HookReply(text=said)
    _need("the hook's answer", said, HookReply)
    for name in ("instructions", "veto", "text"):
        _need(f"HookReply.{name}", getattr(said, name), str, type(None))
    return said  # type: ignore[no-any-return]  # looked at just now


def place(said: Any) -> str:
    """The path a store gives for a text. Raises TypeError for anything but a text."""
    _need("the store's path", said, str)
    return said  # type: ignore[no-any-return]  # looked at just now


def text(port: str, said: Any) -> str | None:
    """The text of a file, or None. Raises TypeError for anything else."""
    _need(f"what {port} has read", said, str, type(None))
    return said  # type: ignore[no-any-return]  # looked at just now


def clean_texts(said: Any, count: int) -> tuple[tuple[str, ...], int]:
    """``count`` texts and how many secrets went. Raises TypeError for anything else: a secret may be left."""
    texts, places = said
    if not isinstance(texts, Sequence) or len(texts) != count or type(places) is not int:
        raise TypeError(f"the redactor answers with {count} texts and a number")
    for one in texts:
        _need("a redacted text", one, str)
    return tuple(texts), places


def _need(what: str, value: Any, *kinds: type) -> None:
    if not isinstance(value, kinds):
        wanted = " or ".join("None" if kind is type(None) else kind.__name__ for kind in kinds)
        raise TypeError(f"{what} is {type(value).__name__}; it must be {wanted}")
