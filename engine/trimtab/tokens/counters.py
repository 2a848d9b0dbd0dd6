"""Who counts tokens: the estimate, a tokenizer, or the API itself. No tokenizer is imported before one is
made."""

from __future__ import annotations

import hashlib
import inspect
import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from ..conversation.request import Request
from .estimate import estimate

ENCODING = "o200k_base"
VOCABULARY_FILE = "fb374d419588a4632f3f557e76b4b70aebbca790"
"""Name of the o200k_base vocabulary in tiktoken's cache: the SHA-1 of the address it is fetched from."""
VOCABULARY_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
CACHE_VARIABLES = ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR")

BLANK_RUN = 100_000
"""Longest run of blanks handed to tiktoken at once: 0.14 panics on a million of them."""
_BLANKS = re.compile(rf"\s{{{BLANK_RUN},}}")


class CounterError(RuntimeError):
    """A counter cannot be made or cannot count; the message says how to mend it."""


@runtime_checkable
class Counter(Protocol):
    """The port: tokens of texts. ``count`` of the empty text is 0; no text, however odd, raises."""

    @property
    def name(self) -> str: ...

    def count(self, text: str, /) -> int: ...

    def count_many(self, texts: Sequence[str], /) -> list[int]: ...


class EstimateCounter:
    """The estimate as a counter: no vocabulary, no cache (a look-up would cost as much as the estimate)."""

    name = "estimate"
    count = staticmethod(estimate)

    def count_many(self, texts: Sequence[str], /) -> list[int]:
        return [estimate(text) for text in texts]


class _Cache:
    """Counts of texts, keyed by the text itself; the older half goes when it is full."""

    def __init__(self, entries: int, characters: int) -> None:
        self.entries, self.characters = entries, characters
        self.counts: dict[str, int] = {}
        self.held = 0

    def put(self, text: str, count: int) -> None:
        if len(text) > self.characters // 4 or text in self.counts:
            return
        self.counts[text] = count
        self.held += len(text)
        while len(self.counts) > self.entries or self.held > self.characters:
            for old in list(self.counts)[: len(self.counts) // 2 + 1]:
                self.held -= len(old)
                del self.counts[old]


class _Tokenizer:
    """What tokenizers share: the cache, and one batch for all texts that are not in it."""

    name = ""

    def __init__(self, entries: int = 16_384, characters: int = 32_000_000) -> None:
        self._cache = _Cache(entries, characters)

    def count(self, text: str, /) -> int:
        return self.count_many((text,))[0]

    def count_many(self, texts: Sequence[str], /) -> list[int]:
        known = self._cache.counts
        found = {text: known[text] for text in texts if text in known}
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        for text, count in zip(missing, self._count_all(missing) if missing else (), strict=True):
            found[text] = count
            self._cache.put(text, count)
        return [found[text] for text in texts]

    def _count_all(self, texts: list[str]) -> list[int]:
        raise NotImplementedError


class ToktokCounter(_Tokenizer):
    """o200k_base through the package ``toktok-rs``: vocabulary inside, exact, loads in a fraction of a
    second.

    Raises CounterError when the package is missing.
    """

    name = "toktok"

    def __init__(self, entries: int = 16_384, characters: int = 32_000_000) -> None:
        super().__init__(entries, characters)
        try:
            batch_count = import_module("toktok").batch_count  # by name: the package has no types
        except ImportError as missing:
            raise CounterError(
                "counter 'toktok' needs the package toktok-rs: pip install 'trimtab[fast]'"
            ) from missing
        self._batch: Callable[[list[str], str], list[int]] = batch_count

    def _count_all(self, texts: list[str]) -> list[int]:
        try:
            return list(self._batch(texts, ENCODING))
        except UnicodeEncodeError:
            return list(self._batch([without_surrogates(text) for text in texts], ENCODING))


class TiktokenCounter(_Tokenizer):
    """o200k_base through tiktoken. The vocabulary must be cached, unless ``download`` allows fetching it.

    Pass an ``encoding`` that is already built to use that one. Raises CounterError when the package or the
    vocabulary is missing or the cached file is damaged (which tiktoken itself would delete).
    """

    name = "tiktoken"

    def __init__(
        self,
        encoding: Any = None,
        *,
        download: bool = False,
        entries: int = 16_384,
        characters: int = 32_000_000,
    ) -> None:
        super().__init__(entries, characters)
        if encoding is None:
            if not download:
                _check_vocabulary()
            try:
                import tiktoken
            except ImportError as missing:
                raise CounterError(
                    "counter 'tiktoken' needs the package tiktoken: pip install tiktoken"
                ) from missing
            encoding = tiktoken.get_encoding(ENCODING)
        self._encoding = encoding

    def _count_all(self, texts: list[str]) -> list[int]:
        return [sum(self._tokens(piece) for piece in _pieces(text)) for text in texts]

    def _tokens(self, text: str) -> int:
        try:
            return len(self._encoding.encode_ordinary(text))
        except BaseException as problem:
            # A panic inside the Rust library derives from BaseException; everything else passes untouched.
            if type(problem).__name__ != "PanicException":
                raise
            raise CounterError(
                f"tiktoken gave up on a text of {len(text):,} characters; "
                "use the counter 'toktok' or 'estimate'"
            ) from problem


class RequestCounter:
    """The API's own count of whole requests, through the caller's Anthropic client; texts are estimated.

    Meant for the last step before a threshold: every ``count_request`` is a network call.
    """

    name = "anthropic"
    FIELDS = ("tool_choice", "thinking", "output_config", "cache_control")
    """Fields of ``Request.extra`` that count and that the endpoint takes."""

    def __init__(self, client: Any) -> None:
        if not hasattr(getattr(client, "messages", None), "count_tokens"):
            raise CounterError("counter 'anthropic' needs a client: RequestCounter(anthropic.Anthropic())")
        self._client = client

    def count(self, text: str, /) -> int:
        return estimate(text)

    def count_many(self, texts: Sequence[str], /) -> list[int]:
        return [estimate(text) for text in texts]

    def count_request(self, request: Request) -> int:
        """Input tokens of the request. Raises the client's own errors, and CounterError for what it cannot
        count."""
        answer = self._client.messages.count_tokens(**self._arguments(request))
        if inspect.isawaitable(answer):
            if inspect.iscoroutine(answer):
                answer.close()
            raise CounterError("this client is asynchronous: use acount_request")
        return _input_tokens(answer)

    async def acount_request(self, request: Request) -> int:
        """The same with an asynchronous client."""
        answer = self._client.messages.count_tokens(**self._arguments(request))
        return _input_tokens(await answer if inspect.isawaitable(answer) else answer)

    def _arguments(self, request: Request) -> dict[str, Any]:
        if request.format != "anthropic":
            raise CounterError(
                f"counter 'anthropic' counts requests in Anthropic's format, not {request.format!r}"
            )
        arguments: dict[str, Any] = {"model": request.model, "messages": list(request.messages)}
        if request.system is not None:
            arguments["system"] = request.system if isinstance(request.system, str) else list(request.system)
        if request.tools is not None:
            arguments["tools"] = list(request.tools)
        arguments.update(
            {key: request.extra[key] for key in self.FIELDS if request.extra.get(key) is not None}
        )
        return arguments


COUNTERS: Mapping[str, Callable[[], Counter]] = {
    "estimate": EstimateCounter,
    "tiktoken": TiktokenCounter,
    "toktok": ToktokCounter,
}
"""Counters that need nothing but their name; ``make`` adds ``anthropic``, which needs a client."""


def make(name: str, client: Any = None) -> Counter:
    """The counter called ``name``. Raises CounterError for an unknown name or one that cannot be made
    here."""
    if name == RequestCounter.name:
        return RequestCounter(client)
    factory = COUNTERS.get(name)
    if factory is None:
        raise CounterError(f"unknown counter {name!r}; known: {', '.join((*COUNTERS, RequestCounter.name))}")
    return factory()


def without_surrogates(text: str) -> str:
    """The text with lone surrogates replaced as tiktoken does it: pairs joined, the rest U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def vocabulary_path() -> Path | None:
    """Where tiktoken looks for the o200k_base vocabulary; None where its cache is switched off (empty
    variable)."""
    for variable in CACHE_VARIABLES:
        folder = os.environ.get(variable)
        if folder is not None:
            return Path(folder) / VOCABULARY_FILE if folder else None
    return Path(tempfile.gettempdir()) / "data-gym-cache" / VOCABULARY_FILE


def _check_vocabulary() -> None:
    path = vocabulary_path()
    mend = (
        f"set TIKTOKEN_CACHE_DIR to a folder that holds the o200k_base vocabulary as {VOCABULARY_FILE}, "
        "fetch it once with TiktokenCounter(download=True), "
        "or use the counter 'toktok' (pip install 'trimtab[fast]')"
    )
    if path is None or not path.is_file():
        raise CounterError(
            f"counter 'tiktoken' has no vocabulary ({path or 'its cache is switched off'}): {mend}"
        )
    if hashlib.sha256(path.read_bytes()).hexdigest() != VOCABULARY_SHA256:
        raise CounterError(f"{path} is not the o200k_base vocabulary (SHA-256 differs): {mend}")


def _pieces(text: str) -> list[str]:
    """The text, cut inside runs of blanks that are too long for tiktoken; else whole."""
    if len(text) < BLANK_RUN:
        return [text]
    pieces, start = [], 0
    for run in _BLANKS.finditer(text):
        cuts = range(run.start() + BLANK_RUN, run.end(), BLANK_RUN)
        for cut in cuts:
            pieces.append(text[start:cut])
            start = cut
    pieces.append(text[start:])
    return pieces


def _input_tokens(answer: Any) -> int:
    tokens = (
        answer.get("input_tokens") if isinstance(answer, Mapping) else getattr(answer, "input_tokens", None)
    )
    if not isinstance(tokens, int):
        raise CounterError(f"count_tokens answered without input_tokens: {answer!r:.200}")
    return tokens
