"""The host law: however a host keeps its list, it is told to send the same bytes."""

from __future__ import annotations

import pytest
from tests.session.hosts import MODES, play
from tests.session.packs import engine_of
from tests.strict_api import problems

FEW, MANY = 300, 5000


def compare(number: int, model: str) -> None:
    engine = engine_of()
    reference = play(engine, number, "keeps", model)
    for mode in MODES:
        if mode != "keeps":
            other = play(engine, number, mode, model)
            for at, (one, two) in enumerate(zip(reference.bodies, other.bodies, strict=True)):
                assert one == two, f"conversation {number}, host that {mode}, request {at}"
    for outcome in reference.outcomes:
        assert not problems(list(outcome.request.messages), prefill=False)


@pytest.mark.parametrize("start", range(0, FEW, 50))
def test_four_kinds_of_host_get_byte_identical_requests(start: int) -> None:
    for number in range(start, start + 50):
        compare(number, "claude-sonnet-4-5" if number % 2 else "claude-opus-5-5")


@pytest.mark.long
def test_four_kinds_of_host_get_byte_identical_requests_over_many_conversations() -> None:
    for number in range(FEW, MANY):
        compare(number, "claude-sonnet-4-5" if number % 2 else "claude-opus-5-5")
