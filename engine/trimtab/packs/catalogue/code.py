"""What is said of a code."""

from __future__ import annotations

from dataclasses import dataclass

ERROR, WARNING, INFO = "error", "warning", "info"


@dataclass(frozen=True, slots=True)
class Code:
    """``meaning`` in half a sentence; ``why`` and ``mend`` in whole ones. ``severity`` is the usual one.

    ``silenceable``: a comment `# trimtab: allow CODE, reason` silences it: a finding of judgement, never a
    broken pack.
    """

    meaning: str
    why: str
    mend: str
    severity: str = ERROR
    silenceable: bool = False


def judged(meaning: str, why: str, mend: str, severity: str = WARNING) -> Code:
    """A finding of judgement."""
    return Code(meaning, why, mend, severity, True)
