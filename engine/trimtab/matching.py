"""Matching of names and texts: globs, tool categories, and regular expressions that cannot run away."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from re import _constants as _c  # type: ignore[attr-defined]  # the typeshed lacks the parser's modules
from re import _parser  # type: ignore[attr-defined]  # as above
from typing import Any

MAX_PATTERN = 1000
"""Characters of a regular expression; keeps parsing below any recursion limit that matters."""
MAX_REPEATS = 12
"""Unbounded repeats in one expression: each one in a row may add a power to the running time."""
CACHED_TEXT = 512
CACHED_ANSWERS = 4096
"""Texts longer than this are matched anew each time; a full cache starts over."""


class Globs:
    """A set of globs: ``*`` stands for any run of characters, ``?`` for one; all others for themselves."""

    __slots__ = ("_answers", "_exact", "_wild", "patterns")

    def __init__(self, patterns: Iterable[str]) -> None:
        self.patterns = tuple(patterns)
        self._exact = frozenset(p for p in self.patterns if "*" not in p and "?" not in p)
        wild = [_expression(p) for p in self.patterns if p not in self._exact]
        self._wild = re.compile("|".join(wild), re.DOTALL) if wild else None
        self._answers: dict[str, bool] = {}

    def match(self, text: str) -> bool:
        """Whether one of the globs matches the whole text."""
        if text in self._exact:
            return True
        if self._wild is None:
            return False
        if len(text) > CACHED_TEXT:
            return self._wild.match(text) is not None
        answer = self._answers.get(text)
        if answer is None:
            if len(self._answers) >= CACHED_ANSWERS:
                self._answers.clear()
            answer = self._answers[text] = self._wild.match(text) is not None
        return answer

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Globs) and self.patterns == other.patterns

    def __hash__(self) -> int:
        return hash(self.patterns)

    def __repr__(self) -> str:
        return f"Globs({list(self.patterns)!r})"


def _expression(glob: str) -> str:
    """The glob as an expression that needs no backtracking over more than its last star."""
    head, *rest = (_piece(part) for part in re.split(r"\*+", glob))
    if not rest:
        return rf"{head}\Z"
    *middle, tail = rest
    # The first place where a middle piece fits is always as good as any later one: atomic groups say so.
    return head + "".join(f"(?>.*?{piece})" for piece in middle) + rf".*{tail}\Z"


def _piece(part: str) -> str:
    return "".join("." if char == "?" else re.escape(char) for char in part)


class Categories:
    """The pack's ``tools``: which categories a tool belongs to (several, one or none)."""

    __slots__ = ("_globs", "_known", "names")

    def __init__(self, tools: Mapping[str, Sequence[str]] | None = None) -> None:
        self._globs = {category: Globs(globs) for category, globs in (tools or {}).items()}
        self.names = tuple(self._globs)
        self._known: dict[str, frozenset[str]] = {}

    def of(self, tool: str) -> frozenset[str]:
        """The categories of a tool name."""
        found = self._known.get(tool)
        if found is None:
            if len(self._known) >= CACHED_ANSWERS:
                self._known.clear()
            found = frozenset(name for name, globs in self._globs.items() if globs.match(tool))
            self._known[tool] = found
        return found

    def plain(self, category: str) -> tuple[str, ...]:
        """The globs of a category that are names, with no ``*`` or ``?`` in them."""
        globs = self._globs.get(category)
        found = globs.patterns if globs is not None else ()
        return tuple(name for name in found if "*" not in name and "?" not in name)

    def matches(self, tool: str, categories: Iterable[str]) -> bool:
        """Whether the tool belongs to one of the categories; unknown categories have no tools."""
        return not self.of(tool).isdisjoint(categories)

    def __repr__(self) -> str:
        return f"Categories({ {name: list(globs.patterns) for name, globs in self._globs.items()}!r})"


class PatternError(ValueError):
    """A regular expression the language does not take; ``offset`` counts characters from its start."""

    def __init__(self, message: str, offset: int = 0, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.hint = hint


def pattern(text: str) -> re.Pattern[str]:
    """The compiled expression.

    Raises PatternError for syntax errors, back-references, look-around, conditional groups and repetition
    that can divide one text in exponentially many ways.
    """
    if len(text) > MAX_PATTERN:
        raise PatternError(f"the pattern has {len(text)} characters; {MAX_PATTERN} are allowed", MAX_PATTERN)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = _parser.parse(text)
            compiled = re.compile(text)
    except re.error as error:
        raise PatternError(f"not a regular expression: {error.msg}", error.pos or 0) from None
    except (RecursionError, OverflowError):
        raise PatternError("the pattern is nested too deeply or counts too far", 0, "flatten it") from None
    unbounded = _inspect(text, tree, repeated=False)
    if unbounded > MAX_REPEATS:
        raise PatternError(f"{unbounded} unbounded repeats; {MAX_REPEATS} are allowed", 0, "split it")
    return compiled


_REPEATS = (_c.MAX_REPEAT, _c.MIN_REPEAT, _c.POSSESSIVE_REPEAT)
_LOOK = ("look-ahead and look-behind are not allowed", r"\(\?<?[=!]")
_REFUSED = {
    _c.GROUPREF: ("back-references are not allowed", r"\\[1-9]|\(\?P=", "repeat the expression itself"),
    _c.GROUPREF_EXISTS: ("conditional groups are not allowed", r"\(\?\(", "write both alternatives with |"),
    _c.ASSERT: (*_LOOK, "match the neighbouring text too"),
    _c.ASSERT_NOT: (*_LOOK, "select with `none` instead"),
}


def _inspect(text: str, nodes: Any, repeated: bool) -> int:
    """The number of unbounded repeats; raises PatternError at the first construct that is refused."""
    unbounded = 0
    for op, value in nodes:
        if op in _REFUSED:
            message, place, hint = _REFUSED[op]
            found = re.search(place, text)
            raise PatternError(message, found.start() if found else 0, hint)
        if op in _REPEATS:
            low, high, body = value
            many = high is _c.MAXREPEAT or high > 1
            if repeated and many and low != high:
                raise PatternError(
                    "a repetition inside a repetition can take forever",
                    _second_repeat(text),
                    "repeat only one of the two, or exclude by a character class what ends the inner one",
                )
            unbounded += high is _c.MAXREPEAT
            unbounded += _inspect(text, body, repeated or many)
            if many:
                _refuse_ambiguous(text, body)
        elif op is _c.SUBPATTERN:
            unbounded += _inspect(text, value[3], repeated)
        elif op is _c.ATOMIC_GROUP:
            unbounded += _inspect(text, value, repeated)
        elif op is _c.BRANCH:
            unbounded += sum(_inspect(text, branch, repeated) for branch in value[1])
    return unbounded


def _second_repeat(text: str) -> int:
    """Where the repeat that surrounds another one stands: the first repeat behind a closing bracket."""
    found = re.search(r"\)[*+{]", text)
    return found.start() + 1 if found else 0


def _refuse_ambiguous(text: str, body: Any) -> None:
    """Inside a repeat, what may be skipped or chosen must not begin like what may come in its place."""
    problem = _ambiguous(list(body), _first(list(body))[0])
    if problem:
        raise PatternError(
            f"{problem} inside a repetition can be read in several ways and take forever",
            _second_repeat(text),
            "let each alternative begin with another character",
        )


def _ambiguous(nodes: list[Any], behind: frozenset[int]) -> str | None:
    """What makes the sequence ambiguous, if anything does; ``behind``: the characters that may follow it."""
    for index, (op, value) in enumerate(nodes):
        after, empty = _first(nodes[index + 1 :])
        following = after | behind if empty else after
        problem: str | None = None
        if op in _REPEATS:
            low, high, inner = value
            if low != high and _first(list(inner))[0] & following:
                return "an optional part"
            problem = _ambiguous(list(inner), following)
        elif op is _c.SUBPATTERN:
            problem = _ambiguous(list(value[3]), following)
        elif op is _c.ATOMIC_GROUP:
            problem = _ambiguous(list(value), following)
        elif op is _c.BRANCH:
            seen: frozenset[int] = frozenset()
            for branch in value[1]:
                first, may_be_empty = _first(list(branch))
                first = first | following if may_be_empty else first
                if first & seen:
                    return "a choice"
                seen |= first
                problem = problem or _ambiguous(list(branch), following)
        if problem:
            return problem
    return None


OTHER = 256
"""Stands for every character above Latin-1, which are not told apart here."""
_ALL = frozenset(range(OTHER + 1))


def _first(nodes: list[Any]) -> tuple[frozenset[int], bool]:
    """The characters a sequence may begin with (never too few), and whether it may match nothing."""
    found: frozenset[int] = frozenset()
    for op, value in nodes:
        chars, empty = _first_of(op, value)
        found |= chars
        if not empty:
            return found, False
    return found, True


def _first_of(op: Any, value: Any) -> tuple[frozenset[int], bool]:
    if op is _c.LITERAL:
        return _cases(value), False
    if op is _c.NOT_LITERAL:
        # Without the case rule, which would exclude too much when the expression ignores case.
        return _ALL - ({value} if value < OTHER and len(_cases(value)) == 1 else frozenset()), False
    if op is _c.IN:
        return _members(value), False
    if op is _c.SUBPATTERN:
        return _first(list(value[3]))
    if op is _c.ATOMIC_GROUP:
        return _first(list(value))
    if op in _REPEATS:
        chars, empty = _first(list(value[2]))
        return chars, empty or value[0] == 0
    if op is _c.BRANCH:
        parts = [_first(list(branch)) for branch in value[1]]
        return frozenset().union(*(chars for chars, _ in parts)), any(empty for _, empty in parts)
    if op is _c.AT:
        return frozenset(), True
    return _ALL, False


def _cases(code: int) -> frozenset[int]:
    text = chr(code)
    return frozenset(min(ord(char), OTHER) for char in text + text.lower() + text.upper() + text.swapcase())


_CATEGORY = {
    _c.CATEGORY_DIGIT: r"\d",
    _c.CATEGORY_NOT_DIGIT: r"\D",
    _c.CATEGORY_SPACE: r"\s",
    _c.CATEGORY_NOT_SPACE: r"\S",
    _c.CATEGORY_WORD: r"\w",
    _c.CATEGORY_NOT_WORD: r"\W",
}


def _members(items: Any) -> frozenset[int]:
    """The characters of a class; a negated one keeps those of which another case is not excluded."""
    negated = False
    plain: set[int] = set()
    cased: set[int] = set()
    for op, value in items:
        if op is _c.NEGATE:
            negated = True
        elif op is _c.LITERAL:
            plain.add(min(value, OTHER))
            cased |= _cases(value)
        elif op is _c.RANGE:
            low, high = value
            codes = set(range(low, min(high, OTHER - 1) + 1))
            if high >= OTHER:
                cased.add(OTHER)
            plain |= codes
            for code in codes:
                cased |= _cases(code)
        elif op is _c.CATEGORY and value in _CATEGORY:
            known = re.compile(_CATEGORY[value])
            codes = {code for code in range(OTHER) if known.match(chr(code))} | {OTHER}
            plain |= codes - {OTHER}
            cased |= codes
        else:
            return _ALL
    return _ALL - (plain - {OTHER}) if negated else frozenset(cased)
