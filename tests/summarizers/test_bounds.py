"""The bounds of a streamed answer, with both SDKs and a transport of our own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import count
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from trimtab.effects import AskFailed, Question
from trimtab.summarizers import bounds
from trimtab.summarizers.anthropic import AnthropicSummarizer
from trimtab.summarizers.openai import OpenAISummarizer

PING = b'event: ping\ndata: {"type": "ping"}\n\n'
COMMENT = b": still at work\n\n"


class Endless(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """A body that never ends."""

    def __init__(self, piece: bytes) -> None:
        self.piece = piece

    def __iter__(self) -> Iterator[bytes]:
        for _ in count():
            yield self.piece

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for _ in count():
            yield self.piece


def answering(piece: bytes) -> httpx2.MockTransport:
    headers = {"content-type": "text/event-stream"}
    return httpx2.MockTransport(lambda request: httpx2.Response(200, stream=Endless(piece), headers=headers))


def ask_anthropic(question: Question) -> None:
    http = anthropic.DefaultHttpxClient(transport=answering(PING))
    with anthropic.Anthropic(api_key="none", http_client=http) as client:
        AnthropicSummarizer(client).answer(question)


def ask_openai(question: Question) -> None:
    http = openai.DefaultHttpxClient(transport=answering(COMMENT))
    with openai.OpenAI(api_key="none", http_client=http) as client:
        OpenAISummarizer(client).answer(question)


def ask_anthropic_async(question: Question) -> None:
    async def run() -> None:
        http = anthropic.DefaultAsyncHttpxClient(transport=answering(PING))
        async with anthropic.AsyncAnthropic(api_key="none", http_client=http) as client:
            await AnthropicSummarizer(async_client=client).aanswer(question)

    asyncio.run(run())


def ask_openai_async(question: Question) -> None:
    async def run() -> None:
        http = openai.DefaultAsyncHttpxClient(transport=answering(COMMENT))
        async with openai.AsyncOpenAI(api_key="none", http_client=http) as client:
            await OpenAISummarizer(async_client=client).aanswer(question)

    asyncio.run(run())


Ask = Callable[[Question], None]
ALL = pytest.mark.parametrize("ask", [ask_anthropic, ask_openai, ask_anthropic_async, ask_openai_async])


@ALL
def test_a_stream_that_says_only_that_it_is_alive_is_given_up_when_its_time_is_over(ask: Ask) -> None:
    with pytest.raises(AskFailed, match=r"no answer within 0\.1 s") as caught:
        ask(Question("p", "m", timeout=0.1))
    assert (caught.value.reason, caught.value.transient) == ("error", True)


@ALL
def test_where_the_stage_sets_no_time_an_answer_has_one_all_the_same(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "LONGEST", 0.1)
    with pytest.raises(AskFailed, match=r"no answer within 0\.1 s"):
        ask(Question("p", "m"))


@ALL
def test_a_stream_without_end_is_given_up_for_good_when_no_answer_can_be_so_long(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = bounds.Bounds
    monkeypatch.setattr("trimtab.summarizers.anthropic.Bounds", lambda seconds: made(seconds, 100_000))
    monkeypatch.setattr("trimtab.summarizers.openai.Bounds", lambda seconds: made(seconds, 100_000))
    with pytest.raises(AskFailed, match="longer than 100,000 bytes") as caught:
        ask(Question("p", "m", timeout=60))
    assert not caught.value.transient


def test_pieces_within_the_bounds_come_as_they_are() -> None:
    response: Any = httpx2.Response(200, content=b"abc" * 10)
    bounds.Bounds(None, 30).watch(response)
    assert b"".join(response.iter_bytes(7)) == b"abc" * 10
