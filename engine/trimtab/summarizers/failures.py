"""What SDKs and APIs of more than one vendor say alike when a question fails."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ..conversation.request import Usage
from ..effects import AskFailed


def passes(status: int) -> bool:
    """Whether an HTTP status is of a failure that goes by itself: a conflict, too many requests, a server's fault."""
    return status in (408, 409, 429) or status >= 500


def on_the_way(problem: Exception, sdk: Any, who: str, usage: Usage | None) -> AskFailed | None:
    """The failure of a connection to ``who``, told by an ``sdk`` or by the transport under it; None for any other.

    ``usage``: what had been told of it until then, and is paid for.
    """
    import httpx2

    if isinstance(problem, sdk.APITimeoutError | httpx2.TimeoutException):
        words = f"{who} did not answer in time"
    elif isinstance(problem, sdk.APIConnectionError):
        words = f"{who} could not be reached: {problem.__cause__ or problem}"
    elif isinstance(problem, httpx2.TransportError):
        words = f"the answer broke off: {problem}"
    else:
        return None
    return AskFailed("error", words, transient=True, usage=usage)


def too_long(patterns: Iterable[re.Pattern[str]], message: str, text: str) -> AskFailed | None:
    """The failure ``text`` of a request over the window, if one of the patterns knows its ``message``.

    A pattern may have the groups ``size``, ``more`` (to be added to it) and ``limit``, in tokens.
    """
    for pattern in patterns:
        if found := pattern.search(message):
            number = {key: int(value) for key, value in found.groupdict().items()}
            if not number:
                return AskFailed("too_long", text)
            excess = number["size"] + number.get("more", 0) - number["limit"]
            return AskFailed("too_long", text, excess, size_tokens=number["size"])
    return None
