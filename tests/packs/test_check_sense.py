"""Findings of sense and advice: what must not be taken for a mistake. What must be is in ``cases/bad``."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from trimtab.packs.check_tools import tools_are_those_of
from trimtab.packs.load import check, check_text
from trimtab.packs.problems import Problem

HEAD = "format: 1\nname: mine\nversion: 1.0.0\n"
DROP = "kind: drop, select: {age: {turns: {at_least: 2}}}"
CLEAR = "kind: replace, select: {blocks: [tool_result]}, keep: {newest: {items: 5}}, text: gone"


def findings(body: str) -> list[Problem]:
    return list(check_text(HEAD + body, "mine.yaml").problems)


def codes(*stages: str, head: str = "") -> list[str]:
    lines = "".join(f"  - {{{stage}}}\n" for stage in stages)
    return [each.code for each in findings(f"{head}stages:\n{lines}")]


@pytest.mark.parametrize(
    "when",
    [
        "{tokens: {at_least: 100000, below: 150000}}",
        "{tokens: {at_least: 100000, at_most: 100000}}",
        "{tokens: {at_least: 0.5 * window, below: 150000}}",  # holds for small windows
        "{tokens: {at_least: soft, below: hard}}",  # settings may change
        "{caller: [main, agent], none: [{caller: [agent]}]}",
        "{caller: [agent-*], any: [{caller: ['*-7']}]}",
        "{caller: [main], none: [{caller: [main], tokens: {below: 10}}]}",
        "{error: [prompt_too_long]}",  # at overflow
        "{request: [compact]}",  # at manual
        "{any: [{messages: {above: 5}, none: [{messages: {above: 5}}]}, {images: {above: 5}}]}",
        "{settings: {quick: true}, any: [{settings: {quick: true}}]}",
        "{measured: true, turn_start: true}",
    ],
)
def test_conditions_that_may_hold_together_are_left_alone(when: str) -> None:
    head = "settings: {soft: 80000, hard: 80000, quick: true}\n"
    assert [
        code for code in codes(f"id: a, {DROP}, when: {when}", head=head) if code != "unused-setting"
    ] in (
        [],
        ["unit"],
    )


def test_a_stage_that_is_switched_off_need_not_be_reachable() -> None:
    assert codes(f"id: a, {DROP}, enabled: false, when: {{tokens: {{at_least: 5, below: 5}}}}") == []


def test_of_several_events_one_that_is_possible_is_enough() -> None:
    assert codes(f"id: a, {DROP}, at: [before_request, overflow], when: {{error: [prompt_too_long]}}") == []
    at = "{before_request: {tokens: {at_least: 5, below: 5}}, manual: {}}"
    assert codes(f"id: a, {DROP}, at: {at}") == ["unreachable"]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (
            f"id: a, {CLEAR}, when: {{tokens: {{at_least: 9}}}}",
            f"id: b, {CLEAR}, when: {{tokens: {{at_least: 8}}}}",
        ),
        (f"id: a, {CLEAR}, accept: {{items: {{at_least: 5}}}}", f"id: b, {CLEAR}"),
        (f"id: a, {CLEAR}, at: [overflow]", f"id: b, {CLEAR}, at: [before_request]"),
        (f"id: a, {CLEAR}, enabled: false", f"id: b, {CLEAR}"),
        (f"id: a, {CLEAR}", f"id: b, {CLEAR.replace('5', '4')}"),
        (
            f"id: a, {CLEAR}, when: {{caller: [main]}}",
            f"id: b, {CLEAR}, when: {{idle_minutes: {{at_least: 5}}}}",
        ),
    ],
)
def test_a_later_stage_with_something_of_its_own_is_not_shadowed(one: str, two: str) -> None:
    assert codes(one, two) == []


def test_a_later_stage_whose_bound_is_higher_is_shadowed() -> None:
    when = "when: {{tokens: {{at_least: {}}}}}"
    assert codes(f"id: a, {CLEAR}, {when.format(8)}", f"id: b, {CLEAR}, {when.format(9)}") == ["shadowed"]


@pytest.mark.parametrize(
    "stage",
    [
        "kind: replace, select: {blocks: [tool_result], age: {rounds: {at_least: 1}}}, text: x",
        "kind: replace, select: {blocks: [tool_result], any: [{repeated: true}, {empty: true}]}, text: x",
        "kind: replace, select: {blocks: [tool_result]}, pattern: 'sk-[a-z]+', text: x",
        "kind: replace, select: {blocks: [image]}, text: x",
        "kind: attach, from: [{fact: plan, repeat: changed, template: attachments/plan.md.j2}]",
        "kind: attach, when: {any: [{since: {rounds: {at_least: 3}}}, {turn_start: true}]}, from: [{text: x}]",
        "kind: attach, at: [manual], from: [{text: x}]",
        "kind: summarize, prompt: summary/nine-sections.md.j2, keep: {newest: {turns: 1}}",
        "kind: summarize, prompt: summary/nine-sections.md.j2, expects: {sections: [All user messages]}",
        "kind: summarize, prompt: summary/nine-sections.md.j2, "
        "compose: [{part: messages, select: {origins: [user]}}, {part: summary}]",
        "kind: summarize, text: gone",
        "kind: replace, select: {blocks: [tool_result], size: {chars: {above: 10}}}, text: '1234567890'",
    ],
)
def test_a_stage_that_does_no_harm_gets_no_advice(stage: str) -> None:
    assert codes(f"id: a, {stage}") == []


def test_a_last_child_that_needs_a_model_is_told_unless_a_later_stage_needs_none() -> None:
    child = "{id: b, kind: summarize, prompt: summary/nine-sections.md.j2, keep: {newest: {turns: 1}}}"
    group = f"id: a, kind: first_of, stages: [{child}]"
    assert codes(group) == ["needs-a-model"]
    assert codes(group, f"id: c, {DROP}") == []


def test_a_known_writer_with_room_or_a_ladder_is_fine_and_so_is_an_unknown_one() -> None:
    stage = (
        "id: a, kind: summarize, at: {{before_request: {{tokens: {{at_least: {}}}}}}}, keep: {{newest: {{turns: 1}}}},"
        " prompt: summary/nine-sections.md.j2, model: [{}]{}"
    )
    ladder = ", ladder: [{remove: {what: rounds, from: oldest, share: 0.2}, times: 3}]"
    assert codes(stage.format(400000, "claude-haiku-4-5", "")) == ["summarizer-window"]
    assert codes(stage.format(400000, "claude-haiku-4-5", ladder)) == []
    assert codes(stage.format(150000, "claude-haiku-4-5", "")) == []
    assert codes(stage.format(0.8 * 1e6, "a-model-of-ours", "")) == []
    assert codes(stage.format("0.8 * window", "claude-haiku-4-5", "")) == []


def test_templates_nobody_uses_are_found_and_may_say_why(tmp_path: Path) -> None:
    folder = tmp_path / "templates"
    folder.mkdir()
    (folder / "used.md.j2").write_text('{% include "inner.md.j2" %}', "utf-8")
    (folder / "inner.md.j2").write_text('{% include "innermost.md.j2" %}', "utf-8")
    (folder / "innermost.md.j2").write_text("x", "utf-8")
    (folder / "old.md.j2").write_text("y", "utf-8")
    pack = tmp_path / "pack.yaml"
    pack.write_text(f"{HEAD}stages: [{{id: a, kind: guard, level: info, template: used.md.j2}}]\n", "utf-8")
    (problem,) = check(pack).problems
    assert (problem.code, problem.line, Path(problem.file).name) == ("unused-template", 1, "old.md.j2")
    (folder / "old.md.j2").write_text("{# trimtab: allow unused-template, others include it #}\ny", "utf-8")
    report = check(pack)
    assert report.problems == ()
    assert [one.reason for one in report.silenced] == ["others include it"]


TOOLS = "tools: {read: [read], shell: [Bash, '*shell']}\n"
USING = "stages: [{id: a, kind: drop, select: {blocks: [tool_result], tools: [read, shell], error: true}}]\n"


def against(*tools: str) -> list[tuple[str, str, str]]:
    context = check_text(HEAD + TOOLS + USING, "mine.yaml").context
    assert context is not None
    tools_are_those_of(context, tools)
    return [(each.code, each.severity, each.hint or "") for each in context.problems]


def test_tools_that_all_have_a_category_are_fine() -> None:
    assert against("read", "powershell") == []


def test_a_tool_that_is_almost_called_so_is_named() -> None:
    (stranger, category) = against("read_file", "Bash")
    assert stranger[:2] == ("unknown-tool", "info")
    assert category == ("unmatched-category", "warning", "did you mean `read_file`?")


def test_a_category_the_session_does_not_use_is_a_remark_only() -> None:
    assert [each[:2] for each in against("read")] == [("unmatched-category", "info")]


def test_what_is_sound_beside_a_mistake_is_judged_all_the_same() -> None:
    never = f"id: b, {DROP}, when: {{tokens: {{at_least: 5, below: 5}}}}"
    assert codes("id: a, kind: drop, xyz: {}, select: {error: true}", never) == ["unknown-key", "unreachable"]
    assert codes("id: a, kind: drop", never) == ["missing-key", "unreachable"]
    assert codes("id: a, kind: guard, level: loud, text: x", never) == ["value", "unreachable"]
    group = "id: g, kind: first_of, stages: [{id: a, kind: drop, select: {error: perhaps}}]"
    assert codes(group, never, "id: c, kind: guard, level: info, text: x, when: {committed: [a]}") == [
        "type",
        "unreachable",
    ]


def test_a_misspelt_key_counts_as_the_one_that_was_meant() -> None:
    due = "at: {before_request: {tokens: {at_least: 50}}}"
    kept = "kep: {newest: {tokens: {at_least: 60}}}"
    assert codes(f"id: a, kind: summarize, text: x, {due}, {kept}") == ["unknown-key", "target-above-trigger"]


def test_of_very_many_stages_each_is_held_only_against_those_that_do_the_same() -> None:
    stages = [f"id: s{number}, {CLEAR.replace('5', str(number + 1))}" for number in range(2_000)]
    start = time.perf_counter()
    assert codes(*stages, f"id: last, {CLEAR}") == ["shadowed"]
    assert time.perf_counter() - start < 15  # 1.2 s on an idle machine
