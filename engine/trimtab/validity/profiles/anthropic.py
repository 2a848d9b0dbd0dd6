"""The Messages API (API-FACTS §4), with what differs between its models."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from ...tokens.media import image_size
from ..base import Limits, Profile
from ..cache_edits import CacheEdits
from ..cache_marks import CacheMarks
from ..empty import Empty
from ..ends import Ends
from ..ids import Ids
from ..media import Media
from ..pairs import Pairs
from ..result_order import ResultOrder
from ..server_tools import ServerTools
from ..shape import Shape
from ..size import Size
from ..system_place import SystemPlace
from ..thinking_place import ThinkingPlace

NAME = "anthropic"


class ModelEntry(Protocol):
    """What is read of an entry of the model table."""

    @property
    def thinking(self) -> str: ...
    @property
    def prefill(self) -> bool: ...
    @property
    def inner_system(self) -> bool: ...
    @property
    def max_images(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What the rules must know of a model; the defaults are those of an unknown one, on the safe side.

    ``thinking``: ``manual``, ``bound`` or ``free``. ``prefill``: the assistant may have the last word.
    ``system_messages``: role ``system`` may stand among the messages. ``images``: most in one request.
    """

    thinking: str = "bound"
    prefill: bool = False
    system_messages: bool = False
    images: int = 100

    @classmethod
    def of(cls, model: ModelEntry) -> Capabilities:
        """From an entry of the model table."""
        return cls(model.thinking, model.prefill, model.inner_system, model.max_images)


@lru_cache(maxsize=256)
def anthropic(capabilities: Capabilities, marks_elsewhere: int = 0) -> Profile:
    """The profile of a model. ``marks_elsewhere``: cache marks in the request's system and tools."""
    limits = Limits(max_images=capabilities.images, marks_elsewhere=marks_elsewhere)
    return Profile(
        name=NAME,
        rules=(
            Shape(),
            Empty(),
            Ids(),
            Pairs(),
            ResultOrder(),
            ServerTools(),
            CacheEdits(),
            ThinkingPlace(manual=capabilities.thinking == "manual"),
            Ends(prefill=capabilities.prefill),
            SystemPlace(allowed=capabilities.system_messages),
            CacheMarks(limit=max(0, limits.max_marks - marks_elsewhere)),
            Media(limits, image_size),
            Size(limits),
        ),
        limits=limits,
        thinking=capabilities.thinking,
        prefill=capabilities.prefill,
        system_messages=capabilities.system_messages,
    )
