"""What conditions and expressions may ask about a run: the metrics of LANGUAGE §7 and their sources."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ..conversation.items import USE
from .stage import EVENTS

if TYPE_CHECKING:
    from ..conversation.request import Info, Request
    from ..conversation.view import Call, View
    from ..facts import Facts
    from ..matching import Categories
    from .evaluation import Lookup
    from .expressions import Quantity


class ChangeLike(Protocol):
    """The numbers of a proposal, as ``accept`` asks for them; tokens by the figure of before the edit."""

    @property
    def freed_tokens(self) -> float: ...
    @property
    def freed_bytes(self) -> float: ...
    @property
    def freed_share(self) -> float: ...
    @property
    def items(self) -> int: ...
    @property
    def cache_loss_tokens(self) -> float: ...
    @property
    def thinking_loss(self) -> int: ...


class HistoryLike(Protocol):
    """What the journal's records and this run add up to."""

    @property
    def compactions(self) -> int:
        """Commits of ``summarize`` so far."""

    @property
    def overflows(self) -> int:
        """Requests the API refused in a row, the one being handled included."""

    def committed(self, stages: Sequence[str], own: str) -> str | None:
        """Which of the stages (or a child of it) has committed since stage ``own`` was last considered."""

    def gained(self, unit: str, stages: Sequence[str], tools: Sequence[str], own: str) -> float | None:
        """What the transcript gained, in ``tokens messages rounds turns tool_calls`` or ``minutes``, after
        the newest commit of ``stages`` or call of a tool of the categories ``tools``; if neither is named,
        of stage ``own``; without a mark since the session began. None: unknown.
        """

    def failures(self, stage: str) -> tuple[int, float | None]:
        """Outcomes in a row that count against the stage's breaker, and the time of the newest, if known."""


class RefusalLike(Protocol):
    """What an overflow error says: its class, and the blocks of the refused request it names."""

    @property
    def kind(self) -> str | None: ...
    @property
    def blocks(self) -> tuple[tuple[int, int], ...]: ...


class PolicyLike(Protocol):
    @property
    def limits(self) -> Mapping[str, Quantity]: ...


class StageLike(Protocol):
    @property
    def id(self) -> str: ...


class SceneLike(Protocol):
    """All that conditions, selectors and measures look at; read-only."""

    @property
    def event(self) -> str: ...
    @property
    def stage(self) -> StageLike: ...
    @property
    def view(self) -> View: ...
    @property
    def facts(self) -> Facts: ...
    @property
    def request(self) -> Request: ...
    @property
    def policy(self) -> PolicyLike: ...
    @property
    def settings(self) -> Mapping[str, bool | float | str]: ...
    @property
    def categories(self) -> Categories: ...
    @property
    def history(self) -> HistoryLike: ...
    @property
    def tokens(self) -> float:
        """The token figure of the view's request."""

    @property
    def overhead(self) -> float:
        """Tokens of system and tools."""

    @property
    def bytes(self) -> int:
        """Bytes of the view's request."""

    @property
    def measured(self) -> bool:
        """Whether ``tokens`` rests on a usage reported after the last edit of what was already sent."""

    @property
    def error(self) -> str | None:
        """The class of the API's error (LANGUAGE §7), at ``overflow``."""

    @property
    def failure(self) -> str | None:
        """Inside ``first_of``: why the child before failed."""

    @property
    def refusal(self) -> RefusalLike | None:
        """What the API's error says, if there is one."""

    @property
    def proposal(self) -> ChangeLike | None:
        """The proposal's numbers while ``accept`` is judged."""

    def info(self, serial: int) -> Info | None: ...

    def last_response_at(self) -> float | None:
        """Time of the transcript's newest response in seconds since 1970, if known."""

    def name(self, name: str) -> float | bool | str:
        """Value of a setting, limit, metric or reserved name; raises ``NoValue``, and ``NeedsTool`` for
        anything that rests on ``tool_limit``.
        """

    def name_for(self, tool: str | None) -> Lookup:
        """``name`` with ``tool_limit`` bound to what that tool declares (None: unlimited)."""

    def metric(self, name: str) -> float | str | bool | None: ...

    def count(self, text: str) -> int:
        """Tokens of a text by itself, in the unit of ``tokens``."""

    def tokens_of(self, estimate: float) -> float:
        """Tokens, in the unit of ``tokens``, of what is estimated at so many."""

    def paths_of(self, call: Call) -> Sequence[str]:
        """The paths a call names, as the pack's fact ``files`` reads them."""

    def files_of(self, call: Call) -> Sequence[Mapping[str, Any]]:
        """Records of the fact ``files`` this call gives: ``path``, perhaps ``offset limit read edited``."""


Reading: TypeAlias = float | str | bool | None


@dataclass(frozen=True, slots=True)
class Metric:
    """``type`` is ``number``, ``text`` or ``boolean``; ``values`` are those a text can have, if they are few.

    ``of_view``: an edit may change it. ``read`` gives None where the value is unknown.
    """

    name: str
    type: str
    unit: str
    meaning: str
    read: Callable[[SceneLike], Reading]
    accept_only: bool = False
    of_view: bool = False
    values: tuple[str, ...] = ()


ERROR_CLASSES = (
    "prompt_too_long",
    "request_too_large",
    "media_too_large",
    "too_many_media",
    "bad_media",
)


def _prompt_tokens(scene: SceneLike) -> float | None:
    usage = scene.facts.usage
    if usage is not None:
        return usage.prompt
    for item in reversed(scene.view.items):
        if item.origin == "assistant":
            info = scene.info(item.serial)
            if info is not None and info.usage is not None:
                return info.usage.prompt
    return None


def _idle_minutes(scene: SceneLike) -> float | None:
    """None without a clock or the time of the newest response, and if that time lies in the future."""
    now, then = scene.facts.now, scene.last_response_at()
    return None if now is None or then is None or then > now else (now - then) / 60


def _turn_start(scene: SceneLike) -> bool:
    last = scene.view.last_user
    items = scene.view.items
    return last is not None and not any(items[i].role == "assistant" for i in range(last + 1, len(items)))


def _turn_end(scene: SceneLike) -> bool | None:
    seen = None
    for item in reversed(scene.view.items):
        if item.role != "assistant":
            if seen:
                break
            continue
        if item.mask & USE:
            return False
        seen = True
    return seen


def _request(scene: SceneLike) -> str | None:
    request = scene.facts.request
    return request.name if request is not None and scene.event == "manual" else None


def _requested_by(scene: SceneLike) -> str | None:
    request = scene.facts.request
    return request.by if request is not None and scene.event == "manual" else None


def _instructed(scene: SceneLike) -> bool:
    request = scene.facts.request
    if request is None or scene.event != "manual":
        return False
    return bool(request.instructions and request.instructions.strip())


def _of_change(field: str) -> Callable[[SceneLike], float | None]:
    def read(scene: SceneLike) -> float | None:
        change = scene.proposal
        return None if change is None else getattr(change, field)

    return read


def _number(
    name: str, unit: str, meaning: str, read: Callable[[SceneLike], float | None], of_view: bool = False
) -> Metric:
    return Metric(name, "number", unit, meaning, read, of_view=of_view)


def _change(name: str, unit: str, meaning: str) -> Metric:
    return Metric(name, "number", unit, meaning, _of_change(name), accept_only=True, of_view=True)


_ALL = (
    _number(
        "tokens",
        "tokens",
        "the view's request with system and tools: last reported usage plus an estimate of the rest",
        lambda s: s.tokens,
        of_view=True,
    ),
    _number("overhead_tokens", "tokens", "system and tools", lambda s: s.overhead),
    _number(
        "message_tokens",
        "tokens",
        "the messages alone: tokens less overhead_tokens",
        lambda s: max(0.0, s.tokens - s.overhead),
        of_view=True,
    ),
    _number(
        "prompt_tokens", "tokens", "input side of the last reported usage, cache included", _prompt_tokens
    ),
    _number("bytes", "bytes", "size of the view's request", lambda s: s.bytes, of_view=True),
    _number("messages", "messages", "messages in the view", lambda s: len(s.view.items), of_view=True),
    _number(
        "rounds", "rounds", "model responses with their results, in the view", lambda s: s.view.rounds, True
    ),
    _number(
        "turns", "turns", "turns in the view, from one user message to the next", lambda s: s.view.turns, True
    ),
    _number("tool_calls", "calls", "tool calls in the view", lambda s: s.view.tool_calls, of_view=True),
    _number("images", "images", "images and documents in the view", lambda s: s.view.images, of_view=True),
    _number("idle_minutes", "minutes", "time since the last response", _idle_minutes),
    _number("compactions", "commits", "commits of summarize so far", lambda s: s.history.compactions),
    _number(
        "overflows", "refusals", "requests refused in a row, this one included", lambda s: s.history.overflows
    ),
    Metric("event", "text", "", "the event of the run", lambda s: s.event, values=EVENTS),
    Metric(
        "caller",
        "text",
        "",
        "the loop that sends the request: main, a sub-agent, compact",
        lambda s: s.facts.caller,
    ),
    Metric("model", "text", "", "the model the request names", lambda s: s.request.model),
    Metric("request", "text", "", "the name of a manual request", _request),
    Metric(
        "requested_by",
        "text",
        "",
        "who made a manual request",
        _requested_by,
        values=("user", "model", "hook"),
    ),
    Metric("error", "text", "", "the class of the API's error", lambda s: s.error, values=ERROR_CLASSES),
    Metric(
        "failure",
        "text",
        "",
        "inside first_of: why the child before failed; breaker if its breaker kept it from trying",
        lambda s: s.failure,
    ),
    Metric(
        "measured",
        "boolean",
        "",
        "tokens rests on a usage reported after the last edit of what was already sent",
        lambda s: s.measured,
        of_view=True,
    ),
    Metric("turn_start", "boolean", "", "the request opens a turn", _turn_start, of_view=True),
    Metric("turn_end", "boolean", "", "the response called no tool", _turn_end, of_view=True),
    Metric("instructed", "boolean", "", "a manual run with instructions", _instructed),
    _change("freed_tokens", "tokens", "what the edit takes off the request"),
    _change("freed_bytes", "bytes", "what the edit takes off the request"),
    _change("freed_share", "share", "freed_tokens as a share of the tokens before the edit"),
    _change("items", "items", "blocks or messages the edit touches"),
    _change("cache_loss_tokens", "tokens", "what stands behind the first changed message"),
    _change("thinking_loss", "blocks", "signed thinking blocks that would go"),
)

METRICS: Mapping[str, Metric] = {metric.name: metric for metric in _ALL}
"""Every metric by name, in the order of LANGUAGE §7."""

NUMBERS: frozenset[str] = frozenset(metric.name for metric in _ALL if metric.type == "number")
"""The metrics an expression may name; those of ``accept`` only there."""
