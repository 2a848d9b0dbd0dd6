"""Files written whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from trimtab.commands.writing import replace_file, write_all

NEW = {"one.txt": b"new one", "deep/er/two.txt": b"new two", "deep/three.txt": b"new three"}


def tree(folder: Path) -> dict[str, bytes | None]:
    """Everything below a folder; of folders only the names."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, type[BaseException]], None]:
    """Makes the n-th file that is moved to its place fail."""

    def fail(number: int, error: type[BaseException]) -> None:
        real, calls = Path.replace, iter(range(1, 100))

        def replace(self: Path, target: Path) -> Path:
            if next(calls) == number:
                raise error(28, "No space left on device")
            return real(self, target)

        monkeypatch.setattr(Path, "replace", replace)

    return fail


def test_all_files_are_written_with_the_folders_they_need(tmp_path: Path, umask: None) -> None:
    write_all(tmp_path / "a" / "b", NEW)
    assert {name: data for name, data in tree(tmp_path / "a" / "b").items() if data} == NEW
    assert stat.S_IMODE((tmp_path / "a" / "b" / "one.txt").stat().st_mode) == 0o640


def test_what_is_there_is_replaced_with_its_rights(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_bytes(b"old")
    (tmp_path / "one.txt").chmod(0o600)
    write_all(tmp_path, NEW)
    assert (tmp_path / "one.txt").read_bytes() == b"new one"
    assert stat.S_IMODE((tmp_path / "one.txt").stat().st_mode) == 0o600


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_when_one_file_fails_everything_is_as_it_was(
    tmp_path: Path,
    failing: Callable[[int, type[BaseException]], None],
    number: int,
    error: type[BaseException],
) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "three.txt").write_bytes(b"old three")
    before = tree(tmp_path)
    failing(number, error)
    with pytest.raises(error):
        write_all(tmp_path, NEW)
    assert tree(tmp_path) == before


def test_a_folder_made_for_files_that_fail_is_gone_again(
    tmp_path: Path, failing: Callable[[int, type[BaseException]], None]
) -> None:
    failing(3, OSError)
    with pytest.raises(OSError, match="No space left"):
        write_all(tmp_path / "new" / "pack", NEW)
    assert tree(tmp_path) == {}


@pytest.mark.parametrize("made", ["folder", "read-only", "fifo"])
def test_what_may_not_be_written_over_stays_and_so_does_all_else(tmp_path: Path, made: str) -> None:
    target = tmp_path / "deep" / "three.txt"
    target.parent.mkdir()
    if made == "folder":
        target.mkdir()
    elif made == "fifo":
        os.mkfifo(target)
    else:
        target.write_bytes(b"old")
        target.chmod(0o444)
    before = tree(tmp_path)
    with pytest.raises(OSError, match=r"three\.txt"):
        write_all(tmp_path, NEW)
    assert tree(tmp_path) == before


def test_a_link_is_replaced_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    (tmp_path / "far").write_bytes(b"far")
    (tmp_path / "link").symlink_to(tmp_path / "far")
    replace_file(tmp_path / "link", b"near", 0o600)
    assert not (tmp_path / "link").is_symlink()
    assert tree(tmp_path) == {"far": b"far", "link": b"near"}
