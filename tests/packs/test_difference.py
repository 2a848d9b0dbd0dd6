"""What two packs do not have in common."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.packs.difference import Difference, differences, moved_names
from trimtab.packs.sources import resolve, resolve_text

BASE = """\
format: 1
name: base
version: 1.0.0
settings: {share: 0.8, cap: unlimited}
models:
  "a-*": {window: 1000}
  "*": {share: 0.5}
limits: {auto: share * window}
tools: {read: [Read], shell: [Bash]}
facts: {files: {key: path, from: [{tools: [read], take: {path: /p}}]}}
stages:
  - {id: first, kind: guard, level: info, text: one}
  - id: clear
    kind: replace
    select: {blocks: [tool_result]}
    keep: {newest: {items: 5}}
    text: "[cleared]"
  - id: compact
    kind: first_of
    stages:
      - {id: by-model, kind: summarize, prompt: summary/nine-sections.md.j2}
      - {id: by-ledger, kind: summarize, template: summary/ledger.md.j2}
  - {id: last, kind: guard, level: info, text: two}
"""


def compared(change: str, to: str) -> list[Difference]:
    assert change in BASE
    return differences(resolve_text(BASE, "a.yaml"), resolve_text(BASE.replace(change, to), "b.yaml"))


@pytest.mark.parametrize(
    ("change", "to", "path", "what", "before", "after", "was", "now"),
    [
        ("0.8", "0.9", "settings.share", "changed", 0.8, 0.9, "a.yaml:4", "b.yaml:4"),
        (", cap: unlimited", "", "settings.cap", "removed", "unlimited", None, "a.yaml:4", ""),
        ("{auto:", "{hard: 9, auto:", "limits.hard", "added", None, 9, "", "b.yaml:8"),
        ("[Bash]", "[Sh]", "tools.shell", "changed", ["Bash"], ["Sh"], "a.yaml:9", "b.yaml:9"),
        ("key: path", "key: name", "facts.files.key", "changed", "path", "name", "a.yaml:10", "b.yaml:10"),
        ("items: 5", "items: 6", "stages.clear.keep.newest.items", "changed", 5, 6, "a.yaml:16", "b.yaml:16"),
        (
            "nine-sections",
            "ledger",
            "stages.by-model.prompt",
            "changed",
            "summary/nine-sections.md.j2",
            "summary/ledger.md.j2",
            "a.yaml:21",
            "b.yaml:21",
        ),
        ("1.0.0", "1.0.1", "version", "changed", "1.0.0", "1.0.1", "a.yaml:3", "b.yaml:3"),
    ],
)
def test_a_value_that_differs_is_named_with_both_places(
    change: str, to: str, path: str, what: str, before: object, after: object, was: str, now: str
) -> None:
    assert compared(change, to) == [Difference(path, what, before, after, was, now)]


def test_the_same_pack_has_no_differences_however_it_is_written() -> None:
    again = BASE.replace("{share: 0.8, cap: unlimited}", "{cap: unlimited, share: 0.8}")
    assert differences(resolve_text(BASE, "a"), resolve_text(again, "b")) == []


def test_stages_are_told_apart_by_id_added_removed_and_moved() -> None:
    line = "  - {id: first, kind: guard, level: info, text: one}\n"
    moved = BASE.replace(line, "") + line
    [found] = differences(resolve_text(BASE, "a"), resolve_text(moved, "b"))
    assert (found.path, found.what, found.before, found.after) == (
        "stages.first",
        "moved",
        "first",
        "behind last",
    )
    [found] = differences(resolve_text(BASE, "a"), resolve_text(BASE.replace(line, ""), "b"))
    assert (found.path, found.what, found.was) == ("stages.first", "removed", "a:12")
    [found] = differences(resolve_text(BASE.replace(line, ""), "a"), resolve_text(BASE, "b"))
    assert (found.path, found.what, found.now) == ("stages.first", "added", "b:12")


def test_a_child_that_leaves_its_parent_has_moved() -> None:
    child = "      - {id: by-ledger, kind: summarize, template: summary/ledger.md.j2}\n"
    out = BASE.replace(child, "") + child[4:]
    found = differences(resolve_text(BASE, "a"), resolve_text(out, "b"))
    assert [(each.path, each.what, each.before, each.after) for each in found] == [
        ("stages.by-ledger", "moved", "inside compact", "at the top")
    ]


def test_the_order_of_models_counts_since_the_first_match_does() -> None:
    entry = '  "a-*": {window: 1000}\n'
    swapped = BASE.replace(entry, "").replace('  "*": {share: 0.5}\n', '  "*": {share: 0.5}\n' + entry)
    found = differences(resolve_text(BASE, "a"), resolve_text(swapped, "b"))
    assert [each.what for each in found] == ["moved"]


def test_a_template_of_the_same_name_with_another_text_is_a_difference(tmp_path: Path) -> None:
    for name, text in (("a", "one"), ("b", "two")):
        (tmp_path / name / "templates").mkdir(parents=True)
        (tmp_path / name / "templates" / "outer.md.j2").write_text("{% include 'inner.md.j2' %}", "utf-8")
        (tmp_path / name / "templates" / "inner.md.j2").write_text(text, "utf-8")
        pack = BASE.replace("summary/ledger.md.j2", "outer.md.j2")
        (tmp_path / name / "pack.yaml").write_text(pack, "utf-8")
    [found] = differences(resolve(tmp_path / "a"), resolve(tmp_path / "b"))
    assert (found.path, found.before, found.after) == ("templates.inner.md.j2", "one", "two")


def test_places_of_inherited_values_are_those_of_the_file_that_says_them(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(BASE, "utf-8")
    (tmp_path / "own.yaml").write_text(
        "format: 1\nname: base\nversion: 1.0.0\nextends: [./base.yaml]\nsettings: {share: 0.1}\nstages: []\n",
        "utf-8",
    )
    [found] = differences(resolve(tmp_path / "base.yaml"), resolve(tmp_path / "own.yaml"))
    assert found.was == f"{tmp_path / 'base.yaml'}:4"
    assert found.now == f"{tmp_path / 'own.yaml'}:5"


@given(st.lists(st.sampled_from("abcdefgh"), unique=True), st.randoms(use_true_random=False))
def test_what_has_not_moved_stands_in_one_order_in_both(old: list[str], dice: object) -> None:
    new = list(old)
    dice.shuffle(new)  # type: ignore[attr-defined]
    moved = moved_names(old, new)
    assert [name for name in old if name not in moved] == [name for name in new if name not in moved]
    assert (moved == []) is (old == new)
