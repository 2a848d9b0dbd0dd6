"""Context compaction for agents as a rule pack: explained before it happens, undoable, proven valid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .version import __version__

if TYPE_CHECKING:
    from .asking import Asked
    from .conversation.edits import Spot
    from .conversation.request import Info, Request, Usage
    from .engine import Engine
    from .facts import ApiError, Facts, ManualRequest
    from .filestate import Cleared, FileStates
    from .interpreter import StageFailed
    from .jobs import Job
    from .outcome import Outcome
    from .packs.pack import Pack
    from .packs.problems import PackError
    from .receipt import Receipt
    from .session import InvalidRequest, Session, SessionBusy

_HOMES = {
    "ApiError": "facts",
    "Asked": "asking",
    "Cleared": "filestate",
    "Engine": "engine",
    "Facts": "facts",
    "FileStates": "filestate",
    "Info": "conversation.request",
    "InvalidRequest": "session",
    "Job": "jobs",
    "ManualRequest": "facts",
    "Outcome": "outcome",
    "Pack": "packs.pack",
    "PackError": "packs.problems",
    "Receipt": "receipt",
    "Request": "conversation.request",
    "Session": "session",
    "SessionBusy": "session",
    "Spot": "conversation.edits",
    "StageFailed": "interpreter",
    "Usage": "conversation.request",
}

__all__ = [
    "ApiError",
    "Asked",
    "Cleared",
    "Engine",
    "Facts",
    "FileStates",
    "Info",
    "InvalidRequest",
    "Job",
    "ManualRequest",
    "Outcome",
    "Pack",
    "PackError",
    "Receipt",
    "Request",
    "Session",
    "SessionBusy",
    "Spot",
    "StageFailed",
    "Usage",
    "__version__",
]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Public names are imported when first used: ``import trimtab`` costs nothing."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value
