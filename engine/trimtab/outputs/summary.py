"""One summary that was tried out: for people, and as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..one_summary import Exchange, OneSummary, Part, parts_of
from .calls import call_words, dollars
from .words import escaped, number, plural, safe

if TYPE_CHECKING:
    from rich.console import Console

    from ..engine import Engine

VERDICTS = {
    "committed": "accepted",
    "failed": "failed",
    "refused": "refused",
    "nothing": "nothing to do",
    "skipped": "skipped",
}


def as_data(found: OneSummary, engine: Engine, prompts: bool) -> dict[str, Any]:
    """Plain data; ``prompts``: with the prompts in full."""
    report, totals = found.report, found.receipt.totals
    return {
        "stage": report.id,
        "pack": engine.pack.label,
        "verdict": report.verdict,
        "reason": report.reason,
        "direction": report.remarks.get("direction"),
        "range": report.remarks.get("range", []),
        "sections": found.sections,
        "questions": [_question(one, engine, prompts) for one in found.exchanges],
        "calls": report.calls,
        "remarks": report.remarks,
        "text": found.text,
        "tokens": totals.tokens,
        "cost": found.cost,
    }


def _question(exchange: Exchange, engine: Engine, prompts: bool) -> dict[str, Any]:
    question, reply = exchange.question, exchange.reply
    asked: dict[str, Any] = {
        "model": question.model,
        "form": form(exchange),
        "parts": parts_of(question, engine),
        "max_output": question.max_output,
        "timeout_seconds": question.timeout,
        "effort": question.effort,
    }
    if prompts:
        asked |= {"prompt": question.prompt, "system": question.system}
    said = {"failure": exchange.failure} if reply is None else {"answer": reply.text, "stop": reply.stop}
    return {key: value for key, value in {**asked, **said}.items() if value is not None}


def form(exchange: Exchange) -> str:
    """How the conversation went along: as the request itself, as a text, or to be compacted by the API."""
    question = exchange.question
    return "compaction" if question.compacts else "native" if question.request is not None else "text"


def show_summary(found: OneSummary, engine: Engine, out: Console, prompts: bool) -> None:
    """Print all of it, in the order in which it happened."""
    from rich.text import Text

    for name, line, style in _lines(found, engine, prompts):
        text = Text(f"{name:<10}" if name else "", style="dim")
        out.print(text.append(line, style=style or "not dim"), soft_wrap=True)


def _lines(found: OneSummary, engine: Engine, prompts: bool) -> Iterator[tuple[str, str, str]]:
    report = found.report
    yield "stage", f"{report.id} of {engine.pack.label}, on {found.receipt.run.model}", "bold"
    if (span := report.remarks.get("range")) is not None:
        places = ", ".join(f"{first}–{last}" for first, last in span)
        yield "range", f"messages {places} ({report.remarks.get('direction', 'whole')})", ""
    if found.sections:
        yield "sections", f"{len(found.sections)} expected: {', '.join(map(safe, found.sections))}", ""
    shown = ""
    for exchange in found.exchanges:
        yield (
            "asked",
            f"{safe(exchange.question.model)}, {_sizes(exchange, parts_of(exchange.question, engine))}",
            "",
        )
        if prompts and exchange.question.prompt != shown:
            shown = exchange.question.prompt
            yield from _block("prompt", shown)
        if exchange.reply is not None:
            yield from _block(f"answer, which stopped with {safe(exchange.reply.stop)}", exchange.reply.text)
    for call in report.calls:
        yield "call", call_words(call), "red" if call.problem else ""
        for check in call.checks:
            why = f": {safe(check.detail)}" if check.detail else ""
            yield "", f"  {'✓' if check.holds else '✗'} {check.name}{why}", "" if check.holds else "red"
    for name, line in _remarks(found):
        yield name, line, ""
    if found.text:
        yield from _block("in its place", found.text)
    yield "verdict", _verdict(found), "green" if report.verdict == "committed" else "yellow"
    cost = "no price is known" if found.cost is None else dollars(found.cost)
    yield "cost", f"{cost} ({plural(len(report.calls), 'call')})", ""


def _block(title: str, text: str) -> Iterator[tuple[str, str, str]]:
    """A text of several lines under its title."""
    yield "", f"--- {title} ({plural(len(text), 'character')})", "dim"
    yield "", escaped(text).rstrip(), ""
    yield "", "---", "dim"


def _sizes(exchange: Exchange, parts: Sequence[Part]) -> str:
    said = []
    for part in parts:
        count = "" if part.count is None else f"{part.count:,} "
        said.append(
            f"{count}{part.name} {number(part.chars)} characters (about {number(part.tokens)} tokens)"
        )
    return f"{form(exchange)}: " + ", ".join(said)


def _remarks(found: OneSummary) -> Iterator[tuple[str, str]]:
    remarks = found.report.remarks
    if grounded := remarks.get("grounded"):
        yield "grounded", _pairs(grounded)
    if dropped := remarks.get("dropped"):
        yield "left out", f"{plural(len(dropped), 'message')}: {', '.join(map(str, dropped))}"
    if shortened := remarks.get("shortened"):
        yield "shortened", f"{plural(len(shortened), 'message')}: {', '.join(map(str, shortened))}"
    if unsent := remarks.get("unsent"):
        yield "unsent", f"{plural(unsent, 'request')} that would not have fitted"
    for notice in found.receipt.notices:
        yield notice.level, safe(notice.text)


def _pairs(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{safe(str(name))} {_pairs(one)}" for name, one in value.items())
    if isinstance(value, list | tuple):
        return str(len(value))
    return safe(str(value))


def _verdict(found: OneSummary) -> str:
    report, tokens = found.report, found.receipt.totals.tokens
    said = VERDICTS.get(report.verdict, report.verdict)
    if report.reason:
        said += f": {safe(report.reason)}"
    if report.verdict == "committed":
        said += f": {number(tokens.before)} → {number(tokens.after)} tokens"
    return said
