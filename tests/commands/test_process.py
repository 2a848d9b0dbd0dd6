"""Commands as processes of their own: what they load, how they end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from trimtab.data import data_root

ROOT = data_root()
HEAVY = ("anthropic", "tiktoken", "toktok", "toktok_rs", "tokenizers", "rich", "jsonschema", "httpx")


def process(*arguments: str, code: str | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run ``trimtab ARGUMENT…`` (or Python code) in a process of its own."""
    start = ["-m", "trimtab"] if code is None else ["-c", code]
    return subprocess.run(
        [sys.executable, *start, *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT / "engine"), "PYTHONIOENCODING": "utf-8", **environment},
        check=False,
    )


@pytest.mark.parametrize("command", [["check", "claude-code"], ["--help"], ["--version"], ["schema"]])
def test_short_commands_load_neither_clients_nor_tokenizers_nor_rich(command: list[str]) -> None:
    code = (
        "import sys\nfrom trimtab.commands import invoke\n"
        f"code = invoke({command!r})\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], code)"
    )
    assert process(code=code).stdout.splitlines()[-1] == "[] 0"


def test_importing_the_package_loads_next_to_nothing() -> None:
    code = "import sys, trimtab\nprint([name for name in sys.modules if name.startswith('trimtab')])"
    assert process(code=code).stdout.strip() == "['trimtab.version', 'trimtab']"


def test_a_run_loads_neither_anthropic_nor_a_tokenizer() -> None:
    code = (
        "import sys\nfrom trimtab.commands import invoke\n"
        f"code = invoke(['run', {str(ROOT / 'examples' / 'session.jsonl')!r}])\n"
        "print([name for name in ('anthropic', 'tiktoken', 'toktok_rs') if name in sys.modules], code)"
    )
    assert process(code=code).stdout.splitlines()[-1] == "[] 0"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["check", "claude-code"], 0),
        (["check", str(ROOT / "tests" / "cases" / "bad" / "tab.yaml")], 1),
        (["run", "/no/such/session.jsonl"], 1),
        (["run"], 2),
        (["nothing"], 2),
        (["run", str(ROOT / "examples" / "session.jsonl"), "--at", "idle"], 5),
    ],
)
def test_a_process_ends_with_the_exit_code_and_no_traceback(arguments: list[str], code: int) -> None:
    result = process(*arguments)
    assert result.returncode == code
    assert "Traceback" not in result.stderr


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "engine")}
    with subprocess.Popen(
        [sys.executable, "-m", "trimtab", "schema", "pack"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.read(10)
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait(timeout=60) == 0


def test_a_terminal_that_lacks_the_characters_gets_others() -> None:
    result = process("run", str(ROOT / "examples" / "session.jsonl"), PYTHONIOENCODING="ascii")
    assert result.returncode == 0
    assert result.stdout.isascii()


def test_no_colour_is_written_where_no_terminal_is() -> None:
    bad = str(ROOT / "tests" / "cases" / "bad" / "tab.yaml")
    for environment in ({}, {"NO_COLOR": "1"}):
        assert "\x1b" not in process("check", bad, **environment).stdout


def test_same_session_same_bytes(tmp_path: Path) -> None:
    session = str(ROOT / "examples" / "session.jsonl")
    outputs = []
    for number, seed in enumerate(("1", "2")):
        out = tmp_path / f"{number}.json"
        result = process("run", session, "--json", "--out", str(out), PYTHONHASHSEED=seed)
        outputs.append((result.stdout, out.read_bytes()))
    assert outputs[0] == outputs[1]
