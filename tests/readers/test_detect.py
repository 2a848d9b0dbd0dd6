"""Which format a file has, and what is said where it has none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trimtab.readers import READERS, Unreadable, detect, read
from trimtab.readers.base import epoch

RECORD = {
    "type": "user",
    "uuid": "u",
    "parentUuid": None,
    "sessionId": "s",
    "message": {"role": "user", "content": "x"},
}


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (json.dumps(RECORD).encode(), "claude-code"),
        (b"not json\n" + json.dumps(RECORD).encode(), "claude-code"),
        (b'{"type":"file-history-snapshot","messageId":"m","snapshot":{}}\n', "claude-code"),
        (b'{"type":"mode","mode":"normal","sessionId":"s"}\n' * 60, "claude-code"),
        (
            b'{"parentUuid":null,"sessionId":"s","type":"user","message":{"content":"' + b"x" * 9000,
            "claude-code",
        ),
        (b'{"model":"m","messages":[{"role":"user","content":"x"}]}', "anthropic-json"),
        (b'\xef\xbb\xbf{\n "messages" : [\n', "anthropic-json"),
        (b'[\n {"role": "user", "content": "x"}]', "anthropic-json"),
        (b"", None),
        (b"hello", None),
        (b'{"type":"session_meta","payload":{}}', None),
        (b"[1, 2]", None),
    ],
)
def test_the_format_is_told_from_the_first_bytes(head: bytes, name: str | None) -> None:
    assert detect(head) == name


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"hello", "not recognised"),
        (b'{"type":"session_meta","payload":{}}\n', "Codex"),
    ],
)
def test_a_file_no_reader_takes_is_refused_with_the_known_formats(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(Unreadable, match=message) as caught:
        read(path)
    assert caught.value.hint
    assert str(path) in str(caught.value)


def test_a_missing_file_a_folder_and_an_unknown_format_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="cannot be opened"):
        read(tmp_path / "none.jsonl")
    with pytest.raises(Unreadable, match="cannot be opened"):
        read(tmp_path)
    with pytest.raises(Unreadable, match="claude-code"):
        read(tmp_path, format="tarot")


def test_naming_the_format_skips_detection(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("\n".join(["noise"] * 300 + [json.dumps(RECORD)]))
    recording = read(path, format="claude-code")
    assert len(recording.live.messages) == 1
    assert len(recording.problems) == 301


def test_every_reader_says_what_its_files_are() -> None:
    assert all(reader.about and reader.name == name for name, reader in READERS.items())


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("2026-02-18T10:00:00.500Z", 1771408800.5),
        ("2026-02-18T12:00:00+02:00", 1771408800.0),
        ("2026-02-18T10:00:00", 1771408800.0),
        (1771408800, 1771408800.0),
        (1771408800500, 1771408800.5),
        ("yesterday", None),
        (None, None),
        (True, None),
        (float("nan"), None),
    ],
)
def test_times_of_every_kind_become_epoch_seconds(value: object, seconds: float | None) -> None:
    assert epoch(value) == seconds
