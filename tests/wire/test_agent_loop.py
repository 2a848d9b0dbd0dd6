"""The example agent, as a process of its own, against the strict API to the end."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.fake_api import Recorded, call, too_long
from tests.fake_api.fixture import Served, ServedApi
from tests.wire.agent import NOTES, SUMMARY, asks_for_a_summary
from tests.wire.test_loop import causes

ROOT = Path(__file__).resolve().parent.parent.parent
AGENT = ROOT / "examples" / "agent_loop.py"
EVENTS = {
    "session_start",
    "before_request",
    "after_response",
    "tool_result",
    "overflow",
    "manual",
    "idle",
}


def model(recorded: Recorded) -> Any:
    """Lists the folder, reads what it holds, thinks meanwhile, and says how many files it has read."""
    last = recorded.body["messages"][-1]["content"]
    if asks_for_a_summary(recorded):
        return SUMMARY if "Primary request" in str(last) else NOTES
    thought = {"type": "thinking", "thinking": "hm"}
    if isinstance(last, str):
        return [thought, call("List", file_path=".")]
    results = [block["content"] for block in last if block["type"] == "tool_result"]
    if len(results) == 1 and "ledger" in results[0] and "tons" not in results[0]:
        return [thought, *[call("Read", file_path=name) for name in results[0].split()]]
    return [thought, {"type": "text", "text": f"I have read {len(results)} files."}]


def started(api: ServedApi, folder: Path, said: str, *options: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "engine"), "ANTHROPIC_API_KEY": "none"}
    command = [sys.executable, "-W", "error", str(AGENT), "--base-url", api.url, "--folder", str(folder)]
    return subprocess.run(
        [*command, *options], input=said, env=environment, capture_output=True, text=True, timeout=120
    )


def run(api: ServedApi, folder: Path, said: str, *options: str) -> tuple[list[str], list[str]]:
    """Lines of the answers and of the log."""
    done = started(api, folder, said, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr.splitlines()


def ledgers(folder: Path, lines: int) -> Path:
    for number in range(3):
        (folder / f"ledger-{number}.csv").write_text("berth, tons, tariff\n" * lines)
    return folder


def test_the_agent_answers_raises_every_event_and_is_never_refused_but_for_length(
    fake_api: Served, tmp_path: Path
) -> None:
    api = fake_api(otherwise=model, window=16_000)
    said = "read it all\n\nand again\nonce more\n/compact keep the tariffs\nand a last time\n"
    answers, log = run(api, ledgers(tmp_path, 300), said)
    assert answers == ["I have read 3 files."] * 4
    assert {line[1:].partition("]")[0] for line in log} == EVENTS
    assert [line for line in log if line.startswith("[manual] autocompact")]
    assert [line for line in log if line.startswith("[overflow] autocompact")]
    assert {re.sub(r"\d+", "N", why) for why in causes(api)} == {"prompt is too long: N tokens > N maximum"}


def test_with_a_window_that_it_knows_it_compacts_before_the_api_refuses(
    fake_api: Served, tmp_path: Path
) -> None:
    api = fake_api(otherwise=model, window=32_000)
    answers, log = run(api, ledgers(tmp_path, 300), "read it all\n" * 4, "--window", "32000")
    assert answers == ["I have read 3 files."] * 4
    assert [line for line in log if line.startswith("[before_request] autocompact")]
    assert causes(api) == []


def test_it_lets_the_model_see_nothing_outside_its_folder(fake_api: Served, tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "outside.txt").write_text("not for you")
    api = fake_api([call("Read", file_path="../outside.txt"), call("List", file_path="nowhere")], "so")
    assert run(api, tmp_path / "inside", "look\n")[0] == ["so"]
    results = [block["content"] for block in api.sent[1].body["messages"][2]["content"]]
    assert results[0] == "error: that is outside the folder"
    assert results[1].startswith("error: ")


def test_a_call_that_makes_no_sense_is_an_error_for_the_model_and_not_the_end(
    fake_api: Served, tmp_path: Path
) -> None:
    (tmp_path / "image.png").write_bytes(b"\x89PNG\xff")
    asked = [
        call("Read", file_path=5),
        call("Read", file_path="a\0b"),
        call("Read", path="ledger.csv"),
        call("Read", file_path="image.png"),
    ]
    api = fake_api(asked, "so")
    assert run(api, tmp_path, "look\n")[0] == ["so"]
    results = [block["content"] for block in api.sent[1].body["messages"][2]["content"]]
    assert [one.partition(":")[0] for one in results] == ["error"] * 4


def test_what_the_api_never_takes_ends_it_with_the_apis_words(fake_api: Served, tmp_path: Path) -> None:
    done = started(fake_api(otherwise=too_long(210_432, 200_000)), tmp_path, "look\n")
    assert (done.returncode, done.stdout) == (1, "")
    last = done.stderr.splitlines()[-1]
    assert last == (
        "the conversation cannot be sent any more: prompt is too long: 210432 tokens > 200000 maximum"
    )
