"""The laws of ARCHITECTURE §6, judged by a checker that shares no code with the rules."""

from __future__ import annotations

import copy
import json
from collections import Counter
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import Options, broken, conversations, with_loose_ends
from tests.strict_api import blocks, joined, problems
from tests.validity.support import BOUND, MANUAL, SYSTEM, carried_out, mended, rules_of, view_of

from trimtab.conversation.view import View
from trimtab.validity import Report, check, cuts, repair

MOST = settings(max_examples=150, deadline=None)

CUT_OPTIONS: tuple[dict[str, Any], ...] = (
    {"system_messages": True},
    {"system_messages": True, "unfinished": True},
    {"thinking": "manual", "prefill": True},
)
"""The APIs for which replacing a range must add no violation."""

RULES = {
    "shape": {1, 2},
    "empty": {2},
    "ids": {11},
    "pairs": {8, 9},
    "result_order": {10},
    "server_tools": {12},
    "cache_edits": set(),
    "thinking_place": {1, 13},
    "ends": {4, 6, 7},
    "system_place": {19},
    "cache_marks": {15},
    "media": {17},
    "size": {20},
}
"""The strict API's rules that each of ours stands for."""


@MOST
@given(conversations())
def test_valid_conversations_have_no_violation(messages: list[Any]) -> None:
    assert problems(messages) == []
    assert check(view_of(messages), BOUND).violations == ()
    assert check(view_of(messages), MANUAL).violations == ()


@MOST
@given(conversations(options=Options(system=True)))
def test_system_messages_behind_the_user_are_valid_where_the_model_takes_them(messages: list[Any]) -> None:
    assert problems(messages, system_messages=True) == []
    assert check(view_of(messages), SYSTEM).violations == ()
    places = [place for place, message in enumerate(messages) if place and message["role"] == "system"]
    found = check(view_of(messages), BOUND).violations
    assert [violation.index for violation in found if violation.rule == "system_place"] == places


@MOST
@given(broken())
def test_the_rules_and_the_strict_api_agree_whether_a_list_is_valid(messages: list[Any]) -> None:
    for profile, options in ((BOUND, {}), (MANUAL, {"thinking": "manual", "prefill": True})):
        report = check(view_of(messages), profile)
        if any(message["content"] is None for message in messages):
            assert not report.valid
            continue
        found = {problem.rule for problem in problems(messages, **options)}
        assert report.valid == (not found), (report.violations, problems(messages, **options))
        if 2 in found and any(message["content"] == [] for message in messages):
            continue  # the strict API stops at a list of that shape
        named = set().union(*(RULES[violation.rule] for violation in report.violations))
        assert found <= named


@MOST
@given(broken())
def test_repair_leaves_nothing_the_strict_api_refuses_and_loses_nothing_of_use(messages: list[Any]) -> None:
    before = copy.deepcopy(messages)
    after, report = mended(messages)
    assert messages == before
    if not after:
        return
    assert report.violations == ()
    assert problems(after) == []
    assert not texts(before) - texts(after)
    shown = json.dumps(after)
    for candidates in paired_results(before):
        assert any(json.dumps(content)[1:-1] in shown for content in candidates)


@MOST
@given(broken())
def test_repair_for_a_manual_model_that_takes_prefill_leaves_nothing_to_refuse(messages: list[Any]) -> None:
    after, report = mended(messages, MANUAL)
    assert not after or (report.violations == () and problems(after, thinking="manual", prefill=True) == [])


@MOST
@given(broken())
def test_repair_is_deterministic_and_does_nothing_the_second_time(messages: list[Any]) -> None:
    view = view_of(messages)
    first = repair(view, check(view, BOUND).violations, BOUND)
    assert repr(first) == repr(repair(view, check(view, BOUND).violations, BOUND))
    after = View(carried_out(view.items, first.edits))
    again = repair(after, check(after, BOUND).violations, BOUND)
    assert again.edits == ()


@MOST
@given(broken())
def test_repair_without_closing_leaves_the_end_alone(messages: list[Any]) -> None:
    view = view_of(messages)
    found = check(view, BOUND, closing=False).violations
    edits = repair(view, found, BOUND, closing=False).edits
    after = carried_out(view.items, edits)
    left = [dict(item.message) for item in after]
    kept = [problem for problem in problems(left, unfinished=True) if problem.rule != 15] if left else []
    assert kept == []


@MOST
@given(with_loose_ends())
def test_replacing_a_range_between_legal_cuts_by_a_user_message_adds_no_violation(
    messages: list[Any],
) -> None:
    legal = [index for index, ok in enumerate(cuts(view_of(messages), SYSTEM)) if ok]
    # Both ends of a range matter, hardly their combination: each gap with its neighbour and with both outer
    # ends.
    ranges = (
        {(0, stop) for stop in legal} | {(start, len(messages)) for start in legal} | set(pairwise(legal))
    )
    for options in CUT_OPTIONS:
        old = Counter(problems(messages, **options))
        for start, stop in ranges:
            if start < stop:
                replaced = [*messages[:start], {"role": "user", "content": "summary"}, *messages[stop:]]
                new = Counter(problems(replaced, **options))
                assert not new - old, (start, stop)


@MOST
@given(broken(), st.data())
def test_a_check_resumed_after_an_append_finds_what_a_whole_check_finds(
    messages: list[Any], data: st.DataObject
) -> None:
    stop = data.draw(st.integers(0, len(messages)))
    other = data.draw(st.integers(0, len(messages)))
    whole = check(view_of(messages), BOUND)
    part = check(view_of(messages[:stop]), BOUND, closing=False)
    # A continuation that is given up must leave no trace in the states.
    check(view_of(messages[:stop] + messages[other:] + messages), BOUND, part.states, stop)
    rest = check(view_of(messages), BOUND, part.states, stop)
    assert set(rules_of(rest)) <= set(rules_of(whole))
    assert set(rules_of(whole)) <= set(rules_of(part)) | set(rules_of(rest))
    if part.valid:
        assert places(whole, "ids", "pairs", "empty") == places(rest, "ids", "pairs", "empty")


@MOST
@given(with_loose_ends())
def test_both_ends_of_a_view_are_legal_cuts(messages: list[Any]) -> None:
    legal = cuts(view_of(messages), BOUND)
    assert len(legal) == len(messages) + 1
    assert legal[0] == 1
    assert legal[-1] == 1


def places(report: Report, *rules: str) -> set[tuple[str, int, int | None]]:
    return {(each.rule, each.index, each.block) for each in report.violations if each.rule in rules}


def texts(messages: list[Any]) -> Counter[str]:
    """All words outside tool results."""
    return Counter(
        block["text"]
        for message in messages
        if message["content"]
        for block in blocks(message)
        if block["type"] == "text" and block["text"].strip()
    )


def paired_results(messages: list[Any]) -> list[list[Any]]:
    """For each call that has results in the next turn, the contents of these: one of them must stay."""
    turns = joined([message for message in messages if message["content"]])
    found = []
    for turn, following in pairwise(turns):
        if turn.role == "assistant":
            for name in {block["id"] for block in turn.of_type("tool_use")}:
                results = [b for b in following.of_type("tool_result") if b["tool_use_id"] == name]
                good = [b for b in results if not b.get("is_error")] or results
                if good:
                    found.append([useful(block["content"]) for block in good])
    return found


def useful(content: Any) -> Any:
    """A result's content without blank parts."""
    if isinstance(content, str):
        return content
    return [part for part in content if part.get("type") != "text" or part["text"].strip()]
