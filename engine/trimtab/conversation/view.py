"""The items a request shows, and what can be said of them; everything beyond the items is worked out on demand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .edits import Spot
from .items import MEDIA, OTHER, RESULT, USE, Item, blocks_of
from .request import GENUINE

NO_INPUT: Mapping[str, Any] = {}


class Call:
    """One tool call and where its result stands: ``(item index, block index)`` of the shown messages."""

    __slots__ = ("block", "id", "name", "result", "use")

    def __init__(self, id: str, name: str, block: Mapping[str, Any], use: tuple[int, int]) -> None:
        self.id = id
        self.name = name
        self.block = block
        self.use = use
        self.result: tuple[int, int] | None = None

    @property
    def input(self) -> Mapping[str, Any]:
        """The call's input; empty where it is no object."""
        given = self.block.get("input")
        return given if isinstance(given, Mapping) else NO_INPUT


class View:
    """Append-only between folds: ``extend`` adds items, a fold makes a new view.

    Calls and results are paired by occurrence (a result answers the newest earlier call of its id), so ids that a
    provider uses again in each turn are told apart.
    """

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self.items: list[Item] = list(items)
        self.tokens: int = sum([item.total for item in self.items])
        self.bytes: int = sum([item.bytes for item in self.items])
        self._done = 0
        self._role: str | None = None
        self._newest: dict[str, Call] = {}
        self._calls: list[Call] = []
        self._used: dict[str, int] = {}
        self._places: dict[tuple[int, int], Call] = {}
        self._turn_of: list[int] = []
        self._round_of: list[int] = []
        self._turns = 0
        self._rounds = 0
        self._images = 0
        self._deleted: dict[tuple[int, int], None] = {}
        self._deleted_tokens = 0
        self._last_user: int | None = None
        self._sums: list[int] = [0]
        self._position: dict[int, int] = {}
        self._positions = 0
        self.memo: dict[str, int] = {}

    def extend(self, items: Iterable[Item]) -> None:
        """Append items; what was worked out stays and is continued when next asked for."""
        new = list(items)
        self.items.extend(new)
        self.tokens += sum([item.total for item in new])
        self.bytes += sum([item.bytes for item in new])

    def alike(self, items: list[Item]) -> View:
        """A view of items that have the same serials, origins, blocks, calls and images: what was worked out holds."""
        other = View(items)
        other._done, other._role = self._done, self._role
        other._newest, other._places = dict(self._newest), dict(self._places)
        other._used = dict(self._used)
        other._calls, other._turn_of, other._round_of = (
            list(self._calls),
            list(self._turn_of),
            list(self._round_of),
        )
        other._turns, other._rounds, other._images = self._turns, self._rounds, self._images
        other._last_user = self._last_user
        other._deleted = dict(self._deleted)
        other._deleted_tokens = sum([items[index].tokens[block] for index, block in self._deleted])
        other._position, other._positions = dict(self._position), self._positions
        other.memo = dict(self.memo)
        return other

    def _index(self) -> None:
        items, newest, places = self.items, self._newest, self._places
        turn_of, round_of = self._turn_of, self._round_of
        role, rounds, turns = self._role, self._rounds, self._turns
        for index in range(self._done, len(items)):
            item = items[index]
            if item.role == "assistant":
                if role != "assistant":
                    rounds += 1
            elif item.origin in GENUINE:
                turns += 1
                self._last_user = index
            role = item.role
            turn_of.append(turns - 1 if turns else 0)
            round_of.append(rounds)
            mask = item.mask
            if mask == RESULT:
                for number, answered in enumerate(item.results):
                    call = newest.get(answered)
                    if call is not None:
                        if call.result is None:
                            call.result = (index, number)
                        places[index, number] = call
            elif mask & (USE | RESULT | MEDIA | OTHER):
                self._index_blocks(index, item)
        self._role, self._rounds, self._turns = role, rounds, turns
        self._done = len(items)

    def _index_blocks(self, index: int, item: Item) -> None:
        newest = self._newest
        for number, block in enumerate(blocks_of(item.message)):
            kind = block.get("type")
            if kind == "tool_use":
                call = Call(str(block.get("id")), str(block.get("name")), block, (index, number))
                newest[call.id] = call
                self._calls.append(call)
                self._places[index, number] = call
                self._used[call.name] = index
            elif kind == "tool_result":
                answered = newest.get(str(block.get("tool_use_id")))
                if answered is not None:
                    if answered.result is None:
                        answered.result = (index, number)
                    self._places[index, number] = answered
                if item.mask & MEDIA:
                    inner = block.get("content")
                    if isinstance(inner, list):
                        self._images += sum(1 for part in inner if is_media(part))
            elif kind in ("image", "document"):
                self._images += 1
            elif kind == "cache_edits":
                for reference in cache_references(block):
                    gone = newest.get(reference)
                    if gone is not None and gone.result is not None and gone.result not in self._deleted:
                        self._deleted[gone.result] = None
                        place, spot = gone.result
                        self._deleted_tokens += self.items[place].tokens[spot]

    def _ready(self) -> None:
        if self._done != len(self.items):
            self._index()

    @property
    def calls(self) -> list[Call]:
        """All tool calls in order."""
        self._ready()
        return self._calls

    @property
    def used(self) -> Mapping[str, int]:
        """By tool, the index of the newest message that calls it."""
        self._ready()
        return self._used

    def call_of(self, index: int, block: int) -> Call | None:
        """The call that a shown tool_use is, or that a shown tool_result answers."""
        self._ready()
        return self._places.get((index, block))

    @property
    def turn_of(self) -> list[int]:
        """Turn of each item, from 0 at the first genuine user message (0 before it, too)."""
        self._ready()
        return self._turn_of

    @property
    def round_of(self) -> list[int]:
        """Round of each item, from 1 at the first assistant run (0 before it)."""
        self._ready()
        return self._round_of

    @property
    def turns(self) -> int:
        self._ready()
        return self._turns

    @property
    def rounds(self) -> int:
        self._ready()
        return self._rounds

    @property
    def tool_calls(self) -> int:
        self._ready()
        return len(self._calls)

    @property
    def images(self) -> int:
        """Images and documents, also those inside tool results."""
        self._ready()
        return self._images

    @property
    def deleted(self) -> Mapping[tuple[int, int], None]:
        """Places (item, block) of results that a ``cache_edits`` block behind them takes out of the server's cache."""
        self._ready()
        return self._deleted

    @property
    def deleted_tokens(self) -> int:
        """Estimated tokens of those results: they are sent, and don't count any more."""
        self._ready()
        return self._deleted_tokens

    def deleted_by_serial(self) -> dict[int, int]:
        """The same by the serial of the message."""
        found: dict[int, int] = {}
        for index, block in self.deleted:
            item = self.items[index]
            found[item.serial] = found.get(item.serial, 0) + item.tokens[block]
        return found

    @property
    def last_user(self) -> int | None:
        """Index of the last genuine user message."""
        self._ready()
        return self._last_user

    @property
    def open_calls(self) -> list[Call]:
        """Calls of the newest assistant run that have no result and can still get one.

        A plain user message behind the run means that nobody waits for them any more.
        """
        self._ready()
        items = self.items
        end = len(items)
        while end and items[end - 1].role != "assistant":
            if not items[end - 1].mask & RESULT:
                return []
            end -= 1
        start = end
        while start and items[start - 1].role == "assistant":
            start -= 1
        found: list[Call] = []
        for call in reversed(self._calls):
            if call.use[0] < start:
                break
            if call.result is None:
                found.append(call)
        return found[::-1]

    def index_of(self, serial: int) -> int | None:
        """Where the message with this serial stands."""
        items, position = self.items, self._position
        for index in range(self._positions, len(items)):
            position[items[index].serial] = index
        self._positions = len(items)
        return position.get(serial)

    def tokens_before(self, index: int) -> int:
        """Estimated tokens of the items before this one."""
        sums, items = self._sums, self.items
        for position in range(len(sums) - 1, len(items)):
            sums.append(sums[-1] + items[position].total)
        return sums[index]

    def tokens_after(self, index: int) -> int:
        """Estimated tokens of the items behind this one."""
        return self.tokens - self.tokens_before(index + 1)

    def block(self, index: int, block: int) -> Mapping[str, Any]:
        """The shown block; a string content is one text block."""
        return blocks_of(self.items[index].message)[block]

    def spot(self, index: int, block: int) -> Spot:
        """The stable name of a shown block."""
        item = self.items[index]
        return Spot(item.serial, block if item.numbers is None else item.numbers[block])


def cache_references(block: Mapping[str, Any]) -> Iterator[str]:
    """The call ids whose results a block of type ``cache_edits`` deletes; of any other block nothing."""
    edits: Any = block.get("edits") if block.get("type") == "cache_edits" else None
    if not isinstance(edits, list | tuple):
        return
    for edit in edits:
        if isinstance(edit, Mapping) and edit.get("type") == "delete":
            reference = edit.get("cache_reference")
            if isinstance(reference, str):
                yield reference


def deleted_in(items: Iterable[Item]) -> dict[int, int]:
    """By serial, the tokens of results in these items that one of them takes out of the server's cache."""
    listed = list(items)
    if not any(item.mask & OTHER for item in listed):
        return {}
    return View(listed).deleted_by_serial()


def is_media(part: Any) -> bool:
    """Whether a block, or a part of a tool result, is an image or a document."""
    return isinstance(part, Mapping) and part.get("type") in ("image", "document")
