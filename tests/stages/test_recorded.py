"""Stages of all kinds here, one after the other over recorded sessions: what is left must be a request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.scenes import Session, user
from tests.strict_api import problems

from trimtab.readers import read as read_session

TOOLS = {
    "read": ["Read"],
    "edit": ["Edit", "MultiEdit", "Write"],
    "shell": ["Bash"],
    "search": ["Grep", "Glob"],
    "todo": ["TodoWrite"],
}
FACTS = {
    "files": {
        "key": "path",
        "from": [{"tools": ["read"], "take": {"path": "/file_path"}, "set": {"read": True}}],
    },
    "todos": {"last": True, "from": [{"tools": ["todo"], "take": {"items": "/todos"}}]},
}
RESULTS: dict[str, Any] = {"blocks": ["tool_result"]}
STAGES: list[dict[str, Any]] = [
    {
        "id": "offload",
        "kind": "replace",
        "select": {**RESULTS, "size": {"chars": {"above": 5000}}},
        "store": "results",
        "preview": {"head": {"bytes": 1000}, "tail": {"lines": 3}},
        "text": "{{ head }}\n[{{ elided.chars }} characters in {{ path }}]\n{{ tail }}",
    },
    {
        "id": "arguments",
        "kind": "replace",
        "select": {"blocks": ["tool_use"], "size": {"chars": {"above": 800}}},
        "text": "[{{ size.chars }} characters]",
    },
    {
        "id": "redact",
        "kind": "replace",
        "select": {"blocks": ["text", "tool_result"]},
        "pattern": "[a-f0-9]{12,}",
        "text": "[hex]",
    },
    {
        "id": "clear",
        "kind": "replace",
        "select": RESULTS,
        "keep": {"newest": {"items": 5}},
        "text": "[cleared]",
    },
    {"id": "media", "kind": "replace", "select": {"blocks": ["image", "document"]}, "text": "[{{ block }}]"},
    {"id": "think", "kind": "drop", "select": {"blocks": ["thinking"], "age": {"turns": {"at_least": 1}}}},
    {
        "id": "calls",
        "kind": "drop",
        "select": {"blocks": ["tool_use"], "tools": ["search"]},
        "text": "[searched]",
    },
    {
        "id": "old",
        "kind": "drop",
        "select": {"age": {"turns": {"at_least": 2}}},
        "text": "[{{ removed.messages }} messages]",
        "fit": {"per": "view", "tokens": 10_000},
    },
    {
        "id": "todos",
        "kind": "attach",
        "from": [{"fact": "todos", "repeat": "changed", "text": "{{ items | json }}"}],
    },
    {
        "id": "ids",
        "kind": "attach",
        "place": "each",
        "select": {"origins": ["user", "tool"]},
        "from": [{"text": "[id:{{ id }}]"}],
    },
]


@pytest.mark.corpus
def test_every_stage_leaves_a_request_and_has_nothing_to_add_to_it(corpus: Path) -> None:
    paths = sorted((corpus / "claude-code").rglob("*.jsonl"))
    assert paths
    committed = dict.fromkeys((stage["id"] for stage in STAGES), 0)
    for path in paths:
        request = read_session(path).live
        given = json.dumps(request.messages)
        s = Session(
            list(request.messages), tools=TOOLS, fact_rules=FACTS, infos=request.info, model=request.model
        )
        ended = [user("Go on.")]
        before = {problem.text for problem in problems([*s.shown, *ended])}
        for stage in STAGES:
            proposal = s.run(stage)
            assert proposal.failure is None, (path.name, stage["id"], proposal.reason)
            committed[stage["id"]] += proposal.items
            new = [problem for problem in problems([*s.shown, *ended]) if problem.text not in before]
            assert not new, (path.name, stage["id"], new[0])
            assert not s.propose(stage).edits, (path.name, stage["id"])
        assert json.dumps(request.messages) == given
    assert all(committed.values()), committed
