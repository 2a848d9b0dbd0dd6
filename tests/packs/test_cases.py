"""Whole packs as files: broken ones with exactly one problem each, sound ones with none.

The first line of a broken pack says what is expected:
``# expect [FILE:]LINE:COLUMN CODE | part of the message | part of the hint``.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trimtab.packs.load import check
from trimtab.packs.problems import CODES, INFO

CASES = Path(__file__).parents[1] / "cases"
BAD = sorted((CASES / "bad").glob("*.yaml"))
GOOD = sorted((CASES / "good").glob("*.yaml"))
EXPECT = re.compile(
    r"# expect (?:(?P<file>[^:]+):)?(?P<line>\d+):(?P<column>\d+) (?P<code>[a-z-]+)(?P<rest>.*)"
)


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_a_broken_pack_gets_one_message_at_the_right_place(path: Path) -> None:
    with path.open(encoding="utf-8") as file:
        expected = EXPECT.match(file.readline())
    assert expected, "the first line says what is expected"
    problems = [problem for problem in check(path).problems if problem.severity != INFO]
    assert len(problems) == 1, "\n".join(map(str, problems))
    problem = problems[0]
    assert problem.code == expected["code"]
    assert problem.code in CODES
    assert (problem.line, problem.column) == (int(expected["line"]), int(expected["column"]))
    assert problem.file.endswith(expected["file"] or path.name)
    message, hint = [*(part.strip() for part in expected["rest"].split("|")[1:]), "", ""][:2]
    assert message in problem.message
    assert problem.hint
    assert hint in problem.hint
    shown = problem.render().split("\n")
    assert shown[2].rstrip("^").endswith(" ") or shown[2].strip().startswith("|")


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_a_sound_pack_has_no_problem(path: Path) -> None:
    report = check(path, missing_templates=True)
    problems = [each for each in report.problems if each.severity != INFO and each.code != "template-missing"]
    assert problems == []
    assert report.pack is not None


def test_there_are_enough_broken_packs_to_mean_something() -> None:
    assert len(BAD) >= 90


@pytest.mark.corpus
def test_every_draft_is_read_and_checked(corpus: Path) -> None:
    folder = corpus.parent / "drafts"
    if not folder.is_dir():
        pytest.skip("the folder of drafts is not there")
    drafts = sorted(folder.glob("*.yaml"))
    assert len(drafts) >= 13
    # What they copy from the tools they are drafts of, and what a check rightly has to say of it.
    words = "user-words-lost"
    remarks = {"codex": "long-ladder", "mux": words, "openhands": words, "qwen-code": words}
    for path in drafts:
        report = check(path, missing_templates=True)
        codes = [each.code for each in report.problems if each.severity != INFO]
        told = [code for code in codes if code != "template-missing"]
        assert " ".join(told) == remarks.get(path.stem, ""), path.name
        assert report.pack is not None
