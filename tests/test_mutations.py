"""The mutation check: which changes it makes, and that it tells a pack whose tests notice from one whose do not."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench import mutations
from bench.mutations import EQUIVALENT, Fate, Mutant, changes, mutants, report, tried
from tests.testing.support import written

from trimtab.packs.load import list_packs

PACKS = [shipped.name for shipped in list_packs()]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (5, ["6", "4"]),
        (0, ["1"]),
        (20000, ["20200", "19800"]),
        (0.2, ["0.21", "0.19"]),
        (True, ["false"]),
        ("min(max_output, 20000, room / 3)", [
            "min(max_output, 20200, room / 3)", "min(max_output, 19800, room / 3)",
            "min(max_output, 20000, room / 4)", "min(max_output, 20000, room / 2)",
        ]),
    ],
)  # fmt: skip
def test_each_number_is_a_step_larger_and_a_step_smaller(value: object, expected: list[str]) -> None:
    assert list(changes(value)) == expected  # type: ignore[arg-type]  # a table of every type


def test_numbers_of_a_pack_are_found_by_their_places_names_and_texts_are_not() -> None:
    places = {one.place for one in mutants("claude-code")}
    assert {
        "settings.buffer",
        "limits.reserve",
        "models.*[1m].window",
        "stages.microcompact.defaults.keep.newest.items",
        "stages.idle-clear.when.idle_minutes.at_least",
        "stages.server-editing.edits.2.trigger.value",
        "stages.restore.from.0.budget.tokens_each",
    } <= places
    assert not any(place.endswith((".text", ".template", ".type", ".id")) for place in places)


def test_of_a_pack_that_builds_on_another_only_its_own_values_are_changed() -> None:
    assert [str(one) for one in mutants("claude-code-155k")] == [
        "claude-code-155k: settings.buffer: 25000 → 25250",
        "claude-code-155k: settings.buffer: 25000 → 24750",
    ]


def test_every_change_that_is_argued_is_one_that_is_made() -> None:
    made = {one.place for name in PACKS for one in mutants(name)}
    made |= {f"{one.place}: {one.after}" for name in PACKS for one in mutants(name)}
    assert set(EQUIVALENT) <= made


@pytest.mark.parametrize(("expect", "end"), [("{items: 2}", "killed"), ("{items: {above: 0}}", "survived")])
def test_a_change_survives_where_no_test_fails(
    expect: str, end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutations, "_CASES", {})
    tests = (
        f"cases:\n  - {{name: a, given: {{rounds: {{count: 3}}}}, expect: {{stages: {{clear: {expect}}}}}}}\n"
    )
    written(tmp_path, tests)
    pack = str(tmp_path / "pack.yaml")
    assert mutations.prepare(pack) == []
    assert tried(Mutant(pack, "settings.shown", "1", "0")).end == end
    assert tried(Mutant(pack, "stages.clear.at", "x", "[nonsense]")).end == "refused"


def test_a_survivor_nobody_has_argued_is_told_and_fails_the_check(capsys: pytest.CaptureFixture[str]) -> None:
    argued = Fate(Mutant("p", "stages.drain.fit.tokens", "0", "1"), "survived")
    other = Fate(Mutant("p", "limits.auto", "5", "6"), "survived")
    killed = Fate(Mutant("p", "limits.auto", "5", "4"), "killed", "a case")
    assert report(["p"], [argued, killed], 1.0, verbose=False) == 0
    assert "SURVIVED" not in capsys.readouterr().out
    assert report(["p"], [argued, other, killed], 1.0, verbose=True) == 1
    out = capsys.readouterr().out
    assert "SURVIVED p: limits.auto: 5 → 6" in out
    assert "33.3 %" in out
