"""What the fake says: replies of a script, how they go out, and how they become a message of the API.

An entry of a script is a text, a list of blocks, a ``Reply``, a ``Refusal``, or a function that is given the
``Recorded`` request and returns one of these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .counting import BYTES, EACH, block_tokens
from .errors import Refusal
from .signing import KINDS

Json = Any
Block: TypeAlias = dict[str, Any]

STOP_REASONS = (
    "end_turn",
    "max_tokens",
    "stop_sequence",
    "tool_use",
    "pause_turn",
    "refusal",
    "model_context_window_exceeded",
    "compaction",
)


@dataclass(frozen=True)
class Delivery:
    """How an answer goes out. Counts are events of a stream; in a plain answer any of them spoils the body.

    ``headers_after`` and ``pause`` (before each event) are seconds. After ``drop_after`` events the connection
    breaks; after ``end_after`` the stream ends as if it were complete; behind ``malformed_after`` events stands one
    that is no JSON; ``error_after`` is followed by the error ``error``. ``content_type`` and ``body`` replace the
    right ones, as a gateway's own page does. So many ``pings`` come behind the beginning of a stream, and each
    event goes out as ``mangle`` makes it, in pieces of ``piece`` bytes with a ``pause`` before each. ``reset``: where
    the connection breaks, it is reset.
    """

    headers_after: float = 0.0
    pause: float = 0.0
    drop_after: int | None = None
    end_after: int | None = None
    malformed_after: int | None = None
    error_after: int | None = None
    error: Refusal = field(default_factory=lambda: Refusal(529, "Overloaded"))
    content_type: str | None = None
    body: bytes | None = None
    pings: int = 1
    mangle: Callable[[bytes], bytes] | None = None
    piece: int | None = None
    reset: bool = False


@dataclass(frozen=True)
class Reply:
    """An answer. Thinking is signed, calls get ids, where they have none. ``stop_reason`` follows from the blocks."""

    content: Sequence[Block] = ()
    stop_reason: str | None = None
    model: str | None = None
    delivery: Delivery = field(default_factory=Delivery)

    def __post_init__(self) -> None:
        if self.stop_reason is not None and self.stop_reason not in STOP_REASONS:
            raise ValueError(f"the API has no stop reason {self.stop_reason!r}")


Script: TypeAlias = "str | Sequence[Block] | Reply | Refusal | Callable[[Any], Any]"


def say(text: str, *, stop: str | None = None, delivery: Delivery | None = None) -> Reply:
    """A reply of one text."""
    return Reply([{"type": "text", "text": text}], stop, delivery=delivery or Delivery())


def think(text: str, *more: Block) -> Reply:
    """A reply that begins with thinking."""
    return Reply([{"type": "thinking", "thinking": text}, *more])


def call(name: str, id: str = "", **input: Any) -> Block:
    """A block that calls a tool."""
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def refuse_to_answer(text: str = "") -> Reply:
    """The model's refusal, which is a message, not an error."""
    return Reply([{"type": "text", "text": text}] if text else [], "refusal")


def reply_of(entry: Script, recorded: Any) -> Reply | Refusal:
    """A script's entry as a reply or a refusal."""
    while callable(entry):
        entry = entry(recorded)
    if isinstance(entry, Reply | Refusal):
        return entry
    if isinstance(entry, str):
        return say(entry)
    return Reply(list(entry))


@dataclass(frozen=True)
class Limits:
    """How much may be said: ``max_tokens`` of the request, tokens left in the window, its stop sequences."""

    max_tokens: int
    room: int
    stop_sequences: Sequence[str] = ()


def cut(content: Sequence[Block], stop: str | None, limits: Limits) -> tuple[list[Block], str, str | None]:
    """Content, stop reason and stop sequence as far as the limits let them come."""
    calls = any(block["type"] == "tool_use" for block in content)
    reason = stop or ("tool_use" if calls else "end_turn")
    said: list[Block] = []
    left = min(limits.max_tokens, limits.room)
    over = "max_tokens" if limits.max_tokens <= limits.room else "model_context_window_exceeded"
    for block in content:
        if block["type"] == "text":
            ends = [(at, one) for one in limits.stop_sequences if (at := block["text"].find(one)) >= 0]
            if ends:
                at, sequence = min(ends)
                return [*said, {**block, "text": block["text"][:at]}], "stop_sequence", sequence
        size = block_tokens(block)
        if size > left:
            part = _part(block, left)
            return said + ([part] if part else []), over, None
        said.append(dict(block))
        left -= size
    return said, reason, None


def _part(block: Block, tokens: int) -> Block | None:
    """The beginning of a text or of thinking; of a call the API would give no more than nothing."""
    if block["type"] not in ("text", "thinking") or tokens <= EACH:
        return None
    text = block[block["type"]].encode("utf-8", "surrogatepass")[: (tokens - EACH) * BYTES]
    found = text.decode("utf-8", "ignore")
    return {**block, block["type"]: found} if found else None


def output_tokens(content: Sequence[Mapping[str, Json]]) -> int:
    """At least one, as the API counts an empty answer, too."""
    return max(1, sum(block_tokens(block) for block in content))


def is_thinking(block: Mapping[str, Json]) -> bool:
    return block["type"] in KINDS
