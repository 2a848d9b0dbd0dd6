"""Times one step against ``copy.deepcopy`` of the reference conversation, taken in turns with it."""

from __future__ import annotations

import copy
import cProfile
import gc
import io
import pstats
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from time import perf_counter
from typing import Any, TypeAlias

Step: TypeAlias = Callable[[], object]
"""What is timed. What it returns stays alive until the clock has stopped."""
Prepare: TypeAlias = Callable[[], Step]
"""Makes the step of one round; is not timed."""

TOLERANCE = 1.25
"""A bar missed by more than this factor is an error of ``--check``: the rest is the machine's noise."""


@dataclass(frozen=True, slots=True)
class Case:
    """One row of the table. ``setup`` is called once and gives the ``Prepare`` of its rounds.

    ``bar`` is a multiple of the copy (None: shown only). ``times`` is how many operations one step does; the
    figure is for one of them. ``steps`` are taken in each round, each prepared anew. ``share`` divides the
    number of rounds where steps take long.
    """

    name: str
    title: str
    setup: Callable[[], Prepare]
    bar: float | None = None
    times: int = 1
    steps: int = 1
    share: int = 1


@dataclass(frozen=True, slots=True)
class Row:
    """Seconds of one operation, median and least, and the median of its ratios to the copies around it."""

    name: str
    title: str
    median: float
    least: float
    ratio: float
    bar: float | None
    rounds: int
    failure: str | None = None

    @property
    def met(self) -> bool | None:
        """None where there is no bar."""
        if self.failure is not None:
            return False
        return None if self.bar is None else self.ratio <= self.bar

    @property
    def missed_clearly(self) -> bool:
        """By more than the tolerance, or not measured at all."""
        return self.failure is not None or (self.bar is not None and self.ratio > self.bar * TOLERANCE)

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "met": self.met}


class Copies:
    """Times copies of the reference conversation; keeps all times."""

    def __init__(self, reference: object) -> None:
        self.reference = reference
        self.times: list[float] = []

    def take(self) -> float:
        gc.collect()
        start = perf_counter()
        made = copy.deepcopy(self.reference)
        taken = perf_counter() - start
        del made
        self.times.append(taken)
        return taken


def timed(step: Step) -> float:
    """Seconds of one step. Starts after a full collection; the collector stays as it is set."""
    gc.collect()
    start = perf_counter()
    kept = step()
    taken = perf_counter() - start
    del kept
    return taken


def measure(case: Case, copies: Copies, rounds: int) -> Row:
    """A row; whatever goes wrong is told in it, so that one case never hides the others."""
    rounds = max(3, rounds // case.share)
    times: list[float] = []
    ratios: list[float] = []
    try:
        prepare = case.setup()
        timed(prepare())  # once without counting: caches of the process are filled
        before = copies.take()
        for _ in range(rounds):
            own = [timed(prepare()) / case.times for _ in range(case.steps)]
            after = copies.take()
            taken = median(own)
            times.append(taken)
            ratios.append(taken / ((before + after) / 2))
            before = after
    except Exception as problem:  # a case that cannot run is a finding, not the end of the others
        failure = f"{type(problem).__name__}: {problem}"
        return Row(case.name, case.title, 0.0, 0.0, 0.0, case.bar, len(times), failure.splitlines()[0])
    return Row(case.name, case.title, median(times), min(times), median(ratios), case.bar, rounds)


def profile(case: Case, steps: int = 5) -> str:
    """Where the time of a case goes, over a few steps: the functions with the most time of their own."""
    prepare = case.setup()
    prepare()()
    profiler = cProfile.Profile()
    for _ in range(steps):
        profiler.runcall(prepare())
    text = io.StringIO()
    pstats.Stats(profiler, stream=text).strip_dirs().sort_stats("tottime").print_stats(30)
    return f"{case.title} ({steps} steps)\n{text.getvalue()}"


def duration(seconds: float) -> str:
    """Seconds for people: ``9.31 ms``, ``8.0 µs``."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        value = seconds * factor
        if value >= 1:
            return f"{value:.3g} {unit}"
    return f"{seconds * 1e6:.2f} µs"


def markdown(rows: Sequence[Row]) -> str:
    """The rows as a table for a page."""
    out = ["| | median | least | × copy | bar | |", "|---|--:|--:|--:|--:|---|"]
    for row in rows:
        if row.failure is not None:
            out.append(f"| {row.title} | | | | | not measured: {row.failure} |")
            continue
        bar = "" if row.bar is None else f"{row.bar:g}"
        figures = f"{duration(row.median)} | {duration(row.least)} | {ratio(row)} | {bar}"
        out.append(f"| {row.title} | {figures} | {VERDICTS[row.met]} |")
    return "\n".join(out)


VERDICTS = {True: "met", False: "missed", None: ""}


def ratio(row: Row) -> str:
    return f"{row.ratio:.4f}" if row.ratio < 0.01 else f"{row.ratio:.2f}"


def header(width: int) -> str:
    return f"{'':{width}} {'median':>9} {'least':>9} {'× copy':>8} {'bar':>6}"


def line(row: Row, width: int) -> str:
    """One row of the printed table."""
    if row.failure is not None:
        return f"{row.title:{width}} not measured: {row.failure}"
    bar = "" if row.bar is None else f"{row.bar:g} ×"
    times = f"{duration(row.median):>9} {duration(row.least):>9}"
    return f"{row.title:{width}} {times} {ratio(row):>8} {bar:>6} {VERDICTS[row.met]}".rstrip()
