"""A resolved pack, written out again."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.packs.document import parse_document
from trimtab.packs.show import in_order, places, resolved_yaml, scalar
from trimtab.packs.sources import resolve

GOOD = sorted((Path(__file__).parents[1] / "cases" / "good").glob("*.yaml"))


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
@pytest.mark.parametrize("provenance", [True, False])
def test_what_is_written_reads_back_as_the_same_pack(path: Path, provenance: bool) -> None:
    resolved = resolve(path)
    again = parse_document(resolved_yaml(resolved, provenance), "shown")
    assert again.data == {key: value for key, value in resolved.data.items() if key != "extends"}


def test_every_line_says_where_its_values_come_from() -> None:
    path = next(each for each in GOOD if each.stem == "extending")
    shown = resolved_yaml(resolve(path)).split("\n")
    kept = next(line for line in shown if line.lstrip().startswith("keep: {newest: {items: 10}}"))
    assert kept.endswith("# 9")
    inherited = next(
        line for line in shown if line.lstrip().startswith("select: {blocks: [tool_result], none:")
    )
    assert inherited.endswith("observations.yaml:11")


@given(
    st.one_of(
        st.text(max_size=30), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False)
    )
)
@settings(max_examples=200, deadline=None)
def test_a_scalar_reads_back_as_itself_in_both_flow_and_block_style(value: Any) -> None:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**200:
        return
    written = scalar(value)
    for text, pick in (
        (f"a: {written}\n", lambda data: data["a"]),
        (f"a: [{written}]\n", lambda data: data["a"][0]),
    ):
        read = pick(parse_document(text, "f").data)
        assert type(read) is type(value)
        assert read == value or (isinstance(value, float) and math.isclose(read, value))


@pytest.mark.parametrize(
    "value", ["yes", "on", "12", "1.0", "1:30", "null", "~", "true", "0x1F", "2026-01-02", "=", "<<"]
)
def test_a_text_that_another_reader_takes_for_something_else_is_quoted(value: str) -> None:
    assert yaml.safe_load(f"a: {scalar(value)}") == {"a": value}


def test_the_top_level_stands_in_the_order_of_the_language(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "stages: []\ntools: {extra: [X]}\nextends: [claude-code]\nversion: 1.0.0\nname: mine\nformat: 1\n",
        "utf-8",
    )
    resolved = resolve(path)
    order = ["format", "name", "version", "settings", "models", "limits", "tools", "facts", "stages"]
    assert list(yaml.safe_load(resolved_yaml(resolved))) == order
    assert list(in_order(resolved.data)) == order


TWO = """\
format: 1
name: two
version: 1.0.0
extends: [observations]
settings: {shown: 9}
limits: {auto: 0.5 * window}
stages:
  - {id: old, keep: {oldest: {items: 1}}}
"""


def test_a_line_never_holds_values_of_two_files(tmp_path: Path) -> None:
    base = (GOOD[0].parent / "observations.yaml").read_text("utf-8")
    (tmp_path / "observations").mkdir()
    (tmp_path / "observations" / "pack.yaml").write_text(base, "utf-8")
    (tmp_path / "two.yaml").write_text(TWO, "utf-8")
    resolved = resolve(tmp_path / "two.yaml")
    shown = resolved_yaml(resolved)
    assert parse_document(shown, "shown").data["stages"][1]["keep"] == {
        "newest": {"items": "shown"},
        "oldest": {"items": 1},
    }
    lines = [line.strip() for line in shown.splitlines()]
    assert any(line.startswith("oldest: {items: 1}") and line.endswith("# 8") for line in lines)
    assert any(
        line.startswith("newest: {items: shown}") and "observations/pack.yaml:" in line for line in lines
    )
    assert not any(line.endswith("…") for line in lines)


def test_every_value_has_a_place_of_its_own() -> None:
    resolved = resolve("claude-code-155k")
    found = places(resolved)
    assert found["settings.buffer"] == "rules/claude-code-155k/pack.yaml:9:20"
    assert found["stages.idle-clear.kind"].startswith("rules/claude-code/pack.yaml:")
    nodes = [node for path, node in resolved.root.walk() if path[:1] != ("extends",)]
    single = [node for node in nodes if not isinstance(node.value, dict | list) or not node.value]
    assert len(found) == len(single)
