"""Group F of the field reports: a rewrite of what was sent turns a cheap cache read into a full write."""

from __future__ import annotations

from typing import Any

import pytest
from tests.faults.support import (
    BOUND,
    CLEAR,
    MODEL,
    SUM_UP,
    Message,
    blocks,
    bodies,
    engine_of,
    loop,
    round_of,
    rounds,
    run,
    shown,
    stages,
    text,
    user,
    verdict,
)

from trimtab import Engine


def prefixes(pack: str, count: int, chars: int = 400, **more: Any) -> list[bool]:
    """Of each request but the first, whether it begins with the one before, byte for byte."""
    session = engine_of(pack).session()
    messages: list[Message] = [user("Find the leak.")]
    out: list[bool] = []
    before = ""
    for number in range(count):
        messages += rounds(1, chars, start=number)
        now = bodies(run(session, messages, **more))[:-2]
        if before:
            out.append(now.startswith(before))
        before = now
    return out


def test_f_a_run_that_commits_nothing_only_appends() -> None:
    assert all(prefixes(CLEAR.replace("above: 30", "above: 30000"), 10))


def test_f_results_shortened_before_they_are_first_sent_cost_no_cache() -> None:
    pack = stages(
        "{id: offload, kind: replace, once: true, select: {blocks: [tool_result], "
        "size: {chars: {above: 300}}},"
        " preview: {head: {chars: 50}}, text: '[{{ size.chars }}] {{ head }}'}"
    )
    assert all(prefixes(pack, 10))


def test_f_clearing_in_batches_rewrites_the_prefix_seldom() -> None:
    pack = CLEAR.replace("keep:", "accept: {items: {at_least: 5}}, keep:")
    kept = prefixes(pack, 21)
    assert kept.count(False) == 4
    assert prefixes(CLEAR, 21).count(False) == 20, "a sliding keep rewrites on every call"


def test_f_a_batch_is_never_paid_for_below_its_size() -> None:
    pack = CLEAR.replace("keep:", "accept: {freed_tokens: {at_least: 1000}}, keep:")
    session = engine_of(pack).session()
    messages: list[Message] = [user("q")]
    for number in range(20):
        messages += rounds(1, start=number)
        report = run(session, messages).receipt.stage("clear")
        assert report is not None
        if report.verdict == "committed":
            assert report.tokens is not None
            assert report.tokens.before - report.tokens.after >= 1000


def test_f_a_placeholder_once_written_is_never_written_anew() -> None:
    pack = CLEAR.replace("'[cleared]'", "'[cleared at {{ tokens }} tokens, {{ rounds }} rounds]'")
    session = engine_of(pack).session()
    messages = loop(3)
    first = blocks(run(session, messages), "tool_result")[0]["content"]
    for number in range(5):
        messages += rounds(1, start=50 + number)
        assert blocks(run(session, messages), "tool_result")[0]["content"] == first


def test_f_a_decision_to_keep_is_as_final_as_one_to_replace() -> None:
    pack = stages(
        "{id: budget, kind: replace, once: true, select: {blocks: [tool_result]}, order: largest,"
        " fit: {per: message, chars: 1000}, text: '[cut]'}"
    )
    session = engine_of(pack).session()
    messages = [user("q"), *round_of("a", "small " * 100)]
    first = bodies(run(session, messages))[:-2]
    for number in range(6):
        messages += rounds(1, 1500, start=number)
        outcome = run(session, messages)
        assert bodies(outcome).startswith(first)
    assert blocks(outcome, "tool_result")[0]["content"] == "small " * 100


def test_f_the_receipt_names_the_first_changed_message_and_what_the_cache_loses() -> None:
    session = engine_of(CLEAR).session()
    messages = loop(2)
    run(session, messages)
    messages += rounds(1, start=5)
    outcome = run(session, messages)
    assert outcome.receipt.totals.first_changed == 4
    lost = outcome.receipt.totals.cache_loss_tokens
    assert 0 < lost < outcome.receipt.totals.tokens.before


def test_f_an_append_loses_nothing() -> None:
    session = engine_of(CLEAR.replace("above: 30", "above: 30000")).session()
    messages = loop(2)
    run(session, messages)
    totals = run(session, [*messages, *rounds(1, start=5)]).receipt.totals
    assert (totals.first_changed, totals.cache_loss_tokens) == (None, 0)


def test_f_another_system_prompt_or_tool_list_loses_everything() -> None:
    session = engine_of(CLEAR.replace("above: 30", "above: 30000")).session()
    messages = loop(2)
    run(session, messages, system="You help.")
    totals = run(session, messages, system="You help on Tuesdays.").receipt.totals
    assert totals.first_changed == 0
    assert totals.cache_loss_tokens > 100


def test_f_a_stage_can_refuse_to_pay_for_more_than_it_frees() -> None:
    pack = CLEAR.replace("keep:", "accept: {cache_loss_tokens: {below: 300}}, keep:")
    session = engine_of(pack).session()
    messages = loop(4, 20)
    run(session, messages)
    messages += [*round_of("late", "late " * 60), *rounds(8, 20, start=20), *round_of("end", "e " * 20)]
    assert verdict(run(session, messages), "clear") == "committed", "nothing of it was sent before"
    session = engine_of(pack).session()
    messages = [
        user("q"),
        *round_of("old", "old " * 60),
        *rounds(12, 20, start=20),
        *round_of("end", "e " * 20),
    ]
    run(session, messages[:-2])
    assert verdict(run(session, messages), "clear") == "refused", (
        "all of it behind the old result was sent before"
    )


def test_f_cache_marks_that_move_are_no_change() -> None:
    session = engine_of(CLEAR).session()
    mark = {"cache_control": {"type": "ephemeral"}}
    messages = loop(3)
    run(session, messages)
    marked = [*messages[:-1], user({**messages[-1]["content"][0], **mark})]
    outcome = run(session, [*marked, *rounds(1, 20, start=9)])
    assert outcome.receipt.totals.first_changed is None


def test_f_thinking_that_an_edit_costs_is_counted() -> None:
    session = engine_of(CLEAR).session()
    messages: list[Message] = [user("q")]
    for number in range(4):
        block = {"type": "thinking", "thinking": f"t{number}", "signature": f"s{number}"}
        one, two = round_of(f"c{number}", "words " * 100)
        messages += [{**one, "content": [block, *one["content"]]}, two]
    outcome = run(session, messages, model=BOUND)
    report = outcome.receipt.stage("clear")
    assert report is not None
    assert report.thinking_loss == outcome.receipt.totals.thinking_loss > 0


def test_f_a_condition_on_thinking_keeps_it() -> None:
    messages: list[Message] = [user("q")]
    for number in range(4):
        block = {"type": "thinking", "thinking": f"t{number}", "signature": f"s{number}"}
        one, two = round_of(f"c{number}", "words " * 100)
        messages += [{**one, "content": [block, *one["content"]]}, two]
    pack = CLEAR.replace("keep:", "accept: {thinking_loss: {at_most: 0}}, keep:")
    outcome = run(pack, messages, model=BOUND)
    assert verdict(outcome, "clear") == "refused"
    assert shown(outcome) == messages


@pytest.mark.parametrize("model", [MODEL, BOUND])
def test_f_the_summary_itself_stays_byte_for_byte(model: str) -> None:
    session = engine_of(SUM_UP).session()
    messages = loop(12, 1500)
    first = bodies(run(session, messages, model=model))[:-2]
    for number in range(2):
        messages += rounds(1, 100, start=50 + number)
        assert bodies(run(session, messages, model=model)).startswith(first)


def test_f_the_shipped_pack_never_touches_what_was_sent_while_there_is_room() -> None:
    session = Engine.load("claude-code").session()
    messages: list[Message] = [user("Find the leak.")]
    before = ""
    for number in range(25):
        messages += rounds(1, 60_000 if number % 5 == 4 else 300, start=number, tool="Bash")
        outcome = run(session, messages, system=[text("You help.")])
        now = bodies(outcome)[:-2]
        assert now.startswith(before)
        before = now
