from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.scenes import Session, bash, image, read, results, says, stage_of, unfenced, user, work

from trimtab.conversation.request import Info
from trimtab.effects import Ask, AskFailed, HookReply, Pause, Reply
from trimtab.facts import Facts, ManualRequest
from trimtab.policy.past import StageIndex
from trimtab.policy.proposal import Cover
from trimtab.tokens.estimate import estimate

SUMMARY = "The leak was found and mended."


def session(*messages: Any, **more: Any) -> Session:
    return Session([user("Find the leak."), *(messages or work(*"abcdef", size=80))], **more)


def asking(**keys: Any) -> dict[str, Any]:
    return {"kind": "summarize", "prompt": "Sum it up.", **keys}


def asked(s: Session) -> list[str]:
    """The models that were asked, in order."""
    return [ask.question.model for ask in s.ports.questions]


def sizes(s: Session) -> list[int]:
    """How many messages each question showed."""
    return [
        len(ask.question.request.messages) for ask in s.ports.questions if ask.question.request is not None
    ]


# --- the call


def test_the_request_itself_is_asked_with_the_prompt_behind() -> None:
    s = session(request_tools=[{"name": "Bash"}])
    s.ports.answers.append(SUMMARY)
    s.run(asking(max_output=900, effort="low", timeout_seconds=30))
    ask = s.ports.questions[0]
    question = ask.question
    assert question.request is not None
    assert question.request.messages == s.messages
    assert all(one is other for one, other in zip(question.request.messages, s.messages, strict=True))
    assert question.request.tools == [{"name": "Bash"}]
    assert (question.prompt, question.model, question.system) == ("Sum it up.", "claude-sonnet-4-5", None)
    assert (question.max_output, question.effort, question.timeout) == (900, "low", 30)
    assert s.texts == ["Find the leak.", SUMMARY]


def test_the_tail_is_not_shown_to_the_writer() -> None:
    s = session()
    s.ports.answers.append(SUMMARY)
    s.run(asking(keep={"newest": {"rounds": 2}}))
    assert sizes(s) == [9]


def test_a_head_is_shown_and_the_point_where_the_range_begins_is_marked() -> None:
    s = session()
    s.ports.answers.append(SUMMARY)
    s.run(asking(keep={"oldest": {"messages": 3}}))
    prompt = s.ports.questions[0].question.prompt
    assert sizes(s) == [13]
    assert "The marked point lies before the last 10 messages above" in prompt
    assert '{"command": "run b"}' in prompt


def test_a_dry_run_is_told_the_size_the_stage_declares() -> None:
    for keys, size in (
        ({}, None),
        ({"max_output": 900}, 900),
        ({"max_output": 900, "expects": {"max_tokens": 700}}, 700),
    ):
        s = session()
        s.ports.answers.append(SUMMARY)
        s.run(asking(**keys))
        assert s.ports.questions[0].declared == size


def test_a_stand_in_skips_the_form_of_an_answer_but_not_its_size() -> None:
    s = session()
    s.ports.answers.append(Reply("word " * 300, assumed=True))
    expects = {"extract": "summary", "sections": ["Goal"], "min_chars": 100_000}
    proposal = s.run(asking(expects=expects))
    assert proposal.calls[0].assumed
    assert s.texts[-1] == ("word " * 300).strip()


def test_a_stand_in_larger_than_its_source_is_cut_for_a_models_would_be_refused() -> None:
    s = session()
    s.ports.answers.append(Reply("word " * 50_000, assumed=True))
    proposal = s.run(asking())
    assert proposal.failure is None
    assert s.scene().tokens < 3_000


# --- reasons


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Reply("half", stop="max_tokens"), "truncated"),
        (Reply("half", stop="model_context_window_exceeded"), "truncated"),
        (Reply("I'd rather not", stop="refusal"), "refusal"),
        (Reply("", stop="tool_use"), "tool_call"),
        (Reply("wait", stop="pause_turn"), "tool_call"),
        (Reply("?", stop="strange"), "invalid"),
        (Reply("  \n "), "empty"),
        (Reply('<function_calls>\n<invoke name="Bash">'), "tool_call"),
        (Reply("word " * 5_000), "larger"),
        (AskFailed("too_long", "prompt is too long"), "too_long"),
        (AskFailed("media", "image too large"), "media"),
        (AskFailed("error", "broken"), "error"),
        (AskFailed("unavailable", "no such model"), "unavailable"),
    ],
)
def test_an_answer_that_cannot_be_used_fails_the_stage_with_its_reason(answer: Any, reason: str) -> None:
    s = session()
    s.ports.answers.append(answer)
    proposal = s.run(asking())
    assert proposal.failure == reason
    assert proposal.edits == ()
    assert [call.problem for call in proposal.calls] == [reason]
    assert s.shown == s.messages


@pytest.mark.parametrize(
    ("expects", "answer", "reason"),
    [
        ({"extract": "summary"}, "no tag at all", "invalid"),
        ({"extract": "summary"}, "<summary>never closed", "truncated"),
        ({"extract": "summary"}, "<summary>  </summary>", "empty"),
        ({"strip": ["analysis"]}, "<analysis>only thoughts</analysis>", "empty"),
        ({"sections": ["Goal", "Files"]}, "# Goal\nx", "invalid"),
        ({"min_chars": 500}, "short", "invalid"),
        ({"max_tokens": 5}, "word " * 50, "invalid"),
    ],
)
def test_what_a_stage_expects_of_an_answer_is_checked(expects: Any, answer: str, reason: str) -> None:
    s = session()
    s.ports.answers.append(answer)
    assert s.run(asking(expects=expects)).failure == reason


def test_sections_that_are_missing_may_be_forgiven() -> None:
    s = session()
    s.ports.answers.append("# Goal\nx")
    s.run(asking(expects={"sections": ["Goal", "Files"], "missing": 1}))
    assert s.texts[-1] == "# Goal\nx"


# --- models and retries


def test_models_are_tried_in_order_until_one_answers() -> None:
    s = session(settings={"summary_model": "claude-haiku-4-5"})
    s.ports.answers += [AskFailed("unavailable", "none"), Reply(""), SUMMARY]
    proposal = s.run(asking(model=["fast", "summary_model", "same"]))
    assert asked(s) == ["fast", "claude-haiku-4-5", "claude-sonnet-4-5"]
    assert [call.problem for call in proposal.calls] == ["unavailable", "empty", None]
    assert s.texts[-1] == SUMMARY


def test_a_model_named_twice_is_asked_once() -> None:
    s = session(settings={"summary_model": "same"})
    assert s.run(asking(model=["summary_model", "same", "claude-sonnet-4-5"])).failure == "unavailable"
    assert asked(s) == ["claude-sonnet-4-5"]


def test_a_summarizer_without_the_apis_own_compaction_is_unavailable_and_the_next_model_is_asked() -> None:
    s = session()
    s.ports.answers += [SUMMARY, SUMMARY]
    proposal = s.run(asking(model=["server", "same"]))
    assert [ask.question.compacts for ask in s.ports.questions] == [True, False]
    assert [call.problem for call in proposal.calls] == ["unavailable", None]


def test_the_apis_own_compaction_is_not_asked_for_where_something_stays_in_front() -> None:
    s = session()
    s.ports.answers.append(SUMMARY)
    proposal = s.run(asking(model=["server", "same"], keep={"oldest": {"messages": 1}}))
    assert [ask.question.compacts for ask in s.ports.questions] == [False]
    assert [(call.model, call.problem) for call in proposal.calls] == [
        ("server", "unavailable"),
        ("claude-sonnet-4-5", None),
    ]


def test_the_failure_told_is_the_last_of_a_model_that_was_there() -> None:
    s = session()
    s.ports.answers += [AskFailed("too_long", "too long"), AskFailed("unavailable", "none")]
    assert s.run(asking(model=["same", "other"])).failure == "too_long"


def test_a_model_that_is_not_there_is_told_even_if_its_window_were_too_small() -> None:
    s = session(*bash("a", "ls", "line of output " * 90_000), *bash("b", "ls", "ok " * 900))
    ladder = [{"remove": {"what": "rounds", "from": "oldest", "excess": True, "share": 0.5}}]
    proposal = s.run(asking(ladder=ladder))
    assert proposal.failure == "unavailable"
    assert len(s.ports.questions) == 1


def test_a_passing_error_is_tried_again_twice() -> None:
    s = session()
    s.ports.answers += [AskFailed("error", "busy", transient=True)] * 2 + [SUMMARY]
    proposal = s.run(asking())
    assert [call.problem for call in proposal.calls] == ["error", "error", None]
    assert [call.paused for call in proposal.calls] == [0.5, 1.0, None]
    assert [effect.seconds for effect in s.ports.effects if isinstance(effect, Pause)] == [0.5, 1.0]


def test_what_the_api_says_about_when_to_come_back_is_heeded() -> None:
    s = session()
    s.ports.answers += [AskFailed("error", "busy", transient=True, retry_after=7.0), SUMMARY]
    assert [call.paused for call in s.run(asking()).calls] == [7.0, None]


def test_who_is_to_wait_too_long_asks_the_next_model() -> None:
    s = session()
    s.ports.answers += [AskFailed("error", "busy", transient=True, retry_after=61.0), SUMMARY]
    proposal = s.run(asking(model=["same", "other"]))
    assert asked(s) == ["claude-sonnet-4-5", "other"]
    assert [call.paused for call in proposal.calls] == [None, None]


def test_the_pauses_grow_to_eight_seconds() -> None:
    s = session()
    s.ports.answers += [AskFailed("error", "busy", transient=True)] * 7
    assert [call.paused for call in s.run(asking(retries=6)).calls] == [0.5, 1.0, 2.0, 4.0, 8.0, 8.0, None]


def test_how_often_a_passing_error_is_tried_again_can_be_said() -> None:
    s = session()
    s.ports.answers += [AskFailed("error", "busy", transient=True), SUMMARY]
    assert s.run(asking(retries=0)).failure == "error"
    assert len(s.ports.questions) == 1


def test_an_error_that_stays_is_not_tried_again() -> None:
    s = session()
    s.ports.answers += [AskFailed("error", "bad key"), SUMMARY]
    assert s.run(asking()).failure == "error"


# --- the writer's own window


def test_a_request_that_does_not_fit_the_writers_window_is_not_sent() -> None:
    s = session(*bash("a", "ls", "line of output " * 90_000))
    proposal = s.run(asking())
    assert proposal.failure == "too_long"
    assert s.ports.questions == []
    assert proposal.calls == ()
    assert proposal.remarks["unsent"] == 1


def test_a_smaller_model_is_passed_over_for_one_whose_window_is_large_enough() -> None:
    s = session(*bash("a", "ls", "line of output " * 90_000), model="claude-opus-4-6", window=1_000_000)
    s.ports.answers.append(SUMMARY)
    s.run(asking(model=["claude-haiku-4-5", "same"]))
    assert asked(s) == ["claude-opus-4-6"]


def test_a_model_nobody_knows_is_asked_whatever_its_window_may_be() -> None:
    s = session(*bash("a", "ls", "line of output " * 90_000))
    s.ports.answers.append(SUMMARY)
    s.run(asking(model=["fast"]))
    assert asked(s) == ["fast"]


def test_the_ladder_also_helps_a_request_that_was_not_sent() -> None:
    s = session(*bash("a", "ls", "line of output " * 90_000), *bash("b", "ls", "ok " * 900))
    s.ports.answers.append(SUMMARY)
    ladder = [{"remove": {"what": "rounds", "from": "oldest", "excess": True, "share": 0.5}}]
    proposal = s.run(asking(ladder=ladder))
    assert proposal.remarks["rung"] == 1
    assert proposal.remarks["dropped"] == [1, 2, 3]
    assert sizes(s) == [3]


# --- the ladder


def test_a_rung_is_tried_only_for_its_reasons() -> None:
    s = session()
    s.ports.answers += [AskFailed("error", "broken"), SUMMARY]
    ladder = [{"remove": {"what": "rounds", "from": "oldest", "count": 1}}]
    assert s.run(asking(ladder=ladder)).failure == "error"
    assert len(s.ports.questions) == 1


def test_rounds_go_oldest_first_and_each_repeat_goes_on_from_the_last() -> None:
    s = session()
    s.ports.answers += [AskFailed("too_long", "too long")] * 3 + [SUMMARY]
    ladder = [{"remove": {"what": "rounds", "from": "oldest", "share": 0.3}, "times": 3}]
    proposal = s.run(asking(ladder=ladder))
    # Seven groups (the request, six rounds): two go, then one of five, then one of four. The front gets
    # a marker.
    assert sizes(s) == [13, 11, 9, 7]
    assert proposal.remarks["dropped"] == [1, 2, 3, 4, 5, 6, 7]
    assert proposal.remarks["rung"] == 1
    assert [call.rung for call in proposal.calls] == [0, 1, 1, 1]


def test_the_host_is_told_what_a_writer_could_not_see() -> None:
    s = session()
    s.ports.answers += [AskFailed("too_long", "too long")] * 2 + [SUMMARY]
    ladder = [
        {"remove": {"what": "tool_results", "from": "oldest", "count": 2}},
        {"remove": {"what": "rounds", "from": "oldest", "count": 2}},
    ]
    proposal = s.run(asking(ladder=ladder))
    assert [(notice.level, notice.text) for notice in proposal.notices] == [
        (
            "warning",
            "the summary was written without 3 of the messages it replaces: they did not fit the writer",
        )
    ]


def test_a_list_that_would_begin_with_the_assistant_gets_a_marker_of_the_user() -> None:
    s = session()
    s.ports.answers += [AskFailed("too_long", "too long"), SUMMARY]
    s.run(asking(ladder=[{"remove": {"what": "rounds", "from": "oldest", "count": 2}}]))
    request = s.ports.questions[1].question.request
    assert request is not None
    assert request.messages[0]["role"] == "user"
    assert request.messages[1]["role"] == "assistant"


def test_what_the_error_reports_as_too_much_is_taken_out() -> None:
    s = session()
    each = s.items[1].total + s.items[2].total
    s.ports.answers += [AskFailed("too_long", "too long", excess_tokens=each * 2), SUMMARY]
    ladder = [{"remove": {"what": "rounds", "from": "oldest", "excess": True, "share": 0.1}}]
    proposal = s.run(asking(ladder=ladder))
    assert proposal.remarks["dropped"] == [1, 2, 3, 4, 5]


def test_what_usage_tells_of_the_size_counts_for_the_excess_too() -> None:
    s = session(usage=12_000, window=10_000)
    s.ports.answers.append(SUMMARY)
    ladder = [{"remove": {"what": "rounds", "from": "oldest", "excess": True, "share": 0.5}}]
    proposal = s.run(asking(ladder=ladder, max_output=1_000))
    # The view is far smaller by the estimate than by its usage; as much as fits is shown all the same.
    assert sum(item.total for item in s.path) < 3_000
    assert 7_000 < proposal.remarks["input_tokens"] < 9_000


def test_without_a_reported_excess_the_amount_given_counts() -> None:
    s = session()
    s.ports.answers += [AskFailed("too_long", "too long"), SUMMARY]
    ladder = [{"remove": {"what": "rounds", "from": "oldest", "excess": True, "count": 2}}]
    assert s.run(asking(ladder=ladder)).remarks["dropped"] == [1, 2, 3]


def test_one_round_always_stays() -> None:
    s = session()
    s.ports.answers += [AskFailed("too_long", "too long")] * 9
    ladder = [{"remove": {"what": "rounds", "from": "oldest", "share": 1}, "times": 5}]
    assert s.run(asking(ladder=ladder)).failure == "too_long"
    assert sizes(s) == [13, 3]


def test_single_messages_go_with_what_belongs_to_them() -> None:
    s = session()
    s.ports.answers += [AskFailed("too_long", "too long")] * 2 + [SUMMARY]
    ladder = [{"remove": {"what": "messages", "from": "oldest", "count": 1}, "times": 5}]
    s.run(asking(ladder=ladder))
    shown = [ask.question.request for ask in s.ports.questions]
    assert [len(request.messages) for request in shown if request is not None] == [13, 13, 11]


def test_results_are_emptied_from_the_middle_outwards_and_keep_their_calls() -> None:
    s = session()
    s.ports.answers += [AskFailed("too_long", "too long"), SUMMARY]
    ladder = [{"remove": {"what": "tool_results", "from": "middle", "share": 0.34}}]
    proposal = s.run(asking(ladder=ladder))
    request = s.ports.questions[1].question.request
    assert request is not None
    emptied = [
        at
        for at, message in enumerate(request.messages)
        if "'content': '[left out]'" in str(message["content"])
    ]
    assert emptied == [6, 8]
    assert proposal.remarks["results_left_out"] == 2


def test_the_newest_can_be_taken_first() -> None:
    s = session()
    s.ports.answers += [AskFailed("too_long", "too long"), SUMMARY]
    ladder = [{"remove": {"what": "rounds", "from": "newest", "tokens": 10}}]
    assert s.run(asking(ladder=ladder)).remarks["dropped"] == [12, 13]


def test_strings_are_cut_to_a_share_of_the_longest_again_and_again() -> None:
    s = session()
    s.ports.answers += [AskFailed("too_long", "too long")] * 2 + [SUMMARY]
    ladder = [{"clip": {"tool_result": {"share": 0.5}}, "times": 4}]
    s.run(asking(ladder=ladder))
    longest = [
        max(len(block["content"]) for message in ask.question.request.messages for block in _results(message))
        for ask in s.ports.questions
        if ask.question.request is not None
    ]
    assert longest[0] == 1200
    assert 600 <= longest[1] < 700
    assert 300 <= longest[2] < 400


def _results(message: Any) -> list[Any]:
    content = message["content"]
    return [] if isinstance(content, str) else [block for block in content if block["type"] == "tool_result"]


def test_media_go_on_a_rung_of_their_own() -> None:
    s = session(*read("a", "x.png", [image()]), *bash("b", "ls", "ok " * 900))
    s.ports.answers += [AskFailed("media", "image too large"), SUMMARY]
    s.run(asking(ladder=[{"for": ["media"], "media": "names"}]))
    before, after = (str(ask.question.request) for ask in s.ports.questions)
    assert "base64" in before
    assert "base64" not in after
    assert "[image: image/png]" in after


def test_a_rung_goes_back_to_the_shortened_texts() -> None:
    s = session()
    cut = {"id": "cut", "kind": "replace", "select": {"blocks": ["tool_result"]}, "text": "[cleared]"}
    s.run(cut)
    s.append(bash("z", "ls", "ok " * 900))
    s.ports.answers += [AskFailed("too_long", "too long"), SUMMARY]
    known = replace(s.scene().history, index=StageIndex.of([stage_of(cut)]))
    s.propose(asking(input={"originals": True}, ladder=[{"originals": False}]), history=known)
    before, after = (str(ask.question.request) for ask in s.ports.questions)
    assert "line of output" in before
    assert "line of output" not in after
    assert "[cleared]" in after


def test_each_rung_starts_from_the_plain_input() -> None:
    s = session()
    s.ports.answers += [AskFailed("too_long", "too long")] * 2 + [SUMMARY]
    ladder = [
        {"remove": {"what": "rounds", "from": "oldest", "count": 3}},
        {"remove": {"what": "rounds", "from": "newest", "count": 1}},
    ]
    proposal = s.run(asking(ladder=ladder))
    assert proposal.remarks["rung"] == 2
    assert proposal.remarks["dropped"] == [12, 13]


def test_a_rung_that_changes_nothing_is_not_asked() -> None:
    s = session()
    s.ports.answers += [AskFailed("too_long", "too long"), SUMMARY]
    assert s.run(asking(ladder=[{"media": "drop"}])).failure == "too_long"
    assert len(s.ports.questions) == 1


def test_every_model_gets_the_whole_ladder() -> None:
    s = session()
    s.ports.answers += [AskFailed("too_long", "too long")] * 4
    ladder = [{"remove": {"what": "rounds", "from": "oldest", "count": 1}}]
    s.run(asking(model=["same", "other"], ladder=ladder))
    assert asked(s) == ["claude-sonnet-4-5"] * 2 + ["other"] * 2


# --- instructions, previous, pending


def manual(words: str) -> Facts:
    return Facts(request=ManualRequest(instructions=words), memory=[{"path": "NOTES.md", "content": MEMORY}])


MEMORY = (
    "# Style\nTabs.\n\n## Compact instructions\nKeep test names.\n### Really\nAll of them.\n## Other\nNo.\n"
)


def test_instructions_come_in_the_order_the_stage_says() -> None:
    s = session()
    s.ports.hooks["before_summary"] = HookReply(instructions="Name the branch.")
    s.ports.answers.append(SUMMARY)
    wishes = [
        {"from": "user", "max_chars": 9},
        {"from": "hook"},
        {"from": "memory", "section": "compact instructions"},
        {"text": "Be {{ event }}."},
    ]
    s.run(
        asking(prompt="Wishes: {{ instructions }}", instructions=wishes), "manual", manual("Keep it short.")
    )
    assert s.ports.questions[0].question.prompt == (
        "Wishes: Keep it s\n\nName the branch.\n\nKeep test names.\n### Really\nAll of them.\n\nBe manual."
    )


def test_what_a_hook_adds_is_left_out_where_the_stage_does_not_ask_for_it() -> None:
    s = session()
    s.ports.hooks["before_summary"] = HookReply(instructions="Name the branch.")
    s.ports.answers.append(SUMMARY)
    s.run(asking(prompt="Wishes: {{ instructions }}."))
    assert s.ports.questions[0].question.prompt == "Wishes: ."


def summed_up_twice(**keys: Any) -> Session:
    """A session whose summary was followed by more work, and summed up again."""
    s = session()
    s.ports.answers += ["First.", "Second."]
    s.run(asking(**keys))
    s.append(bash("z", "ls", "ok " * 900))
    s.run(asking(**keys))
    return s


def test_an_earlier_summary_stays_in_the_input_and_is_told_without_its_wrapper() -> None:
    s = summed_up_twice(
        prompt="Before: {{ previous }}.", wrapper="Summed up:\n<s>\n{{ summary }}\n</s>\nGo on."
    )
    question = s.ports.questions[1].question
    assert unfenced(question.prompt) == "Before: First.."
    assert question.request is not None
    assert [message["content"] for message in question.request.messages[:2]] == [
        "Find the leak.",
        "Summed up:\n<s>\nFirst.\n</s>\nGo on.",
    ]
    assert s.texts[-1] == "Summed up:\n<s>\nSecond.\n</s>\nGo on."


def test_an_earlier_summary_can_be_kept_apart() -> None:
    s = summed_up_twice(prompt="Before: {{ previous }}.", previous="apart")
    question = s.ports.questions[1].question
    assert unfenced(question.prompt) == "Before: First.."
    assert "First." not in str(question.request)


HOSTS_OWN = "Continued from before.\n\nAnalysis:\nLet me think.\n\nSummary:\n1. Goal: mend it.\n"


def test_thoughts_a_host_left_in_front_of_its_own_summary_are_not_told_again() -> None:
    s = Session([user(HOSTS_OWN), *bash("a", "ls", "ok " * 900)], infos=[Info(origin="summary")])
    s.ports.answers.append(SUMMARY)
    s.run(asking(prompt="Before: {{ previous }}"))
    assert unfenced(s.ports.questions[0].question.prompt) == (
        "Before: Continued from before.\n\nSummary:\n1. Goal: mend it."
    )


def test_a_template_is_told_the_words_a_model_wrote_and_not_its_own() -> None:
    written = stage_of(asking(id="written"))
    filled = stage_of({"id": "filled", "kind": "summarize", "text": "Filled. Before: {{ previous }}."})
    index = StageIndex.of([written, filled])
    s = session()
    s.ports.answers.append("A model's words.")
    for stage in (written, filled, filled):
        s.run(stage, history=replace(s.scene().history, index=index))
        s.append(bash("z", "ls", "ok " * 900))
    summaries = [text for text, item in zip(s.texts, s.items, strict=True) if item.origin == "summary"]
    assert summaries == ["Filled. Before: A model's words.."]


def test_the_open_request_is_pending_until_it_is_answered() -> None:
    stage = asking(prompt="Open: {{ pending }}.")
    for last, words in (([], "Find the leak."), ([says("Done.")], "")):
        s = session()
        s.append(last)
        s.ports.answers.append(SUMMARY)
        s.run(stage)
        assert s.ports.questions[0].question.prompt == f"Open: {words}."


# --- review


def test_a_second_call_may_better_the_text() -> None:
    s = session()
    s.ports.answers += ["First try.", "Better."]
    proposal = s.run(asking(review={"prompt": "Criticise: {{ summary }}", "model": ["other"]}))
    assert [(call.model, call.purpose) for call in proposal.calls] == [
        ("claude-sonnet-4-5", "summary"),
        ("other", "review"),
    ]
    assert unfenced(s.ports.questions[1].question.prompt) == "Criticise: First try."
    assert s.texts[-1] == "Better."


def test_a_review_that_fails_leaves_the_first_text() -> None:
    s = session()
    s.ports.answers += ["First try.", Reply("cut", stop="max_tokens")]
    proposal = s.run(asking(review={"prompt": "Criticise: {{ summary }}"}))
    assert s.texts[-1] == "First try."
    assert proposal.remarks["review"] == "the answer stopped with max_tokens"


# --- ground


def test_facts_the_text_left_out_are_appended() -> None:
    facts = {"files": {"key": "path", "from": [{"tools": ["read"], "take": {"path": "/file_path"}}]}}
    s = Session(
        [
            user("Find the leak."),
            *read("a", "src/pool.py", "x " * 900),
            *read("b", "src/main.py", "y " * 900),
        ],
        tools={"read": ["Read"]},
        fact_rules=facts,
    )
    s.ports.answers.append("The leak is in src/pool.py.")
    proposal = s.run(asking(ground={"facts": ["files"]}))
    assert (
        s.texts[-1] == "The leak is in src/pool.py.\n\nAlso on record (files; origin: assistant): src/main.py"
    )
    assert proposal.remarks["grounded"] == {"files": 1}


def test_a_section_gets_the_users_words_themselves() -> None:
    s = session()
    s.ports.answers.append("# User messages\nThe user wanted something.\n\n# Next\nGo on.")
    s.run(asking(ground={"sections": {"User messages": "user_messages"}}))
    assert s.texts[-1] == "# User messages\n> Find the leak.\n\n# Next\nGo on."


def test_grounding_stays_within_its_budget() -> None:
    errors = [results(("x", f"error number {n} " * 20), error=True) for n in range(30)]
    given = [m for n, e in enumerate(errors) for m in (bash("x", f"run {n}", "")[0], e)]
    s = Session([user("Go."), *given])
    s.ports.answers.append("Short.")
    s.run(asking(ground={"facts": ["errors"], "budget": {"items": 2}}))
    assert s.texts[-1].count("\n- error number") == 2
    assert "error number 29" in s.texts[-1]
    assert "- and 28 more" in s.texts[-1]


def test_a_long_message_leaves_room_for_the_others() -> None:
    s = Session(
        [
            user("long " * 4_000),
            *bash("a", "ls", "ok " * 900),
            user("> quoted\nshort"),
            *bash("b", "ls", "ok"),
        ]
    )
    s.ports.answers.append("# User messages\n\n# Next\nGo on.")
    sections = {"User messages": "user_messages"}
    proposal = s.run(asking(ground={"sections": sections, "budget": {"tokens": 400}}))
    assert proposal.remarks["grounded"] == {"user_messages": 2}
    body = s.texts[-1].split("\n\n# Next")[0]
    assert "> long long" in body
    assert "characters left out" in body
    assert body.endswith("\n\n> > quoted\n> short")
    assert estimate(body) < 400


def test_the_edit_covers_what_the_remarks_say() -> None:
    s = session()
    s.ports.answers.append(SUMMARY)
    proposal = s.propose(asking())
    assert proposal.remarks["range"] == [[1, 13]]
    assert [type(edit) for edit in proposal.edits] == [Cover]
    assert all(isinstance(effect, Ask) for effect in s.ports.questions)


# --- kinds of blocks that a rung leaves out


def test_a_rung_may_leave_out_kinds_of_blocks() -> None:
    s = session()
    s.ports.answers += [AskFailed("too_long", "too long"), SUMMARY]
    proposal = s.run(asking(ladder=[{"without": ["tool_result"]}]))
    assert len(proposal.remarks["shortened"]) == 6
    request = s.ports.questions[1].question.request
    assert request is not None
    assert "line of output" not in str(request.messages)
    assert "run c" in str(request.messages)


def test_a_rung_that_finds_nothing_to_leave_out_costs_no_call() -> None:
    s = session()
    s.ports.answers += [AskFailed("too_long", "too long"), SUMMARY]
    assert s.run(asking(ladder=[{"without": ["thinking"]}])).failure == "too_long"
    assert len(s.ports.questions) == 1


def test_what_was_left_out_is_named_in_front_of_the_text_and_counts_for_its_size() -> None:
    s = session()
    s.ports.answers += [AskFailed("too_long", "too long"), SUMMARY]
    s.run(asking(ladder=[{"remove": {"what": "rounds", "from": "oldest", "count": 2}}]))
    assert s.texts[-1] == (
        f"[Not read for this text, for want of room: messages 1–3 of the 13 it stands for.]\n\n{SUMMARY}"
    )


def test_an_excess_is_told_on_the_scale_of_the_api() -> None:
    s = session()
    told = AskFailed("too_long", "too long", 1000, size_tokens=10_000_000)
    s.ports.answers += [told, SUMMARY]
    ladder = [{"remove": {"what": "rounds", "from": "oldest", "excess": True, "share": 0.9}}]
    assert len(s.run(asking(ladder=ladder)).remarks["dropped"]) <= 3
