"""What a session holds beside the host's messages, and what a run needs at most, by ``tracemalloc``."""

from __future__ import annotations

import gc
import tracemalloc
from dataclasses import dataclass

from bench._hosts import Host, layers, messages_of


@dataclass(frozen=True, slots=True)
class Memory:
    """A conversation's characters, and the bytes a session holds after a cold run and needs in it at most."""

    messages: int
    characters: int
    held: int
    peak: int

    @property
    def each(self) -> int:
        """Bytes held for one message."""
        return self.held // self.messages


def memory(count: int) -> Memory:
    """Measure a cold run of the bench's pack; the messages are there before."""
    engine = layers(count)
    host = Host.of(engine, count)
    gc.collect()
    tracemalloc.start()
    try:
        outcome = host.run(idle=True)
        peak = tracemalloc.get_traced_memory()[1]
        del outcome
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    return Memory(len(host.messages), _characters(count), held, peak)


def _characters(count: int) -> int:
    total = 0
    for message in messages_of(count):
        content = message["content"]
        if isinstance(content, str):
            total += len(content)
            continue
        for block in content:
            total += len(block.get("text") or block.get("content") or "")
            total += sum(len(value) for value in block.get("input", {}).values() if isinstance(value, str))
    return total
