"""The host law: however a host keeps its list, it is told to send the same bytes."""

from __future__ import annotations

import pytest
from tests.session.hosts import told_the_same
from tests.session.packs import engine_of

FEW, MANY = 300, 5000


@pytest.mark.parametrize("start", range(0, FEW, 50))
def test_four_kinds_of_host_get_byte_identical_requests(start: int) -> None:
    for number in range(start, start + 50):
        told_the_same(engine_of(), number)


@pytest.mark.long
def test_four_kinds_of_host_get_byte_identical_requests_over_many_conversations() -> None:
    for number in range(FEW, MANY):
        told_the_same(engine_of(), number)
