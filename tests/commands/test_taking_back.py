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


LATER = """\
  - {id: remind, kind: attach, at: [before_request], when: {committed: [clear]}, from: [{text: "some are gone"}]}
"""


@pytest.fixture
def layered(trimtab: Callable, session: Path, pack: Path, tmp_path: Path) -> Path:
    """A session directory after one run: c1 cleared three results, c2 speaks of it."""
    pack.write_text(pack.read_text("utf-8") + LATER, encoding="utf-8")
    assert trimtab("run", session, "--pack", pack, "--dir", tmp_path / "kept").code == 0
    return tmp_path / "kept"


def test_undo_names_what_stands_on_top_and_the_command_it_gives_undoes_that_too(
    trimtab: Callable, layered: Path
) -> None:
    first = trimtab("undo", layered, "c1")
    assert "c2 remind: 1 message added" in first.out
    told = first.out.splitlines()[-1]
    assert told == f"undo it too: trimtab undo {layered} c1 --with-later"
    second = trimtab(*told.partition("trimtab ")[2].split())
    assert second.code == 0
    assert "undone: c2 remind" in second.out
    assert "undone: c1" not in second.out
    assert trimtab("journal", layered).out.count("[undone]") == 2


def test_undo_with_later_leaves_out_both_at_once(trimtab: Callable, layered: Path) -> None:
    found = trimtab("undo", layered, "c1", "--with-later", "--json").json
    assert found["later"] == [{"commit": "c2", "stage": "remind", "undone": True}]
    assert trimtab("undo", layered, "c2").code == 1


def test_undo_says_what_holds_for_what_was_changed_added_and_brought_back(
    trimtab: Callable, layered: Path
) -> None:
    trimtab("restore", layered, "3:0")
    restored, added, changed = (trimtab("undo", layered, name).out for name in ("c3", "c2", "c1"))
    assert "they may touch it again" in restored
    assert "remind may add it again when it is due" in added
    assert "clear will not touch them unless the API refuses" in changed
    assert "other stages may" in changed


def test_restoring_twice_is_a_problem_and_no_second_commit(trimtab: Callable, folder: Path) -> None:
    trimtab("restore", folder, "3:0")
    again = trimtab("restore", folder, "5:0", "3:0")
    assert again.code == 1
    assert "3:0 is restored already, by commit c2" in again.err
    assert "c3" not in trimtab("journal", folder).out
