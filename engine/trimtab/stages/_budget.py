"""How much an entry, or all entries of ``attach`` together, may say."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..policy.expressions import Quantity
from ..policy.maker import Maker
from ..policy.scene import Scene
from ._preview import Count, head_end, tail_start

LEAST_TOKENS = 100
"""A text cut to fewer tokens says too little to be worth its room: then it is left out."""

CUTTINGS = 8
"""Tries to cut a text so that head, note and tail together keep the limit."""
HEAD = 2 / 3
"""Share of a cut text that is its head: the end of a file or an output is worth more than its middle."""
NOTE_TOKENS, NOTE_CHARS = 16, 48


@dataclass(frozen=True, slots=True)
class Limits:
    """Numbers in the units of their names; ``…_each`` is for one item, the others for all together."""

    items: float = math.inf
    tokens: float = math.inf
    tokens_each: float = math.inf
    chars: float = math.inf
    chars_each: float = math.inf

    def and_(self, other: Limits) -> Limits:
        """Both at once."""
        return Limits(
            min(self.items, other.items),
            min(self.tokens, other.tokens),
            min(self.tokens_each, other.tokens_each),
            min(self.chars, other.chars),
            min(self.chars_each, other.chars_each),
        )

    def less(self, tokens: float, chars: float, items: int) -> Limits:
        """What is left after so much was said."""
        return Limits(
            max(0, self.items - items),
            max(0, self.tokens - tokens),
            self.tokens_each,
            max(0, self.chars - chars),
            self.chars_each,
        )

    def allows(self, tokens: float, chars: float) -> bool:
        """Whether one more text of this size fits, by the limits for one and for all."""
        return tokens <= self.tokens and chars <= self.chars and self.allows_one(tokens, chars)

    def allows_one(self, tokens: float, chars: float) -> bool:
        """Whether a text of this size may be one item."""
        return tokens <= self.tokens_each and chars <= self.chars_each

    def cut(self, text: str, count: Count, head_only: bool = False) -> str | None:
        """Head and tail of a text, and between them how much is left out; None: too little would be left."""
        tokens = min(self.tokens, self.tokens_each)
        chars = min(self.chars, self.chars_each)
        if tokens < LEAST_TOKENS or chars < 4 * LEAST_TOKENS:
            return None
        wanted = tokens
        for _ in range(CUTTINGS):
            part = _cut(text, wanted, chars, 1.0 if head_only else HEAD, count)
            size = count(part)
            if size <= tokens and len(part) <= chars:
                return part
            # An estimate of the parts may be less than that of the whole.
            wanted -= max(size - tokens, 1) + wanted / 50
        return None


def _cut(text: str, tokens: float, chars: float, share: float, count: Count) -> str:
    # The note between counts, too: it never takes more than this.
    tokens, chars = tokens - NOTE_TOKENS, chars - NOTE_CHARS

    def least(part: float) -> tuple[int, int]:
        """Ends of a head and starts of a tail that take this share of both limits."""
        by_tokens, by_chars = part * min(tokens, len(text)), part * min(chars, len(text))
        head = min(head_end(text, "tokens", by_tokens, count), head_end(text, "chars", by_chars, count))
        tail = max(tail_start(text, "tokens", by_tokens, count), tail_start(text, "chars", by_chars, count))
        return head, tail

    end = least(share)[0]
    start = max(end, least(1 - share)[1])
    note = f"\n[… {start - end} characters left out …]\n" if start > end else ""
    return text[:end] + note + text[start:]


@dataclass(frozen=True, slots=True)
class Budget:
    """Quantities by the names of ``Limits``."""

    quantities: Mapping[str, Quantity]

    @classmethod
    def build(cls, raw: Mapping[str, Any], make: Maker, *where: str | int) -> Budget:
        return cls({unit: make.quantity(amount, *where, unit) for unit, amount in raw.items()})

    def limits(self, scene: Scene) -> Limits:
        """Worked out. Raises NoValue."""
        return Limits(**{unit: amount.value(scene.name) for unit, amount in self.quantities.items()})
