"""Steps between formats of the language, tried with an older format that never was."""

from __future__ import annotations

import pytest

from trimtab.packs.document import parse_document
from trimtab.packs.migrating import MIGRATIONS, Migration, migrated
from trimtab.packs.problems import PackError
from trimtab.packs.written.editing import add, remove, rename, replace
from trimtab.packs.written.tree import Collection, Leaf, Written

OLD = """\
# ours
format: 8   # the first there was
name: old
stages:
  # cleared when it is full
  - {trigger: 1000, id: clear,  # why 1000
     kind: replace}
  - id: say
    trigger: 2000   # later
    kind: guard
    colour: red     # nobody knows
"""


def to_minus_one(written: Written) -> list[str]:
    """`trigger: N` becomes `at: {before_request: {tokens: {at_least: N}}}`."""
    for stage in written.stages():
        entry = stage.entry("trigger")
        if entry is not None and isinstance(entry.value, Leaf):
            rename(stage, "trigger", "at")
            replace(entry, f"{{before_request: {{tokens: {{at_least: {entry.value.source}}}}}}}")
    return []


def to_zero(written: Written) -> list[str]:
    """`colour` is gone, `version` has come."""
    assert isinstance(written.root, Collection)
    add(written.root, "version", "1.0.0", after="name")
    gone = [stage for stage in written.stages() if remove(stage, "colour")]
    return ["a colour was taken out"] * len(gone)


STEPS = (Migration(8, "triggers are conditions", to_minus_one), Migration(9, "no colours", to_zero))


def test_steps_are_taken_one_after_another_and_comments_stay() -> None:
    found = migrated(OLD, "old.yaml", STEPS, target=10)
    assert [step.before for step in found.steps] == [8, 9]
    assert found.remarks == ("a colour was taken out",)
    assert (
        found.text
        == """\
# ours
format: 10   # the first there was
name: old
version: 1.0.0
stages:
  # cleared when it is full
  - {at: {before_request: {tokens: {at_least: 1000}}}, id: clear,  # why 1000
     kind: replace}
  - id: say
    at: {before_request: {tokens: {at_least: 2000}}}   # later
    kind: guard
"""
    )


def test_only_the_steps_that_are_left_are_taken() -> None:
    found = migrated(OLD.replace("format: 8", "format: 9"), "old.yaml", STEPS, target=10)
    assert [step.before for step in found.steps] == [9]
    assert parse_document(found.text, "new").data["stages"][1]["trigger"] == 2000


def test_a_pack_of_this_format_stays_byte_for_byte_as_it_is() -> None:
    text = "name:   x\nformat: 1\n"
    assert migrated(text, "f").text == text
    assert migrated(text, "f").steps == ()


def test_the_steps_that_ship_follow_one_another_up_to_this_format() -> None:
    numbers = [step.before for step in MIGRATIONS]
    assert numbers == list(range(1 - len(numbers), 1))


@pytest.mark.parametrize(
    ("form", "message", "hint"),
    [
        ("format: 99", "is newer than this engine", "install a newer trimtab"),
        ("format: 0", "no step leads from format 0 to 1", "oldest format"),
        ("format: one", "is no format", "reads format: 1"),
        ("format: true", "is no format", "reads format: 1"),
        ("", "`format` is missing", "begins with `format: 1`"),
    ],
)
def test_a_format_no_way_leads_from_is_refused_with_what_helps(form: str, message: str, hint: str) -> None:
    with pytest.raises(PackError) as caught:
        migrated(f"name: x\n{form}\n", "pack.yaml")
    [problem] = caught.value.problems
    assert message in problem.message
    assert problem.hint is not None
    assert hint in problem.hint
    assert problem.file == "pack.yaml"
    assert problem.line > 0


def test_a_step_that_would_break_the_file_writes_nothing() -> None:
    def breaks(written: Written) -> list[str]:
        assert isinstance(written.root, Collection)
        add(written.root, "name", "twice")
        return []

    with pytest.raises(PackError, match="cannot be read"):
        migrated("name: x\nformat: 9\n", "pack.yaml", [Migration(9, "", breaks)], target=10)
