"""A summarizer that asks an OpenAI-compatible endpoint (chat completions); the SDK, an extra, is imported when first
asked.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..conversation.request import Usage
from ..effects import AskFailed, Question, Reply
from .base import plain_text, refuse_compaction, scrub
from .bounds import Bounds
from .failures import on_the_way, passes, too_long
from .headers import repeatable, retry_after

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI

NO_KEY = "none"
"""Sent to an endpoint of one's own where there is no key: local servers want none, and the SDK wants one."""
OWN_HOST = "api.openai.com"

STOPS: Mapping[str, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
}
"""Finish reasons, as the Messages API calls them."""

_TOO_LONG = (
    re.compile(
        r"maximum context length is (?P<limit>\d{1,15}) tokens.*?(?:resulted in|requested) (?P<size>\d{1,15})",
        re.S,
    ),
    re.compile(r"context_length_exceeded|maximum context|exceeds? (?:the )?(?:available )?context", re.I),
)


class OpenAISummarizer:
    """Asks ``model`` at ``url``; without them the model the stage names, and where the SDK looks for the endpoint.

    The conversation goes as one text, for messages of another API are none of this one's. Clients, names in
    ``models`` and who repeats are as for ``AnthropicSummarizer``.
    """

    def __init__(
        self,
        client: OpenAI | None = None,
        async_client: AsyncOpenAI | None = None,
        *,
        model: str | None = None,
        url: str | None = None,
        models: Mapping[str, str] | None = None,
    ) -> None:
        self._client = client
        self._async_client = async_client
        self._model = model
        self._url = url
        self._models = dict(models or {})

    @classmethod
    def named(cls, spec: str) -> OpenAISummarizer:
        """From ``MODEL``, ``@URL`` or ``MODEL@URL``; a model's name may hold an ``@`` of its own. Raises ValueError."""
        found = re.fullmatch(r"(?P<model>.*?)(?:@(?P<url>https?://\S+))?", spec.strip())
        model = found["model"] if found is not None else "@"
        if found is None or not (model or found["url"]) or model.startswith("@") or "@http" in model:
            raise ValueError(f"{spec!r} names no model; `openai:MODEL` or `openai:MODEL@URL` is expected")
        return cls(model=model or None, url=found["url"])

    def unusable(self) -> str | None:
        """Why no client can be made at all: the SDK is not installed. None where it is, or a client was given."""
        if self._client is not None or self._async_client is not None or find_spec("openai") is not None:
            return None
        return "the library 'openai' is not installed: pip install 'trimtab[openai]'"

    def doubtful(self) -> str | None:
        """Why the endpoint will not let it in, as far as a client of its own knows; imports the SDK."""
        if self._client is not None or self._async_client is not None:
            return None
        try:
            self._sync()
        except AskFailed as problem:
            return problem.message
        return None

    def answer(self, question: Question) -> Reply:
        refuse_compaction(question)
        client = self._sync()
        return _ask(client, self._parameters(question, client), question.timeout)

    async def aanswer(self, question: Question) -> Reply:
        if self._async_client is None:
            return await asyncio.to_thread(self.answer, question)
        refuse_compaction(question)
        parameters = self._parameters(question, self._async_client)
        return await _aask(self._async_client, parameters, question.timeout)

    def _sync(self) -> OpenAI:
        if self._client is None:
            if self._async_client is not None:
                raise AskFailed("unavailable", "the client is async: use `arun`, or give a sync client too")
            try:
                from openai import OpenAI, OpenAIError
            except ImportError as problem:
                raise AskFailed(
                    "unavailable", f"the SDK cannot be imported ({problem}): pip install 'trimtab[openai]'"
                ) from problem
            key = os.environ.get("OPENAI_API_KEY") or (NO_KEY if self._url else None)
            try:
                self._client = OpenAI(api_key=key, base_url=self._url)
            except OpenAIError as problem:
                raise AskFailed("unavailable", f"no client could be made: {problem}") from problem
        return self._client

    def _parameters(self, question: Question, client: Any) -> dict[str, Any]:
        model = self._model or self._models.get(question.model, question.model)
        found: dict[str, Any] = {"model": model, "stream": True, "stream_options": {"include_usage": True}}
        if question.request is None and question.system:
            asked = {"role": "user", "content": question.prompt}
            found["messages"] = [{"role": "system", "content": question.system}, asked]
        else:
            found["messages"] = [{"role": "user", "content": plain_text(question)}]
        if question.max_output is not None:
            # The newer name is the vendor's; other servers know the older one.
            own = client.base_url.host == OWN_HOST
            found["max_completion_tokens" if own else "max_tokens"] = question.max_output
        if question.effort is not None:
            found["reasoning_effort"] = question.effort
        if question.timeout is not None:
            found["timeout"] = question.timeout
        clean: dict[str, Any] = scrub(found)
        return clean


class _Heard:
    """What has come of an answer so far."""

    def __init__(self, model: str) -> None:
        self.model = model
        self.text: list[str] = []
        self.finish: str | None = None
        self.usage: Usage | None = None
        self.any = False

    def take(self, chunk: Any) -> None:
        self.any = True
        self.model = chunk.model or self.model
        if chunk.usage is not None:
            self.usage = _usage(chunk.usage, self.model)
        for choice in (chunk.choices or ())[:1]:
            self.text.append(choice.delta.content or "")
            if getattr(choice.delta, "refusal", None):
                self.finish = "content_filter"
            self.finish = self.finish or choice.finish_reason

    def reply(self) -> Reply:
        """The whole answer. Raises AskFailed where it is not whole."""
        if self.finish is None:
            words = (
                "the stream ended before the answer did" if self.any else "the answer is no stream of events"
            )
            raise AskFailed("error", words, transient=True, usage=self.usage)
        stop = STOPS.get(self.finish, self.finish)
        # JSON can spell half a surrogate pair, which no later request could carry.
        return Reply(scrub("".join(self.text)), stop, self.usage, model=self.model)


def _ask(client: OpenAI, parameters: dict[str, Any], seconds: float | None) -> Reply:
    bounds = Bounds(seconds)
    heard = _Heard(parameters["model"])
    try:
        with client.with_options(max_retries=0).chat.completions.create(**parameters) as stream:
            bounds.watch(stream.response)
            for chunk in stream:
                heard.take(chunk)
        return heard.reply()
    except Exception as problem:  # whatever the SDK or its transport raises is a failed question
        raise _failure(problem, heard) from problem


async def _aask(client: AsyncOpenAI, parameters: dict[str, Any], seconds: float | None) -> Reply:
    bounds = Bounds(seconds)
    heard = _Heard(parameters["model"])
    try:
        async with await client.with_options(max_retries=0).chat.completions.create(**parameters) as stream:
            bounds.watch(stream.response)
            async for chunk in stream:
                heard.take(chunk)
        return heard.reply()
    except Exception as problem:  # whatever the SDK or its transport raises is a failed question
        raise _failure(problem, heard) from problem


def _failure(problem: Exception, heard: _Heard) -> AskFailed:
    """What an error of the SDK, or of the transport under it, means to a stage; see API-FACTS §6."""
    import openai

    def passing(words: str) -> AskFailed:
        return AskFailed("error", words, transient=True, usage=heard.usage)

    if isinstance(problem, AskFailed):
        return problem
    if (failure := on_the_way(problem, openai, "the endpoint", heard.usage)) is not None:
        return failure
    if isinstance(problem, openai.APIStatusError):
        return _status(problem)
    if isinstance(problem, openai.APIError):
        return passing(f"the endpoint broke off: {problem.message}")
    if heard.any and isinstance(problem, ValueError):
        return passing(f"the stream cannot be read: {problem}")
    return AskFailed("error", f"{type(problem).__name__}: {problem}", usage=heard.usage)


def _status(problem: Any) -> AskFailed:
    status, headers = problem.status_code, problem.response.headers
    body = problem.body if isinstance(problem.body, Mapping) else {}
    message, code = str(body.get("message") or problem.message), str(problem.code or "")
    text = f"the endpoint answered {status}: {message}"
    size, limit = body.get("n_prompt_tokens"), body.get("n_ctx")
    if isinstance(size, int) and isinstance(limit, int):
        return AskFailed("too_long", text, size - limit, size_tokens=size)
    if status == 413:
        return AskFailed("too_long", text)
    if status == 404:
        return AskFailed("unavailable", text)
    if "content_filter" in code or "content_policy" in code:
        return AskFailed("refusal", text)
    if passes(status):
        again = repeatable(headers, code != "insufficient_quota")
        return AskFailed("error", text, transient=again, retry_after=retry_after(headers))
    if (failure := too_long(_TOO_LONG, f"{code} {message}", text)) is not None:
        return failure
    return AskFailed("error", text, transient=repeatable(headers, False))


def _usage(raw: Any, model: str) -> Usage:
    """There the input is the whole input side."""
    details = getattr(raw, "prompt_tokens_details", None)
    read = int(getattr(details, "cached_tokens", None) or 0)
    return Usage(max(0, raw.prompt_tokens - read), read, 0, raw.completion_tokens, model)
