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


@pytest.mark.xfail(strict=True, reason="a stream that is closed is None in Python")
@pytest.mark.parametrize("command", [["packs"], ["run", "SESSION"], ["schema"]], ids=lambda each: each[0])
def test_a_closed_standard_output_is_no_traceback(command: list[str], session: str) -> None:
    done = trimtab(*(session if one == "SESSION" else one for one in command), close=">&-")
    assert "Traceback" not in done.stderr


@pytest.mark.xfail(strict=True, reason="click ends the process by itself when a pipe breaks")
def test_a_reader_that_has_seen_enough_is_no_problem() -> None:
    script = f'"{sys.executable}" -m trimtab schema; echo "code $?" >&2'
    environment = {**os.environ, "PYTHONPATH": str(ENGINE)}
    done = subprocess.run(
        ["/bin/sh", "-c", f"({script}) | true"],
        capture_output=True,
        text=True,
        timeout=20,
        env=environment,
        check=False,
    )
    assert "code 0" in done.stderr


@pytest.mark.xfail(strict=True, reason="`²`.isdigit() is true and int(`²`) an error")
def test_a_place_with_a_digit_that_is_no_number_is_wrong_usage(session: str) -> None:
    assert invoke(["run", session, "--set", "stages.result-budget.select.blocks.²=text"]) == 2


@pytest.mark.xfail(strict=True, reason="a time is judged in two places by two rules")
@pytest.mark.parametrize("now", ["9999-12-31", "-1e300", "-62135596801"])
def test_a_time_outside_the_calendar_is_wrong_usage(session: str, now: str) -> None:
    assert invoke(["run", session, f"--now={now}"]) == 2


@pytest.mark.xfail(strict=True, reason="the newest time of a file is not judged where the file is read")
def test_a_session_from_the_year_9999_can_be_run(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    messages = [{"role": "user", "content": "go", "timestamp": "9999-12-31T23:59:59Z"}]
    path.write_text(json.dumps({"model": MODEL, "messages": messages}))
    assert invoke(["run", str(path)]) == 0


@pytest.mark.xfail(strict=True, reason="only the session file itself is kept from being overwritten")
def test_the_request_is_never_written_over_the_journal_of_the_run(session: str, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    assert invoke(["run", session, "--dir", str(folder)]) == 0
    invoke(["run", session, "--dir", str(folder), "--out", str(folder / "journal.jsonl")])
    assert DiskJournal.read(folder).records()


@pytest.mark.xfail(strict=True, reason="an empty name is taken for no name")
def test_an_empty_session_directory_is_wrong_usage(session: str) -> None:
    assert invoke(["run", session, "--dir", ""]) == 2


@pytest.mark.xfail(strict=True, reason="NaN is no JSON, and no API takes it")
def test_a_written_request_is_json(tmp_path: Path) -> None:
    path, out = tmp_path / "s.json", tmp_path / "out.json"
    path.write_text(f'{{"model": "{MODEL}", "temperature": NaN, "messages": {json.dumps(MESSAGES)}}}')
    if invoke(["run", str(path), "--out", str(out)]) == 0:
        json.loads(out.read_text(), parse_constant=lambda name: pytest.fail(f"{name} was written"))


@pytest.mark.xfail(strict=True, reason="a pipe is opened twice, and each time waited for")
def test_a_pipe_as_session_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert trimtab("run", str(pipe), seconds=3).returncode == 1


@pytest.mark.xfail(strict=True, reason="nesting too deep for the parser is not expected")
@pytest.mark.parametrize(("name", "text"), [("a.json", "[" * 100_000), ("a.yaml", "[" * 3000)])
def test_canned_answers_nested_too_deeply_are_refused_with_the_files_name(
    tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=name):
        parse(f"canned:{tmp_path / name}")


@pytest.mark.xfail(strict=True, reason="only the YAML parser's own errors get the name")
@pytest.mark.parametrize(
    ("name", "data"), [("a.json", b"{"), ("a.yaml", b"[2020-13-45]"), ("b.yaml", b"\xff")]
)
def test_canned_answers_that_cannot_be_read_are_refused_with_the_files_name(
    tmp_path: Path, name: str, data: bytes
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match=name):
        parse(f"canned:{tmp_path / name}")
