"""The ports a host plugs in, and who answers the interpreter's effects: for real, or dry."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from time import sleep
from typing import Any

from .answers import clean_texts, hook_reply, place, summary_reply, text
from .effects import (
    Ask,
    AskFailed,
    Count,
    Effect,
    Get,
    Hook,
    HookReply,
    Pause,
    Put,
    Read,
    Redact,
    Reply,
    Wait,
)
from .files import Files, NoFiles
from .redaction import Redactor, redact_all
from .store import MemoryStore, Store
from .summarizers.base import Summarizer

STAND_IN_TOKENS = 4000
"""Size of the text that stands for a model's answer in a dry run, where the stage declares none."""

HookPort = Callable[[str, str, str], HookReply | str | None]
"""Called with moment (``before_summary``, ``after_summary``), stage id and text."""


_METHODS = {
    "summarizer": ("answer", "aanswer"),
    "store": ("put", "place", "get", "has"),
    "files": ("read",),
    "redactor": ("redact",),
}


@dataclass(frozen=True, slots=True)
class Ports:
    """What a run may reach outside itself; a port that is missing makes its effects fail or answer nothing.

    Raises ValueError for one that cannot be a port: every stage that needs it would fail.
    """

    summarizer: Summarizer | None = None
    store: Store = field(default_factory=MemoryStore)
    files: Files = field(default_factory=NoFiles)
    hooks: HookPort | None = None
    count: Callable[[Any], int] | None = None
    redactor: Redactor | None = None

    def __post_init__(self) -> None:
        for name, methods in _METHODS.items():
            port = getattr(self, name)
            if isinstance(port, type):
                raise ValueError(f"{name} is the class {port.__name__}; it must be an object of it")
            lacking = [method for method in methods if not callable(getattr(port, method, None))]
            if port is not None and lacking:
                raise ValueError(f"{name} is {type(port).__name__}; it must have {' and '.join(methods)}")
        if self.hooks is not None and not callable(self.hooks):
            raise ValueError(
                f"hooks is {type(self.hooks).__name__}; it must be a function (moment, stage, text)"
            )

    def perform(self, effect: Effect) -> Any:
        """Answer one effect. What a port raises is the stage's to handle."""
        if isinstance(effect, Ask):
            return summary_reply(self._summarizer().answer(effect.question))
        return self._rest(effect)

    async def aperform(self, effect: Effect) -> Any:
        """The same in an event loop; files and store are reached in a worker thread."""
        if isinstance(effect, Ask):
            return summary_reply(await self._summarizer().aanswer(effect.question))
        if isinstance(effect, Pause):
            return await asyncio.sleep(effect.seconds)
        if isinstance(effect, Hook) and self.hooks is not None:
            said: Any = self.hooks(effect.moment, effect.stage, effect.text)
            return hook_reply(await said if isinstance(said, Awaitable) else said)
        return await asyncio.to_thread(self._rest, effect)

    def dry(self, effect: Effect) -> Any:
        """Store nothing, ask nobody: what would be there is stood in for, and reading is reading."""
        if isinstance(effect, Ask):
            self._summarizer()
            return Reply(
                "word " * (effect.declared or STAND_IN_TOKENS), assumed=True, model=effect.question.model
            )
        if isinstance(effect, Put):
            return self.store.place(effect.name)
        if isinstance(effect, Hook | Pause):
            return None
        return self._rest(effect)

    def _summarizer(self) -> Summarizer:
        if self.summarizer is None:
            raise AskFailed("unavailable", "no summarizer is given (summarizer=… or --summarizer)")
        return self.summarizer

    def _rest(self, effect: Effect) -> Any:
        if isinstance(effect, Put):
            return place(self.store.put(effect.name, effect.text))
        if isinstance(effect, Get):
            return text("the store", self.store.get(effect.name))
        if isinstance(effect, Read):
            return text("the port of files", self.files.read(effect.path, effect.limit))
        if isinstance(effect, Hook):
            return hook_reply(self.hooks(effect.moment, effect.stage, effect.text) if self.hooks else None)
        if isinstance(effect, Count):
            if self.count is None:
                raise LookupError("no counter that asks the API is given")
            return self.count(effect.request)
        if isinstance(effect, Pause):
            return sleep(effect.seconds)
        if isinstance(effect, Redact):
            if effect.to_ask:
                self._summarizer()
            return clean_texts(redact_all(self.redactor, effect.texts, effect.names), len(effect.texts))
        assert isinstance(effect, Wait)
        return None
