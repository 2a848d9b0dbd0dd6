"""What a session writes: for the owner alone, inside its folder, and originals in the store only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.durability.support import (
    Message,
    check_folder,
    conversation,
    opened,
    results_of,
    run,
    steps,
    stored_files,
    take,
)

from trimtab import Engine
from trimtab.store import FolderStore


@pytest.fixture
def careless() -> Iterator[None]:
    """A process that lets everybody read what it writes, unless told otherwise."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("careless")
def test_everything_is_the_owners_alone_and_inside_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("home", "work", "temp"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temp"))
    folder, messages = tmp_path / "session", conversation()
    session = opened(folder)
    for step in steps(messages):
        take(session, messages, step)
    check_folder(folder, results_of(messages))
    assert stored_files(folder)
    outside = [path for path in tmp_path.rglob("*") if not path.is_relative_to(folder)]
    assert sorted(path.name for path in outside) == ["home", "temp", "work"]


def test_the_journal_holds_previews_and_no_original(tmp_path: Path) -> None:
    folder, messages = tmp_path / "session", conversation()
    session = opened(folder)
    for step in steps(messages):
        take(session, messages, step)
    journal = (folder / "journal.jsonl").read_text("ascii")
    files = stored_files(folder)
    offloaded = [text for name, text in files.items() if name.startswith("results/")]
    assert len(offloaded) == len([text for text in results_of(messages) if len(text) > 300])
    for original in offloaded:
        assert original.decode()[:41] not in journal, "more than the preview's 40 characters"
    for text in results_of(messages):
        assert text not in journal
    assert not any(f"answer {turn}" in journal for turn in range(7))


def test_the_shipped_pack_leaves_a_large_result_to_the_store(tmp_path: Path) -> None:
    folder = tmp_path / "session"
    secret = "the very middle of it"
    text = "head " * 12_000 + secret + " tail" * 12_000
    use = {"type": "tool_use", "id": "call", "name": "Bash", "input": {}}
    messages: list[Message] = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call", "content": text}]},
    ]
    session = Engine.load("claude-code").open_session(folder)
    shown = str(run(session, messages, "tool_result").request.messages)
    journal = (folder / "journal.jsonl").read_text("ascii")
    assert secret not in shown + journal
    assert len(journal) < 4_000
    (name,) = stored_files(folder)
    assert FolderStore(folder).get(name) == text
    check_folder(folder)
