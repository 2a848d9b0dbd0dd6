"""Findings: when they are told, and when not."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.packs.document import read_document
from trimtab.packs.load import check, check_text
from trimtab.packs.problems import CODES, INFO, Problem

HEAD = "format: 1\nname: mine\nversion: 1.0.0\n"
GOOD = sorted((Path(__file__).parents[1] / "cases" / "good").glob("*.yaml"))
PACKS = {path.stem: read_document(path).data for path in GOOD}


def findings(body: str) -> list[Problem]:
    report = check_text(HEAD + body, "mine.yaml", kinds={}, missing_templates=True)
    return [each for each in report.problems if each.severity != INFO and each.code != "template-missing"]


def codes(body: str) -> list[str]:
    return [each.code for each in findings(body)]


def summary(trigger: str, target: str, limits: str = "{}") -> str:
    settings = {"share": "0.8", "cap": "unlimited"}
    used = ", ".join(f"{name}: {value}" for name, value in settings.items() if name in trigger + target)
    return (
        f"limits: {limits}\n"
        f"settings: {{{used}}}\n"
        "stages:\n"
        f"  - {{id: a, kind: summarize, text: x, at: {{before_request: {trigger}}}, {target}}}\n"
    )


@pytest.mark.parametrize(
    ("trigger", "target"),
    [
        ("{tokens: {at_least: 50000}}", "accept: {tokens: {at_most: 50000}}"),
        ("{tokens: {at_least: 50000}}", "accept: {tokens: {below: 50001}}"),
        ("{tokens: {above: 50000}}", "accept: {tokens: {at_most: 50001}}"),
        ("{tokens: {at_least: 0.8 * window}}", "accept: {tokens: {at_most: 0.9 * window}}"),
        ("{tokens: {at_least: share * window}, settings: {share: 0.8}}", "accept: {tokens: {below: window}}"),
        ("{tokens: {at_least: window - 1000}}", "keep: {newest: {tokens: {at_least: window}}}"),
        ("{messages: {above: 40}}", "keep: {newest: {messages: 41}}"),
        ("{turns: {at_least: 3}}", "keep: {newest: {turns: {at_most: 3}}}"),
        ("{tokens: {at_least: 100}}", "spans: {rounds: 3}, fit: {per: view, tokens: 100}"),
    ],
)
def test_a_target_that_is_never_below_its_trigger_is_found(trigger: str, target: str) -> None:
    assert codes(summary(trigger, target)) == ["target-above-trigger"]


@pytest.mark.parametrize(
    ("trigger", "target"),
    [
        ("{tokens: {at_least: 50000}}", "accept: {tokens: {below: 50000}}"),
        ("{tokens: {above: 50000}}", "accept: {tokens: {at_most: 50000}}"),
        ("{tokens: {at_least: 0.8 * window}}", "accept: {tokens: {at_most: 100000}}"),
        ("{tokens: {at_least: 0.8 * window}}", "accept: {tokens: {at_most: overhead_tokens}}"),
        ("{tokens: {at_least: 50000}, since: {rounds: {at_least: 5}}}", "accept: {tokens: {at_most: 60000}}"),
        ("{any: [{tokens: {at_least: 50000}}]}", "accept: {tokens: {at_most: 60000}}"),
        ("{tokens: {at_least: cap}}", "accept: {tokens: {at_most: cap}}"),
        ("{turns: {at_least: 2}, tokens: {at_least: 50000}}", "keep: {newest: {turns: 2}}"),
        ("{tokens: {at_least: 50000}}", "keep: {newest: {tokens: {at_most: 60000}, messages: {at_most: 5}}}"),
        ("{messages: {above: 40}}", "keep: {newest: {tokens: {at_most: 20000}}}"),
    ],
)
def test_a_target_that_may_be_below_its_trigger_is_left_alone(trigger: str, target: str) -> None:
    assert codes(summary(trigger, target)) == []


def test_a_target_of_a_child_is_held_against_the_trigger_of_its_parent() -> None:
    body = (
        "stages:\n"
        "  - id: group\n"
        "    kind: first_of\n"
        "    at: {before_request: {tokens: {at_least: 1000}}}\n"
        "    stages: [{id: a, kind: summarize, text: x, accept: {tokens: {below: 2000}}}]\n"
    )
    assert codes(body) == ["target-above-trigger"]


def test_a_finding_is_silenced_by_a_comment_with_its_code_and_a_reason() -> None:
    at = "at: {before_request: {turns: {above: 1}}}"
    line = f"  - {{id: a, kind: summarize, text: x, {at}, keep: {{newest: {{turns: 9}}}}}}"
    assert codes(f"stages:\n{line}\n") == ["target-above-trigger"]
    assert codes(f"stages:\n{line} # trimtab: allow target-above-trigger, we know\n") == []
    assert codes(f"stages:\n{line} # trimtab: allow events, we know\n") == ["target-above-trigger"]
    assert sorted(codes(f"stages:\n{line} # trimtab: allow target-above-trigger\n")) == [
        "allow",
        "target-above-trigger",
    ]


@pytest.mark.parametrize("code", ["no-such-code", "unknown-key", "yaml"])
def test_what_cannot_be_silenced_is_said_so(code: str) -> None:
    problems = findings(f"stages: [] # trimtab: allow {code}, because\n")
    assert [(each.code, each.severity) for each in problems] == [("allow", "warning")]


def test_two_mistakes_are_two_messages_in_the_order_of_the_file() -> None:
    body = (
        "limits: {auto: 0.8 * windw}\n"
        "stages:\n"
        "  - {id: a, kind: replace, selct: {blocks: [image]}, text: x}\n"
        "  - {id: b, kind: guard, level: info, text: '{{ nothing }}', when: {tokens: {above: atuo}}}\n"
    )
    assert codes(body) == ["unknown-name", "unknown-key", "template-variable", "unknown-name"]


def test_a_stage_that_is_lost_is_not_missed_a_second_time() -> None:
    body = (
        "stages:\n"
        "  - {id: a, text: x}\n"
        "  - {id: b, kind: guard, level: info, text: x, when: {committed: [a]}}\n"
    )
    assert codes(body) == ["missing-key"]


def test_a_limit_that_cannot_be_read_is_not_missed_where_it_is_used() -> None:
    body = (
        "limits: {auto: 2 *}\n"
        "stages:\n"
        "  - {id: b, kind: guard, level: info, text: x, when: {tokens: {above: auto}}}\n"
    )
    assert codes(body) == ["expression"]


@pytest.mark.parametrize(
    ("expression", "problems"),
    [
        ("window if window_known else 5", []),
        ("window if on_switch else 5", []),
        ("5 if on_switch == window_known else 6", []),
        ("window if share else 5", ["name-type"]),
        ("on_switch + 1", ["name-type"]),
        ("writer + 1", ["name-type"]),
        ("freed_tokens", ["unknown-name"]),
        ("caller", ["unknown-name"]),
        ("measured", ["unknown-name"]),
        ("messages + tool_calls + idle_minutes", []),
    ],
)
def test_names_in_expressions_have_the_type_their_place_needs(expression: str, problems: list[str]) -> None:
    settings = "settings: {on_switch: true, share: 0.5, writer: same}\n"
    body = f"{settings}limits:\n  auto: {expression}\nstages: []\n"
    assert codes(body) == problems


def test_a_limit_over_tool_limit_is_for_sizes_of_blocks_only() -> None:
    body = (
        "limits: {room: 'min(tool_limit, 50000)', half: room / 2}\n"
        "stages:\n"
        "  - {id: a, kind: drop, select: {blocks: [tool_result], size: {chars: {above: half}}}}\n"
        "  - {id: b, kind: drop, select: {blocks: [tool_result], age: {tokens: {above: half}}}}\n"
    )
    assert [(each.code, each.line) for each in findings(body)] == [("name-type", 7)]


def test_numbers_of_a_proposal_are_known_in_accept() -> None:
    accept = "accept: {freed_tokens: {above: cache_loss_tokens}}"
    body = f"stages: [{{id: a, kind: drop, select: {{blocks: [image]}}, {accept}}}]\n"
    assert codes(body) == []


def test_facts_declared_given_or_always_there_are_known() -> None:
    body = (
        "tools: {read: [Read]}\n"
        "facts: {pages: {from: [{tools: [read], take: {url: /url}}]}}\n"
        "stages:\n"
        "  - id: a\n"
        "    kind: attach\n"
        "    when: {since: {rounds: {at_least: 5}}}\n"
        "    from: [{fact: pages, text: a}, {fact: todos, text: b}, {fact: errors, text: c}]\n"
    )
    assert codes(body) == []


def _places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(inner for key, each in pairs for inner in _places(each, (*path, key)))]


_ODD = st.one_of(
    st.sampled_from(
        [
            0,
            -1,
            1.5,
            True,
            "",
            "a b",
            [],
            {},
            ["x"],
            {"x": 1},
            [[]],
            [{}],
            "{{ x",
            "{% for %}",
            "(a",
            "min(1)",
        ]
    ),
    st.text(max_size=8).filter(lambda text: text.isprintable()),
)


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_no_pack_whatever_it_holds_makes_the_check_fail(data: st.DataObject) -> None:
    pack = copy.deepcopy(PACKS[data.draw(st.sampled_from(sorted(PACKS)))])
    for _ in range(data.draw(st.integers(1, 3))):
        *way, last = data.draw(st.sampled_from([each for each in _places(pack) if each]))
        parent = pack
        for part in way:
            parent = parent[part]
        parent[last] = copy.deepcopy(data.draw(_ODD))
    report = check_text(json.dumps(pack, ensure_ascii=False), "mine.yaml", kinds={})
    assert all(problem.code in CODES for problem in report.problems)
    assert all(problem.line for problem in report.problems)
    assert report.ok == (report.pack is not None)


USING = """\
settings: {share: 0.8, plain: 5}
limits: {auto: share * window, other: 0.5 * window}
tools: {read: [Read], shell: [Bash]}
facts: {seen: {from: [{tools: [read], take: {path: /p}}]}}
stages:
"""


@pytest.mark.parametrize(
    ("stage", "unused"),
    [
        ("{id: a, kind: guard, level: info, text: x}", ["plain", "auto", "other", "shell", "seen"]),
        (
            "{id: a, kind: guard, level: info, text: '{{ limits.auto + limits.other }}'}",
            ["plain", "shell", "seen"],
        ),
        ("{id: a, kind: guard, level: info, text: '{{ limits }} {{ settings }} {{ facts }}'}", ["shell"]),
        (
            "{id: a, kind: drop, select: {blocks: [tool_result], tools: [shell], size: {chars: {above: plain}}}}",
            ["auto", "other", "seen"],
        ),
        (
            "{id: a, kind: attach, from: [{fact: seen, text: x, repeat: once}],"
            " when: {settings: {plain: 5}, tokens: {above: auto}}}",
            ["other", "shell"],
        ),
    ],
)
def test_names_nobody_uses_are_warned_about_where_they_stand(stage: str, unused: list[str]) -> None:
    found = findings(f"{USING}  - {stage}\n")
    assert sorted(each.message.split("`")[1] for each in found) == sorted(unused)
    assert {each.severity for each in found} <= {"warning"}
    assert all(each.source[each.column - 1 :].startswith(each.message.split("`")[1]) for each in found)


def test_a_pack_that_is_only_extended_uses_nothing_itself_and_is_not_warned() -> None:
    assert codes(USING.replace("stages:", "stages: []")) == []


def test_a_value_that_an_extending_file_makes_superfluous_is_not_its_mistake() -> None:
    assert codes("extends: [claude-code]\nlimits: {effective: 0.9 * window}\n") == []


def test_values_set_from_outside_make_no_name_unused(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    stage = "{id: a, kind: guard, level: info, text: x, when: {tokens: {above: auto}}}"
    path.write_text(f"{HEAD}limits: {{auto: hard, hard: 5}}\nstages: [{stage}]\n", encoding="utf-8")
    assert check(path).problems == check(path, [("limits.auto", "7")]).problems == ()


def test_a_name_that_a_template_file_reads_or_may_read_is_used() -> None:
    body = "settings: {tone: calm}\nstages: [{id: a, kind: guard, level: info, template: not-there.md.j2}]\n"
    assert codes(body) == []
    stage = "{id: a, kind: summarize, text: x, wrapper: summary/continue.md.j2}"
    shared = f"settings: {{autonomous: true}}\nstages: [{stage}]\n"
    assert codes(shared) == []


def test_a_file_that_extends_may_leave_stages_out_and_another_may_not() -> None:
    assert codes("extends: [claude-code]\n") == []
    (problem,) = findings("description: nothing\n")
    assert (problem.code, problem.message) == ("one-of", "a pack needs `stages` or `extends`")
    assert codes("stagess: []\n") == ["unknown-key"]
