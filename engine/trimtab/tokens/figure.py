"""The one token figure: the last reported usage, corrected by estimates of what was added and removed since.

    tokens = f·E(now) + (U − f·E(then)) · E(kept) / E(then)

``E`` is the estimate of system, tools and messages; ``then`` the request that usage ``U`` measured; ``kept``
what of it still stands unchanged; ``f`` the factor of the model family. Nothing edited: the usage plus the
estimate of what came after. Everything replaced: the estimate alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..conversation.request import Usage
from .models import canonical

LEARNED_FROM = 5_000
"""Estimated tokens of growth before the factor is believed; less is noise of single messages."""
FACTOR_LEAST, FACTOR_MOST = 0.7, 2.2
"""The learned factor stays between these; what lies outside is a measuring error, not a tokenizer."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A measured request: its ``usage`` in real tokens, its estimate ``then``, and how much of that is
    ``kept``."""

    usage: float
    then: float
    kept: float


def figure(now: float, anchor: Anchor | None, factor: float) -> float:
    """Tokens of the request estimated at ``now``; without an anchor the estimate times the factor.

    Never negative, and never less than the estimate of what is new: ``kept`` counts at most as much as
    ``then`` and ``now``.
    """
    if anchor is None or anchor.then <= 0:
        return factor * now
    kept = max(0.0, min(anchor.kept, anchor.then, now))
    return factor * (now - kept) + anchor.usage * kept / anchor.then


@dataclass(frozen=True, slots=True)
class Reading:
    """One response's ``usage`` beside the ``estimate`` of the request it answered.

    Readings are neighbours when ``epoch`` and ``model`` are equal: the caller counts the epoch up with every
    commit, rewind or change of system and tools.
    """

    usage: float
    estimate: float
    epoch: int = 0
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Factor:
    """The learned factor as a fold: sums of growth so far and the last reading."""

    usage: float = 0.0
    estimate: float = 0.0
    last: Reading | None = None

    def grown(self, usage: float, estimate: float) -> Factor:
        """One more pair of growths; what did not grow says nothing and is left out."""
        if estimate <= 0 or usage < 0:
            return self
        return Factor(self.usage + usage, self.estimate + estimate, self.last)

    def read(self, reading: Reading) -> Factor:
        """One more reading, paired with the one before if they are neighbours. Another model starts over."""
        last = self.last
        if last is not None and not same_model(last.model, reading.model):
            return Factor(last=reading)
        known = self
        if last is not None and last.epoch == reading.epoch:
            known = self.grown(reading.usage - last.usage, reading.estimate - last.estimate)
        return Factor(known.usage, known.estimate, reading)

    @property
    def learned(self) -> bool:
        """Whether enough was seen for ``value`` to be more than the default."""
        return self.estimate >= LEARNED_FROM

    def value(self, default: float) -> float:
        """The factor: learned and clamped, or the family's default as long as too little was seen."""
        if not self.learned:
            return default
        return min(FACTOR_MOST, max(FACTOR_LEAST, self.usage / self.estimate))


def same_model(one: str | None, other: str | None) -> bool:
    """Whether two ids name one model; an id nobody recorded agrees with any."""
    return one is None or other is None or one == other or canonical(one) == canonical(other)


def plausible(usage: Usage, model: str, window: int | None) -> bool:
    """Whether a usage can measure a request to ``model``: not empty, not another model's, not above the
    window.

    Pass ``window=None`` where the window is only assumed: a real count beats an assumption.
    """
    if usage.prompt <= 0 or not same_model(usage.model, model):
        return False
    return window is None or usage.prompt <= window


def response_usage(raw: Mapping[str, Any], model: str | None = None, final: bool = True) -> Usage | None:
    """The usage of the last request behind one response, from the API's own ``usage`` object; None: it has none.

    With ``iterations`` (server tools, compaction) the totals are sums over several calls, which measure no
    request: the last iteration of type ``message`` counts, and none where there is no such (a compaction
    alone).
    """
    iterations = raw.get("iterations")
    if isinstance(iterations, list) and iterations:
        own = [part for part in iterations if isinstance(part, Mapping) and part.get("type") == "message"]
        if not own:
            return None
        raw = own[-1]
    usage = Usage.of(raw, model, final)
    return usage if usage.prompt > 0 else None
