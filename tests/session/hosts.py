"""Hosts that treat their message list differently, and random conversations for them to play."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.strict_api import problems

from trimtab import Engine, Facts, Request
from trimtab.journal import MemoryJournal
from trimtab.outcome import Outcome
from trimtab.records import Record, decode, encode
from trimtab.session import Session

Message = dict[str, Any]
MODEL = "claude-sonnet-4-5"
MODES = {
    "keeps": (False, False),
    "feeds back": (True, False),
    "restarts": (False, True),
    "both": (True, True),
}
"""Whether the host replaces its list by our view, and whether it opens the session anew before each call."""


class JsonJournal(MemoryJournal):
    """In memory, but every record makes its way through JSON as if it had been on a disk."""

    @property
    def path(self) -> Path:
        return Path("journal.jsonl")

    def append(self, records: Sequence[Record]) -> None:
        for record in records:
            read = decode(json.loads(json.dumps(encode(record))))
            super().append([read])  # type: ignore[list-item]  # a header is never appended here


def turn(seed: random.Random, number: int) -> list[Message]:
    """One turn: a request, some rounds with ids used again in each, an answer."""
    out: list[Message] = [
        {"role": "user", "content": seed.choice(["continue", "do it", "fix the tests", f"task {number}"])}
    ]
    for _ in range(seed.randrange(1, 4)):
        ids = [f"x:{count}" for count in range(seed.randrange(1, 3))]
        calls = [
            {"type": "tool_use", "id": i, "name": seed.choice(["Read", "Bash"]), "input": {}} for i in ids
        ]
        if seed.random() < 0.3:
            thinking = {"type": "thinking", "thinking": f"hm {number}", "signature": f"sig {seed.random()}"}
            calls.insert(0, thinking)
        out.append({"role": "assistant", "content": calls})
        texts = ["ok", "ok " * 200, f"res {number} " * seed.randrange(1, 80)]
        results = [{"type": "tool_result", "tool_use_id": i, "content": seed.choice(texts)} for i in ids]
        out.append({"role": "user", "content": results})
    answer = seed.choice(["done", "ok", f"answer {number}"])
    out.append({"role": "assistant", "content": [{"type": "text", "text": answer}]})
    return out


@dataclass
class Host:
    """Plays a conversation; ``bodies`` are the requests it was told to send, as JSON."""

    engine: Engine
    feeds_back: bool
    restarts: bool
    model: str = MODEL
    messages: list[Message] = field(default_factory=list)
    bodies: list[str] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    now: float = 1_700_000_000.0

    def __post_init__(self) -> None:
        self.journal = JsonJournal()
        self.session = Session(self.engine, self.journal)

    def hear(self, message: Message) -> None:
        """Take in a message; the engine runs before every request, that is whenever the user's side has spoken."""
        self.messages.append(copy.deepcopy(message))
        self.now += 60
        if message["role"] == "user":
            self.ask()

    def ask(self, event: str = "before_request") -> Outcome:
        if self.restarts:
            self.session = Session(self.engine, self.journal)
        before = copy.deepcopy(self.messages)
        outcome = self.session.run(
            Request(self.model, self.messages), event, Facts(now=self.now, caller="main")
        )
        assert self.messages == before, "the input was changed"
        self.outcomes.append(outcome)
        self.bodies.append(json.dumps([outcome.request.system, list(outcome.request.messages)]))
        if self.feeds_back:
            shown = list(outcome.request.messages)
            self.messages = json.loads(json.dumps(shown)) if self.restarts else shown
        return outcome


def play(engine: Engine, number: int, mode: str, model: str = MODEL) -> Host:
    """One random conversation under one kind of host; the same number is the same conversation."""
    seed = random.Random(number)
    host = Host(engine, *MODES[mode], model=model)
    for count in range(seed.randrange(3, 9)):
        for message in turn(seed, count):
            host.hear(message)
    return host


def told_the_same(engine: Engine, number: int) -> Host:
    """The host that keeps its list, once every other kind was told the same bytes, and all of them valid."""
    model = "claude-sonnet-4-5" if number % 2 else "claude-opus-5-5"
    reference = play(engine, number, "keeps", model)
    for mode in MODES:
        if mode != "keeps":
            other = play(engine, number, mode, model)
            for at, (one, two) in enumerate(zip(reference.bodies, other.bodies, strict=True)):
                assert one == two, f"conversation {number}, host that {mode}, request {at}"
    for outcome in reference.outcomes:
        assert not problems(list(outcome.request.messages), prefill=False)
    return reference
