"""What no stage may choose (LANGUAGE §8): pins, the last user message, the open round, what stages made."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from ..conversation.edits import Mark
from ..conversation.fold import Change
from ..conversation.items import SERVER
from ..conversation.view import View

MADE = frozenset({"summary", "note", "attachment"})
"""Origins of what stages bring in."""


class Protection:
    """Answers for one stage and one view; worked out when first asked.

    ``placeholder`` says of a stage id whether what it leaves of a block shows nothing of the original any more.
    ``origins`` are those the stage's selector names: they lift the protection of what stages made.
    """

    def __init__(
        self,
        view: View,
        *,
        stage: str,
        pinned: Collection[int],
        changes: Mapping[int, tuple[Change, ...]],
        author: Mapping[tuple[int, int], str],
        placeholder: Callable[[str], bool],
        restored: Collection[tuple[int, int]],
        undone: Mapping[tuple[int, int], Collection[str]],
        undone_messages: Mapping[int, Collection[str]],
        origins: Collection[str] = (),
        shorten_user: bool = False,
    ) -> None:
        self._view = view
        self._stage = stage
        self._changes = changes
        self._author = author
        self._placeholder = placeholder
        self._restored = restored
        self._undone = undone
        self._undone_messages = undone_messages
        self._restored_serials = {serial for serial, _ in restored}
        self._origins = origins
        self._shorten_user = shorten_user
        self._pinned = pinned
        self._last_user = view.last_user
        open_calls = view.open_calls
        self._open_blocks = {call.use for call in open_calls}
        self._open_from = min((call.use[0] for call in open_calls), default=None)
        head = 0
        while head < len(view.items) and view.items[head].role == "system":
            head += 1
        self._head = head

    def _message(self, index: int) -> bool:
        item = self._view.items[index]
        if item.serial in self._pinned or index < self._head:
            return True
        return item.origin in MADE and item.origin not in self._origins

    def message(self, index: int) -> bool:
        """Whether the message as a whole is out of bounds."""
        if self._message(index) or index == self._last_user:
            return True
        if self._open_from is not None and index >= self._open_from:
            return True
        serial = self._view.items[index].serial
        return serial in self._restored_serials or self._stage in self._undone_messages.get(serial, ())

    def undone(self, index: int) -> bool:
        """Whether the stage keeps off the message because its commit about it was undone."""
        return self._stage in self._undone_messages.get(self._view.items[index].serial, ())

    def why(self, index: int) -> str | None:
        """Why the message as a whole is out of bounds, in words; None if it is not."""
        if not self.message(index):
            return None
        item = self._view.items[index]
        if item.serial in self._pinned:
            return "it is pinned"
        if index < self._head:
            return "it is part of the system prompt"
        if item.origin in MADE and item.origin not in self._origins:
            return "it is no message of the conversation itself, but was put in"
        if index == self._last_user:
            return "it is the newest message of the user"
        if self._open_from is not None and index >= self._open_from:
            return "its calls have not been answered yet"
        if self.undone(index):
            return "it was brought back by undoing this stage's commit"
        return "it was brought back by hand"

    def block(self, index: int, block: int) -> bool:
        """Whether one shown block is out of bounds. Called for every block that matches: cheap tests first."""
        item = self._view.items[index]
        serial = item.serial
        if (
            index < self._head
            or serial in self._pinned
            or (item.origin in MADE and item.origin not in self._origins)
        ):
            return True
        if (index, block) in self._open_blocks:
            return True
        asked = index == self._last_user and not self._shorten_user
        if asked and self._view.block(index, block).get("type") != "tool_result":
            return True
        if item.mask & SERVER:
            kind = self._view.block(index, block).get("type")
            if kind in OPAQUE or (isinstance(kind, str) and kind.endswith("_tool_result")):
                return True
        if serial in self._changes or serial in self._restored_serials or self._undone:
            return self._touched(self._view.spot(index, block))
        return False

    def _touched(self, spot: tuple[int, int]) -> bool:
        if spot in self._restored or self._stage in self._undone.get(spot, ()):
            return True
        changes = self._changes.get(spot[0])
        if not changes:
            return False
        last = None
        for _, block, what in changes:
            if block == spot[1]:
                last = None if what is Mark.ORIGINAL else what
        if last is None:
            return False
        author = self._author.get(spot)
        # Nobody: a repair of ids, which leaves what the block says.
        return author is not None and (author == self._stage or self._placeholder(author))


class Judged:
    """Protection for a stage that judges each block once: what it has judged is out of bounds, too.

    ``judged`` says of a message, by its serial, how many of its leading blocks are.
    """

    def __init__(self, protection: Protection, view: View, judged: Callable[[int], int]) -> None:
        self._protection = protection
        self._view = view
        self._judged = judged

    def message(self, index: int) -> bool:
        """Whether the message as a whole is out of bounds: also if some of it was judged."""
        return self._judged(self._view.items[index].serial) > 0 or self._protection.message(index)

    def block(self, index: int, block: int) -> bool:
        """Whether one shown block is out of bounds."""
        spot = self._view.spot(index, block)
        return spot.block < self._judged(spot.serial) or self._protection.block(index, block)


OPAQUE = frozenset({"server_tool_use", "mcp_tool_use", "compaction", "container_upload"})
