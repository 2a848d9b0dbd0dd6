"""About how many bytes blocks take on the wire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

FRAME, BLOCK_FRAME = 40, 40
"""Bytes of JSON around a message and around a block: keys, quotes, ids."""


def encoded_size(block: Mapping[str, Any]) -> int:
    """Characters of the encoded images and documents in a block."""
    source = block.get("source")
    if isinstance(source, Mapping):
        data = source.get("data")
        return len(data) if isinstance(data, str) else 0
    inner = block.get("content")
    if isinstance(inner, list):
        return sum(encoded_size(part) for part in inner if isinstance(part, Mapping))
    return 0


def size_of(blocks: Sequence[Mapping[str, Any]], chars: Sequence[int]) -> int:
    """About how many bytes blocks of so many characters take on the wire; encoded media in full."""
    return sum(chars) + sum(map(encoded_size, blocks)) + BLOCK_FRAME * len(chars) + FRAME
