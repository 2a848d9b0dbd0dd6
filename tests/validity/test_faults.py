"""The faults of group A in the field reports: what breaks a request after compaction, and the repair."""

from __future__ import annotations

from typing import Any

from tests.strategies import PIXEL
from tests.strict_api import problems
from tests.validity.support import (
    BOUND,
    MANUAL,
    assistant,
    call,
    mended,
    result,
    rules_of,
    text,
    thinking,
    user,
    view_of,
)

from trimtab.validity import check, cuts, repair
from trimtab.validity.ends import BACK, FRONT
from trimtab.validity.pairs import INTERRUPTED


def found(messages: list[Any], closing: bool = True) -> list[str]:
    return rules_of(check(view_of(messages), BOUND, closing=closing))


def lost(name: str) -> dict[str, Any]:
    return result(name, INTERRUPTED, is_error=True)


def test_a1_a_result_without_its_call_is_removed() -> None:
    messages = [user("summary"), user(result("x"), text("and now?")), assistant("a"), user("q")]
    assert found(messages) == ["pairs", "result_order"]
    after, report = mended(messages)
    assert report.valid
    assert after == [user("summary"), user(text("and now?")), assistant("a"), user("q")]


def test_a1_a_message_of_orphans_vanishes() -> None:
    after, _ = mended([user("q"), user(result("x"), result("y")), assistant("a"), user("q")])
    assert after == [user("q"), assistant("a"), user("q")]


def test_a1_a_call_whose_result_was_cut_off_gets_an_error_result() -> None:
    after, report = mended([user("q"), assistant(call("x")), user("next")])
    assert report.valid
    assert after == [user("q"), assistant(call("x")), user(lost("x")), user("next")]


def test_a2_parallel_calls_and_all_their_results_are_one_piece() -> None:
    messages = [
        user("q"),
        assistant(text("two files"), call("x")),
        assistant(call("y")),
        user(result("x")),
        user(result("y")),
        user("words behind the results"),
        assistant("done"),
        user("q"),
    ]
    assert list(cuts(view_of(messages), BOUND)) == [1, 1, 0, 0, 0, 1, 1, 1, 1]


def test_a2_the_missing_result_of_a_batch_is_an_error_not_an_invention() -> None:
    after, _ = mended(
        [user("q"), assistant(call("x"), call("y")), user(result("y")), assistant("a"), user("q")]
    )
    assert after[2:4] == [user(lost("x")), user(result("y"))]
    assert problems(after) == []


def test_a3_the_newest_calls_may_be_pending_until_the_request_is_sent() -> None:
    messages = [user("q"), assistant(call("x"), call("y")), user(result("x"))]
    assert found(messages, closing=False) == []
    assert found(messages) == ["pairs"]
    after, _ = mended(messages)
    assert after == [user("q"), messages[1], user(lost("y")), user(result("x"))]


def test_a3_an_older_open_call_is_dead_and_blocks_nothing() -> None:
    messages = [user("q"), assistant(call("x")), user("go on"), assistant("a"), user("q")]
    assert found(messages, closing=False) == ["pairs"]
    assert list(cuts(view_of(messages), BOUND)) == [1] * 6


def test_a4_of_two_results_the_one_without_error_stays() -> None:
    aborted = result("x", "aborted", is_error=True)
    for given in ([aborted, result("x", "good")], [result("x", "good"), aborted]):
        after, report = mended([user("q"), assistant(call("x")), user(*given)])
        assert report.valid
        assert after[2] == user(result("x", "good"))


def test_a4_of_two_equal_results_the_first_stays() -> None:
    after, _ = mended([user("q"), assistant(call("x")), user(result("x", "1")), user(result("x", "2"))])
    assert after[2:] == [user(result("x", "1"))]


def test_a4_ids_used_again_are_renamed_with_their_own_result() -> None:
    again = [assistant(call("x:0")), user(result("x:0", "second"))]
    messages = [user("q"), assistant(call("x:0")), user(result("x:0", "first")), *again]
    assert found(messages) == ["ids"]
    after, report = mended(messages)
    assert report.valid
    assert after[:3] == messages[:3]
    assert after[3:] == [assistant(call("x:0_2")), user(result("x:0_2", "second"))]


def test_a4_the_same_id_twice_in_one_batch_is_told_apart_by_order() -> None:
    after, _ = mended([user("q"), assistant(call("x"), call("x")), user(result("x", "1"), result("x", "2"))])
    assert after[1:] == [assistant(call("x"), call("x_2")), user(result("x", "1"), result("x_2", "2"))]


def test_a4_a_new_name_avoids_ids_that_come_later() -> None:
    rounds = [m for name in ("x", "x", "x_2") for m in (assistant(call(name)), user(result(name)))]
    after, _ = mended([user("q"), *rounds])
    assert [m["content"][0]["id"] for m in after[1::2]] == ["x", "x_3", "x_2"]


def test_a5_words_before_results_move_behind_them() -> None:
    messages = [
        user("q"),
        assistant(call("x"), call("y")),
        user(text("reminder"), result("x"), text("more")),
        user("file"),
        user(result("y"), text("last")),
    ]
    assert found(messages) == ["result_order"]
    after, report = mended(messages)
    assert report.valid
    assert after[2:] == [
        user(result("x")),
        user(result("y")),
        user(text("reminder"), text("more")),
        user("file"),
        user(text("last")),
    ]


def test_a5_a_message_that_moves_whole_is_the_same_object() -> None:
    reminder = user("file changed")
    view = view_of([user("q"), assistant(call("x")), reminder, user(result("x"))])
    _, place = repair(view, check(view, BOUND).violations, BOUND).edits
    assert place.message is reminder  # type: ignore[union-attr]  # the second edit is the place
    assert place.origin == "user"  # type: ignore[union-attr]


def test_a6_a_list_that_begins_with_the_assistant_gets_a_user_marker() -> None:
    after, report = mended([assistant("a"), user("q")])
    assert report.valid
    assert after == [user(text(FRONT)), assistant("a"), user("q")]


def test_a6_a_list_that_ends_with_the_assistant_gets_one_where_prefill_is_refused() -> None:
    after, _ = mended([user("q"), assistant("a")])
    assert after == [user("q"), assistant("a"), user(text(BACK))]
    after, _ = mended([user("q"), assistant("a")], MANUAL)
    assert after == [user("q"), assistant("a")]


def test_a6_a_tool_loop_under_one_question_can_be_cut_between_rounds() -> None:
    rounds = [m for n in range(5) for m in (assistant(call(f"c{n}")), user(result(f"c{n}")))]
    assert sum(cuts(view_of([user("q"), *rounds]), BOUND)) == 7


def test_a6_an_empty_request_is_reported() -> None:
    assert found([]) == ["shape"]
    assert found([{"role": "system", "content": "p"}]) == ["shape"]


def test_a7_blank_texts_and_messages_without_blocks_go() -> None:
    messages = [user("q"), assistant(text(" \n"), text("a")), user("\t"), user(text("")), user("q")]
    assert found(messages) == ["empty"] * 3
    after, report = mended(messages)
    assert report.valid
    assert after == [user("q"), assistant(text("a")), user("q")]


def test_a7_a_blank_message_between_call_and_result_kills_neither() -> None:
    after, _ = mended(
        [user("q"), assistant(call("x")), user(""), assistant("wait"), user(result("x", "late"))]
    )
    assert after == [user("q"), assistant(call("x")), assistant("wait"), user(result("x", "late"))]


def test_a7_blank_parts_of_a_result_go() -> None:
    after, report = mended([user("q"), assistant(call("x")), user(result("x", [text(""), text("ok")]))])
    assert report.valid
    assert after[2] == user(result("x", [text("ok")]))


def test_a8_thinking_without_signature_goes_whole() -> None:
    messages = [user("q"), assistant({"type": "thinking", "thinking": "hm"}, text("a")), user("q")]
    assert found(messages) == ["thinking_place"]
    after, _ = mended(messages)
    assert after[1] == assistant(text("a"))


def test_a8_both_types_of_thinking_are_treated_alike() -> None:
    sealed = {"type": "redacted_thinking", "data": "sealed"}
    assert found([user("q"), assistant(sealed, text("a")), user("q")]) == []
    assert found([user("q"), assistant({**sealed, "data": ""}, text("a")), user("q")]) == ["thinking_place"]


def test_a8_an_assistant_turn_of_nothing_but_thinking_vanishes() -> None:
    after, report = mended([user("q"), assistant(thinking()), user("go on"), assistant("a"), user("q")])
    assert report.valid
    assert after == [user("q"), user("go on"), assistant("a"), user("q")]


def test_a8_thinking_split_from_its_turn_is_whole_when_joined() -> None:
    assert found([user("q"), assistant(thinking()), assistant(call("x")), user(result("x"))]) == []


def test_a8_no_cut_leaves_thinking_at_the_end_of_a_turn() -> None:
    messages = [user("q"), assistant(thinking()), assistant("a"), user("q")]
    assert list(cuts(view_of(messages), BOUND)) == [1, 1, 0, 1, 1]


def test_a8_thinking_with_empty_words_but_a_signature_is_whole() -> None:
    assert found([user("q"), assistant(thinking(""), text("a")), user("q")]) == []


def test_a8_an_open_tool_loop_of_a_manual_model_does_not_keep_half_of_its_thinking() -> None:
    messages = [user("q"), assistant(text("so"), thinking(), call("x")), user(result("x"))]
    assert rules_of(check(view_of(messages), MANUAL)) == ["thinking_place"]
    after, report = mended(messages, MANUAL)
    assert report.valid
    assert after[1] == assistant(text("so"), call("x"))
    assert found(messages) == []


def test_a10_a_server_call_and_its_result_go_together() -> None:
    use = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    answer = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    assert found([user("q"), assistant(use, answer, text("a")), user("q")]) == []
    assert found([user("q"), assistant(use, text("a")), user("q")]) == ["server_tools"]
    for half in (use, answer, {**answer, "type": "advisor_tool_result"}):
        after, report = mended([user("q"), assistant(half, text("a")), user("q")])
        assert report.valid
        assert after[1] == assistant(text("a"))


def test_a10_a_paused_turn_may_be_the_last() -> None:
    use = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    messages = [user("q"), assistant(text("let me look"), use)]
    assert found(messages) == []
    assert problems(messages) == []
    split = [user("q"), assistant(use), assistant("a")]
    assert list(cuts(view_of(split), BOUND)) == [1, 1, 0, 1]


def test_a10_a_server_result_may_come_behind_the_results_of_the_hosts_own_tools() -> None:
    use = {"type": "server_tool_use", "id": "s", "name": "code_execution", "input": {}}
    answer = {"type": "code_execution_tool_result", "tool_use_id": "s", "content": {}}
    messages = [user("q"), assistant(use, call("x")), user(result("x")), assistant(answer), user("q")]
    assert found(messages) == []
    assert list(cuts(view_of(messages), BOUND)) == [1, 1, 0, 0, 1, 1]
    messages[2] = user(result("x"), text("and?"))
    assert found(messages) == ["server_tools", "server_tools"]


def test_a11_the_oldest_cache_marks_beyond_four_are_dropped() -> None:
    mark = {"type": "ephemeral"}
    messages = [user(text(f"q{n}", cache_control=mark)) for n in range(6)]
    assert found(messages) == ["cache_marks", "cache_marks"]
    after, report = mended(messages)
    assert report.valid
    assert [m["content"][0].get("cache_control") for m in after] == [None, None, mark, mark, mark, mark]


def test_a11_no_cache_mark_stays_on_thinking() -> None:
    marked = {**thinking(), "cache_control": {"type": "ephemeral"}}
    after, _ = mended([user("q"), assistant(marked, text("a")), user("q")])
    assert after[1] == assistant(thinking(), text("a"))


def test_a12_only_the_leading_system_messages_are_the_prompt() -> None:
    prompt, notice = ({"role": "system", "content": words} for words in ("prompt", "notice"))
    assert found([prompt, prompt, user("q")]) == []
    report = check(view_of([prompt, user("q"), notice, assistant("a"), user("q")]), BOUND)
    assert [(v.rule, v.index, v.repairable) for v in report.violations] == [("system_place", 2, False)]


def test_a13_unknown_blocks_and_keys_pass_as_they_are() -> None:
    odd = {"type": "hologram", "beam": None}
    messages = [{**user(odd), "id": 7}, assistant(odd, call("x")), user(result("x", [odd]), odd)]
    assert found(messages) == []
    broken = [*messages, assistant("a")]
    after, _ = mended(broken)
    assert all(before is there for before, there in zip(messages[0].values(), after[0].values(), strict=True))


def test_a13_null_content_is_an_empty_message() -> None:
    after, report = mended([{"role": "user", "content": None}, user("q")])
    assert report.valid
    assert after == [user("q")]


def test_c3_images_are_counted_and_measured() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    messages = [user(*[image] * 60), assistant(call("x")), user(result("x", [image] * 41))]
    assert found(messages) == ["media"]
    assert found([user(*[image] * 100)]) == []
