"""``trimtab explain``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from trimtab.data import data_root

EXAMPLE = data_root() / "examples" / "session.jsonl"


def outcome(stage: dict[str, Any]) -> Any:
    """What a stage did, without what a run and its explanation may tell differently."""
    keys = (
        "id",
        "verdict",
        "items",
        "spots",
        "messages",
        "tokens",
        "bytes",
        "first_changed",
        "thinking_loss",
    )
    return [stage.get(key) for key in keys], [outcome(child) for child in stage.get("children", ())]


def test_every_condition_is_shown_with_its_value_and_its_mark(
    trimtab: Callable, session: Path, pack: Path
) -> None:
    result = trimtab("explain", session, "--pack", pack, "--set", "clear=false")
    assert result.code == 0
    assert "✓ tokens" in result.out
    assert "(auto)" in result.out
    assert "✗ settings clear: false, wanted true" in result.out


def test_what_would_go_is_named_with_a_line_of_its_text(trimtab: Callable, session: Path, pack: Path) -> None:
    result = trimtab("explain", session, "--pack", pack)
    assert "3:0  result, 1,600 characters: berth 0 berth 0" in result.out
    assert "9:0" not in result.out


def test_one_stage_can_be_asked_about_also_inside_first_of(trimtab: Callable) -> None:
    result = trimtab("explain", EXAMPLE, "--stage", "idle-clear")
    assert result.code == 0
    assert "idle-clear (replace)" in result.out
    assert "result-budget" not in result.out


def test_an_unknown_stage_is_wrong_usage_with_the_nearest_name(trimtab: Callable) -> None:
    result = trimtab("explain", EXAMPLE, "--stage", "idle-cleer")
    assert result.code == 2
    assert "did you mean `idle-clear`" in result.err


def test_a_stage_the_run_does_not_reach_has_run_nothing(trimtab: Callable, session: Path, pack: Path) -> None:
    assert trimtab("explain", session, "--pack", pack, "--stage", "clear", "--at", "idle").code == 5


def test_the_explanation_is_what_the_run_then_does(trimtab: Callable) -> None:
    for options in ((), ("--set", "window=32000")):
        said = trimtab("explain", EXAMPLE, "--json", *options).json
        done = trimtab("run", EXAMPLE, "--json", *options).json
        assert [outcome(stage) for stage in said["stages"]] == [outcome(stage) for stage in done["stages"]]
        assert said["totals"]["tokens"] == done["totals"]["tokens"]
        assert said["run"]["dry"] is True
        assert done["run"]["dry"] is False


def test_nothing_is_written_even_with_a_directory(
    trimtab: Callable, session: Path, pack: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "d"
    trimtab("explain", session, "--pack", pack, "--dir", folder)
    assert not folder.exists()
    trimtab("run", session, "--pack", pack, "--dir", folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    result = trimtab("explain", session, "--pack", pack, "--dir", folder)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert "run 2" in result.out


def test_the_json_has_the_text_of_what_would_go(trimtab: Callable, session: Path, pack: Path) -> None:
    said = trimtab("explain", session, "--pack", pack, "--json").json
    assert sorted(said["texts"]) == ["3:0", "5:0", "7:0"]
    assert said["session"]["part"] == "whole"


def test_what_a_limit_is_made_of_stands_below_the_stage_that_asks_for_it(trimtab: Callable) -> None:
    result = trimtab("explain", EXAMPLE, "--stage", "autocompact", "--set", "percent=80")
    said = " ".join(result.out.split())
    made = "auto: min(max(effective - buffer, effective / 2), effective * percent / 100)"
    assert f"{made} (buffer 13,000, effective 180,000, percent 80)" in said
    whole = trimtab("explain", EXAMPLE).out
    assert " ".join(whole.split()).count(made) == 1


def test_a_limit_given_for_a_stage_is_told_to_be_one(trimtab: Callable) -> None:
    result = trimtab("explain", EXAMPLE, "--stage", "auto")
    assert result.code == 2
    assert "'auto' is a limit, no stage" in result.err


def test_a_long_line_goes_on_further_in_than_it_began(trimtab: Callable) -> None:
    lines = trimtab("explain", EXAMPLE).out.splitlines()
    assert max(map(len, lines)) <= 120
    assert any(line.startswith("      percent 100)") for line in lines)
