"""Group E of the field reports: what is forgotten, or comes back wrong, after a compaction."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.faults.support import (
    CLEAR,
    HEAD,
    MODEL,
    SUM_UP,
    TOO_LONG,
    assistant,
    blocks,
    bodies,
    call,
    engine_of,
    loop,
    result,
    round_of,
    rounds,
    run,
    shown,
    small_claude,
    text,
    texts_of,
    user,
    verdict,
    words,
)

from trimtab import Info
from trimtab.files import RootedFiles

WHOLE = SUM_UP.replace("keep: {newest: {rounds: 2}}, ", "")


# --- E1 the user's words


@pytest.mark.parametrize("event", ["before_request", "manual", "overflow"])
@pytest.mark.parametrize("pack", [SUM_UP, WHOLE])
def test_e1_a_request_that_waits_for_its_answer_stays_word_for_word_and_last(pack: str, event: str) -> None:
    messages = [*loop(8, 3000), assistant("Mended."), user("Now, please: bump the version to 2.0.7!")]
    outcome = run(pack, messages, event)
    assert verdict(outcome, "sum-up") == "committed"
    assert shown(outcome)[-1] == messages[-1]


@pytest.mark.parametrize("event", ["before_request", "manual", "overflow"])
def test_e1_two_unanswered_messages_both_stay(event: str) -> None:
    messages = [*loop(8, 3000), assistant("Mended."), user("One more thing."), user("And another.")]
    outcome = run(WHOLE, messages, event)
    assert shown(outcome)[-2:] == messages[-2:]


def test_e1_the_question_a_tool_loop_works_on_survives_its_compaction() -> None:
    outcome = run(WHOLE, loop(12, 3000))
    assert "Find the leak and mend it." in texts_of(outcome)


def test_e1_the_question_survives_one_compaction_after_the_other() -> None:
    session = engine_of(WHOLE).session()
    messages = loop(8, 3000)
    for number in range(6):
        outcome = run(session, messages)
        assert texts_of(outcome).count("Find the leak and mend it.") == 1
        messages += rounds(8, 3000, start=100 * (number + 1))


def test_e1_a_request_that_was_worked_on_stands_before_the_summary_and_the_open_one_behind_it() -> None:
    messages = [
        user("Deploy to staging."),
        *rounds(6, 3000),
        assistant("Deployed."),
        user("Thanks. Now write the notes."),
    ]
    outcome = run(WHOLE, messages)
    assert texts_of(outcome) == [
        "Deploy to staging.",
        "What was done: a great deal.",
        "Thanks. Now write the notes.",
    ]


def test_e1_the_first_request_can_be_kept_word_for_word() -> None:
    pack = SUM_UP.replace("{rounds: 2}", "{rounds: 2}, oldest: {messages: 1}")
    messages = [*loop(8, 3000), assistant("Mended."), user("Now the tests."), *rounds(4, 3000, start=50)]
    assert shown(run(pack, messages))[0] == messages[0]


def test_e1_the_ledger_quotes_the_users_words() -> None:
    messages = [
        user("Never touch the file legacy/zoo.py."),
        *rounds(6, 3000),
        assistant("Done."),
        user("Now the tests for 'billing'."),
        *rounds(6, 3000, start=50),
    ]
    outcome = run(small_claude(), messages, "overflow", error=TOO_LONG)
    assert verdict(outcome, "ledger") == "committed"
    assert "Never touch the file legacy/zoo.py." in words(outcome)
    assert "Now the tests for 'billing'." in words(outcome)


def test_e1_a_tool_result_is_not_taken_for_the_users_last_words() -> None:
    outcome = run(CLEAR, loop(3))
    assert texts_of(outcome) == ["Find the leak and mend it."]


# --- E2 instructions, memory, skills, plan, to-dos, agents, tools


STATE: dict[str, Any] = {
    "plan": "# Plan\nFirst the parser, then the printer.",
    "todos": [
        {"content": "write the parser", "status": "in_progress"},
        {"content": "write tests", "status": "pending"},
    ],
    "skills": [{"name": "release", "text": "How to release: tag, build, upload."}],
    "agents": [
        {"id": "agent-7", "status": "running", "description": "looks for the leak"},
        {"id": "agent-8", "status": "finished-read", "description": "was read already"},
    ],
    "loaded_tools": ["mcp__db__query"],
}


def compacted(**facts: Any) -> Any:
    engine = small_claude()
    return run(engine, loop(30, 3000), "overflow", error=TOO_LONG, **facts)


def test_e2_state_outside_the_messages_is_there_again_after_a_summary() -> None:
    outcome = compacted(**STATE)
    assert verdict(outcome, "restore") == "committed"
    said = words(outcome)
    for needle in ("First the parser", "write the parser", "How to release", "agent-7", "mcp__db__query"):
        assert needle in said, needle
    assert "agent-8" not in said


def test_e2_each_thing_is_attached_once_and_in_the_same_order_every_time() -> None:
    one, two = compacted(**STATE), compacted(**dict(reversed(STATE.items())))
    assert bodies(one) == bodies(two)
    for needle in ("How to release", "agent-7", "mcp__db__query"):
        assert words(one).count(needle) == 1


def test_e2_the_task_list_is_not_attached_twice_in_one_run() -> None:
    behind = json.dumps(shown(compacted(**STATE))[2:])
    assert behind.count("write the parser") == 1


def test_e2_a_file_that_cannot_be_read_is_not_said_to_be_too_long() -> None:
    assert "too long" not in words(compacted())


def test_e2_what_the_host_does_not_have_is_not_made_up() -> None:
    said = words(compacted())
    for needle in ("agent-7", "mcp__", "First the parser"):
        assert needle not in said


def test_e2_state_is_not_attached_again_on_the_next_call() -> None:
    session = small_claude().session()
    messages = loop(30, 3000)
    run(session, messages, "overflow", error=TOO_LONG, **STATE)
    messages += rounds(1, start=99)
    outcome = run(session, messages, **STATE)
    assert verdict(outcome, "restore") == "skipped"
    assert words(outcome).count("How to release") == 1


def test_e2_a_second_summary_that_swallows_the_state_brings_it_back() -> None:
    session = small_claude().session()
    messages = loop(30, 3000)
    run(session, messages, "overflow", error=TOO_LONG, **STATE)
    messages += rounds(30, 3000, start=100)
    outcome = run(session, messages, "overflow", error=TOO_LONG, **STATE)
    assert verdict(outcome, "restore") == "committed"
    assert words(outcome).count("How to release: tag, build, upload.") == 1


def test_e2_the_system_prompt_and_the_tools_are_the_hosts_own_after_a_summary() -> None:
    tools = [{"name": "Read", "description": "reads", "input_schema": {"type": "object"}}]
    system = [{**text("You help."), "cache_control": {"type": "ephemeral"}}]
    outcome = run(WHOLE, loop(12, 3000), system=system, tools=tools)
    assert outcome.request.system is system
    assert outcome.request.tools is tools


def test_e2_large_state_keeps_to_its_budget() -> None:
    skills = [{"name": f"skill-{n}", "text": f"skill {n} says: " + "do it well; " * 3000} for n in range(12)]
    outcome = compacted(skills=skills)
    assert outcome.receipt.totals.tokens.after < 40_000


def test_e2_files_come_back_from_disk_newest_first_within_a_number(tmp_path: Path) -> None:
    names = []
    messages: list[Any] = [user("Look.")]
    for number in range(8):
        file = tmp_path / f"module_{number}.py"
        file.write_text(f"VALUE = 'now {number}'\n", "utf-8")
        names.append(str(file))
        messages += round_of(f"r{number}", f"VALUE = 'then {number}'\n" * 300, file_path=str(file))
    engine = small_claude(files=RootedFiles([tmp_path]))
    outcome = run(engine, messages, "overflow", error=TOO_LONG)
    said = words(outcome)
    assert [number for number in range(8) if f"now {number}" in said] == [3, 4, 5, 6, 7]


# --- E3 file reads


FILES = HEAD + (
    "tools: {read: [Read], edit: [Edit]}\n"
    "facts: {files: {key: path, from: [{tools: [read], take: {path: /file_path, offset: /offset, "
    "limit: /limit}, set: {read: true}},\n"
    "  {tools: [edit], take: {path: /file_path}, set: {edited: true}}]}}\n"
    "stages:\n"
    "  - {id: stale, kind: replace, select: {blocks: [tool_result], tools: [read], "
    "superseded_by: [read, edit]},\n"
    "     text: '[older copy]'}\n"
)


def contents(outcome: Any) -> list[Any]:
    return [block["content"] for block in blocks(outcome, "tool_result")]


def test_e3_an_older_copy_goes_when_the_file_was_read_again() -> None:
    messages = [
        user("q"),
        *round_of("a", "one " * 50, file_path="/a.py"),
        *round_of("b", "two " * 50, file_path="/b.py"),
        *round_of("c", "three " * 50, file_path="/a.py"),
    ]
    assert contents(run(FILES, messages)) == ["[older copy]", "two " * 50, "three " * 50]


def test_e3_another_part_of_the_same_file_is_no_older_copy() -> None:
    messages = [
        user("q"),
        *round_of("a", "one " * 50, file_path="/a.py", offset=1, limit=100),
        *round_of("b", "two " * 50, file_path="/a.py", offset=500, limit=100),
    ]
    assert contents(run(FILES, messages)) == ["one " * 50, "two " * 50]


def test_e3_a_failed_read_supersedes_nothing() -> None:
    messages = [
        user("q"),
        *round_of("a", "one " * 50, file_path="/a.py"),
        assistant(call("b", file_path="/a.py")),
        user(result("b", "no such file", is_error=True)),
    ]
    assert contents(run(FILES, messages))[0] == "one " * 50


def test_e3_the_receipt_names_every_block_that_was_cleared() -> None:
    messages = [
        user("q"),
        *round_of("a", "one " * 50, file_path="/a.py"),
        *round_of("b", "two " * 50, file_path="/a.py"),
    ]
    report = run(FILES, messages).receipt.stage("stale")
    assert report is not None
    assert [tuple(spot) for spot in report.spots] == [(3, 0)]


def test_e3_what_was_read_is_still_known_after_the_messages_are_gone() -> None:
    pack = FILES.replace(
        "stages:", "stages:\n  - {id: sum-up, kind: summarize, at: [manual], text: 'What was done.'}"
    ) + (
        "  - {id: known, kind: attach, at: [before_request], from: [{fact: files, repeat: changed,"
        " text: '{% for item in items %}{{ item.path }} {% endfor %}'}]}\n"
    )
    session = engine_of(pack).session()
    messages = [
        user("q"),
        *round_of("a", "one " * 900, file_path="/a.py"),
        *round_of("b", "two", "Edit", file_path="/b.py"),
    ]
    assert verdict(run(session, messages, "manual"), "sum-up") == "committed"
    outcome = run(session, [*messages, *rounds(1)])
    assert "/srv/file-0.py /b.py /a.py" in words(outcome)


# --- E4 the wrong tools


TOOLS = HEAD + (
    "tools: {web: ['mcp__web__*', WebFetch], memory: ['mcp__memory__*'], read: [Read]}\n"
    "stages:\n"
    "  - {id: clear, kind: replace, select: {blocks: [tool_result], tools: [web, read], "
    "none: [{tools: [memory]}]},\n"
    "     keep: {newest: {items: 1}}, text: '[cleared]'}\n"
)


def test_e4_globs_name_tools_of_a_server_by_their_whole_name() -> None:
    used = ["mcp__web__fetch", "mcp__memory__load", "mcp__webby__x", "Read", "ReadMe", "Unknown", "WebFetch"]
    messages = [
        user("q"),
        *(m for n, tool in enumerate(used) for m in round_of(f"c{n}", "words " * 50, tool)),
    ]
    cleared = [
        tool
        for tool, content in zip(used, contents(run(TOOLS, messages)), strict=True)
        if content == "[cleared]"
    ]
    assert cleared == ["mcp__web__fetch", "Read"]


def test_e4_the_results_of_the_open_round_are_never_cleared() -> None:
    messages = [
        user("q"),
        *rounds(2),
        assistant(call("p", "Read"), call("q", "Read")),
        user(result("p", "fresh " * 50)),
    ]
    pack = TOOLS.replace("keep: {newest: {items: 1}}, ", "")
    outcome = run(pack, messages, "tool_result")
    assert contents(outcome)[-1] == "fresh " * 50


def test_e4_errors_can_be_left_alone() -> None:
    pack = TOOLS.replace("none: [{tools: [memory]}]", "error: false").replace("items: 1", "items: 0")
    messages = [
        user("q"),
        assistant(call("a")),
        user(result("a", "boom " * 50, is_error=True)),
        *rounds(2),
        user("so?"),
    ]
    assert contents(run(pack, messages))[0] == "boom " * 50


# --- E5 sub-agents


def test_e5_a_sub_agent_runs_the_same_stages_with_a_state_of_its_own() -> None:
    engine = engine_of(SUM_UP)
    main, helper = engine.session(), engine.session()
    run(main, loop(12, 3000))
    outcome = run(
        helper, [user("You only look. Find where the port is set."), *rounds(12, 3000)], caller="explore"
    )
    assert verdict(outcome, "sum-up") == "committed"
    assert outcome.receipt.run.n == 1
    assert "You only look." in words(
        run(helper, [user("You only look. Find where the port is set."), *rounds(12, 3000)])
    )


def test_e5_rules_for_the_main_loop_leave_others_alone() -> None:
    pack = SUM_UP.replace("keep:", "when: {caller: [main]}, keep:")
    assert verdict(run(pack, loop(12, 3000), caller="explore"), "sum-up") == "skipped"
    assert verdict(run(pack, loop(12, 3000), caller=None), "sum-up") == "skipped", "nobody said who asks"
    assert verdict(run(pack, loop(12, 3000)), "sum-up") == "committed"


def test_e5_the_shipped_pack_compacts_a_sub_agent_too() -> None:
    outcome = run(small_claude(), loop(30, 3000), "overflow", error=TOO_LONG, caller="explore")
    assert verdict(outcome, "autocompact") == "committed"
    assert "Find the leak and mend it." in words(outcome)


def test_e5_the_one_who_writes_the_summary_is_not_compacted_by_its_own_rule() -> None:
    outcome = run(small_claude(), loop(30, 3000), "overflow", error=TOO_LONG, caller="compact")
    assert verdict(outcome, "autocompact") == "skipped"


# --- pins


@pytest.mark.parametrize("event", ["before_request", "manual", "overflow"])
def test_e_a_pinned_message_stays_word_for_word_through_every_stage(event: str) -> None:
    messages = loop(12, 3000)
    info = [Info(pinned=index == 4) for index in range(len(messages))]
    pack = WHOLE + (
        "  - {id: clear, kind: replace, select: {blocks: [tool_result]}, keep: {newest: {items: 1}}, "
        "text: '[cleared]'}\n"
        "  - {id: out, kind: drop, select: {origins: [assistant, tool]}, keep: {newest: {messages: 2}}}\n"
    )
    outcome = run(pack, messages, event, info=info)
    assert messages[4] in shown(outcome)
    assert json.dumps(messages[4]) in json.dumps(shown(outcome))
    assert outcome.receipt.run.model == MODEL
