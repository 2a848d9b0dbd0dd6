"""The Anthropic summarizer with the real SDK and a transport of our own."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import anthropic
import httpx2
import pytest

from trimtab.conversation.request import Request, Usage
from trimtab.effects import AskFailed, Question, Reply
from trimtab.summarizers.anthropic import MAX_OUTPUT, AnthropicSummarizer

TOOLS: list[dict[str, Any]] = [{"name": "Read", "description": "reads", "input_schema": {"type": "object"}}]
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "fix it"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Read", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "line"}]},
]


def events(blocks: Sequence[dict[str, Any]], stop: str = "end_turn", **usage: int) -> bytes:
    """The stream of one response."""
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "model-served",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 1} | usage,
    }
    found: list[dict[str, Any]] = [{"type": "message_start", "message": message}]
    for index, block in enumerate(blocks):
        start: dict[str, Any]
        delta: dict[str, Any]
        if block["type"] == "text":
            start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        elif block["type"] == "thinking":
            start = {"type": "thinking", "thinking": "", "signature": ""}
            delta = {"type": "thinking_delta", "thinking": block["thinking"]}
        else:
            start = {"type": "tool_use", "id": "t9", "name": "Read", "input": {}}
            delta = {"type": "input_json_delta", "partial_json": "{}"}
        found.append({"type": "content_block_start", "index": index, "content_block": start})
        found.append({"type": "content_block_delta", "index": index, "delta": delta})
        found.append({"type": "content_block_stop", "index": index})
    end = {"stop_reason": stop, "stop_sequence": None}
    found.append({"type": "message_delta", "delta": end, "usage": {"output_tokens": 7}})
    found.append({"type": "message_stop"})
    return b"".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in found)


def streamed(body: bytes) -> httpx2.Response:
    return httpx2.Response(200, content=body, headers={"content-type": "text/event-stream"})


def refused(status: int, kind: str, message: str, **details: Any) -> httpx2.Response:
    error: dict[str, Any] = {"type": kind, "message": message}
    if details:
        error["details"] = details
    return httpx2.Response(status, json={"type": "error", "error": error})


class Server:
    """Collects the requests and answers with what ``handler`` returns."""

    def __init__(self, handler: Callable[[httpx2.Request], httpx2.Response]) -> None:
        self.handler = handler
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[httpx2.Headers] = []

    def handle(self, request: httpx2.Request) -> httpx2.Response:
        self.bodies.append(json.loads(request.content))
        self.headers.append(request.headers)
        return self.handler(request)

    def client(self) -> anthropic.Anthropic:
        http = anthropic.DefaultHttpxClient(transport=httpx2.MockTransport(self.handle))
        return anthropic.Anthropic(api_key="none", http_client=http, max_retries=0)

    def async_client(self) -> anthropic.AsyncAnthropic:
        http = anthropic.DefaultAsyncHttpxClient(transport=httpx2.MockTransport(self.handle))
        return anthropic.AsyncAnthropic(api_key="none", http_client=http, max_retries=0)


def answering(*blocks: dict[str, Any], stop: str = "end_turn", **usage: int) -> Server:
    return Server(lambda request: streamed(events(blocks, stop, **usage)))


TEXT = {"type": "text", "text": "the summary"}


def failing(response: httpx2.Response, question: Question | None = None) -> AskFailed:
    with pytest.raises(AskFailed) as caught:
        AnthropicSummarizer(Server(lambda request: response).client()).answer(question or Question("p", "m"))
    return caught.value


def test_a_text_question_is_one_user_message() -> None:
    server = answering(TEXT)
    question = Question("sum it up", "m", system="be brief", max_output=99)
    usage = Usage(10, output=7, model="model-served")
    expected = Reply("the summary", "end_turn", usage, model="model-served")
    assert AnthropicSummarizer(server.client()).answer(question) == expected
    assert server.bodies == [
        {
            "model": "m",
            "system": "be brief",
            "messages": [{"role": "user", "content": "sum it up"}],
            "max_tokens": 99,
            "stream": True,
        }
    ]


def test_a_native_question_is_the_request_with_one_more_message_and_no_tool_may_run() -> None:
    server = answering(TEXT)
    extra = {
        "max_tokens": 5,
        "metadata": {"user_id": "u"},
        "tool_choice": {"type": "any"},
        "stop_sequences": ["x"],
        "context_management": {"edits": []},
        "output_config": {"effort": "high", "format": {"type": "json_schema"}},
        "betas": ["one", "two"],
    }
    request = Request("m", MESSAGES, system="you are", tools=TOOLS, extra=extra)
    AnthropicSummarizer(server.client()).answer(Question("sum it up", "m", request=request, system="unused"))
    assert server.bodies == [
        {
            "model": "m",
            "system": "you are",
            "tools": TOOLS,
            "tool_choice": {"type": "none"},
            "messages": [*MESSAGES, {"role": "user", "content": "sum it up"}],
            "metadata": {"user_id": "u"},
            "output_config": {"effort": "high"},
            "max_tokens": MAX_OUTPUT,
            "stream": True,
        }
    ]
    assert server.headers[0]["anthropic-beta"] == "one,two"
    assert len(MESSAGES) == 3
    assert extra["output_config"] == {"effort": "high", "format": {"type": "json_schema"}}


def test_a_thinking_budget_does_not_eat_the_answer() -> None:
    server = answering(TEXT)
    thinking = {"type": "enabled", "budget_tokens": 8_000}
    request = Request("m", MESSAGES, extra={"thinking": thinking})
    AnthropicSummarizer(server.client()).answer(Question("p", "m", request=request, max_output=2_000))
    assert server.bodies[0]["thinking"] == thinking
    assert server.bodies[0]["max_tokens"] == 10_000


@pytest.mark.parametrize(
    ("effort", "expected"),
    [("none", {"thinking": {"type": "disabled"}}), ("low", {"output_config": {"effort": "low"}})],
)
def test_effort_becomes_the_apis_field(effort: str, expected: dict[str, Any]) -> None:
    server = answering(TEXT)
    AnthropicSummarizer(server.client()).answer(Question("p", "m", effort=effort))
    assert expected.items() <= server.bodies[0].items()


def test_a_packs_model_name_may_stand_for_another() -> None:
    server = answering(TEXT)
    summarizer = AnthropicSummarizer(server.client(), models={"fast": "small-model"})
    summarizer.answer(Question("p", "fast"))
    summarizer.answer(Question("p", "m"))
    assert [body["model"] for body in server.bodies] == ["small-model", "m"]


def test_texts_are_joined_and_thinking_is_left_out() -> None:
    blocks = ({"type": "thinking", "thinking": "hm"}, TEXT, {"type": "text", "text": " goes on"})
    reply = AnthropicSummarizer(answering(*blocks).client()).answer(Question("p", "m"))
    assert reply.text == "the summary goes on"


@pytest.mark.parametrize("stop", ["tool_use", "max_tokens", "refusal", "model_context_window_exceeded"])
def test_the_stop_reason_is_reported(stop: str) -> None:
    blocks = [{"type": "tool_use"}] if stop == "tool_use" else [TEXT]
    reply = AnthropicSummarizer(answering(*blocks, stop=stop).client()).answer(Question("p", "m"))
    assert reply.stop == stop
    assert reply.text == ("" if stop == "tool_use" else "the summary")


def test_the_cache_is_counted() -> None:
    server = answering(TEXT, cache_read_input_tokens=500, cache_creation_input_tokens=20)
    usage = AnthropicSummarizer(server.client()).answer(Question("p", "m")).usage
    assert usage is not None
    assert (usage.cache_read, usage.cache_write, usage.prompt) == (500, 20, 530)


def test_lone_surrogates_do_not_stop_the_request() -> None:
    server = answering(TEXT)
    request = Request("m", [{"role": "user", "content": "half \ud83d"}])
    reply = AnthropicSummarizer(server.client()).answer(Question("p", "m", request=request))
    assert reply.text == "the summary"
    assert server.bodies[0]["messages"][0]["content"] == "half \ufffd"


@pytest.mark.parametrize(
    ("response", "reason", "excess", "transient"),
    [
        (
            refused(400, "invalid_request_error", "prompt is too long: 210432 tokens > 200000 maximum"),
            "too_long",
            10432,
            False,
        ),
        (
            refused(
                400,
                "invalid_request_error",
                "input length and `max_tokens` exceed context limit: 188059 + 20000 > 200000, decrease it",
            ),
            "too_long",
            8059,
            False,
        ),
        (refused(400, "invalid_request_error", "This exceeds the context window"), "too_long", None, False),
        (refused(413, "request_too_large", "Request exceeds the maximum size"), "too_long", None, False),
        (refused(404, "not_found_error", "model: gone"), "unavailable", None, False),
        (refused(401, "authentication_error", "invalid x-api-key"), "error", None, False),
        (refused(403, "permission_error", "not yours"), "error", None, False),
        (refused(400, "invalid_request_error", "messages.1: odd"), "error", None, False),
        (
            refused(400, "invalid_request_error", "too wide", error_code="image_dimensions_too_large"),
            "media",
            None,
            False,
        ),
        (refused(400, "invalid_request_error", "Could not process image"), "media", None, False),
        (refused(429, "rate_limit_error", "slow down: too many tokens"), "error", None, True),
        (refused(529, "overloaded_error", "Overloaded"), "error", None, True),
        (refused(500, "api_error", "oops"), "error", None, True),
        (httpx2.Response(502, text="<html>bad gateway</html>"), "error", None, True),
    ],
)
def test_the_apis_errors_become_reasons(
    response: httpx2.Response, reason: str, excess: int | None, transient: bool
) -> None:
    failure = failing(response)
    assert (failure.reason, failure.excess_tokens, failure.transient) == (reason, excess, transient)
    assert str(response.status_code) in str(failure)


def test_an_error_in_the_middle_of_the_stream_is_a_failure() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    body = events([TEXT])[:400] + f"\n\nevent: error\ndata: {json.dumps(error)}\n\n".encode()
    start = body.index(b"event: content_block_start")
    body = body[:start] + body[body.index(b"event: error") :]
    failure = failing(streamed(body))
    assert (failure.reason, failure.transient) == ("error", True)


@pytest.mark.parametrize("error", [httpx2.ReadTimeout("slow"), httpx2.ConnectError("no route")])
def test_a_network_that_fails_is_a_transient_error(error: Exception) -> None:
    def handler(request: httpx2.Request) -> httpx2.Response:
        raise error

    with pytest.raises(AskFailed) as caught:
        AnthropicSummarizer(Server(handler).client()).answer(Question("p", "m"))
    assert (caught.value.reason, caught.value.transient) == ("error", True)


def test_a_client_without_a_key_is_unavailable_so_that_the_next_writer_is_asked() -> None:
    http = anthropic.DefaultHttpxClient(transport=httpx2.MockTransport(answering(TEXT).handle))
    client = anthropic.Anthropic(api_key="none", http_client=http)
    client.api_key = None
    with pytest.raises(AskFailed) as caught:
        AnthropicSummarizer(client).answer(Question("p", "m"))
    assert caught.value.reason == "unavailable"
    assert "ANTHROPIC_API_KEY" in str(caught.value)


def test_a_request_of_another_format_is_not_sent() -> None:
    server = answering(TEXT)
    question = Question("p", "m", Request("m", MESSAGES, format="openai-chat"))
    with pytest.raises(AskFailed, match="openai-chat"):
        AnthropicSummarizer(server.client()).answer(question)
    assert server.bodies == []


def test_an_async_run_uses_the_async_client() -> None:
    sync, server = answering(TEXT), answering(TEXT)
    summarizer = AnthropicSummarizer(sync.client(), server.async_client())
    assert asyncio.run(summarizer.aanswer(Question("p", "m"))).text == "the summary"
    assert len(server.bodies) == 1
    assert sync.bodies == []


def test_an_async_run_maps_errors_too() -> None:
    server = Server(lambda request: refused(404, "not_found_error", "model: gone"))
    with pytest.raises(AskFailed, match="gone") as caught:
        asyncio.run(AnthropicSummarizer(async_client=server.async_client()).aanswer(Question("p", "m")))
    assert caught.value.reason == "unavailable"


def test_an_async_run_makes_do_with_a_sync_client() -> None:
    server = answering(TEXT)
    assert asyncio.run(AnthropicSummarizer(server.client()).aanswer(Question("p", "m"))).text == "the summary"


def test_a_sync_run_cannot_use_an_async_client_and_says_so() -> None:
    summarizer = AnthropicSummarizer(async_client=answering(TEXT).async_client())
    with pytest.raises(AskFailed, match="use `arun`") as caught:
        summarizer.answer(Question("p", "m"))
    assert caught.value.reason == "unavailable"


def test_naming_the_summarizer_does_not_import_the_sdk() -> None:
    program = (
        "import sys; from trimtab.summarizers import parse; parse('anthropic'); "
        "sys.exit('anthropic' in sys.modules or 'yaml' in sys.modules)"
    )
    environment = {"PYTHONPATH": ":".join(sys.path)}
    assert subprocess.run([sys.executable, "-c", program], env=environment, check=False).returncode == 0
