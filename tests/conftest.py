"""Fixtures and options every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings
from tests.fake_api.fixture import fake_api

__all__ = ["fake_api"]

ROOT = Path(__file__).resolve().parent.parent

settings.register_profile("default", deadline=None, print_blob=True)
settings.load_profile("default")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--long", action="store_true", help="also run the tests marked `long`: many more generated cases"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--long"):
        return
    skip = pytest.mark.skip(reason="many more generated cases: run with --long")
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker(skip)


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of recorded sessions; tests that use it are skipped where there is none."""
    folder = Path(os.environ.get("TRIMTAB_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("the recorded sessions are not here: set TRIMTAB_DATA to their folder")
    return folder
