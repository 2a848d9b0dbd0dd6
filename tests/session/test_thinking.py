"""A model that signs its thinking over everything before it never refuses a request, whatever host and pack do."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from tests.session.packs import LAYERS, engine_of
from tests.strict_api import SigningApi, problems

from trimtab import Facts, Request
from trimtab.conversation.edits import Commit

MODEL = "claude-opus-5-5"
OLD_THINKING = LAYERS + (
    "  - {id: old-thinking, kind: drop, when: {turns: {at_least: 3}},"
    " select: {blocks: [thinking], age: {turns: {at_least: 2}}}}\n"
)


class Host:
    """Works, rewinds, changes branches, changes its system prompt, undoes commits; every answer thinks."""

    def __init__(self, number: int) -> None:
        self.random = random.Random(number)
        self.session = engine_of(OLD_THINKING).session()
        self.api = SigningApi()
        self.messages: list[dict[str, Any]] = []
        self.branches: list[list[dict[str, Any]]] = []
        self.system = "You help."
        self.count = 0

    def step(self) -> None:
        self._wander()
        last = (
            self.messages[-1]["content"] if self.messages and self.messages[-1]["role"] == "assistant" else []
        )
        calls = [block["id"] for block in last if block["type"] == "tool_use"]
        if calls:
            text = self.random.choice(["ok", f"result {self.count} " * 60])
            results = [{"type": "tool_result", "tool_use_id": call, "content": text} for call in calls]
            self.messages.append({"role": "user", "content": results})
        elif not self.messages or self.messages[-1]["role"] == "assistant":
            self.messages.append({"role": "user", "content": f"question {self.count}"})
        request = Request(MODEL, self.messages, system=self.system)
        outcome = self.session.run(request, facts=Facts(now=1e9 + self.count))
        sent = list(outcome.request.messages)
        assert not problems(sent, prefill=False, system_messages=True)
        assert not self.api.refused(sent, self.system)
        self._answer(sent)

    def _answer(self, sent: list[dict[str, Any]]) -> None:
        self.count += 1
        blocks = [self.api.sign(sent, f"thought {self.count}", self.system)]
        if self.random.random() < 0.6:
            blocks.append({"type": "tool_use", "id": f"call {self.count}", "name": "Read", "input": {}})
        else:
            blocks.append({"type": "text", "text": f"answer {self.count}"})
        self.messages.append({"role": "assistant", "content": blocks})

    def _wander(self) -> None:
        draw = self.random.random()
        asked = [
            i for i, m in enumerate(self.messages) if m["role"] == "user" and isinstance(m["content"], str)
        ]
        if draw < 0.1 and len(asked) > 1:
            self.branches.append(copy.deepcopy(self.messages))
            self.messages = self.messages[: self.random.choice(asked[1:])]
        elif draw < 0.15 and self.branches:
            self.branches.append(self.messages)
            self.messages = copy.deepcopy(self.random.choice(self.branches))
        elif draw < 0.2:
            self.system = self.random.choice(["You help.", "You help in German."])
        elif draw < 0.25:
            history = self.session.track.history
            live: list[Commit] = [
                commit for commit in history.live() if commit.stage in ("offload", "clear", "shrink")
            ]
            if live:
                self.session.undo(self.random.choice(live).id)


def play(number: int) -> None:
    host = Host(number)
    for _ in range(host.random.randrange(5, 30)):
        host.step()


@pytest.mark.parametrize("start", range(0, 80, 20))
def test_no_signed_thinking_is_refused(start: int) -> None:
    for number in range(start, start + 20):
        play(number)


@pytest.mark.long
def test_no_signed_thinking_is_refused_in_many_conversations() -> None:
    for number in range(80, 3000):
        play(number)
