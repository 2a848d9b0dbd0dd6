"""``trimtab test``."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as xml

import pytest
from tests.testing.support import PACK, written

from trimtab.commands import test as module
from trimtab.commands.test import Wish, watching

GOOD = "cases:\n  - {name: it holds, given: {rounds: {count: 3}}, expect: {stages: {clear: committed}}}\n"
BAD = GOOD.replace("it holds", "it fails").replace("committed", "nothing")
WISH = Wish(("x",), (), False, None, "text", False, False, False, None)


def test_a_pack_whose_tests_pass_is_fine(trimtab: Callable, tmp_path: Path) -> None:
    written(tmp_path, GOOD)
    result = trimtab("test", tmp_path)
    assert result.code == 0
    assert "1 pack, 1 case: 1 passed in" in result.out


def test_a_failure_is_a_problem_with_what_was_expected_and_found(trimtab: Callable, tmp_path: Path) -> None:
    path = written(tmp_path, BAD)
    result = trimtab("test", path)
    assert result.code == 1
    column = GOOD.split("\n")[1].index("clear: ") + 1
    assert f"{path}:2:{column}: stages.clear" in result.out
    assert "  expected  nothing\n  found     committed\n  receipt   clear committed" in result.out


def test_a_mistake_in_a_test_file_is_a_problem_in_the_form_of_check(
    trimtab: Callable, tmp_path: Path
) -> None:
    path = written(tmp_path, GOOD.replace("clear", "claer"))
    result = trimtab("test", path)
    assert result.code == 1
    assert f"error: {path}:2:" in result.out
    assert "hint: did you mean `clear`?" in result.out


@pytest.mark.parametrize("arguments", [("-k", "no such name"), ()])
def test_nothing_ran_has_a_code_of_its_own(arguments: tuple, trimtab: Callable, tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    if not arguments:
        path.unlink()
    result = trimtab("test", tmp_path / "pack.yaml", *arguments)
    assert result.code == 5
    assert "nothing ran" in result.out


def test_cases_are_chosen_by_name(trimtab: Callable, tmp_path: Path) -> None:
    written(tmp_path, GOOD + BAD.split("\n", 1)[1])
    assert trimtab("test", tmp_path).code == 1
    result = trimtab("test", tmp_path, "-k", "HOLDS")
    assert result.code == 0
    assert "1 left out" in result.out


def test_coverage_below_the_least_is_a_problem(trimtab: Callable, tmp_path: Path) -> None:
    written(tmp_path, GOOD)
    assert trimtab("test", tmp_path, "--coverage").code == 0
    result = trimtab("test", tmp_path, "--min-coverage", "50")
    assert result.code == 1
    assert "1 of 7 stages fired (14 %)" in result.out
    assert trimtab("test", tmp_path, "--min-coverage", "14").code == 0


def test_json_and_junit_say_the_same(trimtab: Callable, tmp_path: Path) -> None:
    written(tmp_path, BAD)
    result = trimtab("test", tmp_path, "--json", "--junit", tmp_path / "out.xml")
    assert result.code == 1
    assert result.json["cases"][0]["failures"][0]["found"] == "committed"
    assert xml.parse(tmp_path / "out.xml").getroot().attrib["failures"] == "1"


def test_update_writes_snapshots_and_takes_stale_ones_away(trimtab: Callable, tmp_path: Path) -> None:
    path = written(tmp_path, GOOD.replace("stages: {clear: committed}", "snapshot: one"))
    assert trimtab("test", path).code == 1
    stale = tmp_path / "tests" / "snapshots" / "cases" / "old.txt"
    result = trimtab("test", path, "--update")
    assert result.code == 0
    assert "written: " in result.out
    stale.write_text("old", encoding="utf-8")
    assert "no case asks for the snapshot" in trimtab("test", path).out
    trimtab("test", path, "--update")
    assert not stale.exists()
    assert trimtab("test", path).code == 0


def test_options_that_do_not_go_together_are_wrong_usage(trimtab: Callable, tmp_path: Path) -> None:
    assert trimtab("test", "--watch", "--json").code == 2
    assert trimtab("test", "--junit", tmp_path / "nowhere" / "out.xml").code == 2
    assert trimtab("test", "--min-coverage", "101").code == 2


def test_watching_runs_again_when_a_file_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, BAD)

    def wait() -> None:
        path.write_text(GOOD, encoding="utf-8")
        os.utime(path, ns=(1, 1))

    code = watching(Wish((str(path),), *_rest()), wait, rounds=2)
    out = capsys.readouterr().out
    assert code == 0
    assert "1 failed" in out
    assert "1 passed" in out.split("watching; Ctrl-C ends")[1]


def test_watching_goes_on_when_a_broken_pack_is_mended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, GOOD, PACK.replace("kind: replace", "kind: repalce"))

    def mend() -> None:
        written(tmp_path, GOOD)

    code = watching(Wish((str(tmp_path),), *_rest()), mend, rounds=2)
    assert code == 0
    assert "unknown-kind" in capsys.readouterr().out


def test_watching_notices_a_new_test_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path, GOOD)

    def more() -> None:
        written(tmp_path, BAD, name="new")

    code = watching(
        Wish((str(tmp_path),), *_rest()),
        more,
        rounds=2,
    )
    assert code == 1
    assert "1 failed" in capsys.readouterr().out


def test_an_interrupt_ends_watching_with_the_last_code(tmp_path: Path) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    assert watching(Wish((str(written(tmp_path, BAD)),), *_rest()), interrupted) == 1


def _rest() -> tuple:
    return ((), False, None, "text", False, False, False, None)


def test_the_help_names_the_default_and_where_tests_lie(trimtab: Callable) -> None:
    out = trimtab("test", "--help").out
    assert "tests/*.yaml" in out
    assert "the pack here, else all that ship" in " ".join(out.split())
    assert module.POLL < 1


def test_every_expectation_that_does_not_hold_and_every_mistake_can_be_an_annotation(
    trimtab: Callable, tmp_path: Path
) -> None:
    path = written(tmp_path, BAD)
    result = trimtab("test", tmp_path, "--format", "github")
    assert result.code == 1
    [line] = [line for line in result.out.splitlines() if line.startswith("::")]
    assert line.startswith(f"::error file={path}".replace(":", "%3A", 0))
    assert "title=trimtab test::" in line
    assert "%0Aexpected nothing%0Afound committed" in line
    written(tmp_path, BAD.replace("stages:", "stagess:"))
    assert "title=trimtab unknown-key::" in trimtab("test", tmp_path, "--format", "github").out
    written(tmp_path, GOOD)
    assert "::" not in trimtab("test", tmp_path, "--format", "github").out
