from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.policy.staging import FakeScene, calls, limits, results, says, user, view_of

from trimtab.policy.errors import PolicyError
from trimtab.policy.evaluation import NoValue
from trimtab.policy.measures import ViewEntries, keep, kept, walk
from trimtab.policy.selection import Chosen, candidates, selector


def session(
    turns: int = 3, rounds: int = 2, chars: int = 400, tools: tuple[str, ...] = ("Read", "Bash")
) -> FakeScene:
    messages: list[dict[str, Any]] = []
    for turn in range(turns):
        messages.append(user(f"question {turn}"))
        for at in range(rounds):
            id = f"{turn}-{at}"
            messages.append(calls((id, tools[at % len(tools)], {"file_path": f"/{id}"})))
            messages.append(results((id, "x" * chars)))
        messages.append(says("answer"))
    return FakeScene(view_of(messages))


def chosen(scene: FakeScene, raw_keep: Any, select: dict[str, Any] | None = None) -> Chosen:
    wanted = {"blocks": ["tool_result"]} if select is None else select
    return candidates(scene, selector(wanted), None, keep(raw_keep))


def spared(scene: FakeScene, raw_keep: Any) -> list[int]:
    """Positions of the spared among the six results of a session."""
    everything = candidates(scene, selector({"blocks": ["tool_result"]})).candidates
    marks = kept(scene, keep(raw_keep), everything).spared
    return [at for at, mark in enumerate(marks) if mark]


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        ({"newest": {"items": 2}}, [4, 5]),
        ({"oldest": {"items": 2}}, [0, 1]),
        ({"oldest": {"items": 1}, "newest": {"items": 1}}, [0, 5]),
        ({"newest": {"items": 0}}, []),
        ({"newest": {"items": 2.9}}, [4, 5]),
        ({"newest": {"items": "unlimited"}}, [0, 1, 2, 3, 4, 5]),
        ({"newest": {"items": 99}}, [0, 1, 2, 3, 4, 5]),
        ({"newest": {"messages": 2}}, [4, 5]),
        ({"newest": {"turns": 1}}, [4, 5]),
        ({"newest": {"turns": 2}}, [2, 3, 4, 5]),
        ({"oldest": {"turns": 1}}, [0, 1]),
        ({"newest": {"rounds": 3}}, [3, 4, 5]),
        ({"newest": {"rounds": {"at_least": 1}}}, [5]),
        ({"newest": {"chars": {"at_most": 1000}}}, [4, 5]),
        ({"newest": {"chars": {"at_least": 401}}}, [4, 5]),
        ({"newest": {"chars": {"at_least": 400}}}, [5]),
        ({"newest": {"chars": {"at_most": 399}}}, []),
        ({"newest": {"tokens": {"at_least": 0}}}, []),
        ({"newest": {"chars": {"at_least": 401, "at_most": 799}}}, [5]),
        ({"newest": {"chars": {"at_least": 400}, "items": {"at_least": 3}}}, [3, 4, 5]),
        ({"newest": {"chars": {"at_most": 900}, "items": {"at_least": 3}}}, [4, 5]),
        ([{"newest": {"items": 1}}, {"newest": {"turns": 1}}], [4, 5]),
        ([{"newest": {"items": 1}}, {"oldest": {"items": 1}}], [0, 5]),
        ({"newest": {"items": 1}, "per": "tool"}, [4, 5]),
        ({"oldest": {"items": 1}, "per": "tool"}, [0, 1]),
        ({"newest": {"items": 2}, "per": "block"}, [4, 5]),
    ],
)
def test_a_keep_spares_exactly_what_its_measure_says(raw: Any, wanted: list[int]) -> None:
    assert spared(session(), raw) == wanted


def test_each_tool_is_counted_by_itself() -> None:
    scene = session(turns=1, rounds=5, tools=("Read", "Read", "Bash"))
    assert spared(scene, {"newest": {"items": 1}, "per": "tool"}) == [2, 4]


def test_each_block_type_is_counted_by_itself() -> None:
    scene = session(turns=1, rounds=3)
    both = chosen(scene, {"newest": {"items": 1}, "per": "block"}, {"blocks": ["tool_use", "tool_result"]})
    assert [(one.index, one.block) for one in both.candidates] == [(1, 0), (2, 0), (3, 0), (4, 0)]


def test_text_messages_are_those_with_words_of_a_user_or_assistant() -> None:
    scene = session(turns=2)
    found = chosen(scene, {"newest": {"text_messages": 2}}, {})
    kept_from = len(scene.view.items) - found.spared
    assert kept_from == 6
    assert [item.serial for item in scene.view.items[kept_from:] if item.mask == 1] == [7, 12]


def test_a_keep_works_out_its_expressions() -> None:
    scene = session()
    scene.limits = limits(few="turns - 1")
    assert spared(scene, {"newest": {"items": "few"}}) == [4, 5]
    with pytest.raises(NoValue):
        spared(scene, {"newest": {"items": "few - 9"}})


def test_a_budget_leaves_an_edge_that_may_be_shown_in_part() -> None:
    scene = session()
    found = chosen(scene, {"newest": {"chars": {"at_most": 1000}}, "oldest": {"chars": {"at_most": 500}}})
    oldest, newest = found.edges
    assert (oldest.newest, oldest.candidate.index, dict(oldest.room)) == (False, 4, {"chars": 100})
    assert (newest.newest, newest.candidate.index, dict(newest.room)) == (True, 10, {"chars": 200})
    assert [one.index for one in found.candidates] == [4, 8, 10]


def test_a_bound_on_items_leaves_no_edge() -> None:
    assert chosen(session(), {"newest": {"items": 2, "chars": {"at_most": 9999}}}).edges == ()


@pytest.mark.parametrize(
    ("raw", "where"),
    [
        ({}, ()),
        ([], ()),
        ("all", ()),
        ({"newest": {}}, ("newest",)),
        ({"newest": 5}, ("newest",)),
        ({"latest": {"items": 1}}, ("latest",)),
        ({"newest": {"item": 1}}, ("newest", "item")),
        ({"newest": {"tokens": 500}}, ("newest", "tokens")),
        ({"newest": {"items": {"above": 1}}}, ("newest", "items", "above")),
        ({"newest": {"items": {}}}, ("newest", "items")),
        ({"newest": {"items": "5 +"}}, ("newest", "items")),
        ({"newest": {"items": 1}, "per": "turn"}, ("per",)),
        ([{"newest": {"items": 1}}, {"newest": {"items": -1}}], (1, "newest", "items")),
    ],
)
def test_what_cannot_be_read_is_refused_at_its_place(raw: Any, where: tuple[str | int, ...]) -> None:
    with pytest.raises(PolicyError) as caught:
        keep(raw)
    assert caught.value.where == where


def test_every_quantity_is_listed_with_its_place() -> None:
    (read,) = keep({"newest": {"items": "n", "tokens": {"at_most": 5, "at_least": "m"}}})
    assert {one.where for one in read.references()} == {
        ("newest", "items"),
        ("newest", "tokens", "at_most"),
        ("newest", "tokens", "at_least"),
    }


# --- against a slow reference: try every length and take the one the words of the language describe

GROUPS = ("messages", "rounds", "turns")


def amount(scene: FakeScene, unit: str, taken: list[int], whole: bool) -> float:
    view = scene.view
    if unit == "items":
        return len(taken)
    if unit == "tokens":
        return sum(view.items[at].total for at in taken)
    if unit == "chars":
        return sum(sum(view.items[at].chars) for at in taken)
    group_of = {"messages": list(range(len(view.items))), "rounds": view.round_of, "turns": view.turn_of}[
        unit
    ]
    groups = {group_of[at] for at in taken}
    if whole:
        inside = set(taken)
        groups = {g for g in groups if all(at in inside for at, own in enumerate(group_of) if own == g)}
    return len(groups)


def reference(scene: FakeScene, measure: dict[str, dict[str, int]], newest: bool) -> int:
    length = len(scene.view.items)
    minima = {unit: bounds["at_least"] for unit, bounds in measure.items() if "at_least" in bounds}
    for count in range(length + 1):
        taken = list(range(length - count, length)) if newest else list(range(count))
        if minima and all(amount(scene, unit, taken, True) >= least for unit, least in minima.items()):
            return count
        following = list(range(length - count - 1, length)) if newest else list(range(count + 1))
        if count == length or any(
            "at_most" in bounds and amount(scene, unit, following, False) > bounds["at_most"]
            for unit, bounds in measure.items()
        ):
            return count
    raise AssertionError


UNITS = st.sampled_from(["items", "tokens", "chars", *GROUPS])
BOUNDS = st.fixed_dictionaries(
    {}, optional={"at_least": st.integers(0, 400), "at_most": st.integers(0, 600)}
).filter(bool)
SMALL = st.fixed_dictionaries(
    {}, optional={"at_least": st.integers(0, 6), "at_most": st.integers(0, 8)}
).filter(bool)


@st.composite
def measures(draw: st.DrawFn) -> dict[str, dict[str, int]]:
    units = draw(st.lists(UNITS, min_size=1, max_size=3, unique=True))
    return {unit: draw(BOUNDS if unit in ("tokens", "chars") else SMALL) for unit in units}


@st.composite
def scenes(draw: st.DrawFn) -> FakeScene:
    messages: list[dict[str, Any]] = []
    for at, kind in enumerate(draw(st.lists(st.sampled_from("uacr"), max_size=14))):
        text = "x" * draw(st.integers(0, 300))
        if kind == "u":
            messages.append(user(text))
        elif kind == "a":
            messages.append(says(text))
        elif kind == "c":
            messages.append(calls((f"c{at}", "Bash", {"command": text})))
        else:
            messages.append(results((f"c{at - 1}", text)))
    return FakeScene(view_of(messages))


@settings(max_examples=150, deadline=None)
@given(scenes(), measures(), st.booleans())
def test_a_walk_ends_where_a_slow_reference_ends(
    scene: FakeScene, raw: dict[str, dict[str, int]], newest: bool
) -> None:
    (read,) = keep({"newest": raw})
    assert read.newest is not None
    assert walk(read.newest, ViewEntries(scene), newest, scene.name).count == reference(scene, raw, newest)


@settings(max_examples=100, deadline=None)
@given(scenes(), measures(), st.data())
def test_what_is_kept_never_shrinks_when_a_number_grows(
    scene: FakeScene, raw: dict[str, dict[str, int]], data: st.DataObject
) -> None:
    unit = data.draw(st.sampled_from(sorted(raw)))
    word = data.draw(st.sampled_from(sorted(raw[unit])))
    more = {**raw, unit: {**raw[unit], word: raw[unit][word] + data.draw(st.integers(0, 50))}}
    assert found_by(scene, raw) <= found_by(scene, more)


def found_by(scene: FakeScene, raw: dict[str, dict[str, int]]) -> int:
    (read,) = keep({"newest": raw})
    assert read.newest is not None
    return walk(read.newest, ViewEntries(scene), True, scene.name).count


@settings(max_examples=60, deadline=None)
@given(scenes(), measures(), st.booleans())
def test_what_is_kept_is_one_piece_at_its_end(
    scene: FakeScene, raw: dict[str, dict[str, int]], newest: bool
) -> None:
    found = candidates(scene, selector({}), None, keep({"newest" if newest else "oldest": raw}))
    left = [one.index for one in found.candidates]
    assert left == (list(range(len(left))) if newest else list(range(found.spared, len(scene.view.items))))


@settings(max_examples=40, deadline=None)
@given(scenes(), st.integers(0, 6), st.sampled_from(["items", "messages", "rounds", "turns"]))
def test_a_plain_number_keeps_exactly_so_many_whole_ones_where_there_are_enough(
    scene: FakeScene, number: int, unit: str
) -> None:
    (read,) = keep({"newest": {unit: number}})
    assert read.newest is not None
    count = walk(read.newest, ViewEntries(scene), True, scene.name).count
    length = len(scene.view.items)
    taken = list(range(length - count, length))
    there = amount(scene, unit, list(range(length)), True)
    assert amount(scene, unit, taken, True) == amount(scene, unit, taken, False) == min(number, there)
