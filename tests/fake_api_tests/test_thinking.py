"""Thinking is bound to its prefix (API-FACTS §1): what may change before it, and what may not."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import anthropic
import pytest
from tests.fake_api import call, think
from tests.fake_api.fixture import Served, ServedApi
from tests.fake_api_tests.support import (
    BOUND,
    FREE,
    MODEL,
    TOOLS,
    ask,
    ask_beta,
    error_of,
    result,
    text,
    user,
)

BINDING = "thinking-binding-controls-2026-08-01"
DROP = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
HEAD: dict[str, Any] = {"system": [text("be brief")], "tools": TOOLS}


def conversation(api: ServedApi, model: str = BOUND) -> list[Any]:
    """Three rounds that the fake has thought in, up to the user's next word."""
    messages: list[Any] = [user([text("fix it"), text("please")])]
    for number in range(3):
        api.script.append(think(f"hm {number}", call("Read", path=f"{number}.py")))
        answer = ask(api, model=model, messages=messages, **HEAD)
        messages.append({"role": "assistant", "content": [block.to_dict() for block in answer.content]})
        messages.append(user(result(answer.content[1].id, f"line {number}"), text("on")))
    return messages


def calls(messages: list[Any]) -> list[Any]:
    return [message for message in messages if message["role"] == "assistant"]


def no_thinking(message: Any) -> None:
    message["content"] = [block for block in message["content"] if block["type"] != "thinking"]


Change = Callable[[list[Any], dict[str, Any]], Any]


ALLOWED: dict[str, Change] = {
    "nothing": lambda messages, head: None,
    "more at the end": lambda messages, head: messages.append(user("and then")),
    "cache marks": lambda messages, head: messages[0]["content"][0].update(
        cache_control={"type": "ephemeral"}
    ),
    "a mark on a result": lambda messages, head: messages[2]["content"][0].update(
        cache_control={"type": "ephemeral"}
    ),
    "another max_tokens and effort": lambda messages, head: head.update(
        max_tokens=99, output_config={"effort": "low"}
    ),
    "a tool that is loaded later": lambda messages, head: head.update(
        tools=[*TOOLS, {**TOOLS[0], "name": "Write", "defer_loading": True}]
    ),
    "the order of keys": lambda messages, head: messages.__setitem__(
        2, dict(reversed(list(messages[2].items())))
    ),
    "the oldest thinking away": lambda messages, head: no_thinking(messages[1]),
    "the newest thinking away": lambda messages, head: no_thinking(messages[5]),
    "all thinking away": lambda messages, head: [no_thinking(message) for message in calls(messages)],
}

BREAKING: dict[str, tuple[Change, str]] = {
    "an edited text": (lambda messages, head: messages[0]["content"][0].update(text="fix this"), "1"),
    "a text taken away": (lambda messages, head: messages[0]["content"].pop(), "1"),
    "a text put in": (lambda messages, head: messages[2]["content"].append(text("!")), "3"),
    "a result shortened": (lambda messages, head: messages[2]["content"][0].update(content="li"), "3"),
    "a call's input changed": (lambda messages, head: messages[1]["content"][1].update(input={}), "3"),
    "two messages taken away": (lambda messages, head: messages.__delitem__(slice(1, 3)), "1"),
    "another system prompt": (lambda messages, head: head.update(system="be long"), "1"),
    "another tool": (
        lambda messages, head: head.update(tools=[*TOOLS, {**TOOLS[0], "name": "Write"}]),
        "1",
    ),
    "thinking from the middle away": (lambda messages, head: no_thinking(messages[3]), "5"),
}


@pytest.mark.parametrize("name", ALLOWED)
def test_what_is_allowed_before_thinking_is_answered(fake_api: Served, name: str) -> None:
    api = fake_api()
    messages, head = conversation(api), dict(HEAD)
    ALLOWED[name](messages, head)
    assert ask(api, model=BOUND, messages=messages, **head).content


@pytest.mark.parametrize("name", BREAKING)
def test_what_changes_the_prefix_makes_later_thinking_invalid(fake_api: Served, name: str) -> None:
    api = fake_api()
    messages, head = conversation(api), dict(HEAD)
    change, at = BREAKING[name]
    change(messages, head)
    error = error_of(api, model=BOUND, messages=messages, **head)
    assert isinstance(error, anthropic.BadRequestError)
    assert error.api_message == (
        f"messages.{at}.content.0: Invalid `signature` in `thinking` block. The block is bound to a different "
        "conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "
        '"drop_block".'
    )


@pytest.mark.parametrize("name", BREAKING)
def test_other_models_do_not_mind_a_changed_prefix(fake_api: Served, name: str) -> None:
    api = fake_api()
    messages, head = conversation(api, FREE), dict(HEAD)
    BREAKING[name][0](messages, head)
    assert ask(api, model=FREE, messages=messages, **head).content


def test_thinking_that_was_taken_away_cannot_come_back(fake_api: Served) -> None:
    api = fake_api()
    messages = conversation(api)
    before = copy.deepcopy(messages)
    no_thinking(messages[1])
    api.script.append(think("again", text("so")))
    answer = ask(api, model=BOUND, messages=messages, **HEAD)
    more = [{"role": "assistant", "content": [block.to_dict() for block in answer.content]}, user("and")]
    assert ask(api, model=BOUND, messages=[*messages, *more], **HEAD).content
    assert error_of(api, model=BOUND, messages=[*before, *more], **HEAD)


@pytest.mark.parametrize("model", [BOUND, MODEL])
def test_thinking_with_changed_words_is_refused_by_every_model(fake_api: Served, model: str) -> None:
    api = fake_api()
    messages = conversation(api, model)
    messages[1]["content"][0]["thinking"] = "hm"
    assert "messages.1.content.0: Invalid `signature`" in str(error_of(api, model=model, messages=messages))


def test_the_manual_kind_wants_the_open_loop_to_begin_with_thinking(fake_api: Served) -> None:
    api = fake_api()
    messages = conversation(api, MODEL)
    messages[5]["content"].reverse()
    messages[5]["content"].append(text("so"))
    messages[6]["content"].pop()
    error = error_of(api, model=MODEL, messages=messages, **HEAD)
    assert "Expected `thinking` or `redacted_thinking`, but found `tool_use`" in str(error)


def test_thinking_may_be_dropped_and_the_answer_says_which(fake_api: Served) -> None:
    api = fake_api()
    messages = conversation(api)
    messages[2]["content"][0]["content"] = "shorter"
    whole = ask_beta(api, BINDING, model=BOUND, messages=conversation(api), **HEAD)
    assert whole.input_transformations == []
    answer = ask_beta(api, BINDING, model=BOUND, messages=messages, thinking=DROP, **HEAD)
    assert [
        (one.type, one.reason, one.path) for one in answer.input_transformations
    ] == [("thinking_dropped", "prefix_binding_mismatch", f"messages.{at}.content.0") for at in (3, 5)]  # fmt: skip
    assert answer.usage.input_tokens < whole.usage.input_tokens


def test_the_field_needs_its_header(fake_api: Served) -> None:
    error = error_of(fake_api(), model=BOUND, extra_body={"thinking": DROP})
    assert "thinking.block_binding: Extra inputs are not permitted" in str(error)


def test_an_older_account_is_told_only_and_refused_when_it_asks(fake_api: Served) -> None:
    api = fake_api(enforced=False)
    messages = conversation(api)
    messages[0]["content"].pop()
    answer = ask_beta(api, BINDING, model=BOUND, messages=messages, **HEAD)
    assert {one.type for one in answer.input_transformations} == {"thinking_mismatch_allowed"}
    strict = {"type": "adaptive", "block_binding": {}}
    assert error_of(api, BINDING, model=BOUND, messages=messages, thinking=strict, **HEAD)


def test_counting_runs_the_same_check(fake_api: Served) -> None:
    api = fake_api()
    messages = conversation(api)
    messages[0]["content"].pop()
    with pytest.raises(anthropic.BadRequestError, match="bound to a different conversation"):
        api.client().messages.count_tokens(model=BOUND, messages=messages, **HEAD)


def test_redacted_thinking_is_bound_as_well(fake_api: Served) -> None:
    api = fake_api([{"type": "redacted_thinking", "data": ""}, text("so")])
    messages: list[Any] = [user("hi")]
    answer = ask(api, model=BOUND, messages=messages)
    messages += [{"role": "assistant", "content": [block.to_dict() for block in answer.content]}, user("and")]
    assert ask(api, model=BOUND, messages=messages).content
    messages[0] = user("ho")
    assert error_of(api, model=BOUND, messages=messages)
