from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.policy.staging import FakeScene, calls, limits, results, says, user, view_of

from trimtab.policy.errors import PolicyError
from trimtab.policy.evaluation import NoValue
from trimtab.policy.measures import Candidate, keep
from trimtab.policy.narrowing import fit, joined, keep_range, narrow, run_start, size_of_view
from trimtab.policy.selection import candidates, selector


def session(turns: int = 3) -> tuple[FakeScene, bytearray]:
    """Turns of four messages each, and their legal cuts: not between a call and its result."""
    messages: list[dict[str, Any]] = []
    for turn in range(turns):
        messages += [user("q"), calls((f"c{turn}", "Bash", {})), results((f"c{turn}", "x" * 400)), says("a")]
    cuts = bytearray(b"\x01" * (len(messages) + 1))
    for turn in range(turns):
        cuts[4 * turn + 2] = 0
    return FakeScene(view_of(messages)), cuts


def range_of(raw: Any, cut_at: str = "rounds", turns: int = 3) -> tuple[int, int]:
    scene, cuts = session(turns)
    found = keep_range(scene, keep(raw) if raw else (), cut_at, cuts)
    return found.start, found.stop


@pytest.mark.parametrize(
    ("raw", "cut_at", "wanted"),
    [
        (None, "rounds", (0, 12)),
        ({"newest": {"turns": 1}}, "rounds", (0, 8)),
        ({"newest": {"turns": 2}}, "rounds", (0, 4)),
        ({"oldest": {"turns": 1}, "newest": {"turns": 1}}, "rounds", (4, 8)),
        ({"newest": {"messages": 1}}, "rounds", (0, 11)),
        # a walk of two messages ends between call and result; three would break the bound, so one is kept
        ({"newest": {"messages": 2}}, "rounds", (0, 11)),
        ({"newest": {"messages": {"at_least": 2}}}, "rounds", (0, 9)),
        ({"newest": {"messages": {"at_least": 2, "at_most": 3}}}, "rounds", (0, 9)),
        ({"newest": {"messages": {"at_least": 1}}}, "turns", (0, 8)),
        ({"newest": {"messages": {"at_least": 1, "at_most": 3}}}, "turns", (0, 12)),
        ({"newest": {"messages": {"at_most": 6}}}, "turns", (0, 8)),
        ({"newest": {"chars": {"at_least": 1}}}, "rounds", (0, 11)),
        ({"newest": {"chars": {"at_least": 2}}}, "rounds", (0, 9)),
        ({"oldest": {"messages": 2}}, "rounds", (1, 12)),
        ({"oldest": {"messages": {"at_least": 2}}}, "rounds", (3, 12)),
        ({"newest": {"turns": "unlimited"}}, "rounds", (0, 0)),
        ([{"newest": {"turns": 1}}, {"newest": {"messages": 1}}], "rounds", (0, 8)),
        ({"newest": {"turns": 2}, "oldest": {"turns": 2}}, "rounds", (8, 8)),
    ],
)
def test_a_range_is_the_view_without_its_kept_ends_at_legal_cuts(
    raw: Any, cut_at: str, wanted: tuple[int, int]
) -> None:
    assert range_of(raw, cut_at) == wanted


def test_a_range_says_what_held_it() -> None:
    scene, cuts = session()
    found = keep_range(scene, keep({"newest": {"turns": 3}, "oldest": {"messages": 1}}), "rounds", cuts)
    assert found.empty
    assert found.held_by == ("keep.oldest: messages at_least", "keep.newest: turns at_least")


def test_a_range_without_keeps_still_ends_before_an_open_round() -> None:
    scene, cuts = session()
    cuts[12] = cuts[11] = 0
    found = keep_range(scene, (), "rounds", cuts)
    assert (found.start, found.stop) == (0, 9)
    assert found.held_by == ("the open round",)


def test_an_open_round_stays_even_where_a_bound_forbids_to_keep_it() -> None:
    scene, cuts = session()
    cuts[12] = cuts[11] = cuts[10] = 0
    found = keep_range(scene, keep({"newest": {"messages": 1}}), "rounds", cuts)
    assert (found.start, found.stop) == (0, 9)


def test_nothing_is_a_range_where_no_cut_is_legal() -> None:
    scene, cuts = session()
    assert keep_range(scene, (), "rounds", bytearray(len(cuts))).empty
    assert keep_range(FakeScene(), (), "rounds", bytearray(b"\x01")).empty


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_ends_of_a_range_are_legal_and_keep_no_more_than_the_bound_where_less_can_be_kept(
    data: st.DataObject,
) -> None:
    scene, cuts = session(4)
    for at in range(1, len(cuts) - 1):
        cuts[at] = data.draw(st.integers(0, 1))
    most = data.draw(st.integers(0, 16))
    least = data.draw(st.integers(0, 16))
    found = keep_range(
        scene, keep({"newest": {"items": {"at_least": least, "at_most": most}}}), "rounds", cuts
    )
    assert cuts[found.start]
    assert cuts[found.stop]
    assert len(cuts) - 1 - found.stop <= most
    # no legal cut between what was wanted and what was taken
    wanted = len(cuts) - 1 - min(least, most)
    between = range(min(found.stop, wanted) + 1, max(found.stop, wanted))
    if found.stop <= wanted:
        assert not any(cuts[at] for at in between)


# --- order and fit


def results_of(*sizes: int, apart: bool = True) -> tuple[FakeScene, list[Candidate]]:
    """One result of each size (chars), each in a message of its own or all in one."""
    uses = [(f"c{at}", "Bash", {}) for at in range(len(sizes))]
    answers = [(f"c{at}", "x" * size) for at, size in enumerate(sizes)]
    messages = [user("go"), calls(*uses)]
    messages += [results(one) for one in answers] if apart else [results(*answers)]
    scene = FakeScene(view_of(messages))
    return scene, candidates(scene, selector({"blocks": ["tool_result"]})).candidates


def taken(
    scene: FakeScene, found: list[Candidate], order: str, raw: dict[str, Any] | None, **more: Any
) -> list[int]:
    arguments: dict[str, Any] = {
        "figure": size_of_view(scene, "chars"),
        "size": lambda one: one.chars,
        "gain": lambda one: one.chars,
        "lookup": scene.name,
        "items": scene.view.items,
        **more,
    }
    return [one.chars for one in narrow(found, order, fit(raw) if raw else None, **arguments).taken]


def test_without_a_fit_all_are_taken() -> None:
    scene, found = results_of(1, 2, 3)
    assert taken(scene, found, "newest", None) == [1, 2, 3]


@pytest.mark.parametrize(
    ("order", "limit", "wanted"),
    [
        ("oldest", 25, [10, 30]),
        ("oldest", 24, [10, 30, 5]),
        ("newest", 45, [20]),
        ("newest", 44, [5, 20]),
        ("largest", 40, [30]),
        ("largest", 65, []),
        ("largest", 0, [10, 30, 5, 20]),
    ],
)
def test_as_many_are_taken_in_order_as_the_view_needs(order: str, limit: int, wanted: list[int]) -> None:
    scene, found = results_of(10, 30, 5, 20)
    assert taken(scene, found, order, {"per": "view", "chars": limit}, figure=65) == wanted


def test_only_the_largest_of_three_is_taken_where_that_is_enough() -> None:
    scene, found = results_of(120_000, 90_000, 20_000, apart=False)
    raw = {"per": "message", "chars": 200_000}
    assert taken(scene, found, "largest", raw, gain=lambda one: one.chars - 2500) == [120_000]


def test_neighbouring_messages_of_one_role_are_fitted_as_the_one_the_api_makes_of_them() -> None:
    scene, found = results_of(120, 90, 20)
    assert taken(scene, found, "largest", {"per": "message", "chars": 110}) == [120]
    assert taken(scene, found, "oldest", {"per": "message", "chars": 109}) == [120, 90]


def test_each_message_of_the_api_is_fitted_by_itself() -> None:
    messages = [user("go")]
    for name, size in (("a", 60), ("b", 90)):
        messages += [calls((f"{name}0", "Bash", {}), (f"{name}1", "Bash", {}))]
        messages += [results((f"{name}{at}", "x" * size)) for at in range(2)]
    scene = FakeScene(view_of(messages))
    found = candidates(scene, selector({"blocks": ["tool_result"]})).candidates
    assert taken(scene, found, "newest", {"per": "message", "chars": 120}) == [90]


def test_what_stays_counts_to_its_message_and_is_not_taken() -> None:
    scene, found = results_of(120, 90, 20)
    fitting = {"per": "message", "chars": 200}
    assert taken(scene, found[1:], "largest", fitting) == []
    assert taken(scene, found[1:], "largest", fitting, staying=found[:1]) == [90]
    scene, found = results_of(120, 90, 20, apart=False)
    assert taken(scene, found[1:], "oldest", fitting, staying=found[:1]) == [90]


def test_a_choice_tells_what_of_it_stays_where_that_is_asked_for() -> None:
    scene, _ = results_of(10, 30, 20)
    guard = SimpleNamespace(block=lambda index, block: index == 2)
    select, spared = selector({"blocks": ["tool_result"]}), keep({"newest": {"items": 1}})
    chosen = candidates(scene, select, guard, spared, staying=True)
    assert [one.chars for one in chosen.candidates] == [30]
    assert [one.chars for one in chosen.staying] == [10, 20]
    assert candidates(scene, select, guard, spared).staying == []


@given(st.lists(st.sampled_from(["user", "assistant", "system"]), min_size=1, max_size=12), st.data())
def test_runs_of_one_role_are_found_from_any_choice_of_messages(
    roles: list[str], data: st.DataObject
) -> None:
    view = view_of([{"role": role, "content": "x"} for role in roles])
    chosen = sorted(data.draw(st.sets(st.integers(0, len(roles) - 1))))
    found = joined(view.items, chosen)
    assert list(found) == chosen
    for index, start in found.items():
        assert start == run_start(view.items, index)
        assert set(roles[start : index + 1]) == {roles[index]}
        assert start == 0 or roles[start - 1] != roles[index]


def test_one_that_frees_nothing_is_passed_over() -> None:
    scene, found = results_of(10, 30, 20)
    fitting = {"per": "view", "chars": 35}
    assert taken(scene, found, "oldest", fitting, figure=60, gain=lambda one: one.chars - 10) == [30, 20]


def test_it_says_whether_what_was_taken_is_enough() -> None:
    scene, found = results_of(10, 30)
    arguments: dict[str, Any] = {"figure": 100, "size": lambda one: one.chars, "gain": lambda one: one.chars}
    enough = fit({"per": "view", "chars": 60})
    too_little = fit({"per": "view", "chars": 59})
    assert narrow(found, "oldest", enough, lookup=scene.name, items=scene.view.items, **arguments).fits
    assert not narrow(
        found, "oldest", too_little, lookup=scene.name, items=scene.view.items, **arguments
    ).fits


def test_a_target_without_a_value_fails() -> None:
    scene, found = results_of(10)
    scene.limits = limits(target="turns - 5")
    with pytest.raises(NoValue):
        taken(scene, found, "oldest", {"per": "view", "tokens": "target"})


def test_the_view_is_measured_in_the_unit_of_the_fit() -> None:
    scene, _ = results_of(10)
    assert (size_of_view(scene, "tokens"), size_of_view(scene, "bytes")) == (scene.tokens, scene.bytes)
    assert size_of_view(scene, "chars") == len("go") + sum(scene.view.items[1].chars) + 10


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=8),
    st.integers(0, 400),
    st.sampled_from(["oldest", "newest", "largest"]),
)
def test_what_is_taken_is_the_shortest_prefix_that_fits(sizes: list[int], limit: int, order: str) -> None:
    scene, found = results_of(*sizes)
    ordered = {"oldest": found, "newest": found[::-1], "largest": sorted(found, key=lambda one: -one.chars)}[
        order
    ]
    total = sum(sizes)
    outcome = narrow(
        found,
        order,
        fit({"per": "view", "chars": limit}),
        figure=total,
        size=lambda one: one.chars,
        gain=lambda one: one.chars,
        lookup=scene.name,
        items=scene.view.items,
    )
    count = len(outcome.taken)
    assert {id(one) for one in outcome.taken} == {id(one) for one in ordered[:count]}
    left = [total - sum(one.chars for one in ordered[:number]) for number in range(len(found) + 1)]
    enough = [number for number, size in enumerate(left) if size <= limit]
    assert count == (min(enough) if enough else len(found))
    assert outcome.fits is bool(enough)
    assert [one.index for one in outcome.taken] == sorted(one.index for one in outcome.taken)


@pytest.mark.parametrize(
    ("raw", "where"),
    [
        ({"tokens": 5}, ()),
        ({"per": "turn", "tokens": 5}, ("per",)),
        ({"per": "view"}, ()),
        ({"per": "view", "tokens": 1, "chars": 2}, ()),
        ({"per": "view", "lines": 1}, ("lines",)),
        ({"per": "view", "tokens": "1 +"}, ("tokens",)),
        (5, ()),
    ],
)
def test_what_cannot_be_read_is_refused_at_its_place(raw: Any, where: tuple[str | int, ...]) -> None:
    with pytest.raises(PolicyError) as caught:
        fit(raw)
    assert caught.value.where == where


def test_the_quantity_of_a_fit_is_listed() -> None:
    (found,) = fit({"per": "view", "tokens": "target"}).references()
    assert (found.where, found.value.names) == (("tokens",), {"target"})
    assert fit({"per": "view", "tokens": "unlimited"}).limit.constant == math.inf
