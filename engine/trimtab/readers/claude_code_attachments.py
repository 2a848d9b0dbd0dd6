"""Attachment records of Claude Code -> the text that went with them, in our words: theirs is not recorded."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Attachment = Mapping[str, Any]


class Shown(NamedTuple):
    """Content of the message an attachment becomes, and its origin."""

    content: str | list[dict[str, Any]]
    origin: str = "reminder"


SILENT = frozenset(
    {
        "auto_mode",
        "command_permissions",
        "dynamic_skill",
        "hook_cancelled",
        "hook_non_blocking_error",
        "hook_permission_decision",
        "hook_system_message",
    }
)
"""Kinds the client keeps for itself or shows to the user only."""


def rendered(attachment: Attachment) -> Shown | None:
    """What is sent for an attachment, None if nothing is. An unknown kind is sent as JSON: it may matter."""
    kind = attachment.get("type")
    if not isinstance(kind, str) or kind in SILENT:
        return None
    if kind == "queued_command":
        return _queued(attachment)
    if kind == "file" and (picture := _picture(attachment)):
        return Shown(picture)
    write = WRITERS.get(kind)
    try:
        text = write(attachment) if write else _unknown(attachment)
    except (AttributeError, KeyError, TypeError):
        text = _unknown(attachment)
    return Shown(f"<system-reminder>\n{text.strip()}\n</system-reminder>") if text.strip() else None


def _queued(attachment: Attachment) -> Shown | None:
    """A prompt typed while the model worked is the user's, in the user's words; a notification is not."""
    prompt = attachment.get("prompt")
    source = attachment.get("origin")
    spoken = source.get("kind") if isinstance(source, dict) else None
    human = attachment.get("commandMode", "prompt") == "prompt" and spoken in (None, "human")
    if isinstance(prompt, list):
        prompt = [block for block in prompt if isinstance(block, dict)]
        if prompt:
            return Shown(prompt, "user" if human else "reminder")
        return None
    if not isinstance(prompt, str):
        return Shown(f"<system-reminder>\n{_unknown(attachment)}\n</system-reminder>")
    if not prompt.strip():
        return None
    return (
        Shown(prompt, "user") if human else Shown(f"<system-reminder>\n{prompt.strip()}\n</system-reminder>")
    )


def _picture(attachment: Attachment) -> list[dict[str, Any]] | None:
    content = attachment.get("content")
    file = content.get("file") if isinstance(content, dict) else None
    if not isinstance(file, dict) or not isinstance(content, dict) or content.get("type") != "image":
        return None
    data, media = file.get("base64"), file.get("type")
    if not isinstance(data, str) or not isinstance(media, str):
        return None
    if "/" not in media:
        media = f"image/{media}"
    source = {"type": "base64", "media_type": media, "data": data}
    label = f"<system-reminder>\nThe image {_name(attachment)}:\n</system-reminder>"
    return [{"type": "text", "text": label}, {"type": "image", "source": source}]


def _unknown(attachment: Attachment) -> str:
    body = {key: value for key, value in attachment.items() if key != "type"}
    return f"{attachment.get('type')}: {json.dumps(body, ensure_ascii=False)}"


def _name(attachment: Attachment) -> str:
    for key in ("filename", "path", "displayPath"):
        value = attachment.get(key)
        if isinstance(value, str) and value:
            return value
    return "(no name)"


def _lines(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value] if value.strip() else []
    return (
        [item for item in value if isinstance(item, str) and item.strip()] if isinstance(value, list) else []
    )


def _body(value: Any) -> str:
    """The text inside a content that is a text, a list of texts or an object around one; else its JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(
            item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in value
        )
    if isinstance(value, dict):
        inner = value.get("file") if isinstance(value.get("file"), dict) else value
        if isinstance(inner, dict) and isinstance(inner.get("content"), str):
            return str(inner["content"])
        return json.dumps(value, ensure_ascii=False)
    return ""


def _file(attachment: Attachment) -> str:
    cut = " (its beginning)" if attachment.get("truncated") else ""
    return f"Contents of {_name(attachment)}{cut}:\n{_body(attachment['content'])}"


def _file_reference(attachment: Attachment) -> str:
    name = _name(attachment)
    return (
        f"{name} was read before the conversation was compacted and is too long to repeat; read it if needed."
    )


def _edited(attachment: Attachment) -> str:
    snippet = _body(attachment["snippet"])
    return f"{_name(attachment)} has changed on disk since it was read. The changed part:\n{snippet}"


def _memory(attachment: Attachment) -> str:
    content = _body(attachment["content"])
    return f"Project memory from {_name(attachment)}:\n{content}" if content.strip() else ""


def _tasks(attachment: Attachment) -> str:
    content = attachment.get("content")
    if not content:
        return "The task list has not been used for a while; it is empty."
    lines = []
    for item in content if isinstance(content, list) else [content]:
        if isinstance(item, dict):
            words = item.get("content") or item.get("subject") or item.get("description") or json.dumps(item)
            lines.append(f"- [{item.get('status', 'pending')}] {words}")
        else:
            lines.append(f"- {item}")
    return "The task list has not been used for a while. It reads:\n" + "\n".join(lines)


def _hook_context(attachment: Attachment) -> str:
    lines = _lines(attachment.get("content"))
    return f"Context from the hook {attachment.get('hookName', '')}:\n" + "\n".join(lines) if lines else ""


def _hook_success(attachment: Attachment) -> str:
    content = _body(attachment.get("content"))
    return f"Output of the hook {attachment.get('hookName', '')}:\n{content}" if content.strip() else ""


def _delta(what: str, added: str, removed: str) -> Callable[[Attachment], str]:
    def write(attachment: Attachment) -> str:
        parts = []
        new = _lines(attachment.get(added)) or _lines(attachment.get("addedNames")) + _lines(
            attachment.get("readdedNames")
        )
        if new:
            parts.append(f"Now available, {what}:\n" + "\n".join(new))
        gone = _lines(attachment.get(removed))
        if gone:
            parts.append(f"No longer available, {what}:\n" + "\n".join(gone))
        return "\n".join(parts)

    return write


def _skills(attachment: Attachment) -> str:
    content = _body(attachment.get("content"))
    return f"Skills that can be called:\n{content}" if content.strip() else ""


def _invoked(attachment: Attachment) -> str:
    return "\n\n".join(
        f"Skill {skill.get('name', '')}, in use in this conversation:\n{_body(skill.get('content'))}"
        for skill in attachment["skills"]
    )


def _date(attachment: Attachment) -> str:
    return f"The date is now {attachment['newDate']}."


def _plan(attachment: Attachment) -> str:
    content = attachment.get("planContent")
    where = attachment.get("planFilePath")
    if isinstance(content, str) and content.strip():
        return f"The plan in {where}:\n{content}"
    return (
        f"Plan mode is on: nothing may be changed but the plan in {where}." if where else _unknown(attachment)
    )


WRITERS: Mapping[str, Callable[[Attachment], str]] = {
    "agent_listing_delta": _delta("agents", "addedLines", "removedTypes"),
    "compact_file_reference": _file_reference,
    "date_change": _date,
    "deferred_tools_delta": _delta("tools that are loaded on demand", "addedLines", "removedNames"),
    "edited_text_file": _edited,
    "file": _file,
    "hook_additional_context": _hook_context,
    "hook_success": _hook_success,
    "invoked_skills": _invoked,
    "mcp_instructions_delta": _delta("servers with instructions", "addedBlocks", "removedNames"),
    "nested_memory": _memory,
    "plan_file_reference": _plan,
    "plan_mode": _plan,
    "skill_listing": _skills,
    "task_reminder": _tasks,
    "todo_reminder": _tasks,
}
