"""Items: features and shadow of one message, whatever its shape."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from tests.strategies import broken

from trimtab.conversation.digest import digest
from trimtab.conversation.items import MEDIA, OTHER, RESULT, SERVER, TEXT, THINK, USE, ItemMaker

MAKER = ItemMaker(lambda text: len(text), lambda block: 1600)

ODD: list[dict[str, Any]] = [
    {},
    {"role": "user"},
    {"role": "user", "content": None},
    {"role": None, "content": 7},
    {"role": "user", "content": ["text", 3, None]},
    {"role": "assistant", "content": [{"type": "text"}, {"type": "tool_use"}, {"no": "type"}]},
    {"role": "user", "content": [{"type": "tool_result", "content": {"odd": "dict"}}]},
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "x", "content": [None, "a", {"type": "text"}]}],
    },
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "x", "name": "Read", "input": "not an object"}],
    },
    {"role": "assistant", "content": [{"type": "thinking", "signature": "s"}]},
]


@pytest.mark.parametrize("message", ODD)
def test_odd_shapes_are_measured_and_never_raise(message: dict[str, Any]) -> None:
    before = copy.deepcopy(message)
    item, shadow = MAKER.make(1, message)
    assert message == before
    assert shadow == message
    assert item.message is message
    assert len(item.chars) == len(item.tokens)
    assert item.total > 0


@given(broken())
@settings(max_examples=60)
def test_shadows_are_equal_until_something_inside_the_message_changes(messages: list[dict[str, Any]]) -> None:
    for message in messages:
        _, shadow = MAKER.make(1, message)
        assert shadow == message
        for block in message["content"] if isinstance(message["content"], list) else ():
            block["added"] = True
            assert shadow != message
            del block["added"]
            for part in block.get("content") if isinstance(block.get("content"), list) else ():
                part["added"] = True
                assert shadow != message
                del part["added"]


def test_the_mask_says_which_kinds_of_block_occur() -> None:
    blocks = [
        ({"type": "text", "text": "a"}, TEXT),
        ({"type": "tool_use", "id": "1", "name": "R", "input": {}}, USE),
        (
            {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "image", "source": {}}]},
            RESULT | MEDIA,
        ),
        ({"type": "redacted_thinking", "data": "x"}, THINK),
        ({"type": "web_search_tool_result", "tool_use_id": "s", "content": []}, SERVER),
        ({"type": "new_thing"}, OTHER),
    ]
    for block, mask in blocks:
        assert MAKER.make(1, {"role": "user", "content": [block]})[0].mask == mask


def test_signatures_are_not_counted_as_text() -> None:
    short = {"type": "thinking", "thinking": "hm", "signature": "s"}
    long = {**short, "signature": "s" * 5000}
    one, other = (
        MAKER.make(1, {"role": "assistant", "content": [block]})[0].total for block in (short, long)
    )
    assert one == other


def test_nesting_beyond_measure_is_survived() -> None:
    deep: Any = "x"
    for _ in range(5000):
        deep = [deep]
    message = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "1", "name": "R", "input": {"a": deep}}],
    }
    assert MAKER.make(1, message)[0].uses == ("1",)


def test_a_digest_has_a_role_letter_and_sixteen_characters_a_block() -> None:
    text = digest(
        {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
    )
    assert text[0] == "a"
    assert len(text) == 1 + 2 * 16
    assert digest({"role": "user", "content": "\ud83d"})[0] == "u"


def test_digests_tell_strings_apart_that_run_together() -> None:
    one = {"role": "user", "content": [{"type": "x", "a": "bc", "d": "e"}]}
    other = {"role": "user", "content": [{"type": "x", "a": "b", "d": "ce"}]}
    assert digest(one) != digest(other)
