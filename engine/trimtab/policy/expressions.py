"""Quantities: numbers and the small expressions of LANGUAGE §3, read once and compiled to closures.

sum        = product (("+" | "-") product)*
product    = atom (("*" | "/") atom)*
atom       = number | name | function "(" quantity ("," quantity)* ")" | "(" quantity ")"
quantity   = sum ["if" condition "else" quantity]
condition  = sum ("<" | "<=" | ">" | ">=" | "==" | "!=") sum | name
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from .evaluation import (
    COMPARE,
    Lookup,
    NeedsTool,
    NoValue,
    Number,
    Test,
    boolean,
    called,
    comparison,
    constant,
    either,
    equal,
    named,
    no_names,
    product,
    result,
    scalar,
    total,
)

__all__ = [
    "FUNCTIONS",
    "KEYWORDS",
    "RESERVED",
    "ExpressionError",
    "Lookup",
    "NeedsTool",
    "NoValue",
    "Quantity",
    "quantity",
]

RESERVED = frozenset(
    {"window", "max_output", "max_input", "window_known", "overflow_tokens", "unlimited", "tool_limit"}
)
"""Names the engine gives a value; no setting, limit, tool or fact may be called so."""
FUNCTIONS = frozenset({"min", "max", "clamp", "floor", "ceil"})
KEYWORDS = frozenset({"if", "else"})

MAX_LENGTH = 1000
"""Longest expression, in characters: three times what the longest limit of a real policy needs."""
MAX_NUMBER = 10**300
"""Largest whole number: what lies above would become ``unlimited`` without a word."""
MAX_DEPTH = 40
"""Deepest nesting of parentheses, calls and conditionals; keeps evaluation far from the recursion limit."""


class ExpressionError(ValueError):
    """A quantity that cannot be read; ``offset`` counts characters from the start of its text."""

    def __init__(self, message: str, offset: int = 0, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number or an expression.

    ``names`` are the names in it (functions and ``unlimited`` left out), ``name_offsets`` where each stands
    first. ``booleans`` are used as a condition, ``numbers`` in arithmetic; a name that is only compared by
    ``==`` or ``!=`` is in neither. ``constant`` is the value where no name occurs. ``literal``: written as a
    number, not as a text.
    """

    source: str
    names: frozenset[str]
    constant: float | None
    name_offsets: Mapping[str, int] = field(default_factory=dict, compare=False, repr=False)
    booleans: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    numbers: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    literal: bool = field(default=False, compare=False, repr=False)
    run: Number | None = field(default=None, compare=False, repr=False)

    def value(self, lookup: Lookup) -> float:
        """The value, ≥ 0, ``math.inf`` for ``unlimited``. Raises :class:`NoValue`."""
        if self.constant is not None:
            return self.constant
        if self.run is None:
            raise NoValue(f"`{self.source}` was not read from a text")
        return result(self.run(lookup), self.source)


def quantity(raw: int | float | str) -> Quantity:
    """Read a number or an expression. Raises :class:`ExpressionError`."""
    if isinstance(raw, bool) or not isinstance(raw, int | float | str):
        raise ExpressionError(f"a number or an expression is needed, not {_kind(raw)}")
    if isinstance(raw, str):
        return _Parser(raw).whole()
    if isinstance(raw, int) and abs(raw) > MAX_NUMBER:
        raise ExpressionError("the number is too large", hint="write unlimited")
    if math.isnan(raw):
        raise ExpressionError("not a number", hint="write a number that is 0 or more")
    if math.isinf(raw) and raw > 0:
        raise ExpressionError("infinity is not written as a number", hint="write unlimited")
    if raw < 0:
        raise ExpressionError(f"{raw} is negative", hint="quantities are 0 or more")
    return Quantity(str(raw), frozenset(), float(raw), literal=True)


def _kind(raw: object) -> str:
    for kind, name in ((bool, "true or false"), (Mapping, "a mapping"), (list | tuple, "a list")):
        if isinstance(raw, kind):
            return name
    return "null" if raw is None else type(raw).__name__


# ----------------------------------------------------------------------------------------------- reading


class _Token(NamedTuple):
    kind: str  # number, name, op, end
    text: str
    offset: int


_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<name>[A-Za-z_][A-Za-z_0-9]*)
    | (?P<op><=|>=|==|!=|[-+*/(),<>])
    )""",
    re.VERBOSE,
)
_HINTS = {
    "%": "write a share: 0.85 * window",
    "=": "write == to compare",
    "^": "there is no power",
    "!": "write != to compare",
    "&": "a condition is one comparison; nest a second `if`",
    "|": "a condition is one comparison; nest a second `if`",
    ":": "there are no slices or annotations; write `A if C else B`",
    "?": "write `A if C else B`",
    ".": "names have no parts; write the bare name",
    "[": "only ( ) group",
    "{": "only ( ) group",
    '"': "there are no texts in expressions",
    "'": "there are no texts in expressions",
}
_COMMA_HINT = "in flow style an expression with a comma must be quoted; better, name it in `limits`"


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    at = 0
    while True:
        found = _TOKEN.match(text, at)
        if found is None:
            rest = len(text) - len(text[at:].lstrip())
            if rest < len(text):
                raise ExpressionError(f"unexpected `{text[rest]}`", rest, _HINTS.get(text[rest]))
            tokens.append(_Token("end", "", len(text.rstrip())))
            return tokens
        kind = str(found.lastgroup)
        start, at = found.span(kind)
        word = found.group(kind)
        if kind == "number" and re.match(r"[A-Za-z_0-9.]", text[at : at + 1]):
            raise ExpressionError(
                f"`{re.match(r'[A-Za-z_0-9.]+', text[start:])[0]}` is neither a number nor a name",  # type: ignore[index]  # the number matches
                start,
                "write all digits and `*` between factors: 20000, 0.85 * window",
            )
        if kind == "op" and word in "*/" and text[at : at + 1] == word:
            raise ExpressionError(
                f"there is no `{word}{word}`", start, "write floor(a / b)" if word == "/" else None
            )
        tokens.append(_Token(kind, word, start))


class _Parser:
    """One reading of one expression; keeps what names it met and how they were used."""

    def __init__(self, source: str) -> None:
        if len(source) > MAX_LENGTH:
            raise ExpressionError(
                f"longer than {MAX_LENGTH} characters", MAX_LENGTH, "name its parts in `limits`"
            )
        self.source = source
        self.tokens = _tokens(source)
        self.at = 0
        self.depth = 0
        self.calls = 0
        self.offsets: dict[str, int] = {}
        self.booleans: set[str] = set()
        self.numbers: set[str] = set()

    def whole(self) -> Quantity:
        if self.token.kind == "end":
            raise ExpressionError("an empty expression", 0, "write a number or a name")
        run = self.quantity()
        if self.token.kind != "end":
            raise self.unexpected("the end of the expression")
        source = self.source.strip()
        constant = None
        if not self.offsets:
            try:
                constant = result(run(no_names), source)
            except NoValue as problem:
                raise ExpressionError(
                    f"never has a value: {problem}", 0, "results must be 0 or more"
                ) from None
        return Quantity(
            source=source,
            names=frozenset(self.offsets),
            constant=constant,
            name_offsets=MappingProxyType(self.offsets),
            booleans=frozenset(self.booleans),
            numbers=frozenset(self.numbers),
            run=run,
        )

    # --- tokens

    @property
    def token(self) -> _Token:
        return self.tokens[self.at]

    def take(self, *texts: str) -> _Token | None:
        token = self.tokens[self.at]
        if token.text in texts and token.kind != "end":
            self.at += 1
            return token
        return None

    def need(self, text: str) -> None:
        if not self.take(text):
            raise self.unexpected(f"`{text}`")

    def unexpected(self, wanted: str) -> ExpressionError:
        token = self.token
        if token.kind == "end":
            hint = _COMMA_HINT if self.calls else None
            return ExpressionError(f"ends too early: {wanted} is missing", token.offset, hint)
        hint = None
        if token.text in COMPARE:
            hint = "a comparison may only stand between `if` and `else`, one, without parentheses"
        elif token.text in ("and", "or", "not"):
            hint = "a condition is one comparison or one boolean name; nest a second `if`"
        elif token.text == "," or token.text == "if":
            hint = "put the part in parentheses" if token.text == "if" else "only functions take commas"
        elif token.kind in ("name", "number"):
            hint = "write `*` between factors"
        return ExpressionError(f"unexpected `{token.text}`; {wanted} was expected", token.offset, hint)

    # --- grammar; every method returns a closure

    def quantity(self) -> Number:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ExpressionError(
                f"nested deeper than {MAX_DEPTH}", self.token.offset, "name its parts in `limits`"
            )
        value = self.sum()
        if self.take("if"):
            test = self.condition()
            self.need("else")
            value = either(test, value, self.quantity())
        self.depth -= 1
        return value

    def condition(self) -> Test:
        first, nearby = self.token, self.tokens[min(self.at + 1, len(self.tokens) - 1)]
        if first.kind == "name" and nearby.text == "else" and self.plain(first):
            self.at += 1
            if first.text == "unlimited":
                raise ExpressionError(
                    "`unlimited` is a number, not a boolean", first.offset, "compare it with < or >="
                )
            self.meet(first, self.booleans)
            return boolean(first.text)
        left, bare = self.side()
        sign = self.take(*COMPARE)
        if sign is None:
            raise self.unexpected("a comparison (< <= > >= == !=) or a single boolean name")
        right, bare_too = self.side()
        if (chained := self.token).text in COMPARE:
            raise ExpressionError("a condition is one comparison", chained.offset, "nest a second `if`")
        if sign.text in ("==", "!="):
            return equal(left, right, sign.text == "==")
        for name in (bare, bare_too):
            if name:
                self.numbers.add(name)
        return comparison(left, right, COMPARE[sign.text])

    def side(self) -> tuple[Number, str | None]:
        """One side of a comparison, and its name if it is a bare name (which may then be a boolean)."""
        token, after = self.token, self.tokens[min(self.at + 1, len(self.tokens) - 1)]
        if (
            self.plain(token)
            and token.text != "unlimited"
            and (after.text in COMPARE or after.text == "else")
        ):
            self.at += 1
            self.meet(token, set())
            name = token.text
            return (lambda lookup: scalar(lookup(name), name)), name
        return self.sum(), None

    def sum(self) -> Number:
        terms: list[tuple[bool, Number]] = [(True, self.product())]
        while sign := self.take("+", "-"):
            terms.append((sign.text == "+", self.product()))
        return terms[0][1] if len(terms) == 1 else total(tuple(terms), self.source)

    def product(self) -> Number:
        factors: list[tuple[bool, Number]] = [(True, self.atom())]
        while sign := self.take("*", "/"):
            factors.append((sign.text == "*", self.atom()))
        return factors[0][1] if len(factors) == 1 else product(tuple(factors), self.source)

    def atom(self) -> Number:
        token = self.token
        if token.kind == "number":
            self.at += 1
            return constant(_finite(token))
        if self.take("("):
            value = self.quantity()
            self.need(")")
            return value
        if token.text == "-":
            raise ExpressionError("there is no sign in front of a value", token.offset, "write a - b")
        if not (token.kind == "name" and (self.plain(token) or token.text in FUNCTIONS)):
            raise self.unexpected("a number, a name or `(`")
        self.at += 1
        if token.text in FUNCTIONS:
            return self.call(token)
        if self.token.text == "(":
            known = ", ".join(sorted(FUNCTIONS))
            raise ExpressionError(f"there is no function `{token.text}`", token.offset, f"there are {known}")
        if token.text == "unlimited":
            return constant(math.inf)
        self.meet(token, self.numbers)
        return named(token.text)

    def call(self, function: _Token) -> Number:
        name = function.text
        if self.token.text != "(":
            raise ExpressionError(f"`{name}` is a function", function.offset, f"write {_USAGE[name]}")
        self.at += 1
        self.calls += 1
        arguments = [self.quantity()]
        while self.take(","):
            arguments.append(self.quantity())
        self.need(")")
        self.calls -= 1
        least, most = {"clamp": (3, 3), "floor": (1, 1), "ceil": (1, 1)}.get(name, (2, MAX_LENGTH))
        if not least <= len(arguments) <= most:
            raise ExpressionError(
                f"`{name}` takes {'two or more' if most > 3 else most} values, not {len(arguments)}",
                function.offset,
                f"write {_USAGE[name]}",
            )
        return called(name, tuple(arguments))

    def plain(self, token: _Token) -> bool:
        return token.kind == "name" and token.text not in FUNCTIONS | KEYWORDS | {"and", "or", "not"}

    def meet(self, token: _Token, uses: set[str]) -> None:
        self.offsets.setdefault(token.text, token.offset)
        uses.add(token.text)


_USAGE = {
    "min": "min(a, b)",
    "max": "max(a, b)",
    "clamp": "clamp(x, lowest, highest)",
    "floor": "floor(x)",
    "ceil": "ceil(x)",
}


def _finite(token: _Token) -> float:
    value = float(token.text)
    if math.isinf(value):
        raise ExpressionError("the number is too large", token.offset, "write unlimited")
    return value
