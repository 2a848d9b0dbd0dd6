"""A receipt for people: a table of stages first, then totals, limits, what can be had back, what is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..receipt import Receipt, StageReport, Trouble
from .calls import call_words
from .words import number, plural, safe, share, touched, value_text, why

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

STYLES: Mapping[str, str] = {
    "committed": "green",
    "done": "green",
    "skipped": "dim",
    "nothing": "dim",
    "refused": "yellow",
    "failed": "red",
    "warning": "yellow",
    "block": "red",
}


def show_receipt(receipt: Receipt, out: Console, folder: str | None = None) -> None:
    """Print the whole receipt; ``folder`` is the session directory, for the commands that take back."""
    out.print(header(receipt))
    out.print()
    if receipt.stages:
        for place, table in enumerate(stage_tables(receipt.stages, out.width)):
            if place:
                out.print()
            out.print(table)
    else:
        out.print(f"no stage of {receipt.run.pack} lists the event {receipt.run.event}: nothing ran")
    out.print()
    show_rest(receipt, out, folder)


def header(receipt: Receipt) -> Text:
    """Pack, event, model, time; and how the transcript goes on from the last run's."""
    from rich.text import Text

    run = receipt.run
    parts = [run.pack, run.event, run.model, run.at or "time unknown"]
    if run.dry:
        parts.insert(0, "dry run")
    how = f" ({run.transcript})" if run.transcript != "append" else ""
    new = "" if run.new_messages == run.messages else f", {run.new_messages:,} new{how}"
    line = Text(" · ".join(safe(part) for part in parts), style="bold")
    line.append(f"\nrun {run.n}: {plural(run.messages, 'message')}{new}", style="not bold")
    return line


NARROW = 100
"""Columns below which the reasons get a table of their own."""


def stage_tables(stages: Sequence[StageReport], width: int) -> Iterator[Table]:
    """One row a stage, children of ``first_of`` under their parent; two tables where there is little room."""
    from rich.table import Table

    def table() -> Table:
        made = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
        made.add_column("stage", no_wrap=True)
        return made

    main = table()
    main.add_column("verdict", no_wrap=True)
    main.add_column("tokens", justify="right", no_wrap=True)
    main.add_column("touched")
    main.add_column("first", justify="right", no_wrap=True)
    reasons = table() if width < NARROW else main
    reasons.add_column("why", overflow="fold")
    for report in stages:
        for depth, one in _rows(report):
            style = STYLES.get(one.verdict, "")
            of_child = bool(one.children) and one.verdict in ("committed", "done")
            reason = _by(one) if of_child else why(one)
            name, cells = "  " * depth + one.id, _cells(one, of_child)
            if reasons is main:
                main.add_row(name, *cells, reason, style=style)
            else:
                main.add_row(name, *cells, style=style)
                if reason:
                    reasons.add_row(name, reason, style=style)
    yield main
    if reasons is not main and reasons.row_count:
        yield reasons


def _cells(report: StageReport, of_child: bool) -> tuple[str, str, str, str]:
    """Verdict, tokens, what was touched, first changed message; numbers stand with the child."""
    if of_child:
        return report.verdict, "", "", ""
    tokens = f"{number(report.tokens.before)} → {number(report.tokens.after)}" if report.tokens else ""
    first = "" if report.first_changed is None else str(report.first_changed)
    return report.verdict + (" (assumed)" if report.assumed else ""), tokens, touched(report), first


def _rows(report: StageReport, depth: int = 0) -> Iterator[tuple[int, StageReport]]:
    yield depth, report
    for child in report.children:
        yield from _rows(child, depth + 1)


def _by(report: StageReport) -> str:
    winner = report.children[-1].id if report.children else ""
    reason = why(report)
    return f"by {winner}" + (f"; {reason}" if reason else "")


def show_rest(receipt: Receipt, out: Console, folder: str | None = None) -> None:
    """Everything below the table of stages."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, line, style in _lines(receipt, folder):
        grid.add_row(name, line, style=style)
    out.print(grid)


def _lines(receipt: Receipt, folder: str | None) -> Iterator[tuple[str, str, str]]:
    totals = receipt.totals
    yield "tokens", _change(totals.tokens.before, totals.tokens.after), ""
    yield "messages", _change(totals.messages.before, totals.messages.after), ""
    yield "bytes", _change(totals.bytes.before, totals.bytes.after), ""
    basis = (
        "rests on a reported usage"
        if totals.measured
        else "partly estimated: no usage reported since the last edit"
    )
    overhead = f"system and tools: {number(totals.overhead_tokens)}"
    if not totals.overhead_tokens:
        beyond = totals.beyond_estimate
        overhead = "this request has neither system nor tools; "
        if beyond.before:
            overhead += (
                f"what the last usage measured beyond the messages is {number(beyond.before)} of the tokens before "
                f"and {number(beyond.after)} of those after"
            )
        else:
            overhead += "a real one is larger by them"
    yield "figure", f"{basis} ({receipt.run.counter} × {totals.factor:g}); {overhead}", ""
    yield "cache", _cache(receipt), ""
    yield "limits", _pairs(receipt.limits), ""
    if receipt.settings:
        yield "settings", _pairs(receipt.settings), ""
    for place, line in enumerate(_calls(receipt)):
        yield "" if place else "calls", line, ""
    for place, line in enumerate(restorable(receipt, folder)):
        yield "" if place else "restore", line, ""
    for notice in receipt.notices:
        yield notice.level, f"{safe(notice.text)} ({notice.stage})", STYLES.get(notice.level, "")
    for job in receipt.jobs:
        yield "job", job_line(job), STYLES.get(job.verdict, "")
    if not folder and not receipt.run.dry and any(job.verdict == "done" for job in receipt.jobs):
        yield "", "the notes are kept in memory only: with --dir DIR the next run can use them", ""
    for dropped in receipt.dropped:
        yield "asleep", f"{dropped.commit} of {dropped.stage}: {safe(dropped.why)}", "yellow"
    for problem in receipt.problems:
        yield "problem", problem_line(problem), "yellow"
    if not receipt.send:
        yield "send", "no: this request is not to be sent", "red"


def job_line(job: StageReport) -> str:
    """What became of a background job: written and how much, or why not."""
    reason = f", {safe(job.reason)}" if job.reason else ""
    written = job.remarks.get("written")
    if job.verdict != "done" or not written:
        return f"{job.id}: {job.verdict}{reason}"
    notes = plural(job.items, "text") + " " if job.items > 1 else ""
    size = f"{plural(written['chars'], 'character')}, {plural(written['tokens'], 'token')}"
    return f"{job.id}: {notes}written, {size}{reason}"


def _change(before: int, after: int) -> str:
    if before == after:
        return f"{number(after)}, unchanged"
    relative = share(before, after)
    return f"{number(before)} → {number(after)}" + (f" ({relative})" if relative else "")


def _cache(receipt: Receipt) -> str:
    totals = receipt.totals
    if totals.first_changed is None:
        line = "nothing that was sent has changed"
    else:
        lost = number(totals.cache_loss_tokens)
        line = f"first changed message {totals.first_changed}: a warm cache loses {lost} tokens"
    if totals.thinking_loss:
        line += f"; {plural(totals.thinking_loss, 'signed thinking block')} removed"
    return line


def _pairs(values: Mapping[str, Any]) -> str:
    shown = (f"{name} {'no value' if value is None else value_text(value)}" for name, value in values.items())
    return " · ".join(shown)


def _calls(receipt: Receipt) -> Iterator[str]:
    """Every call of a model, with its stage."""
    for stage in (*receipt.stages, *receipt.jobs):
        for depth, report in _rows(stage):
            if depth or not report.children:
                yield from [f"{report.id}: {call_words(call)}" for call in report.calls]


def restorable(receipt: Receipt, folder: str | None = None) -> list[str]:
    """For each commit of this run: where its originals are, and how to have them back."""
    lines = []
    for report in (one for stage in receipt.stages for one in (stage, *stage.children)):
        if report.commit is None or report.children or report.restorable is None:
            continue
        what = touched(report)
        where = (
            "stored" if report.restorable == "stored" else "hidden from the model; the transcript has them"
        )
        command = f": trimtab undo {folder} {report.commit}" if folder and not receipt.run.dry else ""
        lines.append(f"{report.commit} {report.id}: {what}, {where}{command}")
        for part, name in enumerate(report.remarks.get("commits", ())[1:], 2):
            alone = f": trimtab undo {folder} {name}" if command else ""
            lines.append(f"{name} {report.id}: part {part} of the same{alone}")
    if lines and not folder and not receipt.run.dry:
        lines.append("kept in memory only: with --dir DIR commits can be undone and originals restored later")
    return lines


def problem_line(problem: Trouble) -> str:
    """One problem of a run, with place, code and hint."""
    where = f"{problem.where}: " if problem.where else ""
    hint = f"; {problem.hint}" if problem.hint else ""
    return safe(f"{where}{problem.message} [{problem.code}]{hint}")
