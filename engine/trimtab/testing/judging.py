"""Compares what a run came to with what was expected, and says by which reports it was decided."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from ..packs.nodes import Node
from ..packs.pack import Pack
from ..packs.problems import Position
from ..receipt import StageReport
from .looking import Shown
from .model import Case, Expectation, Failure, Look, Verdict
from .parts import MISSING, lacking
from .playing import Play, Played
from .snapshots import Snapshots, written
from .wording import bounds, difference, figure, limit_words, short

FIRED = ("committed", "done")
Judge: TypeAlias = Callable[["Bench", Expectation, Played], Iterator[Failure]]


class Bench:
    """What judges share: the case, its pack, and how a failure is put."""

    def __init__(self, case: Case, pack: Pack, snapshots: Snapshots) -> None:
        self.case = case
        self.pack = pack
        self.snapshots = snapshots

    def failure(
        self,
        what: str,
        expected: str,
        found: str,
        at: Position,
        reports: Sequence[StageReport] = (),
        notes: Sequence[str] = (),
    ) -> Failure:
        return Failure(
            what, expected, found, at, self.case.document.line(at.line), tuple(reports), tuple(notes)
        )


def judge(
    case: Case, pack: Pack, play: Play, second: Play | None = None, snapshots: Snapshots | None = None
) -> list[Failure]:
    """All that does not hold: what the case expects, and what must always hold.

    ``second`` is the same case played again from the start; without it the bytes are not compared.
    """
    bench = Bench(case, pack, snapshots or Snapshots())
    found: list[Failure] = []
    for number, run in enumerate(play.runs):
        in_step = f"step {number}: " if number else ""
        # Of a run that never was, only that is told.
        for expectation in run.step.expects if run.outcome is not None or run.reports else ():
            found += [_named(each, in_step) for each in JUDGES[expectation.kind](bench, expectation, run)]
        found += [_named(each, in_step) for each in always(bench, run)]
    last = play.runs[-1].step.at
    if second is not None and second.bytes != play.bytes:
        where = next(i for i, (a, b) in enumerate(zip(play.bytes, second.bytes, strict=True)) if a != b)
        what = difference(play.bytes[where], second.bytes[where])
        found.append(bench.failure("always: same bytes twice", "the same request and receipt", what, last))
    if play.restless is not None:
        reports = [report for report in play.runs[-1].reports if report.verdict in FIRED]
        found.append(
            bench.failure(
                "always: second run", "nothing more, or a smaller request", play.restless, last, reports
            )
        )
    return found


def _named(failure: Failure, prefix: str) -> Failure:
    if not prefix:
        return failure
    return replace(failure, what=prefix + failure.what)


def always(bench: Bench, run: Played) -> Iterator[Failure]:
    """What must hold after every run, whatever is expected of it."""
    at = run.step.at
    if run.error is not None and not _expects_failure(run):
        what = f"it ended with an error: {run.error}" if run.at is None else run.error
        yield bench.failure("run", "a run that ends", what, run.at or at, run.reports)
    if run.changed_input:
        yield bench.failure(
            "always: input untouched", "the host's messages as they were", "they were changed", at
        )
    if run.beyond:
        more = f"asked {run.beyond} more time{'s' if run.beyond > 1 else ''} than answered"
        asked = [one for report in run.reports for one in (report, *report.children) if one.calls]
        yield bench.failure("answers", "an answer for each question", more, at, asked)
    expected = [one.value for one in run.step.expects if one.kind == "problems"]
    told = [code for value in expected if isinstance(value, list) for code in value]
    if run.invalid and not any(code.startswith("invalid-") for code in told):
        yield bench.failure(
            "always: valid", "a request the API takes", run.invalid[0], at, _fired(run), run.invalid[1:]
        )


def _expects_failure(run: Played) -> bool:
    """Whether the stage whose failure ended the run is expected to have failed."""
    named = {one.name: one.value for one in run.step.expects if one.kind == "stages"}
    return any(
        isinstance(named.get(report.id), Verdict) and named[report.id].verdict == report.verdict
        for report in run.reports
    )


def _fired(run: Played) -> list[StageReport]:
    return [report for report in run.reports if report.verdict in FIRED]


# ------------------------------------------------------------------------------------------------- expectations


def _stage(bench: Bench, wanted: Expectation, run: Played) -> Iterator[Failure]:
    value: Verdict = wanted.value
    report = run.report(wanted.name)
    verdict = report.verdict if report is not None else "skipped"
    what = wanted.what
    deciding = _deciding(bench, wanted.name, run)
    if value.verdict is not None and verdict != value.verdict:
        found = verdict if report is not None else f"{verdict}: {_unreached(bench, wanted.name, run)}"
        yield bench.failure(what, value.verdict, found, wanted.at, deciding)
        return
    if value.reason is not None:
        reason = (report.reason if report is not None else None) or ""
        if value.reason not in reason:
            shown = short(reason) if reason else "no reason"
            yield bench.failure(
                f"{what}.reason", f"a reason with `{value.reason}`", shown, wanted.at, deciding
            )
    if value.items is not None:
        items = report.items if report is not None else 0
        if not value.items.holds(items):
            yield bench.failure(f"{what}.items", bounds(value.items), figure(items), wanted.at, deciding)


def _deciding(bench: Bench, name: str, run: Played) -> list[StageReport]:
    """The report of a stage; its parent's where the run came no further than that."""
    report = run.report(name)
    if report is not None:
        return [report]
    parent = next((one for one in bench.pack.stages if any(child.id == name for child in one.children)), None)
    above = run.report(parent.id) if parent is not None else None
    return [above] if above is not None else []


def _unreached(bench: Bench, name: str, run: Played) -> str:
    """Why a stage is not in the receipt."""
    stage = bench.pack.stage(name)
    parent = next((one for one in bench.pack.stages if any(child.id == name for child in one.children)), None)
    event = run.step.event
    if stage is not None and event not in (parent or stage).at:
        return f"`{(parent or stage).id}` does not list the event {event}"
    if parent is None:
        return "the run did not come so far"
    above = run.report(parent.id)
    if above is not None and above.verdict in FIRED:
        return (
            f"`{above.children[-1].id}` had fired before it" if above.children else "another child had fired"
        )
    return f"its parent `{parent.id}` was {above.verdict if above is not None else 'not reached'}"


def _only(bench: Bench, wanted: Expectation, run: Played) -> Iterator[Failure]:
    named = {one.name for one in run.step.expects if one.kind == "stages"}
    parents = {stage.id for stage in bench.pack.stages if any(child.id in named for child in stage.children)}
    for report in _fired(run):
        fired = [report, *(child for child in report.children if child.verdict in FIRED)]
        if report.id in parents or any(one.id in named for one in fired):
            continue
        yield bench.failure(
            "only", "no other stage fires", f"{report.id} was {report.verdict}", wanted.at, [report]
        )


def _total(name: str) -> Judge:
    def judge(bench: Bench, wanted: Expectation, run: Played) -> Iterator[Failure]:
        if run.outcome is None:
            return
        found = getattr(run.outcome.receipt.totals, name).after
        if not wanted.value.holds(found):
            yield bench.failure(wanted.what, bounds(wanted.value), figure(found), wanted.at, _fired(run))

    return judge


def _limit(bench: Bench, wanted: Expectation, run: Played) -> Iterator[Failure]:
    if run.outcome is None:
        return
    found = run.outcome.receipt.limits.get(wanted.name)
    if found is not None and wanted.value.holds(found):
        return
    quantity = bench.pack.limits.get(wanted.name)
    notes = [limit_words(wanted.name, quantity, run.outcome.receipt)] if quantity is not None else []
    value = "no value" if found is None else figure(found)
    yield bench.failure(wanted.what, bounds(wanted.value), value, wanted.at, (), notes)


def _view(bench: Bench, wanted: Expectation, run: Played) -> Iterator[Failure]:
    if run.outcome is None:
        return
    one: Look = wanted.value
    shown = run.shown[wanted.at]
    if isinstance(shown, str):
        yield bench.failure("view", "a place that can be found", shown, wanted.at)
        return
    expected, wrong = _seen(one, shown)
    if wrong is None:
        return
    text, about = wrong
    serials = {each.serial for each in about if each.serial is not None}
    touched = [
        report
        for top in run.reports
        for report in (top, *top.children)
        if report.commit is not None
        and not report.children
        and (serials & {*report.messages, *report.brought, *(spot.serial for spot in report.spots)})
    ]
    notes = [] if touched else [f"no stage of this run has touched {_places(about)}"] if serials else []
    yield bench.failure("view", expected, text, wanted.at, touched, notes)


def _places(about: Sequence[Shown]) -> str:
    places = sorted({each.index for each in about if each.index is not None})
    return "message " + ", ".join(str(place) for place in places[:5])


def _seen(one: Look, shown: Sequence[Shown]) -> tuple[str, tuple[str, Sequence[Shown]] | None]:
    """What is expected in words, and what was found instead, if it is not the same."""
    if one.how == "absent":
        if bool(shown) is not one.value:
            return "", None
        if one.value:
            return "nothing there", (f"{len(shown)} there, the first: {short(shown[0].text)}", shown)
        return "something there", ("nothing", ())
    if one.how == "count":
        if one.value.holds(len(shown)):
            return "", None
        texts = "".join(f"; the first: {short(each.text)}" for each in shown[:1])
        return f"{bounds(one.value)} there", (f"{len(shown)}{texts}", shown)
    expected = (
        f"a text with `{one.value.pattern}`"
        if one.how == "matches"
        else f"exactly {short(_as_text(one.value))}"
    )
    if not shown:
        return expected, ("nothing there", ())
    for each in shown:
        if one.how == "matches":
            holds = one.value.search(each.text) is not None
        elif isinstance(one.value, list | dict):
            holds = each.content == one.value
        else:
            holds = each.text == str(one.value)
        if not holds:
            return expected, (short(each.text) or "an empty text", [each])
    return "", None


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _problems(bench: Bench, wanted: Expectation, run: Played) -> Iterator[Failure]:
    if run.outcome is None:
        return
    codes = sorted(problem.code for problem in run.outcome.problems)
    value = wanted.value
    holds = codes == sorted(value) if isinstance(value, list) else len(codes) == value
    if not holds:
        expected = ", ".join(sorted(value)) or "none" if isinstance(value, list) else f"{value} in number"
        notes = [f"{one.where}: {one.message}".lstrip(": ") for one in run.outcome.problems]
        yield bench.failure("problems", expected, ", ".join(codes) or "none", wanted.at, (), notes)


def _receipt(bench: Bench, wanted: Expectation, run: Played) -> Iterator[Failure]:
    if run.outcome is not None:
        yield from _part(bench, wanted.value, run.outcome.receipt.as_dict(), "receipt")


def _request(bench: Bench, wanted: Expectation, run: Played) -> Iterator[Failure]:
    if run.outcome is None:
        return
    request = run.outcome.request
    body = {"model": request.model, **request.extra, "system": request.system, "tools": request.tools}
    body = {key: value for key, value in body.items() if value is not None}
    yield from _part(bench, wanted.value, {**body, "messages": list(request.messages)}, "request")


def _part(bench: Bench, wanted: Node, found: Any, what: str) -> Iterator[Failure]:
    """The first place at which ``found`` lacks what is wanted, with the position of what was wanted."""
    wrong = lacking(wanted, found, what)
    if wrong is not None:
        node, place, value = wrong
        shown = "nothing" if value is MISSING else short(json.dumps(value, ensure_ascii=False, default=str))
        yield bench.failure(place, short(_as_text(node.plain())), shown, node.key or node.pos)


def _snapshot(bench: Bench, wanted: Expectation, run: Played) -> Iterator[Failure]:
    if run.outcome is None:
        return
    differs = bench.snapshots.compare(bench.case, wanted.value, written(run))
    if differs is not None:
        yield bench.failure(
            f"snapshot.{wanted.value}", differs.expected, differs.found, wanted.at, _fired(run), differs.lines
        )


JUDGES: Mapping[str, Judge] = {
    "stages": _stage,
    "only": _only,
    "tokens": _total("tokens"),
    "messages": _total("messages"),
    "view": _view,
    "limits": _limit,
    "problems": _problems,
    "receipt": _receipt,
    "request": _request,
    "snapshot": _snapshot,
}
"""One judge for each kind of expectation."""
