"""Host facts out of a session file: what its client told the model, and what it kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trimtab import Facts
from trimtab.readers import facts_of, read


class File:
    """A session file, written record by record; ids are counted."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records: list[dict[str, Any]] = []
        self.user("go")

    def add(self, kind: str, **fields: Any) -> str:
        uuid = f"u{len(self.records) + 1}"
        parent = self.records[-1]["uuid"] if self.records else None
        record = {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "isSidechain": False}
        self.records.append({**record, "timestamp": "2030-01-31T12:00:00Z", **fields})
        return uuid

    def user(self, text: Any, **fields: Any) -> str:
        return self.add("user", message={"role": "user", "content": text}, **fields)

    def attach(self, kind: str, **fields: Any) -> str:
        return self.add("attachment", attachment={"type": kind, **fields})

    def call(
        self, tool: str, given: dict[str, Any], answer: Any = "ok", failed: bool = False, twin: Any = None
    ) -> str:
        """A call with its result; returns the call's id."""
        number = f"t{len(self.records)}"
        use = {"type": "tool_use", "id": number, "name": tool, "input": given}
        model = {"role": "assistant", "model": "claude-sonnet-4-5", "id": f"m{number}"}
        self.add("assistant", message={**model, "content": [use]})
        result = {"type": "tool_result", "tool_use_id": number, "content": answer, "is_error": failed}
        self.user([result], **({} if twin is None else {"toolUseResult": twin}))
        return number

    def queue(self, operation: str, content: str | None = None) -> None:
        self.add("queue-operation", operation=operation, **({} if content is None else {"content": content}))

    def facts(self) -> dict[str, Any]:
        self.path.write_text("".join(json.dumps(one) + "\n" for one in self.records), encoding="utf-8")
        found = facts_of(read(self.path))
        Facts(**found)
        return found


@pytest.fixture
def file(tmp_path: Path) -> File:
    return File(tmp_path / "session.jsonl")


def test_a_file_without_state_gives_its_time_and_caller_and_nothing_else(file: File) -> None:
    file.call("Bash", {"command": "ls"})
    assert file.facts() == {"now": 1896091200.0, "caller": "main"}


def test_deltas_add_up_and_name_the_message_that_told_them(file: File) -> None:
    file.attach("deferred_tools_delta", addedNames=["A", "B"], removedNames=[])
    second = file.attach("deferred_tools_delta", addedNames=["C"], removedNames=["A"], readdedNames=["B"])
    assert file.facts()["deferred_tools"] == [{"name": "C", "told": second}, {"name": "B", "told": second}]


def test_agents_and_servers_come_with_what_is_said_of_them(file: File) -> None:
    one = file.attach(
        "agent_listing_delta", addedTypes=["plan", "a:b"], addedLines=["- a:b: reads", "- plan: draws up"]
    )
    two = file.attach("mcp_instructions_delta", addedNames=["docs"], addedBlocks=["## docs\nAsk it."])
    facts = file.facts()
    assert facts["agent_listing"] == [
        {"name": "plan", "description": "draws up", "told": one},
        {"name": "a:b", "description": "reads", "told": one},
    ]
    assert facts["mcp_instructions"] == [{"name": "docs", "text": "## docs\nAsk it.", "told": two}]
    file.attach("mcp_instructions_delta", addedNames=[], removedNames=["docs"])
    assert file.facts()["mcp_instructions"] == []


def test_memory_files_are_those_loaded_since_the_last_compaction(file: File) -> None:
    file.attach("nested_memory", path="/old.md", content={"path": "/old.md", "content": "Old."})
    file.add("system", subtype="compact_boundary", compactMetadata={"preCompactDiscoveredTools": ["Web"]})
    file.user("Summary.", isCompactSummary=True)
    told = file.attach("nested_memory", path="/new.md", content={"content": "Use tabs."})
    facts = file.facts()
    assert facts["nested_memory"] == [{"path": "/new.md", "text": "Use tabs.", "told": told}]
    assert facts["loaded_tools"] == [{"name": "Web"}]


def test_the_date_and_the_plan_mode_are_the_newest(file: File) -> None:
    file.attach("date_change", newDate="2030-01-30")
    date = file.attach("date_change", newDate="2030-01-31")
    file.attach("plan_mode", reminderType="full", planFilePath="/p.md")
    mode = file.attach("plan_mode", reminderType="sparse", planFilePath="/p.md")
    facts = file.facts()
    assert facts["date"] == [{"date": "2030-01-31", "told": date}]
    assert facts["plan_mode"] == [{"mode": "sparse", "path": "/p.md", "told": mode}]


def test_older_clients_tell_the_plan_mode_by_flags_and_calls(file: File) -> None:
    file.user("think", permissionMode="plan")
    assert file.facts()["plan_mode"] == [{"mode": "full"}]
    file.call("ExitPlanMode", {"plan": "1. no"}, failed=True)
    assert file.facts()["plan_mode"] == [{"mode": "full"}]
    assert "plan" not in file.facts()
    file.call("ExitPlanMode", {"plan": "1. yes"})
    assert (file.facts()["plan_mode"], file.facts()["plan"]) == ([], [{"text": "1. yes"}])
    file.call("EnterPlanMode", {})
    assert file.facts()["plan_mode"] == [{"mode": "full"}]
    file.user("do it", permissionMode="acceptEdits")
    assert file.facts()["plan_mode"] == []


def test_the_body_of_a_skill_is_the_clients_message_behind_its_launch(file: File) -> None:
    call = file.call("Skill", {"skill": "review"}, "Launching skill: review")
    told = file.user("# Review\nRead twice.", isMeta=True, sourceToolUseID=call)
    assert file.facts()["skills"] == [{"name": "review", "text": "# Review\nRead twice.", "told": told}]


def test_a_skill_called_by_the_user_is_known_by_the_command_or_by_its_folder(file: File) -> None:
    file.user("<command-message>x</command-message>\n<command-name>/tidy:up</command-name>")
    file.user("Base directory for this skill: /home/u/skills/up\n\nTidy.", isMeta=True)
    file.user("more")
    file.user("Base directory for this skill: C:\\u\\skills\\sweep\n\nSweep.", isMeta=True)
    file.user("<local-command-caveat>Caveat</local-command-caveat>", isMeta=True)
    assert [one["name"] for one in file.facts()["skills"]] == ["tidy:up", "sweep"]


def test_skills_a_compaction_brought_back_are_taken_from_its_attachment(file: File) -> None:
    told = file.attach("invoked_skills", skills=[{"name": "s", "content": "Body."}, {"name": "no"}])
    assert file.facts()["skills"] == [{"name": "s", "text": "Body.", "told": told}]


def test_the_task_list_is_the_newest_whole_one(file: File) -> None:
    file.call("TodoWrite", {"todos": [{"content": "a", "status": "pending"}]})
    file.user("next", todos=[{"content": "b", "status": "pending"}])
    assert file.facts()["todos"] == [{"items": [{"content": "b", "status": "pending"}]}]
    file.attach("task_reminder", content=[], itemCount=0)
    assert file.facts()["todos"] == []


def test_single_tasks_are_followed_from_call_to_call(file: File) -> None:
    file.call("TaskCreate", {"subject": "write"}, twin={"task": {"id": "1"}})
    file.call("TaskCreate", {"subject": "test"}, "Task #2 created successfully: test")
    file.call("TaskCreate", {"subject": "never"}, "no", failed=True)
    file.call("TaskUpdate", {"taskId": "1", "status": "completed"})
    file.call("TaskUpdate", {"taskId": "7", "status": "completed"})
    file.user("next", todos=[])
    assert file.facts()["todos"][0]["items"] == [
        {"id": "1", "status": "completed", "subject": "write"},
        {"id": "2", "status": "pending", "subject": "test"},
    ]
    file.call("TaskUpdate", {"taskId": "2", "status": "deleted"})
    assert [one["id"] for one in file.facts()["todos"][0]["items"]] == ["1"]


def test_background_agents_run_until_their_notice_comes_and_are_read_by_a_call(file: File) -> None:
    twin = {"isAsync": True, "agentId": "a1", "description": "look", "outputFile": "/out/a1"}
    agent = {"id": "a1", "description": "look", "output_path": "/out/a1"}
    file.call("Task", {"prompt": "x"}, twin=twin)
    assert file.facts()["agents"] == [{**agent, "status": "running"}]
    notice = "<task-notification>\n<task-id>a1</task-id>\n<status>completed</status>{}</task-notification>"
    file.user(notice.format(""))
    assert file.facts()["agents"] == [{**agent, "status": "finished-unread"}]
    file.call("TaskOutput", {"task_id": "a1"})
    assert file.facts()["agents"] == [{**agent, "status": "finished"}]
    file.call("Task", {"prompt": "x"}, twin={**twin, "agentId": "a2"})
    file.user(notice.replace("a1", "a2").format("<result>It is fine.</result>"))
    assert [one["status"] for one in file.facts()["agents"]] == ["finished", "finished"]


def test_what_waits_in_the_queue_is_what_the_user_typed_ahead(file: File) -> None:
    notice = "<task-notification>x</task-notification>"
    for text in ('{"task_id":"b1"}', notice, "first", "second", "third"):
        file.queue("enqueue", text)
    file.queue("remove")
    assert file.facts()["queued_commands"] == [{"text": "second"}, {"text": "third"}]
    file.queue("remove", "third")
    assert file.facts()["queued_commands"] == [{"text": "second"}]
    file.queue("popAll")
    file.queue("dequeue")
    assert file.facts()["queued_commands"] == []


def test_what_a_hook_said_at_the_start_of_the_session_is_kept(file: File) -> None:
    told = file.attach(
        "hook_success", hookEvent="SessionStart", hookName="SessionStart:startup", content="Hi."
    )
    file.attach("hook_success", hookEvent="Stop", hookName="Stop", content="Bye.")
    assert file.facts()["hook_results"] == [{"name": "SessionStart:startup", "text": "Hi.", "told": told}]


def test_tools_found_by_a_search_are_loaded(file: File) -> None:
    file.call("ToolSearch", {"query": "web"}, [{"type": "tool_reference", "tool_name": "WebFetch"}])
    assert file.facts()["loaded_tools"] == [{"name": "WebFetch"}]


def test_sub_agents_in_the_file_are_not_the_main_thread(file: File) -> None:
    file.add("attachment", attachment={"type": "date_change", "newDate": "2030-02-01"}, isSidechain=True)
    assert "date" not in file.facts()


def test_a_sub_agents_own_file_gives_its_own_facts(tmp_path: Path) -> None:
    file = File(tmp_path / "agent-x.jsonl")
    file.attach("date_change", newDate="2030-02-01")
    file.records = [{**one, "isSidechain": True, "agentId": "x"} for one in file.records]
    facts = file.facts()
    assert facts["caller"] == "x"
    assert facts["date"][0]["date"] == "2030-02-01"


@pytest.mark.parametrize(
    "attachment",
    [
        {"type": "deferred_tools_delta", "addedNames": "A", "removedNames": None},
        {"type": "agent_listing_delta", "addedTypes": [1, None], "addedLines": {}},
        {"type": "mcp_instructions_delta", "addedNames": ["s"], "addedBlocks": []},
        {"type": "nested_memory", "path": 7, "content": None},
        {"type": "invoked_skills", "skills": "s"},
        {"type": "task_reminder", "content": "none"},
        {"type": "task_reminder", "content": [1, {"content": "x"}]},
        {"type": "date_change"},
        {"type": ["odd"]},
        {},
    ],
)
def test_odd_attachments_raise_nothing(file: File, attachment: dict[str, Any]) -> None:
    file.add("attachment", attachment=attachment)
    assert file.facts()["caller"] == "main"


@pytest.mark.corpus
def test_every_recorded_session_gives_facts(corpus: Path) -> None:
    known: set[str] = set()
    for path in sorted((corpus / "claude-code").rglob("*.jsonl")):
        found = facts_of(read(path))
        facts = Facts(**found)
        known |= {name for name in found if facts.records(name)}
        ids = {one.id for one in read(path).history.info if one is not None}
        told = [one["told"] for name in facts.named for one in facts.records(name) or () if "told" in one]
        assert set(told) <= ids, path
    assert known >= {"todos", "skills", "plan", "agents", "deferred_tools", "nested_memory", "hook_results"}
