"""Group A of the field reports, through a whole run: whatever list comes in, what goes out is accepted."""

from __future__ import annotations

from typing import Any

import pytest
from tests.faults.support import (
    BOUND,
    CLEAR,
    MODEL,
    NOTHING,
    SUM_UP,
    accepted,
    assistant,
    blocks,
    bodies,
    call,
    codes,
    engine_of,
    every_block,
    loop,
    result,
    round_of,
    rounds,
    run,
    shown,
    stages,
    text,
    user,
    verdict,
)
from tests.validity.support import thinking

from trimtab.validity.pairs import INTERRUPTED

KEEP_ONE = stages(
    "{id: cut, kind: drop, select: {origins: [assistant, tool]}, keep: {newest: {messages: 1}}}",
)


def test_a1_a_keep_of_one_message_moves_to_a_whole_round() -> None:
    outcome = run(KEEP_ONE, loop(4))
    assert verdict(outcome, "cut") == "committed"
    assert {b["id"] for b in blocks(outcome, "tool_use")} == {
        b["tool_use_id"] for b in blocks(outcome, "tool_result")
    }
    assert len(blocks(outcome, "tool_use")) == 1


@pytest.mark.parametrize("kept", range(1, 9))
def test_a1_no_number_of_kept_messages_parts_a_call_from_its_result(kept: int) -> None:
    outcome = run(SUM_UP.replace("{rounds: 2}", f"{{messages: {kept}}}"), loop(5, 3000))
    assert verdict(outcome, "sum-up") == "committed"
    calls = [block["id"] for block in blocks(outcome, "tool_use")]
    assert calls == [block["tool_use_id"] for block in blocks(outcome, "tool_result")]


def test_a1_a_list_that_was_saved_broken_is_mended_in_every_later_run_with_the_same_bytes() -> None:
    session = engine_of(NOTHING).session()
    broken = [user("go on"), user(result("lost")), assistant("so"), user("and?")]
    first = run(session, broken)
    assert codes(first) == ["repaired"]
    again = run(session, broken)
    assert bodies(first) == bodies(again)
    assert again.receipt.totals.commits == 0


def test_a2_a_batch_of_three_goes_or_stays_whole() -> None:
    names = ["p0", "p1", "p2"]
    batch = [assistant(*map(call, names)), user(*(result(name, "x " * 2000) for name in names))]
    for kept, left in ((1, []), (2, names), (3, names)):
        outcome = run(SUM_UP.replace("{rounds: 2}", f"{{messages: {kept}}}"), [*loop(3, 3000), *batch])
        assert [block["id"] for block in blocks(outcome, "tool_use")] == left
        assert [block["tool_use_id"] for block in blocks(outcome, "tool_result")] == left


def test_a2_an_interrupted_batch_gets_an_error_result_and_nothing_invented() -> None:
    outcome = run(NOTHING, [user("q"), assistant(call("x"), call("y")), user(result("x")), user("go on")])
    lost = [block for block in blocks(outcome, "tool_result") if block["tool_use_id"] == "y"]
    assert lost == [result("y", INTERRUPTED, is_error=True)]


def test_a3_a_call_that_waits_for_approval_is_not_summarized_away() -> None:
    session = engine_of(SUM_UP).session()
    waiting = [*loop(6, 3000), assistant(call("approve", "Bash", command="deploy"))]
    outcome = run(session, waiting, "manual")
    assert verdict(outcome, "sum-up") == "committed"
    assert blocks(outcome, "tool_use")[-1]["id"] == "approve"
    later = run(session, [*waiting, user(result("approve", "deployed"))])
    assert blocks(later, "tool_result")[-1] == result("approve", "deployed")


def test_a3_a_dead_call_of_a_crashed_worker_does_not_switch_compaction_off() -> None:
    dead = [user("start"), assistant(call("dead")), user("are you there?"), *rounds(6, 3000)]
    outcome = run(SUM_UP, dead)
    assert verdict(outcome, "sum-up") == "committed"
    assert "repaired" in codes(outcome)


def test_a4_ids_used_again_in_each_turn_clear_the_right_one() -> None:
    again = [
        m for n in range(3) for m in (user(f"turn {n}"), *round_of("functions.read:0", f"result {n} " * 30))
    ]
    outcome = run(CLEAR, again)
    contents = [block["content"] for block in blocks(outcome, "tool_result")]
    assert contents == ["[cleared]", "[cleared]", "result 2 " * 30]
    names = [block["id"] for block in blocks(outcome, "tool_use")]
    assert len(set(names)) == 3
    assert names == [block["tool_use_id"] for block in blocks(outcome, "tool_result")]


def test_a4_of_two_results_of_an_abort_the_good_one_goes_out() -> None:
    twice = [
        user("q"),
        assistant(call("x")),
        user(result("x", "aborted", is_error=True)),
        user(result("x", "good")),
    ]
    assert blocks(run(NOTHING, twice), "tool_result") == [result("x", "good")]


@pytest.mark.parametrize("place", ["end", "start", "after_summary"])
def test_a5_an_attached_text_never_stands_before_a_tool_result(place: str) -> None:
    pack = SUM_UP + (
        f"  - {{id: reminder, kind: attach, place: {place}, when: {{committed: [sum-up]}}, "
        f"from: [{{text: 'Mind the gap.'}}]}}\n"
    )
    outcome = run(pack, loop(6, 3000))
    assert verdict(outcome, "reminder") == "committed"
    accepted(outcome)


def test_a5_a_text_attached_to_each_result_message_stands_behind_its_results() -> None:
    pack = stages(
        "{id: ids, kind: attach, place: each, select: {origins: [tool]}, from: [{text: '[id:{{ id }}]'}]}"
    )
    outcome = run(pack, loop(2))
    for message in shown(outcome):
        if message["role"] == "user" and isinstance(message["content"], list):
            kinds = [block["type"] for block in message["content"]]
            assert kinds == sorted(kinds, key=lambda kind: kind != "tool_result")


def test_a6_a_list_that_begins_with_the_assistant_is_given_a_user_message() -> None:
    outcome = run(NOTHING, [assistant("hello"), user("q")])
    assert shown(outcome)[0]["role"] == "user"


def test_a6_a_request_never_ends_with_the_assistant_where_no_prefill_is_taken() -> None:
    outcome = run(NOTHING, [user("q"), assistant("a")], model="claude-opus-4-6")
    assert shown(outcome)[-1]["role"] == "user"
    assert shown(run(NOTHING, [user("q"), assistant("a")]))[-1] == assistant("a")


def test_a6_a_tool_loop_under_one_question_still_shrinks() -> None:
    outcome = run(SUM_UP, loop(40, 3000))
    assert verdict(outcome, "sum-up") == "committed"
    assert outcome.receipt.totals.tokens.after < outcome.receipt.totals.tokens.before / 5


def test_a6_a_summary_of_everything_leaves_no_empty_list() -> None:
    outcome = run(SUM_UP.replace("keep: {newest: {rounds: 2}}, ", ""), loop(6, 3000))
    assert shown(outcome)
    assert shown(outcome)[-1]["role"] == "user"


def test_a7_blank_texts_go_and_roles_are_mended() -> None:
    outcome = run(NOTHING, [user("q"), assistant(text(" ")), user(text(""), text("really"))])
    assert [block["text"] for block in every_block(outcome.request.messages)] == ["q", "really"]


def test_a7_a_message_all_of_whose_blocks_are_dropped_goes_too() -> None:
    pack = stages("{id: strip, kind: drop, select: {blocks: [text], origins: [assistant]}}")
    outcome = run(pack, [user("q"), assistant(text("only words")), user("on"), assistant("b"), user("last")])
    assert all(message["content"] for message in shown(outcome))


def test_a7_a_summary_that_renders_to_nothing_replaces_nothing() -> None:
    session = engine_of(SUM_UP.replace("'What was done: a great deal.'", "'{{ previous }} '")).session()
    messages = loop(6, 3000)
    outcome = run(session, messages)
    assert verdict(outcome, "sum-up") in ("failed", "refused")
    assert shown(outcome) == messages


def signed(count: int) -> list[Any]:
    out: list[Any] = [user("think hard")]
    for number in range(count):
        out.append(assistant(thinking(f"thought {number}", f"s{number}"), call(f"c{number}")))
        out.append(user(result(f"c{number}", f"result {number} " * 40)))
    return out


def test_a8_signed_thinking_is_whole_or_gone_after_an_edit_before_it() -> None:
    messages = signed(4)
    outcome = run(CLEAR, messages, model=BOUND)
    assert verdict(outcome, "clear") == "committed"
    left = blocks(outcome, "thinking")
    assert all(block in every_block(messages) for block in left)
    assert outcome.receipt.totals.thinking_loss == 4 - len(left)


def test_a8_an_open_loop_of_an_older_model_keeps_its_thinking_when_old_results_are_cleared() -> None:
    messages = signed(4)
    outcome = run(CLEAR, messages, model=MODEL)
    assert blocks(outcome, "thinking") == [
        block for block in every_block(messages) if block["type"] == "thinking"
    ]


def test_a8_a_redacted_block_is_treated_like_any_other_thinking() -> None:
    messages = signed(4)
    for message in messages[1::2]:
        message["content"][0] = {"type": "redacted_thinking", "data": "sealed"}
    outcome = run(CLEAR, messages, model=BOUND)
    assert outcome.receipt.totals.thinking_loss == 4 - len(blocks(outcome, "redacted_thinking"))
    assert len(blocks(outcome, "redacted_thinking")) < 4


def test_a8_thinking_dropped_from_an_open_loop_takes_no_words_with_it() -> None:
    pack = stages("{id: old, kind: drop, select: {blocks: [thinking]}, keep: {newest: {items: 1}}}")
    outcome = run(pack, signed(3), model=BOUND)
    assert len(blocks(outcome, "tool_use")) == 3


def test_a10_a_server_call_keeps_its_result_and_its_encrypted_words() -> None:
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "leak"}}
    found = {
        "type": "web_search_tool_result",
        "tool_use_id": "s",
        "content": [{"type": "web_search_result", "url": "u", "encrypted_content": "E" * 4000}],
    }
    messages = [user("q"), assistant(search, found, text("so")), user("next"), *rounds(3)]
    outcome = run(CLEAR, messages)
    assert shown(outcome)[1] == messages[1]
    assert outcome.receipt.totals.tokens.before > 700, "the payload counts"


def test_a11_five_marks_become_four_and_none_is_copied_onto_a_rewritten_result() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    messages = [user({**text(f"q{n}"), **mark}) for n in range(5)]
    outcome = run(NOTHING, messages)
    assert sum("cache_control" in block for block in every_block(outcome.request.messages)) == 4


def test_a11_marks_of_system_and_tools_count_too() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    messages = [user({**text(f"q{n}"), **mark}) for n in range(4)]
    outcome = run(NOTHING, messages, system=[{**text("You help."), **mark}])
    assert sum("cache_control" in block for block in every_block(outcome.request.messages)) == 3


def test_a12_only_the_leading_system_messages_are_the_prompt() -> None:
    prompt, notice = (
        {"role": "system", "content": words} for words in ("You help.", "The date has changed.")
    )
    messages = [prompt, user("Find the leak."), *rounds(2, 3000), user("And?"), notice, *rounds(4, 3000)]
    outcome = run(SUM_UP, messages, model=BOUND)
    assert verdict(outcome, "sum-up") == "committed"
    assert outcome.request.system == [text("You help.")]


def test_a13_null_content_unknown_blocks_and_keys_never_crash_and_pass_through() -> None:
    odd = {"type": "hologram", "beam": None, "deep": [{"a": 1}]}
    messages = [{"role": "user", "content": None}, {**user(odd, text("q")), "id": 7}, *rounds(3)]
    outcome = run(CLEAR, messages)
    assert shown(outcome)[0] == messages[1]


def test_a13_a_result_of_unknown_parts_is_counted_and_left_alone() -> None:
    odd = [{"type": "hologram", "beam": "a beam of light, " * 400}]
    few = run(NOTHING, [user("q"), *round_of("x", "ok")])
    much = run(NOTHING, [user("q"), *round_of("x", odd)])
    assert blocks(much, "tool_result")[0]["content"] == odd
    assert much.receipt.totals.tokens.before > few.receipt.totals.tokens.before + 500
