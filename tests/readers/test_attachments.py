"""Attachment records: what of them is sent, and as whose words."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab.readers.claude_code_attachments import SILENT, WRITERS, rendered


@pytest.mark.parametrize(
    ("attachment", "expected"),
    [
        ({"type": "edited_text_file", "filename": "/a.py", "snippet": "1\tx"}, ["/a.py", "changed", "1\tx"]),
        ({"type": "compact_file_reference", "filename": "/big.py"}, ["/big.py", "too long"]),
        (
            {"type": "file", "filename": "/a.py", "content": {"type": "text", "file": {"content": "BODY"}}},
            ["/a.py", "BODY"],
        ),
        (
            {"type": "nested_memory", "path": "/m.md", "content": {"content": "RULE", "rawContent": "---"}},
            ["/m.md", "RULE"],
        ),
        (
            {"type": "task_reminder", "content": [{"subject": "Write", "status": "in_progress"}]},
            ["[in_progress] Write"],
        ),
        ({"type": "todo_reminder", "content": []}, ["empty"]),
        ({"type": "hook_additional_context", "content": ["one", "two"], "hookName": "H"}, ["H", "one\ntwo"]),
        ({"type": "hook_success", "content": "out", "hookName": "H"}, ["out"]),
        (
            {"type": "deferred_tools_delta", "addedNames": ["A"], "removedNames": ["B"]},
            ["A", "No longer", "B"],
        ),
        ({"type": "agent_listing_delta", "addedTypes": ["x"], "addedLines": ["- x: does"]}, ["- x: does"]),
        ({"type": "mcp_instructions_delta", "addedNames": ["c"], "addedBlocks": ["## c"]}, ["## c"]),
        ({"type": "skill_listing", "content": "- s: does"}, ["- s: does"]),
        ({"type": "invoked_skills", "skills": [{"name": "s", "content": "BODY"}]}, ["s", "BODY"]),
        ({"type": "date_change", "newDate": "2026-02-19"}, ["2026-02-19"]),
        ({"type": "plan_mode", "planFilePath": "/p.md"}, ["/p.md"]),
        ({"type": "brand_new", "value": 7}, ["brand_new", "7"]),
        ({"type": "file", "filename": "/a.py"}, ["file", "/a.py"]),
    ],
)
def test_an_attachment_becomes_a_reminder_with_its_content(
    attachment: dict[str, Any], expected: list[str]
) -> None:
    shown = rendered(attachment)
    assert shown is not None
    assert shown.origin == "reminder"
    assert isinstance(shown.content, str)
    assert shown.content.startswith("<system-reminder>\n")
    assert [part for part in expected if part not in shown.content] == []


@pytest.mark.parametrize("kind", sorted(SILENT))
def test_kinds_the_client_keeps_for_itself_are_not_sent(kind: str) -> None:
    assert rendered({"type": kind, "content": "x"}) is None


@pytest.mark.parametrize(
    "attachment",
    [
        {"type": "hook_success", "content": "", "stdout": "{}"},
        {"type": "hook_additional_context", "content": []},
        {"type": "deferred_tools_delta", "addedNames": [], "removedNames": []},
        {"type": "nested_memory", "path": "/m", "content": {"content": " "}},
        {"type": "queued_command", "prompt": "  "},
    ],
)
def test_an_attachment_without_content_is_not_sent(attachment: dict[str, Any]) -> None:
    assert rendered(attachment) is None


def test_a_queued_prompt_is_the_users_own_words() -> None:
    assert rendered({"type": "queued_command", "prompt": "also this", "commandMode": "prompt"}) == (
        "also this",
        "user",
    )


def test_a_queued_notification_is_a_reminder() -> None:
    shown = rendered({"type": "queued_command", "prompt": "done", "commandMode": "task-notification"})
    assert shown is not None
    assert shown.origin == "reminder"
    assert "done" in shown.content


def test_a_queued_prompt_with_an_image_keeps_its_blocks() -> None:
    blocks = [{"type": "text", "text": "see"}, {"type": "image", "source": {}}]
    assert rendered({"type": "queued_command", "prompt": blocks}) == (blocks, "user")


def test_an_attached_image_stays_an_image() -> None:
    content = {"type": "image", "file": {"base64": "AAAA", "type": "image/png"}}
    shown = rendered({"type": "file", "filename": "/a.png", "content": content})
    assert shown is not None
    assert shown.content[1] == {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"},
    }


@pytest.mark.parametrize("kind", sorted(WRITERS))
def test_an_attachment_of_a_known_kind_and_odd_shape_is_not_a_crash(kind: str) -> None:
    for content in (None, 7, [3], {"content": 4}, "x"):
        shown = rendered({"type": kind, "content": content, "skills": content, "snippet": content})
        assert shown is None or shown.content
