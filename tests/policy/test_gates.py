from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.policy.staging import FakeHistory, FakeScene, limits, user, view_of

from trimtab.facts import Facts
from trimtab.policy.conditions import condition
from trimtab.policy.errors import PolicyError
from trimtab.policy.gates import Best, breaker, breaker_state, possible


def state(raw: dict[str, Any], failures: int, last: float | None = None, **more: Any) -> tuple[bool, bool]:
    scene = FakeScene(history=FakeHistory(failed=(failures, last)), **more)
    found = breaker_state(breaker(raw), scene)
    return found.open, found.trial


def test_a_breaker_opens_after_so_many_failures_in_a_row() -> None:
    assert [state({"failures": 3}, count) for count in (0, 2, 3, 4)] == [
        (False, False),
        (False, False),
        (True, False),
        (True, False),
    ]


def test_a_stage_without_a_breaker_is_never_stopped() -> None:
    assert not breaker_state(None, FakeScene(history=FakeHistory(failed=(99, None)))).open


@pytest.mark.parametrize("event", ["manual", "overflow"])
def test_manual_and_overflow_runs_ignore_an_open_breaker(event: str) -> None:
    assert state({"failures": 3}, 3, event=event) == (False, True)


def test_a_run_in_which_unless_holds_ignores_an_open_breaker() -> None:
    raw = {"failures": 3, "unless": {"tokens": {"at_least": 900}}}
    assert state(raw, 3, tokens=900) == (False, True)
    assert state(raw, 3, tokens=899) == (True, False)


@pytest.mark.parametrize(
    ("now", "last", "wanted"),
    [
        (600.0, 0.0, (False, True)),
        (599.0, 0.0, (True, False)),
        (None, 0.0, (True, False)),
        (600.0, None, (True, False)),
        (0.0, 600.0, (True, False)),
    ],
)
def test_one_try_is_let_through_after_the_cool_down_if_both_times_are_known(
    now: float | None, last: float | None, wanted: tuple[bool, bool]
) -> None:
    assert state({"failures": 1, "cool_down_minutes": 10}, 1, last, facts=Facts(now=now)) == wanted


def test_the_state_says_why_it_is_open() -> None:
    scene = FakeScene(history=FakeHistory(failed=(3, 0.0)), facts=Facts(now=300))
    found = breaker_state(breaker({"failures": "1 + 1", "cool_down_minutes": 10}), scene)
    assert (found.failures, found.limit, found.note) == (3, 2, "5 of 10 minutes cooled down")


@pytest.mark.parametrize(
    ("raw", "where"),
    [
        ({}, ()),
        ({"failures": 0}, ("failures",)),
        ({"failures": 0.5}, ("failures",)),
        ({"failures": "x +"}, ("failures",)),
        ({"failures": 3, "cooldown": 1}, ("cooldown",)),
        ({"failures": 3, "unless": {"token": {"above": 1}}}, ("unless", "token")),
        (3, ()),
    ],
)
def test_a_breaker_that_cannot_be_read_is_refused_at_its_place(
    raw: Any, where: tuple[str | int, ...]
) -> None:
    with pytest.raises(PolicyError) as caught:
        breaker(raw)
    assert caught.value.where == where


@pytest.mark.parametrize(
    ("accept", "best", "wanted"),
    [
        ({"freed_tokens": {"at_least": 200}}, Best(tokens=200), True),
        ({"freed_tokens": {"at_least": 200}}, Best(tokens=199), False),
        ({"freed_tokens": {"above": 200}}, Best(tokens=200), False),
        ({"freed_share": {"at_least": 0.5}}, Best(tokens=499), False),
        ({"freed_share": {"at_least": 0.5}}, Best(tokens=500), True),
        ({"freed_bytes": {"at_least": 10}}, Best(bytes=9), False),
        ({"items": {"at_least": 10}}, Best(items=9), False),
        ({"items": {"at_least": 10}}, Best(), True),
        ({"tokens": {"below": 800}}, Best(tokens=200), False),
        ({"tokens": {"below": 801}}, Best(tokens=200), True),
        ({"message_tokens": {"at_most": 700}}, Best(tokens=199), False),
        ({"bytes": {"at_most": 4000}}, Best(bytes=999), False),
        ({"cache_loss_tokens": {"at_most": 0}}, Best(tokens=1), True),
        ({"messages": {"at_most": 0}}, Best(tokens=1), True),
        ({"measured": False}, Best(tokens=1), True),
        ({"event": ["manual"]}, Best(), False),
        ({"idle_minutes": {"at_least": 0}}, Best(), False),
        ({"overhead_tokens": {"at_most": 100}}, Best(), True),
        ({"overhead_tokens": {"above": 100}}, Best(), False),
        ({"any": [{"items": {"above": 9}}, {"freed_tokens": {"above": 9}}]}, Best(tokens=9, items=9), False),
        ({"any": [{"items": {"above": 9}}, {"freed_tokens": {"above": 8}}]}, Best(tokens=9, items=9), True),
        ({"none": [{"tokens": {"at_least": 500}}]}, Best(tokens=400), False),
        ({"none": [{"tokens": {"at_least": 500}}]}, Best(tokens=501), True),
        ({"none": [{"event": ["before_request"]}]}, Best(), False),
        ({"freed_tokens": {"at_least": "tokens / 2"}}, Best(tokens=1), True),
        ({"freed_tokens": {"at_least": "half"}}, Best(tokens=1), True),
        ({"freed_tokens": {"at_least": "fixed"}}, Best(tokens=1), False),
        ({}, Best(tokens=0), True),
    ],
)
def test_accept_is_impossible_only_if_the_best_case_fails_it(
    accept: dict[str, Any], best: Best, wanted: bool
) -> None:
    scene = FakeScene(view_of([user("go")]), limits=limits(half="tokens / 2", fixed="10"))
    assert possible(condition(accept, accept=True), scene, best) is wanted


def test_without_accept_everything_is_possible() -> None:
    assert possible(None, FakeScene(), Best(tokens=0))


COMPARED = st.dictionaries(
    st.sampled_from(["at_least", "above", "at_most", "below"]), st.integers(0, 1000), min_size=1, max_size=2
)
LEAVES = st.dictionaries(
    st.sampled_from(["freed_tokens", "freed_share", "items", "tokens", "message_tokens"]),
    COMPARED,
    min_size=1,
    max_size=2,
)
ACCEPTS = st.recursive(
    LEAVES,
    lambda inner: st.dictionaries(
        st.sampled_from(["any", "none"]), st.lists(inner, min_size=1, max_size=2), min_size=1, max_size=2
    ),
    max_leaves=4,
)


class After:
    def __init__(self, freed: float, items: int) -> None:
        self.freed_tokens = freed
        self.freed_bytes = 4 * freed
        self.freed_share = freed / 1000
        self.items = items
        self.cache_loss_tokens = 0
        self.thinking_loss = 0


@settings(max_examples=200, deadline=None)
@given(ACCEPTS, st.integers(0, 1000), st.integers(0, 20), st.data())
def test_no_proposal_within_the_best_case_is_accepted_where_accept_was_called_impossible(
    raw: dict[str, Any], tokens: int, items: int, data: st.DataObject
) -> None:
    accept = condition(raw, accept=True)
    if possible(accept, FakeScene(tokens=1000), Best(tokens=tokens, items=items)):
        return
    freed = data.draw(st.integers(0, tokens))
    after = FakeScene(tokens=1000 - freed, proposal=After(freed, data.draw(st.integers(0, items))))
    assert not accept.test(after).holds
