"""What a model or its API cannot do is found before a run skips it."""

from __future__ import annotations

import pytest

from trimtab.packs.check_model import model_can
from trimtab.packs.load import check_text

HEAD = "format: 1\nname: mine\nversion: 1.0.0\nstages:\n"
OLD, NEW, OTHER = "claude-sonnet-4-5", "claude-opus-5", "gpt-5"
MARKS = "id: a, kind: cache_marks, marks: [{place: system}]"
EDITS = "id: a, kind: cache_edits, select: {blocks: [tool_result]}"
CLEAR = "id: a, kind: server_edits, edits: [{type: clear_tool_uses_20250919}]"
COMPACTION = "id: a, kind: server_edits, edits: [{type: compaction, compact_threshold: 5}]"
ON_DEMAND = "id: a, kind: summarize, model: [server], keep: {newest: {turns: 1}}"
NOTICE = "id: a, kind: attach, from: [{text: hello, repeat: {turns: 5}}], role: system"


def found(stage: str, model: str) -> list[str]:
    """What is told of a pack with this stage beyond what a check without a model tells."""
    context = check_text(f"{HEAD}  - {{{stage}}}\n", "mine.yaml").context
    assert context is not None
    before = len(context.problems)
    model_can(context, model)
    assert {each.code for each in context.problems[before:]} <= {"model-cannot"}
    return [each.message for each in context.problems[before:]]


@pytest.mark.parametrize(
    ("stage", "model", "what"),
    [
        (MARKS, OTHER, "marks of the prompt cache"),
        (EDITS, OTHER, "edits of the prompt cache"),
        (CLEAR, OTHER, "server edit `clear_tool_uses_20250919`"),
        (COMPACTION, OLD, "server edit `compaction`"),
        (ON_DEMAND, OTHER, "compaction on demand"),
        (NOTICE, OLD, "system messages among the others"),
    ],
)
def test_what_a_model_does_not_have_is_told(stage: str, model: str, what: str) -> None:
    assert found(stage, model) == [f"`{model}` has no {what}: `a` does nothing there"]


@pytest.mark.parametrize(
    ("stage", "model"),
    [
        (MARKS, OLD),
        (EDITS, NEW),
        (CLEAR, OLD),
        (COMPACTION, OTHER),
        (ON_DEMAND, NEW),
        (ON_DEMAND.replace("[server]", "[server, same]") + ", prompt: summary/nine-sections.md.j2", OTHER),
        (NOTICE, NEW),
        (NOTICE + ", place: system, at: [session_start]", OLD),
        (MARKS + ", enabled: false", OTHER),
        (MARKS + ", when: {model: ['claude-*']}", OTHER),
        (CLEAR.replace("20250919", "20250919, when: {model: ['claude-*']}"), OTHER),
        ("id: g, kind: first_of, when: {model: ['claude-*']}, stages: [{" + EDITS + "}]", OTHER),
    ],
)
def test_what_it_has_or_is_not_meant_for_is_not(stage: str, model: str) -> None:
    assert found(stage, model) == []
