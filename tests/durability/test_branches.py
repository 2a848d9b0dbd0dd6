"""A host that rewinds, forks and comes back: valid views on every branch, and receipts that say what was set aside."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.durability.support import (
    LASTING,
    MODEL,
    Message,
    body,
    check_folder,
    conversation,
    opened,
    results_of,
    run,
)

from trimtab import commands
from trimtab.conversation.edits import Commit
from trimtab.outcome import Outcome
from trimtab.session import Session

TURN = 6
"""Messages of one turn of ``conversation``."""
TRUNK = conversation(9)
REWOUND = TRUNK[: 6 * TURN]
"""The trunk without its last three turns."""
FORK = [*REWOUND, *conversation(5, "fork-")]


def go_on(session: Session, messages: list[Message], start: int = 1) -> Outcome:
    """Run before every request from the ``start``-th message on; the last outcome."""
    outcome = None
    for size in range(start, len(messages) + 1):
        if messages[size - 1]["role"] == "user":
            outcome = run(session, messages[:size])
    assert outcome is not None
    return outcome


@pytest.mark.parametrize("restarts", [False, True])
def test_three_turns_back_and_another_way_on(tmp_path: Path, restarts: bool) -> None:
    folder = tmp_path / "session"
    session = opened(folder)

    def now() -> Session:
        return opened(folder) if restarts else session

    trunk = body(go_on(session, TRUNK))
    late = {commit.id for commit in session.track.history.commits}

    first = run(now(), FORK[: len(REWOUND) + 1])
    assert first.receipt.run.transcript == "rewound"
    assert first.receipt.dropped, "edits of the last three turns have no place here"
    assert {dropped.commit for dropped in first.receipt.dropped} < late, (
        "those before the fork are still live"
    )
    assert all("not on this branch" in dropped.why for dropped in first.receipt.dropped)
    said = json.dumps(list(first.request.messages))
    assert not any(f"question {turn}" in said or f"result {turn} " in said for turn in (6, 7, 8))

    fork = body(go_on(now(), FORK, len(REWOUND) + 2))
    back = run(now(), TRUNK[:-1])
    assert body(back) == trunk, "coming back wakes the edits"
    assert any(dropped.commit not in late for dropped in back.receipt.dropped), "those of the fork sleep now"
    assert body(run(now(), FORK[:-1])) == fork
    go_on(now(), [*TRUNK, *conversation(3, "more-")], len(TRUNK) + 1)
    assert body(run(now(), FORK[:-1])) == fork
    check_folder(folder, results_of([*TRUNK, *FORK, *conversation(3, "more-")]))


def test_a_rewind_to_the_very_beginning_shows_the_beginning(tmp_path: Path) -> None:
    session = opened(tmp_path / "session")
    trunk = body(go_on(session, TRUNK))
    outcome = run(session, TRUNK[:1])
    assert list(outcome.request.messages) == TRUNK[:1]
    assert outcome.receipt.dropped
    assert body(run(session, TRUNK[:-1])) == trunk


# --- the same by hand, on a directory


@pytest.fixture
def trimtab(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Runs a command; its exit code and what it printed."""

    def call(*arguments: object) -> tuple[int, str]:
        capsys.readouterr()
        code = commands.invoke([str(one) for one in arguments])
        said = capsys.readouterr()
        return code, said.out + said.err

    return call


def written(path: Path, messages: list[Message]) -> Path:
    path.write_text(json.dumps({"model": MODEL, "max_tokens": 1000, "messages": messages}), "utf-8")
    return path


def test_three_versions_of_a_session_file_one_directory(trimtab: Callable[..., Any], tmp_path: Path) -> None:
    pack = tmp_path / "lasting.yaml"
    pack.write_text(LASTING, "utf-8")
    folder, out = tmp_path / "kept", tmp_path / "next.json"

    def go(messages: list[Message]) -> tuple[Any, Any]:
        file = written(tmp_path / "session.json", messages)
        code, said = trimtab("run", file, "--pack", pack, "--dir", folder, "--out", out, "--json")
        assert code == 0, said
        return json.loads(said), json.loads(out.read_text("utf-8"))["messages"]

    short, grown, forked = TRUNK[: 3 * TURN - 1], TRUNK[: 6 * TURN - 1], [*TRUNK[: 3 * TURN], *FORK[36:47]]
    go(short)
    receipt, view = go(grown)
    assert receipt["run"]["transcript"] == "append"
    assert len(view) < len(grown)
    receipt, _ = go(forked)
    assert receipt["run"]["transcript"] == "rewound"
    assert [one["why"] for one in receipt["dropped"]]
    again, same = go(grown)
    assert same == view
    assert again["totals"]["commits"] == 0

    code, said = trimtab("journal", folder)
    assert code == 0
    assert "run 4" in said
    commits = [record for record in check_folder(folder) if isinstance(record, Commit)]
    spots = {spot: name for one in commits if one.stage == "offload" for spot, name in one.stored.items()}
    wanted = [f"{serial}:{block}" for serial, block in spots]
    for shrink in [commit for commit in reversed(commits) if commit.stage == "shrink"]:
        assert trimtab("restore", folder, *wanted)[0] == 1, "a summary stands in their place"
        assert trimtab("undo", folder, shrink.id)[0] == 0
        assert trimtab("undo", folder, shrink.id)[0] == 1
    assert trimtab("restore", folder, *wanted)[0] == 0
    originals = {(folder / name).read_text("utf-8") for name in spots.values()}
    for _ in range(2):
        _, view = go(grown)
        assert "<stored in" not in json.dumps(view)
        assert originals & set(results_of(view)), "an original is shown again"
    check_folder(folder, results_of([*TRUNK, *FORK]))
