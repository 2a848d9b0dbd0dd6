"""How long and how large the stream of an answer may become, looked at with each piece of it that arrives.

Its events are too coarse for that: the SDKs keep pings and comments to themselves, and one event may drip for hours.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

from ..effects import AskFailed
from .base import too_late

LONGEST = 3600.0
"""Seconds an answer may take where the stage sets no ``timeout_seconds``: what Anthropic's SDK allows for 128,000
tokens, the longest answer of any model."""
MAX_BYTES = 64_000_000
"""Of a stream: 128,000 tokens of which each is an event of its own need about a third of it."""


class Bounds:
    """Those of one answer: ``seconds`` from now (None: ``LONGEST``), and ``most`` bytes."""

    def __init__(self, seconds: float | None, most: int = MAX_BYTES) -> None:
        self._seconds = LONGEST if seconds is None else seconds
        self._until = time.monotonic() + self._seconds
        self._most = self._left = most

    def watch(self, response: Any) -> None:
        """Have an ``httpx2.Response`` whose body is not read yet raise AskFailed, once it is over the bounds."""
        pieces, apieces = response.iter_bytes, response.aiter_bytes

        def watched(*sizes: int) -> Iterator[bytes]:
            for piece in pieces(*sizes):
                self._see(piece)
                yield piece

        async def awatched(*sizes: int) -> AsyncIterator[bytes]:
            async for piece in apieces(*sizes):
                self._see(piece)
                yield piece

        response.iter_bytes, response.aiter_bytes = watched, awatched

    def _see(self, piece: bytes) -> None:
        self._left -= len(piece)
        if self._left < 0:
            raise AskFailed("error", f"the answer is longer than {self._most:,} bytes")
        if time.monotonic() > self._until:
            raise too_late(self._seconds)
