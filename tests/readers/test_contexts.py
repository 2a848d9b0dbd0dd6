"""Sessions call by call: each request as it was about to go."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from trimtab.readers import Unreadable, read
from trimtab.readers.claude_code_order import CLEARED
from trimtab.readers.contexts import Moment, moments

Raw = dict[str, Any]


class Session:
    """Writes records one behind the other, each the child of the one before."""

    def __init__(self, client: str = "2.1.30") -> None:
        self.client = client
        self.records: list[Raw] = []

    def add(self, kind: str, **fields: Any) -> Session:
        number = len(self.records)
        record = {
            "type": kind,
            "uuid": f"u{number}",
            "parentUuid": f"u{number - 1}" if number else None,
            "version": self.client,
            "sessionId": "s",
            "timestamp": f"2026-01-01T00:{number // 60:02}:{number % 60:02}Z",
        }
        self.records.append({**record, **fields})
        return self

    def user(self, content: Any, **fields: Any) -> Session:
        return self.add("user", message={"role": "user", "content": content}, **fields)

    def result(self, call: str, text: str = "done") -> Session:
        return self.user([{"type": "tool_result", "tool_use_id": call, "content": text}])

    def answer(self, group: str, block: Raw, prompt: int, **fields: Any) -> Session:
        message = {"id": group, "role": "assistant", "model": "claude-opus-4-5", "content": [block]}
        usage = {"input_tokens": prompt, "output_tokens": 1}
        return self.add("assistant", message={**message, "usage": usage}, **fields)

    def call(self, group: str, call: str, prompt: int) -> Session:
        return self.answer(
            group, {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": "ls"}}, prompt
        )

    def text(self, group: str, text: str, prompt: int, **fields: Any) -> Session:
        return self.answer(group, {"type": "text", "text": text}, prompt, **fields)

    def boundary(self, kind: str = "compact", **metadata: Any) -> Session:
        return self.add("system", subtype=f"{kind}_boundary", **{f"{kind}Metadata": metadata})

    def summary(self, text: str = "what happened so far") -> Session:
        return self.user(text, isCompactSummary=True)

    def write(self, folder: Path, upto: int | None = None) -> Path:
        path = folder / "session.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in self.records[:upto]))
        return path


def shown(moment: Moment) -> list[str]:
    """The texts of a request, one a block."""
    found = []
    for message in moment.request.messages:
        content = message["content"]
        for block in [{"text": content}] if isinstance(content, str) else content:
            found.append(str(block.get("text") or block.get("content") or block.get("id")))
    return found


def known(found: Iterable[Moment]) -> list[tuple[str | None, int]]:
    return [(moment.id, moment.context) for moment in found]


def test_a_call_has_what_stood_before_it_and_its_own_usage_beside(tmp_path: Path) -> None:
    session = Session().user("go").call("m1", "t1", 100).result("t1", "files").text("m2", "there", 130)
    first, second = moments(session.write(tmp_path))
    assert shown(first) == ["go"]
    assert shown(second) == ["go", "t1", "files"]
    assert [moment.usage.prompt for moment in (first, second) if moment.usage] == [100, 130]
    assert [info.usage.prompt for info in second.request.info if info and info.usage] == [100]
    assert (second.id, second.client, second.line) == ("m2", "2.1.30", 4)


def test_the_records_of_one_response_are_one_call_with_the_usage_of_the_last(tmp_path: Path) -> None:
    session = Session().user("go").text("m1", "let me see", 90).call("m1", "t1", 100).result("t1")
    (moment,) = moments(session.write(tmp_path))
    assert moment.usage is not None
    assert moment.usage.prompt == 100


def test_a_compaction_shows_what_it_replaced_and_the_next_call_its_summary(tmp_path: Path) -> None:
    session = Session().user("go").call("m1", "t1", 100).result("t1").boundary(trigger="auto", preTokens=120)
    session.summary().text("m2", "on", 40)
    first, compaction, after = moments(session.write(tmp_path))
    assert shown(compaction) == ["go", "t1", "done"]
    assert compaction.boundary is not None
    assert (compaction.boundary.trigger, compaction.boundary.pre_tokens) == ("auto", 120)
    assert compaction.id is None
    assert shown(after) == ["what happened so far"]
    assert [moment.context for moment in (first, compaction, after)] == [0, 0, 1]


def test_a_compaction_shows_what_a_file_that_ends_there_shows_live(tmp_path: Path) -> None:
    session = Session().user("go").call("m1", "t1", 100).result("t1")
    session.boundary(trigger="auto").summary().call("m2", "t2", 40).result("t2").boundary(trigger="manual")
    compactions = [moment for moment in moments(session.write(tmp_path)) if moment.boundary]
    for moment in compactions:
        live = read(session.write(tmp_path, moment.line - 1)).live
        assert moment.request.messages == live.messages
        assert moment.request.info == live.info


def test_results_are_whole_before_a_microcompaction_and_cleared_behind_it(tmp_path: Path) -> None:
    session = Session().user("go").call("m1", "t1", 100).result("t1", "long").call("m2", "t2", 140)
    session.result("t2", "short").boundary("microcompact", compactedToolIds=["t1"]).text("m3", "on", 60)
    _, before, after = moments(session.write(tmp_path))
    assert shown(before) == ["go", "t1", "long"]
    assert shown(after) == ["go", "t1", CLEARED, "t2", "short"]
    assert before.context == after.context


def test_a_branch_that_was_given_up_is_played_and_then_gone(tmp_path: Path) -> None:
    session = Session().user("go").text("m1", "yes", 100).user("left").text("m2", "going left", 120)
    session.user("right", parentUuid="u1").text("m3", "going right", 120)
    first, left, right = moments(session.write(tmp_path))
    assert shown(first) == ["go"]
    assert shown(left) == ["go", "yes", "left"]
    assert shown(right) == ["go", "yes", "right"]


def test_preserved_messages_stand_behind_the_summary(tmp_path: Path) -> None:
    session = Session("2.1.220").user("go").text("m1", "first", 100).user("more").text("m2", "second", 120)
    session.boundary(trigger="auto", preservedMessages={"uuids": ["u2", "u3"], "anchorUuid": "u5"})
    session.summary().text("m3", "third", 60)
    *_, last = moments(session.write(tmp_path))
    assert shown(last) == ["what happened so far", "more", "second"]


def test_a_file_that_begins_with_a_compaction_has_an_empty_request_there(tmp_path: Path) -> None:
    session = Session().boundary(trigger="auto", preTokens=170_000).summary().text("m1", "on", 50)
    compaction, call = moments(session.write(tmp_path))
    assert list(compaction.request.messages) == []
    assert known([compaction, call]) == [(None, 0), ("m1", 1)]


def test_a_file_without_any_record_of_a_conversation_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text('{"type": "mode", "sessionId": "s"}\n')
    with pytest.raises(Unreadable, match="no message"):
        list(moments(path))


@pytest.mark.corpus
def test_no_request_of_a_recorded_session_knows_of_its_own_response(corpus: Path) -> None:
    calls = 0
    for path in sorted((corpus / "claude-code").rglob("*.jsonl")):
        ids: set[str] = set()
        for moment in moments(path):
            told = {info.id for info in moment.request.info if info and info.usage}
            assert moment.id not in told
            assert told <= ids, (path.name, moment.line)
            assert moment.id is None or moment.id not in ids
            calls += moment.id is not None
            ids |= {moment.id} - {None}
    assert calls == 1457


@pytest.mark.corpus
def test_the_compactions_of_recorded_sessions_show_what_was_live_there(corpus: Path, tmp_path: Path) -> None:
    count = 0
    for path in sorted((corpus / "claude-code").rglob("*.jsonl")):
        lines = path.read_bytes().splitlines(keepends=True)
        for moment in moments(path):
            if moment.boundary is not None:
                count += 1
                part = tmp_path / "part.jsonl"
                part.write_bytes(b"".join(lines[: moment.line - 1]))
                live = read(part).live
                assert moment.request.messages == live.messages, (path.name, moment.line)
                assert moment.request.info == live.info
    assert count == 9
