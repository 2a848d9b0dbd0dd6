"""Whether the tests of the shipped packs notice when a value changes: ``python -m bench.mutations [PACK…]``.

Every number that a pack's own file has in its settings, models, limits and stages is changed, one at a time and both
ways: a whole number up to 100 by 1, a larger one by a hundredth of it, a fraction by 0.01. Every switch is turned.
Each changed pack runs the pack's tests in this process until one fails; one that no test fails has survived. A survivor
that cannot be told from the pack by any test is argued in ``EQUIVALENT`` and counted apart. ``-n N`` uses that many
processes.

Exit code 1: something survived that nobody has argued, or the tests fail before anything is changed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trimtab.packs.load import load
from trimtab.packs.nodes import Node
from trimtab.packs.pack import Pack
from trimtab.packs.problems import PackError
from trimtab.packs.sources import resolve, shipped_packs
from trimtab.policy.expressions import ExpressionError, quantity
from trimtab.testing.judging import judge
from trimtab.testing.model import Case
from trimtab.testing.playing import play
from trimtab.testing.suite import plan, run_case

SECTIONS = ("settings", "models", "limits", "stages")
NOT_NUMBERS = frozenset(
    {"id", "kind", "text", "template", "prompt", "wrapper", "description", "matches", "type"}
)
"""Keys under which a text is no expression, whatever digits are in it."""
SMALL = 100
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")

EQUIVALENT: Mapping[str, str] = {
    "stages.server-editing.edits.1.when.idle_minutes.at_least: 59": "of two edits of a type the first counts, and up "
    "to 60 minutes that is the one before it",
    "stages.empty-result.once": "an empty result stays empty, and what stands in its place is never taken up again",
    "stages.drain.fit.tokens: 1": "no view has one token, so both mean all that has been written down",
    "stages.from-session-memory.wait_seconds": "seconds of waiting for another thread; a case runs jobs to their end",
    "stages.restore.from.0.budget.tokens": "five files of at most 5,000 tokens each never come to it",
}
"""Places (with the text after the change, where only that one is meant) that no test can see, each with the reason."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: the pack, the place as ``--set`` names it, and the texts before and after."""

    pack: str
    place: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.pack}: {self.place}: {self.before} → {self.after}"


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a mutant: ``killed`` (by a case), ``refused`` (by `check`) or ``survived``."""

    mutant: Mutant
    end: str
    by: str = ""


# ------------------------------------------------------------------------------------------------------ changes


def mutants(name: str) -> Iterator[Mutant]:
    """Every change of a shipped pack's own file."""
    resolved = resolve(name)
    for section in SECTIONS:
        node = resolved.root.mapping.get(section)
        if node is not None:
            for place, value in _scalars(node, (section,), resolved.name):
                for changed in changes(value):
                    yield Mutant(name, ".".join(place), str(value), changed)


def _scalars(node: Node, place: tuple[str, ...], file: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Numbers and expressions of one file below a node, with their dotted places."""
    value = node.value
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in NOT_NUMBERS:
                yield from _scalars(inner, (*place, key), file)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            name = inner.mapping.get("id")
            # A stage is named by its id wherever it stands, other entries by their number.
            inner_place = ("stages", str(name.value)) if name is not None and place[-1] == "stages" else None
            yield from _scalars(inner, inner_place or (*place, str(number)), file)
    elif node.pos.file == file and (isinstance(value, bool) or _has_numbers(value)):
        yield place, value


def _has_numbers(value: int | float | str) -> bool:
    """Whether it is a number, or an expression with numbers in it."""
    if not isinstance(value, str):
        return True
    try:
        return bool(_NUMBER.search(value)) and quantity(value) is not None
    except ExpressionError:
        return False


def changes(value: bool | int | float | str) -> Iterator[str]:
    """The value's text with one of its numbers a step larger, and a step smaller; a switch turned."""
    if isinstance(value, bool):
        yield str(not value).lower()
        return
    text = str(value)
    for found in _NUMBER.finditer(text):
        for sign in (1, -1):
            changed = stepped(found.group(), sign)
            if changed is not None:
                yield text[: found.start()] + changed + text[found.end() :]


def stepped(number: str, sign: int) -> str | None:
    """The next number in one direction; None below 0."""
    if "." in number:
        value = round(float(number) + sign * 0.01, 6)
        return f"{value:g}" if value >= 0 else None
    whole = int(number)
    step = 1 if whole <= SMALL else max(1, round(whole / 100))
    return str(whole + sign * step) if whole + sign * step >= 0 else None


# -------------------------------------------------------------------------------------------------------- trial

_CASES: dict[str, list[Case]] = {}
"""The cases of each pack, quickest first; worker processes have them from the start."""


def prepare(name: str) -> list[str]:
    """Read and run a pack's tests as it is; what fails, in words."""
    found = plan([name])
    wrong = [problem.render() for problem in found.every_problem]
    timed = [(run_case(case, one.pack), case) for one in found.files for case in one.cases]
    wrong += [f"{name}: {case.title}: {ran.failures[0].what}" for ran, case in timed if not ran.passed]
    _CASES[name] = [case for ran, case in sorted(timed, key=lambda pair: pair[0].seconds)]
    return wrong or ([] if timed else [f"{name} has no tests"])


def tried(mutant: Mutant) -> Fate:
    """Run the tests of a changed pack until one fails."""
    try:
        pack: Pack = load(mutant.pack, [(mutant.place, _yaml(mutant.after))])
    except PackError as error:
        return Fate(mutant, "refused", error.problems[0].code)
    for case in _CASES[mutant.pack]:
        if judge(case, pack, play(case, pack, again=False)):
            return Fate(mutant, "killed", case.title)
    return Fate(mutant, "survived")


def _yaml(text: str) -> str:
    return f'"{text}"' if re.search(r"[,:{}\[\]]", text) else text


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("packs", nargs="*", metavar="PACK", help="shipped packs; default: all")
    parser.add_argument("-n", type=int, default=1, metavar="N", help="processes")
    parser.add_argument("--at", metavar="TEXT", help="only places with TEXT in them")
    parser.add_argument("-v", action="store_true", help="name every mutant and its end")
    options = parser.parse_args(arguments)
    names = options.packs or list(shipped_packs())
    began = time.perf_counter()
    wrong = [line for name in names for line in prepare(name)]
    if wrong:
        print("\n".join(wrong))
        return 1
    every = [one for name in names for one in mutants(name) if not options.at or options.at in one.place]
    if options.n > 1:
        with multiprocessing.get_context("fork").Pool(options.n) as pool:
            fates = list(pool.imap(tried, every))
    else:
        fates = [tried(one) for one in every]
    return report(names, fates, time.perf_counter() - began, options.v)


def report(names: Sequence[str], fates: Sequence[Fate], seconds: float, verbose: bool) -> int:
    """Print the rate of each pack and every survivor; the exit code."""
    if verbose:
        for fate in fates:
            print(f"{fate.end:<9} {fate.mutant}" + (f"   [{fate.by}]" if fate.by else ""))
    survived = [fate.mutant for fate in fates if fate.end == "survived"]
    argued = [one for one in survived if _argument(one)]
    print(f"{'pack':<22}{'changes':>8}{'refused':>9}{'killed':>8}{'argued':>8}{'survived':>10}{'rate':>8}")
    for name in names:
        own = [fate for fate in fates if fate.mutant.pack == name]
        refused, killed = (sum(fate.end == end for fate in own) for end in ("refused", "killed"))
        same = sum(one.pack == name for one in argued)
        left = sum(one.pack == name for one in survived) - same
        counted = len(own) - refused
        rate = f"{100 * left / counted:.1f} %" if counted else "–"
        print(f"{name:<22}{len(own):>8}{refused:>9}{killed:>8}{same:>8}{left:>10}{rate:>8}")
    for one in survived:
        reason = _argument(one)
        print(f"survived, argued: {one}: {reason}" if reason else f"SURVIVED {one}")
    print(f"{len(fates)} changes in {seconds:.0f} s")
    return 1 if len(argued) < len(survived) else 0


def _argument(mutant: Mutant) -> str:
    return EQUIVALENT.get(f"{mutant.place}: {mutant.after}") or EQUIVALENT.get(mutant.place, "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
