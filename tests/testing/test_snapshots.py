"""Snapshots: written when asked, compared else, free of figures that rest on an estimate."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.testing.support import PACK, planned, run, written

from trimtab.testing.snapshots import Snapshots
from trimtab.testing.suite import plan, run_plan

TESTS = """
cases:
  - name: the whole view
    given: {rounds: {count: 2}, system: You help.}
    expect: {snapshot: after-clearing}
"""


def snapshot(folder: Path, name: str = "after-clearing") -> Path:
    return folder / "tests" / "snapshots" / "cases" / f"{name}.txt"


def test_a_snapshot_that_is_not_there_is_a_failure_that_says_how_to_write_it(tmp_path: Path) -> None:
    [ran] = run(tmp_path, TESTS).ran
    [one] = ran.failures
    assert one.what == "snapshot.after-clearing"
    assert "--update" in one.found
    assert not snapshot(tmp_path).exists()


def test_an_update_writes_it_and_the_next_run_compares(tmp_path: Path) -> None:
    result = run(tmp_path, TESTS, Snapshots(update=True))
    assert result.wrote == [snapshot(tmp_path)]
    assert not result.failed
    assert not run(tmp_path, TESTS).failed
    text = snapshot(tmp_path).read_text("utf-8")
    assert "  clear committed 1\n" in text
    assert "\n2 user\n  | [cleared]\n" in text
    assert "system\n  | You help.\n" in text
    assert "tokens" not in text


def test_another_view_is_a_failure_with_the_lines_that_differ(tmp_path: Path) -> None:
    run(tmp_path, TESTS, Snapshots(update=True))
    changed = PACK.replace("[cleared]", "[gone]")
    [ran] = run_plan(plan([str(written(tmp_path, TESTS, changed))])).ran
    [one] = ran.failures
    assert "-  | [cleared]" in one.notes
    assert "+  | [gone]" in one.notes


def test_a_long_text_is_kept_as_its_beginning_and_a_digest(tmp_path: Path) -> None:
    tests = TESTS.replace("rounds: {count: 2}", "rounds: {count: 1, result: {chars: 90000}}")
    run(tmp_path, tests, Snapshots(update=True))
    assert len(snapshot(tmp_path).read_text("utf-8")) < 4000
    other = tests.replace("90000", "90001")
    assert run(tmp_path, other).failed


def test_two_expectations_that_share_a_name_must_agree(tmp_path: Path) -> None:
    tests = """
cases:
  - name: a
    table: [{count: 2}, {count: 3}]
    given: {rounds: {count: "{count}"}}
    expect: {snapshot: same}
"""
    result = run(tmp_path, tests, Snapshots(update=True))
    [ran] = result.failed
    assert "two expectations share it" in ran.failures[0].found
    assert not run(tmp_path, tests.replace("same", "'same-{count}'"), Snapshots(update=True)).failed


def test_a_case_that_ends_with_an_error_keeps_its_snapshot(tmp_path: Path) -> None:
    run(tmp_path, TESTS, Snapshots(update=True))
    result = run(tmp_path, TESTS.replace("    expect:", "    usage: {input_tokens: 900000}\n    expect:"))
    assert result.failed
    assert result.stale == []


def test_a_snapshot_nobody_asks_for_is_stale_unless_cases_were_left_out(tmp_path: Path) -> None:
    run(tmp_path, TESTS, Snapshots(update=True))
    snapshot(tmp_path, "old").write_text("old\n", encoding="utf-8")
    assert run(tmp_path, TESTS).stale == [snapshot(tmp_path, "old")]
    found = planned(tmp_path, TESTS)
    assert run_plan(found, lambda case: False).stale == []


def only_failure(folder: Path, *, update: bool = False) -> str:
    """What was found of the snapshot in a run of the tests."""
    [ran] = run(folder, TESTS, Snapshots(update=update)).ran
    [one] = ran.failures
    return one.found


@pytest.mark.parametrize("link", ["snapshots", "snapshots/cases", "snapshots/cases/after-clearing.txt"])
def test_nothing_is_written_or_removed_through_a_link(tmp_path: Path, link: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "cases").mkdir()
    for path in (elsewhere / "kept.txt", elsewhere / "cases" / "kept.txt"):
        path.write_text("another's", encoding="utf-8")
    before = sorted(elsewhere.rglob("*"))
    written(tmp_path, TESTS)
    place = tmp_path / "tests" / link
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(elsewhere / "new.txt" if link.endswith(".txt") else elsewhere)
    assert "through a symbolic link" in only_failure(tmp_path, update=True)
    assert run(tmp_path, TESTS).stale == []
    assert sorted(elsewhere.rglob("*")) == before


def test_a_snapshot_that_cannot_be_written_is_a_failure_with_the_reason(tmp_path: Path) -> None:
    snapshot(tmp_path).parent.mkdir(parents=True)
    os.mkfifo(snapshot(tmp_path))
    assert "no regular file" in only_failure(tmp_path, update=True)
    snapshot(tmp_path).unlink()
    snapshot(tmp_path).write_text("old", encoding="utf-8")
    snapshot(tmp_path).chmod(0o444)
    assert "read-only" in only_failure(tmp_path, update=True)
    assert snapshot(tmp_path).read_text("utf-8") == "old"


def test_a_snapshot_that_is_no_utf_8_differs_and_can_be_written_anew(tmp_path: Path) -> None:
    run(tmp_path, TESTS, Snapshots(update=True))
    good = snapshot(tmp_path).read_bytes()
    snapshot(tmp_path).write_bytes(b"\xff\xfe" + good)
    assert "another view" in only_failure(tmp_path)
    assert not run(tmp_path, TESTS, Snapshots(update=True)).failed
    assert snapshot(tmp_path).read_bytes() == good


def test_a_view_that_is_no_unicode_has_a_snapshot_all_the_same(tmp_path: Path) -> None:
    session = {
        "model": "claude-sonnet-4-5",
        "messages": [{"role": "user", "content": "half \ud83d of a sign"}],
    }
    tests = TESTS.replace("rounds: {count: 2}, system: You help.", "session: odd.json")
    written(tmp_path, tests).with_name("odd.json").write_text(json.dumps(session), encoding="utf-8")
    assert not run(tmp_path, tests, Snapshots(update=True)).failed
    assert r"half \ud83d of a sign" in snapshot(tmp_path).read_text("utf-8")
    assert not run(tmp_path, tests).failed


def test_line_ends_of_another_system_are_no_difference(tmp_path: Path) -> None:
    run(tmp_path, TESTS, Snapshots(update=True))
    snapshot(tmp_path).write_bytes(snapshot(tmp_path).read_bytes().replace(b"\n", b"\r\n"))
    assert not run(tmp_path, TESTS).failed
