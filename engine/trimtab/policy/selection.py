"""Selectors: mappings whose entries must all match, and the candidates they find (LANGUAGE §8)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..conversation.items import KINDS, blocks_of, kind_of
from ..conversation.request import ORIGINS
from ..matching import Globs, PatternError, pattern
from .contents import Block, as_block
from .errors import PolicyError, Where
from .matchers import (
    AgeTest,
    BlockCheck,
    ConcludingTest,
    EmptyTest,
    ErrorTest,
    HasTest,
    MatchesTest,
    MessageCheck,
    OriginTest,
    PathTest,
    RefusedTest,
    RepeatedTest,
    RequestedTest,
    Run,
    SupersededTest,
    Test,
    ToolTest,
)
from .measures import Candidate, Edge, Keep, kept
from .metrics import SceneLike
from .narrowing import Fit, fit
from .sizes import SizeTest
from .values import Reference, boolean, comparisons, mapping, names, near

__all__ = [
    "Candidate",
    "Chosen",
    "Fit",
    "Guard",
    "Keep",
    "Selector",
    "candidates",
    "fit",
    "selector",
]

BLOCKS = ("text", "thinking", "tool_use", "tool_result", "image", "document")
AGE_UNITS = ("turns", "rounds", "messages", "tokens", "minutes")
SIZE_UNITS = ("chars", "bytes", "tokens", "lines")
_RELATIONAL = (SupersededTest, RepeatedTest, RequestedTest, RefusedTest)
_SWITCHES: Mapping[str, Callable[[bool], Test]] = {
    "error": ErrorTest,
    "empty": EmptyTest,
    "concluding": ConcludingTest,
    "repeated": RepeatedTest,
    "requested": RequestedTest,
    "refused": RefusedTest,
}
KEYS = (
    "blocks",
    "origins",
    "tools",
    "paths",
    "has",
    "size",
    "age",
    "matches",
    "superseded_by",
    *_SWITCHES,
    "any",
    "none",
)


class Guard(Protocol):
    """Answers what is never a candidate."""

    def message(self, index: int) -> bool: ...

    def block(self, index: int, block: int) -> bool: ...


@dataclass(frozen=True, slots=True)
class Selector:
    """With ``blocks`` it selects blocks, without it messages.

    Entries about blocks (``tools``, ``error``, ``matches`` …) hold for a message if one and the same of its
    blocks satisfies all of them; ``size`` of a message is the sum over its blocks.
    """

    blocks: frozenset[str] = frozenset()
    tests: tuple[Test, ...] = ()
    groups: tuple[tuple[str, tuple[Selector, ...]], ...] = ()
    raw: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def origins(self) -> frozenset[str]:
        """The origins it names: they lift the protection of what stages made."""
        return frozenset(one for test in self.tests if isinstance(test, OriginTest) for one in test.origins)

    @property
    def relational(self) -> bool:
        """Whether it picks by a relation to other messages (``superseded_by repeated requested refused``)."""
        return any(isinstance(test, _RELATIONAL) for test in self.tests) or any(
            one.relational for word, group in self.groups if word == "any" for one in group
        )

    @property
    def asks(self) -> bool:
        """Whether it goes by what a manual request names."""
        return any(isinstance(test, RequestedTest) and test.wanted for test in self.tests) or any(
            one.asks for word, group in self.groups if word == "any" for one in group
        )

    def strings(self, scene: SceneLike, tool: str | None) -> Callable[[str], bool]:
        """Which strings in inputs of a tool's calls ``size`` means; without ``size`` all. Raises NoValue."""
        run = Run(scene)
        checks = [test.strings(run, tool) for test in self.tests if isinstance(test, SizeTest)]
        return lambda text: all(check(text) for check in checks)

    def references(self) -> Iterator[Reference]:
        """Its quantities and categories, with their places inside the raw mapping."""
        for test in self.tests:
            yield from test.references()
        for word, group in self.groups:
            for at, one in enumerate(group):
                for kind, where, value in one.references():
                    yield Reference(kind, (word, at, *where), value)


@dataclass(frozen=True, slots=True)
class Chosen:
    """Candidates in view order; of what ``matched`` some were ``protected``, some ``spared`` by a keep.

    ``staying`` are those two, where they were asked for: they stay, and count to the size of their message.
    """

    candidates: list[Candidate]
    matched: int = 0
    protected: int = 0
    spared: int = 0
    edges: tuple[Edge, ...] = ()
    staying: list[Candidate] = field(default_factory=list)


# ------------------------------------------------------------------------------------------------ choosing


def candidates(
    scene: SceneLike,
    selector: Selector,
    protected: Guard | None = None,
    keeps: Sequence[Keep] = (),
    start: int = 0,
    staying: bool = False,
) -> Chosen:
    """What matches, less the protected, less what is kept; only items from ``start`` on.

    ``staying``: what is taken off is wanted, too. Raises NoValue.
    """
    run = Run(scene)
    held: list[Candidate] = []
    choose = _blocks if selector.blocks else _messages
    found, matched = choose(run, selector, protected, start, held if staying else None)
    count = matched - len(found)
    if not keeps or not found:
        return Chosen(found, matched, count, staying=held)
    spares = kept(scene, keeps, found)
    left = [candidate for candidate, spared in zip(found, spares.spared, strict=True) if not spared]
    if staying:
        held += [candidate for candidate, spared in zip(found, spares.spared, strict=True) if spared]
    return Chosen(left, matched, count, len(found) - len(left), spares.edges, held)


def _blocks(
    run: Run, selector: Selector, protected: Guard | None, start: int, held: list[Candidate] | None
) -> tuple[list[Candidate], int]:
    whole, parts = _checks(run, selector)
    kinds = _kinds(selector.blocks)
    mask = 0
    for kind in kinds:
        mask |= KINDS[kind]
    items = run.view.items
    out_of_bounds = protected.block if protected is not None else None
    found: list[Candidate] = []
    matched = 0
    for index in range(start, len(items)):
        item = items[index]
        if not item.mask & mask:
            continue
        for check in whole:
            if not check(index, item):
                break
        else:
            content = item.message.get("content")
            for number, block in enumerate(content if type(content) is list else blocks_of(item.message)):
                if type(block) is not dict:
                    block = as_block(block)
                if kind_of(block) not in kinds:
                    continue
                for part in parts:
                    if not part(index, item, number, block):
                        break
                else:
                    matched += 1
                    if out_of_bounds is None or not out_of_bounds(index, number):
                        found.append(Candidate(index, number, item, item.chars[number], item.tokens[number]))
                    elif held is not None:
                        held.append(Candidate(index, number, item, item.chars[number], item.tokens[number]))
    return found, matched


def _messages(
    run: Run, selector: Selector, protected: Guard | None, start: int, held: list[Candidate] | None
) -> tuple[list[Candidate], int]:
    check = _message_check(run, selector)
    items = run.view.items
    found: list[Candidate] = []
    matched = 0
    for index in range(start, len(items)):
        item = items[index]
        if check(index, item):
            matched += 1
            if protected is None or not protected.message(index):
                found.append(Candidate(index, None, item, sum(item.chars), item.total))
            elif held is not None:
                held.append(Candidate(index, None, item, sum(item.chars), item.total))
    return found, matched


def _kinds(blocks: frozenset[str]) -> frozenset[str]:
    return blocks | {"redacted_thinking"} if "thinking" in blocks else blocks


def _checks(run: Run, selector: Selector) -> tuple[list[MessageCheck], list[BlockCheck]]:
    """The selector's checks on blocks: those that look at the message alone come apart, cheap ones first."""
    whole: list[MessageCheck] = []
    parts: list[BlockCheck] = []
    for test in sorted(selector.tests, key=lambda test: test.cost):
        message = test.message(run)
        if message is not None:
            whole.append(message)
        else:
            parts.append(test.block(run))
    for word, group in selector.groups:
        bound = [(*_checks(run, one), _kinds(one.blocks)) for one in group]
        if all(not inner and not kinds for _, inner, kinds in bound):
            whole.append(_message_group(word == "any", [outer for outer, _, _ in bound]))
        else:
            parts.append(_block_group(word == "any", bound))
    return whole, parts


def _message_group(wanted: bool, group: Sequence[Sequence[MessageCheck]]) -> MessageCheck:
    def check(index: int, item: Any) -> bool:
        for checks in group:
            if all(one(index, item) for one in checks):
                return wanted
        return not wanted

    return check


def _block_group(
    wanted: bool, group: Sequence[tuple[Sequence[MessageCheck], Sequence[BlockCheck], frozenset[str]]]
) -> BlockCheck:
    def check(index: int, item: Any, number: int, block: Block) -> bool:
        for whole, parts, kinds in group:
            if kinds and kind_of(block) not in kinds:
                continue
            for one in whole:
                if not one(index, item):
                    break
            else:
                for part in parts:
                    if not part(index, item, number, block):
                        break
                else:
                    return wanted
        return not wanted

    return check


def _message_check(run: Run, selector: Selector) -> MessageCheck:
    """The whole selector as a check on messages; inner ones are checked on messages too."""
    whole: list[MessageCheck] = []
    parts: list[BlockCheck] = []
    for test in sorted(selector.tests, key=lambda test: test.cost):
        message = test.total(run) if isinstance(test, SizeTest) and not selector.blocks else test.message(run)
        if message is not None:
            whole.append(message)
        else:
            parts.append(test.block(run))
    for word, group in selector.groups:
        whole.append(_message_group(word == "any", [[_message_check(run, one)] for one in group]))
    kinds = _kinds(selector.blocks)
    if not parts and not kinds:
        return lambda index, item: all(check(index, item) for check in whole)

    def check(index: int, item: Any) -> bool:
        for one in whole:
            if not one(index, item):
                return False
        for number, block in enumerate(blocks_of(item.message)):
            if kinds and kind_of(block) not in kinds:
                continue
            if all(part(index, item, number, block) for part in parts):
                return True
        return False

    return check


# ------------------------------------------------------------------------------------------------- reading


def selector(raw: object) -> Selector:
    """Read a selector. Raises :class:`PolicyError`."""
    return _selector(raw, ())


def _selector(raw: object, where: Where) -> Selector:
    given = mapping(raw, where, "a selector is")
    blocks: frozenset[str] = frozenset()
    tests: list[Test] = []
    groups: list[tuple[str, tuple[Selector, ...]]] = []
    for key, value in given.items():
        place = (*where, key)
        if key == "blocks":
            blocks = frozenset(names(value, place, "block types", BLOCKS))
        elif key in ("any", "none"):
            if not isinstance(value, list | tuple) or not value:
                raise PolicyError(place, f"`{key}` takes a list of selectors", code="type")
            groups.append((key, tuple(_selector(one, (*place, at)) for at, one in enumerate(value))))
        elif key in KEYS:
            tests.append(_test(key, value, place))
        else:
            raise PolicyError(place, f"unknown key `{key}`", code="unknown-key", hint=near(key, KEYS))
    return Selector(blocks, tuple(tests), tuple(groups), given)


def _test(key: str, value: Any, where: Where) -> Test:
    if key == "origins":
        return OriginTest(frozenset(names(value, where, "origins", ORIGINS)))
    if key == "tools":
        return ToolTest(names(value, where, "tool categories"))
    if key == "paths":
        return PathTest(Globs(names(value, where, "globs")))
    if key == "has":
        return HasTest(names(value, where, "contents", ("image", "document", "text")))
    if key == "superseded_by":
        return SupersededTest(names(value, where, "tool categories"))
    if key == "matches":
        return _matches(value, where)
    if key in ("size", "age"):
        units = SIZE_UNITS if key == "size" else AGE_UNITS
        given = mapping(value, where, f"comparisons in {', '.join(units)} are")
        for unit in given:
            if unit not in units:
                hint = near(unit, units)
                raise PolicyError((*where, unit), f"no {key} in `{unit}`", code="unknown-key", hint=hint)
        if not given:
            raise PolicyError(where, "nothing is compared", hint=f"add one of {', '.join(units)}")
        read = tuple((unit, comparisons(limits, (*where, unit))) for unit, limits in given.items())
        return SizeTest(read) if key == "size" else AgeTest(read)
    return _SWITCHES[key](boolean(value, where))


def _matches(value: Any, where: Where) -> Test:
    if not isinstance(value, str) or not value:
        raise PolicyError(where, "a pattern is needed here", code="type")
    try:
        return MatchesTest(pattern(value))
    except PatternError as problem:
        raise PolicyError(
            where, problem.message, code="pattern", hint=problem.hint, offset=problem.offset
        ) from None
