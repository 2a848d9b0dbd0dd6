"""Two packs compared: what differs in them, and what that does to sessions; for people and for programs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from ..conversation.items import blocks_of
from ..packs.difference import ADDED, CHANGED, MOVED, Difference
from .apart import told_apart, visible
from .blocks import line_of
from .words import number, plural, safe, share, short, touched, why

if TYPE_CHECKING:
    from rich.console import Console

    from ..comparing import Cost, Effect, Side
    from ..receipt import StageReport

SIGNS: Mapping[str, str] = {"added": "+", "removed": "-", "changed": "~", "moved": ">"}
STYLES: Mapping[str, str] = {"added": "green", "removed": "red", "changed": "yellow", "moved": "blue"}
MOST_HUNKS = 12
MOST_LINES = 3
_SIZE = re.compile(r"[0-9,]+ characters?")


def show_differences(found: Sequence[Difference], names: tuple[str, str], out: Console) -> None:
    """One line a difference, the places below it."""
    title = f"{names[0]} → {names[1]}"
    if not found:
        out.print(f"{title}: the packs say the same")
        return
    out.print(f"{title}: {plural(len(found), 'difference')}", style="bold")
    for each in found:
        out.print(f"  {SIGNS[each.what]} {each.path}: {said(each)}", style=STYLES[each.what], soft_wrap=True)
        places = " → ".join(place for place in (each.was, each.now) if place)
        out.print(f"      {places}", style="dim", soft_wrap=True)


def said(each: Difference) -> str:
    """What has become of a value, on one line; two sides never look alike."""
    if each.path.startswith("templates."):
        return f"its text differs {_line_that_differs(each.before, each.after)}"
    if each.what == MOVED:
        return f"{short(each.before)} → {short(each.after)}"
    if each.what == CHANGED:
        return " → ".join(told_apart(_written(each.before), _written(each.after)))
    return visible(_written(each.after if each.what == ADDED else each.before))


def _written(value: Any) -> str:
    from ..packs.show import flow

    return flow(value)


def _line_that_differs(before: str, after: str) -> str:
    """Where two texts first differ, and how."""
    pairs = zip_longest(before.split("\n"), after.split("\n"))
    number, (old, new) = next((at, pair) for at, pair in enumerate(pairs, 1) if pair[0] != pair[1])
    was, now = ("nothing" if line is None else _written(line) for line in (old, new))
    return f"from line {number} on: {' → '.join(told_apart(was, now, 80))}"


def show_effect(effect: Effect, about: str, out: Console) -> None:
    """Tokens and cost side by side, the stages whose verdicts differ, the messages that differ."""
    from rich.table import Table

    out.print()
    out.print(safe(about), style="bold")
    table = Table(box=None, padding=(0, 2, 0, 2), header_style="dim", pad_edge=False)
    for name in ("", effect.before.pack, effect.after.pack):
        table.add_column(safe(name), overflow="fold")
    for label, one, other in zip(_LABELS, _figures(effect.before), _figures(effect.after), strict=True):
        table.add_row(label, one, other)
    out.print(table)
    _show_stages(effect, out)
    _show_hunks(effect, out)


_LABELS = ("tokens", "messages", "cache", "next call", "later calls", "writers", "sent")


def _figures(side: Side) -> Iterator[str]:
    change = side.tokens
    much = share(change.before, change.after)
    yield f"{number(change.before)} → {number(change.after)}" + (f" ({much})" if much else "")
    yield number(side.messages)
    yield f"a warm one loses {plural(side.cache_loss_tokens, 'token')}"
    cost = side.cost
    yield f"{money(cost.next_call)}: {number(cost.read)} tokens read, {number(cost.written)} written"
    yield f"{money(cost.later_call)} or more each"
    yield "none asked" if cost.writers is None else money(cost.writers)
    yield "yes" if side.send else "no"


def money(amount: float | None) -> str:
    """Dollars with as many places as say something."""
    if amount is None:
        return "price unknown"
    return f"${amount:,.2f}" if amount >= 1 else f"${amount:.4f}"


def _show_stages(effect: Effect, out: Console) -> None:
    differing = [each for each in effect.stages if each.differs]
    if not differing:
        out.print(f"  stages: {plural(len(effect.stages), 'verdict')}, all the same")
        return
    out.print(f"  stages: {len(differing)} of {plural(len(effect.stages), 'verdict')} differ")
    for each in differing:
        out.print(f"    {each.id}", style="yellow")
        for sign, report in (("-", each.before), ("+", each.after)):
            out.print(f"      {sign} {_verdict(report)}", soft_wrap=True)


def _verdict(report: StageReport | None) -> str:
    if report is None:
        return "not in this pack, or not reached"
    parts = [report.verdict + (" (assumed)" if report.assumed else "")]
    if report.tokens is not None and not report.children:
        parts.append(f"{number(report.tokens.before)} → {number(report.tokens.after)} tokens")
    done = touched(report)
    return " · ".join(part for part in (*parts, done, why(report)) if part)


def _show_hunks(effect: Effect, out: Console) -> None:
    if not effect.hunks:
        out.print("  messages: all the same")
        return
    count = sum(max(h.before[1] - h.before[0], h.after[1] - h.after[0]) for h in effect.hunks)
    out.print(f"  messages that differ: {count:,}")
    for hunk in effect.hunks[:MOST_HUNKS]:
        out.print(f"    {_span(hunk.before)} → {_span(hunk.after)}", style="yellow")
        old, new = (
            list(request.messages)[slice(*span)]
            for request, span in zip(effect.requests, (hunk.before, hunk.after), strict=True)
        )
        for sign, shown, others in (("-", old, new), ("+", new, old)):
            for message, its in zip_longest(shown[:MOST_LINES], others[: min(len(shown), MOST_LINES)]):
                out.print(f"      {sign} {_line(message, its)}", soft_wrap=True)
            if len(shown) > MOST_LINES:
                out.print(f"      {sign} … and {len(shown) - MOST_LINES:,} more")
    if len(effect.hunks) > MOST_HUNKS:
        out.print(f"    … and {len(effect.hunks) - MOST_HUNKS:,} more places (all of them with --json)")


def _span(span: tuple[int, int]) -> str:
    if span[0] == span[1]:
        return f"nothing at {span[0]}"
    return f"message {span[0]}" if span[1] - span[0] == 1 else f"messages {span[0]}-{span[1] - 1}"


def _line(message: Any, other: Any = None) -> str:
    """A message on one line; where the ``other`` one would look the same, what it really says."""
    line = _brief(message)
    if other is None or _SIZE.sub("", line) != _SIZE.sub("", _brief(other)):
        return line
    mine, its = (
        json.dumps(each, sort_keys=True, ensure_ascii=False, default=str) for each in (message, other)
    )
    return f"{line}: {told_apart(mine, its, 100)[0]}"


def _brief(message: Any) -> str:
    role = str(message.get("role", ""))
    return "; ".join(line_of(block, role) for block in blocks_of(message)[:2]) or role


# --- for programs


def difference_dict(each: Difference) -> dict[str, Any]:
    """A difference; keys that say nothing are left out."""
    found = {"path": each.path, "what": each.what, "was": each.was, "now": each.now}
    values = {"before": each.before, "after": each.after}
    return {key: value for key, value in {**found, **values}.items() if value not in (None, "")}


def effect_dict(effect: Effect) -> dict[str, Any]:
    """An effect: both sides, every stage whose verdict differs, every stretch of messages."""
    return {
        "differs": effect.differs,
        "before": _side_dict(effect.before),
        "after": _side_dict(effect.after),
        "stages": [
            {"id": each.id, "before": _report_dict(each.before), "after": _report_dict(each.after)}
            for each in effect.stages
            if each.differs
        ],
        "messages": [{"before": list(hunk.before), "after": list(hunk.after)} for hunk in effect.hunks],
    }


def _side_dict(side: Side) -> dict[str, Any]:
    return {
        "pack": side.pack,
        "tokens": {"before": side.tokens.before, "after": side.tokens.after},
        "messages": side.messages,
        "cache_loss_tokens": side.cache_loss_tokens,
        "thinking_loss": side.thinking_loss,
        "send": side.send,
        "cost": _cost_dict(side.cost),
    }


def _cost_dict(cost: Cost) -> dict[str, Any]:
    found = {
        "read_tokens": cost.read,
        "written_tokens": cost.written,
        "next_call_dollars": cost.next_call,
        "later_call_dollars": cost.later_call,
        "writers_dollars": cost.writers,
    }
    return {key: value for key, value in found.items() if value is not None}


def _report_dict(report: StageReport | None) -> dict[str, Any] | None:
    if report is None:
        return None
    found: dict[str, Any] = {
        "verdict": report.verdict,
        "why": why(report, brief=False),
        "items": report.items,
    }
    if report.tokens is not None:
        found["tokens"] = {"before": report.tokens.before, "after": report.tokens.after}
    return found
