"""Undo takes a commit back, restore brings single originals back; both last, and neither loses anything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.session.hosts import MODEL, JsonJournal
from tests.session.packs import engine_of

from trimtab import Facts, Request
from trimtab.conversation.edits import Spot
from trimtab.session import Session

CLEAR = """
format: 1
name: clear
version: 1.0.0
stages:
  - {id: clear, kind: replace, select: {blocks: [tool_result], size: {chars: {above: 30}}}, keep: {newest: {items: 1}},
     text: "[cleared]"}
"""


def calls(count: int, chars: int = 400) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = [{"role": "user", "content": "look around"}]
    for number in range(count):
        name = f"call_{number}"
        out.append(
            {"role": "assistant", "content": [{"type": "tool_use", "id": name, "name": "Read", "input": {}}]}
        )
        text = f"{number} " * (chars // 2)
        out.append(
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": text}]}
        )
    return out


def bodies(messages: Any) -> str:
    return json.dumps(list(messages))


def run(session: Session, messages: list[dict[str, Any]], event: str = "before_request") -> Any:
    return session.run(Request(MODEL, messages), event, Facts(now=1e9))


def test_undoing_a_commit_gives_the_transcript_back_and_the_stage_keeps_off() -> None:
    session = engine_of(CLEAR).session()
    messages = calls(4)
    outcome = run(session, messages)
    assert outcome.receipt.stage("clear").verdict == "committed"
    session.undo(outcome.receipt.stage("clear").commit)
    again = run(session, messages)
    assert bodies(again.request.messages) == bodies(messages)
    assert again.receipt.stage("clear").reason == "4 match: 3 protected, 1 kept"


def test_an_overflow_overrides_what_was_undone() -> None:
    session = engine_of(CLEAR).session()
    messages = calls(4)
    session.undo(run(session, messages).receipt.stage("clear").commit)
    assert run(session, messages, "overflow").receipt.stage("clear").verdict == "committed"


def test_a_commit_cannot_be_undone_twice_and_unknown_ones_are_named() -> None:
    session = engine_of(CLEAR).session()
    run(session, calls(4))
    session.undo("c1")
    with pytest.raises(LookupError, match="undone already"):
        session.undo("c1")
    with pytest.raises(LookupError, match="the newest are c1"):
        session.undo("c7")


def test_restored_spots_come_back_and_no_stage_touches_them_again() -> None:
    session = engine_of(CLEAR).session()
    messages = calls(4)
    run(session, messages)
    session.restore(["call_0"])
    after = run(session, messages).request.messages
    assert after[2] is messages[2]
    assert after[4]["content"][0]["content"] == "[cleared]"
    longer = messages + calls(3)[1:]
    assert run(session, longer).request.messages[2] is messages[2]


def test_what_nobody_changed_cannot_be_restored() -> None:
    session = engine_of(CLEAR).session()
    run(session, calls(2))
    with pytest.raises(LookupError, match="nothing has changed 5:0"):
        session.restore([Spot(5, 0)])
    with pytest.raises(LookupError, match="neither a spot"):
        session.restore("9" * 5000 + ":0")
    with pytest.raises(LookupError, match="neither a spot"):
        session.restore(["nonsense"])


@pytest.mark.parametrize("what", ["undo", "restore"])
def test_taking_back_without_a_transcript_holds_in_the_next_process(what: str) -> None:
    engine, journal, messages = engine_of(CLEAR), JsonJournal(), calls(4)
    run(Session(engine, journal), messages)
    absent = Session(engine, journal)
    if what == "undo":
        absent.undo("c1")
    else:
        absent.restore(["3:0", Spot(5, 0), (7, 0)])
    after = run(Session(engine, journal), messages)
    assert bodies(after.request.messages) == bodies(messages)


def test_an_original_the_host_no_longer_has_comes_from_the_store(tmp_path: Path) -> None:
    stored = CLEAR.replace("text: ", "store: results, text: ")
    engine = engine_of(stored)
    session = engine.open_session(tmp_path)
    messages = calls(4)
    shown = list(run(session, messages).request.messages)
    fed_back = engine.open_session(tmp_path)
    run(fed_back, json.loads(json.dumps(shown)))
    fed_back.restore(["3:0"])
    after = run(fed_back, json.loads(json.dumps(shown)))
    assert after.request.messages[2] == messages[2]


@pytest.mark.parametrize("wanted", [5, None, [5], (3, 0), [(3, 0, 1)], [("3", "0")], [None]], ids=repr)
def test_what_can_be_no_spot_is_refused_in_words(wanted: Any) -> None:
    session = engine_of(CLEAR).session()
    run(session, calls(4))
    with pytest.raises(TypeError, match=r"is no spot; give \(17, 0\)"):
        session.restore(wanted)


def test_an_original_that_nobody_has_is_said_to_be_gone() -> None:
    engine, journal = engine_of(CLEAR), JsonJournal()
    shown = list(run(Session(engine, journal), calls(4)).request.messages)
    session = Session(engine, journal)
    run(session, json.loads(json.dumps(shown)))
    with pytest.raises(LookupError, match="is gone"):
        session.restore(["3:0"])


def test_thinking_stripped_with_a_commit_stays_stripped_after_its_undo() -> None:
    session = engine_of(CLEAR).session()
    messages = calls(3)
    messages[-2]["content"].insert(0, {"type": "thinking", "thinking": "so", "signature": "s"})
    request = Request("claude-opus-5-5", messages)
    outcome = session.run(request, facts=Facts(now=1e9))
    assert outcome.receipt.stage("clear").thinking_loss == 1
    session.undo("c1")
    after = session.run(request, facts=Facts(now=1e9))
    assert bodies(after.request.messages) == bodies(
        [*messages[:-2], _without_thinking(messages[-2]), messages[-1]]
    )


def _without_thinking(message: dict[str, Any]) -> dict[str, Any]:
    return {**message, "content": [block for block in message["content"] if block["type"] != "thinking"]}


LAYERED = (
    CLEAR
    + """\
  - {id: long, kind: replace, select: {blocks: [tool_result], size: {chars: {above: 30}}}, text: "[long]"}
  - {id: remind, kind: attach, at: [before_request], when: {committed: [clear]}, from: [{text: "some are gone"}]}
"""
)


def test_what_a_run_made_on_top_of_a_commit_is_named_and_stays_until_it_is_undone_too() -> None:
    session = engine_of(LAYERED).session()
    messages = calls(4)
    run(session, messages)
    assert [commit.stage for commit in session.later("c1")] == ["long", "remind"]
    session.undo("c1")
    assert [commit.id for commit in session.later("c1")] == ["c2", "c3"]
    session.undo("c1", with_later=True)
    assert session.later("c1") == ()
    with pytest.raises(LookupError, match="undone already"):
        session.undo("c1", with_later=True)
    with pytest.raises(LookupError, match="no commit 'c9'"):
        session.later("c9")


def test_undoing_a_commit_with_what_is_on_top_of_it_gives_the_transcript_back() -> None:
    journal, engine, messages = JsonJournal(), engine_of(LAYERED), calls(4)
    run(Session(engine, journal), messages)
    undone = Session(engine, journal).undo("c1", with_later=True)
    assert undone.stage == "clear"
    again = Session(engine, journal).run(Request(MODEL, messages), "after_response", Facts(now=1e9))
    assert bodies(again.request.messages) == bodies(messages)


def test_commits_of_other_runs_and_restored_originals_are_not_on_top() -> None:
    session = engine_of(CLEAR).session()
    run(session, calls(4))
    session.restore(["3:0"])
    run(session, calls(6))
    assert [commit.stage for commit in session.track.history.commits] == ["clear", "@restore", "clear"]
    assert session.later("c1") == session.later("c2") == ()


def test_a_spot_restored_already_says_so_until_a_stage_has_touched_it_again() -> None:
    session = engine_of(CLEAR).session()
    messages = calls(4)
    run(session, messages)
    first = session.restore(["3:0", "call_0"])
    assert len(first.edits) == 1
    for wanted in (["3:0"], ["call_1", "3:0"]):
        with pytest.raises(LookupError, match="3:0 is restored already, by commit c2"):
            session.restore(wanted)
    assert len(session.track.history.commits) == 2
    run(session, messages, "overflow")
    assert session.restore(["3:0"]).stage == "@restore"


SUM_UP = """
format: 1
name: sum-up
version: 1.0.0
stages:
  - {id: sum-up, kind: summarize, text: Much was read., keep: {newest: {rounds: 1}}}
"""


def test_what_an_undo_keeps_from_a_stage_is_named_where_the_stage_does_nothing() -> None:
    session = engine_of(SUM_UP).session()
    messages = [*calls(4), {"role": "assistant", "content": "read"}, {"role": "user", "content": "go on"}]
    commit = run(session, messages).receipt.stages[0].commit
    session.undo(commit)
    [report] = run(session, messages).receipt.stages
    assert report.verdict == "nothing"
    assert "an undo keeps 9 messages from this stage" in report.reason


def test_one_spot_may_be_named_by_itself() -> None:
    session = engine_of(CLEAR).session()
    run(session, calls(3))
    commit = session.restore("3:0")
    assert commit.edits[0].spots == (Spot(3, 0),)


def test_a_fact_whose_name_is_nearly_one_the_host_may_give_is_told() -> None:
    session = engine_of(CLEAR).session()
    outcome = session.run(Request(MODEL, calls(1)), facts=Facts(callr="main", something_else=1))
    assert [(one.code, one.hint) for one in outcome.problems] == [("unknown-fact", "did you mean `caller`?")]
