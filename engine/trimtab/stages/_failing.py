"""What a kind answers when a text or a number cannot be had: the stage fails, the view stays."""

from __future__ import annotations

from ..policy.proposal import Proposal


def failed(problem: Exception) -> Proposal:
    """The stage failed over a text that cannot be rendered or a quantity that has no value."""
    return Proposal(failure="error", reason=str(problem))


def no_text() -> Proposal:
    """The stage's text was already reported as a problem of the pack; without one there is nothing to do."""
    return Proposal(failure="error", reason="the stage has no text: see the problems of the pack")
