"""Fixtures of the tests over the wire."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds the engine would wait between tries; none passes."""
    found: list[float] = []
    monkeypatch.setattr("trimtab.ports.sleep", found.append)
    return found
