"""Findings about what a model, or the API it stands behind, cannot do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..tokens.models import canonical, lookup
from .context import Context, StageView
from .nodes import Where

OWN_KINDS: Mapping[str, str] = {
    "cache_marks": "marks of the prompt cache",
    "cache_edits": "edits of the prompt cache",
}
"""Kinds that only Anthropic's Messages API has a form for, and what they write."""
RESPONSES_EDIT = "compaction"
"""The one edit of a server that is OpenAI's; the others are Anthropic's (API-FACTS, sections 2 and 9)."""


def model_can(context: Context, model: str) -> None:
    """What stages ask of a model that it cannot do: they would be skipped or refused in every run."""
    anthropic = canonical(model).startswith("claude")
    for stage in context.stages:
        for what, where in _beyond(stage, anthropic, lookup(model).inner_system):
            context.report(
                "model-cannot",
                f"`{model}` has no {what}: `{stage.id}` does nothing there",
                (*stage.where, *where),
                "name the models it is for in its `when: {model: […]}`, or remove it",
            )


def _beyond(stage: StageView, anthropic: bool, inner_system: bool) -> Iterator[tuple[str, Where]]:
    """What one stage asks for beyond this, and where it says so."""
    whens = (stage.data.get("when"), stage.home.data.get("when"))
    if stage.data.get("enabled") is False or any(map(_about_models, whens)):
        return
    if stage.kind in OWN_KINDS and not anthropic:
        yield OWN_KINDS[stage.kind], ("kind",)
    if stage.kind == "server_edits":
        for at, edit in enumerate(_listed(stage.data.get("edits"))):
            if not isinstance(edit, Mapping) or _about_models(edit.get("when")):
                continue
            name = edit.get("type")
            if isinstance(name, str) and (name == RESPONSES_EDIT) is anthropic:
                yield f"server edit `{name}`", ("edits", at, "type")
    if stage.kind in ("summarize", "notes") and not anthropic:
        writers = _listed(stage.data.get("model"))
        if writers and all(writer == "server" for writer in writers):
            yield "compaction on demand", ("model",)
    inside = stage.data.get("place", "end") not in ("system", "start")
    if stage.kind == "attach" and stage.data.get("role") == "system" and inside and not inner_system:
        yield "system messages among the others", ("role",)


def _about_models(when: Any) -> bool:
    """Whether a condition says itself for which models something is."""
    return isinstance(when, Mapping) and "model" in when


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [] if value is None else [value]
