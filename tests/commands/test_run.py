"""``trimtab run``."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import Draft7Validator
from tests.commands.conftest import conversation

from trimtab.data import data_root

EXAMPLE = data_root() / "examples" / "session.jsonl"

SCHEMA = Draft7Validator(json.loads((data_root() / "schemas" / "receipt.schema.json").read_text("utf-8")))


def test_the_receipt_names_every_stage_with_its_verdict(trimtab: Callable, session: Path, pack: Path) -> None:
    result = trimtab("run", session, "--pack", pack)
    rows = {line.split()[0]: line for line in result.out.splitlines() if line}
    assert result.code == 0
    assert "committed" in rows["clear"]
    assert "3 blocks" in rows["clear"]
    assert "≥ 200 (auto)" in rows["clear"]
    assert "skipped" in rows["never"]
    assert "< 900,000" in rows["never"]
    assert "all is well" in rows["info"]
    assert "window 200,000" in rows["limits"]


def test_no_line_of_the_receipt_ends_in_spaces(trimtab: Callable, session: Path, pack: Path) -> None:
    lines = trimtab("run", session, "--pack", pack).out.splitlines()
    assert lines == [line.rstrip() for line in lines]


def test_a_narrow_terminal_gets_the_reasons_in_a_table_of_their_own(
    trimtab: Callable, session: Path, pack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = trimtab("run", session, "--pack", pack).out.splitlines()
    assert max(len(line) for line in lines) <= 80
    assert sum(line.startswith("clear ") for line in lines) == 2


def test_the_json_fits_its_schema(trimtab: Callable, session: Path, pack: Path) -> None:
    result = trimtab("run", session, "--pack", pack, "--json")
    assert [error.message for error in SCHEMA.iter_errors(result.json)] == []
    assert result.json["session"]["format"] == "anthropic-json"
    assert result.json["stages"][0]["verdict"] == "committed"


@pytest.mark.parametrize("event", ["before_request", "overflow", "manual", "tool_result", "session_start"])
def test_receipts_of_the_example_fit_the_schema_at_every_event(trimtab: Callable, event: str) -> None:
    result = trimtab("run", EXAMPLE, "--at", event, "--json")
    assert [error.message for error in SCHEMA.iter_errors(result.json)] == []


def test_the_next_request_is_written_for_its_owner_alone(
    trimtab: Callable, session: Path, pack: Path, tmp_path: Path
) -> None:
    before = session.read_bytes()
    out = tmp_path / "next.json"
    result = trimtab("run", session, "--pack", pack, "--out", out)
    written = json.loads(out.read_text("utf-8"))
    cleared = [
        block for message in written["messages"] for block in message["content"] if "cleared" in str(block)
    ]
    assert result.code == 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert written["max_tokens"] == 1000
    assert len(cleared) == 3
    assert session.read_bytes() == before


def test_system_tools_and_fields_of_a_request_are_written_as_they_were_read(
    trimtab: Callable, tmp_path: Path
) -> None:
    body = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 7,
        "thinking": {"type": "enabled", "budget_tokens": 5},
        "system": [{"type": "text", "text": "You help.", "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": "Read", "input_schema": {"type": "object"}}],
        "messages": [{"role": "user", "content": "go"}],
    }
    path, out = tmp_path / "request.json", tmp_path / "next.json"
    path.write_text(json.dumps(body), encoding="utf-8")
    result = trimtab("run", path, "--out", out)
    assert json.loads(out.read_text("utf-8")) == body
    assert "note: " not in result.err


def test_what_a_session_file_does_not_hold_is_named_when_the_request_is_written(
    trimtab: Callable, session: Path, pack: Path, tmp_path: Path
) -> None:
    note = "holds no system, tools or max_tokens; add your own"
    written = trimtab("run", EXAMPLE, "--pack", pack, "--out", tmp_path / "next.json", "--json")
    assert note in written.err
    assert note in trimtab("run", EXAMPLE, "--pack", pack, "--out", "-").err
    assert "note: " not in trimtab("run", EXAMPLE, "--pack", pack).err
    body = json.loads(session.read_text("utf-8"))
    del body["max_tokens"]
    session.write_text(json.dumps({**body, "system": "You help.", "tools": []}), encoding="utf-8")
    left = trimtab("run", session, "--pack", pack, "--out", tmp_path / "next.json").err
    assert "holds no max_tokens;" in left


def test_a_written_request_that_names_files_of_memory_alone_is_no_secret(
    trimtab: Callable, tmp_path: Path
) -> None:
    note = "names a file that only this run had in memory"
    assert note in trimtab("run", EXAMPLE, "--out", tmp_path / "next.json").err
    kept = trimtab("run", EXAMPLE, "--out", tmp_path / "next.json", "--dir", tmp_path / "kept")
    assert note not in kept.err


def test_a_dash_writes_the_request_to_stdout_and_the_receipt_to_stderr(
    trimtab: Callable, session: Path, pack: Path
) -> None:
    result = trimtab("run", session, "--pack", pack, "--out", "-")
    assert result.json["model"] == "claude-sonnet-4-5"
    assert "committed" in result.err


def test_the_session_file_is_never_written_over(trimtab: Callable, session: Path, pack: Path) -> None:
    before = session.read_bytes()
    result = trimtab("run", session, "--pack", pack, "--out", session)
    assert result.code == 2
    assert "the session file itself" in result.err
    assert session.read_bytes() == before


def test_a_target_that_cannot_be_written_is_refused_before_the_run(
    trimtab: Callable, session: Path, pack: Path, tmp_path: Path
) -> None:
    result = trimtab(
        "run", session, "--pack", pack, "--dir", tmp_path / "d", "--out", tmp_path / "no" / "x.json"
    )
    assert result.code == 2
    assert not (tmp_path / "d").exists()


def test_a_session_without_a_model_needs_one(trimtab: Callable, session: Path, pack: Path) -> None:
    body = json.loads(session.read_text("utf-8"))
    del body["model"]
    session.write_text(json.dumps(body), encoding="utf-8")
    refused = trimtab("run", session, "--pack", pack)
    given = trimtab("run", session, "--pack", pack, "--model", "claude-haiku-4-5", "--json")
    assert refused.code == 2
    assert "--model" in refused.err
    assert given.json["run"]["model"] == "claude-haiku-4-5"


def test_the_clock_is_the_one_given(trimtab: Callable, session: Path, pack: Path) -> None:
    texts = trimtab("run", session, "--pack", pack, "--now", "2030-01-31T12:00:00Z", "--json").json
    seconds = trimtab("run", session, "--pack", pack, "--now", "1896091200", "--json").json
    assert texts["run"]["at"] == seconds["run"]["at"] == "2030-01-31T12:00:00Z"


def test_values_set_from_outside_hold(trimtab: Callable, session: Path, pack: Path) -> None:
    options = ("--set", "window=32k", "--set", "shown=3", "--set", "limits.auto=5")
    receipt = trimtab("run", session, "--pack", pack, "--json", *options).json
    assert receipt["limits"]["window"] == 32000
    assert receipt["limits"]["auto"] == 5
    assert receipt["settings"]["shown"] == 3
    assert receipt["stages"][0]["items"] == 1


def test_a_setting_may_be_negative_where_the_packs_own_value_is(
    trimtab: Callable, session: Path, pack: Path
) -> None:
    path = pack / "pack.yaml" if pack.is_dir() else pack
    path.write_text(path.read_text("utf-8").replace("settings: {", "settings: {offset: -2, "), "utf-8")
    receipt = trimtab("run", session, "--pack", pack, "--json", "--set", "offset=-7.5").json
    assert receipt["settings"]["offset"] == -7.5


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--set", "nothing", "NAME=VALUE"),
        ("--set", "shwon=1", "did you mean `shown`"),
        ("--set", "auto=1", "limits.auto"),
        ("--set", "shown=few", "number"),
        ("--set", "shown=-1", "number"),
        ("--set", "shown=nan", "number"),
        ("--set", "shown=1e400", "number"),
        ("--set", "clear=yes", "true or false"),
        ("--set", "window=wide", "whole number"),
        ("--set", "window=0", "whole number"),
        ("--set", "limits.auto=windo", "did you mean `window`"),
        ("--set", "stages.cleer.text=x", "did you mean `clear`"),
        ("--now", "yesterday", "2030-01-31"),
        ("--summarizer", "somebody", "canned:FILE"),
        ("--summarizer", "canned:/no/such/file", "cannot be read: /no/such/file: No such file or directory"),
        (
            "--summarizer",
            "command:no-such-program -x",
            "the program 'no-such-program' was not found on the PATH",
        ),
        ("--summarizer", "command:/no/such/program", "the program '/no/such/program' was not found there"),
        ("--session-format", "yaml", "claude-code"),
        ("--redactor", "all", "patterns, detect-secrets, none"),
        ("--at", "sometime", "before_request"),
        ("--files", "/no/such/folder", "no folder"),
    ],
)
def test_a_wrong_option_is_wrong_usage_and_says_what_is_right(
    trimtab: Callable, session: Path, pack: Path, option: str, value: str, words: str
) -> None:
    result = trimtab("run", session, "--pack", pack, option, value)
    assert result.code == 2
    assert words in result.err
    assert result.out == ""


def test_a_limit_that_is_new_to_the_pack_is_warned_about(
    trimtab: Callable, session: Path, pack: Path
) -> None:
    result = trimtab("run", session, "--pack", pack, "--set", "limits.autoo=5")
    strict = trimtab("run", session, "--pack", pack, "--set", "limits.autoo=5", "--strict")
    assert result.code == 0
    assert "limits.autoo" in result.err
    assert strict.code == 1


def test_an_unreadable_session_is_a_problem_with_a_hint(trimtab: Callable, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    for path in (tmp_path / "none.jsonl", tmp_path / "empty.jsonl", tmp_path):
        result = trimtab("run", path)
        assert result.code == 1
        assert str(path) in result.err
        assert "hint: " in result.err


def test_a_broken_pack_is_shown_with_its_line_and_runs_nothing(
    trimtab: Callable, session: Path, pack: Path
) -> None:
    pack.write_text(pack.read_text("utf-8").replace("keep:", "kep:"), encoding="utf-8")
    result = trimtab("run", session, "--pack", pack)
    assert result.code == 1
    assert f"{pack}:12:5" in result.err
    assert "did you mean `keep`" in result.err
    assert result.out == ""


def test_an_event_no_stage_lists_runs_nothing(trimtab: Callable, session: Path, pack: Path) -> None:
    result = trimtab("run", session, "--pack", pack, "--at", "idle")
    assert result.code == 5
    assert "nothing ran" in result.out


def test_a_guard_that_blocks_is_told_and_an_error_when_strict(
    trimtab: Callable, session: Path, pack: Path, tmp_path: Path
) -> None:
    pack.write_text(pack.read_text("utf-8").replace("level: info", "level: block"), encoding="utf-8")
    told = trimtab("run", session, "--pack", pack)
    strict = trimtab("run", session, "--pack", pack, "--strict", "--out", tmp_path / "next.json")
    assert told.code == 0
    assert "not to be sent" in told.out
    assert strict.code == 1
    assert "note: a guard blocks: the written request is not to be sent" in strict.err


def test_an_overflow_nothing_is_done_about_is_a_problem(trimtab: Callable, session: Path, pack: Path) -> None:
    pack.write_text(
        pack.read_text("utf-8").replace("at: [before_request], when", "at: [overflow], when"), "utf-8"
    )
    result = trimtab("run", session, "--pack", pack, "--at", "overflow")
    assert result.code == 1
    assert "overflow-unhandled" in result.out


def test_the_whole_history_is_read_on_request(trimtab: Callable, tmp_path: Path, pack: Path) -> None:
    live = trimtab("run", EXAMPLE, "--pack", pack, "--json").json
    whole = trimtab("run", EXAMPLE, "--pack", pack, "--history", "--json").json
    assert whole["run"]["messages"] >= live["run"]["messages"]


def test_a_second_run_in_the_same_directory_commits_nothing(
    trimtab: Callable, session: Path, pack: Path, tmp_path: Path
) -> None:
    options = ("run", session, "--pack", pack, "--dir", tmp_path / "d", "--json")
    first, second = trimtab(*options).json, trimtab(*options).json
    assert first["totals"]["commits"] == 1
    assert second["totals"]["commits"] == 0
    assert second["totals"]["tokens"]["after"] == first["totals"]["tokens"]["after"]


NOTES = """\
format: 1
name: noting
version: 1.0.0
stages:
  - {id: memory, kind: notes, at: [after_response], background: true, prompt: notes/ten-sections.md.j2}
  - {id: compact, kind: summarize, at: [before_request], notes: memory, keep: {newest: {rounds: 1}}}
"""


@pytest.fixture
def noting(tmp_path: Path) -> tuple[str, Path, Path]:
    """A pack whose notes are written in the background, and a program that writes them."""
    pack = tmp_path / "noting.yaml"
    pack.write_text(NOTES, encoding="utf-8")
    program = tmp_path / "writer"
    program.write_text("#!/bin/sh\ncat >/dev/null\necho '# Title'\necho 'The harbour'\n", encoding="ascii")
    program.chmod(0o700)
    return f"command:{program}", pack, tmp_path / "kept"


def test_background_notes_are_written_and_the_next_run_uses_them(
    trimtab: Callable, session: Path, noting: tuple[str, Path, Path]
) -> None:
    who, pack, folder = noting
    first = trimtab("run", session, "--pack", pack, "--dir", folder, "--at", "after_response", "-s", who)
    journal = trimtab("journal", folder)
    second = trimtab("run", session, "--pack", pack, "--dir", folder, "--json")
    assert first.code == 0
    assert "memory: written, 19 characters, " in first.out
    assert "kept in memory only" not in first.out
    assert "memory wrote notes up to message 9" in journal.out
    assert second.json["stages"][0]["verdict"] == "committed"


def test_without_a_directory_the_receipt_says_that_the_notes_are_lost(
    trimtab: Callable, session: Path, noting: tuple[str, Path, Path]
) -> None:
    who, pack, _ = noting
    result = trimtab("run", session, "--pack", pack, "--at", "after_response", "-s", who)
    assert "the notes are kept in memory only: with --dir DIR the next run can use them" in result.out


def test_notes_nobody_can_write_are_told_with_the_reason_and_an_error_when_strict(
    trimtab: Callable, session: Path, noting: tuple[str, Path, Path]
) -> None:
    _, pack, folder = noting
    options = ("run", session, "--pack", pack, "--dir", folder, "--at", "after_response")
    told, strict = trimtab(*options), trimtab(*options, "--strict")
    assert told.code == 0
    assert "memory: failed, unavailable: no summarizer is given" in told.out
    assert "memory failed: unavailable" in trimtab("journal", folder).out
    assert strict.code == 1


def test_the_json_has_what_became_of_the_jobs_and_fits_its_schema(
    trimtab: Callable, session: Path, noting: tuple[str, Path, Path]
) -> None:
    who, pack, _ = noting
    receipt = trimtab("run", session, "--pack", pack, "--at", "after_response", "-s", who, "--json").json
    assert [error.message for error in SCHEMA.iter_errors(receipt)] == []
    assert [(job["id"], job["verdict"]) for job in receipt["jobs"]] == [("memory", "done")]
    assert receipt["jobs"][0]["remarks"]["written"]["chars"] == 19


def test_another_conversation_in_the_same_directory_is_warned_about(
    trimtab: Callable, session: Path, pack: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.json"
    body = {"model": "claude-sonnet-4-5", "messages": [{"role": "user", "content": "Something else."}]}
    other.write_text(json.dumps(body), encoding="utf-8")
    options = ("--pack", pack, "--dir", tmp_path / "kept")
    trimtab("run", session, *options)
    told, strict = trimtab("run", other, *options), trimtab("run", session, *options, "--strict")
    assert "[new-branch]; if it is another conversation, give it a session" in " ".join(told.out.split())
    assert strict.code == 1


def test_a_summarizer_program_that_cannot_be_started_is_wrong_usage(
    trimtab: Callable, session: Path, pack: Path, tmp_path: Path
) -> None:
    plain = tmp_path / "plain.sh"
    plain.write_text("echo", encoding="ascii")
    result = trimtab("run", session, "--pack", pack, "-s", f"command:{plain}")
    assert result.code == 2
    assert "is not executable" in result.err


def test_a_summarizer_without_a_key_is_warned_about_and_an_error_when_strict(
    trimtab: Callable, session: Path, pack: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in [name for name in os.environ if name.startswith("ANTHROPIC_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    options = ("run", session, "--pack", pack, "-s", "anthropic")
    told, strict = trimtab(*options), trimtab(*options, "--strict")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert told.code == 0
    assert "warning: --summarizer anthropic: no key: set ANTHROPIC_API_KEY" in told.err
    assert strict.code == 1
    assert trimtab(*options, "--strict").code == 0


def test_a_session_whose_model_is_named_by_the_caller_has_no_problem(
    trimtab: Callable, pack: Path, tmp_path: Path
) -> None:
    path = tmp_path / "messages.json"
    path.write_text(json.dumps(conversation(model=None)["messages"]), encoding="utf-8")
    result = trimtab("run", path, "--pack", pack, "--model", "claude-sonnet-4-5", "--strict", "--json")
    assert (result.code, result.err) == (0, "")
    assert result.json["session"]["problems"] == []


@pytest.mark.parametrize("command", ["run", "explain", "context"])
def test_the_format_of_a_session_can_be_named_where_it_is_not_recognised(
    trimtab: Callable, pack: Path, tmp_path: Path, command: str
) -> None:
    path = tmp_path / "odd.json"
    body = {"a": "x" * (1 << 20), **conversation()}
    path.write_text(json.dumps(body), encoding="utf-8")
    refused = trimtab(command, path, "--pack", pack)
    taken = trimtab(command, path, "--pack", pack, "--session-format", "anthropic-json")
    assert refused.code == 1
    assert "--session-format" in refused.err
    assert taken.code == 0


def test_a_problem_of_a_pack_looks_the_same_in_every_command(
    trimtab: Callable, session: Path, tmp_path: Path
) -> None:
    broken, doubtful = tmp_path / "broken.yaml", tmp_path / "doubtful.yaml"
    head = "format: 1\nname: p\nversion: 1.0.0\n"
    broken.write_text(head + "stagse: []\n", encoding="utf-8")
    doubtful.write_text(head + "extends: [claude-code]\nlimits: {atuo: 5}\n", encoding="utf-8")
    for path in (broken, doubtful):
        checked = trimtab("check", path).out.partition("\n\n")[0]
        assert checked in trimtab("run", session, "--pack", path).err
        assert checked in trimtab("explain", session, "--pack", path).err
        assert "atuo" in checked or checked in trimtab("show", path).err


def test_a_secret_is_kept_from_a_summarizer_unless_the_redactor_is_switched_off(
    trimtab: Callable, tmp_path: Path
) -> None:
    secret = "gh" + "p_" + "FakeTokenOfATest0123456789FakeTokenOf"
    words = [{"role": "user", "content": f"Use {secret}."}, {"role": "assistant", "content": "word " * 2000}]
    session = tmp_path / "secret.json"
    request = {"model": "claude-sonnet-4-5", "messages": [*words, {"role": "user", "content": "Go on."}]}
    session.write_text(json.dumps(request), encoding="utf-8")
    pack = tmp_path / "sums-up.yaml"
    pack.write_text(
        "format: 1\nname: sums-up\nversion: 1.0.0\n"
        "stages:\n  - {id: sum, kind: summarize, at: [before_request], prompt: summary/nine-sections.md.j2}\n"
    )
    code = "import sys; said = sys.stdin.read(); at = said.find('Use '); print('It said:', said[at:at + 60])"
    writer = f'command:{sys.executable} -c "{code}"'
    shown = []
    for redactor in ("patterns", "none"):
        options = ("--pack", pack, "--summarizer", writer, "--redactor", redactor, "--out", "-")
        messages = json.loads(trimtab("run", session, *options).out)["messages"]
        shown += [str(message["content"]) for message in messages if "It said" in str(message["content"])]
    assert secret not in shown[0]
    assert "[redacted: github token]" in shown[0]
    assert secret in shown[1]
