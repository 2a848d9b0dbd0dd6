"""Every code of a problem: what it means, why it is told, how to mend it. Codes are stable."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from .code import ERROR, INFO, WARNING, Code
from .form import FORM
from .sense import AGAINST as _AGAINST
from .sense import COMMENTS, SENSE
from .sense import FOR_MODEL as _FOR_MODEL
from .sense import REHEARSED as _REHEARSED

__all__ = [
    "AGAINST",
    "CATALOGUE",
    "CODES",
    "ERROR",
    "FOR_MODEL",
    "INFO",
    "REHEARSED",
    "SILENCEABLE",
    "WARNING",
    "Code",
]

CATALOGUE: Mapping[str, Code] = MappingProxyType(FORM | SENSE | _REHEARSED | _AGAINST | _FOR_MODEL | COMMENTS)
"""Every code."""

CODES: Mapping[str, str] = MappingProxyType({name: code.meaning for name, code in CATALOGUE.items()})
"""Every code of a problem, with its meaning. Programs and `allow` comments name them."""

SILENCEABLE = frozenset(name for name, code in CATALOGUE.items() if code.silenceable)
"""What a comment `# trimtab: allow CODE, reason` can silence."""

REHEARSED = frozenset(_REHEARSED)
"""Codes that only a made-up session finds."""

AGAINST = frozenset(_AGAINST)
"""Codes that only a session given finds."""

FOR_MODEL = frozenset(_FOR_MODEL)
"""Codes that only a model given finds."""
