"""Finding tests by packs, folders and files; coverage of stages."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.testing.support import PACK, run, written

from trimtab.packs.load import list_packs
from trimtab.testing.coverage import lowest
from trimtab.testing.suite import chosen_by, home_of, plan, run_plan, watched

ONE = "cases:\n  - {name: a, given: {rounds: {count: 3}}, expect: {stages: {clear: committed}}}\n"


@pytest.mark.parametrize("name", ["pack.yaml", "", "tests", "tests/cases.yaml"])
def test_tests_are_found_by_pack_folder_and_file(name: str, tmp_path: Path) -> None:
    written(tmp_path, ONE)
    found = plan([str(tmp_path / name)])
    assert [one.path.name for one in found.files] == ["cases.yaml"]
    assert found.every_problem == []
    assert len(run_plan(found).ran) == 1


def test_a_folder_with_packs_in_it_means_all_of_them_and_each_test_file_once(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        written(tmp_path / name, ONE)
    assert len(plan([str(tmp_path), str(tmp_path / "one")]).files) == 2


def test_a_pack_in_a_file_of_its_own_has_the_tests_beside_it_and_they_may_name_another(
    tmp_path: Path,
) -> None:
    written(tmp_path, ONE)
    (tmp_path / "pack.yaml").rename(tmp_path / "house.yaml")
    written(tmp_path, "pack: ../house.yaml\n" + ONE, name="named")
    (tmp_path / "pack.yaml").unlink()
    found = plan([str(tmp_path / "house.yaml")])
    assert len(found.files) == 2
    assert found.every_problem == []
    assert home_of(tmp_path / "tests" / "named.yaml").name == "house.yaml"


def test_a_test_file_with_mistakes_is_not_taken_for_a_pack_wherever_it_lies(tmp_path: Path) -> None:
    written(tmp_path, ONE)
    path = tmp_path / "apart.yaml"
    path.write_text("pack: pack.yaml\n" + ONE.replace("expect", "expct"), encoding="utf-8")
    assert [problem.code for problem in plan([str(path)]).every_problem] == ["unknown-key"]


def test_a_pack_without_tests_is_named(tmp_path: Path) -> None:
    written(tmp_path, ONE).unlink()
    found = plan([str(tmp_path / "pack.yaml")])
    assert found.files == []
    assert found.without == [str(tmp_path / "pack.yaml")]


def test_a_pack_that_is_broken_or_missing_is_a_problem_with_its_place(tmp_path: Path) -> None:
    written(tmp_path, ONE, PACK.replace("kind: replace", "kind: repalce"))
    codes = [problem.code for problem in plan([str(tmp_path / "pack.yaml"), "no-such-pack"]).every_problem]
    assert codes == ["file", "unknown-kind"] or codes == ["unknown-kind", "file"]


def test_a_test_file_that_names_no_pack_there_is_is_a_problem_at_that_name(tmp_path: Path) -> None:
    path = written(tmp_path, "pack: ../nowhere.yaml\n" + ONE)
    [problem] = plan([str(path)]).every_problem
    assert (problem.line, problem.column) == (1, 7)


def test_coverage_counts_stages_and_children_that_fire(tmp_path: Path) -> None:
    tests = """
cases:
  - {name: a, given: {rounds: {count: 3}}, expect: {stages: {clear: committed}}}
  - {name: b, given: {rounds: {count: 9}}, event: manual, answers: [Short.], expect: {stages: {by-model: committed}}}
"""
    [coverage] = run(tmp_path, tests).coverage
    assert sorted(coverage.fired) == ["by-model", "clear", "sum-up"]
    assert [name for name, _ in coverage.missing] == ["by-itself", "hush", "notes", "files"]
    assert round(coverage.percent) == 43
    assert str(coverage.missing[0][1]).endswith("pack.yaml:19:9")
    assert lowest([]) == 100


def test_a_stage_that_is_switched_off_need_not_fire(tmp_path: Path) -> None:
    off = PACK.replace("{id: hush, kind: guard,", "{id: hush, kind: guard, enabled: false,")
    found = plan([str(written(tmp_path, ONE, off))])
    [coverage] = run_plan(found).coverage
    assert "hush" not in coverage.stages


def test_cases_are_chosen_by_a_part_of_their_name(tmp_path: Path) -> None:
    tests = (
        "cases:\n  - {name: Old reads go, given: {rounds: {count: 3}}, expect: {messages: 7}}\n"
        + ONE.split("\n", 1)[1]
    )
    found = plan([str(written(tmp_path, tests))])
    result = run_plan(found, chosen_by(["READS", "nothing"]))
    assert [ran.case.name for ran in result.ran] == ["Old reads go"]
    assert result.left_out == 1


def test_what_a_plan_was_made_of_is_watched(tmp_path: Path) -> None:
    path = written(tmp_path, ONE)
    files = watched(plan([str(path)]))
    assert {path, tmp_path / "pack.yaml", tmp_path / "templates" / "ask.md.j2"} <= files


@pytest.mark.parametrize("name", [shipped.name for shipped in list_packs()])
def test_a_shipped_pack_has_tests_that_make_every_stage_fire(name: str) -> None:
    result = run_plan(plan([name]))
    assert result.problems == []
    assert [(ran.case.title, ran.failures[0]) for ran in result.failed] == []
    assert [one.missing for one in result.coverage] == [[]]
