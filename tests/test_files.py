"""The files port: what may be read and what may not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab import files as files_module
from trimtab.files import NoFiles, RootedFiles


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_bytes("print('ü')\r\n".encode())
    (tmp_path / "secret").write_text("secret")
    return root


def test_a_file_below_a_root_is_read_as_it_is(root: Path) -> None:
    assert RootedFiles([root]).read(str(root / "src" / "a.py"), 1000) == "print('ü')\r\n"


def test_a_relative_path_is_looked_for_under_each_root(root: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert RootedFiles([empty, root]).read("src/a.py", 1000) == "print('ü')\r\n"


def test_without_roots_nothing_can_be_read(root: Path) -> None:
    assert RootedFiles([]).read(str(root / "src" / "a.py"), 1000) is None
    assert NoFiles().read(str(root / "src" / "a.py"), 1000) is None


@pytest.mark.parametrize(
    "path", ["../secret", "src/../../secret", "", ".", "src", "missing", "a\0b", "src/a.py/x"]
)
def test_what_is_outside_missing_or_no_file_is_none(root: Path, path: str) -> None:
    assert RootedFiles([root]).read(path, 1000) is None


def test_an_absolute_path_outside_is_none(root: Path, tmp_path: Path) -> None:
    assert RootedFiles([root]).read(str(tmp_path / "secret"), 1000) is None


def test_a_neighbour_with_the_roots_name_as_prefix_is_outside(root: Path, tmp_path: Path) -> None:
    (tmp_path / "root2").mkdir()
    (tmp_path / "root2" / "a").write_text("x")
    assert RootedFiles([root]).read(str(tmp_path / "root2" / "a"), 1000) is None


def test_a_symlink_may_lead_within_the_roots_but_not_out(root: Path, tmp_path: Path) -> None:
    (root / "inside").symlink_to(root / "src" / "a.py")
    (root / "outside").symlink_to(tmp_path / "secret")
    (root / "up").symlink_to(tmp_path)
    files = RootedFiles([root])
    assert files.read("inside", 1000) == "print('ü')\r\n"
    assert files.read("outside", 1000) is None
    assert files.read("up/secret", 1000) is None


def test_a_loop_of_symlinks_is_none(root: Path) -> None:
    (root / "a").symlink_to(root / "b")
    (root / "b").symlink_to(root / "a")
    assert RootedFiles([root]).read("a", 1000) is None


def test_a_root_may_itself_be_reached_through_a_symlink(root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(root)
    assert RootedFiles([tmp_path / "link"]).read("src/a.py", 1000) == "print('ü')\r\n"


def test_a_pipe_is_none_and_does_not_hang(root: Path) -> None:
    os.mkfifo(root / "pipe")
    assert RootedFiles([root]).read("pipe", 1000) is None


@pytest.mark.parametrize(
    "data", [b"\x89PNG\r\n\x1a\n\0\0", b"caf\xe9", "text".encode("utf-16"), b"cut \xe2\x82"]
)
def test_what_is_no_utf8_text_is_none(root: Path, data: bytes) -> None:
    (root / "data").write_bytes(data)
    assert RootedFiles([root]).read("data", 1000) is None


@given(text=st.text(max_size=20), limit=st.integers(0, 90))
def test_a_longer_file_is_cut_at_a_characters_edge(
    text: str, limit: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    base = tmp_path_factory.getbasetemp()
    data = text.replace("\0", "0").encode()
    (base / "long").write_bytes(data)
    read = RootedFiles([base]).read("long", limit)
    assert read is not None
    assert data.startswith(read.encode())
    assert min(len(data), limit) - 3 <= len(read.encode()) <= limit or len(data) <= limit
    if len(data) <= limit:
        assert read.encode() == data


def test_without_directory_descriptors_the_same_is_refused(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files_module, "_BY_FD", False)
    (root / "up").symlink_to(tmp_path)
    assert RootedFiles([root]).read("src/a.py", 1000) == "print('ü')\r\n"
    assert RootedFiles([root]).read("up/secret", 1000) is None
    with (
        pytest.raises(NotADirectoryError),
        files_module.inside(root, ["up"]),
    ):
        pytest.fail("a symlink was entered")
