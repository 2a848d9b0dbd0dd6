"""The names a pack cannot choose, and what the engine and a host always have."""

from __future__ import annotations

from ..policy.expressions import FUNCTIONS, KEYWORDS, RESERVED
from .schema import metric_names

YAML_SWITCHES = frozenset({"on", "off", "yes", "no", "y", "n"})
"""Words that other readers of YAML take for true and false."""

BUILT_IN_FACTS = frozenset({"user_messages", "errors", "images", "tool_names", "mentions"})
HOST_FACTS = frozenset(
    [
        "date",
        "queued_commands",
        "changed_files",
        "nested_memory",
        "memory",
        "environment",
        "context",
        "git",
        "goal",
        "plan",
        "plan_mode",
        "todos",
        "skills",
        "agents",
        "agent_listing",
        "deferred_tools",
        "loaded_tools",
        "mcp_instructions",
        "hook_results",
    ]
)
"""Facts a host may give without a declaration (LANGUAGE §4)."""

BOOLEAN_NAMES = frozenset({"window_known"})

_COMMON = frozenset({"event", "caller", "model", "automatic", "settings", "limits", "facts"})
_REPLACE = frozenset(["id", "tool", "block", "file", "size", "head", "tail", "elided", "path", "digest"])
_PROMPT = frozenset(
    ["transcript", "previous", "instructions", "direction", "sections", "pending", "steps", "budget"]
)
_WRAPPER = frozenset(["summary", "direction", "has_tail", "transcript_path", "history_path"])
_ATTACH = frozenset(["items", "added", "removed", "id"])
SIZES = frozenset({"chars", "bytes", "lines", "tokens"})
REMOVED = frozenset({"messages", "rounds", "files", "commands", "texts"})


def reserved(kind: str) -> frozenset[str]:
    """Names a `setting`, `limit`, `tool` or `fact` cannot have."""
    names = YAML_SWITCHES | RESERVED
    if kind in ("setting", "limit"):
        names |= FUNCTIONS | KEYWORDS
        for metrics in metric_names().values():
            names |= metrics
    return names


def variables(kind: str, where: tuple[str | int, ...]) -> frozenset[str]:
    """What a template at ``where`` inside a stage of this kind may read (LANGUAGE §11)."""
    known = _COMMON | metric_names()["number"]
    keys = [part for part in where if isinstance(part, str)]
    if kind == "replace":
        return known | _REPLACE | (_PROMPT if "digest" in keys else frozenset())
    if kind == "drop":
        if "tool" in keys:
            return frozenset({"settings", "model"})
        return known | {"removed"}
    if kind == "attach":
        return known | _ATTACH
    if kind in ("summarize", "notes"):
        if "wrapper" in keys or "compose" in keys:
            return known | _WRAPPER
        return known | _PROMPT | ({"summary"} if "review" in keys else frozenset())
    return known
