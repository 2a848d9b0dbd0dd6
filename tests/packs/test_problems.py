"""How a problem is told."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from trimtab.packs.problems import CODES, SILENCEABLE, Position, Problem, did_you_mean, problem_at


def test_a_problem_shows_place_line_caret_and_hint() -> None:
    problem = Problem(
        "unknown-key", "no key `selct`", "pack.yaml", 8, 5, 5, "did you mean `select`?", source="    selct: x"
    )
    assert problem.render() == (
        "pack.yaml:8:5: no key `selct` [unknown-key]\n"
        "  8 |     selct: x\n"
        "    |     ^^^^^\n"
        "  hint: did you mean `select`?"
    )


def test_a_long_line_is_shown_around_the_fault() -> None:
    source = "a" * 500 + "wrong" + "b" * 500
    shown = Problem("value", "x", "f", 1, 501, 5, source=source).render().split("\n")
    assert len(shown[1]) < 160
    start = shown[2].index("^")
    assert shown[1][start : start + 5] == "wrong"
    assert shown[2].count("^") == 5


def test_a_problem_for_programs_has_only_what_is_known() -> None:
    found = Problem("file", "not there", "x.yaml").to_dict()
    assert found == {
        "code": "file",
        "severity": "error",
        "message": "not there",
        "file": "x.yaml",
        "width": 1,
    }
    assert json.loads(json.dumps(found)) == found


def test_codes_that_can_be_silenced_exist() -> None:
    assert set(CODES) >= SILENCEABLE
    assert all(meaning for meaning in CODES.values())


def test_a_near_word_is_proposed_and_a_far_one_is_not() -> None:
    assert did_you_mean("selct", ["select", "keep"]) == "did you mean `select`?"
    assert did_you_mean("autoCompact", ["auto_compact"]) == "did you mean `auto_compact`?"
    assert did_you_mean("zebra", ["select", "keep"]) is None


@given(st.integers(1, 300), st.integers(1, 40), st.text("abc ", max_size=320))
def test_the_caret_never_leaves_its_line(column: int, width: int, source: str) -> None:
    problem = problem_at(Position("f", 3, min(column, len(source) + 1), width), "value", "x", source=source)
    lines = problem.render().split("\n")
    if len(lines) > 2:
        assert len(lines[2]) <= len(lines[1]) + 1
        assert "^" in lines[2]
