"""The kinds of stages, by name: one module and one line each."""

from __future__ import annotations

from ..policy.stage import Kind
from .attach import Attach
from .cache_edits import CacheEdits
from .cache_marks import CacheMarks
from .drop import Drop
from .first_of import FirstOf
from .guard import Guard
from .notes import Notes
from .replace import Replace
from .server_edits import ServerEdits
from .summarize import Summarize

KINDS: dict[str, type[Kind]] = {
    "replace": Replace,
    "drop": Drop,
    "summarize": Summarize,
    "notes": Notes,
    "attach": Attach,
    "server_edits": ServerEdits,
    "cache_edits": CacheEdits,
    "cache_marks": CacheMarks,
    "guard": Guard,
    "first_of": FirstOf,
}
"""What ``kind`` may name in a pack."""

__all__ = [
    "KINDS",
    "Attach",
    "CacheEdits",
    "CacheMarks",
    "Drop",
    "FirstOf",
    "Guard",
    "Notes",
    "Replace",
    "ServerEdits",
    "Summarize",
]
