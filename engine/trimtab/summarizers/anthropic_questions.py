"""A question as the parameters of a call of the Messages API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..conversation.request import Request
from ..directives import COMPACT_BETA
from ..effects import AskFailed, Question
from ..tokens.models import lookup

MAX_OUTPUT = 20_000
"""Tokens an answer may have where the stage does not say; what the ``claude-code`` pack reserves for one."""

_KEPT = ("container", "inference_geo", "metadata", "output_config", "service_tier", "speed", "thinking")
"""Fields of a native request that go along: what decides whether the cache is hit must be as the agent
sent it, what starts tools, edits the context or shapes the output must not be there."""

_CLIENT_TOOLS = ("bash_", "text_editor_", "computer_", "memory_")
"""Beginnings of the types of tools that only a client can run; the API runs all others that have a type."""


def parameters_of(question: Question, model: str, max_output: int = MAX_OUTPUT) -> dict[str, Any]:
    """What ``messages.stream`` is called with; with ``betas`` in it, ``beta.messages.stream``.

    Raises AskFailed.
    """
    request = question.request
    if request is not None and request.format != "anthropic":
        raise AskFailed("error", f"this API takes no {request.format} request")
    found: dict[str, Any] = {"model": model}
    if question.compacts:
        found |= _compaction(question)
    elif request is None:
        found["messages"] = [{"role": "user", "content": question.prompt}]
        if question.system:
            found["system"] = question.system
    else:
        found |= _native(request)
        found["messages"] = [*request.messages, {"role": "user", "content": question.prompt}]
        if request.tools:
            choice = _tool_choice(request, question.forbids_tools)
            if choice is not None:
                found["tool_choice"] = choice
    output = {
        key: value for key, value in (found.pop("output_config", None) or {}).items() if key != "format"
    }
    if question.effort == "none":
        found["thinking"] = {"type": "disabled"}
    elif question.effort is not None:
        output["effort"] = question.effort
    if output:
        found["output_config"] = output
    found["max_tokens"] = _most(question, found, max_output)
    if question.timeout is not None:
        found["timeout"] = question.timeout
    return found


def _native(request: Request) -> dict[str, Any]:
    """The agent's own request, as far as it decides what the cache holds."""
    found = {key: request.extra[key] for key in _KEPT if request.extra.get(key) is not None}
    found["messages"] = list(request.messages)
    if request.system:
        found["system"] = request.system
    if request.tools:
        found["tools"] = request.tools
    betas = list(request.extra.get("betas") or ())
    if _compacted(request.messages) and COMPACT_BETA not in betas:
        betas.append(COMPACT_BETA)
    if betas:
        found["betas"] = betas
    return found


def _compaction(question: Question) -> dict[str, Any]:
    """The API is asked for its own compaction of the request."""
    request = question.request
    if request is None:
        raise AskFailed("unavailable", "the API compacts a request, not a text")
    found = _native(request)
    found["betas"] = list(dict.fromkeys([*found.get("betas", ()), COMPACT_BETA]))
    found["compaction"] = {"type": "summarize"}
    if question.prompt.strip():
        found["compaction"]["instructions"] = question.prompt
    return found


def _compacted(messages: Iterable[Mapping[str, Any]]) -> bool:
    for message in messages:
        content = message.get("content")
        for block in content if isinstance(content, list | tuple) else ():
            if isinstance(block, Mapping) and block.get("type") == "compaction":
                return True
    return False


def _tool_choice(request: Request, forbids: bool) -> Mapping[str, Any] | None:
    """The agent's own, for the cache hangs on it; but nothing that has a tool called, or lets the API run one."""
    own = request.extra.get("tool_choice")
    kind = own.get("type") if isinstance(own, Mapping) else None
    if forbids or kind in ("any", "tool") or any(map(_runs_itself, request.tools or ())):
        return {"type": "none"}
    return own if isinstance(own, Mapping) else None


def _runs_itself(tool: Any) -> bool:
    kind = tool.get("type") if isinstance(tool, Mapping) else None
    return isinstance(kind, str) and kind != "custom" and not kind.startswith(_CLIENT_TOOLS)


def _most(question: Question, found: Mapping[str, Any], max_output: int) -> int:
    """Tokens of the answer, never more than the model can give.

    Where the stage does not say, it is the agent's own limit, unless that is too little for a summary. A
    thinking budget is part of the output and must leave room for the text.
    """
    own = question.request.extra.get("max_tokens") if question.request is not None else None
    usual = max(max_output, own) if isinstance(own, int) and not isinstance(own, bool) else max_output
    thinking = found.get("thinking") or {}
    budget = int(thinking.get("budget_tokens") or 0) if isinstance(thinking, Mapping) else 0
    most = lookup(found["model"]).max_output
    return min((question.max_output or usual) + budget, max(most, budget + 1))
