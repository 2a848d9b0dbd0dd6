"""The prompt cache (API-FACTS §5): what a request reads of what earlier ones wrote, and what it writes itself.

A prompt is a row of segments: tools, system blocks, message blocks. A mark on a segment writes an entry for all up
to it. A request reads the longest entry found by looking back at most ``LOOK_BACK`` segments from one of its marks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .counting import EACH, block_tokens, system_blocks
from .rules import blocks
from .signing import canonical

Json = Any

LOOK_BACK = 20
LIVES = {"5m": 300.0, "1h": 3600.0}
"""Seconds an entry lives behind the start of the request that wrote or last read it."""
UNMARKABLE = ("thinking", "redacted_thinking")


@dataclass(frozen=True)
class Segment:
    """One cacheable piece: a digest of all up to and with it, its tokens, and the life its mark gives."""

    key: str
    tokens: int
    life: str | None = None
    markable: bool = True


@dataclass(frozen=True)
class CacheUse:
    """Input tokens by what became of them, as ``usage`` reports them."""

    fresh: int
    read: int
    written_5m: int
    written_1h: int

    @property
    def usage(self) -> dict[str, Json]:
        return {
            "input_tokens": self.fresh,
            "cache_read_input_tokens": self.read,
            "cache_creation_input_tokens": self.written_5m + self.written_1h,
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.written_5m,
                "ephemeral_1h_input_tokens": self.written_1h,
            },
        }


class PromptCache:
    """The entries of one organisation, over all models; ``now`` is the clock in seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._ends: dict[str, tuple[float, float]] = {}
        """When an entry dies, and the seconds a read adds."""

    def use(self, prompt: Sequence[Segment], least: int) -> CacheUse:
        """Account for a request; entries of fewer than ``least`` tokens are silently not made."""
        start = self._now()
        upto = list(_sums(prompt))
        marks = [at for at, segment in enumerate(prompt) if segment.life and upto[at] >= least]
        hit = max((self._behind(prompt, mark, start) for mark in marks), default=-1)
        for segment in prompt[: hit + 1]:
            self._keep(segment.key, start)
        read = upto[hit] if hit >= 0 else 0
        written, position = {"5m": 0, "1h": 0}, read
        for at in marks:
            life = prompt[at].life
            assert life is not None
            if at > hit:
                written[life] += upto[at] - position
                position = upto[at]
            self._keep(prompt[at].key, start, LIVES[life])
        total = upto[-1] if upto else 0
        return CacheUse(total - position, read, written["5m"], written["1h"])

    def _behind(self, prompt: Sequence[Segment], mark: int, now: float) -> int:
        """Position of the longest living entry that a mark finds; -1 for none."""
        for at in range(mark, max(-1, mark - LOOK_BACK - 1), -1):
            end = self._ends.get(prompt[at].key)
            if end is not None and end[0] > now:
                return at
        return -1

    def _keep(self, key: str, start: float, least: float = 0.0) -> None:
        """Renew a living entry; with ``least`` seconds make one where there is none."""
        end, seconds = self._ends.get(key, (0.0, 0.0))
        seconds = max(least, seconds if end > start else 0.0)
        if seconds:
            self._ends[key] = (start + seconds, seconds)


def segments(
    model: str, system: Json, tools: Sequence[Mapping[str, Json]], messages: Sequence[Json], top: Json
) -> list[Segment]:
    """A request as segments; ``top`` is its own ``cache_control``: a mark on the last block that can have one."""
    key = _digest(model)
    found: list[Segment] = []
    pieces = [("tool", tool, 0) for tool in tools if not tool.get("defer_loading")]
    pieces += [("system", block, 0) for block in system_blocks(system)]
    for message in messages:
        pieces += [
            (message["role"], block, 0 if number else EACH) for number, block in enumerate(blocks(message))
        ]
    for role, block, more in pieces:
        key = _digest(key + role + canonical(block))
        markable = block.get("type") not in UNMARKABLE
        found.append(Segment(key, block_tokens(block) + more, _life(block), markable))
    if top:
        for at in reversed(range(len(found))):
            if found[at].markable:
                life = found[at].life or top.get("ttl", "5m")
                found[at] = Segment(found[at].key, found[at].tokens, life)
                break
    return found


def _life(block: Mapping[str, Json]) -> str | None:
    inner = block.get("content")
    parts = [block, *(inner if isinstance(inner, list) else [])]
    lives = [part["cache_control"].get("ttl", "5m") for part in parts if part.get("cache_control")]
    return None if not lives else "1h" if "1h" in lives else "5m"


def _sums(prompt: Sequence[Segment]) -> Iterator[int]:
    total = 0
    for segment in prompt:
        total += segment.tokens
        yield total


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
