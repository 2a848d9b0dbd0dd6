"""A summarizer that asks Anthropic's API with the caller's client; the SDK is imported when first asked."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..effects import AskFailed, Question, Reply
from .anthropic_answers import NO_KEY, failure_of, reply_of
from .anthropic_questions import MAX_OUTPUT, parameters_of
from .base import scrub
from .bounds import Bounds

if TYPE_CHECKING:
    from anthropic import Anthropic, AsyncAnthropic

__all__ = ["MAX_OUTPUT", "AnthropicSummarizer"]


class AnthropicSummarizer:
    """Asks with ``client`` in sync runs, ``async_client`` in async ones; streams, so that no proxy gives up.

    Without an async client an async run asks with the sync one in a thread; without any, a client of
    the SDK's defaults is made when first asked. ``models`` maps names that packs use (``fast``) to the
    API's. The client's own retries are switched off for these calls: the stage repeats, and its receipt
    has each try.
    """

    def __init__(
        self,
        client: Anthropic | None = None,
        async_client: AsyncAnthropic | None = None,
        *,
        models: Mapping[str, str] | None = None,
        max_output: int = MAX_OUTPUT,
    ) -> None:
        self._client = client
        self._async_client = async_client
        self._models = dict(models or {})
        self._max_output = max_output

    def unusable(self) -> str | None:
        """Why no client can be made at all: the SDK is not installed. None where it is, or a client was given."""
        if self._client is not None or self._async_client is not None or find_spec("anthropic") is not None:
            return None
        return "the library 'anthropic' is not installed: pip install anthropic"

    def doubtful(self) -> str | None:
        """Why the API will not let it in, as far as the client knows; imports the SDK."""
        try:
            client = self._sync()
        except AskFailed as problem:
            return problem.message
        # A client of a version that knows no other credentials has none.
        known = (client.api_key, client.auth_token, getattr(client, "credentials", None))
        return None if any(known) else NO_KEY

    def answer(self, question: Question) -> Reply:
        parameters = self._parameters(question)
        client = self._sync()
        try:
            return _ask(client, parameters, question.timeout)
        except UnicodeEncodeError:
            return _ask(client, scrub(parameters), question.timeout)

    async def aanswer(self, question: Question) -> Reply:
        if self._async_client is None:
            return await asyncio.to_thread(self.answer, question)
        parameters = self._parameters(question)
        try:
            return await _aask(self._async_client, parameters, question.timeout)
        except UnicodeEncodeError:
            return await _aask(self._async_client, scrub(parameters), question.timeout)

    def _parameters(self, question: Question) -> dict[str, Any]:
        model = self._models.get(question.model, question.model)
        return parameters_of(question, model, self._max_output)

    def _sync(self) -> Anthropic:
        if self._client is None:
            if self._async_client is not None:
                raise AskFailed("unavailable", "the client is async: use `arun`, or give a sync client too")
            try:
                from anthropic import Anthropic, AnthropicError
            except ImportError as problem:
                raise AskFailed("unavailable", f"the SDK cannot be imported: {problem}") from problem
            try:
                self._client = Anthropic()
            except AnthropicError as problem:
                raise AskFailed("error", f"no client could be made: {problem}") from problem
        return self._client


def _ask(client: Anthropic, parameters: dict[str, Any], seconds: float | None) -> Reply:
    """The answer to one request, which may take so many seconds; the SDK's own limit is about each piece of it."""
    bounds = Bounds(seconds)
    stream: Any = None
    try:
        with _messages(client, parameters).stream(**parameters) as stream:
            bounds.watch(stream.response)
            for _ in stream:
                pass
            return reply_of(stream)
    except UnicodeEncodeError:
        raise
    except Exception as problem:  # whatever the SDK or its transport raises is a failed question
        raise failure_of(problem, stream) from problem


async def _aask(client: AsyncAnthropic, parameters: dict[str, Any], seconds: float | None) -> Reply:
    """The same in an event loop, whose driver may cancel it before."""
    bounds = Bounds(seconds)
    stream: Any = None
    try:
        async with _messages(client, parameters).stream(**parameters) as stream:
            bounds.watch(stream.response)
            async for _ in stream:
                pass
            return reply_of(stream)
    except UnicodeEncodeError:
        raise
    except Exception as problem:  # whatever the SDK or its transport raises is a failed question
        raise failure_of(problem, stream) from problem


def _messages(client: Any, parameters: Mapping[str, Any]) -> Any:
    once = client.with_options(max_retries=0)
    return once.beta.messages if "betas" in parameters else once.messages
