"""What the host tells and what the tool traffic shows: facts are lists of records (LANGUAGE §4)."""

from __future__ import annotations

from .book import FactBook, text_of
from .host import TOLD, ApiError, Facts, ManualRequest, Record, checked, moment
from .mentions import MENTIONS, mentioned, name_of, paths_in
from .rules import FactError, FactRule, Source, fact_rules

__all__ = [
    "MENTIONS",
    "TOLD",
    "ApiError",
    "FactBook",
    "FactError",
    "FactRule",
    "Facts",
    "ManualRequest",
    "Record",
    "Source",
    "checked",
    "fact_rules",
    "mentioned",
    "moment",
    "name_of",
    "paths_in",
    "text_of",
]
