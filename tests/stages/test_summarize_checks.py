"""The gate's checks one by one, and what a writer was not shown."""

from __future__ import annotations

import math
from typing import Any

import pytest
from tests.scenes import Session, says, stage_of, user

from trimtab.effects import Reply
from trimtab.stages._checks import checks
from trimtab.stages._expects import Refused
from trimtab.stages._left_out import LeftOut


def looked_at(
    raw: dict[str, Any], text: str, stop: str = "end_turn", room: float = math.inf
) -> dict[str, bool]:
    """Each check by its name, and whether it holds; the gate agrees with them about the whole."""
    scene = Session([user("hello"), says("hello")]).scene()
    keys = {"expects": raw} if raw else {}
    stage: Any = stage_of({"kind": "summarize", "prompt": "Sum it up.", **keys}).params
    expects = stage.writer.expects
    reply = Reply(text, stop)
    found = checks(expects, reply, room, lambda one, said, most: one.judge(said, scene, most))
    judged = expects.judge(reply, scene, room)
    assert isinstance(judged, str) == all(one.holds for one in found)
    assert all((one.detail is None) == one.holds for one in found)
    if isinstance(judged, Refused):
        assert judged.message in [one.detail for one in found] or "stopped with" in judged.message
    return {one.name: one.holds for one in found}


ALL = {
    "extract": "s",
    "strip": ["t"],
    "sections": ["Goal", "Next"],
    "missing": 1,
    "min_chars": 5,
    "max_tokens": 20,
}


def test_every_expectation_is_a_check_of_its_own() -> None:
    assert looked_at(ALL, "<t>x</t><s>Goal: a\nNext: b</s>", room=50) == {
        "the answer is finished": True,
        "a text is there": True,
        "tags are closed": True,
        "no tool call": True,
        "no refusal": True,
        "sections are there": True,
        "long enough": True,
        "short enough": True,
        "smaller than its source": True,
    }


def test_all_that_fails_is_told_and_not_only_the_first() -> None:
    found = looked_at(
        {**ALL, "min_chars": 500, "max_tokens": 2}, "<s>one two three four five six seven</s>", room=3
    )
    assert [name for name, holds in found.items() if not holds] == [
        "sections are there",
        "long enough",
        "short enough",
        "smaller than its source",
    ]


def test_a_forgiven_section_is_forgiven() -> None:
    assert looked_at(ALL, "<s>Goal: everything</s>")["sections are there"]


@pytest.mark.parametrize(
    ("text", "failing"),
    [
        ("", "a text is there"),
        ("<t>only thoughts</t>", "a usable text"),
        ("<s>never closed", "tags are closed"),
        ("no tags", "a usable text"),
        ("<s><function_calls>x</function_calls></s>", "no tool call"),
    ],
)
def test_what_is_no_text_at_all_is_judged_no_further(text: str, failing: str) -> None:
    found = looked_at({"extract": "s", "strip": ["t"]}, text)
    assert found.pop("the answer is finished")
    assert found in ({failing: False}, {"a text is there": False})


def test_an_unfinished_answer_is_looked_at_all_the_same() -> None:
    found = looked_at({}, "half of it", stop="max_tokens")
    assert [name for name, holds in found.items() if not holds] == ["the answer is finished"]


# --- what a writer was not shown


def test_nothing_left_out_is_not_mentioned() -> None:
    assert LeftOut().words == ""
    assert LeftOut().told("text") == "text"
    assert LeftOut().remarks == {}


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (LeftOut((5,), (2,), total=9), "message 2 of the 9 it stands for"),
        (LeftOut((4, 5, 6, 9), (1, 2, 3, 6), total=9), "messages 1–3, 6 of the 9 it stands for"),
        (LeftOut(emptied=1), "the contents of 1 tool result"),
        (LeftOut(shortened=(3,)), "parts of 1 message"),
        (
            LeftOut((5,), (2,), (6, 7), 3, 9),
            "message 2 of the 9 it stands for; the contents of 3 tool results; parts of 2 messages",
        ),
    ],
)
def test_what_was_left_out_is_named_in_one_line(shown: LeftOut, words: str) -> None:
    assert shown.words == f"[Not read for this text, for want of room: {words}.]"
    assert shown.told("text") == f"{shown.words}\n\ntext"
