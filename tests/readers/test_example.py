"""The session that ships in examples/: reproduced byte for byte, and laid out as its generator says."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from trimtab.readers import Recording, read

EXAMPLES = Path(__file__).parents[2] / "examples"
SESSION = EXAMPLES / "session.jsonl"


@pytest.fixture(scope="module")
def recording() -> Recording:
    return read(SESSION)


def results(recording: Recording) -> list[tuple[str, str]]:
    """Tool and text of every result, in order."""
    names: dict[str, str] = {}
    found: list[tuple[str, str]] = []
    for message in recording.live.messages:
        for block in message["content"] if isinstance(message["content"], list) else []:
            if block["type"] == "tool_use":
                names[block["id"]] = block["name"]
            elif block["type"] == "tool_result":
                found.append((names[block["tool_use_id"]], block["content"]))
    return found


def test_the_generator_writes_the_file_byte_for_byte() -> None:
    made = runpy.run_path(str(EXAMPLES / "make_session.py"))["session"]()
    assert made.encode() == SESSION.read_bytes()


def test_the_file_is_read_without_a_problem_and_stays_small(recording: Recording) -> None:
    assert recording.format == "claude-code"
    assert recording.problems == ()
    assert recording.live is recording.history
    assert SESSION.stat().st_size < 1_300_000


def test_its_usage_grows_and_passes_the_threshold_only_at_the_end(recording: Recording) -> None:
    used = [info.usage.prompt for info in recording.live.info if info is not None and info.usage is not None]
    assert used == sorted(used)
    assert used[-2] < 167_000 < 174_000 < used[-1] < 177_000


def test_the_newest_record_is_a_large_result_more_than_an_hour_after_the_response(
    recording: Recording,
) -> None:
    tool, text = results(recording)[-1]
    assert (tool, len(text) > 50_000) == ("Bash", True)
    assert recording.live.messages[-1]["role"] == "user"
    response = recording.live.info[-2]
    assert response is not None
    assert response.at is not None
    assert recording.meta["now"] - response.at >= 3600


def test_it_holds_results_to_clear_an_empty_one_and_no_other_large_one(recording: Recording) -> None:
    clearable = [
        text for tool, text in results(recording) if tool in ("Read", "Edit", "Write", "Bash", "Grep", "Glob")
    ]
    assert len(clearable) > 15
    assert "" in clearable
    assert 10_000 < sum(len(text) for text in clearable[:-5]) < 20_000
    assert max(len(text) for _, text in results(recording)[:-1]) < 50_000


def test_it_holds_todos_a_plan_a_skill_and_files_to_attach_again(recording: Recording) -> None:
    calls = [
        (block["name"], block["input"])
        for message in recording.live.messages
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_use"
    ]
    assert {name for name, _ in calls} >= {
        "TodoWrite",
        "ExitPlanMode",
        "Skill",
        "Read",
        "Edit",
        "Write",
        "Task",
    }
    newest = [given for name, given in calls if name == "TodoWrite"][-1]
    assert [todo["status"] for todo in newest["todos"]] == ["completed"] * 4 + ["in_progress"]
    assert all("/home/dev/harbor/" in given["file_path"] for name, given in calls if name == "Read")
