from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.matching import Categories, Globs, PatternError, pattern


def slow_match(glob: str, text: str) -> bool:
    if not glob:
        return not text
    if glob[0] == "*":
        return slow_match(glob[1:], text) or (bool(text) and slow_match(glob, text[1:]))
    return bool(text) and (glob[0] == "?" or glob[0] == text[0]) and slow_match(glob[1:], text[1:])


@pytest.mark.parametrize(
    ("glob", "text", "expected"),
    [
        ("Bash", "Bash", True),
        ("Bash", "bash", False),
        ("*[1m]", "claude-opus[1m]", True),
        ("*[1m]", "claude-opus1", False),
        ("gemini-*-pro*", "gemini-2.5-pro-latest", True),
        ("mcp__*__read", "mcp__fs__read", True),
        ("a?c", "abc", True),
        ("a?c", "ac", False),
        ("*context window*", "the\ncontext window\nis full", True),
        ("", "", True),
        ("*", "", True),
        ("a.c", "abc", False),
    ],
)
def test_a_glob_knows_star_and_question_mark_only(glob: str, text: str, expected: bool) -> None:
    assert Globs([glob]).match(text) is expected
    assert Globs(["zzz*", glob]).match(text) is expected


@given(st.text("ab*?", max_size=8), st.text("ab", max_size=8))
@settings(max_examples=300)
def test_globs_agree_with_the_plain_definition(glob: str, text: str) -> None:
    assert Globs([glob]).match(text) is slow_match(glob, text)


def test_a_glob_with_many_stars_stays_fast_on_long_texts() -> None:
    started = time.perf_counter()
    assert not Globs(["*a" * 30 + "*b"]).match("a" * 100_000)
    assert time.perf_counter() - started < 2


def test_globs_remember_answers_without_growing_for_ever() -> None:
    globs = Globs(["tool-*"])
    assert all(globs.match(f"tool-{number}") for number in range(10_000))
    assert len(globs._answers) <= 4096


def test_a_tool_may_be_in_several_categories_or_in_none() -> None:
    tools = Categories({"shell": ["Bash", "*shell"], "slow": ["Bash"]})
    assert tools.of("Bash") == {"shell", "slow"}
    assert tools.of("Powershell") == {"shell"}
    assert tools.of("Read") == frozenset()
    assert tools.names == ("shell", "slow")


def test_unknown_categories_have_no_tools() -> None:
    tools = Categories({"shell": ["Bash"]})
    assert tools.matches("Bash", ["none", "shell"])
    assert not tools.matches("Bash", ["none"])
    assert not Categories().matches("Bash", ["shell"])


@pytest.mark.parametrize(
    "text",
    [
        r"(?m)^\*\*\* Update File: (.+)$",
        r"sk-[A-Za-z0-9]{20,}",
        r"(?:foo|bar)+",
        r"(?:\d{4}-){2,}\d+",
        r"(?:\r?\n){2,}",
        r'"(?:[^"\\]|\\.)*"',
        r"(?>a+)b",
        r"(?i)error|warning",
        r"a{2",
        r"[[a]",
    ],
)
def test_ordinary_patterns_compile(text: str) -> None:
    assert isinstance(pattern(text), re.Pattern)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (r"(a)\1", "back-reference"),
        (r"(?P<x>a)(?P=x)", "back-reference"),
        (r"(x)?(?(1)a|b)", "conditional"),
        (r"(?=a)b", "look-ahead"),
        (r"(?!a)b", "look-ahead"),
        (r"(?<=a)b", "look-behind"),
        (r"(?<!a)b", "look-behind"),
        (r"(a+)+", "repetition inside"),
        (r"(a*)*b", "repetition inside"),
        (r"(a{2,3}){4}", "repetition inside"),
        (r"(?:(?:a+)b)*", "repetition inside"),
        (r"(\w+\s?)*", "repetition inside"),
        (r"(?>a+)+", "repetition inside"),
        (r"(a|a)*b", "choice"),
        (r"(.|\n)*b", "choice"),
        (r"(?i)(?:ab|[a-c]d)*", "choice"),
        (r"(?:a|){30}", "choice"),
        (r"(a?a)*b", "optional part"),
        (r"(a?){50}a{50}", "optional part"),
        (r"(", "not a regular expression"),
        (r"[z-a]", "not a regular expression"),
        ("a" * 1001, "1001 characters"),
        ("a*" * 13, "unbounded repeats"),
    ],
)
def test_patterns_that_can_run_away_are_refused_with_the_reason(text: str, word: str) -> None:
    with pytest.raises(PatternError) as caught:
        pattern(text)
    assert word in caught.value.message
    assert 0 <= caught.value.offset <= len(text)


def test_a_refusal_points_into_the_pattern_and_says_how_to_mend_it() -> None:
    with pytest.raises(PatternError) as caught:
        pattern(r"abc(?=d)")
    assert caught.value.offset == 3
    assert caught.value.hint


@given(st.text("ab|*+?(){}2,", max_size=14))
@settings(max_examples=300, deadline=None)
def test_every_accepted_pattern_ends_quickly_on_a_text_made_to_hurt(text: str) -> None:
    try:
        compiled = pattern(text)
    except PatternError:
        return
    started = time.perf_counter()
    compiled.fullmatch("a" * 60 + "!")
    assert time.perf_counter() - started < 0.5
