"""Stable names for messages: append, resume, rewind, branch, fork and a fed-back view are one walk over one tree.

``serial = edge[(serial of the message before, digest of this message)]``; no edge: a new serial, and the edge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from operator import is_

from .digest import digest
from .items import structure
from .request import Message

ROOT = 0
MANY = 2_000_000
"""Above this product of lengths the alignment of two tails may use its heuristic for popular elements."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What a transcript means: ``keep`` messages of the last path, then ``serials`` of the rest.

    ``how`` is ``append``, ``fed back``, ``changed in place``, ``tip grew`` or ``rewound``; ``touched`` are positions
    below ``keep`` whose message is equal but for cache marks and the like; ``texts`` are the digests of the rest,
    if they had to be taken.
    """

    keep: int
    serials: tuple[int, ...]
    how: str
    touched: tuple[int, ...] = ()
    texts: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A state of a lineage; only ``Lineage.reset`` looks inside."""

    lists: tuple[list[int], list[Message | None], list[Message | None], list[str | None]]
    length: int
    next: int
    visible: int
    bare: bool


class Lineage:
    """The tree of serials and the last path walked in it. Digests are taken only where they are needed.

    ``shadows`` hold a structural copy of each message of the path, so that one deep comparison tells whether the
    host changed anything; where a shadow is missing, the digest was taken and stands in for it.
    """

    def __init__(self) -> None:
        self.next = 1
        self.path: list[int] = []
        self.known: list[Message | None] = []
        self.shadows: list[Message | None] = []
        self.digests: list[str | None] = []
        self.visible = 0
        self._edges: dict[tuple[int, str, int], int] = {}
        self._linked = 0
        self._bare = False
        self._highest = 0
        self._first: dict[int, str] = {}
        self._shown: dict[tuple[int, str], int] = {}

    # --- names

    def new_serial(self) -> int:
        """The next serial; one counter serves transcript messages and messages that edits bring in."""
        serial = self.next
        self.next += 1
        return serial

    def reserve(self, serial: int) -> None:
        """Count a serial given elsewhere (journal) as used."""
        self.next = max(self.next, serial + 1)

    def link(self, before: int, text: str, serial: int) -> None:
        """Make ``serial`` the continuation of ``before`` by a message with this digest, unless it is one already."""
        turn = 0
        while (found := self._edges.get((before, text, turn))) is not None:
            if found == serial:
                return
            turn += 1
        self._edges[before, text, turn] = serial
        self._highest = max(self._highest, serial)
        self._first.setdefault(serial, text)

    def digest_at(self, index: int) -> str:
        """Digest of the message at a path position."""
        text = self.digests[index]
        if text is None:
            shadow = self.shadows[index]
            text = digest(shadow if shadow is not None else self.known[index] or {})
            self.digests[index] = text
        return text

    def known_digest(self, serial: int) -> str:
        """The digest a serial was first seen with; a role letter alone if there is none."""
        return self._first.get(serial, "u")

    def register(self, view: Iterable[tuple[int, str]]) -> None:
        """Make the order of a sent view walkable, so that a host that feeds it back is recognised."""
        before = ROOT
        for serial, text in view:
            self.link(before, text, serial)
            before = serial

    def show(self, serial: int, text: str, number: int) -> None:
        """Remember that commit ``number`` left the message looking like this."""
        self._shown[serial, text] = number

    def baked(self, index: int) -> int:
        """Up to which commit the message at this position already carries its changes (0: none)."""
        if not self._shown:
            return 0
        serial, text = self.path[index], self.digest_at(index)
        if self._first.get(serial) == text:
            return 0
        return self._shown.get((serial, text), 0)

    # --- the walk

    def same(self, messages: object) -> int:
        """How many leading messages are the very objects of the last path; 0 for what is no sequence."""
        if not isinstance(messages, Sequence):
            return 0
        if all(map(is_, messages, self.known)):
            return min(len(messages), len(self.known))
        return list(map(is_, messages, self.known)).index(False)

    def observe(
        self,
        messages: Sequence[Message],
        last_view: Callable[[], Iterable[tuple[int, str]]] = tuple,
        longer_view: bool = False,
        same: int = 0,
    ) -> Observation:
        """Name the messages of a transcript. ``last_view`` is asked only if the walk leaves the last path, or if
        ``longer_view`` says that the last sent view goes on behind the path; ``same`` of the first messages are
        known to be the very objects of the last path.

        Nothing is changed until ``accept``, but for digests and edges that are true anyway.
        """
        size = len(self.path)
        keep, touched = self._common(messages, same)
        if keep == size and longer_view and len(messages) > size:
            shown = list(last_view())
            texts = [digest(message) for message in messages[keep:]]
            if keep < len(shown) and self._begins_with(shown, keep, texts):
                return self._fed_back(shown, messages, texts)
        if keep == size:
            # Only a tree with more than this path (branches, a resumed session) can know the new messages already.
            known = [digest(message) for message in messages[keep:]] if self._edges else None
            return Observation(keep, self._walk(messages, keep, {}, known), "append", touched, _frozen(known))
        self._link_path()
        shown = list(last_view())
        texts = [digest(message) for message in messages[keep:]]
        old = [self.digest_at(index) for index in range(keep, size)]
        if keep < len(shown) and self._begins_with(shown, keep, texts):
            return self._fed_back(shown, messages, texts)
        self.register(shown)
        carry, how = self._carry(keep, old, texts)
        return Observation(keep, self._walk(messages, keep, carry, texts), how, touched, _frozen(texts))

    def accept(
        self, seen: Observation, messages: Sequence[Message], shadows: Sequence[Message], same: int = 0
    ) -> None:
        """Make the observed transcript the last path; ``shadows`` are those of the messages behind ``seen.keep``."""
        keep = seen.keep
        if keep < len(self.path):
            self.path = self.path[:keep]
            self.known = self.known[:keep]
            self.shadows = self.shadows[:keep]
            self.digests = self.digests[:keep]
            self._linked = min(self._linked, keep)
            self.visible = min(self.visible, keep)
        if same < keep:
            self.known[:keep] = messages[:keep]
        for index in range(self.visible, keep) if self._bare else seen.touched:
            if self.shadows[index] is not None or self._bare:
                self.shadows[index] = structure(messages[index])
        self._bare = False
        self.path.extend(seen.serials)
        self.known.extend(messages[keep:])
        self.shadows.extend(shadows)
        self.digests.extend(seen.texts if seen.texts is not None else [None] * len(seen.serials))
        for serial in seen.serials:
            self.reserve(serial)

    def resume(self, keep: int, serials: Sequence[int], texts: Sequence[str]) -> None:
        """Replay a journal's run: the path as it was, known by digests alone."""
        self.path = [*self.path[:keep], *serials]
        self.digests = [*self.digests[:keep], *texts]
        self.known = [None] * len(self.path)
        self.shadows = [None] * len(self.path)
        self.visible = 0
        self._bare = True
        self._linked = min(self._linked, keep)
        self._link_path()
        for serial in serials:
            self.reserve(serial)

    def hide(self, upto: int) -> None:
        """Keep no shadow for the first ``upto`` messages (a splice covers them); their digests are taken first."""
        for index in range(self.visible, upto):
            self.digest_at(index)
            self.shadows[index] = None
        self.visible = max(self.visible, upto)

    def mark(self) -> Bookmark:
        """The present state, to go back to if a run comes to nothing."""
        lists = (self.path, self.known, self.shadows, self.digests)
        return Bookmark(lists, len(self.path), self.next, self.visible, self._bare)

    def reset(self, mark: Bookmark) -> None:
        """Forget what was accepted since the mark. Edges stay: they are true, and keep their serials in use."""
        self.path, self.known, self.shadows, self.digests = mark.lists
        for one in mark.lists:
            del one[mark.length :]
        self.visible, self._bare = mark.visible, mark.bare
        self._linked = min(self._linked, mark.length)
        self.next = max(mark.next, self._highest + 1)

    # --- parts

    def _common(self, messages: Sequence[Message], same: int) -> tuple[int, tuple[int, ...]]:
        """How many messages of the last path the list begins with; positions equal but for what does not count."""
        size, start = len(self.path), self.visible
        # What a splice covers has no shadow: the host's own object, or an equal one, will do there.
        if len(messages) >= size and (same >= start or messages[:start] == self.known[:start]):
            shown = messages[start:size] if start or len(messages) > size else messages
            if shown == (self.shadows[start:] if start else self.shadows):
                return size, ()
        touched: list[int] = []
        for index in range(min(size, len(messages))):
            message, shadow = messages[index], self.shadows[index]
            if shadow is not None and message == shadow:
                continue
            if shadow is None and message == self.known[index]:
                continue
            if digest(message) != self.digest_at(index):
                return index, tuple(touched)
            touched.append(index)
        return min(size, len(messages)), tuple(touched)

    def _begins_with(self, shown: list[tuple[int, str]], keep: int, texts: list[str]) -> bool:
        return len(shown) <= keep + len(texts) and all(
            text == (self.digest_at(index) if index < keep else texts[index - keep])
            for index, (_, text) in enumerate(shown)
        )

    def _fed_back(
        self, shown: list[tuple[int, str]], messages: Sequence[Message], texts: list[str]
    ) -> Observation:
        """The list begins with the last sent view: its messages keep the serials they have there."""
        keep = 0
        while keep < len(shown) and keep < len(self.path) and shown[keep][0] == self.path[keep]:
            keep += 1
        first = len(messages) - len(texts)
        keep = min(keep, first)
        whole = [text for _, text in shown[keep:]] + texts[len(shown) - first :]
        head = tuple(serial for serial, _ in shown[keep:])
        tail = self._walk(messages, len(shown), {}, whole[len(head) :], (*self.path[:keep], *head))
        return Observation(keep, (*head, *tail), "fed back", (), tuple(whole))

    def _link_path(self) -> None:
        before = self.path[self._linked - 1] if self._linked else ROOT
        for index in range(self._linked, len(self.path)):
            serial = self.path[index]
            self.link(before, self.digest_at(index), serial)
            before = serial
        self._linked = len(self.path)

    def _walk(
        self,
        messages: Sequence[Message],
        keep: int,
        carry: dict[int, int],
        texts: Sequence[str] | None,
        head: Sequence[int] | None = None,
    ) -> tuple[int, ...]:
        """Serials of the messages behind ``keep``; ``carry`` names those that keep theirs, ``head`` comes before."""
        fresh = self.next
        if texts is None:
            return tuple(range(fresh, fresh + len(messages) - keep))
        self._link_path()
        path = list(self.path[:keep] if head is None else head)
        used = set(path)
        before = path[-1] if path else ROOT
        for index, text in enumerate(texts, keep):
            turn = 0
            while (serial := self._edges.get((before, text, turn))) is not None and serial in used:
                turn += 1
            if serial is None:
                serial = carry.get(index)
                if serial is None or serial in used:
                    serial = fresh
                    fresh += 1
            path.append(serial)
            used.add(serial)
            before = serial
        return tuple(path[keep:])

    def _carry(self, keep: int, old: list[str], new: list[str]) -> tuple[dict[int, int], str]:
        """Which messages behind the first difference keep their serials, and what happened."""
        if old and new:
            heuristic = len(old) * len(new) > MANY
            matcher = SequenceMatcher(None, old, new, autojunk=heuristic)
            runs = [run for run in matcher.get_matching_blocks() if run.size]
            if runs and runs[-1].a + runs[-1].size == len(old) and sum(run.size for run in runs) >= 2:
                carry = {
                    keep + run.b + step: self.path[keep + run.a + step]
                    for run in runs
                    for step in range(run.size)
                }
                return carry, "changed in place"
            if len(old) == 1 and new[0] != old[0] and new[0].startswith(old[0]):
                return {keep: self.path[keep]}, "tip grew"
        return {}, "rewound"


def _frozen(texts: list[str] | None) -> tuple[str, ...] | None:
    return None if texts is None else tuple(texts)
