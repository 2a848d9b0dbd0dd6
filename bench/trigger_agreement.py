"""Whether autocompact comes due where the recorded clients compacted: ``python bench/trigger_agreement.py FOLDER``.

Replays every Claude Code session below FOLDER (else below TRIMTAB_DATA) call by call in the contexts that
client had, its real summaries in place. Before each recorded call the pack ``claude-code``, all stages but
``autocompact`` left out, judges the request as it was about to go: with the usages of the calls before, not its
own. With ``--anew`` each request is judged in a session that has seen nothing before, as for a host that keeps
none. Prints a line for each context and how far the token figure was off. Exit code 1: a context in which
autocompact came due at another place than the client's, by more than one call.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path

from trimtab.engine import Engine
from trimtab.facts import Facts
from trimtab.outcome import Outcome
from trimtab.packs.load import load
from trimtab.packs.pack import Pack
from trimtab.readers import READERS, Unreadable
from trimtab.readers.base import HEAD_BYTES
from trimtab.readers.contexts import Moment, moments

STAGE = "autocompact"
TOLERANCE = 1
"""Calls by which the first due one may lie before the boundary."""

SMALL_WINDOW, LARGE_WINDOW = 200_000, 1_000_000
SMALL_UNTIL = (2, 1, 49)
"""The last client that gave every model the small window unless told otherwise; later ones give it its own."""
OLD_BUFFER = 25_000
OLD_BUFFER_UNTIL = (2, 1, 20)
"""The last client that compacted at 155,000: 25,000 below the effective window where later ones stay 13,000."""

FAR = 0.05
"""A figure off by more than this share is listed."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One moment with what the pack said of it: the token figure, the trigger, whether the figure reached it.

    ``before`` is the usage of the call before in the same context, ``model_before`` its model.
    """

    moment: Moment
    figure: int
    trigger: int
    due: bool
    model_before: str | None
    before: int | None

    @property
    def error(self) -> float | None:
        """Signed share by which the figure misses the call's own usage; None where that is not known."""
        usage = self.moment.usage
        return None if usage is None else self.figure / usage.prompt - 1


@dataclass(frozen=True, slots=True)
class Context:
    """What lies between two compactions, each of its requests judged."""

    path: Path
    number: int
    judged: Sequence[Judged] = field(default_factory=tuple)

    @property
    def calls(self) -> list[Judged]:
        return [one for one in self.judged if one.moment.boundary is None]

    @property
    def end(self) -> Judged | None:
        """The compaction that ended it, as the request it stood in place of."""
        last = self.judged[-1]
        return last if last.moment.boundary is not None else None

    @property
    def trigger(self) -> str | None:
        """``auto`` or ``manual``; None where the file ends or the client does not say."""
        return self.end.moment.boundary.trigger if self.end and self.end.moment.boundary else None

    @property
    def first_due(self) -> Judged | None:
        """The first request that was due; one that a person had compacted anyway does not count."""
        judged = self.judged if self.trigger == "auto" else self.calls
        return next((one for one in judged if one.due), None)

    @property
    def distance(self) -> int | None:
        """Calls from the boundary to the first due request: 0 is that very request, -1 the call before it."""
        first = self.first_due
        return None if first is None else self.judged.index(first) - (len(self.judged) - 1)

    @property
    def judgeable(self) -> bool:
        """Whether a usage was recorded; without one the figure lacks system and tools, which no file has."""
        return any(one.moment.usage is not None for one in self.calls)

    @property
    def agrees(self) -> bool:
        """Due within one call of an automatic boundary, and nowhere in a context without one."""
        if self.trigger != "auto":
            return self.first_due is None
        if not self.judgeable:
            return True
        return self.distance is not None and self.distance >= -TOLERANCE


def version(client: str | None) -> tuple[int, ...]:
    """The numbers of a client's version; of an unknown one no number, which is older than all."""
    return tuple(int(part) for part in re.findall(r"\d+", client or "")[:3])


def trigger_pack() -> Pack:
    """The shipped pack with nothing left but the stage whose trigger is looked at."""
    pack = load("claude-code")
    return replace(pack, stages=tuple(stage for stage in pack.stages if stage.id == STAGE))


def engine_of(pack: Pack, client: str | None, most: int = 0) -> Engine:
    """An engine with the window and the buffer which that client had.

    ``most`` is the largest usage of the context: one above the small window shows that a larger was chosen.
    """
    known = version(client)
    models: dict[str, dict[str, float]] = {}
    if known <= SMALL_UNTIL:
        models["*"] = {"window": SMALL_WINDOW if most <= SMALL_WINDOW else LARGE_WINDOW}
    settings = {"buffer": OLD_BUFFER} if known <= OLD_BUFFER_UNTIL else {}
    return Engine(pack, settings=settings, models=models)


def replay(path: Path, pack: Pack, anew: bool = False) -> Iterator[Context]:
    """The contexts of one file, each judged in a session of its own; ``anew``: each request."""
    for number, part in groupby(moments(path), key=lambda moment: moment.context):
        judged = tuple(_judge(list(part), pack, anew))
        if judged:
            yield Context(path, number, judged)


def _judge(part: Sequence[Moment], pack: Pack, anew: bool) -> Iterator[Judged]:
    most = max((moment.usage.prompt for moment in part if moment.usage is not None), default=0)
    engine = engine_of(pack, part[-1].client, most)
    session = engine.session()
    ran = not anew
    model: str | None = None
    before: int | None = None
    for moment in part:
        if not moment.request.messages:
            continue  # a file that begins with a compaction: what it replaced is in another file
        facts = Facts(now=moment.at)
        session = engine.session() if anew else session
        outcome = session.explain(moment.request, facts=facts)
        figure, trigger, due = _verdict(outcome)
        yield Judged(moment, figure, trigger, due, model, before)
        ran = ran and not due
        if ran:
            # Nothing can be committed but mended faults of the recording: the only stage is not due.
            session.run(moment.request, facts=facts)
        model = moment.request.model
        before = moment.usage.prompt if moment.usage is not None else None


def _verdict(outcome: Outcome) -> tuple[int, int, bool]:
    report = outcome.receipt.stage(STAGE)
    assert report is not None
    (found,) = [one for one in report.conditions if one.path == "tokens at_least"]
    assert isinstance(found.value, int | float)
    assert isinstance(found.limit, int | float)
    return round(found.value), round(found.limit), found.holds


def sessions(folder: Path) -> Iterator[Path]:
    """Claude Code session files below a folder, or the file itself."""
    for path in [folder] if folder.is_file() else sorted(folder.rglob("*.jsonl")):
        with path.open("rb") as opened:
            if READERS["claude-code"].detects(opened.read(HEAD_BYTES)):
                yield path


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value at ``share`` of an ordered list; 0 for an empty one."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


def errors(judged: Iterable[Judged]) -> list[float]:
    """Sorted unsigned errors of the figures, where the call's own usage is known."""
    return sorted(abs(one.error) for one in judged if one.error is not None)


def _row(context: Context) -> str:
    first, end = context.first_due, context.end
    boundary = end.moment.boundary if end else None
    said = f"{context.trigger or '?'} {boundary.pre_tokens or 0:,}" if boundary else "-"
    most = max((one.moment.usage.prompt for one in context.calls if one.moment.usage), default=0)
    last = context.judged[-1]
    columns = [
        f"{context.path.stem[:30]:31}{context.number:>2} {last.moment.client or '?':8}",
        f"{last.moment.request.model[:24]:25}{len(context.calls):>5}{last.trigger:>9,}{most:>9,} {said:15}",
    ]
    if first is None:
        columns.append(f"{'never':>8}{'':9}{'':9}{'':4}")
    else:
        at = context.judged.index(first) + 1
        own = f"{first.moment.usage.prompt:,}" if first.moment.usage else "-"
        distance = "" if context.trigger != "auto" else f"{context.distance}"
        columns.append(f"{at:>8}{first.figure:>9,}{own:>9}{distance:>4}")
    verdict = "NO" if not context.agrees else "ok" if context.judgeable else "no usage"
    return f"{''.join(columns)}  {verdict}"


def _accuracy(name: str, judged: Sequence[Judged]) -> str:
    found = errors(judged)
    shares = "".join(f"{quantile(found, share):8.2%}" for share in (0.5, 0.9, 0.99))
    return f"{name:44}{len(found):6,}{shares}"


def report(contexts: Sequence[Context]) -> None:
    """Print the table of contexts and how far the figure was off."""
    print(
        f"{'session':31}{'#':>2} {'client':8}{'model':25}{'calls':>5}{'trigger':>9}{'most':>9} {'boundary':15}"
        f"{'due at':>8}{'figure':>9}{'usage':>9}{'by':>4}"
    )
    for context in contexts:
        print(_row(context))
    calls = [one for context in contexts for one in context.calls]
    known = [one for one in calls if one.before is not None]
    changed = [one for one in known if one.model_before != one.moment.request.model]
    same = [one for one in known if one.model_before == one.moment.request.model]
    near = [one for context in contexts if context.trigger == "auto" for one in context.calls[-3:]]
    print(f"\n{'error of the figure against the own usage':44}{'calls':>6}{'p50':>8}{'p90':>8}{'p99':>8}")
    print(_accuracy("all calls", calls))
    print(_accuracy("after a call of the same model", same))
    print(_accuracy("after a call of another model", changed))
    print(
        _accuracy("first of a context (system, tools unknown)", [one for one in calls if one.before is None])
    )
    print(_accuracy("last three before an automatic boundary", near))
    print(f"\nafter another call, off by more than {FAR:.0%}:")
    for one in (one for one in known if one.error is not None and abs(one.error) > FAR):
        moment = one.moment
        own = moment.usage.prompt if moment.usage else 0
        print(
            f"  {moment.client or '?':8} line {moment.line:5} {moment.request.model[:26]:27}"
            f"before {one.before or 0:>8,}  figure {one.figure:>8,}  usage {own:>8,}  {one.error or 0:+.1%}"
        )


def main(arguments: Sequence[str]) -> int:
    """Print the tables; 1 where a context does not agree, 2 without a folder, 5 without a session in it."""
    anew = "--anew" in arguments
    folders = [one for one in arguments if one != "--anew"]
    given = folders[0] if folders else os.environ.get("TRIMTAB_DATA")
    if not given or not Path(given).exists():
        print(
            "usage: python bench/trigger_agreement.py FOLDER [--anew] (or set TRIMTAB_DATA)", file=sys.stderr
        )
        return 2
    pack = trigger_pack()
    contexts: list[Context] = []
    for path in sessions(Path(given)):
        try:
            contexts += replay(path, pack, anew)
        except Unreadable as problem:
            print(f"left out: {problem}", file=sys.stderr)
    if not contexts:
        print(f"no session of Claude Code below {given}", file=sys.stderr)
        return 5
    report(contexts)
    return 0 if all(context.agrees for context in contexts) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
