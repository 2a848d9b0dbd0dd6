"""Gates around a stage: the breaker that stops useless tries, and whether ``accept`` can still be met."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .conditions import Condition, condition
from .errors import PolicyError
from .metrics import METRICS, SceneLike
from .stage import Breaker
from .values import Range, mapping, near, number

IGNORING = frozenset({"manual", "overflow"})
"""Events whose runs no breaker stops: somebody asked, or nothing else is left."""


def breaker(raw: object) -> Breaker:
    """Read ``{failures, unless, cool_down_minutes}``. Raises :class:`PolicyError`."""
    given = mapping(raw, (), "a breaker is")
    keys = ("failures", "unless", "cool_down_minutes")
    for key in given:
        if key not in keys:
            raise PolicyError((key,), f"unknown key `{key}`", code="unknown-key", hint=near(key, keys))
    if "failures" not in given:
        raise PolicyError((), "`failures` is needed", hint="write failures: 3")
    failures = number(given["failures"], ("failures",))
    if failures.constant is not None and failures.constant < 1:
        raise PolicyError(("failures",), "the stage would never run", hint="write 1 or more")
    unless = None
    if "unless" in given:
        try:
            unless = condition(given["unless"])
        except PolicyError as problem:
            raise problem.inside("unless") from None
    minutes = "cool_down_minutes"
    return Breaker(failures, unless, number(given[minutes], (minutes,)) if minutes in given else None)


@dataclass(frozen=True, slots=True)
class BreakerState:
    """``open``: the stage is skipped. ``trial``: one try is let through although the failures are there."""

    open: bool
    failures: int = 0
    limit: float = math.inf
    trial: bool = False
    note: str | None = None


def breaker_state(gate: Breaker | None, scene: SceneLike) -> BreakerState:
    """The state of the stage's breaker. Without a clock or the time of the last failure nothing cools down.

    Raises NoValue.
    """
    if gate is None:
        return BreakerState(False)
    failures, last = scene.history.failures(scene.stage.id)
    if not failures:
        return BreakerState(False)
    limit = gate.failures.value(scene.name)
    if failures < limit:
        return BreakerState(False, failures, limit)
    if scene.event in IGNORING:
        return BreakerState(False, failures, limit, True, f"ignored in a run of {scene.event}")
    if gate.unless is not None and gate.unless.check(scene, False, []):
        return BreakerState(False, failures, limit, True, "ignored: unless holds")
    if gate.cool_down_minutes is not None:
        now = scene.facts.now
        if now is None or last is None:
            return BreakerState(True, failures, limit, False, "not cooled down: the time is unknown")
        waited, needed = (now - last) / 60, gate.cool_down_minutes.value(scene.name)
        if waited >= needed:
            return BreakerState(False, failures, limit, True, f"cooled down for {waited:g} minutes")
        return BreakerState(True, failures, limit, False, f"{waited:g} of {needed:g} minutes cooled down")
    return BreakerState(True, failures, limit)


@dataclass(frozen=True, slots=True)
class Best:
    """The most a proposal could do; what is not known is unlimited.

    ``tokens`` and ``bytes`` are freed at most, ``items`` touched at most. An edit that can also grow the view
    (a summary put in) is judged like one that cannot: growing never helps it past ``accept``.
    """

    tokens: float = math.inf
    bytes: float = math.inf
    items: float = math.inf


def possible(accept: Condition | None, scene: SceneLike, best: Best) -> bool:
    """False only if ``accept`` fails whatever a proposal within ``best`` does: then nothing need be paid."""
    if accept is None:
        return True
    spans: dict[str, Range] = {
        "freed_tokens": (-math.inf, best.tokens),
        "freed_bytes": (-math.inf, best.bytes),
        "items": (0, best.items),
    }
    if scene.tokens > 0:
        spans["freed_share"] = (-math.inf, min(1.0, best.tokens / scene.tokens))
    for name, freed in (("tokens", best.tokens), ("message_tokens", best.tokens), ("bytes", best.bytes)):
        now = METRICS[name].read(scene)
        if isinstance(now, int | float):
            spans[name] = (max(0.0, now - freed), math.inf)
    can, _ = accept.outlook(scene, spans.get)
    return can
