"""What a quantity does when it is worked out: closures over a lookup of names, built once by the reader."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

Lookup: TypeAlias = Callable[[str], float | bool | str]
"""The value of a setting, limit, metric or reserved name; raises :class:`NoValue` where it has none."""
Number: TypeAlias = Callable[[Lookup], float]
Test: TypeAlias = Callable[[Lookup], bool]


class NoValue(ArithmeticError):
    """A quantity that has no value now: negative, undefined, or one of its names is unknown."""


class Negative(NoValue):
    """A quantity that came out below 0."""


class NeedsTool(NoValue):
    """``tool_limit`` was asked for where no tool is in question."""


COMPARE: Mapping[str, Callable[[float, float], bool]] = MappingProxyType(
    {
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
        "==": operator.eq,
        "!=": operator.ne,
    }
)


def result(value: float, source: str) -> float:
    """The final value; raises :class:`Negative` below 0."""
    value = near(value)
    if value < 0:
        raise Negative(f"`{source}` is negative ({value:g})")
    return value


def near(value: float) -> float:
    """The whole number a share misses only by rounding (0.29 * 100), else the value itself."""
    if value == math.inf or value == -math.inf:
        return value
    whole = float(round(value))
    return whole if abs(value - whole) <= 1e-9 * max(1.0, abs(value)) else value


def no_names(name: str) -> float:
    raise NoValue(f"`{name}` is unknown")


def scalar(value: float | bool | str, name: str) -> float:
    if isinstance(value, str):
        raise NoValue(f"`{name}` is a text")
    return value


def constant(value: float) -> Number:
    return lambda lookup: value


def named(name: str) -> Number:
    def run(lookup: Lookup) -> float:
        value = lookup(name)
        if isinstance(value, bool | str):
            raise NoValue(f"`{name}` is not a number")
        return value

    return run


def boolean(name: str) -> Test:
    def run(lookup: Lookup) -> bool:
        value = lookup(name)
        if not isinstance(value, bool):
            raise NoValue(f"`{name}` is not true or false")
        return value

    return run


def comparison(left: Number, right: Number, compare: Callable[[float, float], bool]) -> Test:
    def run(lookup: Lookup) -> bool:
        one, other = left(lookup), right(lookup)
        if isinstance(one, bool) or isinstance(other, bool):
            raise NoValue("true and false have no order")
        return compare(near(one), near(other))

    return run


def equal(left: Number, right: Number, wanted: bool) -> Test:
    def run(lookup: Lookup) -> bool:
        one, other = left(lookup), right(lookup)
        if isinstance(one, bool) is not isinstance(other, bool):
            raise NoValue("a number is compared with true or false")
        return (near(one) == near(other)) is wanted

    return run


def either(test: Test, value: Number, other: Number) -> Number:
    return lambda lookup: value(lookup) if test(lookup) else other(lookup)


def total(terms: tuple[tuple[bool, Number], ...], source: str) -> Number:
    first, rest = terms[0][1], terms[1:]

    def run(lookup: Lookup) -> float:
        value = first(lookup)
        for plus, term in rest:
            value = value + term(lookup) if plus else value - term(lookup)
        if value != value:
            raise NoValue(f"`{source}` is undefined: unlimited - unlimited")
        return value

    return run


def product(factors: tuple[tuple[bool, Number], ...], source: str) -> Number:
    first, rest = factors[0][1], factors[1:]

    def run(lookup: Lookup) -> float:
        value = first(lookup)
        for times, factor in rest:
            other = factor(lookup)
            if times:
                value = value * other
            elif other:
                value = value / other
            else:
                raise NoValue(f"`{source}` is undefined: a division by 0")
        if value != value:
            raise NoValue(f"`{source}` is undefined: unlimited divided by unlimited, or 0 times unlimited")
        return value

    return run


def called(name: str, arguments: tuple[Number, ...]) -> Number:
    if name in ("min", "max"):
        pick: Callable[..., float] = min if name == "min" else max
        return lambda lookup: pick([argument(lookup) for argument in arguments])
    if name == "clamp":
        return clamp(*arguments)
    argument = arguments[0]
    whole = math.floor if name == "floor" else math.ceil

    def run(lookup: Lookup) -> float:
        value = near(argument(lookup))
        return value if math.isinf(value) else float(whole(value))

    return run


def clamp(argument: Number, lowest: Number, highest: Number) -> Number:
    def run(lookup: Lookup) -> float:
        low, high = lowest(lookup), highest(lookup)
        if low > high:
            raise NoValue(f"clamp is undefined: its lowest value {low:g} is above its highest {high:g}")
        return min(max(argument(lookup), low), high)

    return run
