"""Packs written to break the check: every one ends in a finding with a place, quickly."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from trimtab.packs.load import check, check_text

HEAD = "format: 1\nname: x\nversion: 1.0.0\n"


def codes(text: str) -> list[str]:
    return [problem.code for problem in check_text(HEAD + text).problems if problem.severity == "error"]


def test_a_chain_of_two_thousand_limits_written_backwards_can_be_checked() -> None:
    chain = ", ".join(f"a{number}: a{number - 1} + 1" for number in range(2000, 0, -1))
    assert codes(f"limits: {{{chain}, a0: 1}}\nstages: []\n") in ([], ["too-large"])


def test_a_circle_of_two_thousand_limits_is_found() -> None:
    circle = ", ".join(f"a{number}: a{(number + 1) % 2000} + 1" for number in range(2000))
    assert "limit-cycle" in codes(f"limits: {{{circle}}}\nstages: []\n")


def test_a_template_with_a_number_of_five_thousand_digits_is_refused() -> None:
    text = "{{ " + "9" * 5000 + " }}"
    stage = "{id: a, kind: guard, level: info, text: '" + text + "'}"
    assert codes(f"stages: [{stage}]\n") == ["template-syntax"]


@pytest.mark.parametrize("text", ["{{ 1 / 0 }}", "{{ 'x' * 10 }}", "{{ " + "*".join(["9"] * 300) + " }}"])
def test_a_template_that_can_never_be_rendered_is_found_by_the_check(text: str) -> None:
    stage = '{id: a, kind: guard, level: info, text: "' + text + '"}'
    assert codes(f"stages: [{stage}]\n")


@pytest.mark.parametrize("content", ["just a text\n", "- a\n- b\n", "5\n"])
def test_extending_a_file_that_is_no_pack_is_an_error(tmp_path: Path, content: str) -> None:
    (tmp_path / "base.yaml").write_text(content)
    pack = tmp_path / "pack.yaml"
    pack.write_text(HEAD + "extends: [base.yaml]\nstages: []\n")
    assert not check(pack).ok


def test_extending_a_name_too_long_for_the_system_is_a_finding_with_a_place(tmp_path: Path) -> None:
    pack = tmp_path / "pack.yaml"
    pack.write_text(HEAD + f"extends: [{'a' * 5000}/pack.yaml]\nstages: []\n")
    report = check(pack)
    assert [problem.code for problem in report.problems] == ["extends"]
    assert report.problems[0].line == 4


@pytest.mark.parametrize(
    "text",
    [
        'format: 1\nname: x\nversion: "1.0.0\\n"\nstages: []\n',
        'format: 1\nname: "x\\n"\nversion: 1.0.0\nstages: []\n',
        HEAD + 'stages: [{id: "a\\n", kind: guard, level: info, text: hi}]\n',
    ],
)
def test_a_line_break_at_the_end_of_a_name_is_refused(text: str) -> None:
    assert not check_text(text).ok


@pytest.mark.parametrize(
    "text",
    [
        "{% for a in [1,2,3,4,5,6,7,8,9] %}" * 10 + "{% endfor %}" * 10,
        '{% set s = "ab" %}' + "{% set s = s ~ s %}" * 60 + "{{ s|length }}",
        '{{ "aaaaaaaaaa"' + '|replace("a", "aaaaaaaaaa")' * 12 + " }}",
    ],
    ids=["loops", "doubling", "replacing"],
)
def test_a_template_without_end_fails_its_stage_within_a_second(text: str) -> None:
    from trimtab import Engine, Facts, Request

    report = check_text(
        HEAD + "stages:\n  - id: a\n    kind: guard\n    level: info\n    text: '" + text + "'\n"
    )
    assert report.pack is not None
    start = time.perf_counter()
    request = Request("claude-sonnet-4-5", [{"role": "user", "content": "go"}])
    outcome = Engine(report.pack).session().run(request, facts=Facts(now=1e9))
    assert [stage.verdict for stage in outcome.receipt.stages] == ["failed"]
    assert time.perf_counter() - start < 2


def test_a_chain_of_limits_as_deep_as_may_be_can_be_worked_out() -> None:
    from trimtab import Engine, Facts, Request

    def pack(count: int) -> str:
        chain = ", ".join(f"a{number}: a{number - 1} + tokens" for number in range(1, count))
        when = f"{{tokens: {{at_most: a{count - 1}}}}}"
        stage = f"{{id: s, kind: guard, level: info, when: {when}, text: hi}}"
        return f"limits: {{a0: tokens, {chain}}}\nstages: [{stage}]\n"

    report = check_text(HEAD + pack(80))
    assert report.pack is not None
    request = Request("claude-sonnet-4-5", [{"role": "user", "content": "go"}])
    outcome = Engine(report.pack).session().run(request, facts=Facts(now=1e9))
    assert [stage.verdict for stage in outcome.receipt.stages] == ["done"]
    assert codes(pack(81)) == ["too-large"]
    assert codes(pack(500)) == ["too-large"]


@pytest.mark.parametrize("name", ["", "a" * 5000, "a" * 300 + "/pack.yaml", "\0"])
def test_a_pack_nobody_can_have_is_a_finding(name: str) -> None:
    assert [problem.code for problem in check(name).problems] == ["file"]


def test_a_template_with_a_name_too_long_for_the_system_is_missing() -> None:
    stage = "{id: a, kind: guard, level: info, template: " + "a" * 300 + ".md.j2}"
    assert codes(f"stages: [{stage}]\n") == ["template-missing"]


@pytest.mark.parametrize("sign", ["+", "~ 'x' +", "and"])
def test_an_expression_too_deep_to_be_compiled_is_found_by_the_check(sign: str) -> None:
    text = "{{ " + f" {sign} ".join(["model"] * 300) + " }}"
    stage = '{id: a, kind: guard, level: info, text: "' + text + '"}'
    assert codes(f"stages: [{stage}]\n") == ["template-syntax"]


@pytest.mark.parametrize(
    "text", ["{{ 7 // 2 + 1 }}", "{{ -3 < 4 < 5 }}", "{{ 'a' in 'abc' }}", "{{ not 0 }}", "{{ 'a' + 'b' }}"]
)
def test_what_can_be_worked_out_is_no_finding(text: str) -> None:
    stage = '{id: a, kind: guard, level: info, text: "' + text + '"}'
    assert codes(f"stages: [{stage}]\n") == []
