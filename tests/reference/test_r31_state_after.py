"""Rows R31 to R34: what is rebuilt after a summary, how large it then is, what is cleaned up."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.reference.support import (
    ANSWER,
    Message,
    Writer,
    claude,
    loop,
    report,
    round_of,
    rounds,
    run,
    shown,
    small,
    texts_of,
    used,
    user,
    verdict,
    words,
)

from trimtab import ManualRequest
from trimtab.files import RootedFiles
from trimtab.outcome import Outcome


def compact(messages: list[Message], *, disk: Any = None, wide: bool = False, **facts: Any) -> Outcome:
    engine = (claude if wide else small)(answers=[ANSWER], files=disk)
    outcome = run(engine, messages, "manual", request=ManualRequest(), **facts)
    assert verdict(outcome, "full-summary") == "committed"
    return outcome


def reads(folder: Path, count: int, size: int = 40) -> list[Message]:
    """Files on disk that are not any more what the reads of the conversation have shown."""
    out: list[Message] = [user("Look at all of them.")]
    for number in range(count):
        path = folder / f"f{number}.py"
        path.write_text(f"NOW = {number}\n" * (size // 8), "utf-8")
        out += round_of(f"r{number}", f"THEN = {number}\n" * 300, "Read", file_path=str(path))
    return out


def attached(outcome: Outcome) -> list[int]:
    """Numbers of the files whose content of now is in the request."""
    return sorted({int(found) for found in re.findall(r"NOW = (\d+)", words(outcome))})


# --- R31


def test_r31_the_five_files_read_last_are_read_again_from_disk(tmp_path: Path) -> None:
    outcome = compact(reads(tmp_path, 8), disk=RootedFiles([tmp_path]))
    assert attached(outcome) == [3, 4, 5, 6, 7]
    assert "THEN = " not in words(outcome)
    assert "Read a file anew before you change it." in words(outcome)


def test_r31_a_file_read_again_counts_as_read_last(tmp_path: Path) -> None:
    messages = reads(tmp_path, 8)
    messages += round_of("again", "THEN = 0\n", "Read", file_path=str(tmp_path / "f0.py"))
    assert attached(compact(messages, disk=RootedFiles([tmp_path]))) == [0, 4, 5, 6, 7]


def test_r31_a_file_over_five_thousand_tokens_is_named_only(tmp_path: Path) -> None:
    messages = reads(tmp_path, 3)
    (tmp_path / "f1.py").write_text("NOW = 1\n" * 9000, "utf-8")
    outcome = compact(messages, disk=RootedFiles([tmp_path]), wide=True)
    assert attached(outcome) == [0, 2]
    assert f"{tmp_path}/f1.py was in use before the conversation was shortened. It is too long" in words(
        outcome
    )


def test_r31_all_files_together_stay_under_their_budget(tmp_path: Path) -> None:
    messages = reads(tmp_path, 8, size=5_000)
    outcome = compact(messages, disk=RootedFiles([tmp_path]), wide=True)
    tokens = report(outcome, "restore").tokens
    assert tokens is not None
    assert 5_000 < tokens.after - tokens.before <= 50_000 * 1.25
    assert attached(outcome) == [3, 4, 5, 6, 7]


def test_r31_plan_and_memory_files_are_left_out(tmp_path: Path) -> None:
    messages = reads(tmp_path, 4)
    files: list[dict[str, Any]] = [
        {"path": str(tmp_path / f"f{number}.py"), "read": True} for number in range(4)
    ]
    files[1]["memory"] = files[2]["plan"] = True
    outcome = compact(messages, disk=RootedFiles([tmp_path]))
    assert attached(outcome) == [0, 1, 2, 3]
    outcome = compact(messages, disk=RootedFiles([tmp_path]), files=files)
    assert attached(outcome) == [0, 3]


def test_r31_nothing_outside_the_given_roots_is_read(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    messages = reads(inside, 2)
    secret = outside / "f7.py"
    secret.write_text("NOW = 7\n", "utf-8")
    messages += round_of("s", "THEN = 7\n", "Read", file_path=str(secret))
    messages += round_of("d", "THEN = 7\n", "Read", file_path=f"{inside}/../out/f7.py")
    assert attached(compact(messages, disk=RootedFiles([inside]))) == [0, 1]


# --- R32

STATE: dict[str, tuple[Any, str]] = {
    "plan": ("# Plan\nFirst the parser.", "First the parser."),
    "plan_mode": ([{"mode": "full"}], "Plan mode is on"),
    "todos": ([{"content": "write the parser", "status": "in_progress"}], "[>] write the parser"),
    "skills": ([{"name": "release", "text": "Tag, build, upload."}], "Tag, build, upload."),
    "agents": (
        [
            {"id": "agent-7", "status": "running", "output_path": "/tmp/agent-7.log"},
            {"id": "agent-8", "status": "finished-unread", "output_path": "/tmp/agent-8.log"},
        ],
        "finished; nobody has read its result yet; output in /tmp/agent-8.log",
    ),
    "deferred_tools": (["mcp__db__query"], "mcp__db__query"),
    "agent_listing": ([{"name": "scout", "description": "looks"}], "- scout: looks"),
    "mcp_instructions": ([{"name": "db", "text": "Read only."}], "Read only."),
    "loaded_tools": (["mcp__db__schema"], "mcp__db__schema"),
    "hook_results": ([{"name": "start", "text": "The tests are red."}], "The tests are red."),
}


@pytest.mark.parametrize("fact", STATE)
def test_r32_state_of_the_host_is_there_again_after_a_summary(fact: str) -> None:
    value, said = STATE[fact]
    session = small(answers=[ANSWER]).session()
    messages = loop(4)
    run(session, messages, **{fact: value})
    messages += rounds(10, 2600, start=20)
    outcome = run(session, messages, **{fact: value})
    assert verdict(outcome, "full-summary") == "committed"
    assert words(outcome).count(said) == 1
    assert verdict(run(session, messages, **{fact: value}), "restore") == "skipped"


def test_r32_an_agent_that_is_finished_and_read_does_not_come_back() -> None:
    agents = [{"id": "agent-9", "status": "done", "output_path": "/tmp/agent-9.log"}]
    assert "agent-9" not in words(compact(loop(8), agents=agents))


def test_r32_skills_keep_to_their_budgets_newest_first() -> None:
    skills = [{"name": f"skill-{n}", "text": f"skill {n}: " + "do it well; " * 6000} for n in range(8)]
    outcome = compact(loop(8), wide=True, skills=skills)
    tokens = report(outcome, "restore").tokens
    assert tokens is not None
    assert 15_000 < tokens.after - tokens.before <= 25_000 * 1.3
    said = words(outcome)
    assert "skill 7: " in said
    assert "skill 0: " not in said


def test_r32_skills_and_plan_are_found_in_the_traffic_where_the_host_is_only_a_file() -> None:
    messages = [
        user("Release it."),
        *round_of("s", "Tag, build, upload.", "Skill", skill="release"),
        *round_of("p", "approved", "ExitPlanMode", plan="First the parser."),
        *rounds(6),
    ]
    said = words(compact(messages))
    assert "Tag, build, upload." in said
    assert "First the parser." in said


# --- R33


def test_r33_the_receipt_has_the_true_size_after_compaction_and_its_threshold() -> None:
    skills = [{"name": "release", "text": "tag it; " * 1500}]
    session = small(answers=[ANSWER]).session()
    outcome = run(session, loop(12, 2600), skills=skills)
    totals, summary = outcome.receipt.totals, report(outcome, "full-summary").tokens
    assert summary is not None
    assert totals.tokens.after > summary.after + 1000, "what was attached counts"
    assert totals.tokens.after < (outcome.receipt.limits["auto"] or 0)
    assert not totals.measured


def test_r33_what_is_attached_never_triggers_the_next_compaction() -> None:
    writer = Writer([ANSWER] * 9)
    session = small(summarizer=writer).session()
    messages = loop(12, 2600)
    skills = [{"name": f"skill-{n}", "text": f"{n} " + "do it well; " * 3000} for n in range(9)]
    run(session, messages, skills=skills)
    for number in range(3):
        messages += rounds(1, 200, start=100 + number)
        outcome = run(session, messages, skills=skills)
        assert verdict(outcome, "autocompact") == "skipped"
    assert len(writer.asked) == 1


# --- R34


def test_r34_warnings_keep_quiet_until_the_next_real_count() -> None:
    session = claude("-reactive", [ANSWER]).session()
    messages = loop(12, 2000)
    assert [n.level for n in run(session, messages, usage=used(150_000)).notices] == ["warning"]
    done = run(session, messages, "manual", request=ManualRequest())
    assert verdict(done, "full-summary") == "committed"
    messages += rounds(8, 49_000, start=30)
    outcome = run(session, messages)
    assert 147_000 < outcome.receipt.totals.tokens.after < 177_000
    assert [notice.level for notice in outcome.notices] == []
    messages += rounds(1, start=50)
    outcome = run(session, messages, usage=used(150_000))
    assert [notice.level for notice in outcome.notices] == ["warning"]


def test_r34_what_was_told_before_is_told_anew_and_what_was_cleared_is_forgotten() -> None:
    session = small(answers=[ANSWER]).session()
    messages = loop(12, 2600)
    first = run(session, messages, date="2026-03-01")
    assert verdict(first, "full-summary") == "committed"
    assert texts_of(first)[-1].count("2026-03-01") == 1
    again = run(session, messages, date="2026-03-01")
    assert shown(again) == shown(first)


def test_r34_a_sub_agents_compaction_leaves_the_main_threads_session_alone() -> None:
    engine = small(answers=[ANSWER])
    main, agent = engine.session(), engine.session()
    before = run(main, loop(3), date="2026-03-01")
    done = run(agent, loop(12, 2600), caller="explore", date="2026-03-01")
    assert verdict(done, "full-summary") == "committed"
    after = run(main, loop(3), date="2026-03-01")
    assert shown(after) == shown(before)
    assert after.receipt.totals.commits == 0
