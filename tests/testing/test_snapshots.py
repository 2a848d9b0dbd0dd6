"""Snapshots: written when asked, compared else, free of figures that rest on an estimate."""

from __future__ import annotations

from pathlib import Path

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
