"""Anthropic's own shape passes through as it is."""

from __future__ import annotations

import json
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.conversation.items import ItemMaker
from trimtab.formats import anthropic

KEYS = st.sampled_from(["type", "text", "id", "input", "x", "é"])
SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.text(st.characters(), max_size=6)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
MESSAGE = st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": JSON})
EXTRA = st.fixed_dictionaries(
    {},
    optional={"max_tokens": st.integers(1, 9), "metadata": JSON, "stream": st.booleans()},
)


@settings(max_examples=60, deadline=None)
@given(extra=EXTRA, system=st.text(max_size=4), messages=st.lists(MESSAGE, max_size=4))
def test_a_body_comes_back_byte_for_byte(
    extra: dict[str, object], system: str, messages: list[object]
) -> None:
    body = {"model": "m", **extra, "system": system, "tools": [], "messages": messages}
    request = anthropic.from_body(body)
    assert json.dumps(anthropic.request_body(request)) == json.dumps(body)
    assert json.loads(anthropic.dumps(request)) == body


def test_messages_are_the_hosts_own_objects_in_both_directions() -> None:
    message = {"role": "user", "content": [{"type": "text", "text": "x"}], "future": 1}
    item, _ = ItemMaker(len, lambda block: 0).make(1, message)
    assert anthropic.read(message) is message
    assert anthropic.write(item) is message
    messages = [message]
    request = anthropic.from_body({"model": "m", "messages": messages})
    assert anthropic.request_body(request)["messages"] is messages


def test_a_body_without_system_and_tools_stays_without() -> None:
    body = {"model": "m", "messages": []}
    assert anthropic.request_body(anthropic.from_body(body)) == body


def test_lone_surrogates_are_written_as_escapes() -> None:
    request = anthropic.from_body({"model": "m", "messages": [{"role": "user", "content": "a\ud83db"}]})
    written = anthropic.dumps(request)
    assert written.isascii()
    assert json.loads(written)["messages"][0]["content"] == "a\ud83db"


def test_messages_that_are_no_dicts_are_written_too() -> None:
    frozen = MappingProxyType({"role": "user", "content": "x"})
    request = anthropic.from_body({"model": "m", "messages": [frozen]})
    assert json.loads(anthropic.dumps(request))["messages"] == [{"role": "user", "content": "x"}]


@pytest.mark.parametrize("body", [{}, {"model": "m"}, {"model": "m", "messages": {}}, {"messages": []}])
def test_a_body_without_a_model_or_messages_is_refused(body: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="must be"):
        anthropic.from_body(body)
