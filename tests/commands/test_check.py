"""``trimtab check``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

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


MISSPELT = "format: 1\nname: p\nversion: 1.0.0\nstagess: []  # why\n"


def test_fix_mends_the_file_and_checks_it_again(trimtab: Callable, tmp_path: Path) -> None:
    pack = tmp_path / "pack.yaml"
    pack.write_text(MISSPELT, "utf-8")
    result = trimtab("check", "--fix", tmp_path)
    assert pack.read_text("utf-8") == MISSPELT.replace("stagess", "stages")
    assert result.code == 0
    assert "no problems" in result.out
    assert "fixed: " in result.err
    assert "pack.yaml:4:1" in result.err


def test_fix_keeps_a_byte_order_mark_and_line_ends(trimtab: Callable, tmp_path: Path) -> None:
    pack = tmp_path / "pack.yaml"
    pack.write_bytes(b"\xef\xbb\xbf" + MISSPELT.replace("\n", "\r\n").encode())
    assert trimtab("check", "--fix", pack).code == 0
    fixed = MISSPELT.replace("stagess", "stages").replace("\n", "\r\n")
    assert pack.read_bytes() == b"\xef\xbb\xbf" + fixed.encode()


def test_fix_with_diff_shows_and_writes_nothing(trimtab: Callable, tmp_path: Path) -> None:
    pack = tmp_path / "pack.yaml"
    pack.write_text(MISSPELT, "utf-8")
    result = trimtab("check", "--fix", "--diff", pack)
    assert pack.read_text("utf-8") == MISSPELT
    assert "-stagess: []  # why\n+stages: []  # why\n" in result.out
    assert result.code == 1
    trimtab("check", "--fix", pack)
    assert trimtab("check", "--fix", "--diff", pack).code == 0


def test_fix_needs_a_file_and_diff_needs_fix(trimtab: Callable) -> None:
    assert trimtab("check", "--fix").code == 2
    assert trimtab("check", "--fix", "claude-code").code == 2
    assert trimtab("check", "--diff", BAD / "misspelt-stage-key.yaml").code == 2


def test_tools_are_held_against_those_of_a_session(trimtab: Callable) -> None:
    result = trimtab(
        "check", "claude-code", "--against", data_root() / "examples" / "session.jsonl", "--json"
    )
    problems = result.json["packs"][0]["problems"]
    assert {each["code"] for each in problems} == {"unknown-tool", "unmatched-category"}
    assert "`Task`" in problems[0]["message"]
    assert result.code == 0
    assert trimtab("check", "claude-code", "--against", "nowhere.jsonl").code == 1


def test_without_a_name_the_pack_here_is_checked_and_tested(
    trimtab: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(trimtab("check", "--json").json["packs"]) > 3
    (tmp_path / "pack.yaml").write_text("format: 1\nname: here\nversion: 1.0.0\nstages: []\n", "utf-8")
    assert [each["name"] for each in trimtab("check", "--json").json["packs"]] == ["."]
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "cases.yaml").write_text(
        "cases: [{name: one, given: {rounds: {count: 1}}, expect: {messages: 3}}]\n", "utf-8"
    )
    assert [each["name"] for each in trimtab("test", "--json").json["cases"]] == ["one"]


def test_a_folder_stands_for_the_packs_below_it(trimtab: Callable, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "pack.yaml").write_text(
            f"format: 1\nname: {name}\nversion: 1.0.0\nstages: []\n", "utf-8"
        )
    found = trimtab("check", tmp_path, "--json").json["packs"]
    assert [each["name"] for each in found] == [str(tmp_path / name / "pack.yaml") for name in ("one", "two")]
    (tmp_path / "none").mkdir()
    assert "there is no such pack file" in trimtab("check", tmp_path / "none").out


def test_fix_says_when_it_can_mend_nothing(trimtab: Callable, tmp_path: Path) -> None:
    pack = tmp_path / "pack.yaml"
    pack.write_text("format: 1\nname: x\nversion: 1.0.0\nstages: []\nwhatever: 5\n", "utf-8")
    assert "fixed: nothing" in trimtab("check", "--fix", pack).err


def test_stages_are_held_against_what_a_model_can_do(trimtab: Callable) -> None:
    result = trimtab("check", "claude-code", "--model", "gpt-5", "--json")
    problems = result.json["packs"][0]["problems"]
    assert {each["code"] for each in problems} == {"model-cannot"}
    assert result.code == 0
    assert trimtab("check", "claude-code", "--model", "gpt-5", "--strict").code == 1
    assert trimtab("check", "claude-code", "--model", "claude-sonnet-4-5", "--strict").code == 0


def test_a_pack_of_ones_own_is_rehearsed_and_one_that_ships_only_when_asked(
    trimtab: Callable, tmp_path: Path
) -> None:
    pack = tmp_path / "pack.yaml"
    due = "at: {before_request: {tokens: {at_least: 50000}}}"
    stage = f"{{id: a, kind: summarize, text: x, {due}, keep: {{newest: {{rounds: 20}}}}}}"
    pack.write_text(f"format: 1\nname: p\nversion: 1.0.0\nstages:\n  - {stage}\n", "utf-8")
    assert [each["code"] for each in trimtab("check", pack, "--json").json["packs"][0]["problems"]] == [
        "thrash"
    ]
    assert trimtab("check", pack, "--no-rehearse").code == 0
    assert trimtab("check", "claude-code", "--rehearse").code == 0
