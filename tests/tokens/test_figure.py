from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.conversation.items import ItemMaker
from trimtab.conversation.request import Usage
from trimtab.tokens import (
    Anchor,
    Factor,
    Reading,
    estimate,
    figure,
    media_tokens,
    plausible,
    response_usage,
)
from trimtab.tokens.figure import FACTOR_LEAST, FACTOR_MOST

amount = st.floats(0, 2e6, allow_nan=False)
positive = st.floats(1, 2e6, allow_nan=False)
factor = st.floats(FACTOR_LEAST, FACTOR_MOST)


@given(positive, positive, amount, factor)
@settings(max_examples=60)
def test_nothing_edited_is_the_usage_plus_what_is_new(
    usage: float, then: float, new: float, f: float
) -> None:
    assert figure(then + new, Anchor(usage, then, then), f) == pytest.approx(
        usage + f * new, rel=1e-6, abs=1e-3
    )


@given(positive, positive, amount, factor)
@settings(max_examples=60)
def test_everything_replaced_is_the_estimate_alone(usage: float, then: float, now: float, f: float) -> None:
    assert figure(now, Anchor(usage, then, 0), f) == pytest.approx(f * now)


@given(positive, positive, amount, st.floats(0, 1), factor)
@settings(max_examples=100)
def test_the_figure_is_the_formula(usage: float, then: float, new: float, share: float, f: float) -> None:
    kept = then * share
    now = kept + new
    expected = f * now + (usage - f * then) * kept / then
    assert figure(now, Anchor(usage, then, kept), f) == pytest.approx(expected, rel=1e-6, abs=1e-3)


@given(positive, positive, amount, amount, st.floats(0, 1), factor)
@settings(max_examples=100)
def test_more_text_never_lowers_the_figure(
    usage: float, then: float, new: float, more: float, share: float, f: float
) -> None:
    kept = then * share
    anchor = Anchor(usage, then, kept)
    assert figure(kept + new + more, anchor, f) >= figure(kept + new, anchor, f) - 1e-6
    larger = Anchor(usage, then, kept + (then - kept) / 2)
    assert figure(larger.kept + new, larger, f) >= figure(kept + new, anchor, f) * (1 - 1e-9) - 1e-6


@given(positive, amount, amount, amount, factor)
@settings(max_examples=60)
def test_the_figure_is_never_negative(usage: float, then: float, kept: float, now: float, f: float) -> None:
    assert figure(now, Anchor(usage, then, kept), f) >= 0


def test_without_usage_the_figure_is_the_estimate_times_the_factor() -> None:
    assert figure(1_000, None, 1.25) == 1_250
    assert figure(1_000, Anchor(500, 0, 0), 1.25) == 1_250


def grown(pairs: Iterable[tuple[float, float]]) -> Factor:
    """What (usage growth, estimate growth) of neighbouring responses has taught."""
    factor = Factor()
    for used, estimated in pairs:
        factor = factor.grown(used, estimated)
    return factor


def test_the_factor_is_believed_from_five_thousand_tokens_on() -> None:
    assert grown([(1_300, 1_000)] * 4).value(1.25) == 1.25
    assert grown([(1_300, 1_000)] * 5).value(1.25) == pytest.approx(1.3)
    assert grown([]).value(1.5) == 1.5


def test_the_factor_stays_in_its_bounds() -> None:
    assert grown([(100_000, 5_000)]).value(1.25) == FACTOR_MOST
    assert grown([(0, 5_000)]).value(1.25) == FACTOR_LEAST


def test_an_estimate_that_did_not_grow_teaches_nothing() -> None:
    assert grown([(7_000, 5_000), (90_000, 0), (-50_000, -40_000)]).value(1.25) == pytest.approx(1.4)


def test_readings_teach_only_beside_their_neighbours() -> None:
    factor = Factor()
    for reading in (Reading(10_000, 8_000, 0), Reading(24_000, 18_000, 0), Reading(9_000, 20_000, 1)):
        factor = factor.read(reading)
    assert factor.learned
    assert factor.value(1.0) == pytest.approx(1.4)
    assert factor.read(Reading(10_000, 30_000, 2)).value(1.0) == pytest.approx(1.4)


def test_another_model_starts_over_and_another_id_of_the_same_does_not() -> None:
    factor = (
        Factor()
        .read(Reading(0, 0, 0, "claude-opus-4-5"))
        .read(Reading(14_000, 10_000, 0, "claude-opus-4-5-20251101"))
    )
    assert factor.value(1.0) == pytest.approx(1.4)
    assert factor.read(Reading(30_000, 20_000, 0, "claude-opus-5")).value(1.5) == 1.5


def test_usage_of_another_model_of_nothing_or_above_the_window_is_ignored() -> None:
    good = Usage(input=10, cache_read=150_000, model="claude-opus-4-5-20251101")
    assert plausible(good, "claude-opus-4-5", 200_000)
    assert plausible(Usage(input=10), "anything", 200_000)
    assert not plausible(good, "claude-opus-5", 200_000)
    assert not plausible(good, "claude-opus-4-5", 100_000)
    assert plausible(good, "claude-opus-4-5", None)
    assert not plausible(Usage(input=0, output=20), "claude-opus-4-5", 200_000)


def test_sums_over_several_calls_are_not_a_measure() -> None:
    totals = {"input_tokens": 90_000, "output_tokens": 5}
    calls = [
        {"type": "message", "input_tokens": 30_000},
        {"type": "compaction", "input_tokens": 50_000},
        {"type": "message", "input_tokens": 31_000, "cache_read_input_tokens": 5},
    ]
    found = response_usage({**totals, "iterations": calls}, "m")
    assert found is not None
    assert (found.prompt, found.model) == (31_005, "m")
    assert response_usage({"input_tokens": 0, "iterations": [calls[1]]}) is None
    assert response_usage({**totals, "iterations": None}) == Usage.of(totals)
    assert response_usage({**totals, "iterations": [{"type": "message"}]}) is None
    assert response_usage({}) is None


def _requests(path: Path) -> Iterator[tuple[int, float]]:
    """Prompt tokens of each response and the estimate of what came before; -1 where a compaction begins."""
    maker = ItemMaker(estimate, media_tokens)
    records = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            record: Any = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and not record.get("isSidechain"):
            records.append(record)
    usages = {
        record["message"]["id"]: record["message"]["usage"]
        for record in records
        if record.get("type") == "assistant" and record.get("message", {}).get("usage")
        if record["message"].get("model") != "<synthetic>" and record["message"].get("id")
    }
    seen: set[str] = set()
    total = 0.0
    for record in records:
        if record.get("subtype") == "compact_boundary":
            total = 0.0
            yield -1, 0.0
        if record.get("type") == "attachment":
            total += maker.measure(record.get("attachment"))[1]
        message = record.get("message")
        if record.get("type") not in ("user", "assistant") or not isinstance(message, dict):
            continue
        identifier = message.get("id")
        if message.get("model") == "<synthetic>":
            continue
        if isinstance(identifier, str) and identifier in usages and identifier not in seen:
            seen.add(identifier)
            prompt = Usage.of(usages[identifier]).prompt
            if prompt > 1_000:
                yield prompt, total
        total += maker.make(0, message)[0].total


@pytest.mark.corpus
def test_the_figure_is_within_three_per_cent_of_the_next_usage_half_of_the_time(corpus: Path) -> None:
    errors = []
    for path in sorted((corpus / "claude-code").rglob("*.jsonl")):
        known = Factor()
        last: Reading | None = None
        epoch = 0
        for prompt, total in _requests(path):
            if prompt < 0:
                epoch += 1
                last = None
                continue
            reading = Reading(prompt, total, epoch)
            if last is not None and total > last.estimate:
                guess = figure(total, Anchor(last.usage, last.estimate, last.estimate), known.value(1.25))
                errors.append(abs(guess - prompt) / prompt)
            known = known.read(reading)
            last = reading
    errors.sort()
    assert len(errors) > 1_000
    assert errors[len(errors) // 2] <= 0.01
    assert errors[int(len(errors) * 0.9)] <= 0.03


@pytest.mark.corpus
def test_after_a_removal_the_figure_is_near_the_usage_of_what_remains(corpus: Path) -> None:
    """What a response measured before the removed messages came is the truth; a later usage is the anchor."""
    errors = []
    for path in sorted((corpus / "claude-code").rglob("*.jsonl")):
        known = Factor()
        stretch: list[tuple[int, float, float]] = []
        for prompt, total in [*_requests(path), (-1, 0.0)]:
            if prompt >= 0:
                known = known.read(Reading(prompt, total))
                stretch.append((prompt, total, known.value(1.25)))
                continue
            known = Factor(known.usage, known.estimate)
            if len(stretch) >= 10:
                overhead = max(0.0, stretch[0][0] / 1.25 - stretch[0][1])
                for usage, then, factor in stretch[5::5]:
                    for true, kept, _ in stretch[::5]:
                        if kept < then:
                            anchor = Anchor(usage, then + overhead, kept + overhead)
                            errors.append(abs(figure(kept + overhead, anchor, factor) - true) / true)
            stretch = []
    errors.sort()
    assert len(errors) > 1_000
    assert errors[len(errors) // 2] <= 0.03
    assert errors[int(len(errors) * 0.9)] <= 0.2
