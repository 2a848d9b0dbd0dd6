from __future__ import annotations

import base64
import random
from pathlib import Path

import pytest
from bench.estimate_error import errors, measure, quantile
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.tokens import estimate as estimate_module_function
from trimtab.tokens import make
from trimtab.tokens.estimate import _PAIRS, _SCRIPTS, SAMPLE, estimate

PROSE = (
    "The cache is read before the request is built, so a change in the first message costs all that follows. "
    "We measured this twice; both times the loss was larger than what the change had saved. "
)
CODE = (
    "def window_of(model: str, *, default: int = 128_000) -> int:\n"
    '    """The window of a model, in tokens."""\n'
    "    for entry in MODELS:\n"
    "        if fnmatchcase(model, entry.glob):\n"
    "            return entry.window\n"
    "    return default\n\n"
)
LOG = (
    "2026-03-11T09:21:44.120Z WARN [worker-7] retrying job id=48213 after 250 ms: connection reset by peer\n"
)
LISTING = "-rw-r--r-- 1 root root  18231 Nov 12 08:41 test_window.py\n"
RECORD = '{"id": 4711, "name": "alpha", "tags": ["a", "b"], "ok": true, "score": 0.125},\n'
NOISE = random.Random(1).randbytes(600)
KINDS = {
    "prose": PROSE * 4,
    "code": CODE * 3,
    "log": LOG * 6,
    "listing": LISTING * 8,
    "json": RECORD * 8,
    "base64": base64.b64encode(NOISE).decode(),
    "hex": NOISE.hex(),
    "digits": "314159265358979323846264338327950288419716939937510" * 8,
    "chinese": "请检查缓存窗口的计算方式，如果列表为空，程序会报告一个难以理解的错误。" * 8,
    "japanese": "設定ファイルを読み込む順番を確認してから、もう一度テストを実行してください。" * 8,
    "korean": "테스트는 혼자서는 통과하지만 다른 테스트와 함께 실행하면 실패합니다. " * 8,
    "russian": "Программа читает файл настроек, проверяет каждую строку и пишет ошибки в журнал. " * 6,
    "arabic": "يتم حساب حجم النافذة بشكل غير صحيح عندما تكون القائمة فارغة. " * 6,
    "greek": "Το μέγεθος του παραθύρου υπολογίζεται λάθος όταν η λίστα είναι κενή. " * 6,
    "french": "La taille de la fenêtre est mal calculée quand la liste est vide ou trop longue. " * 6,
    "arrows": "    12→def window(self) -> int:\n    13→    return self._window\n" * 8,
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_text_is_within_three_tenths_of_the_tokenizer(kind: str) -> None:
    text = KINDS[kind]
    true = make("toktok").count(text)
    assert abs(estimate(text) - true) <= 0.3 * true, (estimate(text), true)


def test_the_empty_text_has_no_tokens() -> None:
    assert estimate("") == 0


@given(st.text(alphabet=st.characters(), min_size=1, max_size=600))
@settings(max_examples=150)
def test_no_text_is_free_and_none_raises(text: str) -> None:
    assert estimate(text) >= 1


@pytest.mark.parametrize(
    "text", ["\ud800", "\udfff" * 300, "a\udc80b" * 200, "\x00" * 500, "\U0010ffff" * 300]
)
def test_lone_surrogates_and_odd_characters_are_counted(text: str) -> None:
    assert 1 <= estimate(text) <= 4 * len(text)


def _reference(text: str) -> int:
    """The documented sum, one character at a time."""
    wide = not text.isascii()
    kinds = []
    for character in text:
        code = ord(character)
        if code > 255 or (wide and character == "?"):
            kinds.append(0)
        elif code >= 128:
            kinds.append(3 if code >= 192 else 15)
        else:
            kinds.append(_kind(character))
    total = sum(_PAIRS[kind][behind] for kind, behind in zip(kinds, [*kinds[1:], 0], strict=True))
    for unit in range(0, len(encoded := text.encode("utf-16-le", "surrogatepass")), 2):
        high = encoded[unit + 1]
        total += next(
            (weight for first, last, weight in _SCRIPTS if first <= high <= last), 192 if high else 0
        )
    letters = sum(192 <= ord(character) < 256 for character in text)
    return total + 96 * letters


def _kind(character: str) -> int:
    groups = ["aeiou", "bcdfglmnprst", "jkqvwxzhy", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789", " "]
    groups += ["", "\t", ".", "_", "-", "/\\", "()[]{}<>;:,", "\"'`", "=+*&|!?@#$%^~"]
    return next((number for number, group in enumerate(groups, 1) if character in group), 7)


@given(
    st.text(min_size=1, max_size=SAMPLE)
    | st.text(st.characters(max_codepoint=127), min_size=1, max_size=SAMPLE)
)
@settings(max_examples=150)
def test_the_sum_over_bytes_is_the_sum_over_characters(text: str) -> None:
    assert estimate(text) == max(1, (_reference(text) + 64) // 128)


def test_the_largest_sum_a_sample_can_have_fits_the_checksum() -> None:
    assert len(_PAIRS) == 16
    assert all(len(row) == 16 for row in _PAIRS)
    assert max(map(max, _PAIRS)) * SAMPLE < 65_521
    assert max(weight for _, _, weight in _SCRIPTS) * SAMPLE < 65_521


def test_only_four_slices_of_a_long_text_are_read() -> None:
    text = PROSE * 1_000
    step = (len(text) - 64) // 3
    changed = text[:100] + "#" * (step - 200) + text[step - 100 :]
    assert len(changed) == len(text)
    assert estimate(changed) == estimate(text)


@pytest.mark.parametrize("kind", KINDS)
def test_ten_copies_cost_ten_times_as_much(kind: str) -> None:
    text = KINDS[kind]
    assert estimate(text * 10) == pytest.approx(10 * estimate(text), rel=0.12)


@given(st.text(max_size=SAMPLE // 2), st.text(max_size=SAMPLE // 2))
@settings(max_examples=100)
def test_two_short_texts_cost_about_what_they_cost_together(one: str, other: str) -> None:
    if one.isascii() == other.isascii():
        assert abs(estimate(one + other) - estimate(one) - estimate(other)) <= 4


def test_a_data_url_inside_a_text_is_seen() -> None:
    picture = "data:image/png;base64," + base64.b64encode(NOISE * 10).decode()
    words = PROSE * (len(picture) // len(PROSE) + 1)
    assert estimate(words + picture * 2 + words) > 1.5 * estimate(words * 4)


def test_blank_text_is_cheap_but_not_free() -> None:
    assert 1 <= estimate(" " * 10_000) < 1_000
    assert 1 <= estimate("\n" * 10_000) < 8_000


def test_the_package_exports_the_function_itself() -> None:
    assert estimate_module_function is estimate


@pytest.mark.parametrize(
    ("text", "tokens"), [(PROSE, 40), (CODE, 59), (KINDS["chinese"][:36], 24), (KINDS["base64"], 540)]
)
def test_these_estimates_are_the_same_on_every_machine(text: str, tokens: int) -> None:
    assert estimate(text) == tokens


@pytest.mark.corpus
def test_the_error_on_recorded_sessions_is_what_the_documentation_says(corpus: Path) -> None:
    rows = [row for row in measure(corpus) if row[1] != "summed"]
    ratio, single = errors(rows)
    assert ratio == pytest.approx(1.0, abs=0.03)
    assert len(single) > 1_000
    assert quantile(single, 0.5) <= 0.08
    assert quantile(single, 0.9) <= 0.25
