"""The rules of the strict API for tests that need no server: see ``tests.fake_api``."""

from __future__ import annotations

from tests.fake_api.rules import (
    BadRequest,
    Problem,
    blocks,
    joined,
    problems,
    problems_for,
    refuse,
    without_prompt,
)
from tests.fake_api.signing import SigningApi

__all__ = [
    "BadRequest",
    "Problem",
    "SigningApi",
    "blocks",
    "joined",
    "problems",
    "problems_for",
    "refuse",
    "without_prompt",
]
