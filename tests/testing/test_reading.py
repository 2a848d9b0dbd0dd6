"""Test files read: whole files with one mistake each, tables, values, included files, settings for all."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import jsonschema
import pytest
from tests.testing.support import PACK, case, planned, run, written

from trimtab.packs.problems import CODES, Problem
from trimtab.packs.shapes import check_shape
from trimtab.testing.expecting import READERS
from trimtab.testing.reading import cases_schema
from trimtab.testing.suite import plan

BAD = sorted((Path(__file__).parent / "bad").glob("*.yaml"))
EXPECT = re.compile(r"# expect (?P<line>\d+):(?P<column>\d+) (?P<code>[a-z-]+)(?P<rest>.*)")


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_a_broken_test_file_gets_one_message_at_the_right_place(path: Path, tmp_path: Path) -> None:
    first = path.read_text("utf-8").split("\n", 1)[0]
    expected = EXPECT.match(first)
    assert expected, "the first line says what is expected"
    here = written(tmp_path, "", PACK, path.stem)
    shutil.copy(path, here)
    [problem] = plan([str(here)]).every_problem
    assert (problem.line, problem.column) == (int(expected["line"]), int(expected["column"]))
    assert problem.code == expected["code"]
    assert problem.code in CODES
    message, hint = [part.strip() for part in expected["rest"].split("|")[1:]]
    assert message in problem.message
    assert hint in (problem.hint or "")
    assert "^" in problem.render()


def test_every_key_of_expect_has_a_reader_and_a_place_in_the_schema() -> None:
    assert set(READERS) == set(cases_schema()["definitions"]["expect"]["properties"])


def test_every_key_says_what_it_means() -> None:
    definitions = cases_schema()["definitions"]
    for name in ("case", "step", "given", "expect", "look", "result", "rounds"):
        for key, spec in definitions[name]["properties"].items():
            target = definitions[spec["$ref"].rsplit("/", 1)[1]] if "$ref" in spec else spec
            assert spec.get("description") or target.get("description"), (name, key)


def test_a_mistake_of_shape_is_found_wherever_it_stands_and_all_are_told(tmp_path: Path) -> None:
    tests = "cases:\n  - {name: a, given: {rounds: {cuont: 1}}, expect: {tokens: [1]}}\n  - {name: b, given: {}}\n"
    assert len(planned(tmp_path, tests).every_problem) == 4


def test_a_wrong_case_does_not_keep_the_others_from_being_read(tmp_path: Path) -> None:
    tests = (
        "cases:\n"
        "  - {name: wrong, given: {rounds: {count: 1}}, expect: {stages: {nope: done}}}\n"
        "  - {name: right, given: {rounds: {count: 1}}, expect: {stages: {clear: nothing}}}\n"
    )
    found = planned(tmp_path, tests)
    assert [one.name for one in found.files[0].cases] == ["right"]
    assert [problem.code for problem in found.every_problem] == ["unknown-stage"]


def test_a_table_runs_its_case_once_for_each_entry_with_values_of_their_type(tmp_path: Path) -> None:
    tests = """
cases:
  - name: "{count} rounds leave {cleared} cleared, {verdict}"
    table: [{count: 1, cleared: 0, verdict: nothing}, {count: 4, cleared: 3, verdict: committed}]
    given: {rounds: {count: "{count}"}}
    expect:
      stages: {"{stage}": "{verdict}"}
      view: [{at: {blocks: [tool_result], matches: cleared}, count: "{cleared}"}]
values: {stage: clear}
"""
    result = run(tmp_path, tests)
    assert [ran.case.title for ran in result.ran] == [
        "1 rounds leave 0 cleared, nothing",
        "4 rounds leave 3 cleared, committed",
    ]
    assert not result.failed


def test_the_name_of_a_case_shows_the_entry_where_it_does_not_tell(tmp_path: Path) -> None:
    tests = """
cases:
  - name: so many rounds
    table: [{count: 1, on: true, words: "{long}"}]
    given: {rounds: {count: "{count}"}}
    expect: {stages: {clear: nothing}}
values: {long: {chars: 500}}
"""
    [ran] = run(tmp_path, tests).ran
    assert ran.case.title == "so many rounds [count=1, on=true, words={long}]"


def test_a_placeholder_nobody_knows_stays_text_where_text_is_meant(tmp_path: Path) -> None:
    given = "messages: [{role: user, content: 'a {brace} in a text'}]"
    assert case(tmp_path, "expect: {view: [{at: 0, equals: 'a {brace} in a text'}]}", given).passed


def test_an_included_file_is_run_on_this_pack_with_the_values_of_this_file(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    written(
        tmp_path / "base",
        "values: {auto: 100000}\ncases:\n"
        "  - {name: due, given: {rounds: {count: 1}}, expect: {limits: {auto: '{auto}'}}}\n",
    )
    changed = PACK.replace("share: 0.5", "share: 0.8")
    (tmp_path / "mine").mkdir()
    tests = written(
        tmp_path / "mine", "values: {auto: 160000}\ninclude: [../../base/tests/cases.yaml]\n", changed
    )
    found = plan([str(tests)])
    assert [one.steps[0].expects[0].value.bounds for one in found.files[0].cases] == [(("equals", 160000),)]
    assert found.files[0].cases[0].document.path.endswith("base/tests/cases.yaml")


def included(folder: Path, files: Mapping[str, str]) -> list[Problem]:
    """What is wrong with tests that include the first of these files, beside the pack."""
    tests = written(folder, f"include: [../{next(iter(files))}]\n")
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return plan([str(tests)]).every_problem


@pytest.mark.parametrize(
    "files",
    [
        {f"{at}.yaml": f"include: [{at + 1}.yaml]\n" for at in range(1200)},
        {f"{at}.yaml": f"include: [{at + 1}.yaml, {at + 1}.yaml]\n" for at in range(30)},
        {f"{at}.yaml": f"include: [{', '.join([f'{at + 1}.yaml'] * 200)}]\n" for at in range(3)}
        | {"3.yaml": "cases: []\n"},
    ],
    ids=["a chain", "twice as many each time", "very many of one"],
)
def test_files_that_include_very_many_are_one_problem_and_soon(
    tmp_path: Path, files: Mapping[str, str]
) -> None:
    found = included(tmp_path, files)
    assert [each.code for each in found if each.code != "value"] == ["too-large"]
    assert len(found) <= 2


def test_a_pipe_and_a_name_with_a_zero_in_it_are_no_files_to_include(tmp_path: Path) -> None:
    for name in ("pipe.yaml", "a\\0b"):
        tests = written(tmp_path, f'include: ["{name}"]\n')
        if name == "pipe.yaml":
            os.mkfifo(tests.parent / name)
        assert [each.code for each in plan([str(tests)]).every_problem] == ["file"]


ONE_CASE = "cases: [{name: one, given: {rounds: {count: 1}}, expect: {messages: {at_least: 1}}}]\n"


@pytest.mark.parametrize("what", ["a pipe", "a folder", "a link that leads to no file"])
def test_what_is_no_file_among_the_tests_is_a_problem_in_words(tmp_path: Path, what: str) -> None:
    place = written(tmp_path, ONE_CASE).with_name("odd.yaml")
    {"a pipe": os.mkfifo, "a folder": os.mkdir}.get(what, lambda path: path.symlink_to("nowhere"))(place)
    found = plan([str(tmp_path)])
    assert [each.message for each in found.every_problem] == [f"cannot be read: it is {what}"]
    assert [case.name for one in found.files for case in one.cases] == ["one"]


def test_settings_of_a_file_lie_under_those_of_a_case(tmp_path: Path) -> None:
    tests = """
settings: {clear: false, share: 0.9}
cases:
  - {name: as the file says, given: {rounds: {count: 3}}, expect: {stages: {clear: skipped}, limits: {auto: 180000}}}
  - {name: as the case says, given: {rounds: {count: 3}}, settings: {clear: true},
     expect: {stages: {clear: committed}, limits: {auto: 180000}}}
"""
    assert not run(tmp_path, tests).failed


def test_the_schema_takes_what_the_reader_takes_and_is_draft_07() -> None:
    schema = cases_schema()
    jsonschema.Draft7Validator.check_schema(schema)
    for path in sorted(Path("rules").glob("*/tests/*.yaml")):
        from trimtab.packs.document import read_document

        data = read_document(path).data
        assert check_shape(schema, data).violations == []
        assert [error.message for error in jsonschema.Draft7Validator(schema).iter_errors(data)] == [], path
    assert json.loads(json.dumps(schema)) == schema
