"""Hosts as the measurements need them: a list of messages that grows, a clock, an engine over some pack."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from bench.conversation import Message, conversation

from trimtab import Engine, Facts, Info, Outcome, Request, Session

MODEL = "claude-sonnet-4-5"
REFERENCE = 2_000
"""Messages of the reference conversation."""
CLEARED = 735
"""Spots the idle stage of the bench's pack clears of the reference conversation."""
NOW = 1_767_225_600.0
"""Time of the newest message; any number does."""
IDLE = 2 * 3600.0
"""After so many seconds the idle stage fires."""
LAYERS = Path(__file__).parent / "layers.yaml"


@cache
def messages_of(count: int) -> tuple[Message, ...]:
    """The first messages of the generated conversation: ``count`` or a few less, so that a user's is last."""
    made = conversation(count + 2)
    end = count
    while made[end - 1]["role"] != "user":
        end -= 1
    return tuple(made[:end])


def results_in(messages: tuple[Message, ...]) -> int:
    """How many tool results they carry."""
    found = 0
    for message in messages:
        if isinstance(message["content"], list):
            found += sum(1 for block in message["content"] if block["type"] == "tool_result")
    return found


@cache
def layers(count: int = REFERENCE) -> Engine:
    """An engine of six deterministic stages that clears 735 results of 2,000 messages, or the same share."""
    shown = results_in(messages_of(count)) - CLEARED * count // REFERENCE
    return Engine.load(LAYERS, settings={"shown": shown})


@cache
def claude_code(window: int | None = None) -> Engine:
    """The shipped pack; ``window`` in tokens, None: the model's own."""
    return Engine.load("claude-code", models={"*": {"window": window}} if window else None)


def additions(start: int = 0) -> Iterator[list[Message]]:
    """A call and its small result, again and again: what a steady run finds new."""
    number = start
    while True:
        number += 1
        call = f"toolu_new{number:06d}"
        path = f"/repo/src/core/part_{number % 97}.py"
        result = "\n".join(
            f"{line:6}\tself.value = check_part(buffer, timeout={line})" for line in range(1, 21)
        )
        yield [
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": f"I look at part {number} next."},
                    {"type": "tool_use", "id": call, "name": "Read", "input": {"file_path": path}},
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": result}]},
        ]


@dataclass
class Host:
    """A host that keeps one list and appends to it. ``session`` may be replaced."""

    engine: Engine
    session: Session
    messages: list[Message]
    now: float = NOW
    info: list[Info | None] = field(default_factory=list)
    new: Iterator[list[Message]] = field(default_factory=additions)

    @classmethod
    def of(cls, engine: Engine, count: int = REFERENCE, session: Session | None = None) -> Host:
        host = cls(engine, session if session is not None else engine.session(), list(messages_of(count)))
        host.stamp()
        return host

    def stamp(self) -> None:
        """Say when the newest response came: about the rest the host says nothing."""
        last = max(index for index, message in enumerate(self.messages) if message["role"] == "assistant")
        self.info = [*self.info, *[None] * (last - len(self.info)), Info(at=self.now)][: last + 1]

    def grow(self) -> None:
        """Two more messages, and time goes on a little."""
        self.messages = [*self.messages, *next(self.new)]
        self.now += 20.0
        self.stamp()

    def request(self) -> Request:
        return Request(MODEL, self.messages, info=self.info)

    def run(self, event: str = "before_request", idle: bool = False, **facts: Any) -> Outcome:
        """One run, now or after a long pause."""
        now = self.now + (IDLE if idle else 5.0)
        return self.session.run(self.request(), event, Facts(now=now, **facts))

    def move_marks(self) -> None:
        """A cache mark on the last block of the newest message; the one before it loses its own."""
        self.messages = list(self.messages)
        for index in range(len(self.messages) - 8, len(self.messages)):
            if _marked(self.messages[index]):
                self.messages[index] = _with_mark(self.messages[index], False)
        self.messages[-1] = _with_mark(self.messages[-1], True)


def _marked(message: Message) -> bool:
    content = message["content"]
    return isinstance(content, list) and "cache_control" in content[-1]


def _with_mark(message: Message, on: bool) -> Message:
    *blocks, last = message["content"]
    last = {key: value for key, value in last.items() if key != "cache_control"}
    if on:
        last["cache_control"] = {"type": "ephemeral"}
    return {**message, "content": [*blocks, last]}
