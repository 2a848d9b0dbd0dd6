"""What the Messages API says, as a reply or as a failure a stage understands (API-FACTS §3, §6)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..conversation.request import Usage
from ..effects import AskFailed, Reply
from .base import scrub
from .failures import on_the_way, passes, too_long
from .headers import repeatable, retry_after

NO_KEY = "no key: set ANTHROPIC_API_KEY, or give a client of your own"

_TOO_LONG = (
    re.compile(r"prompt is too long: (?P<size>\d{1,15}) tokens > (?P<limit>\d{1,15})"),
    re.compile(r"exceed context limit: (?P<size>\d{1,15}) \+ (?P<more>\d{1,15}) > (?P<limit>\d{1,15})"),
    re.compile(r"prompt is too long|exceeds? (?:the )?(?:maximum )?context"),
)
"""API-FACTS §6; the last one is for gateways that reword the text."""
_MEDIA = re.compile(r"image_|\bimages?\b.*(?:exceed|invalid)|too many images|could not process|\bpdf", re.I)
_PASSING = frozenset({"overloaded_error", "api_error", "rate_limit_error", "timeout_error"})
_UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, AssertionError, RecursionError)
"""What the SDK raises at events that are not what it knows: it trusts their types."""
_NO_COMPACTION = re.compile(r"^compaction: (?:Extra inputs|.*not (?:supported|available|enabled))", re.I)


def reply_of(stream: Any) -> Reply:
    """The answer of a stream that has ended. Raises AskFailed where it holds no whole one."""
    message = _heard(stream)
    if message is None:
        kind = str(stream.response.headers.get("content-type") or "no type")
        raise AskFailed("error", f"the answer is no stream of events ({kind[:80]})", transient=True)
    if message.stop_reason is None:
        raise AskFailed(
            "error", "the stream ended before the answer did", transient=True, usage=_usage(message)
        )
    if not isinstance(message.stop_reason, str):
        kind = type(message.stop_reason).__name__
        raise AskFailed(
            "error", f"the answer's stop reason is a {kind}", transient=True, usage=_usage(message)
        )
    usage = _usage(message)
    model = message.model if isinstance(message.model, str) else None
    block = next((one for one in message.content if one.type == "compaction"), None)
    if block is not None:
        # Unsent fields stay away: a compaction block goes back as it came.
        given = block.model_dump(mode="json", exclude_unset=True, warnings=False)
        if not given.get("content"):
            return Reply("", message.stop_reason, usage, model=model)
        return Reply(given["content"], message.stop_reason, usage, model=model, block=given)
    text = "".join(block.text for block in message.content if block.type == "text")
    # JSON can spell half a surrogate pair, which no later request could carry.
    return Reply(scrub(text), message.stop_reason, usage, model=model)


def failure_of(problem: Exception, stream: Any = None) -> AskFailed:
    """What an error of the SDK, or of the transport under it, means to a stage.

    ``stream``: as far as it had come; what it had told of its usage is paid for.
    """
    import anthropic

    if isinstance(problem, AskFailed):
        return problem
    message = _heard(stream)
    usage = None if message is None else _usage(message)

    if (failure := on_the_way(problem, anthropic, "the API", usage)) is not None:
        return failure
    if stream is not None and isinstance(problem, _UNREADABLE):
        words = f"the stream cannot be read: {type(problem).__name__}: {problem}"
        return AskFailed("error", words, transient=True, usage=usage)
    if isinstance(problem, TypeError) and "authentication method" in str(problem):
        return AskFailed("unavailable", NO_KEY)
    if not isinstance(problem, anthropic.APIStatusError):
        return AskFailed("error", f"{type(problem).__name__}: {problem}", usage=usage)
    return _status(problem, usage)


def _status(problem: Any, usage: Usage | None) -> AskFailed:
    status, message, kind = problem.status_code, _words(problem), str(problem.type or "")
    # In the middle of a stream the status has long been 200; the type of the error says more.
    text = f"the API answered {kind if status < 400 and kind else status}: {message}"
    headers = problem.response.headers
    if status == 413 or kind == "request_too_large":
        return AskFailed("too_long", text)
    if status == 404 or kind == "not_found_error":
        return AskFailed("unavailable", text)
    if passes(status) or kind in _PASSING:
        again, wait = repeatable(headers, True), retry_after(headers)
        return AskFailed("error", text, transient=again, retry_after=wait, usage=usage)
    if _NO_COMPACTION.search(message):
        return AskFailed("unavailable", text)
    if (failure := too_long(_TOO_LONG, message, text)) is not None:
        return failure
    reason = "media" if _MEDIA.search(f"{problem.error_code or ''} {message}") else "error"
    return AskFailed(reason, text, transient=repeatable(headers, False))


def _heard(stream: Any) -> Any:
    """The message as far as it has come; None before its beginning."""
    try:
        return None if stream is None else stream.current_message_snapshot
    except AssertionError:
        return None


def _usage(message: Any) -> Usage | None:
    """What is paid for: of a call with iterations all of them, for a compaction's totals are 0; None if not told."""
    if message.usage is None:
        return None
    raw: dict[str, Any] = message.usage.model_dump(warnings=False)
    whole, parts = Usage.of(raw, message.model), raw.get("iterations")
    each = [Usage.of(part) for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else []
    if not each:
        return whole
    return replace(
        whole,
        input=sum(one.input for one in each),
        cache_read=sum(one.cache_read for one in each),
        cache_write=sum(one.cache_write for one in each),
        output=sum(one.output or 0 for one in each),
        cache_write_hour=sum(one.cache_write_hour for one in each),
    )


def _words(problem: Any) -> str:
    body = problem.body
    inner = body.get("error") if isinstance(body, Mapping) else None
    words = inner.get("message") if isinstance(inner, Mapping) else None
    return str(words or problem.message)
