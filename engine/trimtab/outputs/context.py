"""What the window holds, for people: a bar with the pack's thresholds, and a table of the categories."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..accounting import UNLISTED, Account, Part, Threshold
from .words import number, safe

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

SIGNS: Mapping[str, tuple[str, str]] = {
    "system": ("s", "blue"),
    "tools": ("t", "cyan"),
    UNLISTED: ("s", "blue"),
    "memory": ("m", "magenta"),
    "user": ("u", "green"),
    "assistant": ("a", "bright_green"),
    "tool_calls": ("c", "yellow"),
    "tool_results": ("r", "bright_yellow"),
    "thinking": ("k", "bright_black"),
    "other": ("o", "white"),
    "attachments": ("+", "bright_magenta"),
    "summaries": ("S", "bright_cyan"),
    "images": ("i", "red"),
    "free": ("·", "dim"),
    "reserve": ("░", "dim"),
}
"""Letter and colour of a category in the bar."""

LABELS: Mapping[str, str] = {
    UNLISTED: "system and tools (not in the file)",
    "tool_calls": "tool calls",
    "tool_results": "tool results",
    "attachment": "put in by stages",
    "reminder": "reminders of the host",
    "context": "context of the host",
    "note": "notes in gaps",
    "reserve": "reserve for the answer",
}

WIDEST = 100
MOST_TOOLS = 8
"""Tools listed by name; the JSON has all."""


def show_account(account: Account, out: Console) -> None:
    """Print the account: one line of totals, the bar, the categories, the thresholds."""
    out.print(_header(account), style="bold")
    out.print()
    width = min(out.width, WIDEST)
    if account.window < math.inf:
        out.print(bar(account, width))
        for line in marks(account, width):
            out.print(line, style="dim")
        out.print()
    out.print(_table(account))
    lines = [*_threshold_lines(account), *_notes(account)]
    if lines:
        out.print()
        for line in lines:
            out.print(line)


def _header(account: Account) -> str:
    share = f" ({100 * account.tokens / account.window:.0f} %)" if 0 < account.window < math.inf else ""
    how = "measured" if account.measured else "from usage, edits estimated" if account.usage else "estimated"
    window = number(account.window) + ("" if account.window_known else ", assumed")
    return f"{safe(account.model)} · {number(account.tokens)} of {window} tokens{share}, {how}"


def segments(account: Account) -> Iterator[tuple[str, int]]:
    """Categories and their tokens from left to right: what is used, what is free, the reserve."""
    for part in account.parts:
        if part.name == "messages":
            for inner in part.parts:
                yield inner.name, inner.tokens
        else:
            yield part.name, part.tokens
    yield "free", account.free
    yield "reserve", account.reserve


def bar(account: Account, width: int) -> Text:
    """The window as one line of letters; a category ends where its last token would stand."""
    from rich.text import Text

    line = Text()
    end = max(account.window, account.tokens + account.reserve, 1)
    tokens, cells = 0, 0
    for name, size in segments(account):
        tokens += size
        upto = min(width, round(width * tokens / end))
        sign, style = SIGNS[name]
        line.append(sign * (upto - cells), style=style)
        cells = max(cells, upto)
    return line


def marks(account: Account, width: int) -> list[str]:
    """Under the bar: where each threshold stands, and its name, on as many lines as the names need."""
    end = max(account.window, account.tokens + account.reserve, 1)
    pointers = [" "] * width
    lines: list[str] = []
    for one in account.thresholds:
        if one.tokens > end:
            continue
        cell = min(width - 1, round(width * one.tokens / end))
        pointers[cell] = "^"
        label = f"{one.name} {number(one.tokens)}"
        start = max(0, min(cell, width - len(label)))
        place = next((at for at, line in enumerate(lines) if len(line) < start), len(lines))
        if place == len(lines):
            lines.append("")
        lines[place] = lines[place].ljust(start) + label
    return ["".join(pointers).rstrip(), *lines] if lines else []


def _table(account: Account) -> object:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    table.add_column("")
    table.add_column("category", no_wrap=True)
    for name in ("tokens", "share", "blocks"):
        table.add_column(name, justify="right", no_wrap=True)
    window = account.window if 0 < account.window < math.inf else max(account.tokens, 1)
    for part in account.parts:
        for row in _rows(part, 0):
            table.add_row(*row)
    for name, tokens in (("reserve", account.reserve), ("free", account.free)):
        table.add_row(SIGNS[name][0], LABELS.get(name, name), number(tokens), percent(tokens / window), "")
    return table


def _rows(part: Part, depth: int) -> Iterator[Sequence[str]]:
    sign = SIGNS[part.name][0] if part.name in SIGNS and depth < 2 and part.name != "messages" else ""
    name = f"{'  ' * depth}{safe(LABELS.get(part.name, part.name) if depth < 2 else part.name)}"
    blocks = number(part.blocks) if part.blocks else ""
    yield sign, name, number(part.tokens), percent(part.share), blocks
    most = MOST_TOOLS if depth else len(part.parts)
    for inner in part.parts[:most]:
        yield from _rows(inner, depth + 1)
    rest = part.parts[most:]
    if rest:
        tokens, share = sum(one.tokens for one in rest), sum(one.share for one in rest)
        blocks = number(sum(one.blocks for one in rest))
        yield "", f"{'  ' * (depth + 1)}{len(rest)} more", number(tokens), percent(share), blocks


def percent(share: float) -> str:
    """``12.3 %`` of the window."""
    return f"{100 * share:.1f} %"


def _threshold_lines(account: Account) -> Iterator[str]:
    for one in account.thresholds:
        yield f"{one.name} {number(one.tokens)}: {', '.join(one.stages)}; {_distance(account, one)}"


def _distance(account: Account, one: Threshold) -> str:
    if one.reached:
        return "reached"
    return f"{number(math.ceil(one.tokens - account.tokens))} tokens to go"


def _notes(account: Account) -> Iterator[str]:
    if account.over:
        yield f"{number(account.over)} tokens too many: what is used and the reserve do not fit the window"
    if not account.usage and not any(account.part(name) for name in ("system", "tools")):
        yield "system and tools are not counted: the file holds neither them nor a usage the API reported"
