"""``trimtab context``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from trimtab.data import data_root

EXAMPLE = data_root() / "examples" / "session.jsonl"


def test_r40_accounting_is_printed_by_category_with_thresholds_on_a_bar(trimtab: Callable) -> None:
    result = trimtab("context", EXAMPLE)
    assert result.code == 0
    lines = result.out.splitlines()
    assert "claude-sonnet-4-5" in lines[0]
    assert "of 200,000 tokens" in lines[0]
    assert len(lines[2]) == 100
    assert lines[3].count("^") == 3
    labels = [line.strip() for line in lines if line.strip().startswith(("warn", "auto", "block"))]
    assert any(label.startswith("warn 147,000") for label in labels)
    for name in (
        "system and tools (not in the file)",
        "tool results",
        "Read",
        "reserve for the answer",
        "free",
    ):
        assert name in result.out
    assert "auto 167,000: autocompact; reached" in result.out
    assert lines == [line.rstrip() for line in lines]


def test_the_figure_is_that_of_a_dry_run(trimtab: Callable) -> None:
    account = trimtab("context", EXAMPLE, "--json").json
    receipt = trimtab("explain", EXAMPLE, "--json").json
    context = account["context"]
    assert context["tokens"] == receipt["totals"]["tokens"]["before"]
    assert sum(part["tokens"] for part in context["parts"]) == context["tokens"]
    assert {one["name"]: one["tokens"] for one in context["thresholds"]}["auto"] == receipt["limits"]["auto"]
    assert account["session"]["format"] == "claude-code"
    assert account["pack"] == "claude-code@1.0.0"


def test_model_and_settings_move_the_window_and_the_thresholds(trimtab: Callable) -> None:
    found = trimtab("context", EXAMPLE, "--json", "--set", "window=1m", "--set", "percent=50").json["context"]
    assert found["window"] == 1_000_000
    assert found["free"] > 700_000
    assert {one["name"]: one["tokens"] for one in found["thresholds"]}["auto"] == 490_000


def test_a_file_without_usage_says_what_it_cannot_count(trimtab: Callable, session: Path, pack: Path) -> None:
    result = trimtab("context", session, "--pack", pack)
    assert result.code == 0
    assert "estimated" in result.out
    assert "system and tools are not counted" in result.out


def test_system_and_tools_that_are_in_the_file_are_counted(
    trimtab: Callable, session: Path, pack: Path
) -> None:
    body = json.loads(session.read_text("utf-8"))
    body["system"] = "Be brief. " * 50
    body["tools"] = [{"name": "Read", "description": "reads " * 50, "input_schema": {"type": "object"}}]
    session.write_text(json.dumps(body), encoding="utf-8")
    found = trimtab("context", session, "--pack", pack, "--json").json["context"]
    assert [part["name"] for part in found["parts"]] == ["system", "tools", "messages"]
    assert "not counted" not in trimtab("context", session, "--pack", pack).out


def test_earlier_commits_in_a_session_directory_count(
    trimtab: Callable, session: Path, pack: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "d"
    before = trimtab("context", session, "--pack", pack, "--dir", folder, "--json").json["context"]
    assert not folder.exists()
    trimtab("run", session, "--pack", pack, "--dir", folder)
    after = trimtab("context", session, "--pack", pack, "--dir", folder, "--json").json["context"]
    assert after["tokens"] < before["tokens"]


def test_what_is_beyond_the_window_is_said(trimtab: Callable, session: Path, pack: Path) -> None:
    result = trimtab("context", session, "--pack", pack, "--set", "window=1000")
    assert result.code == 0
    assert "tokens too many" in result.out


@pytest.mark.parametrize("columns", ["40", "80"])
def test_a_narrow_terminal_gets_a_narrow_bar(
    trimtab: Callable, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    lines = trimtab("context", EXAMPLE).out.splitlines()
    bar = next(line for line in lines if line.startswith("ss"))
    assert len(bar) == int(columns)


def test_a_session_that_cannot_be_read_is_a_problem(trimtab: Callable, tmp_path: Path) -> None:
    assert trimtab("context", tmp_path / "none.jsonl").code == 1
