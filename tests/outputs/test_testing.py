"""Results of packs' tests: in words, as data, as JUnit's XML."""

from __future__ import annotations

import io
import json
from pathlib import Path
from xml.etree import ElementTree as xml

from tests.testing.support import case, planned, run

from trimtab.outputs.as_json import dumps
from trimtab.outputs.console import console
from trimtab.outputs.junit import junit
from trimtab.outputs.testing import as_dict, failure_text, show_result, summary
from trimtab.testing.suite import run_plan

TESTS = """
cases:
  - {name: it holds, given: {rounds: {count: 3}}, expect: {stages: {clear: committed}}}
  - name: "it does not <hold> \\x01"
    given: {rounds: {count: 3}}
    expect: {stages: {clear: nothing, sum-up: committed}}
"""


def shown(folder: Path, **options: bool) -> str:
    stream = io.StringIO()
    show_result(run(folder, TESTS), console(stream), **options)
    return stream.getvalue()


def test_a_failure_shows_place_line_caret_expected_found_and_the_deciding_receipt(tmp_path: Path) -> None:
    ran = case(
        tmp_path, "settings: {clear: false}\\nexpect:\\n  stages: {clear: committed}".replace("\\n", "\n")
    )
    lines = failure_text(ran.failures[0]).split("\n")
    assert lines[0].endswith("cases.yaml:6:16: stages.clear")
    assert lines[1] == "  6 |       stages: {clear: committed}"
    assert lines[2] == "    |                ^^^^^"
    assert lines[3:] == [
        "  expected  committed",
        "  found     skipped",
        "  receipt   clear skipped: settings clear is false",
    ]


def test_children_of_a_stage_stand_below_it(tmp_path: Path) -> None:
    ran = case(
        tmp_path,
        "event: manual\nanswers: [empty]\nexpect: {stages: {sum-up: committed}}",
        "rounds: {count: 9}",
    )
    text = failure_text(ran.failures[0])
    assert "  receipt   sum-up failed: " in text
    assert "\n              by-model failed: " in text
    assert "\n              by-itself skipped: failure empty is not unavailable" in text


def test_failures_and_a_summary_are_printed_every_case_only_when_asked(tmp_path: Path) -> None:
    text = shown(tmp_path)
    assert "it holds" not in text
    assert "FAILED small: it does not <hold>" in text
    assert "\x01" not in text
    assert "1 pack, 2 cases: 1 passed, 1 failed in " in text
    assert "✓ small: it holds (" in shown(tmp_path, verbose=True)


def test_coverage_names_the_place_of_each_stage_no_test_makes_fire(tmp_path: Path) -> None:
    text = shown(tmp_path, coverage=True)
    assert "small: 1 of 7 stages fired (14 %)" in text
    assert "pack.yaml:20:5: no test makes `hush` fire" in text.replace(str(tmp_path), "")


def test_nothing_is_said_to_have_run_where_nothing_ran(tmp_path: Path) -> None:
    result = run_plan(planned(tmp_path, TESTS), lambda case: False)
    assert summary(result) == "nothing ran: 2 left out"


def test_the_data_hold_every_case_with_its_failures_and_can_be_written_as_json(tmp_path: Path) -> None:
    data = json.loads(dumps(as_dict(run(tmp_path, TESTS))))
    assert data["ok"] is False
    good, bad = data["cases"]
    assert (good["passed"], good["pack"], good["line"]) == (True, "small@1.0.0", 3)
    assert [one["what"] for one in bad["failures"]] == ["stages.clear", "stages.sum-up"]
    assert bad["failures"][1]["receipt"][0].startswith("sum-up skipped: tokens ")
    assert data["coverage"][0]["missing"][0]["stage"] == "sum-up"


ATTRIBUTES = {
    "testsuites": {"name", "tests", "failures", "errors", "time"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testcase": {"name", "classname", "file", "line", "time"},
    "failure": {"message", "type"},
    "error": {"message", "type"},
}
"""The shape CI servers share: elements with the attributes they know."""
INNER = {"testsuites": {"testsuite"}, "testsuite": {"testcase"}, "testcase": {"failure", "error"}}


def checked(element: xml.Element) -> None:
    assert set(element.attrib) <= ATTRIBUTES[element.tag], element.tag
    for inner in element:
        assert inner.tag in INNER.get(element.tag, set())
        checked(inner)
    if element.tag == "testsuite":
        assert int(element.attrib["tests"]) == len(element)
        assert int(element.attrib["failures"]) == len(element.findall("testcase/failure"))
        assert int(element.attrib["errors"]) == len(element.findall("testcase/error"))
    if "time" in element.attrib:
        assert float(element.attrib["time"]) >= 0


def test_the_xml_has_the_shape_ci_servers_read(tmp_path: Path) -> None:
    root = xml.fromstring(junit(run(tmp_path, TESTS)))
    checked(root)
    assert (root.attrib["tests"], root.attrib["failures"]) == ("2", "1")
    [failure] = root.iter("failure")
    assert failure.attrib["message"] == "stages.clear: expected nothing, found committed"
    assert failure.text is not None
    assert "expected  committed" in failure.text
    assert [one.attrib["name"] for one in root.iter("testcase")] == ["it holds", "it does not <hold> \ufffd"]


def test_what_is_wrong_with_a_file_is_an_error_in_the_xml(tmp_path: Path) -> None:
    result = run_plan(planned(tmp_path, TESTS.replace("stages: {clear: committed}", "limits: {no: 1}")))
    root = xml.fromstring(junit(result))
    checked(root)
    assert root.attrib["errors"] == "1"
    [error] = root.iter("error")
    assert error.attrib["type"] == "unknown-limit"
