from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tests.policy.staging import FakeHistory, FakeScene, limits

from trimtab.facts import Facts
from trimtab.policy.conditions import ALWAYS, condition
from trimtab.policy.errors import CODES, PolicyError
from trimtab.policy.values import ConditionReport


def holds(raw: dict[str, Any], scene: FakeScene | None = None, **more: Any) -> bool:
    return condition(raw, **more).test(scene or FakeScene()).holds


def test_an_empty_condition_always_holds() -> None:
    assert holds({})
    assert ALWAYS.test(FakeScene()).holds


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        ({"tokens": {"at_least": 1000}}, True),
        ({"tokens": {"above": 1000}}, False),
        ({"tokens": {"at_most": 1000}}, True),
        ({"tokens": {"below": 1000}}, False),
        ({"tokens": {"at_least": 900, "below": 1100}}, True),
        ({"tokens": {"at_least": 900, "below": 1000}}, False),
        ({"tokens": {"at_least": "0.8 * window"}}, False),
        ({"tokens": {"at_least": "0.5 * window"}}, True),
    ],
)
def test_every_comparison_of_a_number_must_hold(raw: dict[str, Any], wanted: bool) -> None:
    assert holds(raw, FakeScene(values={"window": 2000})) is wanted


def test_all_entries_must_hold() -> None:
    scene = FakeScene(settings={"on": True})
    assert holds({"tokens": {"at_least": 1}, "settings": {"on": True}}, scene)
    assert not holds({"tokens": {"at_least": 1}, "settings": {"on": False}}, scene)


def test_a_text_is_matched_by_globs() -> None:
    assert holds({"model": ["gpt-*", "claude-*"]})
    assert not holds({"model": ["gpt-*"]})
    assert holds({"event": ["before_request"]})


def test_an_unknown_metric_makes_its_entry_false_and_says_so() -> None:
    for raw in ({"idle_minutes": {"at_least": 0}}, {"caller": ["*"]}, {"turn_end": False}):
        verdict = condition(raw).test(FakeScene())
        assert not verdict.holds
        assert verdict.entries[0].value is None
        assert verdict.entries[0].note == "unknown"


def test_a_limit_without_a_value_makes_its_entry_false_and_says_why() -> None:
    verdict = condition({"tokens": {"at_most": "5 - tokens"}}).test(FakeScene())
    assert not verdict.holds
    assert "negative" in (verdict.entries[0].note or "")


def test_a_limit_of_the_pack_is_reported_with_its_expression_and_number() -> None:
    scene = FakeScene(limits=limits(auto="0.8 * window"), values={"window": 1000})
    assert condition({"tokens": {"at_least": "auto"}}).test(scene).entries == (
        ConditionReport("tokens at_least", 1000, 800.0, True, "auto"),
    )


def test_a_plain_number_has_no_expression_in_the_report() -> None:
    assert condition({"tokens": {"above": 5}}).test(FakeScene()).entries[0].source is None


def test_the_first_failing_entry_settles_it_and_full_looks_at_all() -> None:
    read = condition({"tokens": {"above": 5000}, "event": ["before_request"], "messages": {"at_most": 3}})
    assert [entry.path for entry in read.test(FakeScene()).entries] == ["tokens above"]
    full = read.test(FakeScene(), full=True)
    assert not full.holds
    assert [(entry.path, entry.holds) for entry in full.entries] == [
        ("tokens above", False),
        ("event", True),
        ("messages at_most", True),
    ]


def test_any_needs_one_and_none_forbids_each() -> None:
    yes, no = {"tokens": {"at_least": 1}}, {"tokens": {"at_least": 9999}}
    assert holds({"any": [no, yes]})
    assert not holds({"any": [no, no]})
    assert holds({"none": [no, no]})
    assert not holds({"none": [no, yes]})


def test_none_forbids_the_conjunction_of_one_condition_not_its_entries() -> None:
    assert holds({"none": [{"tokens": {"at_least": 1}, "event": ["manual"]}]})


def test_nested_reports_show_what_was_looked_at() -> None:
    entry = condition({"any": [{"tokens": {"above": 9999}}, {"none": [{"event": ["manual"]}]}]}).test(
        FakeScene()
    )
    (report,) = entry.entries
    assert (report.path, report.holds) == ("any", True)
    assert [(one.path, one.holds) for one in report.nested] == [("0", False), ("1", True)]
    assert report.nested[0].nested[0].path == "tokens above"


def test_settings_are_compared_with_their_type() -> None:
    scene = FakeScene(settings={"on": True, "count": 1, "name": "same", "cap": float("inf")})
    assert holds({"settings": {"on": True, "count": 1, "name": "same", "cap": "unlimited"}}, scene)
    assert not holds({"settings": {"on": 1}}, scene)
    assert not holds({"settings": {"count": True}}, scene)
    assert not holds({"settings": {"gone": False}}, scene)


def test_committed_asks_the_history_for_these_stages_and_its_own() -> None:
    scene = FakeScene(history=FakeHistory(commits={"b"}))
    verdict = condition({"committed": ["a", "b"]}).test(scene)
    assert verdict.holds
    assert verdict.entries[0].value == "b"
    assert scene.history.asked == [(("a", "b"), "own")]
    assert not holds({"committed": ["a"]}, scene)


def test_since_compares_what_was_gained_after_the_marks() -> None:
    scene = FakeScene(history=FakeHistory(gains={"rounds": 12, "tokens": 30}))
    raw = {"since": {"stages": ["s"], "tools": ["todo"], "rounds": {"at_least": 10}, "tokens": {"below": 30}}}
    verdict = condition(raw).test(scene)
    assert [(entry.path, entry.value, entry.holds) for entry in verdict.entries] == [
        ("since rounds at_least", 12, True),
        ("since tokens below", 30, False),
    ]
    assert scene.history.asked[0] == ("rounds", ("s",), ("todo",), "own")
    assert not holds({"since": {"minutes": {"at_least": 0}}}, scene)


def test_metrics_of_a_proposal_are_known_only_in_accept() -> None:
    scene = FakeScene(proposal=SimpleNamespace(freed_tokens=500, items=3))
    assert holds({"freed_tokens": {"at_least": 500}, "items": {"below": 4}}, scene, accept=True)
    with pytest.raises(PolicyError, match="only known in `accept`"):
        condition({"freed_tokens": {"at_least": 500}})


def test_instructed_is_false_outside_manual_runs() -> None:
    assert holds({"instructed": False})
    asked = Facts.of({"request": {"name": "compact", "instructions": "keep the names"}})
    assert holds({"instructed": True, "request": ["compact"]}, FakeScene(event="manual", facts=asked))
    assert not holds({"instructed": True}, FakeScene(facts=asked))


@pytest.mark.parametrize(
    ("raw", "where", "code", "hint"),
    [
        ({"token": {"above": 1}}, ("token",), "unknown-metric", "`tokens`"),
        ({"tokens": {"over": 1}}, ("tokens", "over"), "unknown-key", "above"),
        ({"tokens": {}}, ("tokens",), "value", "at_least"),
        ({"tokens": 5}, ("tokens",), "type", "mapping"),
        ({"tokens": {"above": "5 +"}}, ("tokens", "above"), "expression", ""),
        ({"tokens": {"above": -5}}, ("tokens", "above"), "value", "0 or more"),
        ({"tokens": {"above": True}}, ("tokens", "above"), "value", ""),
        ({"event": "manual"}, ("event",), "type", "one element is a list too"),
        ({"event": []}, ("event",), "type", ""),
        ({"event": ["befor_request"]}, ("event", 0), "value", "`before_request`"),
        ({"error": ["prompt_to_long"]}, ("error", 0), "value", "`prompt_too_long`"),
        ({"turn_end": "yes"}, ("turn_end",), "type", ""),
        ({"any": {}}, ("any",), "type", ""),
        ({"any": []}, ("any",), "type", ""),
        (
            {"any": [{}, {"none": [{"tokns": {}}]}]},
            ("any", 1, "none", 0, "tokns"),
            "unknown-metric",
            "`tokens`",
        ),
        ({"settings": {}}, ("settings",), "value", ""),
        ({"settings": {"a": [1]}}, ("settings", "a"), "type", ""),
        ({"committed": ["a", 3]}, ("committed", 1), "type", ""),
        ({"since": {"tools": ["todo"]}}, ("since",), "value", "rounds"),
        ({"since": {"round": {"above": 1}}}, ("since", "round"), "unknown-key", "`rounds`"),
        ([], (), "type", ""),
    ],
)
def test_what_cannot_be_read_is_refused_at_its_place(
    raw: Any, where: tuple[str | int, ...], code: str, hint: str
) -> None:
    with pytest.raises(PolicyError) as caught:
        condition(raw)
    assert (caught.value.where, caught.value.code) == (where, code)
    assert hint in (caught.value.hint or "")
    assert code in CODES


def test_an_expression_error_keeps_its_offset() -> None:
    with pytest.raises(PolicyError) as caught:
        condition({"tokens": {"above": "window * * 2"}})
    assert caught.value.offset == 9


def test_an_error_can_be_told_from_further_outside() -> None:
    moved = PolicyError(("tokens",), "wrong", code="type", hint="mend it").inside("at", "manual")
    assert moved.where == ("at", "manual", "tokens")
    assert str(moved) == "at.manual.tokens: wrong (mend it)"


def test_every_name_it_uses_is_listed_with_its_place() -> None:
    read = condition(
        {
            "tokens": {"at_least": "auto"},
            "settings": {"on": True},
            "any": [
                {"committed": ["a"]},
                {"since": {"stages": ["s"], "tools": ["todo"], "rounds": {"above": "n"}}},
            ],
        }
    )
    found = {(one.kind, one.where) for one in read.references()}
    assert found == {
        ("quantity", ("tokens", "at_least")),
        ("setting", ("settings", "on")),
        ("stage", ("any", 0, "committed", 0)),
        ("stage", ("any", 1, "since", "stages", 0)),
        ("category", ("any", 1, "since", "tools", 0)),
        ("quantity", ("any", 1, "since", "rounds", "above")),
    }
