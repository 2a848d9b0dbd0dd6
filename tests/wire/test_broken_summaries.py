"""A summary that fails on the wire: the conversation goes on, whole or validly compacted, and nothing is refused."""

from __future__ import annotations

from typing import Any

import pytest
from tests.fake_api import Delivery, Recorded, overloaded, rate_limited, refuse_to_answer, say, server_error
from tests.fake_api.errors import Refusal
from tests.fake_api.fixture import Served
from tests.wire.agent import SUMMARY, Agent, Worker, asks_for_a_summary, committed
from tests.wire.test_loop import BOUND, WINDOW, causes, play

from trimtab import Engine
from trimtab.summarizers.anthropic import AnthropicSummarizer

FAULTS: dict[str, Any] = {
    "busy": rate_limited(0.01),
    "overloaded": overloaded(),
    "a fault of the server": server_error(),
    "no permission": Refusal(403, "Your key may not use this model."),
    "an unknown model": Refusal(404, "model: no such"),
    "a body too large": Refusal(413, "Request exceeds the maximum allowed number of bytes"),
    "a broken connection": say(SUMMARY, delivery=Delivery(drop_after=6)),
    "a stream that stops short": say(SUMMARY, delivery=Delivery(end_after=6)),
    "a stream that stops at once": say(SUMMARY, delivery=Delivery(end_after=0)),
    "an event that is no JSON": say(SUMMARY, delivery=Delivery(malformed_after=5)),
    "an error in the stream": say(SUMMARY, delivery=Delivery(error_after=5)),
    "a page of a gateway": say(
        SUMMARY, delivery=Delivery(content_type="text/html", body=b"<html>busy</html>")
    ),
    "headers too late": say(SUMMARY, delivery=Delivery(headers_after=1.5)),
    "an event too late": say(SUMMARY, delivery=Delivery(pause=1.5)),
    "a refusal": refuse_to_answer("I will not."),
    "a summary cut off": say(SUMMARY[:300], stop="max_tokens"),
    "thinking only": [{"type": "thinking", "thinking": "hm"}],
    "a call": [{"type": "tool_use", "id": "", "name": "Read", "input": {}}],
    "nothing": [],
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_conversation_survives(fake_api: Served, name: str) -> None:
    worker = Worker(thinks=True)
    asked = []

    def model(recorded: Recorded) -> Any:
        if asks_for_a_summary(recorded):
            asked.append(recorded)
            return FAULTS[name]
        return worker(recorded)

    api = fake_api(otherwise=model, window=WINDOW)
    client = api.client(timeout=0.5 if "late" in name else 30)
    engine = Engine.load(
        "claude-code",
        settings={"session_memory": False},
        models={"*": {"window": WINDOW}},
        summarizer=AnthropicSummarizer(client, max_output=4000),
    )
    agent = Agent(engine, api, BOUND)
    play(agent, turns=5)
    assert asked
    assert causes(api) == []
    assert "full-summary" not in committed(agent.outcomes)
    assert worker.calls == 5 * 4
