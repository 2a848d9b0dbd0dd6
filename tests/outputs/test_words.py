"""Numbers, texts and conditions in words."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.outputs import words
from trimtab.outputs.blocks import line_of
from trimtab.policy.metrics import METRICS
from trimtab.policy.values import ConditionReport
from trimtab.receipt import StageReport


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1234567, "1,234,567"),
        (0.25, "0.25"),
        (169846.45, "169,846"),
        (math.inf, "unlimited"),
        (None, "–"),
    ],
)
def test_numbers_are_grouped(value: float | None, text: str) -> None:
    assert words.number(value) == text


@given(st.text(max_size=200))
def test_nothing_of_a_session_steers_the_terminal(text: str) -> None:
    shown = words.short(text, 40)
    assert len(shown) <= 40
    assert not any(ord(one) < 32 or 127 <= ord(one) < 160 or one in "\u202e\u2066" for one in shown)


def test_a_condition_that_fails_is_told_as_what_is_true_instead() -> None:
    tokens = ConditionReport("tokens at_least", 43000.0, 167000.0, False, "auto")
    assert words.condition(tokens, opposite=True) == "tokens 43,000 < 167,000 (auto)"
    caller = ConditionReport("caller", "main", ("compact", "snip"), False)
    assert words.condition(caller, opposite=True) == "caller main is not compact or snip"
    unknown = ConditionReport("idle_minutes above", None, 60.0, False, None, "unknown")
    assert words.condition(unknown, opposite=True) == "idle_minutes unknown (limit 60)"


def test_a_condition_that_holds_is_told_as_it_is() -> None:
    assert words.condition(ConditionReport("settings snip", True, True, True)) == "settings snip is true"
    assert (
        words.condition(ConditionReport("committed", "compact", ("compact",), True))
        == "compact has committed"
    )


def test_the_reason_of_a_skipped_stage_is_its_first_failing_condition() -> None:
    holds = ConditionReport("messages above", 9.0, 1.0, True)
    fails = ConditionReport("measured", False, True, False)
    report = StageReport("s", "drop", "skipped", conditions=(holds, fails))
    assert words.why(report) == "no usage was reported since the last edit"


def test_every_boolean_metric_says_in_words_what_it_is_and_is_not() -> None:
    names = {name for name, metric in METRICS.items() if metric.type == "boolean"}
    assert set(words.SAID) == {(name, value) for name in names for value in (True, False)}
    assert all(name not in text for (name, _), text in words.SAID.items())


def test_a_failing_group_says_why_of_each() -> None:
    inner = ConditionReport("tokens above", 5.0, 10.0, False)
    group = ConditionReport(
        "any", None, None, False, nested=(ConditionReport("0", None, None, False, nested=(inner,)),)
    )
    assert words.why_not([group]) == "neither: tokens 5 ≤ 10"
    holding = ConditionReport("caller", "main", ("main",), True)
    none = ConditionReport(
        "none", None, None, False, nested=(ConditionReport("0", None, None, True, nested=(holding,)),)
    )
    assert words.why_not([none]) == "caller is main"


def test_shares_are_rounded_and_tiny_ones_left_out() -> None:
    assert words.share(200, 50) == "−75 %"
    assert words.share(1000, 1004) == "+0.4 %"
    assert words.share(1_000_000, 1_000_001) == ""
    assert words.share(0, 5) == ""


def test_a_block_is_named_in_one_line() -> None:
    assert line_of({"type": "text", "text": "hi\nthere"}, "user") == "user: hi there"
    assert line_of({"type": "tool_result", "content": [{"type": "text", "text": "ok"}]}, "user").endswith(
        ": ok"
    )
    assert line_of({"type": "thinking", "thinking": "abc"}, "assistant") == "thinking, 3 characters"
    assert line_of({"type": "image", "source": {}}, "user") == "image"
