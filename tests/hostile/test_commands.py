"""The command line against a hostile world: closed streams, odd values, files in the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from trimtab.commands import invoke
from trimtab.journal import DiskJournal
from trimtab.summarizers import parse

MODEL = "claude-sonnet-4-5"
MESSAGES = [{"role": "user", "content": "go"}]
ENGINE = Path(__file__).resolve().parents[2] / "engine"


@pytest.fixture
def session(tmp_path: Path) -> str:
    path = tmp_path / "session.json"
    path.write_text(json.dumps({"model": MODEL, "messages": MESSAGES}))
    return str(path)


def trimtab(*arguments: str, close: str = "", seconds: float = 20) -> subprocess.CompletedProcess[str]:
    command = ["/bin/sh", "-c", f'exec "$0" -m trimtab "$@" {close}', sys.executable, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ENGINE)}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=seconds, env=environment, check=False
    )


@pytest.mark.parametrize("command", [["packs"], ["run", "SESSION"], ["schema"]], ids=lambda each: each[0])
def test_a_closed_standard_output_is_no_traceback(command: list[str], session: str) -> None:
    done = trimtab(*(session if one == "SESSION" else one for one in command), close=">&-")
    assert "Traceback" not in done.stderr


def test_a_reader_that_has_seen_enough_is_no_problem() -> None:
    script = f'"{sys.executable}" -m trimtab schema; echo "code $?" >&2'
    environment = {**os.environ, "PYTHONPATH": str(ENGINE)}
    done = subprocess.run(
        ["/bin/sh", "-c", f"({script}) | true"],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
        check=False,
    )
    assert "code 0" in done.stderr


def test_a_place_with_a_digit_that_is_no_number_is_wrong_usage(session: str) -> None:
    assert invoke(["run", session, "--set", "stages.result-budget.select.blocks.²=text"]) == 2


@pytest.mark.parametrize("now", ["9999-12-31", "-1e300", "-62135596801"])
def test_a_time_outside_the_calendar_is_wrong_usage(session: str, now: str) -> None:
    assert invoke(["run", session, f"--now={now}"]) == 2


def test_a_session_from_the_year_9999_can_be_run(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    messages = [{"role": "user", "content": "go", "timestamp": "9999-12-31T23:59:59Z"}]
    path.write_text(json.dumps({"model": MODEL, "messages": messages}))
    assert invoke(["run", str(path)]) == 0


def test_the_request_is_never_written_over_the_journal_of_the_run(session: str, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    assert invoke(["run", session, "--dir", str(folder)]) == 0
    invoke(["run", session, "--dir", str(folder), "--out", str(folder / "journal.jsonl")])
    assert DiskJournal.read(folder).records()


def test_an_empty_session_directory_is_wrong_usage(session: str) -> None:
    assert invoke(["run", session, "--dir", ""]) == 2


def test_a_written_request_is_json(tmp_path: Path) -> None:
    path, out = tmp_path / "s.json", tmp_path / "out.json"
    path.write_text(f'{{"model": "{MODEL}", "temperature": NaN, "messages": {json.dumps(MESSAGES)}}}')
    if invoke(["run", str(path), "--out", str(out)]) == 0:
        json.loads(out.read_text(), parse_constant=lambda name: pytest.fail(f"{name} was written"))


def test_a_pipe_as_session_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert trimtab("run", str(pipe), seconds=60).returncode == 1


@pytest.mark.parametrize(("name", "text"), [("a.json", "[" * 100_000), ("a.yaml", "[" * 3000)])
def test_canned_answers_nested_too_deeply_are_refused_with_the_files_name(
    tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=name):
        parse(f"canned:{tmp_path / name}")


@pytest.mark.parametrize(
    ("name", "data"), [("a.json", b"{"), ("a.yaml", b"[2020-13-45]"), ("b.yaml", b"\xff")]
)
def test_canned_answers_that_cannot_be_read_are_refused_with_the_files_name(
    tmp_path: Path, name: str, data: bytes
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match=name):
        parse(f"canned:{tmp_path / name}")


@pytest.mark.parametrize("name", ["journal.jsonl", "new.json", "store/new.json"])
def test_nothing_in_the_session_directory_is_written_to_by_any_name(
    session: str, tmp_path: Path, name: str
) -> None:
    folder, link = tmp_path / "kept", tmp_path / "link"
    (folder / "store").mkdir(parents=True)
    link.symlink_to(folder)
    assert invoke(["run", session, "--dir", str(folder)]) == 0
    before = (folder / "journal.jsonl").read_bytes()
    for given in (folder / name, link / name, tmp_path / "kept" / ".." / "kept" / name):
        assert invoke(["run", session, "--dir", str(folder), "--out", str(given)]) == 2
    assert (folder / "journal.jsonl").read_bytes() == before


def test_a_hard_link_to_the_journal_is_not_written_over(session: str, tmp_path: Path) -> None:
    folder, link = tmp_path / "kept", tmp_path / "link.json"
    assert invoke(["run", session, "--dir", str(folder)]) == 0
    os.link(folder / "journal.jsonl", link)
    assert invoke(["run", session, "--dir", str(folder), "--out", str(link)]) == 2


@pytest.mark.parametrize("name", ["journal.jsonl", "link.json", "tool-results/a-1.txt"])
def test_nothing_of_a_session_that_is_not_named_is_written_over(
    session: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    folder = tmp_path / "kept"
    assert invoke(["run", session, "--dir", str(folder)]) == 0
    (folder / "tool-results").mkdir()
    (folder / "tool-results" / "a-1.txt").write_text("an original")
    os.link(folder / "journal.jsonl", tmp_path / "link.json")
    out = tmp_path / name if name == "link.json" else folder / name
    before = out.read_bytes()
    assert invoke(["run", session, "--out", str(out)]) == 2
    assert out.read_bytes() == before
    assert "session kept in" in capsys.readouterr().err


def test_any_other_file_of_that_name_is_written_over_as_files_are(session: str, tmp_path: Path) -> None:
    out = tmp_path / "journal.jsonl"
    out.write_text("dear diary")
    assert invoke(["run", session, "--out", str(out)]) == 0
    assert json.loads(out.read_text())["messages"] == MESSAGES


def test_a_pipe_in_place_of_a_journal_is_refused_and_not_waited_for(session: str, tmp_path: Path) -> None:
    pipe = tmp_path / "kept" / "journal.jsonl"
    pipe.parent.mkdir()
    os.mkfifo(pipe)
    for arguments in (["run", session, "--dir", str(pipe.parent)], ["run", session, "--out", str(pipe)]):
        done = trimtab(*arguments, seconds=60)
        assert done.returncode == 1
        assert str(pipe) in done.stderr
        assert "Traceback" not in done.stderr
    assert trimtab("journal", str(pipe.parent), seconds=60).returncode == 1


def test_a_pipe_that_somebody_reads_takes_the_request(session: str, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["/bin/cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        held = os.open(pipe, os.O_WRONLY)  # waits until `cat` has opened it
        done = trimtab("run", session, "--out", str(pipe))
        os.close(held)
        assert done.returncode == 0
        assert reader.stdout is not None
        assert json.loads(reader.stdout.read())["messages"] == MESSAGES


def test_a_request_for_a_closed_standard_output_is_wrong_usage(session: str) -> None:
    assert trimtab("run", session, "--out", "-", close=">&-").returncode == 2


def test_closed_streams_change_no_exit_code(session: str) -> None:
    assert trimtab("run", session, close=">&- 2>&-").returncode == 0
    assert trimtab("run", "/no/such/file", close=">&- 2>&-").returncode == 1
    assert trimtab("nothing", close=">&- 2>&-").returncode == 2


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["packs"]])
def test_help_and_tables_may_be_cut_short_as_well(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    environment = {**os.environ, "PYTHONPATH": str(ENGINE)}
    done = subprocess.run(
        [sys.executable, "-m", "trimtab", *arguments],
        stdout=writer,
        stderr=subprocess.PIPE,
        timeout=60,
        env=environment,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_place_of_a_number_that_is_none_is_said_before_anything_is_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, folder = tmp_path / "s.json", tmp_path / "kept"
    message = '{"role": "user", "content": [{"type": "text", "text": "go", "score": 1e999}]}'
    path.write_text(f'{{"model": "{MODEL}", "messages": [{message}]}}')
    out = tmp_path / "out.json"
    assert invoke(["run", str(path), "--dir", str(folder), "--out", str(out)]) == 1
    assert "messages[0].content[0].score (inf)" in capsys.readouterr().err
    assert not out.exists()
    assert not folder.exists()


def test_what_a_pack_is_called_cannot_steer_the_terminal(
    tmp_path: Path, session: str, capsys: pytest.CaptureFixture[str]
) -> None:
    steering = "\x1b]0;owned\x07\x9b2J\u202e"
    pack = tmp_path / "pack.yaml"
    text = json.dumps("x" + steering)
    pack.write_text(f"format: 1\nname: {text}\nversion: 1.0.0\ndescription: {text}\nstages: []\n")
    invoke(["check", str(pack)])
    invoke(["show", str(pack)])
    invoke(["show", str(pack), "--resolved"])
    invoke(["run", session, "--pack", str(pack)])
    invoke(["run", session, "--pack", "no" + steering])
    invoke(["run", session, "--set", "no" + steering + "=1"])
    invoke(["run", session, "--out", str(tmp_path / ("no" + steering) / "x")])
    invoke(["no" + steering])
    invoke(["run", str(tmp_path / ("no" + steering))])
    said = capsys.readouterr()
    for sign in "\x1b\x07\x9b\u202e":
        assert sign not in said.out + said.err


@pytest.mark.parametrize("time", ["9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00"])
def test_a_time_no_calendar_has_is_reported_and_unknown(tmp_path: Path, time: str) -> None:
    from trimtab.readers import read

    path = tmp_path / "s.json"
    path.write_text(json.dumps({"model": MODEL, "messages": [{**MESSAGES[0], "timestamp": time}]}))
    recording = read(path)
    assert recording.meta["now"] is None
    assert ["1 to 9998" in problem.message for problem in recording.problems] == [True]
    record = {"type": "user", "uuid": "u", "timestamp": time, "message": MESSAGES[0]}
    path.write_text(json.dumps(record) + "\n")
    recording = read(path)
    assert recording.meta["now"] is None
    assert any("1 to 9998" in problem.message and problem.line == 1 for problem in recording.problems)


def test_a_pipe_as_canned_answers_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(ValueError, match="no regular file"):
        parse(f"canned:{pipe}")
