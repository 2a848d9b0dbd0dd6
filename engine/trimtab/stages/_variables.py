"""What every template may read (LANGUAGE §11), worked out only where a text reads it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..policy.evaluation import NoValue
from ..policy.metrics import METRICS, NUMBERS

if TYPE_CHECKING:
    from ..policy.scene import Scene
    from ..templating import Text

COMMON = NUMBERS | {"event", "caller", "model", "automatic", "settings", "limits", "facts"}
"""Names that are the same for all blocks a stage looks at in one run."""

LEAST_COUNT = 100.0
"""A limit from here on is a number of tokens, characters or messages; a smaller one may be a share or a percentage."""


class Lazy(Mapping[str, Any]):
    """A mapping whose values are functions, each called when its key is first read."""

    __slots__ = ("_known", "_makers")

    def __init__(self, makers: Mapping[str, Callable[[], Any]]) -> None:
        self._makers = makers
        self._known: dict[str, Any] = {}

    def __getitem__(self, key: str) -> Any:
        try:
            return self._known[key]
        except KeyError:
            value = self._known[key] = self._makers[key]()
            return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def variables(
    scene: Scene,
    text: Text,
    own: Mapping[str, Any] | None = None,
    fact: Callable[[str], Any] | None = None,
) -> dict[str, Any]:
    """The common variables ``text`` reads, and ``own``, which win; facts are read by ``fact``.

    Metrics and limits without a value are None, which is shown as nothing; the others are whole numbers where
    a part of one means nothing (``_whole``). Of ``facts`` there are the records of those the text names (None:
    nobody knows them); plain data, not fenced.
    """
    found: dict[str, Any] = {}
    for name in text.variables & COMMON:
        found[name] = _value(scene, text, name, fact or scene.fact)
    if own:
        found.update(own)
    return found


def _value(scene: Scene, text: Text, name: str, fact: Callable[[str], Any]) -> Any:
    if name == "automatic":
        return scene.event != "manual"
    if name == "settings":
        return dict(scene.settings)
    if name == "limits":
        return _limits(scene, _fields(text, "limits"))
    if name == "facts":
        return _facts(scene, _fields(text, "facts"), fact)
    try:
        value = scene.metric(name)
    except NoValue:
        return None
    if METRICS[name].unit == "minutes" and isinstance(value, float):
        return round(value, 1)
    return _whole(value, 0) if name in NUMBERS else value


def _whole(value: Any, least: float) -> Any:
    """Numbers from ``least`` up without a fraction: half a token is none."""
    return round(value) if isinstance(value, float) and least <= value < math.inf else value


def _fields(text: Text, name: str) -> set[str] | None:
    """The fields of a mapping the text reads; None: it reads the mapping itself."""
    if name in text.paths:
        return None
    return {path.split(".")[1] for path in text.paths if path.startswith(f"{name}.")}


def _limits(scene: Scene, wanted: set[str] | None) -> dict[str, Any]:
    if wanted is None:
        return {name: _whole(value, LEAST_COUNT) for name, value in scene.limits().items()}
    found: dict[str, Any] = {}
    for name in wanted & scene.policy.limits.keys():
        try:
            found[name] = _whole(scene.name(name), LEAST_COUNT)
        except NoValue:
            found[name] = None
    return found


def _facts(scene: Scene, wanted: set[str] | None, fact: Callable[[str], Any]) -> dict[str, Any]:
    if wanted is None:
        wanted = {*scene.book.rules, *scene.facts.named}
    return {name: fact(name) for name in wanted}
