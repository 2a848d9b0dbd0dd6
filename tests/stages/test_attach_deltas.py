"""What the model has been told, by us or by the host, is told again only when the view has lost it (R2-R4)."""

from __future__ import annotations

from typing import Any

from tests.reference.support import answer, claude
from tests.scenes import Ports, Session, bash, read, says, user
from tests.session.hosts import MODEL, JsonJournal

from trimtab import Engine, Facts, Info, Request
from trimtab.session import Session as EngineSession

TOOLS = {"read": ["Read"]}
MEMORY = [{"path": "/docs/notes.md", "text": "Use tabs."}]


def compacting() -> EngineSession:
    """A session of the shipped pack whose summarizer knows one answer."""
    return claude(answers=[answer()]).session()


def attaching(fact: str, repeat: str, **more: Any) -> dict[str, Any]:
    return {"kind": "attach", "from": [{"fact": fact, "repeat": repeat, **more}]}


def conversation(turns: int, size: int = 400) -> list[dict[str, Any]]:
    """So many turns, each with a call and a result of so many words."""
    messages: list[dict[str, Any]] = []
    for number in range(turns):
        messages += [user(f"task {number}"), *bash(f"b{number}", "ls", f"out {number} " * size), says("done")]
    return [*messages, user("go on")]


def run(
    session: EngineSession, messages: list[dict[str, Any]], event: str = "before_request", **facts: Any
) -> Any:
    return session.run(Request(MODEL, messages), event, Facts.of({"caller": "main", **facts}))


def told(outcome: Any, words: str) -> int:
    """How many messages of the next request say these words."""
    return sum(words in str(message["content"]) for message in outcome.request.messages)


def verdict(outcome: Any, stage: str) -> str:
    return str(outcome.receipt.stage(stage).verdict)


# --- through the shipped pack


def test_r03_deltas_are_told_once_and_anew_after_a_compaction_from_the_present_state() -> None:
    session = compacting()
    messages = conversation(3)
    first = run(session, messages, deferred_tools=["Web", "Cron"])
    assert told(first, "Further tools can be loaded when needed: ") == 1
    second = run(session, messages, deferred_tools=["Web", "Cron"])
    assert (verdict(second, "turn-state"), told(second, "can be loaded")) == ("nothing", 1)
    third = run(session, [*messages, says("ok"), user("next")], deferred_tools=["Cron", "Notes"])
    assert told(third, "Further tools can be loaded when needed: Notes.") == 1
    assert told(third, "No longer available: Web.") == 1

    longer = [*messages, says("ok"), user("next"), *conversation(2)[:-1], user("and now")]
    compacted = run(session, longer, "manual", request="compact", deferred_tools=["Cron", "Notes"])
    assert verdict(compacted, "autocompact") == "committed"
    assert told(compacted, "can be loaded when needed") == 1
    assert told(compacted, "Web") == 0
    assert (
        run(session, longer, deferred_tools=["Cron", "Notes"]).receipt.stage("turn-state").verdict
        == "nothing"
    )


def test_r03_what_was_told_is_the_same_after_a_restart() -> None:
    engine, journal = Engine.load("claude-code"), JsonJournal()
    messages = conversation(3)
    run(EngineSession(engine, journal), messages, deferred_tools=["Web"], agent_listing=[{"name": "plan"}])
    again = run(
        EngineSession(engine, journal), messages, deferred_tools=["Web"], agent_listing=[{"name": "plan"}]
    )
    assert verdict(again, "turn-state") == "nothing"
    more = run(EngineSession(engine, journal), messages, deferred_tools=["Web", "Cron"], agent_listing=[])
    assert told(more, "Agents that are gone: plan.") == 1


def test_r04_a_memory_file_goes_in_once_and_again_after_a_full_compaction() -> None:
    session = compacting()
    messages = conversation(3)
    first = run(session, messages, nested_memory=MEMORY)
    assert told(first, "Use tabs.") == 1
    changed = [{**MEMORY[0], "text": "Use spaces."}]
    second = run(session, [*messages, says("ok"), user("next")], nested_memory=changed)
    assert (told(second, "Use tabs."), told(second, "Use spaces.")) == (1, 0)
    longer = [*messages, says("ok"), user("next"), says("ok"), user("and now")]
    compacted = run(session, longer, "manual", request="compact", nested_memory=changed)
    assert (told(compacted, "Use tabs."), told(compacted, "Use spaces.")) == (0, 1)


def test_r02_a_provider_is_asked_by_the_stage_that_needs_it_and_its_failure_costs_no_run() -> None:
    asked: list[str] = []

    def date() -> str:
        asked.append("date")
        return "2030-01-31"

    def memory() -> Any:
        raise OSError("gone")

    facts = Facts(caller="main", date=date, nested_memory=memory, loaded_tools=lambda: asked.append("loaded"))
    session = Engine.load("claude-code").session()
    outcome = session.run(Request(MODEL, conversation(2)), "before_request", facts)
    assert told(outcome, "Today is 2030-01-31.") == 1
    assert asked == ["date"]
    assert facts.failed == {"nested_memory": "OSError: gone"}


# --- what the host has told by itself


def hosted(*infos: Info | None) -> Session:
    messages = [user("go"), user("Project notes: Use tabs."), says("ok")]
    return Session(messages, tools=TOOLS, infos=[None, Info(id="m1", origin="reminder"), None, *infos])


def test_what_a_message_of_the_host_tells_is_not_told_again() -> None:
    s = hosted()
    record = {**MEMORY[0], "told": "m1"}
    for repeat in ("once", "delta", "changed"):
        stage = attaching("nested_memory", repeat)
        assert s.propose(stage, facts=Facts(nested_memory=[record])).reason == "nothing to say", repeat
    other = {"path": "/other.md", "text": "Use a ruler."}
    proposal = s.run(attaching("nested_memory", "once"), facts=Facts(nested_memory=[record, other]))
    assert "ruler" in s.texts[-1]
    assert "/docs/notes.md" not in s.texts[-1]
    assert proposal.items == 1


def test_always_is_always() -> None:
    facts = Facts(nested_memory=[{**MEMORY[0], "told": "m1"}])
    assert hosted().propose(attaching("nested_memory", "always"), facts=facts).items == 1


def test_a_summary_that_swallows_the_hosts_message_makes_it_due() -> None:
    s = hosted()
    s.append([user("next")])
    facts = Facts(nested_memory=[{**MEMORY[0], "told": "m1"}])
    s.run({"kind": "drop", "id": "cut", "select": {"age": {"turns": {"at_least": 1}}}})
    assert s.texts == ["next"]
    assert s.run(attaching("nested_memory", "once"), facts=facts).items == 1
    assert "Use tabs." in s.texts[-1]
    assert s.run(attaching("nested_memory", "once"), facts=facts).edits == ()


def test_a_message_of_the_host_that_a_stage_has_cleared_has_told_nothing() -> None:
    s = hosted()
    clear = {"kind": "replace", "id": "clear", "select": {"blocks": ["text"], "origins": ["reminder"]}}
    s.run({**clear, "text": "-"})
    facts = Facts(nested_memory=[{**MEMORY[0], "told": "m1"}])
    assert s.propose(attaching("nested_memory", "once"), facts=facts).items == 1


def test_a_message_nobody_knows_has_told_nothing() -> None:
    facts = Facts(nested_memory=[{**MEMORY[0], "told": "m9"}])
    assert hosted().propose(attaching("nested_memory", "once"), facts=facts).items == 1


def test_where_a_record_was_told_is_no_part_of_what_it_says() -> None:
    s = Session([user("go")])
    facts = Facts(agents=[{"id": "a1", "told": "m9"}])
    s.run(attaching("agents", "always", text="{{ items[0] }}"), facts=facts)
    assert "told" not in s.texts[-1]
    assert "m9" not in s.texts[-1]


# --- files that cannot be read (R31)


def restored(files: dict[str, str], template: str = "attachments/file.md.j2") -> str:
    from trimtab.data import data_root
    from trimtab.templating import Renderer

    rules = {"files": {"key": "path", "from": [{"tools": ["read"], "take": {"path": "/file_path"}}]}}
    s = Session(
        [user("go"), *read("a", "/a.py", "old"), *read("b", "/b.py", "old"), says("ok")],
        tools=TOOLS,
        fact_rules=rules,
        ports=Ports(files=files),
        renderer=Renderer([data_root() / "templates"]),
    )
    entry = {"fact": "files", "read": "disk", "too_large": "reference", "template": template}
    s.run({"kind": "attach", "from": [{**entry, "budget": {"tokens_each": 200}}]})
    return s.texts[-1]


def test_r31_a_file_that_cannot_be_read_is_not_said_to_be_too_long() -> None:
    text = restored({"/a.py": "word " * 900})
    assert "/b.py was in use before the conversation was shortened. It could not be read" in text
    assert "/a.py was in use before the conversation was shortened. It is too long" in text


def test_r31_a_file_is_shown_as_it_is_on_the_disk_now() -> None:
    text = restored({"/a.py": "new words", "/b.py": ""})
    assert "new words" in text
    assert "/b.py was in use before the conversation was shortened. Now it is empty." in text
    assert "old" not in text
