"""Answers given beforehand."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from trimtab.effects import AskFailed, Question, Reply
from trimtab.summarizers.canned import CannedSummarizer

ASKED = Question("p", "m")


def test_answers_come_in_turn_and_then_there_is_no_model() -> None:
    canned = CannedSummarizer(["one", {"text": "two", "stop": "max_tokens"}, Reply("three")])
    replies = [canned.answer(ASKED), asyncio.run(canned.aanswer(ASKED)), canned.answer(ASKED)]
    assert replies == [Reply("one"), Reply("two", "max_tokens"), Reply("three")]
    with pytest.raises(AskFailed, match="all 3 answers") as caught:
        canned.answer(ASKED)
    assert caught.value.reason == "unavailable"
    assert canned.asked == [ASKED] * 4


@pytest.mark.parametrize(
    ("answer", "reason", "excess"),
    [("unavailable", "unavailable", None), ({"fail": "too_long", "excess": 1200}, "too_long", 1200)],
)
def test_a_failure_is_raised_in_its_turn(answer: Any, reason: str, excess: int | None) -> None:
    canned = CannedSummarizer([answer, "after it"])
    with pytest.raises(AskFailed) as caught:
        canned.answer(ASKED)
    assert (caught.value.reason, caught.value.excess_tokens) == (reason, excess)
    assert canned.answer(ASKED).text == "after it"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", "- one\n- {fail: too_long, excess: 5}\n"),
        ("a.yml", "answers:\n  - one\n  - {fail: too_long, excess: 5}\n"),
        ("a.json", '["one", {"fail": "too_long", "excess": 5}]'),
    ],
)
def test_answers_may_stand_in_a_file(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    canned = CannedSummarizer.from_file(tmp_path / name)
    assert canned.answer(ASKED).text == "one"
    with pytest.raises(AskFailed) as caught:
        canned.answer(ASKED)
    assert caught.value.excess_tokens == 5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- [", "a.yaml"),
        ("just a text", "a list of answers is expected"),
        ("- one\n- no\n", "answer 2 is False: a text or a mapping"),
        ("- {fail: tired}\n", "answer 1 fails with 'tired'"),
        ("- {fail: too_long, excess: many}\n", "whole tokens"),
        ("- {text: x, tex: y}\n", "unknown keys tex; known are stop text"),
        ("- {stop: end_turn}\n", "neither `text` nor `fail`"),
    ],
)
def test_a_bad_file_is_named_with_what_is_wrong(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=words) as caught:
        CannedSummarizer.from_file(path)
    assert str(path) in str(caught.value)
