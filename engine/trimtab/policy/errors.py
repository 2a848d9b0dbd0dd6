"""What is wrong with a value of a pack, and where in that value."""

from __future__ import annotations

from typing import TypeAlias

Where: TypeAlias = tuple[str | int, ...]
"""A path of keys and list positions inside a raw value: ``("size", "chars", "above")``."""


class PolicyError(ValueError):
    """A condition, selector, keep, fit, order or gate that cannot be understood.

    ``where`` leads from the raw value handed in to the part at fault, ``offset`` (characters) into that part
    where it is an expression or a pattern. ``code`` is one of the codes below, ``hint`` says how to mend it.
    """

    def __init__(
        self, where: Where, message: str, *, code: str = "value", hint: str | None = None, offset: int = 0
    ) -> None:
        super().__init__(message)
        self.where = where
        self.message = message
        self.code = code
        self.hint = hint
        self.offset = offset

    def __str__(self) -> str:
        place = ".".join(str(part) for part in self.where)
        text = f"{place}: {self.message}" if place else self.message
        return f"{text} ({self.hint})" if self.hint else text

    def inside(self, *before: str | int) -> PolicyError:
        """The same error, seen from further outside: ``before`` leads to the value it was raised for."""
        return PolicyError(
            (*before, *self.where), self.message, code=self.code, hint=self.hint, offset=self.offset
        )


CODES = {
    "type": "a value of another type is needed here",
    "value": "a value of the right type that is not allowed here",
    "unknown-key": "a key this mapping does not have",
    "unknown-metric": "a metric that does not exist, or not here",
    "expression": "an expression that cannot be read",
    "pattern": "a regular expression that cannot be read or is refused",
}
"""Every code a :class:`PolicyError` carries, with its meaning."""
