"""A summarizer that asks Anthropic's API with the caller's client; the SDK is imported when first asked."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..conversation.request import Usage
from ..effects import AskFailed, Question, Reply
from .base import scrub

if TYPE_CHECKING:
    from anthropic import Anthropic, AsyncAnthropic

MAX_OUTPUT = 20_000
"""Tokens an answer may have where the stage does not say; what the ``claude-code`` pack reserves for one."""

NO_KEY = "no key: set ANTHROPIC_API_KEY, or give a client of your own"

_KEPT = ("container", "inference_geo", "metadata", "output_config", "service_tier", "speed", "thinking")
"""Fields of a native request that go along: what decides whether the cache is hit must be as the agent
sent it, what starts tools, edits the context or shapes the output must not be there."""

_TOO_LONG = (
    re.compile(r"prompt is too long: (?P<size>\d+) tokens > (?P<limit>\d+)"),
    re.compile(r"exceed context limit: (?P<size>\d+) \+ (?P<more>\d+) > (?P<limit>\d+)"),
    re.compile(r"prompt is too long|exceeds? (?:the )?(?:maximum )?context"),
)
"""API-FACTS §6; the last one is for gateways that reword the text."""
_MEDIA = re.compile(r"image_|\bimages?\b.*(?:exceed|invalid)|too many images|could not process|\bpdf", re.I)
_TRANSIENT = frozenset({408, 409, 429})


class AnthropicSummarizer:
    """Asks with ``client`` in sync runs, ``async_client`` in async ones; streams, so that no proxy gives up.

    Without an async client an async run asks with the sync one in a thread; without any, a client of
    the SDK's defaults is made when first asked. ``models`` maps names that packs use (``fast``) to the
    API's.
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
            return _ask(client, parameters)
        except UnicodeEncodeError:
            return _ask(client, scrub(parameters))

    async def aanswer(self, question: Question) -> Reply:
        if self._async_client is None:
            return await asyncio.to_thread(self.answer, question)
        parameters = self._parameters(question)
        try:
            return await _aask(self._async_client, parameters)
        except UnicodeEncodeError:
            return await _aask(self._async_client, scrub(parameters))

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

    def _parameters(self, question: Question) -> dict[str, Any]:
        request = question.request
        limit = question.max_output or self._max_output
        asked = {"role": "user", "content": question.prompt}
        found: dict[str, Any] = {"model": self._models.get(question.model, question.model)}
        if request is None:
            found["messages"] = [asked]
            if question.system:
                found["system"] = question.system
        else:
            if request.format != "anthropic":
                raise AskFailed("error", f"this API takes no {request.format} request")
            found |= {key: request.extra[key] for key in _KEPT if request.extra.get(key) is not None}
            found["messages"] = [*request.messages, asked]
            if request.system:
                found["system"] = request.system
            if request.tools:
                found["tools"] = request.tools
                found["tool_choice"] = {"type": "none"}
            if betas := request.extra.get("betas"):
                found["extra_headers"] = {"anthropic-beta": ",".join(betas)}
        output = {key: value for key, value in found.pop("output_config", {}).items() if key != "format"}
        if question.effort == "none":
            found["thinking"] = {"type": "disabled"}
        elif question.effort is not None:
            output["effort"] = question.effort
        if output:
            found["output_config"] = output
        # A thinking budget is part of the output and must leave room for the text.
        found["max_tokens"] = limit + int(found.get("thinking", {}).get("budget_tokens") or 0)
        if question.timeout is not None:
            found["timeout"] = question.timeout
        return found


def _ask(client: Anthropic, parameters: dict[str, Any]) -> Reply:
    try:
        with client.messages.stream(**parameters) as stream:
            return _reply(stream.get_final_message())
    except UnicodeEncodeError:
        raise
    except Exception as problem:  # whatever the SDK or its transport raises is a failed question
        raise _failure(problem) from problem


async def _aask(client: AsyncAnthropic, parameters: dict[str, Any]) -> Reply:
    try:
        async with client.messages.stream(**parameters) as stream:
            return _reply(await stream.get_final_message())
    except UnicodeEncodeError:
        raise
    except Exception as problem:  # whatever the SDK or its transport raises is a failed question
        raise _failure(problem) from problem


def _reply(message: Any) -> Reply:
    text = "".join(block.text for block in message.content if block.type == "text")
    usage = Usage.of(message.usage.model_dump(), message.model)
    return Reply(text, message.stop_reason or "end_turn", usage, model=message.model)


def _failure(problem: Exception) -> AskFailed:
    """What the API's error means to a stage; see API-FACTS §6."""
    import anthropic

    if isinstance(problem, anthropic.APITimeoutError):
        return AskFailed("error", "the API did not answer in time", transient=True)
    if isinstance(problem, anthropic.APIConnectionError):
        return AskFailed("error", f"the API could not be reached: {problem}", transient=True)
    if isinstance(problem, TypeError) and "authentication method" in str(problem):
        return AskFailed("unavailable", NO_KEY)
    if not isinstance(problem, anthropic.APIStatusError):
        return AskFailed("error", f"{type(problem).__name__}: {problem}")
    status, message = problem.status_code, _words(problem)
    kind = str(problem.type or "")
    text = f"the API answered {status}: {message}"
    if status == 413 or kind == "request_too_large":
        return AskFailed("too_long", text)
    if status == 404 or kind == "not_found_error":
        return AskFailed("unavailable", text)
    if status in _TRANSIENT or status >= 500 or kind in ("overloaded_error", "api_error", "rate_limit_error"):
        return AskFailed("error", text, transient=True)
    for pattern in _TOO_LONG:
        if found := pattern.search(message):
            number = {key: int(value) for key, value in found.groupdict().items()}
            excess = number["size"] + number.get("more", 0) - number["limit"] if number else None
            return AskFailed("too_long", text, excess)
    return AskFailed("media" if _MEDIA.search(f"{problem.error_code or ''} {message}") else "error", text)


def _words(problem: Any) -> str:
    body = problem.body
    inner = body.get("error") if isinstance(body, Mapping) else None
    words = inner.get("message") if isinstance(inner, Mapping) else None
    return str(words or problem.message)
