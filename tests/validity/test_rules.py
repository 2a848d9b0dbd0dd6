"""What single rules say, where the laws and the faults do not reach."""

from __future__ import annotations

from typing import Any

import pytest
from tests.validity.support import (
    BOUND,
    MAKER,
    MANUAL,
    SYSTEM,
    assistant,
    call,
    mended,
    result,
    rules_of,
    text,
    user,
    view_of,
)

from trimtab.conversation.edits import Mark, Rewrite, Spot
from trimtab.conversation.view import View
from trimtab.validity import Place, check, problems, repair
from trimtab.validity.base import Limits
from trimtab.validity.draft import Draft
from trimtab.validity.media import Media
from trimtab.validity.profiles.anthropic import Capabilities, anthropic
from trimtab.validity.size import Size

MALFORMED: list[tuple[Any, str]] = [
    ({"role": "tool", "content": "x"}, "the role is 'tool'"),
    ({"role": "user", "content": 5}, "the content is int"),
    ({"role": "user", "content": {"type": "text"}}, "the content is dict"),
    (user({"type": "text", "text": None}), "no text"),
    (user({"text": "x"}), "no type"),
    (user({"type": "tool_use", "id": "x", "name": "a", "input": {}}), "not the assistant's"),
    (user({"type": "image"}), "no source"),
    (user({"type": "tool_result", "content": "x"}), "no tool_use_id"),
    (user({"type": "tool_result", "tool_use_id": "x", "content": 3}), "neither a text nor a list"),
    (assistant({"type": "tool_result", "tool_use_id": "x"}), "not a user's"),
    (assistant({"type": "tool_use", "name": "a", "input": {}}), "no id"),
    (assistant({"type": "tool_use", "id": "x", "input": {}}), "no name"),
    (assistant({"type": "tool_use", "id": "x", "name": "a", "input": "{}"}), "no object"),
    (assistant({"type": "thinking", "signature": "s"}), "no thinking"),
    ({"role": "user", "content": [3]}, "a block is int"),
]


@pytest.mark.parametrize(("message", "words"), MALFORMED)
def test_malformed_messages_are_named_and_left_alone(message: Any, words: str) -> None:
    view = view_of([user("q"), message, user("q")])
    report = check(view, BOUND)
    mine = [violation for violation in report.violations if violation.rule == "shape"]
    assert len(mine) == 1
    assert words in mine[0].message
    assert (mine[0].index, mine[0].repairable) == (1, False)
    edits = repair(view, mine, BOUND).edits
    assert edits == ()


def test_problems_say_where_and_what() -> None:
    view = view_of([user("q"), user(result("x"))])
    assert problems(view.items, check(view, BOUND)) == (
        "message 2, block 0: "
        "the result of x answers no call of the assistant's messages right before it [pairs]",
        "message 2, block 0: "
        "a tool result stands behind other blocks of its turn; results come first [result_order]",
    )


def test_spots_keep_the_numbers_of_the_message_as_it_came() -> None:
    view = view_of([user("q"), assistant(text("a"), text(" "), call("x")), user(result("x"))])
    view.items[1].numbers = (0, 3, 5)
    edits = repair(view, check(view, BOUND).violations, BOUND).edits
    assert edits == (Rewrite((Spot(2, 3),), Mark.REMOVE),)


def test_marks_in_system_and_tools_take_places_from_the_messages() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    messages = [user(text("a", **mark)), user(text("b", **mark)), user(text("c", **mark))]
    assert rules_of(check(view_of(messages), anthropic(Capabilities(), 3))) == ["cache_marks"] * 2
    after, report = mended(messages, anthropic(Capabilities(), 3))
    assert report.valid
    assert after == [user(text("a")), user(text("b")), messages[2]]


def test_marks_inside_tool_results_count_and_go() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    inner = [text(f"part {n}", **mark) for n in range(3)]
    messages = [user("q"), assistant(call("x")), user(result("x", inner, **mark), text("last", **mark))]
    after, report = mended(messages)
    assert report.valid
    assert after[2] == user(result("x", [text(f"part {n}") for n in range(3)]), text("last", **mark))


def test_white_space_at_the_end_of_a_prefill_goes() -> None:
    after, report = mended([user("q"), assistant("Answer: ")], MANUAL)
    assert report.valid
    assert after[1] == assistant(text("Answer:"))


def test_a_compaction_block_may_lead() -> None:
    block = {"type": "compaction", "content": "s"}
    assert check(view_of([assistant(block), user("q")]), BOUND).valid
    assert check(view_of([assistant(block, text("a")), user("q")]), BOUND).valid


def test_system_messages_stand_between_user_and_assistant() -> None:
    system = {"role": "system", "content": "notice"}
    assert check(view_of([user("q"), system, assistant("a"), user("q"), system]), SYSTEM).valid
    for messages in ([user("q"), system, user("q")], [user("q"), assistant("a"), system, user("q")]):
        assert rules_of(check(view_of(messages), SYSTEM)) == ["system_place"]


def test_wide_images_are_refused_where_there_are_many() -> None:
    limits = Limits(max_images=30, many_images=2, max_side=8000, max_side_many=2000)
    sizes = {"a": (100, 100), "b": (3000, 10), "c": (9000, 10)}
    rule = Media(limits, lambda block: sizes.get(block["source"]["data"]))

    def view(*names: str) -> View:
        return view_of([user(*[{"type": "image", "source": {"data": name}} for name in names])])

    def said(view: View) -> list[str]:
        violations, state = rule.scan(view.items, 0, None)
        return [v.message for v in violations + rule.close(view.items, state)]

    assert said(view("a", "b")) == []
    assert said(view("a", "b", "unknown")) == [
        "an image is 3000 pixels wide or high; 2000 are allowed where a request has more than 2 images"
    ]
    assert said(view("c")) == ["an image is 9000 pixels wide or high; 8000 are allowed"]


def test_bytes_of_media_count_though_their_tokens_are_few() -> None:
    rule = Size(Limits(max_bytes=1000, max_messages=2))
    image = {"type": "image", "source": {"type": "base64", "data": "x" * 600}}
    view = view_of([user(image), assistant(call("x")), user(result("x", [image]))])
    _, state = rule.scan(view.items, 0, None)
    size = sum(item.bytes for item in view.items)
    assert size > 1200
    assert [v.message for v in rule.close(view.items, state)] == [
        f"the messages have about {size:,} bytes; 1,000 are allowed",
        "3 messages; 2 are allowed",
    ]


def test_a_draft_gives_its_work_as_edits_over_the_given_items() -> None:
    items = view_of([user("q"), assistant(text("a"), text("b")), user("r")]).items
    draft = Draft(items)
    draft.apply([Place(1, user("one"), "note"), Rewrite((Spot(2, 0),), {"text": "A"})])
    draft.apply([Place(2, user("two"), "note"), Place(-1, user("front"), "note")])
    draft.apply([Rewrite((Spot(2, 0), Spot(3, 0)), Mark.REMOVE)])
    assert [item.message for item in draft.items] == [
        user("front"),
        user("q"),
        assistant(text("b")),
        user("one"),
        user("two"),
    ]
    assert draft.edits() == (
        Rewrite((Spot(2, 0), Spot(3, 0)), Mark.REMOVE),
        Place(-1, user("front"), "note"),
        Place(1, user("one"), "note"),
        Place(1, user("two"), "note"),
    )


def test_a_profile_is_made_once_for_each_model() -> None:
    assert anthropic(Capabilities(), 1) is anthropic(Capabilities(), 1)
    names = [rule.name for rule in BOUND.rules]
    assert names == sorted(set(names), key=names.index)
    assert names[:4] == ["shape", "empty", "ids", "pairs"]


def test_odd_shapes_never_raise() -> None:
    odd: list[Any] = [
        {
            "role": None,
            "content": [None, 3, "x", [], {"type": 7}, {"type": "tool_use"}, {"type": "tool_result"}],
        },
        {"content": [{"type": "tool_use", "id": ["x"], "name": None, "input": 3}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": 3, "signature": 4}, "words"]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": 4, "content": [3, {"type": "text"}]}],
        },
        {"role": "user", "content": ({"type": "text", "text": "x"},)},
        {
            "role": "assistant",
            "content": [{"type": "server_tool_use"}, {"type": "x_tool_result"}, {"type": "text"}],
        },
        {"role": "system", "content": 3.5},
        {},
    ]
    for profile in (BOUND, MANUAL, SYSTEM):
        view = View(MAKER.make(number, message)[0] for number, message in enumerate(odd, 1))
        report = check(view, profile)
        assert "shape" in rules_of(report)
        repair(view, report.violations, profile)
        for rule in profile.rules:
            rule.cuts(view.items)


def test_a_draft_keeps_the_numbers_of_an_item_that_was_edited_before() -> None:
    view = view_of([user("q"), assistant(text("a"), text("b"), text("c"))])
    view.items[1].numbers = (1, 4, 6)
    draft = Draft(view.items)
    draft.apply([Rewrite((Spot(2, 1),), Mark.REMOVE)])
    assert draft.items[1].numbers == (4, 6)
    assert draft.spot(1, 0) == Spot(2, 4)
    assert view.items[1].numbers == (1, 4, 6)
