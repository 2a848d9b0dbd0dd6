"""A writer killed anywhere: what it had committed is there, what it had not is cleanly absent, no original is lost."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.durability.support import (
    MESSAGES,
    STEPS,
    Undisturbed,
    check_folder,
    opened,
    results_of,
    stored_files,
    take,
)

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="no process can be forked or killed like that"
)

MODES = ("line", "byte", "call", "time")
FEW, MANY = 10, 100
"""Points for each way to die."""


class Nursery:
    """The process that forks writers: it has imported the engine once."""

    def __init__(self) -> None:
        env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-m", "tests.durability.writer"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, text=True
        )

    def fork(self, folder: Path, mode: str, point: float | None) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"folder": str(folder), "mode": mode, "point": point}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        self.process.communicate(timeout=60)


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    nursery = Nursery()
    yield nursery
    nursery.close()
    assert nursery.process.returncode == 0


def check_after(folder: Path, done: int, whole: Undisturbed) -> str:
    """Resume where the host stood when the writer died, and go on to the end; whether the step had been committed."""
    folder.mkdir(mode=0o700, exist_ok=True)  # the writer may have died before it could
    session = opened(folder)
    journal = (folder / "journal.jsonl").read_bytes()
    ends = whole.ends[done : done + 2]
    assert len(journal) in ends, "half a step is in the journal"
    assert whole.journal.startswith(journal)
    check_folder(folder, results_of(MESSAGES))
    for step, expected in zip(STEPS[done:], whole.bodies[done:], strict=True):
        assert take(session, MESSAGES, step) == expected, f"step {step} after a kill in step {done}"
    check_folder(folder, results_of(MESSAGES))
    assert stored_files(folder) == whole.files
    return (
        "committed" if len(journal) == ends[-1] and len(ends) == 2 and ends[0] != ends[1] else "not committed"
    )


def kill_at(
    nursery: Nursery, whole: Undisturbed, folder: Path, mode: str, count: int, seed: int
) -> list[str]:
    """So many writers killed at random points; what became of the step each died in."""
    calm = nursery.fork(folder / "calm", mode, None)
    assert calm["code"] == 0
    assert (folder / "calm" / "journal.jsonl").read_bytes() == whole.journal, "counting changes nothing"
    chance = random.Random(seed)
    became = []
    for number in range(count):
        place = folder / str(number)
        most = calm["took"] if mode == "time" else calm["counted"]
        point = chance.random() * most
        told = nursery.fork(place, mode, point if mode == "time" else int(point))
        if not told["killed"]:
            assert mode == "time", told
            assert told["done"] == len(STEPS)
        became.append(check_after(place, told["done"], whole))
    return became


@pytest.mark.parametrize("mode", MODES)
def test_a_killed_writer_leaves_a_session_that_goes_on_as_if_nothing_had_been(
    nursery: Nursery, whole: Undisturbed, tmp_path: Path, mode: str
) -> None:
    kill_at(nursery, whole, tmp_path, mode, FEW, 7)


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES)
def test_writers_killed_at_many_more_points_do_too(
    nursery: Nursery, whole: Undisturbed, tmp_path: Path, mode: str
) -> None:
    became = kill_at(nursery, whole, tmp_path, mode, MANY, 8)
    assert "not committed" in became
    if mode == "line":
        assert "committed" in became, "no writer died behind its commit"
