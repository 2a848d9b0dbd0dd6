from __future__ import annotations

from typing import Any

import pytest
from tests.policy.staging import FakeScene, calls, results, says, user, view_of

from trimtab.policy.selection import candidates, selector


def read(path: str, **lines: Any) -> tuple[str, dict[str, Any]]:
    return "Read", {"file_path": path, **lines}


def edit(path: str) -> tuple[str, dict[str, Any]]:
    return "Edit", {"file_path": path}


def superseded(*traffic: Any, by: tuple[str, ...] = ("read", "edit")) -> list[int]:
    """Numbers of the calls whose results are superseded; `None` behind a call (tool, input) fails it."""
    messages = [user("go")]
    number = 0
    for at, call in enumerate(traffic):
        if call is None:
            continue
        failed = at + 1 < len(traffic) and traffic[at + 1] is None
        messages += [calls((f"c{number}", *call)), results((f"c{number}", "text"), error=failed)]
        number += 1
    found = candidates(
        FakeScene(view_of(messages)), selector({"blocks": ["tool_result"], "superseded_by": list(by)})
    )
    return [(one.index - 2) // 2 for one in found.candidates]


def test_a_later_read_or_edit_of_the_same_path_supersedes() -> None:
    assert superseded(read("/a"), read("/b"), read("/a")) == [0]
    assert superseded(read("/a"), edit("/a")) == [0]
    assert superseded(edit("/a"), read("/a")) == [0]


def test_only_calls_of_the_named_categories_supersede() -> None:
    assert superseded(read("/a"), edit("/a"), by=("read",)) == []
    assert superseded(read("/a"), read("/a"), by=("edit",)) == []


def test_a_call_that_failed_or_has_no_result_supersedes_nothing() -> None:
    assert superseded(read("/a"), edit("/a"), None) == []
    open_call = [user("go"), calls(("1", *read("/a"))), results(("1", "x")), calls(("2", *read("/a")))]
    shown = FakeScene(view_of(open_call))
    assert (
        candidates(shown, selector({"blocks": ["tool_result"], "superseded_by": ["read"]})).candidates == []
    )


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        ({}, {"offset": 10, "limit": 5}, []),
        ({"offset": 10, "limit": 5}, {}, [0]),
        ({"offset": 10, "limit": 5}, {"offset": 10, "limit": 5}, [0]),
        ({"offset": 10, "limit": 5}, {"offset": 9, "limit": 5}, []),
        ({"offset": 10, "limit": 5}, {"offset": 9, "limit": 6}, [0]),
        ({"offset": 10}, {"offset": 9, "limit": 600}, []),
        ({}, {"offset": 1}, [0]),
        ({"offset": "10", "limit": "5"}, {"offset": 10, "limit": 5}, [0]),
        ({"offset": [1, 5]}, {"offset": 1, "limit": 5}, []),
        ({"offset": [1, 5]}, {}, [0]),
        ({}, {"offset": "?"}, []),
        ({"limit": 100}, {"limit": 200}, [0]),
        ({"limit": 200}, {"limit": 100}, []),
    ],
)
def test_a_read_supersedes_only_what_it_covers(
    before: dict[str, Any], after: dict[str, Any], wanted: list[int]
) -> None:
    assert superseded(read("/a", **before), read("/a", **after)) == wanted


def test_a_partial_read_is_superseded_by_an_edit_whatever_its_lines() -> None:
    assert superseded(read("/a", offset=10, limit=5), edit("/a")) == [0]


def repeated(*traffic: tuple[str, dict[str, Any]], wanted: bool = True) -> list[int]:
    messages = [user("go")]
    for at, call in enumerate(traffic):
        messages += [calls((f"c{at}", *call)), results((f"c{at}", "text"))]
    found = candidates(
        FakeScene(view_of(messages)), selector({"blocks": ["tool_result"], "repeated": wanted})
    )
    return [(one.index - 2) // 2 for one in found.candidates]


def test_a_call_is_repeated_by_a_later_one_with_the_same_input_in_any_key_order() -> None:
    one = ("Bash", {"command": "ls", "timeout": 5})
    assert repeated(
        one, ("Bash", {"timeout": 5, "command": "ls"}), ("Bash", {"command": "pw", "timeout": 5})
    ) == [0]
    assert repeated(one, ("Grep", {"command": "ls", "timeout": 5})) == []
    assert repeated(one, one, one) == [0, 1]
    assert repeated(one, one, wanted=False) == [1]


def test_a_repetition_that_has_no_result_yet_does_not_count() -> None:
    messages = [
        user("go"),
        calls(("1", "Bash", {"a": "b"})),
        results(("1", "x")),
        calls(("2", "Bash", {"a": "b"})),
    ]
    shown = FakeScene(view_of(messages))
    assert candidates(shown, selector({"blocks": ["tool_result"], "repeated": True})).candidates == []


def concluding(messages: list[dict[str, Any]]) -> list[int]:
    return [
        one.index
        for one in candidates(FakeScene(view_of(messages)), selector({"concluding": True})).candidates
    ]


def test_the_newest_turn_is_concluded_only_by_an_answer_without_calls() -> None:
    open_turn = [user("a"), says("x"), user("b"), calls(("1", "Bash", {}))]
    assert concluding(open_turn) == [1]
    assert concluding([*open_turn, results(("1", "x")), says("y")]) == [1, 5]


def test_an_earlier_turn_is_concluded_by_whatever_the_assistant_said_last() -> None:
    broken_off = [user("a"), says("x"), calls(("1", "Bash", {})), results(("1", "x")), user("b")]
    assert concluding(broken_off) == [2]
