"""What the API does by itself, in a loop: stale thinking it drops, results it clears, contexts it compacts."""

from __future__ import annotations

from typing import Any

import pytest
from tests.fake_api.fixture import Served, ServedApi
from tests.session.packs import engine_of
from tests.wire.agent import Agent, Worker, committed, main_requests
from tests.wire.test_loop import BOUND, FREE, causes

from trimtab import Engine

BINDING = "thinking-binding-controls-2026-08-01"
CONTEXT = "context-management-2025-06-27"
COMPACT = "compact-2026-01-12"

COMPACTS = """
format: 1
name: compacts
version: 1.0.0
stages:
  - {id: server, kind: server_edits, at: [before_request],
     edits: [{type: compact_20260112, trigger: {type: input_tokens, value: 50000}}]}
"""


def answers(api: ServedApi) -> list[dict[str, Any]]:
    return [one.message for one in main_requests(api) if one.message is not None]


def test_the_api_drops_the_thinking_that_an_edit_made_stale(fake_api: Served) -> None:
    api = fake_api(otherwise=Worker(rounds=8, thinks=True))
    engine = Engine.load("claude-code", settings={"session_memory": False}, thinking="drop_block")
    agent = Agent(engine, api, BOUND, extra={"betas": [BINDING], "thinking": {"type": "adaptive"}})
    agent.turn("put them in order")
    assert answers(api)[-1]["input_transformations"] == []
    api.clock.advance(3700)
    agent.turn("and the rest")
    assert causes(api) == []
    assert committed(agent.outcomes) == ["idle-clear"]
    dropped = {(one["type"], one["reason"]) for one in answers(api)[-1]["input_transformations"]}
    assert dropped == {("thinking_dropped", "prefix_binding_mismatch")}


@pytest.mark.parametrize("model", [BOUND, FREE])
def test_results_the_server_clears_are_left_to_it(fake_api: Served, model: str) -> None:
    api = fake_api(otherwise=Worker(rounds=8, thinks=True, names=("Read",)))
    engine = Engine.load("claude-code", settings={"server_editing": True, "session_memory": False})
    agent = Agent(engine, api, model, extra={"betas": [CONTEXT]})
    agent.result = lambda path: f"{path}: berth, tons, tariff\n" * 1200
    for number in range(3):
        agent.turn(f"put ledger {number} in order")
    assert causes(api) == []
    edits = [one for answer in answers(api) for one in answer["context_management"]["applied_edits"]]
    assert "clear_tool_uses_20250919" in {one["type"] for one in edits}


def test_a_context_the_server_compacts_goes_on_behind_its_block(fake_api: Served) -> None:
    api = fake_api(otherwise=Worker(rounds=6, thinks=True))
    agent = Agent(engine_of(COMPACTS), api, BOUND, extra={"betas": [COMPACT]})
    agent.result = lambda path: f"{path}: berth, tons, tariff\n" * 1200
    for number in range(3):
        agent.turn(f"put ledger {number} in order")
    assert causes(api) == []
    kinds = [block["type"] for answer in answers(api) for block in answer["content"]]
    assert kinds.count("compaction") >= 1
    sizes = [answer["usage"]["input_tokens"] for answer in answers(api)]
    assert max(sizes) < 80_000
