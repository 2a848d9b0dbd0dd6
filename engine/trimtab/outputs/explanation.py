"""A dry run for people: every condition with its value against its limit, what would go, why nothing does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import TextWrapper
from types import MappingProxyType
from typing import TYPE_CHECKING

from ..conversation.edits import Spot
from ..policy.values import ConditionReport
from ..receipt import Receipt, StageReport
from .calls import call_words
from .receipt import STYLES, header, show_rest
from .words import SAID, condition, number, path_words, plural, safe, share, touched, value_text

if TYPE_CHECKING:
    from rich.console import Console

MARKS: Mapping[bool, str] = {True: "✓", False: "✗"}
MOST_SHOWN = 12
"""Blocks or messages listed a stage; the JSON has all."""


def show_explanation(
    receipt: Receipt,
    out: Console,
    texts: Mapping[Spot, str],
    stages: Sequence[StageReport] | None = None,
    limits: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Print what every stage (or only ``stages``) would do; ``texts`` says in a line what a block holds.

    ``limits`` says what each limit is made of; it is told below the first stage that asks for it.
    """
    out.print(header(receipt))
    told: set[str] = set()
    for report in receipt.stages if stages is None else stages:
        out.print()
        _show_stage(report, out, texts, 0)
        for name in _asked_for(report):
            if name in limits and name not in told:
                told.add(name)
                _line(out, f"  {safe(limits[name])}", "dim")
    if stages is None:
        out.print()
        show_rest(receipt, out)


def _asked_for(report: StageReport) -> Iterator[str]:
    """The limits that conditions of a stage and of its children are held against."""
    ahead = list(report.conditions)
    while ahead:
        entry = ahead.pop(0)
        if entry.source is not None:
            yield entry.source
        ahead += entry.nested
    for child in report.children:
        yield from _asked_for(child)


def _show_stage(report: StageReport, out: Console, texts: Mapping[Spot, str], depth: int) -> None:
    pad = "  " * depth
    line = f"{pad}{report.id} ({report.kind}): {report.verdict}"
    if report.reason and not (report.children and report.verdict in ("committed", "done")):
        line += f", {safe(report.reason)}"
    _line(out, line, STYLES.get(report.verdict, ""))
    for text, style in condition_lines(report.conditions, depth + 1):
        _line(out, text, style)
    if not report.children:
        for text in _effect(report, texts):
            _line(out, f"{pad}  {text}")
    for child in report.children:
        _show_stage(child, out, texts, depth + 1)


def _line(out: Console, text: str, style: str = "") -> None:
    """A line; what goes beyond the width stands below it, further in than its beginning."""
    inner = " " * (len(text) - len(text.lstrip()) + 4)
    words = TextWrapper(out.width, subsequent_indent=inner, break_long_words=False, break_on_hyphens=False)
    for line in words.wrap(text):
        out.print(line, style=style, soft_wrap=True)


def condition_lines(entries: Sequence[ConditionReport], depth: int) -> Iterator[tuple[str, str]]:
    """One line an entry, nested ones indented, each with its mark."""
    for entry in entries:
        lead = f"{'  ' * depth}{MARKS[entry.holds]} "
        style = "" if entry.holds else "dim"
        if not entry.nested:
            yield lead + _compared(entry), style
            continue
        if entry.path.isdecimal() and len(entry.nested) == 1:
            yield from condition_lines(entry.nested, depth)
            continue
        words = {"any": "any of", "none": "none of"}.get(entry.path, "all of")
        yield lead + words, style
        yield from condition_lines(entry.nested, depth + 1)


def _compared(entry: ConditionReport) -> str:
    """The condition as it stands in the pack, with what it was held against."""
    name, word = path_words(entry.path)
    if word is None and entry.note is None and isinstance(entry.limit, tuple | list):
        wanted = " or ".join(value_text(one) for one in entry.limit)
        return (
            f"{name}: {value_text(entry.value)}, wanted {wanted}" if name != "committed" else condition(entry)
        )
    if (name, entry.value) in SAID and isinstance(entry.value, bool):
        return f"{name}: {value_text(entry.value)} ({SAID[name, entry.value]})"
    if word is None and entry.note is None:
        return f"{name}: {value_text(entry.value)}, wanted {value_text(entry.limit)}"
    return condition(entry)


def _effect(report: StageReport, texts: Mapping[Spot, str]) -> Iterator[str]:
    """What would go, what would come, what it costs."""
    if report.tokens is not None:
        relative = share(report.tokens.before, report.tokens.after)
        line = f"tokens {number(report.tokens.before)} → {number(report.tokens.after)}"
        yield (
            line
            + (f" ({relative})" if relative else "")
            + (f": {touched(report)}" if touched(report) else "")
        )
    if unknown := report.remarks.get("unknown"):
        yield f"the host does not have {', '.join(map(safe, unknown))}"
    if report.first_changed is not None:
        lost = f"a warm cache loses {number(report.cache_loss_tokens)} tokens"
        thinking = (
            f", {plural(report.thinking_loss, 'signed thinking block')} removed"
            if report.thinking_loss
            else ""
        )
        yield f"first changed message {report.first_changed}: {lost}{thinking}"
    for call in report.calls:
        yield f"model call of {call_words(call)}"
    spots = list(dict.fromkeys(report.spots))
    spots += [spot for serial in report.messages for spot in texts if spot.serial == serial]
    for spot in spots[:MOST_SHOWN]:
        yield f"  {spot.serial}:{spot.block}  {texts.get(spot, '')}".rstrip()
    if len(spots) > MOST_SHOWN:
        yield f"  … and {len(spots) - MOST_SHOWN:,} more (all of them with --json)"
