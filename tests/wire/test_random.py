"""Random agents against the strict API: idle hours, compactions by hand, commits undone, results of any size."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from tests.fake_api.fixture import Served
from tests.session.hosts import MODES
from tests.wire.agent import Agent, Worker
from tests.wire.test_loop import BOUND, FREE, MANUAL, WINDOW, causes, engine_for

from trimtab import ManualRequest

FEW, MANY = 6, 60
SIZES = (0, 1, 30, 300, 2500)
"""Lines of a result: none at all, a few, enough for the pack to offload it."""


def live(served: Served, number: int, folder: Path) -> None:
    seed = random.Random(number)
    api = served(window=WINDOW)
    settings = {"session_memory": seed.random() < 0.5, "collapse": seed.random() < 0.3, "snip": True}
    feeds_back, restarts = MODES[seed.choice(list(MODES))]
    model = seed.choice([BOUND, BOUND, MANUAL, FREE])
    agent = Agent(engine_for(api, **settings), api, model, feeds_back, folder if restarts else None)
    agent.result = lambda path: "berth, tons, tariff\n" * seed.choice(SIZES)
    worker = Worker(thinks=True)
    api.otherwise = worker
    agent.run("session_start")
    for turn in range(seed.randrange(3, 9)):
        worker.rounds = seed.randrange(0, 5)
        agent.turn(f"put ledger {turn} in order")
        api.clock.advance(seed.choice([5, 300, 4000]))
        what = seed.random()
        if what < 0.2:
            agent.run("manual", request=ManualRequest(by="user"))
        elif what < 0.4:
            undo_one(agent, seed)
        elif what < 0.6:
            agent.run("idle")
    assert causes(api) == [], (number, model, settings, feeds_back, restarts)


def undo_one(agent: Agent, seed: random.Random) -> None:
    commits: list[Any] = agent.session.track.history.live()
    if commits and not agent.feeds_back:
        agent.session.undo(seed.choice(commits).id)


@pytest.mark.parametrize("number", range(FEW))
def test_a_random_agent_is_never_refused(fake_api: Served, number: int, tmp_path: Path) -> None:
    live(fake_api, number, tmp_path / "session")


@pytest.mark.long
@pytest.mark.parametrize("number", range(FEW, MANY))
def test_more_random_agents_are_never_refused(fake_api: Served, number: int, tmp_path: Path) -> None:
    live(fake_api, number, tmp_path / "session")
