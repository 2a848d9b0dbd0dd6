"""Four times the size may not cost sixteen times the work."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.hostile.test_hosts import MODEL, calls
from tests.session.packs import pack_of

from trimtab import Engine, Facts, Request
from trimtab.packs.load import check_text

HEAD = "format: 1\nname: x\nversion: 1.0.0\nstages:\n"
STORE = (
    "  - {id: a, kind: replace, select: {blocks: [tool_result], age: {rounds: {at_least: 1}}}, store: r,"
    ' text: "[stored]"}\n'
)


def work(task: Callable[[], object]) -> int:
    """Calls of Python functions a task makes: the same on every machine, unlike its time."""
    count = 0

    def tally(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(tally)
    try:
        task()
    finally:
        sys.setprofile(before)
    return count


def uncollected(task: Callable[[], object]) -> float:
    """Seconds a task takes by itself: when the collector runs depends on all that was made before."""
    gc.disable()
    try:
        start = time.perf_counter()
        task()
        return time.perf_counter() - start
    finally:
        gc.enable()


def run_once(pack: str, messages: list[Any]) -> Callable[[], object]:
    session = Engine(pack_of(HEAD + pack)).session()
    return lambda: session.run(Request(MODEL, messages), facts=Facts(now=1e9))


def test_storing_four_times_as_many_results_is_about_four_times_the_work() -> None:
    work(run_once(STORE, calls(3, 300)))
    assert work(run_once(STORE, calls(1200, 300))) < 6 * work(run_once(STORE, calls(300, 300)))


def test_checking_four_times_as_many_stages_is_about_four_times_the_work() -> None:
    def stages(count: int) -> Callable[[], object]:
        lines = "".join(f"  - {{id: s{n}, kind: guard, level: info, text: hi}}\n" for n in range(count))
        return lambda: check_text(HEAD + lines)

    work(stages(5))
    assert work(stages(800)) < 6 * work(stages(200))


@pytest.mark.long
def test_many_blocks_in_one_message_take_time_in_proportion() -> None:
    def seconds(count: int) -> float:
        uses = [{"type": "tool_use", "id": f"t{n}", "name": "Read", "input": {}} for n in range(count)]
        results = [{"type": "tool_result", "tool_use_id": f"t{n}", "content": "abc"} for n in range(count)]
        turns = [("user", "go"), ("assistant", uses), ("user", results), ("assistant", "ok"), ("user", "end")]
        return uncollected(
            run_once(STORE.replace(", store: r", ""), [{"role": r, "content": c} for r, c in turns])
        )

    seconds(100)
    assert min(seconds(16_000) for _ in range(2)) < 10 * min(seconds(4000) for _ in range(2))


def test_results_in_another_order_than_their_calls_cost_little_more() -> None:
    def seconds(step: int, count: int = 8000) -> float:
        uses = [{"type": "tool_use", "id": f"t{n}", "name": "Read", "input": {}} for n in range(count)]
        results = [{"type": "tool_result", "tool_use_id": f"t{n}", "content": "abc"} for n in range(count)]
        turns = [("user", "go"), ("assistant", uses), ("user", results[::step]), ("user", "end")]
        return uncollected(
            run_once(STORE.replace(", store: r", ""), [{"role": r, "content": c} for r, c in turns])
        )

    seconds(1, 100)
    assert min(seconds(-1) for _ in range(2)) < 4 * min(seconds(1) for _ in range(2))
