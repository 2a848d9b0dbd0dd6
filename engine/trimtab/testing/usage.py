"""What a case says of usage, made true: the size of the request as it stands, to the token."""

from __future__ import annotations

import math
from dataclasses import replace

from ..conversation.request import Request, Usage
from ..facts import Facts
from ..packs.problems import Position
from ..session import Session
from .model import Impossible

TRIES = 6
"""Guesses at the usage that makes the figure what the case says; as a rule the second one hits."""


def measured(
    session: Session, request: Request, event: str, facts: Facts, wanted: Usage, at: Position
) -> Usage:
    """The usage of the last response with which the request as it stands has ``wanted`` tokens.

    A usage measures what came before the last response; what came after it the engine estimates. A case means the
    whole, so that its thresholds can be told to the token. Raises Impossible (``at``) where no usage makes it so.
    """

    def figure(prompt: int) -> float:
        with session.scene(request, facts.but(usage=shared(wanted, prompt)), event) as scene:
            return scene.tokens

    size = wanted.prompt
    before, guess = max(1, size // 2), size
    before_at, guess_at = figure(before), figure(guess)
    for _ in range(TRIES):
        if size <= guess_at < size + 1:
            return shared(wanted, guess)
        if guess == before or guess_at == before_at:
            break
        slope = (guess_at - before_at) / (guess - before)
        # Never below: a threshold that is reached to the token has to count as reached.
        better = max(1, math.ceil(guess + (size - guess_at) / slope - 1e-6))
        before, before_at = guess, guess_at
        guess, guess_at = better, figure(better)
    why = (
        "what came after the last response alone is estimated at more"
        if guess_at > size
        else "more than the window holds is not believed, nor the usage of another model"
    )
    raise Impossible(f"no usage makes this request {size:,} tokens: {why}", at)


def shared(wanted: Usage, prompt: int) -> Usage:
    """The usage with another sum: what came from the cache gives way last."""
    read = min(wanted.cache_read, prompt)
    write = min(wanted.cache_write, prompt - read)
    return replace(wanted, input=prompt - read - write, cache_read=read, cache_write=write)
