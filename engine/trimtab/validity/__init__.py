"""The rules a request must keep, what breaks them, where a view may be cut and how a broken one is mended."""

from .base import Limits, Place, Profile, Report, Rule, Shown, Violation
from .check import Repairs, check, check_texts, cuts, problems, repair, with_moved_marks
from .thinking_prefix import stale_thinking

__all__ = [
    "Limits",
    "Place",
    "Profile",
    "Repairs",
    "Report",
    "Rule",
    "Shown",
    "Violation",
    "check",
    "check_texts",
    "cuts",
    "problems",
    "repair",
    "stale_thinking",
    "with_moved_marks",
]
