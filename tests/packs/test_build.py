"""What a checked pack is compiled to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, ClassVar

import pytest

from trimtab.packs.load import Report, check, check_text, load
from trimtab.packs.pack import Pack
from trimtab.packs.problems import INFO, PackError
from trimtab.policy.maker import Maker
from trimtab.policy.proposal import Proposal
from trimtab.policy.scene import Scene
from trimtab.policy.stage import Kind

HEAD = "format: 1\nname: mine\nversion: 1.0.0\n"


@dataclass(frozen=True, slots=True)
class Noted:
    """A kind that only remembers what it was built from."""

    name: ClassVar[str] = "noted"
    shrinks: ClassVar[bool] = False
    picks: ClassVar[bool] = False
    raw: Mapping[str, Any]

    @classmethod
    def build(cls, raw: Mapping[str, Any], make: Maker) -> Noted:
        if raw.get("description") == "complain":
            make.problem("this cannot be", "description", code="value", hint="say something else")
        return cls(raw)

    @property
    def opaque(self) -> bool:
        return False

    def propose(self, scene: Scene) -> Proposal:
        return Proposal()


KINDS: dict[str, type[Kind]] = dict.fromkeys(
    ("replace", "drop", "summarize", "attach", "guard", "first_of"), Noted
)


def made(body: str) -> Pack:
    report = check_text(HEAD + body, "mine.yaml", kinds=KINDS)
    assert report.pack is not None, "\n".join(map(str, report.problems))
    return report.pack


def told(body: str) -> Report:
    return check_text(HEAD + body, "mine.yaml", kinds=KINDS)


def test_a_stage_has_all_its_keys_compiled() -> None:
    pack = made(
        "limits: {auto: 0.8 * window}\n"
        "tools: {read: [Read]}\n"
        "stages:\n"
        "  - id: old\n"
        "    kind: replace\n"
        "    description: Old results go\n"
        "    at: {tool_result: {}, before_request: {tokens: {at_least: auto}}}\n"
        "    when: {caller: [main]}\n"
        "    accept: {freed_tokens: {at_least: 100}}\n"
        "    breaker: {failures: 3, cool_down_minutes: 5, unless: {turns: {above: 9}}}\n"
        "    on_failure: raise\n"
        "    enabled: false\n"
        "    select: {blocks: [tool_result], tools: [read]}\n"
        "    keep: [{newest: {items: 5}}, {oldest: {items: 1}}]\n"
        "    order: largest\n"
        "    fit: {per: message, chars: 1000}\n"
        "    once: true\n"
        '    text: "[cleared]"\n'
    )
    stage = pack.stages[0]
    assert (stage.id, stage.kind, stage.description) == ("old", "replace", "Old results go")
    assert list(stage.at) == ["tool_result", "before_request"]
    assert stage.at["tool_result"] is None
    assert stage.at["before_request"] is not None
    assert stage.when is not None
    assert stage.accept is not None
    assert stage.breaker is not None
    assert stage.breaker.failures.constant == 3
    assert stage.breaker.unless is not None
    assert (stage.on_failure, stage.enabled, stage.order, stage.once) == ("raise", False, "largest", True)
    assert stage.select is not None
    assert len(stage.keep) == 2
    assert stage.fit is not None
    assert str(stage.origin) == "mine.yaml:7:5"
    assert isinstance(stage.params, Noted)


def test_a_stage_without_keys_has_the_defaults_of_the_language() -> None:
    stage = made("stages: [{id: full, kind: guard, level: info, text: full}]\n").stages[0]
    assert dict(stage.at) == {"before_request": None, "overflow": None, "manual": None}
    assert (stage.when, stage.accept, stage.breaker, stage.select, stage.keep) == (None, None, None, None, ())
    assert (stage.on_failure, stage.enabled, stage.order, stage.once, stage.cut_at) == (
        "keep",
        True,
        "oldest",
        False,
        "rounds",
    )


def test_children_get_the_defaults_they_do_not_set() -> None:
    pack = made(
        "stages:\n"
        "  - id: group\n"
        "    kind: first_of\n"
        "    at: [overflow]\n"
        "    defaults: {keep: {newest: {turns: 2}}, text: from above, wrapper: summary/continue.md.j2}\n"
        "    stages:\n"
        "      - {id: a, kind: summarize}\n"
        "      - {id: b, kind: summarize, keep: {newest: {turns: 9}}}\n"
        "      - {id: c, kind: summarize, template: summary/ledger.md.j2}\n"
        "      - {id: d, kind: guard, level: info}\n"
    )
    built = {each.id: each for each in pack.stages[0].children}
    raw = {name: each.params.raw for name, each in built.items() if isinstance(each.params, Noted)}
    assert raw["a"]["text"] == "from above"
    assert raw["a"]["keep"] == {"newest": {"turns": 2}}
    assert raw["b"]["keep"] == {"newest": {"turns": 9}}
    assert raw["b"]["wrapper"] == "summary/continue.md.j2"
    assert "text" not in raw["c"]
    assert raw["d"] == {"id": "d", "kind": "guard", "level": "info", "text": "from above"}
    assert [list(each.at) for each in built.values()] == [["overflow"]] * 4


def test_a_child_without_what_its_kind_needs_is_reported_at_the_child() -> None:
    body = (
        "stages:\n  - id: group\n    kind: first_of\n    stages:\n      - {id: a, kind: replace, text: x}\n"
    )
    problems = told(body).problems
    assert [(each.code, each.line) for each in problems] == [("missing-key", 8)]


def test_a_kind_that_is_not_there_leaves_a_stage_that_is_skipped() -> None:
    report = told("stages: [{id: marks, kind: cache_marks, marks: [{place: system}]}]\n")
    assert report.ok
    assert [(each.code, each.severity) for each in report.problems] == [("kind-not-available", INFO)]
    assert report.pack is not None
    assert report.pack.stages[0].params is None


def test_what_a_kind_complains_of_stands_at_its_place_in_the_file() -> None:
    body = "stages:\n  - id: full\n    kind: guard\n    description: complain\n    level: info\n    text: x\n"
    report = told(body)
    assert report.pack is None
    assert [(each.code, each.line, each.column, each.hint) for each in report.problems] == [
        ("value", 7, 18, "say something else")
    ]


def test_a_setting_is_the_hosts_else_the_model_entrys_else_the_packs() -> None:
    pack = made(
        "settings: {share: 0.8, cap: unlimited, writer: same, on_switch: true}\n"
        'models: {"big-*": {share: 0.5, window: 1000000, writer: fast},'
        ' "*": {cap: 9, max_output: unlimited}}\n'
        "stages: []\n"
    )
    assert pack.settings == {"share": 0.8, "cap": inf, "writer": "same", "on_switch": True}
    values, figures = pack.values_for("big-one", {"on_switch": False})
    assert values == {"share": 0.5, "cap": inf, "writer": "fast", "on_switch": False}
    assert figures == {"window": 1_000_000}
    values, figures = pack.values_for("other", {"cap": "unlimited"}, {"oth*": {"window": 5, "share": 0.1}})
    assert values == {"share": 0.1, "cap": inf, "writer": "same", "on_switch": True}
    assert figures == {"window": 5, "max_output": inf}


def test_unlimited_from_the_host_is_a_number() -> None:
    pack = made("settings: {cap: 5}\nstages: []\n")
    assert pack.values_for("any", {"cap": "unlimited"})[0] == {"cap": inf}


def test_a_pack_that_has_errors_is_not_loaded(tmp_path: Path) -> None:
    path = tmp_path / "pack.yaml"
    path.write_text(
        HEAD + "stages: [{id: x, kind: guard, level: info, txt: x}, {id: x, kind: nothing}]\n", "utf-8"
    )
    with pytest.raises(PackError) as caught:
        load(path, kinds=KINDS)
    assert len(caught.value.problems) >= 2
    assert "did you mean `text`?" in str(caught.value)


def test_a_missing_template_can_be_stood_in_for(tmp_path: Path) -> None:
    path = tmp_path / "pack.yaml"
    path.write_text(
        HEAD + "stages: [{id: x, kind: guard, level: info, template: none-such.md.j2}]\n", "utf-8"
    )
    assert check(path, kinds=KINDS).pack is None
    report = check(path, kinds=KINDS, missing_templates=True)
    assert report.ok
    assert report.pack is not None
    assert [(each.code, each.severity) for each in report.problems] == [("template-missing", "warning")]


def test_an_inline_template_has_the_lines_of_its_file() -> None:
    report = told(
        "stages:\n  - id: x\n    kind: guard\n    level: info\n    text: |\n      one\n      {{ nothing }}\n"
    )
    assert [(each.code, each.line, each.column) for each in report.problems] == [
        ("template-variable", 10, 10)
    ]


def test_a_line_break_in_a_quoted_text_does_not_move_the_place() -> None:
    report = told('stages:\n  - {id: x, kind: guard, level: info, text: "one\\n{{ nothing }}"}\n')
    assert [(each.code, each.line, each.column) for each in report.problems] == [("template-variable", 5, 54)]
