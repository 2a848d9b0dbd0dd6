"""A host on the wire: the real SDK, the strict fake, the engine between them, and an agent's loop around it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anthropic
from tests.fake_api import Recorded, call
from tests.fake_api.fixture import ServedApi
from tests.faults.support import answer, notes

from trimtab import ApiError, Engine, Facts, Info, ManualRequest, Request, Usage
from trimtab.outcome import Outcome

Message = dict[str, Any]

SYSTEM = [{"type": "text", "text": "You keep the ledgers of a harbour."}]
TOOLS: list[dict[str, Any]] = [
    {"name": name, "description": f"{name}s a file", "input_schema": {"type": "object"}}
    for name in ("Read", "Edit", "Bash")
]
SUMMARY = answer("the ledgers were put in order")
NOTES = notes("the ledgers were put in order")


def asks_for_a_summary(recorded: Recorded) -> bool:
    """Whether a request is the engine's own: only those are streamed."""
    return recorded.body.get("stream") is True


@dataclass
class Worker:
    """The model: ``rounds`` calls in each turn, then a word; thinks where ``thinks``; sums up when it is asked to."""

    rounds: int = 4
    thinks: bool = False
    names: tuple[str, ...] = ("Read", "Bash", "Edit")
    calls: int = 0
    left: int = field(default=-1)
    summaries: int = 0

    def __call__(self, recorded: Recorded) -> Any:
        if asks_for_a_summary(recorded):
            self.summaries += 1
            text = json.dumps(recorded.body["messages"][-1])
            return SUMMARY if "Primary request" in text else NOTES
        self.left = self.rounds if self.left < 0 else self.left
        thought = [{"type": "thinking", "thinking": f"step {self.calls}"}] if self.thinks else []
        if not self.left:
            self.left = -1
            return [*thought, {"type": "text", "text": "The ledger is in order."}]
        self.left -= 1
        self.calls += 1
        name = self.names[self.calls % len(self.names)]
        return [*thought, call(name, file_path=f"/harbour/ledger-{self.calls}.csv")]


@dataclass
class Agent:
    """The host. ``folder`` opens its session anew before each run; ``feeds_back`` keeps our view as its list."""

    engine: Engine
    api: ServedApi
    model: str
    feeds_back: bool = False
    folder: Path | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    result: Callable[[str], str] = lambda path: f"{path}: berth, tons, tariff\n" * 60
    messages: list[Message] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    infos: dict[int, Info] = field(default_factory=dict)
    usage: Usage | None = None

    def __post_init__(self) -> None:
        self.client = self.api.client()
        self.session = self.engine.session() if self.folder is None else self.engine.open_session(self.folder)

    def run(self, event: str, **more: Any) -> Outcome:
        if self.folder is not None:
            self.session = self.engine.open_session(self.folder)
        facts = Facts(now=self.api.clock.now, caller="main", usage=self.usage, **more)
        request = Request(
            self.model,
            self.messages,
            SYSTEM,
            TOOLS,
            info=[self.infos.get(id(message)) for message in self.messages],
            extra={"max_tokens": 4000, **self.extra},
        )
        outcome = self.session.run(request, event, facts)
        self.outcomes.append(outcome)
        if self.feeds_back:
            self.messages = list(outcome.request.messages)
        return outcome

    def turn(self, words: str) -> str:
        """A user's message, and all that the model does about it; its last words."""
        self.messages.append({"role": "user", "content": words})
        while True:
            answer = self.ask()
            said = {"role": "assistant", "content": [block.to_dict() for block in answer.content]}
            self.messages.append(said)
            self.infos[id(said)] = Info(at=self.api.clock.now)
            self.usage = Usage.of(answer.usage.to_dict(), answer.model)
            self.api.clock.advance(20)
            for job in self.run("after_response").jobs:
                job.run()
            calls = [block for block in answer.content if block.type == "tool_use"]
            if not calls:
                return str(answer.content[-1].text)
            results = [
                {"type": "tool_result", "tool_use_id": one.id, "content": self.result(one.input["file_path"])}
                for one in calls
            ]
            self.messages.append({"role": "user", "content": results})
            self.run("tool_result")

    def ask(self) -> Any:
        """Send what the engine says; after an overflow what it says then. Blocked, it compacts as it is told to."""
        outcome = self.run("before_request")
        if not outcome.send:
            self.run("manual", request=ManualRequest())
            outcome = self.run("before_request")
        for _ in range(3):
            assert outcome.send, [notice.text for notice in outcome.notices]
            try:
                return self.send(outcome.request)
            except anthropic.APIStatusError as problem:
                error = ApiError(str(problem.api_message), problem.status_code, problem.type)
                outcome = self.run("overflow", error=error)
        raise AssertionError("the API refuses again and again")

    def send(self, request: Request) -> Any:
        fields = {"system": request.system, "tools": request.tools, **request.extra}
        if "betas" not in fields:
            return self.client.messages.create(model=request.model, messages=list(request.messages), **fields)
        return self.client.beta.messages.create(
            model=request.model, messages=list(request.messages), **fields
        )


def committed(outcomes: Sequence[Outcome]) -> list[str]:
    """Ids of the stages that changed the view, in order."""
    return [
        report.id
        for outcome in outcomes
        for stage in outcome.receipt.stages
        for report in stage.children or (stage,)
        if report.commit is not None
    ]


def main_requests(api: ServedApi) -> list[Recorded]:
    return [one for one in api.sent if not asks_for_a_summary(one)]
