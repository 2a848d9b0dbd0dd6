"""What the interpreter may ask of the world, and the two drivers that answer it.

The core is a generator: it yields effects and is sent their replies. It never does I/O itself, so the
same core runs synchronously, asynchronously and dry.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from .conversation.request import Request, Usage

T = TypeVar("T")

REASONS = (
    "too_long",
    "empty",
    "truncated",
    "tool_call",
    "refusal",
    "invalid",
    "larger",
    "rejected",
    "unavailable",
    "vetoed",
    "media",
    "error",
)
"""Why a model's text could not be had or used (LANGUAGE §9; ``media`` is the ladder's)."""

STOPS = (
    "end_turn",
    "max_tokens",
    "stop_sequence",
    "tool_use",
    "pause_turn",
    "refusal",
    "model_context_window_exceeded",
)
"""Stop reasons of the API (API-FACTS §6); a port may report another one, which counts as unusable."""


@dataclass(frozen=True, slots=True)
class Question:
    """One call of a writing model.

    ``model`` is the name to send (``same`` is resolved before). With ``request`` the call is native:
    system, tools and messages of that request, then ``prompt`` as one more user message; ``system`` is
    then unused. Without it ``prompt`` is the whole user message and ``system`` the system prompt.
    ``max_output`` is in tokens, ``timeout`` in seconds (None: the port's own), ``effort`` is
    ``none low medium high`` or None. ``forbids_tools``: the API itself is to let no tool be
    called, at the price of its cache. ``compacts``: the API's own compaction of ``request`` is asked for,
    and ``prompt`` holds further wishes, if any; a port that has none is ``unavailable``.
    """

    prompt: str
    model: str
    request: Request | None = None
    system: str | None = None
    max_output: int | None = None
    effort: str | None = None
    timeout: float | None = None
    forbids_tools: bool = False
    compacts: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer. ``stop`` is one of ``STOPS``; ``assumed`` marks a stand-in that no model wrote.

    ``block`` is what the API's own compaction gives: a block that stands for the messages, and ``text`` what of
    it can be read.
    """

    text: str
    stop: str = "end_turn"
    usage: Usage | None = None
    assumed: bool = False
    model: str | None = None
    block: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class HookReply:
    """What a hook answers: more ``instructions``, a ``veto`` (the reason), a ``text`` for the
    conversation.
    """

    instructions: str | None = None
    veto: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask a model; the reply is a ``Reply``.

    ``purpose`` is ``summary notes digest review``; ``declared`` the tokens the stage declares for the
    answer: a dry run answers with a stand-in of that size (None: 4,000).
    """

    question: Question
    purpose: str = "summary"
    declared: int | None = None

    @property
    def timeout(self) -> float | None:
        """Seconds until the driver gives up; None: never."""
        return self.question.timeout


@dataclass(frozen=True, slots=True)
class Put:
    """Write ``text`` to the store under ``name`` (``folder/file``); the reply is the path the agent can
    open.
    """

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Get:
    """Text of the store's file ``name``, None if there is none."""

    name: str


@dataclass(frozen=True, slots=True)
class Read:
    """Text of a file on the host's disk, of ``limit`` bytes at most; None if it cannot be had."""

    path: str
    limit: int


@dataclass(frozen=True, slots=True)
class Hook:
    """Call the host's hook at ``moment`` (``before_summary after_summary``); the reply is a ``HookReply``
    or None.
    """

    moment: str
    stage: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Count:
    """Tokens of a request, from a counter that needs the network."""

    request: Request


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait at most ``timeout`` seconds for the background job of stage ``job``: its result, or None."""

    job: str
    timeout: float


@dataclass(frozen=True, slots=True)
class Pause:
    """Let ``seconds`` pass before the next effect; a dry run lets none pass. There is no reply."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Redact:
    """Take secrets out of texts; the reply is the texts in the same order, and how many places that were.

    With ``names`` the texts follow each other, and each fills a field of this name (None: no field). ``to_ask``: they
    are for a summarizer; where there is none, that is said at once.
    """

    texts: tuple[str, ...]
    names: tuple[str | None, ...] = ()
    to_ask: bool = False


Effect: TypeAlias = Ask | Put | Get | Read | Hook | Count | Wait | Pause | Redact
Core: TypeAlias = Generator[Effect, Any, T]
"""A generator of effects that returns a ``T``."""


class AskFailed(Exception):
    """A summarizer has no text to offer.

    ``reason`` is one of ``REASONS``; ``excess_tokens`` and ``size_tokens`` say, with ``too_long``, by how much
    the request was too long and how long it was, if the API told; ``transient`` that the same request may well
    succeed a little later, and ``retry_after`` in how many seconds, if the API told. ``usage`` is what was paid
    all the same.
    """

    def __init__(
        self,
        reason: str,
        message: str,
        excess_tokens: int | None = None,
        *,
        transient: bool = False,
        retry_after: float | None = None,
        usage: Usage | None = None,
        size_tokens: int | None = None,
    ) -> None:
        if reason not in REASONS:
            raise ValueError(f"unknown failure reason {reason!r}; the reasons are {' '.join(REASONS)}")
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.excess_tokens = excess_tokens
        self.transient = transient
        self.retry_after = retry_after
        self.usage = usage
        self.size_tokens = size_tokens


class EffectFailed(Exception):
    """Thrown into the core where it yielded ``effect``; ``problem`` is what the port raised.

    ``reason`` is one of ``REASONS``: the summarizer's own, else ``error``. A timeout is a transient
    ``error``.
    """

    def __init__(self, effect: Effect, problem: Exception, reason: str | None = None) -> None:
        asked = problem if isinstance(problem, AskFailed) else None
        self.effect = effect
        self.problem = problem
        self.reason = reason or (asked.reason if asked else "error")
        self.excess_tokens = asked.excess_tokens if asked else None
        self.transient = asked.transient if asked else isinstance(problem, TimeoutError | ConnectionError)
        self.retry_after = asked.retry_after if asked else None
        self.usage = asked.usage if asked else None
        self.size_tokens = asked.size_tokens if asked else None
        super().__init__(str(problem) or type(problem).__name__)


def ask(question: Question, purpose: str = "summary", declared: int | None = None) -> Core[Reply]:
    """Ask a model. Raises EffectFailed."""
    reply: Reply = yield Ask(question, purpose, declared)
    return reply


def put(name: str, text: str) -> Core[str]:
    """Store a text and get the path the agent can open. Raises EffectFailed: then nothing may rely on the
    file.
    """
    place: str = yield Put(name, text)
    return place


def get(name: str) -> Core[str | None]:
    """Text of a stored file, or None. Raises EffectFailed."""
    text: str | None = yield Get(name)
    return text


def read(path: str, limit: int) -> Core[str | None]:
    """Text of a file on the host's disk, or None. Raises EffectFailed."""
    text: str | None = yield Read(path, limit)
    return text


def hook(moment: str, stage: str, text: str = "") -> Core[HookReply | None]:
    """What the host's hook says, None if it has none. Raises EffectFailed."""
    reply: HookReply | None = yield Hook(moment, stage, text)
    return reply


def count(request: Request) -> Core[int]:
    """Tokens of a request. Raises EffectFailed."""
    tokens: int = yield Count(request)
    return tokens


def redact(
    texts: Sequence[str], names: Sequence[str | None] = (), *, to_ask: bool = False
) -> Core[tuple[tuple[str, ...], int]]:
    """Texts without their secrets, and how many places that were. Raises EffectFailed: then none may be used."""
    if not texts:
        return (), 0
    reply: tuple[tuple[str, ...], int] = yield Redact(tuple(texts), tuple(names), to_ask)
    return reply


def wait(job: str, timeout: float) -> Core[Any]:
    """Result of a background job, None if it isn't there in time. Raises EffectFailed."""
    result: Any = yield Wait(job, timeout)
    return result


def pause(seconds: float) -> Core[None]:
    """Let time pass."""
    yield Pause(seconds)


def drive(core: Core[T], perform: Callable[[Effect], Any]) -> T:
    """Run ``core`` to its end; ``perform`` answers each effect.

    What ``perform`` raises reaches the core as EffectFailed; what is no Exception (KeyboardInterrupt,
    …) ends the run. An ``Ask`` with a timeout is performed in a worker thread, because a blocked call
    cannot be interrupted.
    """
    reply: Any = None
    failure: EffectFailed | None = None
    try:
        while True:
            effect = core.send(reply) if failure is None else core.throw(failure)
            reply = failure = None
            seconds = _seconds(effect)
            try:
                reply = perform(effect) if seconds is None else _in_worker(perform, effect, seconds)
            except Exception as problem:  # every failure of a port is the stage's to handle
                failure = EffectFailed(effect, problem)
    except StopIteration as done:
        result: T = done.value
        return result
    finally:
        core.close()


async def adrive(core: Core[T], perform: Callable[[Effect], Awaitable[Any]]) -> T:
    """The same with an async ``perform``; cancelling ends the run and closes the core."""
    reply: Any = None
    failure: EffectFailed | None = None
    try:
        while True:
            effect = core.send(reply) if failure is None else core.throw(failure)
            reply = failure = None
            seconds = _seconds(effect)
            try:
                reply = await (perform(effect) if seconds is None else _in_time(perform, effect, seconds))
            except Exception as problem:  # every failure of a port is the stage's to handle
                failure = EffectFailed(effect, problem)
    except StopIteration as done:
        result: T = done.value
        return result
    finally:
        core.close()


def _seconds(effect: Effect) -> float | None:
    # Wait has a timeout too, but running out of it is an answer (None), not a failure.
    return effect.timeout if isinstance(effect, Ask) else None


def _too_late(seconds: float) -> TimeoutError:
    return TimeoutError(f"no answer within {seconds:g} s")


async def _in_time(perform: Callable[[Effect], Awaitable[Any]], effect: Effect, seconds: float) -> Any:
    import asyncio  # two dozen milliseconds that a synchronous program need not pay

    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return await perform(effect)
    except TimeoutError as problem:
        # A TimeoutError of the port's own says more than ours.
        raise (_too_late(seconds) if limit.expired() else problem) from None


def _in_worker(perform: Callable[[Effect], Any], effect: Effect, seconds: float) -> Any:
    """Perform in a thread and leave it behind when the time is up; it is a daemon, so it never holds up an
    exit.
    """
    replies: list[Any] = []
    problems: list[BaseException] = []
    context = contextvars.copy_context()

    def work() -> None:
        try:
            replies.append(context.run(perform, effect))
        except BaseException as problem:  # carried over to the driver's thread, which decides
            problems.append(problem)

    worker = threading.Thread(target=work, name="trimtab-ask", daemon=True)
    worker.start()
    worker.join(max(0.0, seconds))
    if problems:
        raise problems[0]
    if replies:
        return replies[0]
    raise _too_late(seconds)
