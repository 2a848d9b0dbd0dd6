"""Which messages a summary replaces: between the keeps, or from or up to the point a manual request names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ..conversation.edits import Insert
from ..conversation.items import Item, is_genuine
from ..conversation.view import View
from ..policy.narrowing import keep_range
from ..policy.protection import MADE
from ..policy.relations import places
from ..policy.scene import Scene

Part = tuple[int, int]
"""View items ``[start, stop)``."""


@dataclass(frozen=True, slots=True)
class Range:
    """The ``parts`` of the view that go, in order; protected messages between them stay.

    ``direction`` is ``whole``, ``from`` (what is before stays) or ``up_to`` (what is behind stays).
    ``reason`` says why there is no part; ``held_by`` what ended the range at each side.
    """

    parts: tuple[Part, ...]
    direction: str = "whole"
    held_by: tuple[str, ...] = ()
    reason: str | None = None

    @property
    def start(self) -> int:
        return self.parts[0][0]

    @property
    def stop(self) -> int:
        return self.parts[-1][1]

    def indexes(self) -> Iterable[int]:
        """Every position that goes."""
        return (index for start, stop in self.parts for index in range(start, stop))


def find_range(scene: Scene, upto: int | None = None, by_request: bool = True) -> Range:
    """The stage's range in this view; it ends before view item ``upto``, if that is given.

    ``by_request``: a manual request may name its ends. Raises NoValue.
    """
    view = scene.view
    if not view.items:
        return Range((), reason="the conversation is empty")
    cuts = scene.cuts()
    legal = _legal(scene, cuts)
    asked = _asked(scene, legal) if by_request else None
    held: tuple[str, ...]
    if isinstance(asked, str):
        return Range((), reason=asked)
    head = leading(view.items)
    if asked is not None:
        (start, stop), held = asked, ("the manual request",)
    else:
        kept = keep_range(scene, scene.stage.keep, scene.stage.cut_at, cuts)
        start, stop, held = kept.start, kept.stop, kept.held_by
    if upto is not None and stop > upto:
        stop, held = _before(legal, upto), (*held, "the notes end there")
    wanted = stop
    open_from = open_round(view)
    if stop > open_from:
        stop, held = _before(legal, open_from), (*held, "the open round")
    stop, pending = _without_pending(view, legal, start, stop)
    if pending:
        held = (*held, "a message of the user that nothing was done for yet")
    direction = _direction(start, max(start, wanted), head, len(view.items))
    protection = scene.protection()
    undone = sum(1 for index in range(start, stop) if protection.undone(index))
    if undone:
        held = (*held, f"an undo keeps {undone} message{'' if undone == 1 else 's'} from this stage")
    parts = _parts(start, stop, cuts, protector(scene))
    reason = None
    if not parts:
        reason = "nothing to summarize" + (f": {', '.join(held)}" if held else "")
    return Range(parts, direction, held, reason)


def _legal(scene: Scene, cuts: bytearray) -> list[bool]:
    """Where a range may begin or end, by the rules and by ``cut_at``."""
    items = scene.view.items
    turns = scene.stage.cut_at == "turns"
    return [
        bool(cuts[at]) and (not turns or at in (0, len(items)) or is_genuine(items[at]))
        for at in range(len(cuts))
    ]


def _asked(scene: Scene, legal: Sequence[bool]) -> Part | str | None:
    """What a manual ``from`` or ``up_to`` asks for; a text says why that cannot be, None: nothing is asked.

    A point inside a round moves to the nearest place that keeps more, else to the nearest that keeps less.
    """
    request = scene.facts.request
    if scene.event != "manual" or request is None or (request.from_ is None and request.up_to is None):
        return None
    place = places(scene)
    start, stop = 0, len(scene.view.items)
    if request.from_ is not None:
        found = place(request.from_)
        if found is None:
            return f"the message {request.from_!r} that `from` names is not in the view"
        start = _behind(legal, found) if any(legal[found:-1]) else _before(legal, found)
    if request.up_to is not None:
        found = place(request.up_to)
        if found is None:
            return f"the message {request.up_to!r} that `up_to` names is not in the view"
        stop = _before(legal, found) or (_behind(legal, found) if found else 0)
    return start, max(start, stop)


def _before(legal: Sequence[bool], at: int) -> int:
    """The last legal place up to ``at``; 0 if there is none."""
    return next((place for place in range(at, -1, -1) if legal[place]), 0)


def _behind(legal: Sequence[bool], at: int) -> int:
    """The first legal place from ``at`` on; the end if there is none."""
    return next((place for place in range(at, len(legal)) if legal[place]), len(legal) - 1)


def leading(items: Sequence[Item]) -> int:
    """How many system messages stand in front."""
    return next((index for index, item in enumerate(items) if item.role != "system"), len(items))


def _direction(start: int, stop: int, head: int, length: int) -> str:
    if stop < length:
        return "up_to"
    return "from" if start > head else "whole"


def open_round(view: View) -> int:
    """Where the round begins whose calls can still get a result; the end of the view if there is none."""
    waiting = view.open_calls
    if not waiting:
        return len(view.items)
    at = min(call.use[0] for call in waiting)
    while at and view.items[at - 1].role == "assistant":
        at -= 1
    return at


def last_user(view: View, start: int, stop: int) -> int | None:
    """The last genuine user message of ``[start, stop)``."""
    return next((at for at in range(stop - 1, start - 1, -1) if is_genuine(view.items[at])), None)


def has_work(view: View, index: int, stop: int) -> bool:
    """Whether anything was done for the message before ``stop``: an assistant spoke, or a summary says so."""
    return any(
        item.origin == "summary" or (item.role == "assistant" and item.origin not in MADE)
        for item in view.items[index + 1 : stop]
    )


def _without_pending(view: View, legal: Sequence[bool], start: int, stop: int) -> tuple[int, bool]:
    """A range that holds no work for its last user message ends before it."""
    moved = False
    while stop > start:
        user = last_user(view, start, stop)
        if user is None or has_work(view, user, stop):
            break
        stop, moved = max(start, _before(legal, user)), True
    return max(start, stop), moved


def protector(scene: Scene) -> Callable[[int], bool]:
    """Which messages no range takes along: pins, leading system messages, what was restored or undone.

    What stages made goes with a range, and the last user message is shown by what is composed.
    """
    protection = scene.protection()
    items = scene.view.items
    head, newest = leading(items), scene.view.last_user

    def protected(index: int) -> bool:
        item = items[index]
        info = scene.info(item.serial)
        if index < head or (info is not None and info.pinned):
            return True
        if item.origin in MADE or index == newest:
            return False
        return protection.message(index)

    return protected


def _parts(start: int, stop: int, cuts: bytearray, protected: Callable[[int], bool]) -> tuple[Part, ...]:
    """The range without protected messages and the rounds they stand in."""
    found: list[Part] = []
    at = start
    for index in range(start, stop + 1):
        if index < stop and not protected(index):
            continue
        first = next((place for place in range(at, index + 1) if cuts[place]), index)
        last = next((place for place in range(index, first - 1, -1) if cuts[place]), first)
        if first < last:
            found.append((first, last))
        at = index + 1
    return tuple(found)


def made_here(scene: Scene) -> frozenset[int]:
    """Serials of all messages that edits brought in."""
    splices = [new.serial for _, splice in scene.overlay.splices for new in splice.items]
    return frozenset(splices).union(new.serial for _, insert in scene.overlay.inserts for new in insert.items)


def put_in_front(scene: Scene, stop: int) -> list[int]:
    """Places before ``stop`` of the messages that this stage has put in front of the head before."""
    own = {
        new.serial
        for commit in scene.history.history.commits_of([scene.stage.id])
        for edit in commit.edits
        if isinstance(edit, Insert)
        for new in edit.items
        if new.origin == "summary"
    }
    items = scene.view.items
    return [at for at in range(leading(items), stop) if items[at].serial in own]


def holds_new(scene: Scene, parts: Iterable[Part]) -> bool:
    """Whether anything in the parts came from the host: not only summaries, attachments and copies of
    ours.
    """
    made = made_here(scene)
    items = scene.view.items
    return any(
        items[index].serial not in made and items[index].origin not in MADE
        for start, stop in parts
        for index in range(start, stop)
    )


def pieces(scene: Scene, parts: Iterable[Part], rounds: int) -> list[Part]:
    """The parts cut into consecutive pieces of so many rounds; earlier summaries are left where they stand.

    The last piece of a part may be shorter; one without a word of the assistant, or with nothing new, is
    none.
    """
    items, cuts = scene.view.items, scene.cuts()
    found: list[Part] = []
    for start, stop in parts:
        at = start
        for index in range(start, stop + 1):
            if index < stop and items[index].origin != "summary":
                continue
            found.extend(_pieces(scene.view, at, index, rounds, cuts))
            at = index + 1
    return [piece for piece in found if holds_new(scene, [piece])]


def _pieces(view: View, start: int, stop: int, rounds: int, cuts: bytearray) -> list[Part]:
    found: list[Part] = []
    round_of, at = view.round_of, start
    for end in range(start + 1, stop + 1):
        if not cuts[end]:
            continue
        inside = {round_of[i] for i in range(at, end) if view.items[i].role == "assistant"}
        closed = end == stop or is_genuine(view.items[end]) or round_of[end] != round_of[end - 1]
        if inside and (end == stop or (len(inside) >= rounds and closed)):
            found.append((at, end))
            at = end
    return found


def has_tail(scene: Scene, place: Range) -> bool:
    """Whether messages behind the range stay."""
    return place.stop < len(scene.view.items)
