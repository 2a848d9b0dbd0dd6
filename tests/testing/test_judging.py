"""Judging a case: every expectation can fail, and says what was found and what decided it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.testing.support import PACK, case, failure, failures, run, written

from trimtab.testing.model import Comparison
from trimtab.testing.suite import plan, run_case

INF = float("inf")


@pytest.mark.parametrize(
    ("bounds", "value", "holds"),
    [
        ((("equals", 5),), 5, True),
        ((("equals", 162_000.0),), 0.9 * 180_000, True),
        ((("equals", INF),), INF, True),
        ((("at_least", 5),), 4.999, False),
        ((("above", 5),), 5, False),
        ((("at_most", 5),), 5, True),
        ((("below", 5),), 5, False),
        ((("above", 4), ("below", 6)), 5, True),
    ],
)
def test_comparisons_are_those_of_the_pack_language(bounds: tuple, value: float, holds: bool) -> None:
    assert Comparison(bounds).holds(value) is holds


def test_a_verdict_that_is_another_one_is_told_with_its_place_and_its_receipt(tmp_path: Path) -> None:
    one = failure(tmp_path, "settings: {clear: false}\nexpect:\n  stages: {clear: committed}")
    assert (one.what, one.expected, one.found) == ("stages.clear", "committed", "skipped")
    assert (one.at.line, one.at.column) == (6, 16)
    assert one.source == "      stages: {clear: committed}"
    assert [report.id for report in one.reports] == ["clear"]


def test_a_stage_the_run_did_not_reach_was_skipped_and_why_is_said(tmp_path: Path) -> None:
    assert failures(tmp_path, "expect: {stages: {hush: skipped, by-model: skipped}}") == []
    found = failures(tmp_path, "expect: {stages: {hush: done, by-model: committed}}")
    assert [one.found for one in found] == [
        "skipped: `hush` does not list the event before_request",
        "skipped: its parent `sum-up` was skipped",
    ]
    one = failure(
        tmp_path,
        "event: manual\nanswers: [Short.]\nexpect: {stages: {by-itself: committed}}",
        "rounds: {count: 9}",
    )
    assert one.found == "skipped: `by-model` had fired before it"


def test_reasons_and_items_of_a_stage_are_compared(tmp_path: Path) -> None:
    assert (
        failures(tmp_path, "expect: {stages: {clear: {verdict: committed, items: {at_least: 2, below: 3}}}}")
        == []
    )
    one = failure(tmp_path, "expect: {stages: {clear: {items: {above: 2}}}}")
    assert (one.what, one.expected, one.found) == ("stages.clear.items", "> 2", "2")
    one = failure(tmp_path, "expect: {stages: {clear: {reason: too little}}}", "rounds: {count: 1}")
    assert one.expected == "a reason with `too little`"
    assert "1 kept" in one.found


def test_only_allows_named_stages_their_parents_and_their_children(tmp_path: Path) -> None:
    for named in ("sum-up", "by-model"):
        body = f"event: manual\nanswers: [Short.]\nexpect: {{stages: {{{named}: committed}}, only: true}}"
        assert failures(tmp_path, body, "rounds: {count: 9}") == []
    one = failure(tmp_path, "expect: {stages: {sum-up: skipped}, only: true}")
    assert (one.what, one.found) == ("only", "clear was committed")


@pytest.mark.parametrize(
    ("expect", "found"),
    [
        ("tokens: {below: 1}", "tokens"),
        ("messages: 9", "messages"),
        ("limits: {auto: 5}", "limits.auto"),
        ("problems: [no-such-code]", "problems"),
        ("problems: 3", "problems"),
        ("receipt: {totals: {measured: true}}", "receipt.totals.measured"),
        ("receipt: {stages: [{id: clear, verdict: skipped}]}", "receipt.stages[0].verdict"),
        ("request: {max_tokens: 5}", "request.max_tokens"),
        ("request: {messages: [{role: system}]}", "request.messages[0]"),
        ("view: [{at: 0, matches: nothing like it}]", "view"),
        ("view: [{at: 0, equals: something else}]", "view"),
        ("view: [{at: 77, equals: x}]", "view"),
        ("view: [{at: 0, absent: true}]", "view"),
        ("view: [{at: {origins: [summary]}, absent: false}]", "view"),
        ("view: [{at: {blocks: [tool_result]}, count: 2}]", "view"),
        ("view: [{at: system, matches: brief}]", "view"),
    ],
)
def test_each_expectation_can_fail(expect: str, found: str, tmp_path: Path) -> None:
    given = "messages: [{role: user, content: go}, {rounds: {count: 1}}, {role: assistant, content: Done.}]"
    assert failure(tmp_path, f"expect: {{{expect}}}", given).what == found


def test_each_expectation_can_hold(tmp_path: Path) -> None:
    body = """
expect:
  tokens: {above: 100, below: 1000}
  messages: 5
  limits: {auto: 100000, half: 50000, window: 200000, max_input: unlimited}
  problems: 0
  receipt: {totals: {measured: false, messages: {before: 5}}, stages: [{id: clear}, {id: sum-up, verdict: skipped}]}
  request: {model: claude-sonnet-4-5, system: You help., messages: [{role: user}, {content: [{type: tool_use}]}]}
  view:
    - {at: 0, equals: "Please carry on with the work."}
    - {at: -1, matches: "^2[.]1: "}
    - {at: system, matches: help}
    - {at: {blocks: [tool_use], tools: [shell]}, count: 2}
    - at: {origins: [tool], matches: cleared}
      equals: [{type: tool_result, tool_use_id: call_1, content: "[cleared]"}]
    - {at: {tools: [read]}, absent: true}
"""
    assert failures(tmp_path, body, "rounds: {count: 2}, system: You help.") == []


def test_all_that_a_selector_finds_has_to_match(tmp_path: Path) -> None:
    one = failure(tmp_path, "expect: {view: [{at: {blocks: [tool_result]}, matches: cleared}]}")
    assert one.found.startswith("3.1: ")
    assert one.notes == ("no stage of this run has touched message 6",)


def test_a_view_that_is_not_as_expected_names_the_stages_that_touched_it(tmp_path: Path) -> None:
    one = failure(tmp_path, "expect: {view: [{at: 2, matches: '^1.1'}]}")
    assert one.found == "[cleared]"
    assert [report.id for report in one.reports] == ["clear"]


def test_a_limit_that_is_another_one_shows_how_it_is_worked_out(tmp_path: Path) -> None:
    one = failure(tmp_path, "expect: {limits: {half: 5}}")
    assert (one.expected, one.found) == ("5", "50,000")
    assert one.notes == ("half: auto / 2 (auto 100,000)",)


def test_failures_of_later_steps_say_which_step_it_was(tmp_path: Path) -> None:
    one = failure(tmp_path, "steps:\n  - {expect: {messages: 1}}\n  - {expect: {messages: 7}}")
    assert one.what == "step 1: messages"


def test_every_failure_of_a_case_is_told_not_only_the_first(tmp_path: Path) -> None:
    body = "expect: {stages: {clear: skipped}, messages: 1}\nsteps:\n  - {expect: {messages: 2}}"
    assert [one.what for one in failures(tmp_path, body)] == ["stages.clear", "messages", "step 1: messages"]


def test_a_case_that_passes_on_one_pack_fails_on_a_changed_one(tmp_path: Path) -> None:
    tests = "cases:\n  - {name: a, given: {rounds: {count: 4}}, expect: {stages: {clear: {items: 3}}}}\n"
    assert not run(tmp_path, tests).failed
    changed = plan([str(written(tmp_path, tests, PACK.replace("shown: 1", "shown: 2")))])
    assert not run_case(changed.files[0].cases[0], changed.files[0].pack).passed


def test_a_request_that_is_only_in_part_wanted_shows_the_entry_that_was_meant(tmp_path: Path) -> None:
    one = failure(tmp_path, "expect: {receipt: {stages: [{id: sum-up, verdict: done}]}}")
    assert (one.what, one.expected, one.found) == ("receipt.stages[0].verdict", "done", '"skipped"')


def test_nothing_is_expected_but_what_must_always_hold(tmp_path: Path) -> None:
    assert case(tmp_path, "steps:\n  - {given: {then: [{rounds: {count: 1}}]}}").passed
