"""What a killed process left half written in the store: cleared by the next one, and never mistaken for anything."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from trimtab.store import FolderStore

LEFT = ".0123456789abcdef.part"


def test_the_first_write_of_a_new_process_clears_what_a_dead_one_left(tmp_path: Path) -> None:
    FolderStore(tmp_path).put("results/one", "text")
    for folder in ("results", "history"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / LEFT).write_text("half a te")
    store = FolderStore(tmp_path)
    store.put("results/one", "text")
    assert (tmp_path / "results" / LEFT).exists(), "nothing was written, nothing was looked for"
    store.put("results/two", "text")
    assert not (tmp_path / "results" / LEFT).exists()
    assert (tmp_path / "history" / LEFT).exists(), "another folder is not looked at"
    assert store.get("results/one") == store.get("results/two") == "text"


@pytest.mark.parametrize("name", ["notes.part", ".part", ".0123.part", ".0123456789abcdef.part.txt"])
def test_files_of_others_are_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / name).write_text("mine")
    FolderStore(tmp_path).put("results/one", "text")
    assert (tmp_path / "results" / name).read_text() == "mine"


def test_a_writer_whose_half_file_another_process_has_cleared_writes_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, real = FolderStore(tmp_path), os.replace
    cleared: list[str] = []

    def late(*given: Any, **named: Any) -> None:
        if not cleared:
            cleared.extend(path.name for path in (tmp_path / "results").glob(".*.part"))
            FolderStore(tmp_path).put("results/other", "text")
        real(*given, **named)

    monkeypatch.setattr(os, "replace", late)
    store.put("results/one", "text")
    assert len(cleared) == 1
    assert store.get("results/one") == store.get("results/other") == "text"
    assert sorted(os.listdir(tmp_path / "results")) == ["one", "other"]


def test_a_store_that_can_never_rename_says_so_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(os, "replace", never)
    with pytest.raises(OSError, match="could not be stored"):
        FolderStore(tmp_path).put("results/one", "text")
    assert os.listdir(tmp_path / "results") == []
