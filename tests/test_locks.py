"""The turn to write: one has it at a time, it binds nobody, and nothing of it is left."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest

from trimtab import locks
from trimtab.locks import Turn


def two(folder: Path) -> tuple[Turn, Turn]:
    return Turn(folder / "journal.jsonl"), Turn(folder / "journal.jsonl")


def test_one_has_the_turn_until_it_is_left_and_looking_makes_no_file(tmp_path: Path) -> None:
    first, second = two(tmp_path)
    assert not first.taken()
    assert not list(tmp_path.iterdir())
    assert first.take()
    assert first.take()
    assert second.taken()
    assert not second.take()
    assert not first.taken(), "it is our own"
    first.leave()
    first.leave()
    assert not second.taken()
    assert second.take()
    second.leave()
    assert not list(tmp_path.iterdir())


def test_the_file_of_a_turn_is_the_owners_alone(tmp_path: Path) -> None:
    first, _ = two(tmp_path)
    first.take()
    assert stat.S_IMODE((tmp_path / "journal.turn").stat().st_mode) == 0o600


def test_what_a_killed_process_left_is_nobodys_turn(tmp_path: Path) -> None:
    (tmp_path / "journal.turn").touch()
    first, second = two(tmp_path)
    assert not first.taken()
    assert first.take()
    assert second.taken()


def test_a_turn_that_is_kept_far_too_long_binds_nobody(tmp_path: Path) -> None:
    first, second = two(tmp_path)
    first.take()
    long_ago = time.time() - locks.STOPPED - 1
    os.utime(tmp_path / "journal.turn", (long_ago, long_ago))
    assert not second.taken()
    assert not second.take(), "it is still the other's"


def test_a_turn_begins_when_it_is_taken_and_not_when_its_file_was_made(tmp_path: Path) -> None:
    (tmp_path / "journal.turn").touch()
    os.utime(tmp_path / "journal.turn", (0, 0))
    first, second = two(tmp_path)
    first.take()
    assert second.taken()


def test_a_turn_that_ended_between_opening_and_locking_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = two(tmp_path)
    first.take()

    def lock_late(fd: int) -> bool:
        monkeypatch.undo()
        first.leave()
        return locks.try_lock(fd)

    monkeypatch.setattr(locks, "try_lock", lock_late)
    assert not second.take(), "others would look for it in vain"
    assert second.take()


def test_a_symlink_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "journal.turn").symlink_to(tmp_path / "elsewhere")
    first, _ = two(tmp_path)
    assert not first.taken()
    with pytest.raises(OSError, match="symbolic"):
        first.take()
    assert not (tmp_path / "elsewhere").exists()
