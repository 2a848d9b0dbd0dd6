"""What quantities are worth: worked out for the windows of several models, with the settings as they are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..policy.expressions import NoValue, Quantity
from .context import Context, setting_value

WORLDS = (
    (8_000, 2_000),
    (32_000, 8_000),
    (128_000, 32_000),
    (200_000, 32_000),
    (200_000, 64_000),
    (1_000_000, 64_000),
)
"""Window and longest answer, in tokens, of the models a quantity is tried on."""


class World(NamedTuple):
    """A model: its figures, what its entry sets, and the glob of the entry that names it (empty: any model)."""

    window: float
    max_output: float
    settings: Mapping[str, bool | float | str]
    glob: str = ""


def worlds(context: Context) -> list[World]:
    """The models every quantity is tried on."""
    return [World(window, max_output, context.settings) for window, max_output in WORLDS]


def named_worlds(context: Context) -> Iterator[World]:
    """The models whose window the pack itself says, with the settings of their entries."""
    for glob, entry in context.section("models").items():
        window = entry.get("window") if isinstance(entry, Mapping) else None
        if isinstance(window, int | float) and not isinstance(window, bool):
            own = {name: setting_value(value) for name, value in entry.items() if name in context.settings}
            max_output = float(setting_value(entry.get("max_output", 32_000)))
            yield World(float(window), max_output, {**context.settings, **own}, glob)


def worth(context: Context, quantity: Quantity, world: World) -> float:
    """The value for this model. Raises NoValue where it is known only in a run."""
    known: dict[str, bool | float | str] = {
        **world.settings,
        "window": world.window,
        "max_output": world.max_output,
        "window_known": True,
        **dict.fromkeys(("max_input", "overflow_tokens", "unlimited", "tool_limit"), math.inf),
    }

    def lookup(name: str) -> bool | float | str:
        if name in known:
            return known[name]
        if name not in context.limits:
            raise NoValue(f"`{name}` is known only in a run")
        known[name] = context.limits[name].value(lookup)
        return known[name]

    return quantity.value(lookup)


def everywhere(context: Context, quantity: Quantity) -> list[tuple[World, float]]:
    """The value for every model; empty if it is known only in a run."""
    found = []
    for world in worlds(context):
        try:
            found.append((world, worth(context, quantity, world)))
        except NoValue:
            return []
    return found


def names_in(context: Context, quantity: Quantity) -> frozenset[str]:
    """The names a value rests on, also through limits."""
    found: set[str] = set()
    new = list(quantity.names)
    while new:
        name = new.pop()
        if name not in found:
            found.add(name)
            new += context.limits[name].names if name in context.limits else ()
    return frozenset(found)


def is_fixed(context: Context, quantity: Quantity) -> bool:
    """Whether no setting has a say: what holds of the value now holds whatever a host sets."""
    return names_in(context, quantity).isdisjoint(context.settings)
