from __future__ import annotations

import ast
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.policy.expressions import (
    FUNCTIONS,
    RESERVED,
    ExpressionError,
    NoValue,
    quantity,
)

NAMES = {
    "window": 200_000.0,
    "turns": 3.0,
    "share": 0.85,
    "zero": 0.0,
    "cap": math.inf,
    "known": True,
    "off": False,
}


def look_up(name: str) -> float | bool | str:
    if name == "missing":
        raise NoValue("`missing` is unknown")
    return {**NAMES, "title": "a text"}[name]


def value(text: str | float) -> float:
    return quantity(text).value(look_up)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("0.8 * window", 160_000),
        ("window - 20000", 180_000),
        ("170000", 170_000),
        ("min(window, share * cap)", 200_000),
        ("share * window if known else 170000", 170_000),
        ("share * window if off else 170000", 170_000),
        ("1 if turns >= 5 else 2 if turns == 3 else 3", 2),
        ("cap if cap < unlimited else window - 1", 199_999),
        ("window - (5 if known else 6)", 199_995),
        ("clamp(0.25 * window, 2000, 15000)", 15_000),
        ("floor(7 / 2) + ceil(7 / 2)", 7),
        ("2 + 3 * 4 - 1", 13),
        ("8 / 2 / 2", 2),
        ("1 if known == off else 2", 2),
        ("window\n  - 1", 199_999),
        (".5 * window", 100_000),
        ("2e3", 2000),
        (5, 5),
        (0.25, 0.25),
    ],
)
def test_expressions_of_the_language_have_their_values(text: str | float, wanted: float) -> None:
    assert value(text) == pytest.approx(wanted)


def test_unlimited_is_above_every_number() -> None:
    assert value("unlimited") == math.inf
    assert value("min(unlimited, 7)") == 7
    assert value("window / unlimited") == 0
    assert value("floor(unlimited)") == math.inf


@pytest.mark.parametrize(
    "text",
    [
        "cap - cap",
        "cap / cap",
        "zero * cap",
        "window / zero",
        "window / (turns - 3)",
        "5 - window",
        "zero - cap",
        "min(cap - cap, 5)",
        "missing + 1",
        "clamp(turns, 5, turns)",
        "title + 1",
        "known + 1",
        "1 if turns else 2",
        "1 if known < 2 else 3",
        "1 if known == 1 else 3",
        "1 if title == turns else 3",
    ],
)
def test_what_is_negative_undefined_or_of_a_wrong_type_has_no_value(text: str) -> None:
    expression = quantity(text)
    with pytest.raises(NoValue):
        expression.value(look_up)


def test_only_the_branch_that_is_taken_is_worked_out() -> None:
    assert value("1 if known else missing") == 1
    assert value("missing if off else 2") == 2


def test_a_negative_part_is_fine_where_the_result_is_not() -> None:
    assert value("max(0, 5 - window)") == 0


def test_a_share_that_misses_a_whole_number_by_rounding_is_that_number() -> None:
    assert 0.29 * 100 != 29
    assert value("0.29 * 100") == 29
    assert value("floor(0.29 * 100 * turns / turns)") == 29


def test_names_come_with_their_first_place_and_their_use() -> None:
    read = quantity("min(window, cap) if known else window if a == b else 2")
    assert read.names == {"window", "cap", "known", "a", "b"}
    assert read.name_offsets == {"window": 4, "cap": 12, "known": 20, "a": 41, "b": 46}
    assert read.booleans == {"known"}
    assert read.numbers == {"window", "cap"}


def test_a_quantity_without_names_is_a_constant() -> None:
    assert quantity("180000 - 40000").constant == 140_000
    assert quantity("min(3, unlimited)").constant == 3
    assert quantity("window").constant is None
    assert quantity(3).literal
    assert not quantity("3").literal


@pytest.mark.parametrize(
    ("text", "offset", "message", "hint"),
    [
        ("", 0, "empty", "number or a name"),
        ("   ", 0, "empty", "number or a name"),
        ("min(window", 10, "`)` is missing", "must be quoted"),
        ("clamp(1, 2", 10, "`)` is missing", "must be quoted"),
        ("(window", 7, "`)` is missing", None),
        ("window < 5", 7, "unexpected `<`", "between `if` and `else`"),
        ("1 if (turns < 3) else 2", 12, "unexpected `<`", "without parentheses"),
        ("1 if 1 < turns < 3 else 2", 15, "one comparison", "second `if`"),
        ("1 if a and b else 2", 7, "unexpected `and`", "second `if`"),
        ("1 if turns", 10, "comparison", None),
        ("1 if turns + 1 else 2", 15, "comparison", None),
        ("1 if turns >= 3", 15, "`else` is missing", None),
        ("1 if", 4, "ends too early", None),
        ("85%", 2, "unexpected `%`", "share"),
        ("0.85window", 0, "neither a number nor a name", "`*`"),
        ("20_000", 0, "neither a number nor a name", "all digits"),
        ("1.2.3", 0, "neither a number nor a name", None),
        ("2 window", 2, "unexpected `window`", "`*`"),
        ("-5", 0, "no sign", "a - b"),
        ("2 ** 3", 2, "no `**`", None),
        ("7 // 2", 2, "no `//`", "floor"),
        ("round(3)", 0, "no function `round`", "ceil, clamp"),
        ("max", 0, "is a function", "max(a, b)"),
        ("floor(1, 2)", 0, "takes 1", "floor(x)"),
        ("min(1)", 0, "two or more", "min(a, b)"),
        ("limits.auto", 6, "unexpected `.`", "bare name"),
        ("1 if unlimited else 2", 5, "not a boolean", "compare"),
        ("1 = 2", 2, "unexpected `=`", "=="),
        ("'a'", 0, "unexpected `'`", "no texts"),
        ("5 - 10", 0, "never has a value", None),
        ("1 / 0", 0, "never has a value", None),
        ("unlimited - unlimited", 0, "never has a value", None),
        ("9e999", 0, "too large", "unlimited"),
        ("1 +", 3, "ends too early", None),
        ("if", 0, "unexpected `if`", None),
    ],
)
def test_what_cannot_be_read_is_refused_at_its_place(
    text: str, offset: int, message: str, hint: str | None
) -> None:
    with pytest.raises(ExpressionError) as caught:
        quantity(text)
    assert message in caught.value.message
    assert caught.value.offset == offset
    assert hint is None or hint in (caught.value.hint or "")


@pytest.mark.parametrize("raw", [-1, -0.5, True, None, [1], {"a": 1}, math.nan, math.inf, -math.inf, 10**400])
def test_raw_values_that_are_no_quantity_are_refused(raw: object) -> None:
    with pytest.raises(ExpressionError):
        quantity(raw)  # type: ignore[arg-type]  # wrong on purpose


@pytest.mark.parametrize(
    "text",
    ["(" * 500 + "1" + ")" * 500, "min(1, " * 100 + "1" + ")" * 100, "1 if known else " * 60 + "1"],
)
def test_deep_nesting_is_refused_instead_of_exhausting_the_stack(text: str) -> None:
    with pytest.raises(ExpressionError, match=r"nested|longer"):
        quantity(text)


def test_a_long_chain_is_worked_out_without_depth() -> None:
    assert value("1" + "+1" * 499) == 500


def test_an_expression_beyond_the_length_limit_is_refused() -> None:
    with pytest.raises(ExpressionError, match="longer"):
        quantity("1" + "+1" * 500)


def test_reserved_names_and_functions_are_those_of_the_language() -> None:
    assert {"window", "max_output", "max_input", "window_known", "overflow_tokens", "tool_limit"} < RESERVED
    assert {"min", "max", "clamp", "floor", "ceil"} == FUNCTIONS


NUMBERS = st.one_of(
    st.integers(0, 10**6).map(str),
    st.floats(0, 1000).map(lambda x: f"{x:.3f}"),
    st.sampled_from(["window", "turns", "share"]),
)


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    two = st.tuples(inner, inner)
    return st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(" ".join),
        inner.map("({})".format),
        two.map(lambda ab: f"min({ab[0]}, {ab[1]})"),
        two.map(lambda ab: f"max({ab[0]}, {ab[1]}, 3)"),
        st.tuples(inner, inner, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), inner, inner).map(
            lambda p: f"({p[0]} if ({p[1]}) {p[2]} ({p[3]}) else {p[4]})"
        ),
        st.tuples(inner, st.sampled_from(["known", "off"]), inner).map(
            lambda p: f"({p[0]} if {p[1]} else {p[2]})"
        ),
    )


@settings(max_examples=200, deadline=None)
@given(st.recursive(NUMBERS, grown, max_leaves=12))
def test_expressions_mean_what_python_means_by_them(text: str) -> None:
    scope = {**NAMES, "min": min, "max": max}
    try:
        wanted = eval(compile(ast.parse(text, mode="eval"), "", "eval"), {"__builtins__": {}}, scope)
    except ZeroDivisionError:
        wanted = None
    has_value = wanted is not None and wanted >= 0
    try:
        found = quantity(text).value(look_up)
    except (NoValue, ExpressionError):
        found = None
    assert (found is not None) is has_value
    if found is not None:
        assert found == pytest.approx(wanted, rel=1e-6, abs=1e-6)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="abif else()+-*/<>=!.,0123456789 ", max_size=30))
def test_any_text_is_read_or_refused_within_its_bounds(text: str) -> None:
    try:
        read = quantity(text)
    except ExpressionError as problem:
        places = [problem.offset]
    else:
        places = list(read.name_offsets.values())
    assert all(0 <= at <= len(text) for at in places)
