"""The rows of the table: runs through the public API, then the parts they are made of."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Generator, Iterator
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

from bench._hosts import CLEARED, IDLE, MODEL, REFERENCE, Host, claude_code, layers, messages_of
from bench._measure import Case, Prepare, Step

from trimtab import Engine, Facts, Outcome, Session
from trimtab.conversation.digest import digest
from trimtab.conversation.edits import Rewrite, Spot
from trimtab.conversation.fold import ItemBuilder, Overlay, fold
from trimtab.conversation.items import Item, ItemMaker
from trimtab.conversation.view import View
from trimtab.effects import Effect, Get, drive
from trimtab.journal import DiskJournal
from trimtab.records import Fail
from trimtab.staging import profile_of
from trimtab.tokens import estimate, media_tokens
from trimtab.tokens.models import lookup
from trimtab.validity import check

FULL = 60_000
"""More messages of this conversation are more bytes than the API takes: a steady run has to cover some."""
VAST = 100_000_000
"""A window no reference conversation fills: the shipped pack then only looks."""


def expect(outcome: Outcome, **items: int) -> Outcome:
    """The outcome, if the stages named touched so many items: work that is not done would look fast."""
    found = {report.id: report.items for report in outcome.receipt.stages if report.verdict == "committed"}
    named = {name.replace("_", "-"): count for name, count in items.items()}
    if found != named:
        raise AssertionError(f"the run committed {found}, not {named}")
    return outcome


# --- runs


def cold() -> Prepare:
    """A new session and the whole conversation; about 190 results are cut to a preview, 735 cleared."""
    engine = layers()
    host = Host.of(engine)
    first = host.run(idle=True)
    kept = {report.id: report.items for report in first.receipt.stages if report.verdict == "committed"}
    if kept.get("idle-clear") != CLEARED:
        raise AssertionError(f"the idle stage cleared {kept}")

    def prepare() -> Step:
        fresh = Host.of(engine)
        return lambda: fresh.run(idle=True)

    return prepare


def warm() -> Prepare:
    """A session that has run once; nothing new, and the idle stage clears 735 results."""

    def prepare() -> Step:
        host = Host.of(layers())
        host.run()
        return lambda: expect(host.run(idle=True), idle_clear=CLEARED)

    return prepare


def steady(
    engine: Callable[[], Engine] = layers, count: int = REFERENCE, marks: bool = False
) -> Callable[[], Prepare]:
    """A session that has done its work; a call and its small result are new."""

    def setup() -> Prepare:
        host = Host.of(engine(), count)
        host.run(idle=True)

        def prepare() -> Step:
            host.grow()
            if marks:
                host.move_marks()
            return lambda: expect(host.run())

        return prepare

    return setup


def steady_read_anew() -> Prepare:
    """As ``steady``, but the host reads its list anew each time: equal messages, no object the same."""
    host = Host.of(layers())
    host.run(idle=True)

    def prepare() -> Step:
        host.grow()
        host.messages = deepcopy(host.messages)
        return lambda: expect(host.run())

    return prepare


def steady_covered(count: int = 10 * REFERENCE) -> Prepare:
    """So many messages, of which a text covers all but the newest 2,000."""
    host = Host.of(layers(count), count)
    host.run(idle=True)
    shown = len(host.run("manual").request.messages)
    if not REFERENCE * 0.9 < shown < REFERENCE * 1.1:
        raise AssertionError(f"{shown} messages are visible")

    def prepare() -> Step:
        host.grow()
        return lambda: expect(host.run())

    return prepare


def cold_of(engine: Callable[[], Engine], count: int = REFERENCE, idle: bool = True) -> Callable[[], Prepare]:
    def setup() -> Prepare:
        made = engine()

        def prepare() -> Step:
            host = Host.of(made, count)
            return lambda: host.run(idle=idle)

        return prepare

    return setup


def explain() -> Prepare:
    """The dry run of the cold run."""

    def prepare() -> Step:
        host = Host.of(layers())
        return lambda: host.session.explain(host.request(), "before_request", Facts(now=host.now + IDLE))

    return prepare


# --- sessions on disk


def cold_on_disk(folder: Path) -> Callable[[], Prepare]:
    def setup() -> Prepare:
        numbers = itertools.count()

        def prepare() -> Step:
            host = Host.of(layers(), session=layers().open_session(folder / f"cold-{next(numbers)}"))
            return lambda: host.run(idle=True)

        return prepare

    return setup


def steady_on_disk(folder: Path) -> Callable[[], Prepare]:
    def setup() -> Prepare:
        host = Host.of(layers(), session=layers().open_session(folder / "steady"))
        host.run(idle=True)

        def prepare() -> Step:
            host.grow()
            return lambda: expect(host.run())

        return prepare

    return setup


def resume(folder: Path) -> Callable[[], Prepare]:
    """Another process left the journal of 2,000 messages; open it and run with two more."""

    def setup() -> Prepare:
        place = folder / "resume"
        Host.of(layers(), session=layers().open_session(place)).run(idle=True)
        numbers = itertools.count()

        def prepare() -> Step:
            mine = folder / f"resume-{next(numbers)}"
            shutil.copytree(place, mine)
            host = Host.of(layers())
            host.grow()

            def step() -> Session:
                host.session = layers().open_session(mine)
                expect(host.run())
                return host.session

            return step

        return prepare

    return setup


def long_journal(folder: Path) -> Path:
    """The journal of 20,000 messages, about 5.2 MB; the folder of it."""
    place = folder / "long"
    if not place.exists():
        count = 10 * REFERENCE
        Host.of(layers(count), count, layers(count).open_session(place)).run(idle=True)
    return place


def journal_load(folder: Path) -> Callable[[], Prepare]:
    def setup() -> Prepare:
        place = long_journal(folder)
        return lambda: lambda: DiskJournal.read(place)

    return setup


def journal_append(folder: Path) -> Callable[[], Prepare]:
    def setup() -> Prepare:
        journal = DiskJournal.open(folder / "append", engine="0")
        record = Fail("idle-clear", 1, "error")

        def step() -> None:
            for _ in range(100):
                journal.append([record])

        return lambda: step

    return setup


# --- parts


def items_of(count: int) -> list[Item]:
    make = ItemMaker(estimate, media_tokens).make
    return [make(serial, message)[0] for serial, message in enumerate(messages_of(count), 1)]


def fold_case(count: int, rewritten: int, built: bool = True) -> Callable[[], Prepare]:
    """View of ``count`` messages, ``rewritten`` of them changed; ``built``: their items are there already."""

    def setup() -> Prepare:
        items = items_of(count)
        spots = [Spot(item.serial, 0) for item in items if item.results][:rewritten]
        if len(spots) != rewritten:
            raise AssertionError(f"only {len(spots)} messages have a result")
        overlay = Overlay().plus(1, (Rewrite(tuple(spots), {"content": "[cleared]"}),))
        kept = ItemBuilder(ItemMaker(estimate, media_tokens))

        def prepare() -> Step:
            builder = kept if built else ItemBuilder(ItemMaker(estimate, media_tokens))
            return lambda: View(fold(items, overlay, builder))

        return prepare

    return setup


def rules() -> Prepare:
    """All rules of the API over a view nobody has looked at."""
    items = items_of(REFERENCE)
    profile = profile_of(lookup(MODEL), 0)

    def prepare() -> Step:
        view = View(items)
        return lambda: check(view, profile)

    return prepare


def digests() -> Prepare:
    return lambda: lambda: [digest(message) for message in messages_of(REFERENCE)]


def walk() -> Prepare:
    """Item and shadow of each message."""

    def step() -> Any:
        make = ItemMaker(estimate, media_tokens).make
        return [make(serial, message) for serial, message in enumerate(messages_of(REFERENCE), 1)]

    return lambda: step


def estimates() -> Prepare:
    texts = list(_texts(list(messages_of(REFERENCE))))
    return lambda: lambda: [estimate(text) for text in texts]


def _texts(value: Any) -> Iterator[str]:
    """The texts an item walk counts: contents, not roles, types and ids."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)
    elif isinstance(value, dict):
        for key, part in value.items():
            if key not in ("role", "type", "id", "name", "tool_use_id"):
                yield from _texts(part)


EFFECTS = 10_000


def effects() -> Prepare:
    """One effect through the driver, there and back."""
    effect = Get("folder/file")

    def core() -> Generator[Effect, Any, int]:
        for _ in range(EFFECTS):
            yield effect
        return EFFECTS

    def perform(_: Effect) -> None:
        return None

    return lambda: lambda: drive(core(), perform)


def cases(sizes: list[int], folder: Path) -> list[Case]:
    """All rows, in the order of the table; rows of other sizes than the reference for the sizes named."""
    quiet = partial(claude_code, VAST)
    table = [
        Case("cold", "cold run: six stages, 926 edits, checks, receipt", cold, 1.5),
        Case("warm", "warm run that rewrites 735 spots", warm, 0.8),
        Case("steady", "steady run, two new messages", steady(), 0.1, steps=5),
        Case("marks", "the same, cache marks moved", steady(marks=True), 0.15, steps=5),
        Case("covered", "steady, 20,000 messages, 2,000 visible", steady_covered, 0.15, steps=5),
        Case("fold", "fold, 2,000 with 760 rewritten", fold_case(REFERENCE, 760), 1.0),
        Case("fold-20000", "fold, 20,000 with 7,600 rewritten", fold_case(10 * REFERENCE, 7_600), 1.0),
        Case("rules", "all rules, 2,000", rules, 0.3),
        Case("digests", "first digests, 2,000", digests, 1.5),
        Case("resume", "resume from disk, two new messages", resume(folder), 4.0),
        Case("append", "journal: append of one line", journal_append(folder), times=100),
        Case("load", "journal: load of 5.2 MB", journal_load(folder), share=2),
        Case("effect", "effect", effects, times=EFFECTS),
        Case("walk", "item and shadow of each message", walk),
        Case("estimate", "token estimate of each text", estimates),
        Case("build", "fold that builds 760 items", fold_case(REFERENCE, 760, built=False)),
        Case("explain", "explain of the cold run", explain),
        Case("anew", "steady, the host reads its list anew", steady_read_anew, steps=3),
        Case("cold-disk", "cold run, session on disk", cold_on_disk(folder)),
        Case("steady-disk", "steady, session on disk", steady_on_disk(folder), steps=5),
        Case("shipped-cold", "claude-code, cold, nothing due", cold_of(quiet, idle=False)),
        Case("shipped-compact", "claude-code, cold, cleared and compacted", cold_of(claude_code), share=2),
        Case("shipped-steady", "claude-code, steady", steady(quiet), steps=5),
    ]
    for size in sizes:
        if size != REFERENCE:
            share = max(1, size // REFERENCE)
            engine = partial(layers, size)
            title = f"cold run, {size:,} messages"
            table.append(Case(f"cold-{size}", title, cold_of(engine, size), share=share))
            setup, title = steady(engine, size), f"steady, {size:,} messages"
            if size > FULL:
                setup, title = partial(steady_covered, size), f"{title}, 2,000 visible"
            table.append(Case(f"steady-{size}", title, setup, steps=3, share=min(3, share)))
    return table
