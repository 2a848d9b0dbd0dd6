"""The store: names, folders, and texts that come back as they were."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.naming import safe_name
from trimtab.store import FolderStore, MemoryStore, Store, StoreError

BAD_NAMES = [
    "",
    "/etc/passwd",
    "..",
    "../x",
    "a/../../x",
    "a/./x",
    "a//x",
    "a/",
    ".hidden",
    "a/.hidden",
    "C:\\x",
    "a\\..\\x",
    "a/b:stream",
    "a/\0",
    "a/line\nbreak",
    "a/half \ud83d",
    "a/ends.",
    "a/" + "x" * 201,
]


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "store")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_text_lies_at_the_path_that_put_returns(store: FolderStore) -> None:
    place = store.put("tool-results/call-1.txt", "line\n")
    assert Path(place).read_text() == "line\n"
    assert place == store.place("tool-results/call-1.txt")
    assert Path(place).is_absolute()


def test_place_writes_nothing(store: FolderStore) -> None:
    store.place("tool-results/a.txt")
    assert not store.root.exists()


def test_the_agent_may_see_the_store_elsewhere(tmp_path: Path) -> None:
    store = FolderStore(tmp_path, seen_as="/mnt/results/")
    assert store.put("a/b.txt", "x") == "/mnt/results/a/b.txt" == store.place("a/b.txt")
    assert (tmp_path / "a" / "b.txt").exists()


def test_folders_and_files_are_the_owners_alone(store: FolderStore) -> None:
    place = Path(store.put("deep/er/file.txt", "secret"))
    assert mode(place) == 0o600
    assert mode(place.parent) == mode(place.parent.parent) == mode(store.root) == 0o700


@settings(max_examples=60, deadline=None)
@given(text=st.text(st.characters(exclude_categories=())))
def test_every_text_comes_back_to_the_character(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    store = FolderStore(tmp_path_factory.getbasetemp() / "texts")
    name = f"a/{safe_name('call', text)}"
    store.put(name, text)
    assert store.get(name) == text


def test_newlines_and_lone_surrogates_survive(store: FolderStore) -> None:
    text = "a\r\nb\rc\n\ud83d half \u2028"
    assert Path(store.put("a/b", text)).read_bytes() == text.encode("utf-8", "surrogatepass")
    assert store.get("a/b") == text


def test_the_same_text_is_not_written_twice(store: FolderStore) -> None:
    place = Path(store.put("a/b", "text"))
    before = place.stat()
    store.put("a/b", "text")
    assert (place.stat().st_ino, place.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_another_text_of_the_same_name_replaces_the_file(store: FolderStore) -> None:
    store.put("a/b", "long old text")
    store.put("a/b", "new")
    assert store.get("a/b") == "new"


@pytest.mark.parametrize("kind", [MemoryStore, FolderStore])
def test_what_was_never_put_is_missing(kind: type, tmp_path: Path) -> None:
    store: Store = kind() if kind is MemoryStore else FolderStore(tmp_path)
    assert store.get("a/b") is None
    assert not store.has("a/b")
    store.put("a/b", "")
    assert store.get("a/b") == ""
    assert store.has("a/b")


@pytest.mark.parametrize("name", BAD_NAMES)
def test_names_that_could_lead_out_are_refused(name: str, store: FolderStore) -> None:
    with pytest.raises(StoreError, match="no name for the store"):
        store.put(name, "x")
    with pytest.raises(StoreError, match="no name for the store"):
        store.get(name)
    with pytest.raises(StoreError, match="no name for the store"):
        MemoryStore().put(name, "x")
    assert not store.root.exists()


def test_a_symlinked_folder_is_not_followed(store: FolderStore, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "b").write_text("not ours")
    store.root.mkdir()
    (store.root / "a").symlink_to(outside)
    with pytest.raises(OSError, match="could not be stored"):
        store.put("a/b", "x")
    with pytest.raises(OSError, match="could not be read"):
        store.get("a/b")
    assert not store.has("a/b")
    assert (outside / "b").read_text() == "not ours"


def test_a_symlinked_file_is_replaced_not_written_through(store: FolderStore, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("not ours")
    (store.root / "a").mkdir(parents=True)
    (store.root / "a" / "b").symlink_to(outside)
    assert store.get("a/b") is None
    store.put("a/b", "x")
    assert outside.read_text() == "not ours"
    assert store.get("a/b") == "x"
    assert not (store.root / "a" / "b").is_symlink()


def test_a_full_disk_leaves_nothing_behind(store: FolderStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put("a/old", "old")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="could not be stored: No space left") as caught:
        store.put("a/new", "new")
    assert caught.value.errno == errno.ENOSPC
    assert [path.name for path in (store.root / "a").iterdir()] == ["old"]


def test_what_a_dead_writer_left_does_not_hinder_the_next(
    store: FolderStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", die)
        patch.setattr(os, "unlink", lambda *_, **__: None)
        with pytest.raises(KeyboardInterrupt):
            store.put("a/b", "text")
    assert len(list((store.root / "a").iterdir())) == 1
    store.put("a/b", "text")
    assert [path.name for path in (store.root / "a").iterdir()] == ["b"]


def test_a_file_that_is_no_text_any_more_is_said_to_be_changed(store: FolderStore) -> None:
    Path(store.put("a/b", "text")).write_bytes(b"\xff\xfe")
    with pytest.raises(StoreError, match="was changed"):
        store.get("a/b")


def test_file_names_are_the_cleaned_id_and_a_digest() -> None:
    assert safe_name("toolu_01AbC", "x") == "toolu_01AbC-0a7651f82b16.txt"
    assert safe_name("functions.read:0/../..", "x").startswith("functions_read_0_-")
    assert safe_name("", "x").startswith("text-")
    assert safe_name("a", "x") != safe_name("a", "y")


@settings(max_examples=60)
@given(tool_id=st.text(st.characters(exclude_categories=()), max_size=200), text=st.text())
def test_every_tool_id_makes_a_name_the_store_takes(tool_id: str, text: str) -> None:
    name = safe_name(tool_id, text)
    assert len(name) <= 64 + 1 + 12 + 4
    assert name.isascii()
    assert MemoryStore().put(f"tool-results/{name}", text) == f"tool-results/{name}"
