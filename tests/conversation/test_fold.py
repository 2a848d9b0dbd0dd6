"""The laws of ARCHITECTURE §3 over random histories, against a plain list on which each edit is carried out."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.conversation.edits import Commit, Edit, Insert, Mark, New, Rewrite, Splice, Spot
from trimtab.conversation.fold import ItemBuilder, Overlay, fold
from trimtab.conversation.items import Item, ItemMaker

MAKER = ItemMaker(lambda text: len(text), lambda block: 1600)
BROUGHT = 1000


def message(serial: int) -> dict[str, Any]:
    return {
        "role": "user",
        "content": [{"type": "text", "text": f"m{serial}"}, {"type": "text", "text": f"b{serial}"}],
    }


def path_of(size: int) -> list[Item]:
    return [MAKER.make(serial, message(serial))[0] for serial in range(1, size + 1)]


def shown(items: Sequence[Item]) -> list[tuple[int, Any]]:
    return [(item.serial, item.message["content"]) for item in items]


def folded(path: Sequence[Item], commits: Sequence[Commit]) -> list[Item]:
    return fold(path, Overlay.of(commits), ItemBuilder(MAKER))


class History:
    """Random commits over a path of ``size`` messages, and beside them the list as it should look."""

    def __init__(self, seed: random.Random, size: int) -> None:
        self.random = seed
        self.path = path_of(size)
        self.size = size
        self.commits: list[Commit] = []
        self.next = BROUGHT
        self.span = {serial: (serial, serial) for serial in range(1, size + 1)}
        self.trails: dict[int, int] = {}
        self.shown = [(item.serial, list(item.message["content"])) for item in self.path]

    def step(self) -> None:
        """One more commit, in the journal and on the plain list."""
        if not self.shown:
            return
        choice = self.random.choice("RRSSI")
        edit = self._rewrite() if choice == "R" else self._splice() if choice == "S" else self._insert()
        if edit is not None:
            self.commits.append(Commit(f"c{len(self.commits) + 1}", "test", 1, (edit,)))
            if isinstance(edit, Rewrite):
                self._redo(edit.spots[0].serial)

    def _new(self, count: int) -> tuple[New, ...]:
        out = tuple(New(self.next + step, message(self.next + step), "note") for step in range(count))
        self.next += count
        return out

    def _rewrite(self) -> Edit:
        serial, _ = self.random.choice(self.shown)
        block = self.random.randrange(2)
        what: Any = self.random.choice([{"text": f"w{len(self.commits)}"}, Mark.REMOVE, Mark.ORIGINAL])
        return Rewrite((Spot(serial, block),), what)

    def _redo(self, serial: int) -> None:
        state: dict[int, Any] = {}
        for commit in self.commits:
            for edit in commit.edits:
                if isinstance(edit, Rewrite) and edit.spots[0].serial == serial:
                    block = edit.spots[0].block
                    if edit.set is Mark.ORIGINAL:
                        state.pop(block, None)
                    else:
                        state[block] = edit.set
        source = message(serial)["content"]
        content = []
        for number, block_ in enumerate(source):
            change = state.get(number)
            if change is not Mark.REMOVE:
                content.append({**block_, **change} if change else block_)
        at = [index for index, (known, _) in enumerate(self.shown) if known == serial]
        for index in at:
            self.shown[index : index + 1] = [(serial, content)] if content else []

    def _splice(self) -> Edit | None:
        ends = [serial for serial, _ in self.shown if serial in self.span]
        if not ends:
            return None
        one, other = self.random.choice(ends), self.random.choice(ends)
        low = min(self.span[one][0], self.span[other][0])
        high = max(self.span[one][1], self.span[other][1])
        inside = [serial for serial, _ in self.shown if self._inside(serial, low, high)]
        items = self._new(self.random.randrange(3))
        for new in items:
            self.span[new.serial] = (low, high)
        out: list[tuple[int, Any]] = []
        placed = False
        for serial, content in self.shown:
            if serial in inside:
                if not placed:
                    out.extend((new.serial, list(new.message["content"])) for new in items)
                placed = True
            else:
                out.append((serial, content))
        self.shown = out
        return Splice(tuple(range(low, high + 1)), items)

    def _inside(self, serial: int, low: int, high: int) -> bool:
        if serial in self.span:
            return low <= self.span[serial][0] and self.span[serial][1] <= high
        return low <= self.trails[serial] <= high

    def _insert(self) -> Edit:
        serial, _ = self.random.choice(self.shown)
        base = self.span[serial][1] if serial in self.span else self.trails[serial]
        (new,) = self._new(1)
        self.trails[new.serial] = base
        last = max(
            index
            for index, (known, _) in enumerate(self.shown)
            if (known in self.span and self.span[known][0] <= base <= self.span[known][1])
            or (known in self.trails and self._same_home(self.trails[known], base, serial))
        )
        self.shown[last + 1 : last + 1] = [(new.serial, list(new.message["content"]))]
        return Insert(base, (new,))

    def _same_home(self, home: int, base: int, serial: int) -> bool:
        if home == base:
            return True
        span = self.span.get(serial)
        return span is not None and span[0] <= home <= span[1]


HISTORIES = st.tuples(st.randoms(use_true_random=False), st.integers(3, 24), st.integers(1, 12))


def play(plan: tuple[random.Random, int, int]) -> History:
    seed, size, steps = plan
    history = History(seed, size)
    for _ in range(steps):
        history.step()
    return history


@given(HISTORIES)
@settings(max_examples=150)
def test_a_fold_shows_what_carrying_out_each_edit_on_a_list_gives(
    plan: tuple[random.Random, int, int],
) -> None:
    seed, size, steps = plan
    history = History(seed, size)
    for _ in range(steps):
        history.step()
        assert shown(folded(history.path, history.commits)) == history.shown


@given(HISTORIES)
@settings(max_examples=60)
def test_equal_path_and_commits_give_equal_views(plan: tuple[random.Random, int, int]) -> None:
    history = play(plan)
    assert shown(folded(history.path, history.commits)) == shown(folded(history.path, history.commits))


@given(st.integers(0, 20))
@settings(max_examples=10)
def test_without_commits_the_view_is_the_transcripts_own_objects(size: int) -> None:
    path = path_of(size)
    assert all(one is other for one, other in zip(folded(path, []), path, strict=True))


@given(HISTORIES)
@settings(max_examples=60)
def test_appending_to_the_path_appends_to_the_view(plan: tuple[random.Random, int, int]) -> None:
    history = play(plan)
    tail = [MAKER.make(5000, message(5000))[0]]
    longer = folded([*history.path, *tail], history.commits)
    assert shown(longer) == shown([*folded(history.path, history.commits), *tail])


@given(HISTORIES, st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_undoing_everything_in_any_order_gives_the_transcript(
    plan: tuple[random.Random, int, int], order: random.Random
) -> None:
    history = play(plan)
    left = list(history.commits)
    while left:
        left.remove(order.choice(left))
        serials = [item.serial for item in folded(history.path, left)]
        assert len(serials) == len(set(serials))
    assert shown(folded(history.path, left)) == shown(history.path)


@given(HISTORIES)
@settings(max_examples=60)
def test_transcript_messages_never_change_places(plan: tuple[random.Random, int, int]) -> None:
    history = play(plan)
    kept = [item.serial for item in folded(history.path, history.commits) if item.serial < BROUGHT]
    assert kept == sorted(kept)


@given(HISTORIES)
@settings(max_examples=60)
def test_any_rewound_path_folds_without_messages_that_trail_lost_ones(
    plan: tuple[random.Random, int, int],
) -> None:
    history = play(plan)
    for size in range(history.size + 1):
        items = folded(history.path[:size], history.commits)
        assert all(item.serial <= size or item.serial >= BROUGHT for item in items)
        for item in items:
            if item.serial in history.trails:
                assert history.trails[item.serial] <= size


@given(HISTORIES)
@settings(max_examples=60)
def test_a_builder_that_remembers_gives_the_same_view_as_a_new_one(
    plan: tuple[random.Random, int, int],
) -> None:
    history = play(plan)
    builder = ItemBuilder(MAKER)
    for size in range(len(history.commits) + 1):
        overlay = Overlay.of(history.commits[:size])
        again = fold(history.path, overlay, builder)
        assert shown(again) == shown(folded(history.path, history.commits[:size]))
        for item in again:
            made, _ = MAKER.make(item.serial, item.message, item.origin)
            for name in ("role", "origin", "mask", "chars", "tokens", "total", "uses", "results", "names"):
                assert getattr(item, name) == getattr(made, name), name


def test_a_message_without_blocks_vanishes() -> None:
    path = path_of(2)
    edit = Rewrite((Spot(1, 0), Spot(1, 1)), Mark.REMOVE)
    assert [item.serial for item in folded(path, [Commit("c1", "t", 1, (edit,))])] == [2]


def test_a_field_set_to_null_is_deleted() -> None:
    path = path_of(1)
    edit = Rewrite((Spot(1, 0),), {"text": "x", "cache_control": None})
    assert folded(path, [Commit("c1", "t", 1, (edit,))])[0].message["content"][0] == {
        "type": "text",
        "text": "x",
    }


def test_a_rewrite_that_changes_nothing_keeps_the_message_object() -> None:
    path = path_of(1)
    edit = Rewrite((Spot(1, 0),), {"text": "m1"})
    assert folded(path, [Commit("c1", "t", 1, (edit,))])[0].message is path[0].message


def test_removed_blocks_keep_the_numbers_of_the_others() -> None:
    path = path_of(1)
    commit = Commit("c1", "t", 1, (Rewrite((Spot(1, 0),), Mark.REMOVE),))
    later = Commit("c2", "t", 2, (Rewrite((Spot(1, 1),), {"text": "new"}),))
    (item,) = folded(path, [commit, later])
    assert item.numbers == (1,)
    assert item.message["content"] == [{"type": "text", "text": "new"}]
