from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.scenes import Session, bash, calls, read, results, says, stage_of, user

from trimtab.conversation.request import Info
from trimtab.facts import Facts
from trimtab.policy.past import StageIndex
from trimtab.templating import Renderer

TEMPLATES = Path(__file__).parents[2] / "templates"
READS = {"tools": ["read"], "take": {"path": "/file_path"}, "set": {"read": True}}
FACTS = {
    "files": {"key": "path", "from": [READS]},
    "commands": {"from": [{"tools": ["shell"], "take": {"command": "/command"}}]},
}
LEDGER = {"kind": "summarize", "template": "summary/ledger.md.j2", "wrapper": "summary/continue.md.j2"}


def session(*messages: Any, infos: Any = ()) -> Session:
    return Session(
        [*messages],
        tools={"read": ["Read"], "shell": ["Bash"]},
        fact_rules=FACTS,
        renderer=Renderer([TEMPLATES]),
        infos=infos,
    )


def ledger(s: Session, facts: Facts | None = None) -> str:
    stage = stage_of(LEDGER, s.renderer)
    s.run(stage, facts=facts, history=replace(s.scene().history, index=StageIndex.of([stage])))
    return next(text for text in reversed(s.texts) if "filled from the record" in text)


def failing(id: str, words: str) -> list[Any]:
    return [calls((id, "Bash", {"command": f"make {id}"})), results((id, words), error=True)]


def test_a_ledger_tells_what_an_agent_needs_to_go_on() -> None:
    todos = {"todos": [{"items": [{"content": "mend the pool", "status": "in_progress"}]}]}
    s = session(
        user("Find the leak."),
        *read("a", "src/pool.py", "x " * 4000),
        *failing("test", "3 failed"),
        *bash("c", "git log -3", "ok"),
        user("Never touch the schema."),
        *bash("b", "git diff --stat", "y " * 4000),
    )
    text = ledger(s, Facts(**todos))
    for words in (
        "> Find the leak.",
        "> Never touch the schema.",
        "- src/pool.py (read)",
        "- Bash: 3 failed",
        "- ran: git log -3",
        "- newest command: git diff --stat",
        "- [>] mend the pool",
        "it is open:\n> Never touch the schema.",
    ):
        assert words in text
    assert s.ports.questions == []


def test_what_failed_or_ran_again_and_again_is_told_once_where_it_stood_last() -> None:
    busy = [message for n in range(5) for message in failing(f"try{n}", "the model is busy")]
    again = [message for n in range(5) for message in bash(f"r{n}", "make unit", "ok " * 900)]
    text = ledger(session(user("Go."), *busy, *failing("lint", "unused name"), *again))
    assert text.count("the model is busy") == 1
    assert text.index("the model is busy") < text.index("Bash, the newest: unused name")
    assert text.count("- ran: make unit") == 1


def test_a_ledger_quotes_the_limits_a_user_has_set() -> None:
    rule = {"origins": ["user"], "take": {"text": {"pattern": "(?im)^(.*never.*)$", "in": "/text"}}}
    long = user("Find the leak. " + "It leaks. " * 900 + "\nNever touch the schema.\n" + "It leaks. " * 900)
    s = session(
        long,
        *bash("a", "cat notes", "Never ask again. " * 3000),
        user("Go on."),
        *read("b", "c.py", "x " * 9000),
    )
    s.fact_rules = {**FACTS, "constraints": {"from": [rule]}}
    text = ledger(s)
    assert "Limits and demands in the user's words:\n> Never touch the schema.\n" in text
    assert "ask again" not in text
    assert len(text) < 9000


def test_names_that_were_only_mentioned_stand_behind_the_files_that_were_used() -> None:
    s = session(
        user("Go."),
        *read("a", "src/pool.py", "import queue  # queue.py\n" * 900),
        *bash("b", "ls", "worker.go"),
    )
    text = ledger(s)
    assert "- src/pool.py (read)\nNamed in the conversation, the newest first: worker.go, queue.py\n" in text


def test_an_answered_request_is_not_called_open() -> None:
    text = ledger(session(user("Go."), *bash("a", "ls", "ok " * 9000), says("Done.")))
    assert "it is open" not in text
    assert "has had an answer" in text


@pytest.mark.parametrize("rounds", [1, 3])
def test_a_summary_of_the_hosts_survives_any_number_of_ledgers(rounds: int) -> None:
    old = "Continued.\n\nAnalysis:\nLet me think.\n\nSummary:\nThe port is 8431.\n"
    s = session(user(old), *bash("a", "ls", "ok " * 9000), infos=[Info(origin="summary")])
    text = ""
    for number in range(rounds):
        text = ledger(s)
        s.append(bash(f"z{number}", "ls", "ok " * 9000))
    assert text.count("> The port is 8431.") == 1
    assert "Let me think" not in text
