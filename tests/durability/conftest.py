"""The day of a host that nothing befell, played once."""

from __future__ import annotations

import pytest
from tests.durability.support import MESSAGES, STEPS, Undisturbed, undisturbed


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return undisturbed(tmp_path_factory.mktemp("whole") / "session", MESSAGES, STEPS)
