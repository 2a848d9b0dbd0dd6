"""``trimtab check``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from trimtab.data import data_root

BAD = data_root() / "tests" / "cases" / "bad"


def test_the_shipped_packs_are_fine(trimtab: Callable) -> None:
    result = trimtab("check")
    assert result.code == 0
    assert "no problems" in result.out


def test_a_problem_has_its_place_its_line_a_caret_and_a_hint(trimtab: Callable) -> None:
    path = BAD / "misspelt-stage-key.yaml"
    result = trimtab("check", path)
    assert result.code == 1
    assert "error: " in result.out
    assert f"{path.name}:" in result.out
    assert "^" in result.out
    assert "hint: " in result.out
    assert "1 pack: 1 error" in result.out


def test_the_json_says_the_same(trimtab: Callable) -> None:
    for form in (("--format", "json"), ("--json",)):
        result = trimtab("check", "claude-code", BAD / "misspelt-stage-key.yaml", *form)
        good, bad = result.json["packs"]
        assert result.code == 1
        assert good["ok"] is True
        assert [problem["code"] for problem in bad["problems"]] == ["unknown-key"]


def test_warnings_count_only_when_strict(trimtab: Callable, tmp_path: Path) -> None:
    pack = tmp_path / "pack.yaml"
    pack.write_text(
        "format: 1\nname: p\nversion: 1.0.0\nstages: []  # trimtab: allow no-such-code, because\n",
        encoding="utf-8",
    )
    assert trimtab("check", pack).code == 0
    assert "warning: " in trimtab("check", pack).out
    assert trimtab("check", pack, "--strict").code == 1


def test_a_pack_that_is_not_there_is_a_problem_with_the_nearest_name(trimtab: Callable) -> None:
    result = trimtab("check", "claude-cod")
    assert result.code == 1
    assert "did you mean `claude-code`" in result.out
