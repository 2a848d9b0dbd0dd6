"""Host facts as a Claude Code session file shows them: what its client told the model, and what it kept.

Newer clients record state changes as attachments; older ones only leave calls, results and flags on user
records. A record that an attachment tells has that message's id as ``told``: as long as the view shows the
message, nothing has to be told again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ..facts import TOLD

Raw = Mapping[str, Any]

_SKILL_BODY = "Base directory for this skill:"
_COMMAND_NAME = re.compile(r"<command-name>/?([^<]+)</command-name>")
_TASK_NUMBER = re.compile(r"[Tt]ask #(\d+)")
_NOTICE = "<task-notification>"
_NOTICES = (_NOTICE, '{"task_id"')
"""Beginnings of the client's own notices; older clients queue them as JSON."""
_AGENT_OUTPUT = frozenset({"TaskOutput", "AgentOutputTool", "AgentOutput"})


class Gathered:
    """The state a session file ends in, record by record; ``facts`` gives it as keywords of ``Facts``."""

    def __init__(self) -> None:
        self._single: dict[str, Any] = {}
        self._named: dict[str, dict[str, dict[str, Any]]] = {}
        self._tasks: dict[str, dict[str, Any]] | None = None
        self._queue: list[str] | None = None
        self._calls: dict[str, tuple[str, Raw]] = {}
        self._command: tuple[str | None, str] = (None, "")

    def take(self, record: Raw) -> None:
        """Take one record of the conversation, in file order; one that is odd tells nothing."""
        kind = record.get("type")
        attachment = record.get("attachment")
        if kind == "attachment" and isinstance(attachment, dict):
            handler = _ATTACHMENTS.get(_text(attachment, "type"))
            if handler is not None:
                handler(self, attachment, _text(record, "uuid"))
        elif kind == "queue-operation":
            self._queued(record)
        elif kind == "system" and record.get("subtype") == "compact_boundary":
            self._compacted(record)
        elif kind in ("user", "assistant"):
            message = record.get("message")
            content = message.get("content") if isinstance(message, dict) else None
            if kind == "assistant":
                self._called(content)
            else:
                self._said(record, content)

    def facts(self) -> dict[str, Any]:
        """Keywords of ``Facts``; a fact the file tells nothing of is missing, one it tells is over is empty."""
        found: dict[str, Any] = {name: [value] if value else [] for name, value in self._single.items()}
        found.update({name: list(records.values()) for name, records in self._named.items()})
        if self._tasks is not None:
            found["todos"] = [{"items": list(self._tasks.values())}] if self._tasks else []
        if self._queue is not None:
            # The client's own notices wait in the same queue; the user has not written them.
            found["queued_commands"] = [{"text": text} for text in self._queue if not _is_notice(text)]
        return found

    # --- the shapes all facts share

    def _put(self, fact: str, key: str, told: str, /, **fields: Any) -> None:
        """A record by its main field; the newest goes last."""
        records = self._named.setdefault(fact, {})
        known = {field: value for field, value in fields.items() if value != ""}
        record = {**records.pop(key, {}), **known}
        records[key] = {**record, TOLD: told} if told else record

    def _drop(self, fact: str, names: list[str]) -> None:
        records = self._named.setdefault(fact, {})
        for name in names:
            records.pop(name, None)

    # --- attachments

    def date(self, attachment: Raw, told: str) -> None:
        new = _text(attachment, "newDate")
        if new:
            self._single["date"] = {"date": new, TOLD: told}

    def plan_mode(self, attachment: Raw, told: str) -> None:
        mode = "sparse" if attachment.get("reminderType") == "sparse" else "full"
        path = _text(attachment, "planFilePath")
        self._single["plan_mode"] = {"mode": mode, **({"path": path} if path else {}), TOLD: told}

    def plan_mode_over(self, attachment: Raw, told: str) -> None:
        self._single["plan_mode"] = None

    def plan_file(self, attachment: Raw, told: str) -> None:
        text, path = _text(attachment, "planContent"), _text(attachment, "planFilePath")
        if text:
            self._single["plan"] = {"text": text, **({"path": path} if path else {}), TOLD: told}

    def memory(self, attachment: Raw, told: str) -> None:
        path, content = _text(attachment, "path"), attachment.get("content")
        text = _text(content, "content") if isinstance(content, dict) else content
        if path and isinstance(text, str):
            self._put("nested_memory", path, told, path=path, text=text)

    def tools(self, attachment: Raw, told: str) -> None:
        self._drop("deferred_tools", _texts(attachment, "removedNames"))
        for name in _texts(attachment, "addedNames") + _texts(attachment, "readdedNames"):
            self._put("deferred_tools", name, told, name=name)

    def agent_types(self, attachment: Raw, told: str) -> None:
        self._drop("agent_listing", _texts(attachment, "removedTypes"))
        lines = _texts(attachment, "addedLines")
        for name in _texts(attachment, "addedTypes"):
            line = next((one for one in lines if one.lstrip("- ").startswith(f"{name}:")), "")
            about = line.lstrip("- ")[len(name) + 1 :].strip()
            self._put("agent_listing", name, told, name=name, description=about)

    def servers(self, attachment: Raw, told: str) -> None:
        self._drop("mcp_instructions", _texts(attachment, "removedNames"))
        names, blocks = _texts(attachment, "addedNames"), _texts(attachment, "addedBlocks")
        for at, name in enumerate(names):
            text = blocks[at] if len(blocks) == len(names) else ""
            self._put("mcp_instructions", name, told, name=name, text=text)

    def skills(self, attachment: Raw, told: str) -> None:
        listed = attachment.get("skills")
        for skill in listed if isinstance(listed, list) else ():
            if isinstance(skill, dict) and _text(skill, "name") and _text(skill, "content"):
                name = _text(skill, "name")
                self._put("skills", name, told, name=name, text=_text(skill, "content"))

    def reminded(self, attachment: Raw, told: str) -> None:
        content = attachment.get("content")
        if isinstance(content, list):
            self._list(content)

    def hook(self, attachment: Raw, told: str) -> None:
        name, text = _text(attachment, "hookName"), _text(attachment, "content")
        if attachment.get("hookEvent") == "SessionStart" and text.strip():
            self._put("hook_results", name, told, name=name, text=text)

    # --- calls, results, and what stands on user records

    def _called(self, content: Any) -> None:
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and block.get("type") == "tool_use":
                given = block.get("input")
                name = str(block.get("name"))
                self._calls[str(block.get("id"))] = (name, given if isinstance(given, dict) else {})
                self._read_output(name, given if isinstance(given, dict) else {})

    def _said(self, record: Raw, content: Any) -> None:
        words = content if isinstance(content, str) else _first_text(content)
        if "permissionMode" in record:
            self._planning(record.get("permissionMode") == "plan")
        todos = record.get("todos")
        if isinstance(todos, list) and (todos or self._tasks is None):
            # Clients with single tasks write an empty list here whatever the tasks are.
            self._list(todos)
        if words.lstrip().startswith(_NOTICE):
            self._notice(words)
        command = _COMMAND_NAME.search(words[:500])
        if command is not None and record.get("isMeta") is not True:
            self._command = (_text(record, "uuid") or None, command[1].strip())
        if record.get("isMeta") is True:
            self._meta(record, words)
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and block.get("type") == "tool_result":
                self._answered(block, record.get("toolUseResult"))

    def _meta(self, record: Raw, words: str) -> None:
        """The body of a skill stands in the client's own message behind its launch."""
        name = ""
        tool, given = self._calls.get(_text(record, "sourceToolUseID"), ("", {}))
        if tool == "Skill":
            name = _text(given, "skill") or _text(given, "command")
        elif words.startswith(_SKILL_BODY):
            parent, command = self._command
            behind = parent is not None and record.get("parentUuid") == parent
            folder = words[len(_SKILL_BODY) :].splitlines()[0].strip()
            name = command if behind else re.split(r"[/\\]", folder.rstrip("/\\"))[-1]
        if name and words.strip():
            self._put("skills", name, _text(record, "uuid"), name=name, text=words)

    def _answered(self, block: Raw, twin: Any) -> None:
        tool, given = self._calls.get(str(block.get("tool_use_id")), ("", {}))
        parts = block.get("content")
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict) and part.get("type") == "tool_reference" and _text(part, "tool_name"):
                self._put("loaded_tools", _text(part, "tool_name"), "", name=_text(part, "tool_name"))
        if block.get("is_error") is True:
            return
        twin = twin if isinstance(twin, dict) else {}
        if tool == "EnterPlanMode":
            self._planning(True)
        elif tool == "ExitPlanMode":
            self._planning(False)
            plan = _text(given, "plan") or _text(twin, "plan")
            if plan:
                path = _text(twin, "filePath")
                self._single["plan"] = {"text": plan, **({"path": path} if path else {})}
        elif tool == "TodoWrite" and isinstance(given.get("todos"), list):
            self._list(given["todos"])
        elif tool in ("TaskCreate", "TaskUpdate"):
            self._task(tool, given, twin, _first_text(parts) or str(parts))
        elif twin.get("isAsync") is True and _text(twin, "agentId"):
            name = _text(twin, "agentId")
            about, output = _text(twin, "description"), _text(twin, "outputFile")
            self._put("agents", name, "", id=name, description=about, status="running", output_path=output)

    def _planning(self, on: bool) -> None:
        if on and not self._single.get("plan_mode"):
            self._single["plan_mode"] = {"mode": "full"}
        elif not on:
            self._single["plan_mode"] = None

    # --- the task list

    def _list(self, items: list[Any]) -> None:
        """A list that takes the place of the one before."""
        self._tasks = {
            str(item.get("id", at)): dict(item) for at, item in enumerate(items) if isinstance(item, dict)
        }

    def _task(self, tool: str, given: Raw, twin: Raw, answer: str) -> None:
        tasks = self._tasks if self._tasks is not None else {}
        self._tasks = tasks
        fields = {key: given[key] for key in ("subject", "status") if isinstance(given.get(key), str)}
        if tool == "TaskCreate":
            made = twin.get("task")
            number = _TASK_NUMBER.search(answer)
            name = str(made["id"]) if isinstance(made, dict) and "id" in made else number[1] if number else ""
            if name:
                tasks[name] = {"id": name, "status": "pending", **fields}
            return
        name = str(given.get("taskId"))
        if given.get("status") == "deleted":
            tasks.pop(name, None)
        elif name in tasks:
            tasks[name] = {**tasks[name], **fields}

    # --- background agents and the queue

    def _notice(self, words: str) -> None:
        name, status = _tagged(words, "task-id"), _tagged(words, "status")
        if not name or name not in self._named.get("agents", {}):
            return
        state = "running" if status == "running" else "finished-unread"
        # A notice that brings the answer along leaves nothing to be read.
        state = "finished" if state == "finished-unread" and _tagged(words, "result") else state
        self._put("agents", name, "", status=state, output_path=_tagged(words, "output-file"))

    def _read_output(self, tool: str, given: Raw) -> None:
        name, path = _text(given, "task_id") or _text(given, "agentId"), _text(given, "file_path")
        for known, agent in self._named.get("agents", {}).items():
            asked = tool in _AGENT_OUTPUT and known == name
            opened = tool == "Read" and path != "" and path == agent.get("output_path")
            if (asked or opened) and agent.get("status") == "finished-unread":
                agent["status"] = "finished"

    def _queued(self, record: Raw) -> None:
        queue = self._queue if self._queue is not None else []
        self._queue = queue
        operation, content = record.get("operation"), record.get("content")
        if operation == "enqueue":
            if isinstance(content, str) and content.strip():
                queue.append(content)
        elif operation == "popAll":
            queue.clear()
        elif operation in ("dequeue", "remove") and queue:
            # What is removed went along in the middle of a turn: the user's words do, notices need not.
            spoken = (at for at, text in enumerate(queue) if not _is_notice(text))
            first = next(spoken, 0) if operation == "remove" else 0
            queue.pop(queue.index(content) if content in queue else first)

    def _compacted(self, record: Raw) -> None:
        """A compaction forgets which memory files were loaded, and says which tools had been found."""
        self._named.pop("nested_memory", None)
        metadata = record.get("compactMetadata")
        for name in _texts(metadata, "preCompactDiscoveredTools") if isinstance(metadata, dict) else ():
            self._put("loaded_tools", name, "", name=name)


_ATTACHMENTS: Mapping[str, Callable[[Gathered, Raw, str], None]] = {
    "agent_listing_delta": Gathered.agent_types,
    "date_change": Gathered.date,
    "deferred_tools_delta": Gathered.tools,
    "hook_success": Gathered.hook,
    "invoked_skills": Gathered.skills,
    "mcp_instructions_delta": Gathered.servers,
    "nested_memory": Gathered.memory,
    "plan_file_reference": Gathered.plan_file,
    "plan_mode": Gathered.plan_mode,
    "plan_mode_exit": Gathered.plan_mode_over,
    "plan_mode_reentry": Gathered.plan_mode,
    "task_reminder": Gathered.reminded,
    "todo_reminder": Gathered.reminded,
}


def _text(record: Raw, key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else ""


def _texts(record: Raw, key: str) -> list[str]:
    value = record.get(key)
    return [one for one in value if isinstance(one, str) and one] if isinstance(value, list) else []


def _first_text(content: Any) -> str:
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "text":
            return _text(block, "text")
    return ""


def _tagged(words: str, tag: str) -> str:
    found = re.search(rf"<{tag}>(.*?)</{tag}>", words, re.DOTALL)
    return found[1].strip() if found else ""


def _is_notice(text: str) -> bool:
    return text.lstrip().startswith(_NOTICES)
