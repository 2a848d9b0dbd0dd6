"""What a session knows of its conversation: the path, its items, what is known of them, and the view that stands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import is_
from typing import Any

from .conversation.digest import digest, value_digest
from .conversation.edits import Commit, Insert, Splice
from .conversation.fold import ItemBuilder, Overlay, fold, sequence
from .conversation.items import Item, ItemMaker
from .conversation.lineage import Bookmark, Lineage, Observation
from .conversation.request import Info, Request, check_types
from .conversation.view import View
from .facts import FactBook, FactRule
from .matching import Categories
from .policy.history import OWN_FACTS, History
from .receipt import Dropped
from .records import JournalError, Record, RunRecord, Undo
from .resuming import Ghosts, factor_of, ghost, of_run
from .sleeping import asleep
from .tokens.figure import Factor
from .trial import Sent, Standing
from .validity.base import leading_system

_COMMIT_ID = re.compile(r"c[0-9]{1,18}")
_PUT_BACK = "restore the file, or begin a new session directory"


@dataclass(frozen=True, slots=True)
class Saved:
    """The state before a run, for one that comes to nothing; ``metered``: newest serial learned from."""

    lineage: Bookmark
    base: View
    base_length: int
    standing: Standing
    view_length: int
    sent: Sent | None
    handed: Sent | None
    meter: Factor
    metered: int
    baked: Mapping[int, int]
    fresh: bool


@dataclass(slots=True)
class Seen:
    """What an observation found. ``refolded``: the view was made anew; ``new``: index of the first new message."""

    how: str
    new: int
    refolded: bool
    dropped: tuple[Dropped, ...] = ()
    marks_moved: bool = False


@dataclass(slots=True)
class Track:
    """State of one session between runs; everything but the lineage is recomputed from transcript and journal.

    ``sent`` is the last request that went to the API, ``handed`` the last one a host was given, for whatever event:
    it may go on from that.
    """

    maker: ItemMaker
    rules: Mapping[str, FactRule]
    categories: Categories
    history: History = field(default_factory=History)
    lineage: Lineage = field(default_factory=Lineage)
    base: View = field(default_factory=View)
    standing: Standing = field(default_factory=lambda: Standing(Overlay(), View()))
    infos: dict[int, Info] = field(default_factory=dict)
    pinned: set[int] = field(default_factory=set)
    sent: Sent | None = None
    handed: Sent | None = None
    meter: Factor = field(default_factory=Factor)
    metered: int = 0
    builder: ItemBuilder = field(init=False)
    book: FactBook = field(init=False)
    _info_list: list[Info | None] = field(default_factory=list)
    _booked: int = 0
    _fresh: bool = True
    _sent_path: tuple[int, ...] | None = None
    _sent_overlay: Overlay = field(default_factory=Overlay)
    _sent_head: str = ""
    _handed_path: tuple[int, ...] | None = None
    _handed_overlay: Overlay = field(default_factory=Overlay)
    _ghost_view: list[tuple[int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.builder = ItemBuilder(self.maker)
        self.book = FactBook(self.rules, self.categories)

    # --- a journal's records

    def replay(self, records: Iterable[Record]) -> None:
        """Take up where a journal ends. The messages themselves come with the next run."""
        overlay = Overlay()
        shown: dict[int, str] = {}
        known: set[str] = set()
        for record in records:
            self._in_order(record, known)
            if isinstance(record, RunRecord):
                self._replay_run(record, overlay, shown)
            elif isinstance(record, Commit):
                overlay = overlay.plus(sequence(record), record.all_edits)
                self._reserve(record)
                for serial, text in record.results.items():
                    shown[serial] = text
                    self.lineage.show(serial, text, sequence(record))
            self.history.add(record)
            if isinstance(record, Undo):
                overlay = Overlay.of(self.history.live())
                self._take_back(record.id, shown)
            last = self.history.last_run
            if last is not None and (record is last or of_run(record, last.n)):
                self._handed_overlay = overlay
                if last.sent:
                    self._sent_overlay = overlay
        if self._handed_path is not None:
            self._ghost_view = self._last_view(shown)
            self.lineage.register(self._ghost_view)
        self.standing = Standing(overlay, View())
        self.metered = self.lineage.next - 1
        self._fresh = not self.history.runs

    def _in_order(self, record: Record, known: set[str]) -> None:
        """Raises JournalError for a record that cannot follow those before it; ``known`` are ids of commits."""
        history = self.history
        if isinstance(record, RunRecord) and record.n < history.next_run():
            raise JournalError(f"run {record.n} does not follow run {history.next_run() - 1}", hint=_PUT_BACK)
        if isinstance(record, Commit):
            if _COMMIT_ID.fullmatch(record.id) is None:
                raise JournalError(f"{record.id[:40]!r} is no id of a commit", hint=_PUT_BACK)
            if history.commits and sequence(record) <= sequence(history.commits[-1]):
                raise JournalError(
                    f"commit {record.id} does not follow the commits before it", hint=_PUT_BACK
                )
            known.add(record.id)
        if isinstance(record, Undo) and record.id not in known:
            raise JournalError(f"an undo names commit {record.id[:40]}, which is not there", hint=_PUT_BACK)

    def _take_back(self, commit_id: str, shown: dict[int, str]) -> None:
        """Digests of the messages an undone commit had changed, as the commits before and after it left them."""
        undone = next((commit for commit in self.history.commits if commit.id == commit_id), None)
        for serial in undone.results if undone is not None else ():
            texts = [commit.results[serial] for commit in self.history.live() if serial in commit.results]
            if texts:
                shown[serial] = texts[-1]
            else:
                shown.pop(serial, None)

    def _replay_run(self, record: RunRecord, overlay: Overlay, shown: Mapping[int, str]) -> None:
        keep = len(self.lineage.path) if record.keep is None else record.keep
        path = [*self.lineage.path[:keep], *record.add]
        whole = 0 <= keep <= len(self.lineage.path) and len(record.add) == len(record.digests) == len(
            record.blocks
        )
        if not whole or min(path, default=1) < 1 or len(set(path)) != len(path):
            raise JournalError(
                f"run {record.n} contradicts itself: its messages do not add up", hint=_PUT_BACK
            )
        if keep < len(self.lineage.path) and self._handed_path is not None:
            self.lineage.register(self._last_view(shown))
        self.lineage.resume(keep, record.add, record.digests)
        if record.meter is not None:
            self.meter = factor_of(record.meter)
        self._handed_path = tuple(self.lineage.path)
        if record.sent:
            self._sent_path = self._handed_path
            self._sent_head = record.head or ""

    def _reserve(self, commit: Commit) -> None:
        for edit in commit.all_edits:
            if isinstance(edit, Insert | Splice):
                for new in edit.items:
                    self.lineage.reserve(new.serial)

    def _last_view(self, shown: Mapping[int, str]) -> list[tuple[int, str]]:
        """Serial and digest of each message of the last view handed out, from the journal alone."""
        path = [ghost(serial, self.lineage.known_digest(serial)) for serial in self._handed_path or ()]
        view = fold(path, self._handed_overlay, Ghosts(shown))
        return [(item.serial, str(item.source)) for item in view[leading_system(view) :]]

    # --- one run

    def save(self) -> Saved:
        return Saved(
            self.lineage.mark(),
            self.base,
            len(self.base.items),
            self.standing,
            len(self.standing.view.items),
            self.sent,
            self.handed,
            self.meter,
            self.metered,
            self.builder.baked,
            self._fresh,
        )

    def restore(self, saved: Saved) -> None:
        """As if the run had not been. What was worked out for new messages is thrown away."""
        self.lineage.reset(saved.lineage)
        self.base = View(saved.base.items[: saved.base_length])
        shared = saved.standing.view is saved.base
        view = self.base if shared else View(saved.standing.view.items[: saved.view_length])
        self.standing = Standing(saved.standing.overlay, view)
        self.sent, self.handed = saved.sent, saved.handed
        self.meter, self.metered = saved.meter, saved.metered
        self.builder.baked = dict(saved.baked)
        self._fresh = saved.fresh
        self._info_list = []
        self._rebook()

    def observe(self, request: Request, same: int = 0) -> Seen:
        """Name the messages, make items of new ones, fold if anything but an append has happened.

        ``same``: how many leading messages are the very objects of the last run (``Lineage.same``).
        Raises ValueError where the request is not made of messages at all.
        """
        check_types(request, same)
        messages = list(request.messages)
        seen = self.lineage.observe(messages, self._handed_digests, self._view_is_longer(), same)
        before = self.lineage.next
        scribbled = self.builder.scribbled(self.standing.view)
        plain = seen.how == "append" and not scribbled and all(serial >= before for serial in seen.serials)
        if seen.touched:
            changes = self.standing.overlay.changes
            plain = plain and not any(self.lineage.path[index] in changes for index in seen.touched)
        old = {} if plain else {item.serial: item for item in self.base.items}
        items, shadows = self._items(request, messages, seen, old, same)
        first = not self.lineage.path
        self.lineage.accept(seen, messages, shadows, same)
        self._take_infos(request)
        # A journal may hold edits from before the first message: they are not in the view yet.
        if plain and (self._fresh or (first and self.standing.overlay.empty)):
            self._fresh = True
            self.base.extend(items)
            if self.standing.overlay.empty and self.standing.view is not self.base:
                self.standing = Standing(self.standing.overlay, self.base, states=self.standing.states)
            if self.standing.view is not self.base:
                self.standing.view.extend(items)
            self._book_on()
            return Seen(seen.how, seen.keep, False, marks_moved=bool(seen.touched))
        self.base = View([*self.base.items[: seen.keep], *items]) if self._fresh else View(items)
        return self._refold(seen)

    def _view_is_longer(self) -> bool:
        """Whether the last view handed out ends with a message that an edit brought in."""
        if self.handed is None:
            last = self._ghost_view[-1][0] if self._ghost_view else 0
        else:
            last = self.handed.items[-1].serial if self.handed.items else 0
        return bool(last) and self.history.origin_of(last) is not None and last not in self.lineage.path

    def _items(
        self, request: Request, messages: Sequence[Any], seen: Observation, old: Mapping[int, Item], same: int
    ) -> tuple[list[Item], list[Any]]:
        make = self.maker.make
        infos = request.info
        known = len(infos)
        serials = seen.serials if self._fresh else (*self.lineage.path[: seen.keep], *seen.serials)
        start = seen.keep if self._fresh else 0
        items: list[Item] = []
        shadows: list[Any] = []
        for index, serial in enumerate(serials, start):
            message = messages[index]
            info = infos[index] if index < known else None
            origin = info.origin if info is not None else None
            # A message that an edit brought in and the host feeds back has the origin it had then.
            item, shadow = make(serial, message, origin or self.history.origin_of(serial))
            kept = old.get(serial)
            if kept is not None and kept.message == message:
                kept.message = message
                item = kept
            items.append(item)
            shadows.append(shadow)
        if self._fresh:
            if same < seen.keep:
                self._swap(messages, seen)
            return items, shadows
        return items, shadows[seen.keep :]

    def _swap(self, messages: Sequence[Any], seen: Observation) -> None:
        """Items of known messages point at the host's present objects: an untouched message leaves as it came in."""
        if all(map(is_, messages[: seen.keep], self.lineage.known)):
            return
        for index in range(seen.keep):
            item = self.base.items[index]
            if item.message is not messages[index]:
                item.message = messages[index]
        for index in seen.touched:
            item = self.base.items[index]
            item.plain = False
            self.builder.forget(item.serial)

    def _refold(self, seen: Observation) -> Seen:
        lineage = self.lineage
        baked = {s: n for index, s in enumerate(lineage.path) if (n := lineage.baked(index))}
        self.builder.baked = baked
        self._rebook()
        overlay = self.standing.overlay
        if not self._fresh:
            self._resume_sent()
            self._fresh = True
        self.standing = Standing(overlay, View(fold(self.base.items, overlay, self.builder)))
        return Seen(seen.how, seen.keep, True, asleep(self.base.items, self.history.live()))

    def _resume_sent(self) -> None:
        """The last sent view, as far as its messages are here again."""
        if self._sent_path is None:
            return
        here = {item.serial: item for item in self.base.items}
        path = [here.get(s) or ghost(s, self.lineage.known_digest(s)) for s in self._sent_path]
        upto = sequence(self.history.commits[-1]) if self.history.commits else 0
        self.sent = Sent(fold(path, self._sent_overlay, self.builder), self._sent_head, upto)

    # --- infos, facts, digests

    def _take_infos(self, request: Request) -> None:
        given = list(request.info)
        if not given:
            return
        known = self._info_list
        start = len(known) if given[: len(known)] == known else 0
        path = self.lineage.path
        for index in range(start, min(len(given), len(path))):
            info = given[index]
            serial = path[index]
            if info is not None:
                self.infos[serial] = info
                (self.pinned.add if info.pinned else self.pinned.discard)(serial)
            elif start == 0 and self.infos.pop(serial, None) is not None:
                self.pinned.discard(serial)
        self._info_list = given

    def _rebook(self) -> None:
        self.book = self.new_book()
        self._booked = len(self.base.items)

    def new_book(self) -> FactBook:
        """The facts of the present path, read anew."""
        book = FactBook(self.rules, self.categories)
        book.extend(self.base.items)
        # Also those undone: a host that no longer has the messages has nothing else to read the facts from.
        for facts in [commit.facts for commit in self.history.commits if commit.facts]:
            book.restore({name: value for name, value in facts.items() if name not in OWN_FACTS})
        return book

    def _book_on(self) -> None:
        items = self.base.items
        if self._booked < len(items):
            self.book.extend(items[self._booked :])
            self._booked = len(items)

    def _handed_digests(self) -> list[tuple[int, str]]:
        """Serial and digest of each message of the last view handed out, for a host that may feed it back."""
        if self.handed is None:
            return self._ghost_view
        base = self.base.items
        own = {id(item): index for index, item in enumerate(base)}
        out: list[tuple[int, str]] = []
        # What stands at the head as a system message was written into the system prompt.
        for item in self.handed.items[leading_system(self.handed.items) :]:
            index = own.get(id(item))
            if index is not None and index < len(self.lineage.path):
                text = self.lineage.digest_at(index)
            elif isinstance(item.source, str) and not item.chars:
                text = item.source
            else:
                text = digest(item.message)
                number = self._newest_change(item.serial, self.handed.upto)
                if number:
                    self.lineage.show(item.serial, text, number)
            out.append((item.serial, text))
        return out

    def _newest_change(self, serial: int, upto: int) -> int:
        """Number of the newest commit up to ``upto`` that changed this message (0: none)."""
        changes = self.standing.overlay.changes.get(serial, ())
        return max((number for number, _, _ in changes if number <= upto), default=0)

    def head(self, request: Request) -> str:
        """Digest of system and tools: what stands before the first message."""
        return value_digest([request.system, request.tools or []])
