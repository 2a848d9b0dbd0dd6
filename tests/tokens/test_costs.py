"""What a call has cost."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from trimtab.conversation.request import Usage
from trimtab.tokens.costs import cost_of

MODEL = "claude-haiku-4-5"
"""1 and 5 dollars a million; reads cost a tenth, writes 1.25 times, those for an hour twice."""


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        (Usage(1_000_000, output=0), 1.0),
        (Usage(0, output=1_000_000), 5.0),
        (Usage(0, cache_read=1_000_000, output=0), 0.1),
        (Usage(0, cache_write=1_000_000, output=0), 1.25),
        (Usage(0, cache_write=1_000_000, output=0, cache_write_hour=1_000_000), 2.0),
        (Usage(0, cache_write=1_000_000, output=0, cache_write_hour=400_000), 0.6 * 1.25 + 0.4 * 2),
    ],
)
def test_each_kind_of_token_has_its_price(usage: Usage, cost: float) -> None:
    assert cost_of(usage, MODEL) == pytest.approx(cost)


def test_the_model_that_answered_counts_and_not_the_one_asked_for() -> None:
    assert cost_of(Usage(1_000_000, output=0, model="claude-opus-5-5"), MODEL) == pytest.approx(4.0)


def test_what_is_not_told_costs_nobody_knows_what() -> None:
    assert cost_of(None, MODEL) is None
    assert cost_of(Usage(5), MODEL) is None
    assert cost_of(Usage(5, output=1), "no-such-model") is None


@pytest.mark.parametrize("name", [["claude-opus-5-5"], 5, {"model": "claude-opus-5-5"}])
def test_a_name_that_is_no_text_is_no_models(name: Any) -> None:
    usage = Usage.of({"input_tokens": 1_000_000, "output_tokens": 0}, name)
    assert usage.model is None
    assert cost_of(usage, MODEL) == pytest.approx(1.0)


def test_models_the_table_lacks_are_looked_up_where_the_prices_are_installed() -> None:
    pytest.importorskip("genai_prices")
    usage = Usage(600_000, 300_000, 100_000, 1_000_000, "gpt-4o-mini")
    cost = cost_of(usage, "x")
    assert cost is not None
    assert 0.6 < cost < 0.8


def test_without_that_package_they_are_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    assert cost_of(Usage(600_000, output=1, model="gpt-4o-mini"), "x") is None


def test_the_apis_usage_is_read_with_what_is_kept_for_an_hour() -> None:
    raw = {
        "input_tokens": 1,
        "cache_creation_input_tokens": 50,
        "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 40},
        "output_tokens": 2,
    }
    assert Usage.of(raw) == Usage(1, 0, 50, 2, cache_write_hour=40)
    assert Usage.of({**raw, "cache_creation": None}).cache_write_hour == 0
