"""Claude Code session files: one test a shape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trimtab.readers import Recording, Unreadable, read
from trimtab.readers.claude_code_order import CLEARED

MODEL = "claude-opus-4-5-20251101"


class File:
    """Writes records the way the client does: each the child of the one before, a second apart."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "session.jsonl"
        self.lines: list[str] = []
        self.last: str | None = None
        self.count = 0

    def record(self, kind: str, uuid: str | None = None, **fields: Any) -> str:
        self.count += 1
        uuid = uuid or f"u{self.count}"
        record = {
            "type": kind,
            "uuid": uuid,
            "parentUuid": self.last,
            "isSidechain": False,
            "sessionId": "s",
            "version": "2.1.45",
            "timestamp": f"2026-02-18T10:{self.count // 60:02d}:{self.count % 60:02d}.000Z",
        }
        record |= fields
        self.lines.append(json.dumps(record))
        self.last = uuid
        return uuid

    def user(self, content: Any, **fields: Any) -> str:
        return self.record("user", message={"role": "user", "content": content}, **fields)

    def assistant(self, group: str, *blocks: dict[str, Any], usage: int = 100, **fields: Any) -> str:
        message = {
            "id": group,
            "type": "message",
            "role": "assistant",
            "model": fields.pop("model", MODEL),
            "content": list(blocks),
            "stop_reason": fields.pop("stop_reason", None),
            "usage": fields.pop("full_usage", {"input_tokens": usage, "output_tokens": 3}),
        }
        return self.record("assistant", message=message, **fields)

    def result(self, call: str, content: Any = "done", **fields: Any) -> str:
        block = {"type": "tool_result", "tool_use_id": call, "content": content}
        if fields.pop("error", False):
            block["is_error"] = True
        return self.user([block], **fields)

    def attachment(self, **attachment: Any) -> str:
        return self.record("attachment", attachment=attachment)

    def boundary(self, **metadata: Any) -> str:
        self.last = None
        metadata = {"trigger": "auto", "preTokens": 167_100} | metadata
        return self.record("system", subtype="compact_boundary", compactMetadata=metadata)

    def summary(self, text: str = "This is what happened.") -> str:
        return self.user(text, isCompactSummary=True, isVisibleInTranscriptOnly=True)

    def read(self, tail: str = "") -> Recording:
        self.path.write_text("\n".join(self.lines) + "\n" + tail, encoding="utf-8")
        return read(self.path)


@pytest.fixture
def file(tmp_path: Path) -> File:
    return File(tmp_path)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(name: str, tool: str = "Read", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": tool, "input": given}


def origins(recording: Recording) -> list[str | None]:
    return [info.origin for info in recording.live.info if info is not None]


def words(recording: Recording, live: bool = True) -> list[str]:
    """The first text or result of each message."""
    request = recording.live if live else recording.history
    found: list[str] = []
    for message in request.messages:
        content = message["content"]
        block = {"text": content} if isinstance(content, str) else content[0]
        found.append(str(block.get("text") or block.get("content") or block.get("id")))
    return found


def test_records_of_one_response_become_one_message_in_file_order(file: File) -> None:
    file.user("go")
    file.assistant("m1", {"type": "thinking", "thinking": "", "signature": "sig"})
    file.assistant("m1", text("I look."))
    file.assistant("m1", call("a"))
    file.result("a")
    recording = file.read()
    assert [message["role"] for message in recording.live.messages] == ["user", "assistant", "user"]
    assert [block["type"] for block in recording.live.messages[1]["content"]] == [
        "thinking",
        "text",
        "tool_use",
    ]
    assert recording.problems == ()


def test_interleaved_results_go_into_one_message_behind_their_response(file: File) -> None:
    file.user("go")
    file.assistant("m1", call("a"))
    file.result("a", "first")
    file.assistant("m1", call("b"))
    file.result("b", "second")
    file.assistant("m2", text("Done."))
    messages = file.read().live.messages
    assert [block["id"] for block in messages[1]["content"]] == ["a", "b"]
    assert [block["content"] for block in messages[2]["content"]] == ["first", "second"]
    assert messages[3]["content"] == [text("Done.")]


def test_what_came_between_results_stands_behind_them(file: File) -> None:
    file.user("go")
    file.assistant("m1", call("a"), call("b"))
    file.result("a")
    file.attachment(type="edited_text_file", filename="/x.py", snippet="1\tnew")
    file.result("b")
    recording = file.read()
    assert origins(recording) == ["user", "assistant", "tool", "reminder"]
    assert [block["tool_use_id"] for block in recording.live.messages[2]["content"]] == ["a", "b"]


def test_usage_is_the_last_one_of_the_response_and_sits_on_its_message(file: File) -> None:
    file.user("go")
    file.assistant("m1", text("a"), usage=10)
    file.assistant("m1", call("a"), usage=12, stop_reason="tool_use")
    file.result("a")
    file.assistant(
        "m2", text("b"), full_usage={"input_tokens": 1, "cache_read_input_tokens": 20, "output_tokens": 2}
    )
    info = file.read().live.info
    first, second = info[1], info[3]
    assert first is not None
    assert first.usage is not None
    assert (first.id, first.usage.prompt, first.usage.output, first.usage.model) == ("m1", 12, 3, MODEL)
    assert second is not None
    assert second.usage is not None
    assert (second.usage.prompt, second.usage.output) == (21, None)
    assert [known.usage for known in info if known is not None and known.origin != "assistant"] == [
        None,
        None,
    ]


def test_of_a_usage_summed_over_several_calls_the_last_call_is_taken(file: File) -> None:
    last = {"type": "message", "input_tokens": 5}
    file.user("go")
    file.assistant("m1", text("a"), full_usage={"input_tokens": 9, "iterations": [{"type": "message"}, last]})
    file.user("on")
    file.assistant("m2", text("b"), full_usage={"input_tokens": 9, "iterations": [{"type": "message"}] * 2})
    first, second = (file.read().live.info[at] for at in (1, 3))
    assert first is not None
    assert first.usage is not None
    assert first.usage.prompt == 5
    assert second is not None
    assert second.usage is None


def test_times_are_epoch_seconds_and_now_is_the_newest(file: File) -> None:
    file.user("go", timestamp="2026-02-18T10:00:00.500Z")
    file.record("progress", data={"type": "bash_progress"}, timestamp="2026-02-18T11:00:00Z")
    recording = file.read()
    info = recording.live.info[0]
    assert info is not None
    assert info.at == 1771408800.5
    assert recording.meta["now"] == 1771412400.0
    assert (recording.meta["version"], recording.meta["session"]) == ("2.1.45", "s")


def test_sidechains_in_a_main_file_are_left_out(file: File) -> None:
    file.user("go")
    file.user("sub-agent prompt", isSidechain=True)
    file.assistant("s1", text("sub-agent"), isSidechain=True)
    file.assistant("m1", text("main"))
    assert words(file.read()) == ["go", "main"]


def test_a_file_that_is_all_sidechain_is_read_as_its_own_conversation(file: File) -> None:
    file.user("task", isSidechain=True, agentId="a1b2")
    file.assistant("s1", text("report"), isSidechain=True, agentId="a1b2")
    recording = file.read()
    assert words(recording) == ["task", "report"]
    assert recording.meta["agent"] == "a1b2"


def test_a_repeated_uuid_is_read_once(file: File) -> None:
    first = file.user("go")
    file.assistant("m1", text("yes"))
    file.user("go", uuid=first)
    recording = file.read()
    assert words(recording) == ["go", "yes"]
    assert recording.meta["repeated"] == 1


def test_client_made_error_messages_are_left_out(file: File) -> None:
    file.user("go")
    file.assistant("e1", text("API Error: 529"), isApiErrorMessage=True, model="<synthetic>")
    file.assistant("e2", text("No response requested."), model="<synthetic>")
    file.assistant("m1", text("yes"))
    recording = file.read()
    assert words(recording) == ["go", "yes"]
    assert recording.live.model == MODEL


def test_records_that_never_reach_the_model_are_left_out_without_a_problem(file: File) -> None:
    file.lines.append(json.dumps({"type": "summary", "summary": "A title", "leafUuid": "x"}))
    file.lines.append(json.dumps({"type": "file-history-snapshot", "messageId": "x", "snapshot": {}}))
    file.lines.append(json.dumps({"type": "queue-operation", "operation": "enqueue", "content": "later"}))
    file.user("go", futureField={"a": [1]})
    file.record("system", subtype="turn_duration", durationMs=5)
    file.record("hologram", message={"role": "user", "content": "unknown type"})
    file.assistant("m1", text("yes"))
    recording = file.read()
    assert words(recording) == ["go", "yes"]
    assert recording.problems == ()


def test_unknown_blocks_and_keys_pass_untouched(file: File) -> None:
    file.user("go")
    strange = {"type": "fallback", "detail": {"deep": [1, None]}}
    used = call("a") | {"caller": {"type": "direct"}}
    file.assistant("m1", strange, used)
    file.result("a", [{"type": "tool_reference", "tool_name": "X"}])
    messages = file.read().live.messages
    assert messages[1]["content"] == [strange, used]
    assert messages[2]["content"][0]["content"] == [{"type": "tool_reference", "tool_name": "X"}]


def test_blank_texts_are_dropped_also_inside_results(file: File) -> None:
    file.user("go")
    file.assistant("m1", text(" \n"))
    file.assistant("m1", call("a"))
    file.result("a", [text(""), text("kept")])
    file.user("   ")
    file.user([text("")])
    messages = file.read().live.messages
    assert messages[1]["content"] == [call("a")]
    assert messages[2]["content"][0]["content"] == [text("kept")]
    assert len(messages) == 3


def test_the_structured_twin_of_a_result_is_not_sent(file: File) -> None:
    file.user("go")
    file.assistant("m1", call("a"))
    file.result("a", "short", toolUseResult={"originalFile": "SECRET TWIN" * 10})
    assert "SECRET TWIN" not in json.dumps(file.read().live.messages)


def test_a_torn_last_line_is_a_problem_with_its_line_number(file: File) -> None:
    file.user("go")
    file.assistant("m1", text("yes"))
    recording = file.read(tail='{"type":"user","message":{"role":"us')
    assert words(recording) == ["go", "yes"]
    assert [(problem.line, "torn" in problem.message) for problem in recording.problems] == [(3, True)]


def test_lines_that_are_no_records_are_problems_and_cost_nothing_else(file: File) -> None:
    file.user("go")
    file.lines += ["not json", "42", '{"silly": "this"}', "", '{"type":"user","message":"error"}']
    file.record("user", message={"role": "user", "contents": []})
    file.assistant("m1", text("yes"))
    recording = file.read()
    assert words(recording) == ["go", "yes"]
    assert [problem.line for problem in recording.problems] == [2, 3, 4, 6, 7]
    assert all(problem.hint for problem in recording.problems)


def test_bytes_that_are_not_utf8_and_lone_surrogates_survive_as_far_as_they_can(file: File) -> None:
    file.user("go \ud83d end")
    file.assistant("m1", text("yes"))
    file.path.write_bytes("\n".join(file.lines).encode() + b'\n\n{"type":"user","uuid":"z","message":')
    with file.path.open("ab") as opened:
        opened.write(b'{"role":"user","content":"caf\xe9"}}\n')
    recording = read(file.path)
    assert words(recording) == ["go \ud83d end", "yes", "caf\ufffd"]
    assert [problem.line for problem in recording.problems] == [4]


def test_a_byte_order_mark_and_windows_line_ends_are_no_problem(file: File) -> None:
    file.user("go")
    file.assistant("m1", text("yes"))
    file.path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(file.lines).encode() + b"\r\n")
    recording = read(file.path)
    assert words(recording) == ["go", "yes"]
    assert recording.problems == ()


def test_nesting_no_parser_follows_is_a_problem_not_a_crash(file: File) -> None:
    file.user("go")
    file.assistant("m1", text("yes"))
    recording = file.read(tail='{"type":"user","message":' + "[" * 200_000 + "\n")
    assert words(recording) == ["go", "yes"]
    assert [problem.line for problem in recording.problems] == [3]


def test_an_unanswered_call_in_the_middle_is_a_problem_and_at_the_end_none(file: File) -> None:
    file.user("go")
    file.assistant("m1", call("a"))
    file.user("never mind")
    file.assistant("m2", call("b"))
    recording = file.read()
    assert [problem.message for problem in recording.problems] == ["call a was never answered"]


def test_a_second_result_yields_to_the_first_unless_that_is_the_error(file: File) -> None:
    file.user("go")
    file.assistant("m1", call("a"), call("b"))
    file.result("a", "failed", error=True)
    file.result("a", "worked")
    file.result("b", "one")
    file.result("b", "two")
    recording = file.read()
    assert [block["content"] for block in recording.live.messages[2]["content"]] == ["worked", "one"]
    assert len(recording.problems) == 2


def test_an_orphan_result_stays_and_is_named(file: File) -> None:
    file.user("go")
    file.result("nowhere", "lost?")
    recording = file.read()
    assert words(recording) == ["go", "lost?"]
    assert origins(recording) == ["user", "tool"]
    assert "nowhere" in recording.problems[0].message


@pytest.mark.parametrize(
    ("beside", "origin"),
    [
        (text("beside"), "user"),
        (text("<system-reminder>note</system-reminder>"), "reminder"),
        ({"type": "image", "source": {}}, "context"),
    ],
)
def test_what_stands_beside_results_comes_behind_them_with_its_own_origin(
    file: File, beside: dict[str, Any], origin: str
) -> None:
    file.user("go")
    file.assistant("m1", call("a"))
    file.user([beside, {"type": "tool_result", "tool_use_id": "a", "content": "x"}])
    recording = file.read()
    assert origins(recording) == ["user", "assistant", "tool", origin]
    assert recording.live.messages[3]["content"] == [beside]


@pytest.mark.parametrize(
    ("content", "fields", "origin"),
    [
        ("please fix it", {}, "user"),
        ("please fix it", {"origin": {"kind": "human"}, "promptSource": "sdk"}, "user"),
        ("[Request interrupted by user] is what I saw", {"origin": {"kind": "human"}}, "user"),
        (
            "<task-notification>done</task-notification>",
            {"origin": {"kind": "task-notification"}},
            "reminder",
        ),
        ("<task-notification>done</task-notification>", {}, "reminder"),
        ("Base directory for this skill: /x", {"isMeta": True, "sourceToolUseID": "t"}, "context"),
        ("<system-reminder>note</system-reminder>", {"isMeta": True}, "reminder"),
        ([text("[Request interrupted by user for tool use]")], {}, "context"),
        ("<local-command-stdout>Bye!</local-command-stdout>", {}, "context"),
        ("<bash-input>git pull</bash-input>", {}, "context"),
        ("<command-message>review</command-message>\n<command-name>/review</command-name>", {}, "command"),
        ("All is well so far", {"isCompactSummary": True}, "summary"),
    ],
)
def test_user_records_get_their_origin_from_fields_first(
    file: File, content: Any, fields: dict[str, Any], origin: str
) -> None:
    file.user("first")
    file.user(content, **fields)
    recording = file.read()
    where = recording.live.info[0 if origin == "summary" else 1]
    assert where is not None
    assert where.origin == origin


def test_a_slash_command_the_client_answers_itself_is_context(file: File) -> None:
    file.user("<local-command-caveat>Caveat</local-command-caveat>", isMeta=True)
    file.user("<command-name>/model</command-name>")
    file.user("<local-command-stdout>Set model</local-command-stdout>")
    file.user("<command-name>/cost</command-name>")
    file.user("<local-command-stdout>1 $</local-command-stdout>")
    file.user("<command-name>/review</command-name>")
    file.user("The text of the command.", isMeta=True)
    assert origins(file.read()) == ["context"] * 5 + ["command", "context"]


def test_live_begins_with_the_summary_and_history_has_everything_but_it(file: File) -> None:
    file.user("old")
    file.assistant("m1", text("old answer"))
    file.boundary(trigger="manual", postTokens=9)
    file.summary()
    file.user("<local-command-caveat>Caveat</local-command-caveat>", isMeta=True)
    file.user("<command-name>/compact</command-name>")
    file.assistant("m2", text("new answer"))
    recording = file.read()
    assert words(recording)[0] == "This is what happened."
    assert origins(recording) == ["summary", "context", "context", "assistant"]
    assert words(recording, live=False)[:2] == ["old", "old answer"]
    assert "This is what happened." not in words(recording, live=False)
    (boundary,) = recording.meta["boundaries"]
    assert (boundary.kind, boundary.trigger, boundary.pre_tokens, boundary.post_tokens) == (
        "compact",
        "manual",
        167_100,
        9,
    )
    assert boundary.position == 2


def test_only_the_last_of_several_boundaries_counts(file: File) -> None:
    for number in range(3):
        file.user(f"q{number}")
        file.assistant(f"m{number}", text(f"a{number}"))
        file.boundary()
        file.summary(f"summary {number}")
    file.user("last")
    recording = file.read()
    assert words(recording) == ["summary 2", "last"]
    assert words(recording, live=False) == ["q0", "a0", "q1", "a1", "q2", "a2", "last"]
    assert [boundary.position for boundary in recording.meta["boundaries"]] == [2, 4, 6]


def test_without_a_compaction_live_is_history(file: File) -> None:
    file.user("go")
    recording = file.read()
    assert recording.live is recording.history


def test_preserved_messages_stand_between_summary_and_rest(file: File) -> None:
    file.user("old")
    file.assistant("m1", text("gone"))
    asked = file.user("kept question")
    file.assistant("m2", text("looking"))
    used = file.assistant("m2", call("a"))
    answered = file.result("a", "kept result")
    uuids = [asked, used, answered]
    file.boundary(preservedMessages={"anchorUuid": "sum", "uuids": uuids, "allUuids": uuids})
    file.record("user", uuid="sum", message={"role": "user", "content": "summary"}, isCompactSummary=True)
    file.attachment(type="compact_file_reference", filename="/big.py", displayPath="big.py")
    file.assistant("m3", text("on"))
    recording = file.read()
    assert origins(recording) == ["summary", "user", "assistant", "tool", "reminder", "assistant"]
    assert recording.live.messages[2]["content"] == [text("looking"), call("a")]
    assert len(recording.history.messages) == 7
    assert recording.problems == ()


def test_a_preserved_segment_is_followed_from_tail_to_head(file: File) -> None:
    file.user("old")
    head = file.user("kept question")
    file.record("progress", data={})
    tail = file.assistant("m2", text("kept answer"))
    file.boundary(preservedSegment={"headUuid": head, "anchorUuid": "sum", "tailUuid": tail})
    file.record("user", uuid="sum", message={"role": "user", "content": "summary"}, isCompactSummary=True)
    file.last = tail
    file.user("<local-command-caveat>Caveat</local-command-caveat>", isMeta=True)
    file.user("go on")
    recording = file.read()
    assert words(recording) == [
        "summary",
        "kept question",
        "kept answer",
        "<local-command-caveat>Caveat</local-command-caveat>",
        "go on",
    ]
    assert words(recording, live=False)[:3] == ["old", "kept question", "kept answer"]


def test_a_prompt_below_a_preserved_message_is_no_rewind_over_the_compaction(file: File) -> None:
    file.user("old")
    kept = file.assistant("m1", text("kept"))
    file.boundary(preservedMessages={"anchorUuid": "sum", "uuids": [kept]})
    file.record("user", uuid="sum", message={"role": "user", "content": "summary"}, isCompactSummary=True)
    file.assistant("m2", text("after"))
    file.last = kept
    file.user("next")
    recording = file.read()
    assert words(recording) == ["summary", "kept", "after", "next"]
    assert recording.problems == ()


def test_preserved_records_written_anew_behind_the_summary_are_in_the_live_context_once(file: File) -> None:
    file.user("old")
    file.assistant("m1", text("kept"), uuid="keep")
    file.boundary()
    file.summary("summary")
    file.assistant("m1", text("kept"), uuid="keep")
    file.user("next")
    recording = file.read()
    assert words(recording) == ["summary", "kept", "next"]
    assert words(recording, live=False) == ["old", "kept", "next"]


def test_preserved_messages_that_are_in_another_file_are_a_problem(file: File) -> None:
    file.user("old")
    file.boundary(preservedMessages={"anchorUuid": "x", "uuids": ["elsewhere"]})
    file.summary("summary")
    recording = file.read()
    assert words(recording) == ["summary"]
    assert "not in the file" in recording.problems[0].message


def test_a_resumed_file_may_begin_with_a_boundary(file: File) -> None:
    file.boundary()
    file.summary("summary")
    file.assistant("m1", text("on"))
    recording = file.read()
    assert words(recording) == ["summary", "on"]
    assert words(recording, live=False) == ["on"]
    assert "another file" in recording.problems[0].message


def test_a_summary_whose_boundary_is_lost_still_starts_the_live_context(file: File) -> None:
    file.user("old")
    file.assistant("m1", text("old answer"))
    file.summary("summary")
    file.user("new")
    recording = file.read()
    assert words(recording) == ["summary", "new"]
    assert "without a boundary" in recording.problems[0].message


def test_microcompacted_results_are_cleared_in_live_and_whole_in_history(file: File) -> None:
    file.user("go")
    file.assistant("m1", call("a"), call("b"))
    file.result("a", "long ago")
    file.result("b", "recent")
    metadata = {"trigger": "auto", "preTokens": 60_000, "compactedToolIds": ["a"]}
    file.record("system", subtype="microcompact_boundary", microcompactMetadata=metadata)
    file.assistant("m2", text("on"))
    recording = file.read()
    assert [block["content"] for block in recording.live.messages[2]["content"]] == [CLEARED, "recent"]
    assert [block["content"] for block in recording.history.messages[2]["content"]] == ["long ago", "recent"]
    (boundary,) = recording.meta["boundaries"]
    assert (boundary.kind, boundary.cleared) == ("microcompact", ("a",))


def test_a_rewind_leaves_the_abandoned_branch_out_and_says_so(file: File) -> None:
    file.user("go")
    kept = file.assistant("m1", text("kept answer"))
    file.user("wrong turn")
    file.assistant("m2", call("a"))
    file.result("a")
    file.last = kept
    file.user("right turn")
    file.assistant("m3", text("good"))
    recording = file.read()
    assert words(recording) == ["go", "kept answer", "right turn", "good"]
    (problem,) = recording.problems
    assert (problem.line, "lines 3-5" in problem.message) == (6, True)


def test_parallel_calls_that_zig_zag_through_the_chain_are_no_rewind(file: File) -> None:
    file.user("go")
    first = file.assistant("m1", call("a"))
    second = file.assistant("m1", call("b"))
    file.last = second
    file.result("b", "b")
    file.last = first
    after = file.result("a", "a")
    file.last = second
    file.attachment(type="task_reminder", content=[])
    file.last = after
    file.user("next")
    recording = file.read()
    assert recording.problems == ()
    assert len(recording.live.messages) == 5


def test_an_unanswered_prompt_beside_another_is_kept(file: File) -> None:
    kept = file.assistant("m1", text("hello"))
    file.user("typed while it worked")
    file.last = kept
    file.user("typed again")
    assert words(file.read()) == ["hello", "typed while it worked", "typed again"]


def test_progress_records_in_the_chain_are_no_rewind(file: File) -> None:
    file.user("go")
    file.assistant("m1", text("yes"))
    file.record("progress", data={})
    file.record("system", subtype="stop_hook_summary")
    file.user("next")
    recording = file.read()
    assert recording.problems == ()
    assert words(recording) == ["go", "yes", "next"]


def test_a_file_in_which_no_response_names_a_model_says_so_last(file: File) -> None:
    file.user("go")
    recording = file.read(tail="oops\n")
    assert recording.live.model == ""
    assert [problem.line for problem in recording.problems] == [2, 0]


def test_the_model_is_that_of_the_last_response_of_the_live_context(file: File) -> None:
    file.user("go")
    file.assistant("m1", text("a"), model="claude-old")
    file.boundary()
    file.summary()
    recording = file.read()
    assert recording.live.model == "claude-old"
    file.assistant("m2", text("b"), model="claude-new")
    recording = file.read()
    assert recording.live.model == "claude-new"
    assert recording.meta["models"] == ("claude-old", "claude-new")


def test_a_file_without_messages_is_unreadable(file: File) -> None:
    file.lines.append(json.dumps({"type": "summary", "summary": "A title", "leafUuid": "x"}))
    with pytest.raises(Unreadable, match="no message"):
        file.read()
