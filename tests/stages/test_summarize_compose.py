from __future__ import annotations

from typing import Any

from tests.scenes import Session, bash, calls, image, results, says, user

from trimtab.conversation.request import Info
from trimtab.effects import AskFailed
from trimtab.facts import Facts
from trimtab.policy.proposal import Cover, Place

USERS = {"part": "messages", "select": {"origins": ["user"]}}


def talk(*texts: str) -> list[Any]:
    """Turns of a user's text, a round and an answer."""
    return [
        message
        for number, text in enumerate(texts)
        for message in (
            user(text),
            *bash(f"c{number}", f"run {number}", "out " * 300),
            says(f"answer {number}"),
        )
    ]


def composing(*parts: Any, **keys: Any) -> dict[str, Any]:
    return {"kind": "summarize", "text": "SUMMARY", "compose": list(parts), **keys}


# --- messages


def test_user_messages_stay_word_for_word_before_the_summary() -> None:
    s = Session(talk("one", "two", "three"))
    s.run(composing(USERS, {"part": "summary"}))
    assert s.texts == ["one", "two", "three", "SUMMARY"]
    assert [item.origin for item in s.items] == ["user", "user", "user", "summary"]


def test_messages_may_stand_behind_the_summary_and_none_is_shown_twice() -> None:
    s = Session(talk("one", "two", "three"))
    s.run(composing({"part": "summary"}, USERS))
    assert s.texts == ["SUMMARY", "one", "two", "three"]


def test_two_parts_never_show_the_same_message() -> None:
    s = Session(talk("one", "two", "three"))
    first = {**USERS, "keep": {"oldest": {"messages": 1}}}
    s.run(composing(first, {"part": "summary"}, USERS))
    assert s.texts == ["one", "SUMMARY", "two", "three"]


def test_a_budget_keeps_the_oldest_and_the_newest_with_a_gap_between() -> None:
    s = Session(talk("one", "two", "three", "four", "five"))
    part = {
        **USERS,
        "keep": {"oldest": {"messages": 1}, "newest": {"messages": 2}},
        "gap": "[{{ event }} gap]",
    }
    s.run(composing(part, {"part": "summary"}))
    assert s.texts == ["one", "[before_request gap]", "four", "five", "SUMMARY"]
    assert s.items[1].origin == "note"


def test_without_anything_left_out_there_is_no_gap() -> None:
    s = Session(talk("one", "two"))
    part = {**USERS, "keep": {"oldest": {"messages": 1}, "newest": {"messages": 2}}, "gap": "[gap]"}
    s.run(composing(part, {"part": "summary"}))
    assert s.texts == ["one", "two", "SUMMARY"]


def test_a_message_at_the_edge_of_a_budget_is_cut() -> None:
    s = Session(talk("a" * 600, "two", "three"))
    part = {**USERS, "keep": {"newest": {"chars": {"at_most": 300}}}, "partial": True}
    s.run(composing(part, {"part": "summary"}))
    cut, *rest = s.texts
    assert rest == ["two", "three", "SUMMARY"]
    assert len(cut) <= 300 - len("twothree")
    assert "characters left out" in cut


def test_without_partial_a_message_over_the_budget_is_left_out() -> None:
    s = Session(talk("a" * 600, "two", "three"))
    s.run(composing({**USERS, "keep": {"newest": {"chars": {"at_most": 300}}}}, {"part": "summary"}))
    assert s.texts == ["two", "three", "SUMMARY"]


def test_the_last_user_message_is_shown_whole_where_a_budget_would_cut_it() -> None:
    s = Session(talk("one", "b" * 600))
    part = {**USERS, "keep": {"newest": {"chars": {"at_most": 300}}}, "partial": True}
    s.run(composing(part, {"part": "summary"}))
    assert s.texts == ["b" * 600, "SUMMARY"]


def test_originals_an_earlier_summary_took_are_shown_again() -> None:
    s = Session(talk("one", "two"))
    s.run({"kind": "summarize", "text": "FIRST"})
    assert s.texts == ["two", "FIRST"]
    s.append(talk("three"))
    s.run(composing(USERS, {"part": "summary"}))
    assert s.texts == ["one", "two", "three", "SUMMARY"]


def test_originals_stay_as_a_stage_has_left_them() -> None:
    s = Session(talk("one token-1234", "two"))
    redact = {"id": "redact", "kind": "replace", "select": {"blocks": ["text"], "origins": ["user"]}}
    s.run({**redact, "pattern": "token-[0-9]+", "text": "[key]"})
    s.run({"kind": "summarize", "text": "FIRST"})
    s.append(talk("three"))
    s.run(composing(USERS, {"part": "summary"}))
    assert s.texts == ["one [key]", "two", "three", "SUMMARY"]


def test_pinned_messages_are_not_copied() -> None:
    s = Session(talk("one", "two", "three"), infos=[*[None] * 4, Info(pinned=True)])
    s.run(composing(USERS, {"part": "summary"}))
    assert s.texts == ["two", "one", "three", "SUMMARY"]


def test_media_of_kept_messages_can_be_named() -> None:
    s = Session([{"role": "user", "content": [{"type": "text", "text": "look"}, image()]}, *talk("two")])
    s.run(composing({**USERS, "media": "names"}, {"part": "summary"}))
    assert s.texts[0] == "look|[image: image/png]"


def test_copies_carry_no_cache_marks_and_no_thinking() -> None:
    marked = {"type": "text", "text": "one", "cache_control": {"type": "ephemeral"}}
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    s = Session(
        [
            {"role": "user", "content": [marked]},
            {"role": "assistant", "content": [thought, {"type": "text", "text": "yes"}]},
            *talk("two"),
        ]
    )
    part = {
        "part": "messages",
        "select": {"origins": ["user", "assistant"], "none": [{"blocks": ["tool_use"]}]},
    }
    s.run(composing(part, {"part": "summary"}))
    assert "cache_control" not in str(s.shown)
    assert "signature" not in str(s.shown)
    assert s.texts[:2] == ["one", "yes"]


def test_calls_stay_with_their_results_or_not_at_all() -> None:
    s = Session(talk("one", "two"))
    s.run(composing({"part": "messages", "select": {"origins": ["tool"]}}, {"part": "summary"}))
    assert s.texts == ["two", "SUMMARY"]
    both = Session(talk("one " * 900, "two"))
    both.run(
        composing({"part": "messages", "select": {"origins": ["tool", "assistant"]}}, {"part": "summary"})
    )
    assert [len(item.uses) for item in both.items] == [0, 1, 0, 0, 0, 1, 0, 0, 0]
    assert [len(item.results) for item in both.items] == [0, 0, 1, 0, 0, 0, 1, 0, 0]


def test_the_last_user_message_stands_before_the_work_that_is_kept_of_it() -> None:
    s = Session(talk("one " * 900, "two"))
    s.run(composing({"part": "messages", "select": {"origins": ["assistant"], "concluding": True}}))
    assert s.texts[-3:] == ["answer 0", "two", "answer 1"]


def test_a_last_user_message_beside_results_is_shown_without_them() -> None:
    mixed = results(("a", "out " * 300))
    mixed = {**mixed, "content": [*mixed["content"], {"type": "text", "text": "And hurry."}]}
    s = Session([user("one"), calls(("a", "Bash", {})), mixed, *bash("b", "ls", "out " * 300)])
    s.run({"kind": "summarize", "text": "SUMMARY"})
    assert s.texts == ["And hurry.", "SUMMARY"]


# --- other parts


def test_texts_roles_and_conditions() -> None:
    s = Session(talk("one", "two"))
    s.run(
        composing(
            {"part": "text", "text": "Before.", "when": {"event": ["manual"]}},
            {"part": "summary"},
            {
                "part": "text",
                "role": "assistant",
                "text": "Understood.",
                "when": {"event": ["before_request"]},
            },
        )
    )
    assert [(m["role"], m["content"]) for m in s.shown] == [
        ("user", "two"),
        ("user", "SUMMARY"),
        ("assistant", "Understood."),
    ]


def test_what_the_assistant_is_made_to_say_is_no_earlier_summary() -> None:
    s = Session(talk("one"))
    understood = {"part": "text", "role": "assistant", "text": "Understood."}
    stage = composing({"part": "summary"}, understood, text="{{ previous }}!")
    s.run(stage)
    s.append(talk("two"))
    s.run(stage)
    assert s.texts == ["two", "!!", "Understood."]


def test_a_wrapper_knows_what_stands_around_it() -> None:
    s = Session(talk("one", "two", "three"))
    wrapper = "{{ summary }} {{ direction }} {{ has_tail }} {{ transcript_path }}"
    s.run(
        {"kind": "summarize", "text": "SUMMARY", "wrapper": wrapper, "keep": {"newest": {"turns": 1}}},
        facts=Facts(transcript_path="/logs/session.jsonl"),
    )
    assert s.texts[:3] == ["two", "SUMMARY up_to true /logs/session.jsonl", "three"]


def test_what_is_listed_before_the_head_and_behind_the_tail_stands_there() -> None:
    s = Session(talk("one", "two", "three"))
    stage = composing(
        {"part": "text", "text": "FRONT"},
        {"part": "head"},
        {"part": "summary"},
        {"part": "tail"},
        {"part": "text", "text": "BACK"},
        keep={"oldest": {"messages": 4}, "newest": {"turns": 1}},
    )
    proposal = s.run(stage)
    assert [type(edit) for edit in proposal.edits] == [Cover, Place, Place]
    assert s.texts[0] == "FRONT"
    assert s.texts[-1] == "BACK"
    assert s.texts[1] == "one"
    assert s.texts[5:7] == ["two", "SUMMARY"]


def test_without_a_summary_part_no_model_is_asked() -> None:
    s = Session(talk("one", "two"))
    s.ports.answers.append(AskFailed("error", "nobody should ask"))
    s.run({"kind": "summarize", "prompt": "Sum it up.", "compose": [USERS]})
    assert s.texts == ["one", "two"]
    assert s.ports.questions == []


def test_what_stays_must_be_smaller_than_what_goes() -> None:
    s = Session([user("word " * 900), says("ok")])
    s.ports.answers.append("Short.")
    proposal = s.propose(
        {"kind": "summarize", "prompt": "Sum it up.", "compose": [USERS, {"part": "summary"}]}
    )
    assert proposal.refused
    assert s.ports.questions == []


def test_a_ledger_needs_no_model_and_knows_only_what_the_range_holds() -> None:
    s = Session(talk("one", "two", "three"))
    ledger = "{% for message in facts.user_messages %}<{{ message.text }}>{% endfor %}"
    s.run({"kind": "summarize", "text": ledger, "keep": {"newest": {"turns": 1}}})
    assert s.texts[:3] == ["two", "<one><two>", "three"]
    assert s.ports.questions == []


def test_what_stands_in_front_of_the_head_is_put_there_once() -> None:
    s = Session(talk("one", "two", "three", "four"))
    compose = [{"part": "text", "text": "F"}, {"part": "head"}, {"part": "summary"}, {"part": "tail"}]
    stage = {"kind": "summarize", "text": "S", "keep": {"oldest": {"messages": 3}}, "compose": compose}
    assert s.run(stage).edits
    s.append(talk("five", "six"))
    assert s.run(stage).edits
    assert [item.message["content"] for item in s.items].count("F") == 1
