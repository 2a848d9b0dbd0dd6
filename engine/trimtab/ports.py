"""The ports a host plugs in, and who answers the interpreter's effects: for real, or dry."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from time import sleep
from typing import Any

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


@dataclass(frozen=True, slots=True)
class Ports:
    """What a run may reach outside itself; a port that is missing makes its effects fail or answer nothing."""

    summarizer: Summarizer | None = None
    store: Store = field(default_factory=MemoryStore)
    files: Files = field(default_factory=NoFiles)
    hooks: HookPort | None = None
    count: Callable[[Any], int] | None = None
    redactor: Redactor | None = None

    def perform(self, effect: Effect) -> Any:
        """Answer one effect. What a port raises is the stage's to handle."""
        if isinstance(effect, Ask):
            return self._summarizer().answer(effect.question)
        return self._rest(effect)

    async def aperform(self, effect: Effect) -> Any:
        """The same in an event loop; files and store are reached in a worker thread."""
        if isinstance(effect, Ask):
            return await self._summarizer().aanswer(effect.question)
        if isinstance(effect, Pause):
            return await asyncio.sleep(effect.seconds)
        if isinstance(effect, Hook) and self.hooks is not None:
            said: Any = self.hooks(effect.moment, effect.stage, effect.text)
            return _hook_reply(await said if isinstance(said, Awaitable) else said)
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
            return self.store.put(effect.name, effect.text)
        if isinstance(effect, Get):
            return self.store.get(effect.name)
        if isinstance(effect, Read):
            return self.files.read(effect.path, effect.limit)
        if isinstance(effect, Hook):
            return _hook_reply(self.hooks(effect.moment, effect.stage, effect.text) if self.hooks else None)
        if isinstance(effect, Count):
            if self.count is None:
                raise LookupError("no counter that asks the API is given")
            return self.count(effect.request)
        if isinstance(effect, Pause):
            return sleep(effect.seconds)
        if isinstance(effect, Redact):
            if effect.to_ask:
                self._summarizer()
            return redact_all(self.redactor, effect.texts)
        assert isinstance(effect, Wait)
        return None


def _hook_reply(said: HookReply | str | None) -> HookReply | None:
    return HookReply(text=said) if isinstance(said, str) else said
