"""Rule ``media``: how many images a request may have, and how wide they may be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..conversation.items import MEDIA, Block, Item, blocks_of
from .base import Limits, PlainRule, Violation

ImageSize: TypeAlias = Callable[[Block], tuple[int, int] | None]
"""Width and height in pixels of an image block, None where they cannot be read."""


@dataclass(frozen=True)
class Media(PlainRule):
    """API-FACTS §4 rule 17. Which image may go is a stage's business: no repair.

    State: number of images; position and longer side of those too wide for a request with many.
    """

    limits: Limits
    image_size: ImageSize
    name: str = "media"

    def scan(self, items: Sequence[Item], start: int, state: Any) -> tuple[list[Violation], Any]:
        count, wide = state or (0, ())
        found: list[Violation] = []
        for index in range(start, len(items)):
            if not items[index].mask & MEDIA:
                continue
            for number, image in images(items[index]):
                count += 1
                size = self.image_size(image)
                side = max(size) if size else 0
                if side > self.limits.max_side:
                    found.append(self._wrong(index, number, side, self.limits.max_side, ""))
                elif side > self.limits.max_side_many:
                    wide += ((index, number, side),)
        return found, (count, wide)

    def close(self, items: Sequence[Item], state: Any) -> list[Violation]:
        count, wide = state or (0, ())
        limits = self.limits
        found = []
        if count > limits.max_images:
            text = f"{count} images; this model takes {limits.max_images} a request"
            found.append(Violation(self.name, len(items) - 1, None, text, repairable=False))
        if count > limits.many_images:
            more = f" where a request has more than {limits.many_images} images"
            found += [
                self._wrong(index, number, side, limits.max_side_many, more) for index, number, side in wide
            ]
        return found

    def _wrong(self, index: int, number: int, side: int, most: int, more: str) -> Violation:
        text = f"an image is {side} pixels wide or high; {most} are allowed{more}"
        return Violation(self.name, index, number, text, repairable=False)


def images(item: Item) -> Iterator[tuple[int, Block]]:
    """Block index and image, also of the images inside tool results."""
    for number, block in enumerate(blocks_of(item.message)):
        kind = block.get("type")
        if kind == "image":
            yield number, block
        elif kind == "tool_result":
            inner = block.get("content")
            if isinstance(inner, list):
                for part in inner:
                    if isinstance(part, Mapping) and part.get("type") == "image":
                        yield number, part
