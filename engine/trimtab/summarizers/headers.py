"""What the headers of a failed answer say about trying again."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import parsedate_to_datetime


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds the API wishes to be left alone for; a date is taken as of the answer's own clock."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        wait = parsedate_to_datetime(headers["retry-after"]) - parsedate_to_datetime(headers["date"])
    except (KeyError, ValueError, TypeError):
        return None
    return max(0.0, wait.total_seconds())


def repeatable(headers: Mapping[str, str], usual: bool) -> bool:
    """Whether the same request may be sent again: what the API says, else what is usual for the error."""
    return {"true": True, "false": False}.get(str(headers.get("x-should-retry")), usual)
