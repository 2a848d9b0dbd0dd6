"""Plain requests and lists of messages as one JSON document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trimtab.readers import Recording, Unreadable, read
from trimtab.readers.anthropic_json import recording_of

MESSAGES = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": [{"type": "text", "text": "yes"}]},
]


def written(folder: Path, document: Any) -> Recording:
    path = folder / "request.json"
    path.write_text(json.dumps(document, indent=1))
    return read(path)


def test_a_request_keeps_every_field(tmp_path: Path) -> None:
    body = {
        "model": "m",
        "max_tokens": 5,
        "system": "s",
        "tools": [],
        "messages": MESSAGES,
        "metadata": {"a": 1},
    }
    request = written(tmp_path, body).live
    assert (request.model, request.system, request.tools) == ("m", "s", [])
    assert request.extra == {"max_tokens": 5, "metadata": {"a": 1}}
    assert request.messages == MESSAGES


def test_a_bare_list_is_a_request_without_a_model(tmp_path: Path) -> None:
    recording = written(tmp_path, MESSAGES)
    assert recording.format == "anthropic-json"
    assert recording.live.messages == MESSAGES
    assert recording.live is recording.history
    assert "names no model" in recording.problems[0].message


def test_unknown_keys_of_a_message_pass_and_host_keys_go_to_its_source(tmp_path: Path) -> None:
    raw: dict[str, Any] = {
        "role": "assistant",
        "content": "yes",
        "id": "msg_1",
        "model": "m",
        "stop_reason": "end_turn",
    }
    raw |= {"usage": {"input_tokens": 7, "output_tokens": 2}, "future": True}
    request = written(tmp_path, {"model": "m", "messages": [MESSAGES[0], raw]}).live
    assert request.messages[1] == {"role": "assistant", "content": "yes", "future": True}
    first, second = request.info
    assert first is None
    assert second is not None
    assert second.source == raw
    assert second.id == "msg_1"
    assert second.usage is not None
    assert (second.usage.prompt, second.usage.output) == (7, 2)


def test_of_a_usage_summed_over_several_calls_the_last_call_is_taken(tmp_path: Path) -> None:
    calls = [{"type": "message", "input_tokens": tokens} for tokens in (4, 5)]
    usage = {"input_tokens": 9, "output_tokens": 2, "iterations": calls}
    raw = {"role": "assistant", "content": "yes", "usage": usage}
    info = written(tmp_path, {"model": "m", "messages": [MESSAGES[0], raw]}).live.info[1]
    assert info is not None
    assert info.usage is not None
    assert info.usage.prompt == 5


def test_a_hosts_envelope_is_stripped_to_what_the_api_takes() -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "name": "read", "content": "x"}
    envelope = {
        "sessionId": "s",
        "version": 1,
        "system_prompt": "be brief",
        "messages": [
            {
                "id": "a",
                "role": "user",
                "ts": 1783376868634,
                "content": [{"type": "file", "path": "/a.py", "content": "BODY"}],
            },
            {
                "id": "b",
                "role": "assistant",
                "ts": 1783376873493,
                "content": [{"type": "tool_use", "id": "t", "name": "read", "input": {}}],
                "modelInfo": {"id": "anthropic/claude-x"},
                "metrics": {
                    "inputTokens": 100,
                    "cacheReadTokens": 90,
                    "cacheWriteTokens": 4,
                    "outputTokens": 5,
                },
            },
            {"id": "c", "role": "user", "content": [result]},
        ],
    }
    recording = recording_of(envelope)
    request = recording.live
    assert request.system == "be brief"
    assert request.model == "anthropic/claude-x"
    assert request.extra == {}
    assert request.messages[0]["content"] == [{"type": "text", "text": '<file path="/a.py">\nBODY\n</file>'}]
    assert request.messages[2]["content"] == [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]
    second = request.info[1]
    assert second is not None
    assert second.at == 1783376873.493
    assert second.usage is not None
    assert (second.usage.input, second.usage.prompt, second.usage.output) == (6, 100, 5)
    assert recording.meta["now"] == 1783376873.493


def test_a_message_without_role_or_content_is_a_problem(tmp_path: Path) -> None:
    recording = written(
        tmp_path, {"model": "m", "messages": [*MESSAGES, {"role": "robot", "content": "x"}, 3]}
    )
    assert recording.live.messages == MESSAGES
    assert [problem.message.split()[0] for problem in recording.problems] == ["messages[2]", "messages[3]"]


@pytest.mark.parametrize("content", ['{"messages": [', '{"messages": {}}', "[]", '{"messages": []}'])
def test_a_document_without_messages_is_unreadable(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(Unreadable):
        read(path, format="anthropic-json")


@pytest.mark.corpus
def test_the_recorded_envelope_reads_as_legal_messages(corpus: Path) -> None:
    path = corpus / "cline" / "session.messages.json"
    recording = read(path)
    assert recording.format == "anthropic-json"
    assert all(set(message) == {"role", "content"} for message in recording.live.messages)
    kinds = {block["type"] for message in recording.live.messages for block in message["content"]}
    assert kinds == {"text", "tool_use", "tool_result"}
    usages = [info.usage for info in recording.live.info if info is not None and info.usage is not None]
    assert len(usages) == 16
    assert usages[0].prompt == 34334
