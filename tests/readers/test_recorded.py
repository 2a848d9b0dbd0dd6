"""The readers over recorded sessions, where the folder with them is there."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from time import perf_counter

import pytest

from trimtab.conversation.request import Request
from trimtab.readers import READERS, Recording, read

FILES = 16


@cache
def read_all(folder: Path) -> dict[str, Recording]:
    return {path.name: read(path) for path in sorted(folder.rglob("*.jsonl"))}


@pytest.fixture
def recordings(corpus: Path) -> dict[str, Recording]:
    return read_all(corpus / "claude-code")


def pieces(recordings: dict[str, Recording]) -> list[tuple[str, Request]]:
    return [
        (name, request)
        for name, recording in recordings.items()
        for request in (recording.live, recording.history)
    ]


@pytest.mark.corpus
def test_every_session_is_read_in_its_format(recordings: dict[str, Recording]) -> None:
    assert len(recordings) == FILES
    assert {recording.format for recording in recordings.values()} == {"claude-code"}
    assert all(recording.live.messages and recording.live.model for recording in recordings.values())


@pytest.mark.corpus
def test_every_result_has_its_call_in_the_message_before(recordings: dict[str, Recording]) -> None:
    count = 0
    for name, request in pieces(recordings):
        for at, message in enumerate(request.messages):
            content = message["content"]
            results = [] if isinstance(content, str) else [b for b in content if b["type"] == "tool_result"]
            for block in results:
                count += 1
                before = request.messages[at - 1]
                calls = {other.get("id") for other in before["content"]}
                assert before["role"] == "assistant", (name, at)
                assert block["tool_use_id"] in calls, (name, at)
    assert count > 1500


@pytest.mark.corpus
def test_no_message_is_blank_and_all_have_a_known_role(recordings: dict[str, Recording]) -> None:
    for name, request in pieces(recordings):
        for at, message in enumerate(request.messages):
            assert set(message) == {"role", "content"}
            assert message["role"] in ("user", "assistant"), (name, at)
            content = message["content"]
            assert content.strip() if isinstance(content, str) else content, (name, at)
            if not isinstance(content, str):
                assert all(block["type"] != "text" or block["text"].strip() for block in content), (name, at)


@pytest.mark.corpus
def test_runs_of_the_assistant_are_one_response_or_an_interrupted_one(
    recordings: dict[str, Recording],
) -> None:
    for name, request in pieces(recordings):
        ids = [info.id for info in request.info if info is not None and info.origin == "assistant"]
        assert len(ids) == len(set(ids)), name


@pytest.mark.corpus
def test_usage_stands_on_responses_only_and_on_nearly_all(recordings: dict[str, Recording]) -> None:
    for name, request in pieces(recordings):
        assert len(request.info) == len(request.messages), name
        with_usage = 0
        responses = 0
        for info, message in zip(request.info, request.messages, strict=True):
            assert info is not None
            assert info.at is not None, name
            assert info.origin, name
            responses += message["role"] == "assistant"
            if info.usage is not None:
                assert message["role"] == "assistant", name
                assert info.usage.prompt > 0
                with_usage += 1
        assert with_usage >= 0.9 * responses, name


@pytest.mark.corpus
def test_live_of_compacted_sessions_starts_with_the_summary(recordings: dict[str, Recording]) -> None:
    compacted = 0
    for name, recording in recordings.items():
        if any(boundary.kind == "compact" for boundary in recording.meta["boundaries"]):
            compacted += 1
            first = recording.live.info[0]
            assert first is not None
            assert first.origin == "summary", name
            assert len(recording.live.messages) < len(recording.history.messages)
        assert all(info is not None and info.origin != "summary" for info in recording.history.info)
    assert compacted == 7


@pytest.mark.corpus
def test_boundaries_are_as_the_files_have_them(recordings: dict[str, Recording]) -> None:
    def tokens(name: str, kind: str) -> list[int]:
        (found,) = [recording for file, recording in recordings.items() if name in file]
        return [boundary.pre_tokens for boundary in found.meta["boundaries"] if boundary.kind == kind]

    assert tokens("cc_2.1.7_893", "compact") == [156699, 155241, 155413]
    assert tokens("cc_2.1.17_723", "compact") == [157692]
    (micro,) = [recording for file, recording in recordings.items() if "cc_2.1.17_723" in file]
    assert [len(b.cleared) for b in micro.meta["boundaries"] if b.kind == "microcompact"] == [9, 18]


@pytest.mark.corpus
def test_only_the_broken_fixture_and_a_cut_call_have_problems(recordings: dict[str, Recording]) -> None:
    found = {name: len(recording.problems) for name, recording in recordings.items() if recording.problems}
    assert found == {"edge_cases.jsonl": 8, "session.jsonl": 1}


@pytest.mark.corpus
def test_inline_sidechains_are_out_and_a_sub_agents_file_is_whole(recordings: dict[str, Recording]) -> None:
    (main,) = [recording for name, recording in recordings.items() if name.startswith("fe5e1c67")]
    assert len(main.history.messages) == 19
    agent = recordings["agent-a21f86b.jsonl"]
    assert len(agent.live.messages) == 50
    assert agent.meta["agent"] == "a21f86b"


@pytest.mark.corpus
def test_all_recordings_can_be_written_again_as_ascii(recordings: dict[str, Recording]) -> None:
    for _, request in pieces(recordings):
        messages = list(request.messages)
        assert json.loads(json.dumps(messages)) == messages


@pytest.mark.corpus
def test_the_largest_session_is_read_in_under_a_third_of_a_second(corpus: Path) -> None:
    path = max((corpus / "claude-code").rglob("*.jsonl"), key=lambda found: found.stat().st_size)
    times = []
    for _ in range(3):
        start = perf_counter()
        READERS["claude-code"].read(path)
        times.append(perf_counter() - start)
    assert min(times) < 0.3
