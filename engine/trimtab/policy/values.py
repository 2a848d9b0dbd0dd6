"""Raw values read: comparisons, quantities, lists of names; for conditions, selectors, keeps and gates."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from .errors import PolicyError, Where
from .evaluation import COMPARE, Lookup, NoValue
from .expressions import ExpressionError, Quantity, quantity
from .metrics import Reading

COMPARISONS: Mapping[str, str] = {"at_least": ">=", "above": ">", "at_most": "<=", "below": "<"}

Limit: TypeAlias = float | bool | str | tuple[str, ...]
Range: TypeAlias = tuple[float, float]


class Reference(NamedTuple):
    """What a condition, selector or keep names: ``kind`` is quantity, stage, category or setting."""

    kind: str
    where: Where
    value: Any


@dataclass(frozen=True, slots=True)
class ConditionReport:
    """One comparison, as the receipt shows it.

    ``path`` names the entry (``tokens at_least``; inside ``any`` and ``none`` the number of the condition),
    ``value`` is what it was (None: unknown), ``limit`` what it was held against, ``source`` the expression
    behind the limit, ``note`` why there is no value. ``nested`` holds what an ``any`` or ``none`` looked at.
    """

    path: str
    value: Reading
    limit: Limit | None
    holds: bool
    source: str | None = None
    note: str | None = None
    nested: tuple[ConditionReport, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparisons:
    """``{at_least: …, below: …}`` over one number; all must hold."""

    parts: tuple[tuple[str, Quantity], ...]

    def test(
        self, name: str, value: float | None, lookup: Lookup, full: bool, reports: list[ConditionReport]
    ) -> bool:
        holds = True
        for word, limit in self.parts:
            number: float | None = limit.constant
            note = None
            if number is None:
                try:
                    number = limit.value(lookup)
                except NoValue as problem:
                    note = f"no value: {problem}"
            if value is None and note is None:
                note = "unknown"
            fits = value is not None and number is not None and COMPARE[COMPARISONS[word]](value, number)
            source = None if limit.literal else limit.source
            reports.append(ConditionReport(f"{name} {word}", value, number, fits, source, note))
            if not fits:
                holds = False
                if not full:
                    break
        return holds

    def holds(self, value: float, lookup: Lookup) -> bool:
        """The bare answer; raises NoValue."""
        return all(COMPARE[COMPARISONS[word]](value, limit.value(lookup)) for word, limit in self.parts)

    def outlook(
        self, span: Range | None, lookup: Lookup, moves: Callable[[Quantity], bool]
    ) -> tuple[bool, bool]:
        """Whether a number within ``span`` can, and whether any must, satisfy all parts.

        ``moves`` says of a limit whether the edit may change it: then nothing can be said about it.
        """
        if span is None:
            return True, False
        can = must = True
        low, high = span
        for word, limit in self.parts:
            if moves(limit):
                must = False
                continue
            try:
                number = limit.value(lookup)
            except NoValue:
                return False, False
            best, worst = (high, low) if word in ("at_least", "above") else (low, high)
            compare = COMPARE[COMPARISONS[word]]
            can = can and compare(best, number)
            must = must and compare(worst, number)
        return can, must

    def references(self, where: Where) -> Iterator[Reference]:
        for word, limit in self.parts:
            yield Reference("quantity", (*where, word), limit)


def comparisons(raw: object, where: Where) -> Comparisons:
    """Read ``{at_least: …, below: …}``. Raises :class:`PolicyError`."""
    given = mapping(raw, where, f"comparisons ({', '.join(COMPARISONS)})")
    if not given:
        raise PolicyError(where, "no comparison", hint=f"write one of {', '.join(COMPARISONS)}")
    parts = []
    for word, limit in given.items():
        if word not in COMPARISONS:
            raise PolicyError(
                (*where, word),
                f"unknown comparison `{word}`",
                code="unknown-key",
                hint=near(word, COMPARISONS),
            )
        parts.append((word, number(limit, (*where, word))))
    return Comparisons(tuple(parts))


def number(raw: object, where: Where) -> Quantity:
    """Read a quantity. Raises :class:`PolicyError`."""
    try:
        return quantity(raw)  # type: ignore[arg-type]  # it refuses what is neither number nor text
    except ExpressionError as problem:
        code = "expression" if isinstance(raw, str) else "value"
        raise PolicyError(
            where, problem.message, code=code, hint=problem.hint, offset=problem.offset
        ) from None


def mapping(raw: object, where: Where, wanted: str) -> Mapping[str, Any]:
    if not isinstance(raw, Mapping):
        raise PolicyError(where, f"{wanted} needed here", code="type", hint="write a mapping: {key: value}")
    return raw


def names(raw: object, where: Where, wanted: str, known: Sequence[str] = ()) -> tuple[str, ...]:
    """Read a list of texts that is not empty. Raises :class:`PolicyError`."""
    if not isinstance(raw, list | tuple) or not raw:
        raise PolicyError(
            where, f"a list of {wanted} is needed here", code="type", hint="one element is a list too: [x]"
        )
    for at, name in enumerate(raw):
        if not isinstance(name, str) or not name:
            raise PolicyError((*where, at), f"{wanted} are texts", code="type")
        if known and name not in known:
            raise PolicyError((*where, at), f"unknown {wanted} `{name}`", hint=near(name, known))
    return tuple(raw)


def boolean(raw: object, where: Where) -> bool:
    if not isinstance(raw, bool):
        raise PolicyError(where, "true or false is needed here", code="type")
    return raw


def near(word: str, known: Iterable[str]) -> str:
    known = list(known)
    close = difflib.get_close_matches(word, known, 1)
    return f"did you mean `{close[0]}`?" if close else f"there are {', '.join(known)}"
