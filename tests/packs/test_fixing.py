"""`check --fix`: what is mended, what is left alone, and that nothing else changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.packs.fixing import applied, fixed
from trimtab.packs.problems import Edit

HEAD = "format: 1\nname: mine\nversion: 1.0.0\n"
BAD = sorted((Path(__file__).parents[1] / "cases" / "bad").glob("*.yaml"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "stages:\n  - {id: a, kind: drop, selct: {error: true}}  # why\n",
            "stages:\n  - {id: a, kind: drop, select: {error: true}}  # why\n",
        ),
        ('"stagess": []\n', '"stages": []\n'),
        (
            "limits: {a: min(window, 5), b: max(1, (window - 2))}\nstages: []\n",
            'limits: {a: "min(window, 5)", b: "max(1, (window - 2))"}\nstages: []\n',
        ),
        (
            "stages:\n\t- id: a\n\t  kind: drop\n\t  select: {error: true}\n",
            "stages:\n  - id: a\n    kind: drop\n    select: {error: true}\n",
        ),
        ("description: to build on\n", "description: to build on\nstages: []\n"),
        ("description: to build on", "description: to build on\nstages: []\n"),
        ("description: to build on\r\n", "description: to build on\r\nstages: []\n"),
    ],
)
def test_what_can_only_have_been_meant_otherwise_is_mended_where_it_stands(before: str, after: str) -> None:
    text, done = fixed(HEAD + before, "mine.yaml")
    assert text == HEAD + after
    assert done
    assert fixed(text, "mine.yaml") == (text, ())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("setings: {percent: 70}\n", "settings: {percent: 70}\n"),
        ("stages: [{id: idle-clear, whn: {idle_minutes: {at_least: 30}}}]\n",) * 2,
        ("stages: [{id: idle-clear, when: {idle_minutes: {at_leest: 30}}}]\n",) * 2,
        ("stages: [{id: autocompact, at: {before_request: {tokens: {at_leat: auto}}}}]\n",) * 2,
    ],
)
def test_a_misspelt_key_is_mended_also_where_the_right_one_is_inherited(before: str, after: str) -> None:
    head = HEAD + "extends: [claude-code]\n"
    after = after.replace("whn", "when").replace("at_leest", "at_least").replace("at_leat", "at_least")
    text, done = fixed(head + before, "mine.yaml")
    assert text == head + after
    assert len(done) == 1


@pytest.mark.parametrize(
    "text",
    [
        "stages:\n  - {id: a, kind: drop, xyz: {error: true}}\n",  # no key is near
        "stages:\n  - {id: a, kind: drop, select: {error: true}, selct: {error: false}}\n",  # it is there already
        "limits: {a: min(window, 5) * 2}\nstages: []\n",  # where the expression ends nobody knows
        'description: "a\tb"\nstages: []\n',  # a tab in a text
        "stages:\n  - {id: a, kind: drop, select: {blocks: [imgae]}}\n",  # a value, not a key
        "- 1\n",
        "a: [\n",
    ],
)
def test_what_may_have_been_meant_in_several_ways_is_left_alone(text: str) -> None:
    assert fixed(HEAD + text, "mine.yaml") == (HEAD + text, ())


def test_only_the_file_itself_is_mended_and_not_what_it_extends(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(HEAD + "stagess: []\n", "utf-8")
    text = HEAD + "extends: [./base.yaml]\nsetings: {}\n"
    path = tmp_path / "mine.yaml"
    path.write_text(text, "utf-8")
    assert fixed(text, str(path))[0] == text.replace("setings", "settings")


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_of_every_broken_pack_at_most_the_characters_at_fault_change(path: Path) -> None:
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        pytest.skip("a file that is no UTF-8 has no text to mend: `check` refuses it")
    after, done = fixed(text, str(path))
    assert (after != text) == bool(done)
    assert abs(len(after) - len(text)) <= 12
    assert after.count("#") == text.count("#")


@given(st.text("ab\n", max_size=20), st.integers(0, 30), st.integers(0, 5), st.text("xy", max_size=3))
def test_an_edit_changes_its_characters_and_no_others(text: str, at: int, width: int, new: str) -> None:
    at = min(at, len(text))
    line = text.count("\n", 0, at) + 1
    column = at - text.rfind("\n", 0, at)
    width = min(width, len(text) - at)
    assert applied(text, [Edit("f", line, column, width, new)]) == text[:at] + new + text[at + width :]
