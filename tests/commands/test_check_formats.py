"""What `check` found, in every format: the same findings at the same places, in the words each reader wants.

``sarif_shape.json`` is not the schema of OASIS but written from the standard, for the part that is used here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from trimtab.data import data_root
from trimtab.outputs.github import annotation
from trimtab.packs.problems import Problem

ROOT = data_root()
FIVE = ROOT / "tests" / "cases" / "must_show" / "five-findings.yaml"
EXPECTED = [
    ("unknown-key", 12, 5, "did you mean `select`?"),
    ("unit", 18, 31, "write 0.8 * window"),
    ("template-variable", 26, 16, "did you mean `tool`?"),
    ("unreachable", 29, 61, "remove one of the two, correct it, or put both under `any`"),
    (
        "thrash",
        31,
        9,
        "keep less (a share of the trigger), or set `accept` so that it waits until much can go",
    ),
]
"""A misspelt key, a wrong unit, a missing variable, a stage that never runs, and one that never rests."""


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> str:
    """The file's name as somebody in the repository would type it."""
    monkeypatch.chdir(ROOT)
    return FIVE.relative_to(ROOT).as_posix()


def test_five_mistakes_are_five_findings_in_text(trimtab: Callable, here: str) -> None:
    result = trimtab("check", here)
    places = re.findall(r"^error: (\S+):(\d+):(\d+): .*\[([a-z-]+)\]$", result.out, re.M)
    hints = re.findall(r"^  hint: (.*)$", result.out, re.M)
    assert [(code, int(line), int(column)) for _, line, column, code in places] == [
        each[:3] for each in EXPECTED
    ]
    assert hints == [each[3] for each in EXPECTED]
    assert result.out.endswith("1 pack: 5 errors\n")
    assert result.code == 1


def test_five_mistakes_are_five_findings_in_json(trimtab: Callable, here: str) -> None:
    result = trimtab("check", here, "--format", "json")
    schema = json.loads((ROOT / "schemas" / "check.schema.json").read_text("utf-8"))
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(result.json, schema)
    (pack,) = result.json["packs"]
    assert [(one["code"], one["line"], one["column"], one["hint"]) for one in pack["problems"]] == EXPECTED
    assert pack["ok"] is False


def test_five_mistakes_are_five_annotations(trimtab: Callable, here: str) -> None:
    result = trimtab("check", here, "--format", "github")
    *lines, last = result.out.splitlines()
    assert last == "1 pack: 5 errors"
    found = [
        re.fullmatch(
            r"::error file=(.+),line=(\d+),col=(\d+),endColumn=(\d+),title=trimtab (.+?)::(.+)", line
        )
        for line in lines
    ]
    assert all(found)
    assert {each[1] for each in found if each} == {here}
    assert [(each[5], int(each[2]), int(each[3])) for each in found if each] == [
        each[:3] for each in EXPECTED
    ]
    assert [each[6].split("%0Ahint: ")[1] for each in found if each] == [each[3] for each in EXPECTED]


def sarif(text: str) -> dict[str, Any]:
    """The one run of a log that has the shape the standard asks for."""
    log = json.loads(text)
    shape = json.loads((ROOT / "tests" / "sarif_shape.json").read_text("utf-8"))
    jsonschema.validate(log, shape, format_checker=jsonschema.FormatChecker())
    (run,) = log["runs"]
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    return run  # type: ignore[no-any-return]


def test_five_mistakes_are_five_results_in_sarif(trimtab: Callable, here: str) -> None:
    run = sarif(trimtab("check", here, "--format", "sarif").out)
    found = []
    for result, (_, _, _, hint) in zip(run["results"], EXPECTED, strict=True):
        place = result["locations"][0]["physicalLocation"]
        region = place["region"]
        assert place["artifactLocation"]["uri"] == here
        assert region["endColumn"] > region["startColumn"]
        assert region["snippet"]["text"] == FIVE.read_text("utf-8").splitlines()[region["startLine"] - 1]
        assert result["message"]["text"].endswith(f"Hint: {hint}")
        assert result["level"] == "error"
        found.append((result["ruleId"], region["startLine"], region["startColumn"]))
    assert found == [each[:3] for each in EXPECTED]
    assert len(run["tool"]["driver"]["rules"]) == 5
    assert all(rule["help"]["markdown"] for rule in run["tool"]["driver"]["rules"])
    (fix,) = run["results"][0]["fixes"]
    (change,) = fix["artifactChanges"]
    assert change["replacements"][0]["insertedContent"]["text"] == "select"


def test_what_a_comment_answers_is_suppressed_in_sarif_with_its_reason(trimtab: Callable) -> None:
    run = sarif(
        trimtab("check", "--no-rehearse", ROOT / "tests/cases/good/silenced.yaml", "--format", "sarif").out
    )
    (result,) = run["results"]
    assert result["suppressions"] == [
        {"kind": "inSource", "justification": "the host raises the trigger by --set"}
    ]


def test_a_sound_pack_is_an_empty_list_in_every_format(trimtab: Callable) -> None:
    assert sarif(trimtab("check", "claude-code", "--format", "sarif").out)["results"] == []
    assert trimtab("check", "claude-code", "--format", "github").out == "1 pack: no problems\n"
    assert trimtab("check", "claude-code", "--format", "json").json["packs"][0]["problems"] == []


def test_signs_that_steer_a_workflow_are_escaped() -> None:
    problem = Problem("type", "50 % of\n::error::x", "a,b:c%.yaml", 3, 2, 4, "one\r\ntwo")
    assert annotation(problem) == (
        "::error file=a%2Cb%3Ac%25.yaml,line=3,col=2,endColumn=6,title=trimtab type"
        "::50 %25 of%0A::error::x%0Ahint: one%0D%0Atwo"
    )


def test_severities_have_the_names_of_their_format() -> None:
    levels = [
        annotation(Problem("type", "x", severity=each)).split(" ")[0] for each in ("error", "warning", "info")
    ]
    assert levels == ["::error", "::warning", "::notice"]


def test_a_file_whose_name_is_no_uri_is_quoted_in_sarif(
    trimtab: Callable, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my pack.yaml").write_text("format: 1\n", "utf-8")
    run = sarif(trimtab("check", "my pack.yaml", "--format", "sarif").out)
    uris = {each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for each in run["results"]}
    assert uris == {"my%20pack.yaml"}
