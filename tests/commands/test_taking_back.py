"""``journal undo restore`` over a session directory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def folder(trimtab: Callable, session: Path, pack: Path, tmp_path: Path) -> Path:
    """A session directory after one run: commit c1 cleared three results."""
    place = tmp_path / "kept"
    assert trimtab("run", session, "--pack", pack, "--dir", place).code == 0
    return place


def test_the_journal_shows_runs_and_commits(trimtab: Callable, folder: Path) -> None:
    result = trimtab("journal", folder)
    assert "run 1 · before_request · small@1.0.0" in result.out
    assert "c1 clear: 3 blocks rewritten" in result.out


def test_the_journal_as_json_holds_every_record(trimtab: Callable, folder: Path) -> None:
    assert [record["t"] for record in trimtab("journal", folder, "--json").json["records"]] == [
        "run",
        "commit",
    ]


def test_an_undone_commit_is_marked_and_the_next_run_shows_the_originals(
    trimtab: Callable, folder: Path, session: Path, pack: Path
) -> None:
    result = trimtab("undo", folder, "c1")
    after = trimtab("run", session, "--pack", pack, "--dir", folder, "--json").json
    assert result.code == 0
    assert "c1 clear" in result.out
    assert "[undone]" in trimtab("journal", folder).out
    assert after["totals"]["tokens"]["before"] == after["totals"]["tokens"]["after"]
    assert after["stages"][0]["verdict"] == "nothing"


def test_undoing_twice_or_what_is_not_there_is_a_problem(trimtab: Callable, folder: Path) -> None:
    trimtab("undo", folder, "c1")
    assert trimtab("undo", folder, "c1").code == 1
    missing = trimtab("undo", folder, "c9")
    assert missing.code == 1
    assert "the newest are c1" in missing.err


def test_a_spot_is_restored_and_stays(trimtab: Callable, folder: Path, session: Path, pack: Path) -> None:
    result = trimtab("restore", folder, "3:0")
    after = trimtab("run", session, "--pack", pack, "--dir", folder, "--out", "-").json
    assert result.code == 0
    assert "restored by commit c2: 3:0" in result.out
    assert after["messages"][2]["content"][0]["content"].startswith("berth 0")
    assert after["messages"][4]["content"][0]["content"] == "[cleared]"


def test_restoring_what_nobody_changed_is_a_problem(trimtab: Callable, folder: Path) -> None:
    for name in ("1:0", "toolu_99"):
        result = trimtab("restore", folder, name)
        assert result.code == 1
        assert name in result.err


@pytest.mark.parametrize("arguments", [("journal",), ("undo", "c1"), ("restore", "1:0")])
def test_a_directory_without_a_journal_stays_as_it_is(
    trimtab: Callable, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    name, *rest = arguments
    result = trimtab(name, tmp_path / "nothing", *rest)
    assert result.code == 1
    assert "there is no journal here" in result.err
    assert not (tmp_path / "nothing").exists()


def test_a_damaged_journal_is_told_with_its_line(trimtab: Callable, folder: Path) -> None:
    path = folder / "journal.jsonl"
    lines = path.read_text("ascii").splitlines()
    path.write_text("\n".join([lines[0], "{broken", *lines[1:]]) + "\n", encoding="ascii")
    result = trimtab("journal", folder)
    assert result.code == 1
    assert "journal.jsonl:2" in result.err
