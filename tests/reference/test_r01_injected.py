"""Rows R1 to R4: what is stable, and what goes to the tail when it changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.reference.support import (
    ANSWER,
    Message,
    assistant,
    bodies,
    claude,
    round_of,
    rounds,
    run,
    shown,
    small,
    texts_of,
    user,
    verdict,
    words,
)

from trimtab import Engine
from trimtab.files import RootedFiles
from trimtab.session import Session

CHANGES: dict[str, tuple[Any, Any, str]] = {
    "queued_commands": ([], ["also look at the lock"], "also look at the lock"),
    "date": ("2026-03-01", "2026-03-02", "2026-03-02"),
    "plan_mode": ([], [{"mode": "full"}], "Plan mode is on"),
    "nested_memory": ([], [{"path": "/srv/db/NOTES.md", "text": "Tabs only."}], "Tabs only."),
    "changed_files": ([], [{"path": "/srv/a.py", "diff": "-old\n+new line"}], "+new line"),
    "deferred_tools": ([], ["mcp__db__query"], "mcp__db__query"),
    "agent_listing": ([], [{"name": "scout", "description": "looks around"}], "scout: looks around"),
    "mcp_instructions": ([], [{"name": "db", "text": "Read only."}], "Read only."),
}
"""Fact, before and after a change, and what the model must then be told."""


def talk() -> list[Message]:
    return [user("Find the leak."), *rounds(3)]


# --- R1


def test_r01_what_changes_goes_to_the_tail_and_the_prefix_keeps_its_bytes() -> None:
    session = claude().session()
    messages = talk()
    before = {name: first for name, (first, _, _) in CHANGES.items()}
    after = {name: second for name, (_, second, _) in CHANGES.items()}
    first = run(session, messages, "session_start", system="You help.", **before)
    first = run(session, messages, system="You help.", **before)
    messages += rounds(1, start=3)
    second = run(session, messages, system="You help.", **after)
    prefix = shown(first)
    assert shown(second)[: len(prefix)] == prefix
    assert second.request.system == first.request.system
    assert second.receipt.totals.cache_loss_tokens == 0
    assert "2026-03-02" in texts_of(second)[-1]


def test_r01_the_system_prompt_is_added_to_once_and_then_fixed() -> None:
    session = claude().session()
    first = run(session, talk(), "session_start", system="You help.")
    again = run(session, talk(), "session_start", system="You help.")
    later = run(session, [*talk(), *rounds(4, start=9)], system="You help.")
    assert str(first.request.system).count("# Long sessions") == 1
    assert first.request.system == again.request.system == later.request.system


# --- R2


@pytest.mark.parametrize("fact", CHANGES)
def test_r02_a_change_is_told_behind_the_results_before_the_next_call(fact: str) -> None:
    before, after, said = CHANGES[fact]
    session = claude().session()
    run(session, talk(), **{fact: before})
    messages = [*talk(), *rounds(1, start=3)]
    outcome = run(session, messages, **{fact: after})
    assert shown(outcome)[-2] == messages[-1]
    assert said in texts_of(outcome)[-1]
    again = run(session, messages, **{fact: after})
    assert bodies(again) == bodies(outcome)


def test_r02_a_file_changed_on_disk_since_it_was_read_comes_as_a_difference(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("one = 1\ntwo = 3\n", "utf-8")
    messages = [user("Look."), *round_of("r", "     1\tone = 1\n     2\ttwo = 2\n", file_path=str(file))]
    outcome = run(claude(files=RootedFiles([tmp_path])), messages, changed_files=[str(file)])
    assert "-two = 2" in texts_of(outcome)[-1]
    assert "+two = 3" in texts_of(outcome)[-1]


def test_r02_plan_mode_is_told_in_full_and_then_sparsely() -> None:
    session = claude().session()
    full = run(session, talk(), plan_mode=[{"mode": "full"}])
    sparse = run(session, [*talk(), *rounds(1, start=3)], plan_mode=[{"mode": "sparse"}])
    assert "Plan mode is on" in texts_of(full)[-1]
    assert "Plan mode is still on" in texts_of(sparse)[-1]


def test_r02_the_task_list_comes_up_after_ten_rounds_without_it() -> None:
    todos = [{"content": "mend the pool", "status": "in_progress"}]
    messages = [user("Go."), *round_of("t", "saved", "TodoWrite", todos=todos), *rounds(9)]
    session = claude().session()
    assert verdict(run(session, messages), "task-reminder") == "skipped"
    messages += rounds(1, start=9)
    outcome = run(session, messages)
    assert "mend the pool" in texts_of(outcome)[-1]
    messages += rounds(9, start=10)
    assert verdict(run(session, messages), "task-reminder") == "skipped"


def test_r02_what_only_the_interface_shows_is_not_sent() -> None:
    outcome = run(claude(), talk(), dynamic_skill=[{"name": "release"}])
    assert shown(outcome) == talk()


# --- R3


def delta(session: Session, messages: list[Message], *tools: str) -> str:
    outcome = run(session, messages, deferred_tools=list(tools))
    return texts_of(outcome)[-1] if verdict(outcome, "turn-state") == "committed" else ""


def test_r03_only_the_difference_to_what_was_announced_is_sent() -> None:
    session = claude().session()
    messages = talk()
    first = delta(session, messages, "a_tool", "b_tool")
    assert "a_tool" in first
    assert "b_tool" in first
    assert delta(session, messages, "a_tool", "b_tool") == ""
    messages += rounds(1, start=5)
    added = delta(session, messages, "a_tool", "b_tool", "c_tool")
    assert "c_tool" in added
    assert "a_tool" not in added
    messages += rounds(1, start=6)
    removed = delta(session, messages, "b_tool", "c_tool")
    assert "No longer available: a_tool." in removed
    messages += rounds(1, start=7)
    assert "a_tool" in delta(session, messages, "a_tool", "b_tool", "c_tool")


def test_r03_what_was_announced_is_folded_from_the_history_after_a_resume(tmp_path: Path) -> None:
    messages = talk()
    delta(claude().open_session(tmp_path), messages, "a_tool", "b_tool")
    messages += rounds(1, start=5)
    said = delta(claude().open_session(tmp_path), messages, "a_tool", "c_tool")
    assert "c_tool" in said
    assert "No longer available: b_tool." in said
    assert "a_tool" not in said


def test_r03_a_rewind_takes_back_what_was_announced_after_that_point() -> None:
    session = claude().session()
    start = talk()
    delta(session, start, "a_tool")
    delta(session, [*start, *rounds(1, start=5)], "a_tool", "b_tool")
    said = delta(session, [*start, *rounds(1, start=6)], "a_tool", "b_tool")
    assert "b_tool" in said
    assert "a_tool" not in said


def test_r03_after_a_compaction_swallowed_them_the_present_set_is_announced_anew() -> None:
    session = small(answers=[ANSWER]).session()
    messages = [user("Find the leak."), *rounds(3)]
    delta(session, messages, "a_tool", "b_tool")
    messages += rounds(20, 3000, start=10)
    outcome = run(session, messages, deferred_tools=["b_tool"])
    assert verdict(outcome, "full-summary") == "committed"
    assert "b_tool" in texts_of(outcome)[-1]
    assert "a_tool" not in words(outcome)


# --- R4

NOTES = {"path": "/srv/db/NOTES.md", "text": "Tabs only."}


def remembered(engine: Engine) -> tuple[Session, list[Message]]:
    session = engine.session()
    messages = talk()
    assert "Tabs only." in words(run(session, messages, nested_memory=[NOTES]))
    return session, messages


def test_r04_a_memory_file_goes_in_once_a_session() -> None:
    session, messages = remembered(claude())
    for number in range(12):
        messages += [assistant("So far."), user("Go on."), *rounds(1, start=20 + number)]
        outcome = run(session, messages, nested_memory=[NOTES])
    assert words(outcome).count("Tabs only.") == 1


def test_r04_another_file_is_told_beside_it_and_the_first_not_again() -> None:
    session, messages = remembered(claude())
    messages += rounds(1, start=9)
    other = {"path": "/srv/ui/NOTES.md", "text": "No colours."}
    outcome = run(session, messages, nested_memory=[NOTES, other])
    assert "No colours." in texts_of(outcome)[-1]
    assert "Tabs only." not in texts_of(outcome)[-1]


def test_r04_a_full_compaction_makes_it_due_again() -> None:
    session, messages = remembered(small(answers=[ANSWER]))
    messages += rounds(20, 3000, start=10)
    outcome = run(session, messages, nested_memory=[NOTES])
    assert verdict(outcome, "full-summary") == "committed"
    assert words(outcome).count("Tabs only.") == 1
