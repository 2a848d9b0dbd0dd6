"""Strict YAML: what is read, what is refused, and where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.packs.document import parse_document, read_document
from trimtab.packs.problems import PackError, Problem

CASES = Path(__file__).parents[1] / "cases"


def refusal(text: str, *, pure: bool = False) -> Problem:
    with pytest.raises(PackError) as caught:
        parse_document(text, "pack.yaml", pure=pure)
    assert len(caught.value.problems) == 1
    return caught.value.problems[0]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("yes", "yes"),
        ("on", "on"),
        ("True", True),
        ("false", False),
        ("12", 12),
        ("-3", -3),
        ("0", 0),
        ("1.50", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("0x1F", "0x1F"),
        ("1:30", "1:30"),
        ("2026-01-02", "2026-01-02"),
        ("1_000", "1_000"),
        ("1.0.0", "1.0.0"),
        ('"12"', "12"),
        ("'true'", "true"),
        ('""', ""),
    ],
)
def test_scalars_are_those_of_yaml_1_2(written: str, value: Any) -> None:
    read = parse_document(f"key: {written}\n", "pack.yaml").data["key"]
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("a: 1\nb:\n  c: 1\n  c: 2\n", "yaml-duplicate-key", 4, 3),
        ("a: {b: 1, b: 2}\n", "yaml-duplicate-key", 1, 11),
        ("a: &x 1\n", "yaml-alias", 1, 4),
        ("a: *x\n", "yaml-alias", 1, 4),
        ("a: !!str 1\n", "yaml-tag", 1, 4),
        ("a: ! 1\n", "yaml-tag", 1, 4),
        ("a: !mine {b: 1}\n", "yaml-tag", 1, 4),
        ("a:\nb: 1\n", "yaml-null", 1, 1),
        ("a: [1, null]\n", "yaml-null", 1, 8),
        ("- \n", "yaml-null", 1, 2),
        ("true: 1\n", "yaml-key", 1, 1),
        ("a: {1.5: 1}\n", "yaml-key", 1, 5),
        ("? [a]\n: 1\n", "yaml-key", 1, 3),
        ("a: {{ b }}\n", "yaml-key", 1, 5),
        ("a: 007\n", "yaml-number", 1, 4),
        ("a: .nan\n", "yaml-number", 1, 4),
        ("a: 1e999\n", "yaml-number", 1, 4),
        (f"a: {'9' * 400}\n", "yaml-number", 1, 4),
        ("a: 1\n\tb: 2\n", "yaml-tab", 2, 1),
        ("a: 1 # one\ttwo\n", "yaml-tab", 1, 11),
        ("a: 1\n---\nb: 2\n", "yaml", 2, 1),
        ("", "yaml", 1, 1),
        ("# nothing but a comment\n", "yaml", 1, 1),
        ("a: one: two\n", "yaml", 1, 7),
        ("a: x\x01\n", "yaml", 1, 5),
        ("[" * 60, "too-large", 1, 41),
        ("a: {b: min(c, 2), d: 1}\n", "yaml-comma", 1, 8),
        ("a: [max(1, floor(b, 2))]\n", "yaml-comma", 1, 5),
    ],
)
def test_what_is_not_plain_data_is_refused_at_its_place(text: str, code: str, line: int, column: int) -> None:
    problem = refusal(text)
    assert (problem.code, problem.line, problem.column) == (code, line, column)
    assert problem.hint


def test_a_missing_value_in_flow_style_without_open_brackets_is_just_missing() -> None:
    assert refusal("a: {b: one, two}\n").code == "yaml-null"


def test_a_bracket_in_a_quoted_text_is_no_split_expression() -> None:
    assert parse_document('a: {b: "min(", c: 1}\n', "pack.yaml").data == {"a": {"b": "min(", "c": 1}}


def test_every_key_and_value_knows_its_place() -> None:
    text = 'a: {b: "x y", c: [1, é2]}\nd: |\n  one\n  two\n'
    document = parse_document(text, "pack.yaml")
    b = document.root.mapping["a"].mapping["b"]
    assert (b.pos.line, b.pos.column, b.pos.width, b.pos.lead) == (1, 8, 5, 1)
    assert b.key is not None
    assert (b.key.line, b.key.column, b.key.width) == (1, 5, 1)
    assert (document.where(("a", "c", 1)).line, document.where(("a", "c", 1)).column) == (1, 22)
    block = document.where(("d",))
    assert block.block
    assert block.down(2).line == 4
    assert document.where(("a", "nothing", "there")) == document.where(("a",))


def test_an_offset_into_a_scalar_is_a_column_of_the_file() -> None:
    document = parse_document("a: 0.8 * windw\nb: '0.8 * windw'\n", "pack.yaml")
    for key, column in (("a", 10), ("b", 11)):
        place = document.where((key,)).at(6, 5)
        assert (place.column, place.width) == (column, 5)


def test_comments_that_allow_a_finding_are_kept_by_line() -> None:
    document = parse_document("a: 1\nb: 2 # trimtab: allow events, because\n", "pack.yaml")
    assert document.allows[2].code == "events"
    assert document.allows[2].reason == "because"


def test_a_file_that_is_not_utf8_is_refused_where_it_stops_being_it(tmp_path: Path) -> None:
    path = tmp_path / "pack.yaml"
    path.write_bytes(b"a: 1\nb: \xff\n")
    with pytest.raises(PackError) as caught:
        read_document(path)
    assert [(each.code, each.line, each.column) for each in caught.value.problems] == [("encoding", 2, 4)]


def test_a_file_over_a_megabyte_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "pack.yaml"
    path.write_bytes(b"a: 1\n" * 300_000)
    with pytest.raises(PackError) as caught:
        read_document(path)
    assert caught.value.problems[0].code == "too-large"


def test_more_values_than_allowed_are_refused() -> None:
    assert refusal("a: [" + "1," * 60_000 + "1]\n").code == "too-large"


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    path = tmp_path / "pack.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: [x]\r\n")
    document = read_document(path)
    assert document.data == {"a": 1, "b": ["x"]}
    assert document.where(("b", 0)).line == 2


@pytest.mark.parametrize("path", sorted(CASES.glob("*/*.yaml")), ids=lambda path: path.stem)
def test_both_parsers_read_the_same_values_at_the_same_places(path: Path) -> None:
    text = path.read_text("utf-8")
    outcome = [_read(text, pure) for pure in (False, True)]
    assert outcome[0] == outcome[1]


def _read(text: str, pure: bool) -> Any:
    """The values with their places, or the code of what is wrong."""
    try:
        document = parse_document(text, "pack.yaml", pure=pure)
    except PackError as error:
        return error.problems[0].code
    return [
        (where, node.pos, node.key, node.value if not isinstance(node.value, dict | list) else None)
        for where, node in document.root.walk()
    ]


_scalars = st.one_of(
    st.booleans(),
    st.integers(-(10**6), 10**6),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.text(
        st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufeff"),
        max_size=12,
    ),
)
_values = st.recursive(
    _scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abcdef_", min_size=1), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.text("abcdef_", min_size=1), _values, min_size=1, max_size=4), st.booleans())
@settings(max_examples=80, deadline=None)
def test_data_written_by_a_yaml_library_is_read_back(data: dict[str, Any], flow: bool) -> None:
    text = yaml.safe_dump(data, default_flow_style=flow, allow_unicode=True, default_style='"')
    text = text.replace('!!int "', '"').replace('!!bool "', '"').replace('!!float "', '"')
    assert parse_document(text, "pack.yaml").data == _as_texts(data)


def _as_texts(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_texts(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_as_texts(each) for each in value]
    return value if isinstance(value, str) else yaml.safe_dump(value).split("\n")[0]
