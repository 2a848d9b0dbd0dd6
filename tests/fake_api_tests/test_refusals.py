"""Each rule of API-FACTS §3, §4 and §6 refuses with its status, its error type and its text, and the SDK raises."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import anthropic
import pytest
from tests.fake_api.errors import TYPES
from tests.fake_api.fixture import Served
from tests.fake_api.rules import problems
from tests.fake_api.shapes import block_keys
from tests.fake_api_tests.support import (
    ASK,
    BOUND,
    FREE,
    MODEL,
    OLD,
    TOOLS,
    ask,
    assistant,
    error_of,
    png,
    result,
    text,
    use,
    user,
)


@dataclass(frozen=True)
class Case:
    """A request that is refused: what it sends, what the fake is, and how it is refused."""

    name: str
    words: str
    messages: Any = None
    more: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    betas: tuple[str, ...] = ()
    status: int = 400
    raises: type[anthropic.APIStatusError] = anthropic.BadRequestError


HI = user("hi")
SEARCH = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "x"}
MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}


CASES = [
    Case("no message", "at least one message is required", []),
    Case("an unknown role", "messages.0: unexpected role 'tool'", [{"role": "tool", "content": "x"}]),
    Case("an unknown block", "messages.0.content.0: Input tag 'sound' found", [user({"type": "sound"}, HI)]),
    Case(
        "a call without an id",
        "messages.1.content.0.tool_use.id: Field required",
        [HI, assistant({"type": "tool_use", "name": "Read", "input": {}}), user(result("t"))],
    ),
    Case(
        "a call whose input is no object",
        "messages.1.content.0.tool_use.input: Input should be a valid dictionary",
        [HI, assistant({**use("t"), "input": "x"}), user(result("t"))],
    ),
    Case(
        "thinking without a signature",
        "messages.1.content.0.thinking.signature: Field required",
        [HI, assistant({"type": "thinking", "thinking": "hm"}, text("so")), HI],
    ),
    Case("an empty text", "text content blocks must be non-empty", [user([text("")])]),
    Case("a blank text", "text content blocks must be non-empty", [user([text(" \n")])]),
    Case(
        "an empty text in a result",
        "text content blocks must be non-empty",
        [HI, assistant(use("t")), user([result("t", [text("")])])],
    ),
    Case("no content", "content must not be empty", [user("hi"), assistant(), HI]),
    Case("an empty system text", "system: text content blocks", more={"system": [text(" ")]}),
    Case(
        "an extra key of a block",
        "messages.0.content.0.text.citations: Extra inputs are not permitted",
        [user([text("hi", citations=None)])],
    ),
    Case("an extra key of a message", "messages.0.id: Extra inputs are not permitted", [{**HI, "id": 1}]),
    Case(
        "an extra field",
        "mood: Extra inputs are not permitted",
        more={"extra_body": {"mood": "good"}},
    ),
    Case("the assistant first", "first message must use the `user` role", [assistant(text("hi")), HI]),
    Case(
        "an answer begun, on a model from 4.6 on",
        "This model does not support assistant message prefill. "
        "The conversation must end with a user message.",
        [HI, assistant(text("so"))],
        {"model": "claude-sonnet-4-6"},
    ),
    Case(
        "an answer begun that ends in a blank",
        "final assistant content cannot end with trailing whitespace",
        [HI, assistant(text("so "))],
    ),
    Case(
        "a call without its result",
        "`tool_use` ids were found without `tool_result` blocks immediately after: t2",
        [HI, assistant(use("t1"), use("t2")), user([result("t1")])],
    ),
    Case(
        "a result too late",
        "`tool_use` ids were found without `tool_result` blocks immediately after: t",
        [HI, assistant(use("t")), HI, assistant(text("so")), user([result("t")])],
    ),
    Case(
        "a result of nothing",
        "unexpected `tool_use_id` found in `tool_result` blocks: t",
        [user([result("t")])],
    ),
    Case(
        "a result behind a text",
        "`tool_result` blocks must come first",
        [HI, assistant(use("t")), user(text("here"), result("t"))],
    ),
    Case(
        "two calls of one id",
        "`tool_use` ids must be unique",
        [HI, assistant(use("t")), user([result("t")]), assistant(use("t")), user([result("t")])],
    ),
    Case(
        "two results of one call",
        "each tool_use must have a single result",
        [HI, assistant(use("t")), user(result("t"), result("t"))],
    ),
    Case(
        "a result in the assistant's turn",
        "`tool_result` blocks can only be in `user` messages",
        [HI, assistant(use("t"), result("t")), HI],
    ),
    Case(
        "a server tool's result alone",
        "Each `web_search_tool_result` block must have a corresponding `server_tool_use` block before it",
        [
            HI,
            assistant({"type": "web_search_tool_result", "tool_use_id": "s", "content": []}, text("so")),
            HI,
        ],
    ),
    Case(
        "an MCP tool's result of another kind of call",
        "Each `mcp_tool_result` block must have a corresponding `mcp_tool_use` block before it",
        [HI, assistant(SEARCH, {"type": "mcp_tool_result", "tool_use_id": "s"}, text("so")), HI],
        betas=("mcp-client-2025-11-20",),
    ),
    Case(
        "a word of the user while a tool of the server is at work",
        "a server tool use has no result in its turn",
        [HI, assistant(SEARCH, use("t")), user(result("t"), text("well?"))],
    ),
    Case(
        "a call in the user's turn",
        "messages.0.content.0: `tool_use` blocks can only be in `assistant` messages",
        [user([use("t")])],
    ),
    Case(
        "thinking in the user's turn",
        "thinking blocks can only be in `assistant` messages",
        [user([THINKING, text("hi")])],
    ),
    Case(
        "an answer that ends with thinking",
        "The final block in an assistant message cannot be `thinking`.",
        [HI, assistant(THINKING), HI],
    ),
    Case(
        "a reference to a cache, which the API does not make public",
        "messages.2.content.0.tool_result.cache_reference: Extra inputs are not permitted",
        [HI, assistant(use("t")), user([result("t", cache_reference="t")])],
    ),
    Case(
        "five marks",
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        [user([text("hi", cache_control=MARK)])],
        {
            "tools": [{**TOOLS[0], "cache_control": MARK}],
            "system": [text("a", cache_control=MARK), text("b", cache_control=MARK)],
            "cache_control": MARK,
        },
    ),
    Case(
        "an hour behind five minutes",
        "messages.0.content.0.cache_control.ttl: a ttl='1h' cache_control block must not come after",
        [user([text("hi", cache_control=HOUR)])],
        {"system": [text("a", cache_control=MARK)]},
    ),
    Case(
        "an unknown life",
        "system.0.cache_control.ttl: Input should be '5m' or '1h'",
        more={"system": [text("a", cache_control={"type": "ephemeral", "ttl": "2h"})]},
    ),
    Case(
        "too many images",
        "too many images: 101",
        [user(*[png(1, 1)] * 101)],
    ),
    Case(
        "too many images for a model with a wide window",
        "too many images: 601",
        [user(*[png(1, 1)] * 601)],
        {"model": BOUND},
    ),
    Case("a content of another kind", "messages.0.content: Input should be a valid list", [user(5)]),
    Case("a choice that is a word", "tool_choice: Input should be a valid dictionary", more={"tool_choice": "any"}),
    Case("a stop that is a word", "stop_sequences: Input should be a valid list", more={"stop_sequences": "x"}),
    Case(
        "a system message on an older model",
        "role 'system' is not supported on this model",
        [HI, {"role": "system", "content": "be brief"}],
    ),
    Case(
        "a system message behind the assistant",
        "a system message must follow a user message",
        [HI, assistant(text("so")), {"role": "system", "content": "be brief"}, HI],
        {"model": BOUND},
    ),
    Case(
        "a system message before a user message",
        "a system message must not come before a user message",
        [HI, {"role": "system", "content": "be brief"}, HI],
        {"model": BOUND},
    ),
    Case(
        "a system message first",
        "first message must use the `user` role",
        [{"role": "system", "content": "be brief"}, HI],
        {"model": BOUND},
    ),
    Case(
        "a picture in a system message",
        "messages.1.content.0: Input tag 'image' found",
        [HI, {"role": "system", "content": [png(1, 1)]}],
        {"model": BOUND},
    ),
    Case(
        "a prompt too long",
        "prompt is too long: 108 tokens > 100 maximum",
        [user("x" * 300)],
        options={"window": 100},
    ),
    Case(
        "an older model asked for more than the window holds",
        "input length and `max_tokens` exceed context limit: 9 + 1000 > 1000, decrease input length or "
        "`max_tokens` and try again",
        more={"model": OLD},
        options={"window": 1000},
    ),
    Case(
        "a body too large",
        "Request exceeds the maximum allowed number of bytes",
        [user("x" * 300)],
        options={"max_bytes": 200},
        status=413,
        raises=anthropic.ContentTooLargeError,
    ),
    Case("no room for an answer", "max_tokens: Input should be greater", more={"max_tokens": -1}),
    Case(
        "more output than the model has",
        "max_tokens: 64001 > 64000, which is the maximum allowed number of output tokens",
        more={"max_tokens": 64_001, "timeout": 60},
    ),
    Case(
        "a thinking budget too small",
        "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
        more={"thinking": {"type": "enabled", "budget_tokens": 10}},
    ),
    Case(
        "a thinking budget that leaves nothing",
        "`max_tokens` must be greater than `thinking.budget_tokens`",
        more={"thinking": {"type": "enabled", "budget_tokens": 1024}},
    ),
    Case(
        "two tools of one name",
        "tools: Tool names must be unique.",
        more={"tools": TOOLS * 2},
    ),
    Case(
        "a tool without a schema",
        "tools.0.custom.input_schema: Field required",
        more={"tools": [{"name": "Read"}]},
    ),
    Case(
        "a tool to choose that is not there",
        "tool_choice: Tool 'Write' not found in provided tools",
        more={"tools": TOOLS, "tool_choice": {"type": "tool", "name": "Write"}},
    ),
    Case(
        "a model nobody has",
        "model: claude-parrot-9",
        more={"model": "claude-parrot-9"},
        status=404,
        raises=anthropic.NotFoundError,
    ),
    Case("a field of a beta without its header", "context_management: Extra inputs", more={
        "extra_body": {"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}},
    }),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_request_is_refused_in_the_words_of_the_api(fake_api: Served, case: Case) -> None:
    api = fake_api("never said", **case.options)
    messages = {} if case.messages is None else {"messages": case.messages}
    error = error_of(api, *case.betas, **{**case.more, **messages})
    assert type(error) is case.raises
    assert (error.status_code, error.type) == (case.status, TYPES[case.status])
    assert case.words in str(error.api_message)
    assert error.request_id == "req_000001"
    assert [one.refusal.message for one in api.faulty if one.refusal] == [error.api_message]


def test_counting_refuses_what_a_message_would_be_refused_for(fake_api: Served) -> None:
    client = fake_api().client()
    with pytest.raises(anthropic.BadRequestError, match="unexpected `tool_use_id`"):
        client.messages.count_tokens(model=MODEL, messages=[user([result("t")])])


def test_no_key_is_an_authentication_error(fake_api: Served) -> None:
    client = fake_api().client(default_headers={"authorization": anthropic.omit})
    with pytest.raises(anthropic.AuthenticationError, match="x-api-key header is required"):
        client.with_options(api_key="").messages.create(**ASK)


def test_images_too_wide_are_named_with_their_places_and_the_limit(fake_api: Served) -> None:
    messages = [HI, assistant(use("t")), user(result("t", [text("see"), png(8001, 1)]), png(1, 9000))]
    error = error_of(fake_api(), messages=messages)
    assert isinstance(error, anthropic.BadRequestError)
    assert error.error_code == "image_dimensions_too_large"
    assert getattr(error.details, "paths", None) == ["messages.2.content.0.content.1", "messages.2.content.1"]
    assert getattr(error.details, "max_side_length_pixels", None) == 8000


def test_many_images_must_be_smaller(fake_api: Served) -> None:
    few, many = [png(2001, 1)] * 20, [png(2001, 1)] * 21
    assert ask(fake_api("ok"), messages=[user(few)]).content
    assert getattr(error_of(fake_api(), messages=[user(many)]).details, "max_side_length_pixels", 0) == 2000


GOOD: dict[str, list[Any]] = {
    "neighbours of one role": [HI, HI, assistant(text("a")), assistant(use("t")), user([result("t")]), HI],
    "a text behind the results": [HI, assistant(use("t")), user(result("t"), text("and?"))],
    "an answer begun": [HI, assistant(text("so"))],
    "a result without words": [HI, assistant(use("t")), user([{"type": "tool_result", "tool_use_id": "t"}])],
    "results in two messages": [HI, assistant(use("t"), use("u")), user([result("t")]), user([result("u")])],
    "a search of the server": [
        HI,
        assistant(
            SEARCH,
            {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
            text("found"),
        ),
        HI,
    ],
}


@pytest.mark.parametrize("name", GOOD)
def test_what_is_valid_is_answered(fake_api: Served, name: str) -> None:
    assert ask(fake_api("fine"), messages=GOOD[name]).content[0].text == "fine"


def test_a_system_message_behind_the_user_is_taken_where_the_model_takes_it(fake_api: Served) -> None:
    messages = [HI, assistant(use("t")), user([result("t")]), {"role": "system", "content": "be brief"}]
    assert ask(fake_api("fine"), model=FREE, messages=messages).content


def test_the_keys_of_blocks_are_those_of_the_sdk() -> None:
    required, allowed = block_keys(False)["tool_use"]
    assert required == {"type", "id", "name", "input"}
    assert allowed - required == {"cache_control", "caller", "toolset_name"}
    assert "compaction" in block_keys(True)
    assert "compaction" not in block_keys(False)


def test_a_hundred_thousand_messages_are_the_most() -> None:
    messages = [HI, assistant(text("so"))] * 50_000
    assert [one.rule for one in problems(messages, prefill=True)] == []
    assert [one.rule for one in problems([*messages, HI], prefill=True)] == [20]
