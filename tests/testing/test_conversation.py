"""Conversations of cases: made up, inline in any format, from a file; the same ones every time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.testing.support import planned

from trimtab.testing.conversation import OPENING, made_up
from trimtab.testing.looking import message_text
from trimtab.testing.model import Case


def talk(folder: Path, given: str) -> Case:
    """The case of what is given."""
    found = planned(
        folder, f"cases:\n  - name: a\n    given: {given}\n    expect: {{tokens: {{above: 0}}}}\n"
    )
    assert found.every_problem == [], [problem.render() for problem in found.every_problem]
    return found.files[0].cases[0]


def content(case: Case, index: int) -> Any:
    return case.messages[index]["content"]


def test_a_made_up_text_has_exactly_its_size_and_another_seed_gives_another_one() -> None:
    for chars in (0, 1, 45, 400, 10_007):
        assert len(made_up(chars, 3)) == chars
    assert made_up(400, 3) == made_up(400, 3) != made_up(400, 4)


def test_rounds_begin_behind_a_user_and_each_call_has_its_result(tmp_path: Path) -> None:
    case = talk(
        tmp_path,
        '{rounds: {count: 2, result: {chars: 50}, tool: Read, input: {path: "/{n}"}, text: "Step {n}."}}',
    )
    assert [message["role"] for message in case.messages] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    assert content(case, 0) == OPENING
    said, call = content(case, 3)
    assert said["text"] == "Step 2."
    assert call["input"] == {"path": "/2"}
    [result] = content(case, 4)
    assert result["tool_use_id"] == call["id"]
    assert len(result["content"]) == 50


def test_results_are_one_round_of_calls_made_at_once(tmp_path: Path) -> None:
    own = "{content: [{type: text, text: x}]}"
    results = f"[{{chars: 9}}, {{text: ab, chars: 5, tool: Grep}}, {{text: '', error: true}}, {own}]"
    case = talk(tmp_path, f"{{messages: [{{role: user, content: go}}, {{results: {results}}}]}}")
    assert len(case.messages) == 3
    assert [call["name"] for call in content(case, 1)] == ["Bash", "Grep", "Bash", "Bash"]
    first, second, third, fourth = content(case, 2)
    assert len(first["content"]) == 9
    assert second["content"] == "ababa"
    assert third == {"type": "tool_result", "tool_use_id": "call_3", "content": "", "is_error": True}
    assert fourth["content"] == [{"type": "text", "text": "x"}]


def test_texts_are_made_up_in_the_numbers_wanted(tmp_path: Path) -> None:
    case = talk(tmp_path, "{messages: [{role: user, chars: 30, count: 2}, {role: assistant, chars: 12}]}")
    assert [len(content(case, index)) for index in range(3)] == [30, 30, 12]
    assert content(case, 0) != content(case, 1)


def test_times_are_those_of_the_messages(tmp_path: Path) -> None:
    case = talk(
        tmp_path,
        "{messages: [{role: user, content: go, at: 1000}, {rounds: {count: 1, at: '1970-01-01T00:33:20Z'}}]}",
    )
    assert [info and info.at for info in case.infos] == [1000, 2000, 2000]


def test_a_message_keeps_what_a_host_says_beside_it(tmp_path: Path) -> None:
    case = talk(
        tmp_path,
        "{messages: [{role: user, content: go, id: m1, pinned: true}, {role: assistant, content: Yes.}], pinned: [-1]}",
    )
    assert dict(case.messages[0]) == {"role": "user", "content": "go"}
    assert [info and info.pinned for info in case.infos] == [True, True]


def test_records_of_a_host_are_read_where_they_stand(tmp_path: Path) -> None:
    record = {"type": "user", "uuid": "u1", "sessionId": "s", "message": {"role": "user", "content": "look"}}
    case = talk(tmp_path, f"{{messages: [{json.dumps(record)}, {{rounds: {{count: 1}}}}]}}")
    assert message_text(case.messages[0]) == "look"
    assert case.infos[0] is not None
    assert case.infos[0].id == "u1"
    assert len(case.messages) == 3


def test_a_session_file_gives_messages_model_system_and_as_many_as_are_wanted(tmp_path: Path) -> None:
    body = {
        "model": "claude-opus-4-6",
        "system": "You help.",
        "messages": [{"role": "user", "content": f"{n}"} for n in range(4)],
    }
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "s.json").write_text(json.dumps(body), encoding="utf-8")
    case = talk(tmp_path, "{session: s.json, upto: 3}")
    assert [message["content"] for message in case.messages] == ["0", "1", "2"]
    assert case.steps[0].system == "You help."
    assert case.steps[0].model == "claude-opus-4-6"


def test_what_a_step_adds_comes_behind_what_was_there(tmp_path: Path) -> None:
    tests = """
cases:
  - name: a
    given: {rounds: {count: 1}, then: [{role: assistant, content: So far.}]}
    expect: {messages: 4}
    steps:
      - {given: {then: [{role: user, content: On.}, {rounds: {count: 1}}]}, expect: {messages: 7}}
"""
    case = planned(tmp_path, tests).files[0].cases[0]
    assert [step.upto for step in case.steps] == [4, 7]
    assert len(case.messages) == 7
