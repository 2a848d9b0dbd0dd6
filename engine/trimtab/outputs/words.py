"""Numbers, texts and conditions in words; everything a session holds is made safe for a terminal first."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..policy.values import ConditionReport
    from ..receipt import StageReport

SIGNS: Mapping[str, str] = {"at_least": "≥", "above": ">", "at_most": "≤", "below": "<"}
OPPOSITE: Mapping[str, str] = {"at_least": "<", "above": "≤", "at_most": ">", "below": "≥"}


SAID: Mapping[tuple[str, object], str] = {
    ("measured", False): "no usage was reported since the last edit",
    ("measured", True): "a usage was reported since the last edit",
    ("turn_start", False): "the request opens no turn",
    ("turn_start", True): "the request opens a turn",
    ("turn_end", False): "the response called a tool",
    ("turn_end", True): "the response called no tool",
    ("instructed", False): "nobody gave instructions",
    ("instructed", True): "instructions were given",
}
"""What the value of a boolean metric means."""


def number(value: float | None) -> str:
    """``12,345``, ``0.25``, ``unlimited``; ``–`` where there is none."""
    if value is None:
        return "–"
    if isinstance(value, float):
        if math.isinf(value):
            return "unlimited"
        if math.isnan(value):
            return "–"
        if not value.is_integer():
            # Rounded down: a value below a whole limit never looks as if it had reached it.
            return f"{math.floor(value):,}" if abs(value) >= 1000 else f"{value:,.2f}"
    return f"{int(value):,}"


def value_text(value: Any) -> str:
    """A setting, a metric's value or a limit."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, str):
        return safe(value)
    if isinstance(value, list | tuple):
        return ", ".join(value_text(one) for one in value)
    return "unknown" if value is None else safe(str(value))


def plural(count: int, one: str, many: str = "") -> str:
    """``1 message``, ``2 messages``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def safe(text: str) -> str:
    """The text on one line, without what steers a terminal (controls, direction marks)."""
    kept = [one if unicodedata.category(one) not in ("Cc", "Cf", "Cs") else " " for one in text]
    return " ".join("".join(kept).split())


def escaped(text: str) -> str:
    """The text with its line breaks; what else steers a terminal is written as an escape (``\\x1b``)."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        one
        if one in "\n\t" or unicodedata.category(one) not in ("Cc", "Cf")
        else one.encode("unicode_escape").decode()
        for one in text
    )


def short(text: str, most: int = 72) -> str:
    """The beginning of a text, safe; an ellipsis stands for the rest."""
    line = safe(text[: 4 * most])
    return line if len(line) <= most and len(text) <= 4 * most else line[: most - 1].rstrip() + "…"


def path_words(path: str) -> tuple[str, str | None]:
    """What a condition looks at, and its comparison if it has one."""
    name, _, last = path.rpartition(" ")
    return (name, last) if last in SIGNS else (path, None)


def condition(entry: ConditionReport, *, opposite: bool = False) -> str:
    """One entry as a comparison that is true: ``tokens 43,000 < 167,000 (auto)``."""
    if entry.nested:
        return _group(entry)
    name, word = path_words(entry.path)
    if entry.note is not None:
        limit = f" (limit {_limit(entry)})" if word and entry.limit is not None else ""
        return f"{name} {entry.note}{limit}"
    if word is not None:
        sign = OPPOSITE[word] if opposite else SIGNS[word]
        return f"{name} {value_text(entry.value)} {sign} {_limit(entry)}"
    if name == "committed":
        return f"{entry.value} has committed" if entry.value else f"{_either(entry.limit)} has not committed"
    if (name, entry.value) in SAID and isinstance(entry.value, bool):
        return SAID[name, entry.value]
    if isinstance(entry.limit, tuple | list):
        if not opposite:
            return f"{name} is {value_text(entry.value)}"
        return f"{name} {value_text(entry.value)} is not {_either(entry.limit)}"
    return f"{name} is {value_text(entry.value)}"


def _limit(entry: ConditionReport) -> str:
    if entry.source is None or not isinstance(entry.limit, int | float):
        return value_text(entry.limit)
    return f"{value_text(entry.limit)} ({entry.source})"


def _either(limit: Any) -> str:
    values = [value_text(one) for one in limit] if isinstance(limit, tuple | list) else [value_text(limit)]
    return " or ".join(values)


def _group(entry: ConditionReport) -> str:
    """``any`` and ``none`` (and one condition in them) in brief: what made them hold or fail."""
    if entry.path == "any" and not entry.holds:
        return "neither: " + "; ".join(why_not(one.nested) for one in entry.nested)
    holding = [one for one in entry.nested if one.holds]
    if entry.path == "none" and entry.holds:
        return "none holds of " + plural(len(entry.nested), "condition")
    return ", ".join(condition(leaf) for one in holding for leaf in (one.nested or (one,)))


def why_not(entries: Iterable[ConditionReport]) -> str:
    """The first entry that does not hold, as the comparison that is true instead."""
    for entry in entries:
        if not entry.holds:
            return condition(entry, opposite=True)
    return ""


def why(report: StageReport, brief: bool = True) -> str:
    """Why a stage's verdict is what it is."""
    if report.verdict in ("committed", "done"):
        parts = [] if report.kind == "first_of" else [safe(report.reason or "")]
        parts += [condition(entry) for entry in report.conditions if _telling(entry)]
        return "; ".join(dict.fromkeys(part for part in parts if part))
    if report.verdict == "skipped" and not report.reason:
        return why_not(report.conditions)
    reason = report.reason or ""
    if not reason and report.children:
        reason = "no child fired"
    return short(reason, 100) if brief else safe(reason)


def _telling(entry: ConditionReport) -> bool:
    """Whether a condition that holds says something: a number or a commit does, a switch seldom."""
    return path_words(entry.path)[1] is not None or entry.path in ("committed", "any")


def touched(report: StageReport) -> str:
    """What a stage has changed: blocks, messages out and in."""
    parts = []
    if report.spots:
        parts.append(plural(len(set(report.spots)), "block"))
    if report.messages:
        into = f" → {len(report.brought):,}" if report.brought else " out"
        parts.append(f"{plural(len(report.messages), 'message')}{into}")
    elif report.brought:
        parts.append(f"+{plural(len(report.brought), 'message')}")
    return ", ".join(parts)


def share(before: float, after: float) -> str:
    """``−74 %``; empty where nothing has changed."""
    if not before or before == after:
        return ""
    percent = 100 * (after - before) / before
    if abs(percent) < 0.05:
        return ""
    text = f"{abs(percent):.0f}" if abs(percent) >= 1 else f"{abs(percent):.1f}"
    return f"{'−' if percent < 0 else '+'}{text} %"


def listed(names: Sequence[str], most: int = 6) -> str:
    """Some names and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")
