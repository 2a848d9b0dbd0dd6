"""``trimtab fmt``: files rewritten in place, or only said to differ."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

UNSORTED = "name: x   # mine\nformat: 1\nversion: 1.0.0\nstages: []\n"
SORTED = "format: 1\nname: x   # mine\nversion: 1.0.0\nstages: []\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pack.yaml"
    path.write_bytes(UNSORTED.encode())
    return path


def test_a_file_is_rewritten_in_place_with_its_rights(trimtab: Callable, file: Path) -> None:
    file.chmod(0o640)
    result = trimtab("fmt", file)
    assert result.code == 0
    assert file.read_text("utf-8") == SORTED
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert result.out == f"changed: {file}\n1 file changed\n"
    assert trimtab("fmt", file).out == "1 file left as it is\n"
    assert [path.name for path in file.parent.iterdir()] == ["pack.yaml"]


@pytest.mark.parametrize("option", ["--check", "--diff"])
def test_with_check_or_diff_nothing_is_written_and_the_exit_code_tells(
    trimtab: Callable, file: Path, option: str
) -> None:
    assert trimtab("fmt", option, file).code == 1
    assert file.read_text("utf-8") == UNSORTED
    trimtab("fmt", file)
    assert trimtab("fmt", option, file).code == 0


def test_the_difference_is_shown_as_a_patch(trimtab: Callable, file: Path) -> None:
    result = trimtab("fmt", "--diff", file)
    lines = result.out.splitlines()
    assert lines[0] == f"--- {file}"
    assert "+format: 1" in lines
    assert "-format: 1" in lines
    assert "1 file would change" in result.err


def test_a_folder_stands_for_its_pack_and_a_file_named_twice_is_done_once(
    trimtab: Callable, file: Path
) -> None:
    assert trimtab("fmt", "--check", "--json", file.parent, file).json["files"] == [
        {"file": str(file), "changed": True}
    ]


def test_a_folder_that_is_no_pack_stands_for_the_packs_below_it(
    trimtab: Callable, file: Path, tmp_path: Path
) -> None:
    inner = tmp_path / "packs" / "mine" / "pack.yaml"
    inner.parent.mkdir(parents=True)
    inner.write_text(file.read_text("utf-8"), "utf-8")
    assert trimtab("fmt", "--check", "--json", tmp_path / "packs").json["files"] == [
        {"file": str(inner), "changed": True}
    ]


def test_a_file_that_cannot_be_read_leaves_the_others_formatted(trimtab: Callable, file: Path) -> None:
    broken = file.with_name("broken.yaml")
    broken.write_text("a: 1\na: 2\n", "utf-8")
    result = trimtab("fmt", broken, file)
    assert result.code == 1
    assert "broken.yaml:2:1" in result.err
    assert "yaml-duplicate-key" in result.err
    assert file.read_text("utf-8") == SORTED
    assert broken.read_text("utf-8") == "a: 1\na: 2\n"


@pytest.mark.parametrize("name", ["claude-code", "nowhere/pack.yaml"])
def test_what_is_no_file_is_wrong_usage(trimtab: Callable, name: str) -> None:
    result = trimtab("fmt", name)
    assert result.code == 2
    assert "name a file" in result.err


def test_nothing_named_is_wrong_usage(trimtab: Callable) -> None:
    assert trimtab("fmt").code == 2


def test_a_read_only_file_stays_and_the_others_are_formatted(trimtab: Callable, file: Path) -> None:
    kept = file.with_name("kept.yaml")
    kept.write_bytes(UNSORTED.encode())
    kept.chmod(0o444)
    result = trimtab("fmt", kept, file)
    assert result.code == 1
    assert "kept.yaml: read-only, so it stays as it is (chmod u+w lets it be written)" in result.err
    assert "1 file changed" in result.out
    assert kept.read_text("utf-8") == UNSORTED
    assert stat.S_IMODE(kept.stat().st_mode) == 0o444
    assert file.read_text("utf-8") == SORTED
    assert trimtab("fmt", "--check", kept).err == ""


def test_a_read_only_file_that_is_in_order_is_no_problem(trimtab: Callable, file: Path) -> None:
    file.write_bytes(SORTED.encode())
    file.chmod(0o444)
    assert trimtab("fmt", file).code == 0


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_byte_order_mark_and_line_ends_stay(trimtab: Callable, file: Path, end: str) -> None:
    mark = b"\xef\xbb\xbf"
    file.write_bytes(mark + UNSORTED.replace("\n", end).encode())
    assert trimtab("fmt", "--check", file).code == 1
    assert trimtab("fmt", file).code == 0
    assert file.read_bytes() == mark + SORTED.replace("\n", end).encode()
    assert trimtab("fmt", "--check", file).code == 0


def test_a_layout_that_cannot_be_kept_is_told_with_its_place(trimtab: Callable, file: Path) -> None:
    file.write_text("format: 1\n? name\n: x\n", "utf-8")
    result = trimtab("fmt", file)
    assert result.code == 1
    assert f"{file}:2:1: a key written with `?`" in result.err
    assert "hint: write `key: value`" in result.err
    assert file.read_text("utf-8") == "format: 1\n? name\n: x\n"
