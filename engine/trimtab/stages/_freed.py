"""What an edit frees of the token figure, before the interpreter measures it exactly."""

from __future__ import annotations

from ..conversation.items import Item
from ..policy.scene import Scene


class Freed:
    """Turns estimates into tokens of the figure (ARCHITECTURE §8).

    What the last reported usage measured leaves at that usage's rate; what is new comes at the factor.
    """

    __slots__ = ("_factor", "_measured", "_rate")

    def __init__(self, scene: Scene) -> None:
        then = scene.usage
        self._factor = self._rate = scene.factor
        self._measured: frozenset[int] = frozenset()
        if then is not None and then.estimate > 0:
            self._measured = frozenset([id(item) for item in then.items])
            self._rate = then.prompt / then.estimate

    def tokens(self, item: Item, before: float, after: float) -> float:
        """Estimates of a part of ``item`` before and after."""
        rate = self._rate if id(item) in self._measured else self._factor
        return rate * before - self._factor * after
