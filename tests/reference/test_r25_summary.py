"""Rows R25 to R30: how the summary is asked for, what it must hold, and what stands in which order after it."""

from __future__ import annotations

import json
from typing import Any

from tests.reference.support import (
    ANSWER,
    MODEL,
    SECTIONS,
    Message,
    Writer,
    answer,
    assistant,
    call,
    loop,
    report,
    result,
    rounds,
    run,
    shown,
    small,
    text,
    texts_of,
    user,
    verdict,
    words,
)
from tests.strict_api import problems

from trimtab import Info, ManualRequest
from trimtab.effects import HookReply, Question
from trimtab.outcome import Outcome

TOOLS = [{"name": "Read", "description": "reads a file", "input_schema": {"type": "object"}}]
SYSTEM = [{**text("You help."), "cache_control": {"type": "ephemeral"}}]


def compact(
    messages: list[Message] | None = None,
    *answers: Any,
    event: str = "manual",
    settings: dict[str, Any] | None = None,
    hooks: Any = None,
    **facts: Any,
) -> tuple[Outcome, list[Question]]:
    """One compaction by the shipped pack, and what the writer was asked."""
    writer = Writer(answers or [ANSWER])
    engine = small(summarizer=writer, settings=settings or {}, hooks=hooks)
    if event == "manual":
        facts.setdefault("request", ManualRequest())
    outcome = run(engine, messages or work(), event, system=SYSTEM, tools=TOOLS, **facts)
    return outcome, writer.asked


def work(count: int = 8) -> list[Message]:
    return [
        *loop(count, 2600),
        assistant("Half of it is done."),
        user("Never touch legacy/zoo.py."),
        *answered(),
    ]


def answered() -> list[Message]:
    return [*rounds(2, start=70), assistant("Understood; the other half is next.")]


# --- R25


def test_r25_the_writer_gets_the_main_threads_model_system_tools_and_prefix() -> None:
    messages = work()
    _, [question] = compact(messages)
    assert question.model == MODEL
    assert question.request is not None
    assert question.request.system == SYSTEM
    assert question.request.tools == TOOLS
    assert list(question.request.messages) == messages[: len(question.request.messages)]
    assert len(question.request.messages) >= len(messages) - 1
    assert question.max_output is None


def test_r25_that_no_tool_may_run_is_said_first_and_last() -> None:
    _, [question] = compact()
    lines = [line for line in question.prompt.splitlines() if line.strip()]
    assert "Do not call any tool" in lines[0]
    assert "no tool calls" in lines[-1]


def test_r25_a_tool_call_as_an_answer_is_refused() -> None:
    outcome, _ = compact(work(12), {"text": ANSWER, "stop": "tool_use"}, event="before_request")
    found = report(outcome, "full-summary")
    assert found.verdict == "failed"
    assert found.remarks["failure"] == "tool_call"
    assert shown(outcome) == work(12)


def test_r25_a_hook_may_add_instructions() -> None:
    def hooks(moment: str, stage: str, words: str) -> HookReply | None:
        return HookReply(instructions="Name every port.") if moment == "before_summary" else None

    _, [question] = compact(hooks=hooks, request=ManualRequest(instructions="Dwell on the pool."))
    assert question.prompt.index("Dwell on the pool.") < question.prompt.index("Name every port.")


def test_r25_a_hook_may_veto() -> None:
    def hooks(moment: str, stage: str, words: str) -> HookReply | None:
        return HookReply(veto="a release is under way") if moment == "before_summary" else None

    outcome, questions = compact(work(12), hooks=hooks, event="before_request")
    assert questions == []
    assert "a release is under way" in str(report(outcome, "full-summary").reason)
    assert shown(outcome) == work(12)


# --- R26


def test_r26_the_nine_sections_are_asked_for_in_order() -> None:
    _, [question] = compact()
    places = [question.prompt.index(f"{number}. {name}") for number, name in enumerate(SECTIONS, 1)]
    assert places == sorted(places)


def test_r26_the_scratch_part_goes_and_the_sections_stay() -> None:
    outcome, _ = compact()
    said = words(outcome)
    assert "scratch thoughts" not in said
    assert all(name in said for name in SECTIONS)


def test_r26_one_section_may_be_missing_and_not_two() -> None:
    outcome, _ = compact(None, answer(sections=SECTIONS[:-1]))
    assert verdict(outcome, "full-summary") == "committed"
    outcome, _ = compact(work(12), answer(sections=SECTIONS[:-2]), event="before_request")
    assert report(outcome, "full-summary").remarks["failure"] == "invalid"


def test_r26_the_users_messages_are_there_in_the_users_own_words() -> None:
    outcome, _ = compact()
    said = words(outcome)
    assert "Find the leak and mend it." in said
    assert "Never touch legacy/zoo.py." in said


def test_r26_custom_instructions_come_from_the_user_and_from_project_memory() -> None:
    memory = [
        {
            "path": "/srv/NOTES.md",
            "text": "# Style\nTabs.\n# Compact instructions\nKeep every port.\n# Rest\nX",
        }
    ]
    _, [question] = compact(request=ManualRequest(instructions="Dwell on the pool."), memory=memory)
    assert "Dwell on the pool." in question.prompt
    assert "Keep every port." in question.prompt
    assert "Tabs." not in question.prompt


# --- R27


def ids(messages: list[Message]) -> list[Info]:
    return [Info(id=f"m{number}") for number in range(len(messages))]


def directed(**point: Any) -> tuple[Outcome, Question, list[Message]]:
    messages = work()
    outcome, [question] = compact(messages, request=ManualRequest(**point), info=ids(messages))
    return outcome, question, messages


def test_r27_from_a_point_the_earlier_messages_stay_and_the_newer_part_is_summarized() -> None:
    outcome, question, messages = directed(from_="m9")
    assert report(outcome, "full-summary").remarks["direction"] == "from"
    assert shown(outcome)[:9] == messages[:9]
    assert "The newer part of it" in wrapper(outcome)
    assert "line 6 of the output" not in words(outcome)
    assert "newer part of the conversation" in question.prompt


def test_r27_up_to_a_point_the_summary_stands_first_and_the_newer_messages_follow() -> None:
    outcome, question, messages = directed(up_to="m9")
    assert report(outcome, "full-summary").remarks["direction"] == "up_to"
    assert "The newest messages follow unchanged." in wrapper(outcome)
    place = next(at for at, one in enumerate(shown(outcome)) if "goes on from an earlier" in str(one))
    assert shown(outcome)[place + 1 :][: len(messages[9:])] == messages[9:]
    assert "line 2 of the output" not in words(outcome)
    assert "earlier part of the conversation" in question.prompt


def test_r27_without_a_point_the_whole_conversation_is_summarized() -> None:
    outcome, _ = compact()
    assert report(outcome, "full-summary").remarks["direction"] == "whole"
    assert "line 0 of the output" not in words(outcome)


# --- R28


def rounds_in(question: Question) -> int:
    assert question.request is not None
    return sum(message["role"] == "assistant" for message in question.request.messages)


def test_r28_without_a_known_excess_a_fifth_of_the_rounds_goes_three_times_at_most() -> None:
    messages = [user("Go."), *rounds(20, 1000), assistant("Done.")]
    outcome, questions = compact(messages, *["too_long"] * 9)
    counts = [rounds_in(question) for question in questions]
    assert counts == [21, 18, 15, 12]
    assert verdict(outcome, "ledger") == "committed"


def test_r28_a_reported_excess_is_covered_at_once() -> None:
    messages = [user("Go."), *rounds(20, 1000), assistant("Done.")]
    outcome, questions = compact(messages, {"fail": "too_long", "excess": 4000}, ANSWER)
    assert len(questions) == 2
    dropped = rounds_in(questions[0]) - rounds_in(questions[1])
    assert 8 <= dropped <= 14
    assert verdict(outcome, "full-summary") == "committed"


def test_r28_the_shorter_request_is_valid_and_begins_with_a_user() -> None:
    messages = [user("Go."), *rounds(20, 1000), assistant("Done.")]
    _, questions = compact(messages, "too_long", "too_long", ANSWER)
    for question in questions:
        assert question.request is not None
        given = [*question.request.messages, user(question.prompt)]
        assert given[0]["role"] == "user"
        assert not problems(given)
    shorter = questions[1].request
    assert shorter is not None
    assert shorter.messages[0] != messages[0], "the marker stands where the cut was"


def test_r28_what_the_writer_did_not_see_is_reported() -> None:
    messages = [user("Go."), *rounds(20, 1000), assistant("Done.")]
    outcome, _ = compact(messages, "too_long", ANSWER)
    assert any("without" in notice.text for notice in outcome.notices)
    assert report(outcome, "full-summary").remarks["dropped"]


# --- R29


def wrapper(outcome: Outcome) -> str:
    return next(one for one in texts_of(outcome) if "goes on from an earlier part" in one)


def test_r29_the_wrapper_says_why_and_where_the_full_transcript_is() -> None:
    outcome, _ = compact(transcript_path="/srv/.sessions/s1.jsonl")
    said = wrapper(outcome)
    assert "the pool never closes" in said
    assert "/srv/.sessions/s1.jsonl" in said


def test_r29_automatic_it_says_to_go_on_without_asking_and_manual_it_does_not() -> None:
    automatic, _ = compact(work(12), event="before_request")
    manual, _ = compact()
    assert "Do not ask whether to continue" in wrapper(automatic)
    assert "Do not ask whether to continue" not in wrapper(manual)


def test_r29_in_autonomous_mode_it_is_no_first_start() -> None:
    outcome, _ = compact(work(12), event="before_request", settings={"autonomous": True})
    said = wrapper(outcome)
    assert "This is no new start" in said
    assert "no greeting" in said
    assert "Do not ask whether to continue" not in said


# --- R30


def test_r30_summary_then_kept_messages_then_attachments_then_hook_results() -> None:
    messages = [*work(12), user("Now the lock, please.")]
    outcome, _ = compact(
        messages,
        event="before_request",
        plan="# Plan\nFirst the lock.",
        date="2026-03-01",
        hook_results=[{"name": "after", "text": "The tests are red."}],
    )
    said = json.dumps(shown(outcome))
    order = [
        said.index(needle)
        for needle in (
            "goes on from an earlier part",
            "Now the lock, please.",
            "First the lock.",
            "2026-03-01",
            "The tests are red.",
        )
    ]
    assert order == sorted(order)


def test_r30_what_a_hook_says_after_the_summary_stands_last() -> None:
    def hooks(moment: str, stage: str, words: str) -> HookReply | None:
        return HookReply(text="The tests are red.") if moment == "after_summary" else None

    outcome, _ = compact(work(12), event="before_request", hooks=hooks, date="2026-03-01")
    assert "The tests are red." in texts_of(outcome)[-1]
    assert "From a hook of the user" in texts_of(outcome)[-1]
    assert words(outcome).count("The tests are red.") == 1


def test_r30_no_pair_is_split_by_what_is_put_behind_the_summary() -> None:
    messages = [*work(12), assistant(call("open", "Read")), user(result("open", "fresh"))]
    outcome, _ = compact(messages, event="before_request", plan="# Plan\nFirst the lock.")
    assert verdict(outcome, "full-summary") == "committed"
    assert not problems(shown(outcome))
