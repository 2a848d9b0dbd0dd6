"""Several processes on one session directory: all finish, the journal stays whole, every view is valid."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.durability.racer import messages_of
from tests.durability.support import (
    Message,
    body,
    check_folder,
    opened,
    results_of,
    run,
)
from tests.strict_api import problems

from trimtab.records import RunRecord

TURNS = 3


def race(folder: Path, *names: str, pause: float = 0.002) -> list[Any]:
    """What each racer told."""
    return told_by("racer", folder, names, str(TURNS), str(pause))


def told_by(module: str, folder: Path, names: tuple[str, ...], *arguments: str) -> list[Any]:
    """What each process told, all of them let go at once."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", f"tests.durability.{module}", str(folder)]
    racers = [
        subprocess.Popen(
            [*command, name, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=env,
            text=True,
        )
        for name in names
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    told = []
    for racer in racers:
        out, _ = racer.communicate(timeout=120)
        assert racer.returncode == 0, "a process did not finish"
        told.append(json.loads(out.splitlines()[-1]))
    return told


def check_race(folder: Path, names: tuple[str, ...], told: list[Any]) -> None:
    """The folder is whole, they did write in turns, and whoever comes next sees a valid view that stays."""
    conversations: dict[str, list[Message]] = {name: messages_of(name, TURNS) for name in names}
    records = check_folder(folder, [text for one in conversations.values() for text in results_of(one)])
    runs = [record for record in records if isinstance(record, RunRecord)]
    assert [record.n for record in runs] == list(range(1, len(runs) + 1))
    assert sum(one["reloads"] for one in told) > 2, "they did not compete"
    for one in told:
        assert not problems(json.loads(one["body"])[1], prefill=False)
    for messages in conversations.values():
        session = opened(folder)
        first = body(run(session, messages))
        assert body(run(session, messages)) == first == body(run(opened(folder), messages))


@pytest.mark.parametrize("names", [("a", "a"), ("a", "b")], ids=["same-branch", "two-branches"])
def test_two_processes_on_one_session_both_finish(tmp_path: Path, names: tuple[str, ...]) -> None:
    folder = tmp_path / "session"
    check_race(folder, names, race(folder, *names))


@pytest.mark.long
@pytest.mark.parametrize("pause", [0.0, 0.001, 0.01])
@pytest.mark.parametrize("names", [("a", "a"), ("a", "b"), ("a", "a", "b", "c")], ids="-".join)
def test_several_processes_on_one_session_all_finish(
    tmp_path: Path, names: tuple[str, ...], pause: float
) -> None:
    for number in range(2):
        folder = tmp_path / str(number)
        check_race(folder, names, race(folder, *names, pause=pause))


def check_loops(folder: Path, names: tuple[str, ...], seconds: float, least: float) -> None:
    """All finish, the journal is whole, nobody has less than the ``least`` share of all runs."""
    told = told_by("looper", folder, names, str(seconds))
    runs = [record for record in check_folder(folder) if isinstance(record, RunRecord)]
    assert [record.n for record in runs] == list(range(1, len(runs) + 1))
    shares = [one["runs"] / len(runs) for one in told]
    assert sum(shares) == 1
    assert min(shares) >= least, told
    assert not list(folder.glob("*.turn"))


@pytest.mark.parametrize("names", [("a", "a"), ("a", "b")], ids=["same-branch", "two-branches"])
def test_of_two_processes_that_never_pause_neither_starves(tmp_path: Path, names: tuple[str, ...]) -> None:
    check_loops(tmp_path / "session", names, 2, 0.1)


@pytest.mark.long
@pytest.mark.parametrize("names", [("a", "b"), ("a", "a", "a"), ("a", "b", "c")], ids="-".join)
def test_of_several_processes_that_never_pause_none_starves(tmp_path: Path, names: tuple[str, ...]) -> None:
    for number in range(6):
        check_loops(tmp_path / str(number), names, 10, 0.1)
