"""What a kind's ``build`` may ask for while a pack is compiled."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ..templating import Text
    from .conditions import Condition
    from .expressions import Quantity
    from .selection import Fit, Keep, Selector


class Maker(Protocol):
    """Turns raw values into compiled ones.

    ``where`` is the path of the value inside the stage. What is wrong becomes a problem of the pack, and a harmless
    stand-in is returned, so that one fault does not hide the next.
    """

    stage_id: str

    def quantity(self, raw: int | float | str, *where: str | int) -> Quantity: ...

    def condition(self, raw: Mapping[str, Any], *where: str | int) -> Condition: ...

    def selector(self, raw: Mapping[str, Any], *where: str | int) -> Selector: ...

    def keep(self, raw: Any, *where: str | int) -> tuple[Keep, ...]: ...

    def fit(self, raw: Mapping[str, Any], *where: str | int) -> Fit: ...

    def text(self, raw: Mapping[str, Any], *where: str | int) -> Text | None:
        """The value's ``text`` or ``template``; None if it has neither."""

    def template(self, name: str, *where: str | int) -> Text: ...

    def pattern(self, raw: str, *where: str | int) -> re.Pattern[str]: ...

    def problem(self, message: str, *where: str | int, code: str, hint: str = "") -> None: ...
