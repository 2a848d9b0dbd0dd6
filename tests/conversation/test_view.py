"""Turns, rounds, calls and sums of a view; the same in one go as after many appends."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import with_loose_ends

from trimtab.conversation.items import ItemMaker
from trimtab.conversation.view import View

MAKER = ItemMaker(lambda text: len(text), lambda block: 1600)


def view_of(messages: list[dict[str, Any]]) -> View:
    return View([MAKER.make(serial, message)[0] for serial, message in enumerate(messages, 1)])


def facts_of(view: View) -> tuple[Any, ...]:
    calls = [(call.id, call.name, call.use, call.result) for call in view.calls]
    return (
        calls,
        view.turn_of,
        view.round_of,
        view.turns,
        view.rounds,
        view.images,
        view.last_user,
        view.tokens,
    )


def use(*ids: str) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": i, "name": "Read", "input": {}} for i in ids],
    }


def results(*ids: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": i, "content": i} for i in ids]}


USER = {"role": "user", "content": "go"}


@given(with_loose_ends(), st.integers(1, 5))
@settings(max_examples=60)
def test_a_view_that_grew_says_the_same_as_one_made_at_once(
    messages: list[dict[str, Any]], step: int
) -> None:
    whole = view_of(messages)
    grown = View()
    for start in range(0, len(messages), step):
        grown.extend(whole.items[start : start + step])
        facts_of(grown)
    assert facts_of(grown) == facts_of(whole)
    for index in range(len(messages)):
        assert (
            grown.tokens_before(index) + whole.items[index].total + grown.tokens_after(index) == whole.tokens
        )


def test_ids_used_again_are_paired_by_occurrence() -> None:
    view = view_of([USER, use("x"), results("x"), USER, use("x"), results("x")])
    assert [call.result for call in view.calls] == [(2, 0), (5, 0)]
    assert view.call_of(5, 0) is view.calls[1]


def test_calls_of_the_newest_response_without_result_are_open() -> None:
    view = view_of([USER, use("a", "b"), results("a")])
    assert [call.id for call in view.open_calls] == ["b"]


def test_a_plain_user_message_ends_the_wait_for_results() -> None:
    assert view_of([USER, use("a"), USER]).open_calls == []


def test_rounds_count_responses_and_turns_count_the_users_messages() -> None:
    view = view_of([USER, use("a"), results("a"), use("b"), results("b"), USER])
    assert (view.rounds, view.turns) == (2, 2)
    assert view.round_of == [0, 1, 1, 2, 2, 2]
    assert view.turn_of == [0, 0, 0, 0, 0, 1]
