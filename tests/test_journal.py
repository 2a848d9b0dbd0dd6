"""Journals in memory and on disk: whole writes or none, whoever else writes, whatever breaks."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import stat
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest

from trimtab.conversation.edits import Commit, Insert, Mark, New, Rewrite, Splice, Spot
from trimtab.conversation.request import Usage
from trimtab.journal import (
    Conflict,
    DiskJournal,
    Fail,
    JournalError,
    Kept,
    MemoryJournal,
    Note,
    Record,
    RunRecord,
    Undo,
)

ENGINE = "0.1.0"
NEW = New(2001, {"role": "user", "content": "what was done"}, "summary")
RECORDS: list[Record] = [
    RunRecord(1, "before_request", "2026-01-01T00:00:00Z", add=(1, 2, 3), digests=("a", "b", "c"), sent=True),
    Commit("c1", "clear", 1, (Rewrite((Spot(2, 0),), {"content": "[cleared]"}),), results={2: "x"}),
    Commit("c2", "sum", 1, (Splice((1, 2), (NEW,)), Insert(3, ())), (Rewrite((Spot(3, 1),), Mark.REMOVE),)),
    Undo("c1", {2: "y"}),
    Fail("sum", 1, "too_long"),
    Note("memory", 3, "notes/memory-1"),
    Kept("budget", (1, 2), (Spot(3, 0),)),
    RunRecord(2, "manual", keep=2, usage=Usage(10, 5, output=3, model="m"), estimate=12.5, overflow=200_001),
]


def opened(folder: Path) -> DiskJournal:
    return DiskJournal.open(folder, engine=ENGINE)


def write(folder: Path, *groups: list[Record]) -> bytes:
    with opened(folder) as journal:
        for group in groups:
            journal.append(group)
        return journal.path.read_bytes()


def test_memory_and_disk_give_back_what_was_appended(tmp_path: Path) -> None:
    memory, disk = MemoryJournal(), opened(tmp_path)
    for journal in (memory, disk):
        journal.append(RECORDS[:3])
        journal.append([])
        journal.append(RECORDS[3:])
        assert journal.records() == RECORDS
        journal.reload()
        assert journal.records() == RECORDS
    assert memory.path is None
    assert disk.path == tmp_path / "journal.jsonl"
    assert opened(tmp_path).records() == DiskJournal.read(tmp_path).records() == RECORDS


def test_the_file_is_ascii_json_one_record_a_line_behind_a_header(tmp_path: Path) -> None:
    data = write(tmp_path, [Fail("schön", 1, "\ud83d half"), Undo("c1")], [Undo("c2")])
    lines = data.decode("ascii").splitlines()
    assert json.loads(lines[0]) == {"t": "journal", "format": 1, "engine": ENGINE, "more": True}
    assert [json.loads(line)["t"] for line in lines] == ["journal", "fail", "undo", "undo"]
    assert DiskJournal.read(tmp_path).records()[0] == Fail("schön", 1, "\ud83d half")


def test_equal_records_give_equal_files(tmp_path: Path) -> None:
    assert write(tmp_path / "a", RECORDS) == write(tmp_path / "b", RECORDS)


def test_directory_and_file_are_the_owners_alone(tmp_path: Path) -> None:
    write(tmp_path / "session", RECORDS)
    assert stat.S_IMODE((tmp_path / "session").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "session" / "journal.jsonl").stat().st_mode) == 0o600


def test_opening_alone_writes_nothing(tmp_path: Path) -> None:
    opened(tmp_path).close()
    assert (tmp_path / "journal.jsonl").read_bytes() == b""
    assert DiskJournal.read(tmp_path).records() == []


def test_a_write_torn_at_any_byte_is_gone_whole_and_nothing_else(tmp_path: Path) -> None:
    groups = [RECORDS[:1], RECORDS[1:4], RECORDS[4:6], RECORDS[6:]]
    ends = [0]
    for number in range(len(groups)):
        ends.append(len(write(tmp_path / str(number), *groups[: number + 1])))
    data = (tmp_path / "3" / "journal.jsonl").read_bytes()
    path = tmp_path / "torn" / "journal.jsonl"
    path.parent.mkdir()
    for size in range(len(data) + 1):
        path.write_bytes(data[:size])
        whole = max(number for number, end in enumerate(ends) if end <= size)
        expected = [record for group in groups[:whole] for record in group]
        assert DiskJournal.read(path.parent).records() == expected
        assert path.stat().st_size == size  # readers change nothing
        with opened(path.parent) as journal:
            assert journal.records() == expected
            assert path.read_bytes() == data[: ends[whole]]
            journal.append([Undo("after")])
        assert DiskJournal.read(path.parent).records() == [*expected, Undo("after")]


def test_a_torn_tail_of_wild_bytes_is_cut_too(tmp_path: Path) -> None:
    data = write(tmp_path, RECORDS)
    with (tmp_path / "journal.jsonl").open("ab") as file:
        file.write(b'{"t":"commit","torn":"\xe2\x82\0\0\0')
    assert opened(tmp_path).records() == RECORDS
    assert (tmp_path / "journal.jsonl").read_bytes() == data


def test_appending_to_a_journal_that_grew_is_a_conflict_until_it_is_reloaded(tmp_path: Path) -> None:
    first, second = opened(tmp_path), opened(tmp_path)
    first.append([Undo("c1")])
    assert second.stale()
    with pytest.raises(Conflict, match="reload"):
        second.append([Undo("c2")])
    assert second.records() == []
    second.reload()
    assert not second.stale()
    second.append([Undo("c2")])
    first.reload()
    assert first.records() == second.records() == [Undo("c1"), Undo("c2")]


def test_a_journal_that_was_deleted_or_replaced_is_a_conflict(tmp_path: Path) -> None:
    journal = opened(tmp_path)
    journal.append([Undo("c1")])
    copy = tmp_path / "copy"
    copy.write_bytes(journal.path.read_bytes())
    copy.replace(journal.path)
    assert journal.stale()
    with pytest.raises(Conflict):
        journal.append([Undo("c2")])
    journal.reload()
    journal.append([Undo("c2")])
    assert DiskJournal.read(tmp_path).records() == [Undo("c1"), Undo("c2")]
    journal.path.unlink()
    with pytest.raises(Conflict):
        journal.append([Undo("c3")])


WRITER = """
import os, sys, time
from trimtab.journal import Conflict, DiskJournal, Fail
folder, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
journal = DiskJournal.open(folder, engine="0.1.0")
print("ready", flush=True)
sys.stdin.readline()
done = 0
while done < count:
    try:
        journal.append([Fail(name, done, str(part) * 700) for part in range(3)])
        done += 1
        print(done, flush=True)
        time.sleep(0.0003)
    except Conflict:
        journal.reload()
"""


def writer(folder: Path, name: str, count: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", WRITER, str(folder), name, str(count)]
    path = os.pathsep.join(sys.path)
    env = os.environ | {"PYTHONPATH": path}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)


def groups_of(records: list[Record]) -> list[tuple[str, int]]:
    """Stage and number of each write; every one must be whole and undivided."""
    groups = []
    for start in range(0, len(records), 3):
        group = records[start : start + 3]
        assert all(isinstance(record, Fail) for record in group)
        first = group[0]
        assert isinstance(first, Fail)
        assert group == [Fail(first.stage, first.run, str(part) * 700) for part in range(3)]
        groups.append((first.stage, first.run))
    return groups


def test_two_processes_write_whole_groups_each_in_its_order(tmp_path: Path) -> None:
    writers = [writer(tmp_path, name, 60) for name in ("a", "b")]
    for process in writers:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
    for process in writers:
        assert process.stdin is not None
        process.stdin.write(b"go\n")
        process.stdin.flush()
    for process in writers:
        process.communicate(timeout=60)
        assert process.returncode == 0
    groups = groups_of(DiskJournal.read(tmp_path).records())
    assert sum(one[0] != other[0] for one, other in pairwise(groups)) > 1, "they did not compete"
    for name in ("a", "b"):
        assert [number for stage, number in groups if stage == name] == list(range(60))


FORKING = """
import os, sys
from trimtab.journal import Conflict, DiskJournal, Fail
journal = DiskJournal.open(sys.argv[1], engine="0.1.0")
child = os.fork()
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
assert journal.stale()
try:
    journal.append([Fail("with the parent's lock", 1, "error")])
except Conflict:
    journal.reload()
    journal.append([Fail("with its own", 1, "error")])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")
def test_a_forked_process_writes_only_with_a_lock_of_its_own(tmp_path: Path) -> None:
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", FORKING, str(tmp_path)], env=env, check=True, timeout=60)
    assert DiskJournal.read(tmp_path).records() == [Fail("with its own", 1, "error")]


def test_a_writer_killed_at_any_moment_leaves_whole_writes_and_all_it_reported(tmp_path: Path) -> None:
    chance = random.Random(4)
    for attempt in range(6):
        folder = tmp_path / str(attempt)
        process = writer(folder, "a", 100_000)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"go\n")
        process.stdin.close()
        assert [process.stdout.readline() for _ in range(2)] == [b"ready\n", b"1\n"]
        time.sleep(chance.random() * 0.05)
        process.send_signal(signal.SIGKILL)
        reported = 1 + sum(1 for line in process.stdout.read().split(b"\n") if line)
        process.wait()
        process.stdout.close()
        groups = groups_of(opened(folder).records())
        assert groups == [("a", number) for number in range(len(groups))]
        assert len(groups) >= reported


@pytest.mark.parametrize("taken", [0, 1, 40, 200])
def test_a_full_disk_leaves_the_journal_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: int
) -> None:
    journal = opened(tmp_path)
    journal.append(RECORDS[:2])
    before = journal.path.read_bytes()
    real = os.write

    def short(fd: int, data: bytes) -> int:
        return real(fd, data[:taken]) if taken else 0

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", short)
        with pytest.raises(OSError, match=r"nothing of this run was recorded \(make room") as caught:
            journal.append(RECORDS[2:])
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == str(journal.path)
    assert journal.path.read_bytes() == before
    journal.append(RECORDS[2:])
    assert DiskJournal.read(tmp_path).records() == RECORDS


def test_a_full_disk_that_cannot_even_be_cut_costs_nothing_but_that_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = opened(tmp_path)
    journal.append(RECORDS[:2])
    real = os.write
    last_line = 30

    def no(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda fd, data: real(fd, data[:-last_line]))
        patch.setattr(os, "ftruncate", no)
        with pytest.raises(OSError, match="could not be written"):
            journal.append(RECORDS[2:])
    with pytest.raises(Conflict):
        journal.append([Undo("c9")])
    journal.reload()
    assert journal.records() == RECORDS[:2]
    journal.append(RECORDS[2:])
    assert DiskJournal.read(tmp_path).records() == RECORDS


def test_a_record_that_json_cannot_say_writes_nothing(tmp_path: Path) -> None:
    journal = opened(tmp_path)
    bad = Commit("c1", "s", 1, (Insert(0, (New(1, {"role": "user", "content": object()}, "note"),)),))
    with pytest.raises(JournalError, match="object is no JSON value"):
        journal.append([Undo("c0"), bad])
    assert journal.records() == []
    assert journal.path.read_bytes() == b""


def test_a_journal_opened_for_reading_takes_nothing(tmp_path: Path) -> None:
    write(tmp_path, RECORDS)
    with pytest.raises(JournalError, match="opened for reading"):
        DiskJournal.read(tmp_path).append([Undo("c1")])


def test_reading_where_there_is_no_journal_says_so_and_makes_none(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="no journal here"):
        DiskJournal.read(tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()


def test_a_symlinked_journal_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.write_bytes(b"")
    (tmp_path / "session").mkdir()
    (tmp_path / "session" / "journal.jsonl").symlink_to(target)
    for open_ in (opened, DiskJournal.read):
        with pytest.raises(JournalError, match="symbolic link"):
            open_(tmp_path / "session")


def test_a_pipe_in_the_journals_place_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "journal.jsonl")
    for open_ in (opened, DiskJournal.read):
        with pytest.raises(JournalError, match="not a regular file"):
            open_(tmp_path)


@pytest.mark.parametrize(
    "data", [b"my notes", b"my notes\n", b"[1]\n", b'{"t":"run","n":1,"event":"idle"}\n', b"\0"]
)
def test_a_file_that_is_not_ours_is_left_alone(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "journal.jsonl").write_bytes(data)
    with pytest.raises(JournalError, match="not a journal of ours"):
        opened(tmp_path)
    assert (tmp_path / "journal.jsonl").read_bytes() == data


def test_a_damaged_line_is_named_and_nothing_is_cut(tmp_path: Path) -> None:
    lines = write(tmp_path, RECORDS).splitlines(keepends=True)
    lines[2] = lines[2][:20] + b"\n"
    (tmp_path / "journal.jsonl").write_bytes(b"".join(lines))
    with pytest.raises(
        JournalError, match=r"journal\.jsonl:3: this line is no JSON.*put back a copy"
    ) as caught:
        opened(tmp_path)
    assert caught.value.line == 3
    assert (tmp_path / "journal.jsonl").read_bytes() == b"".join(lines)


def test_an_unknown_record_names_the_engine_that_wrote_it(tmp_path: Path) -> None:
    data = write(tmp_path, [Undo("c1")])
    newer = b'{"t":"journal","format":1,"engine":"0.7.0","more":true}\n{"t":"dream"}\n'
    (tmp_path / "journal.jsonl").write_bytes(data + newer)
    with pytest.raises(JournalError, match=r"jsonl:4: unknown record type 'dream': engine 0\.7\.0 or newer"):
        DiskJournal.read(tmp_path)


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "journal.jsonl").write_bytes(b'{"t":"journal","format":2,"engine":"3.0.0"}\n')
    with pytest.raises(JournalError, match=r"format 2, this engine reads up to 1 \(engine 3\.0\.0 wrote it"):
        opened(tmp_path)


def test_another_engine_says_its_version_before_it_goes_on(tmp_path: Path) -> None:
    write(tmp_path, [Undo("c1")], [Undo("c2")])
    with DiskJournal.open(tmp_path, engine="0.2.0") as journal:
        journal.append([Undo("c3")])
        journal.append([Undo("c4")])
    lines = [json.loads(line) for line in (tmp_path / "journal.jsonl").read_bytes().splitlines()]
    assert [line.get("engine", line.get("id")) for line in lines] == [ENGINE, "c1", "c2", "0.2.0", "c3", "c4"]
    assert DiskJournal.read(tmp_path).records() == [Undo("c1"), Undo("c2"), Undo("c3"), Undo("c4")]


def test_the_same_engine_says_its_version_once(tmp_path: Path) -> None:
    write(tmp_path / "apart", [Undo("c1")])
    apart = write(tmp_path / "apart", [Undo("c2")])
    assert apart == write(tmp_path / "together", [Undo("c1")], [Undo("c2")])


@pytest.mark.skipif(sys.platform == "win32", reason="the lock is another one there")
def test_appending_waits_for_whoever_holds_the_file(tmp_path: Path) -> None:
    import fcntl

    journal = opened(tmp_path)
    with journal.path.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        waiting = threading.Thread(target=journal.append, args=([Undo("c1")],))
        waiting.start()
        waiting.join(0.1)
        assert waiting.is_alive()
        assert journal.path.read_bytes() == b""
        fcntl.flock(other, fcntl.LOCK_UN)
        waiting.join(10)
    assert DiskJournal.read(tmp_path).records() == [Undo("c1")]


def test_a_closed_journal_says_so_and_can_be_reloaded(tmp_path: Path) -> None:
    with opened(tmp_path) as journal:
        journal.append([Undo("c1")])
    with pytest.raises(JournalError, match="closed"):
        journal.append([Undo("c2")])
    journal.reload()
    journal.append([Undo("c2")])
    assert DiskJournal.read(tmp_path).records() == [Undo("c1"), Undo("c2")]


def test_a_session_of_twenty_thousand_messages_loads_within_a_second(tmp_path: Path) -> None:
    digest = "u.AAAAAAAAAAAAAAAA"
    records: list[Record] = [
        RunRecord(n, "before_request", add=(2 * n, 2 * n + 1), digests=(digest, digest), sent=True)
        for n in range(10_000)
    ]
    records += [
        Commit(
            f"c{n}",
            "clear",
            n,
            (Rewrite(tuple(Spot(n + i, 0) for i in range(80)), {"content": "[cleared]"}),),
        )
        for n in range(100)
    ]
    preview = {"content": "p" * 2_000}
    records += [Commit(f"o{n}", "budget", n, (Rewrite((Spot(n, 0),), preview),)) for n in range(1_600)]
    message = {"role": "user", "content": "s" * 12_000}
    for n in range(20):
        splice = Splice(tuple(range(1_000 * n + 1)), (New(30_000 + n, message, "summary"),))
        records.append(Commit(f"s{n}", "sum", n, (splice,)))
    write(tmp_path, records)
    begin = time.perf_counter()
    loaded = DiskJournal.read(tmp_path).records()
    took = time.perf_counter() - begin
    assert loaded == records
    assert took < 1
