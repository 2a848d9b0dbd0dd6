"""An agent runs against the strict API: whatever the pack does, nothing is refused but what was meant to be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.fake_api import rate_limited
from tests.fake_api.fixture import Served, ServedApi
from tests.session.hosts import MODES
from tests.wire.agent import Agent, Worker, asks_for_a_summary, committed, main_requests

from trimtab import Engine
from trimtab.summarizers.anthropic import AnthropicSummarizer

MANUAL, BOUND, FREE = "claude-haiku-4-5", "claude-opus-5-5", "claude-opus-4-8"
WINDOW = 32_000
HOUR = {"type": "ephemeral", "ttl": "1h"}


def engine_for(api: ServedApi, window: int = WINDOW, **settings: Any) -> Engine:
    return Engine.load(
        "claude-code",
        settings=settings,
        models={"*": {"window": window}},
        summarizer=AnthropicSummarizer(api.client(), models={"fast": MANUAL}, max_output=4000),
    )


def play(agent: Agent, turns: int = 6) -> None:
    agent.run("session_start")
    for number in range(turns):
        agent.turn(f"put ledger {number} in order")
        agent.api.clock.advance(4000 if number == 2 else 60)
        agent.run("idle")


def causes(api: ServedApi) -> list[str]:
    return [one.refusal.message for one in api.faulty if one.refusal]


@pytest.mark.parametrize("model", [MANUAL, BOUND, FREE])
def test_a_long_session_is_compacted_by_a_model_and_never_refused(fake_api: Served, model: str) -> None:
    worker = Worker(thinks=True)
    api = fake_api(otherwise=worker, window=WINDOW)
    agent = Agent(engine_for(api, session_memory=False), api, model)
    play(agent)
    assert causes(api) == []
    assert "full-summary" in committed(agent.outcomes)
    assert worker.summaries >= 1
    assert worker.calls == 6 * 4


def test_notes_written_in_the_background_take_the_place_of_a_summary(fake_api: Served) -> None:
    api = fake_api(otherwise=Worker(), window=2 * WINDOW)
    agent = Agent(engine_for(api, 2 * WINDOW), api, MANUAL)
    play(agent, turns=14)
    assert causes(api) == []
    assert "from-session-memory" in committed(agent.outcomes)


@pytest.mark.parametrize("model", [MANUAL, BOUND])
def test_old_results_are_cleared_only_when_the_cache_is_cold_anyway(fake_api: Served, model: str) -> None:
    api = fake_api(otherwise=Worker(rounds=8, thinks=True))
    agent = Agent(engine_for(api, window=200_000), api, model, extra={"cache_control": HOUR})
    agent.turn("put them in order")
    agent.turn("and the others")
    read = [one.message["usage"]["cache_read_input_tokens"] for one in main_requests(api) if one.message]
    assert read[-1] > 0
    assert "idle-clear" not in committed(agent.outcomes)
    api.clock.advance(3700)
    before = len(read)
    agent.turn("and the rest")
    assert causes(api) == []
    assert "idle-clear" in committed(agent.outcomes)
    first, second = [one.message["usage"] for one in main_requests(api)[before : before + 2] if one.message]
    assert first["cache_read_input_tokens"] == 0
    assert second["cache_read_input_tokens"] > 0


@pytest.mark.parametrize("model", [MANUAL, BOUND])
@pytest.mark.parametrize("summarised", [True, False])
def test_an_overflow_is_met_with_a_compaction_and_the_request_goes_through(
    fake_api: Served, model: str, summarised: bool
) -> None:
    worker = Worker(thinks=True)
    api = fake_api(otherwise=worker, window=14_000)
    engine = (
        engine_for(api, window=1_000_000)
        if summarised
        else Engine.load("claude-code", models={"*": {"window": 1_000_000}})
    )
    agent = Agent(engine, api, model)
    play(agent)
    assert {one.receipt.run.event for one in agent.outcomes} >= {"overflow"}
    assert {why.partition(":")[0] for why in causes(api)} == {"prompt is too long"}
    assert worker.calls == 6 * 4


def test_the_cache_is_read_again_after_the_compaction(fake_api: Served) -> None:
    api = fake_api(otherwise=Worker(), window=WINDOW)
    agent = Agent(engine_for(api, session_memory=False), api, "claude-sonnet-5-5")
    agent.extra["cache_control"] = {"type": "ephemeral"}
    for number in range(6):
        agent.turn(f"put ledger {number} in order")
    assert causes(api) == []
    assert "full-summary" in committed(agent.outcomes)
    reads = [one.message["usage"]["cache_read_input_tokens"] for one in main_requests(api) if one.message]
    lows = [at for at in range(2, len(reads)) if reads[at] < reads[at - 1]]
    assert lows, "nothing was cut"
    assert all(reads[at + 1] > reads[at] for at in lows if at + 1 < len(reads) and at + 1 not in lows)


def test_a_busy_api_costs_a_summary_nothing_but_time(fake_api: Served) -> None:
    worker = Worker()
    busy = [rate_limited(0), rate_limited(0)]

    def model(recorded: Any) -> Any:
        return busy.pop() if busy and asks_for_a_summary(recorded) else worker(recorded)

    api = fake_api(otherwise=model, window=WINDOW)
    summarizer = AnthropicSummarizer(api.client(max_retries=2), max_output=4000)
    engine = Engine.load(
        "claude-code",
        settings={"session_memory": False},
        models={"*": {"window": WINDOW}},
        summarizer=summarizer,
    )
    agent = Agent(engine, api, MANUAL)
    play(agent, turns=4)
    assert busy == []
    assert (causes(api), "full-summary" in committed(agent.outcomes)) == ([], True)


@pytest.mark.parametrize("model", [MANUAL, BOUND])
def test_every_kind_of_host_sends_the_same_requests_and_none_is_refused(
    fake_api: Served, model: str, tmp_path: Path
) -> None:
    bodies = {}
    for mode, (feeds_back, restarts) in MODES.items():
        api = fake_api(otherwise=Worker(thinks=True), window=WINDOW)
        folder = tmp_path / mode.replace(" ", "-") if restarts else None
        agent = Agent(engine_for(api, session_memory=False), api, model, feeds_back, folder)
        play(agent, turns=4)
        assert causes(api) == [], mode
        assert "full-summary" in committed(agent.outcomes), mode
        bodies[mode] = [one.body for one in api.sent]
    for mode, sent in bodies.items():
        assert sent == bodies["keeps"], mode
