"""Results taken out of the server's warm cache: the messages stay, the block stays, the figure falls."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.scenes import Session, bash, calls, results, says, user
from tests.session.hosts import MODEL, MODES, JsonJournal, play
from tests.session.packs import engine_of

from trimtab import Engine, Facts, Request, Usage
from trimtab.conversation.view import View, cache_references
from trimtab.packs.load import check_text
from trimtab.session import Session as Live

HEAD = "format: 1\nname: cached\nversion: 1.0.0\n"
PACK = HEAD + (
    "stages: [{id: warm, kind: cache_edits, select: {blocks: [tool_result]}, keep: {newest: {items: 2}},"
    " accept: {items: {at_least: 3}}}]\n"
)


def talk(rounds: int, first: int = 0, chars: int = 400) -> list[Any]:
    out: list[Any] = [] if first else [user("Find the leak.")]
    for number in range(first, first + rounds):
        out += bash(f"c{number}", "ls", "word " * (chars // 5))
    return out


def deletions(messages: Any) -> dict[int, list[str]]:
    """By position of the message: what its blocks of cache edits delete."""
    found = {}
    for at, message in enumerate(messages):
        if isinstance(message["content"], list):
            names = [name for block in message["content"] for name in cache_references(block)]
            if names:
                found[at] = names
    return found


def run(session: Live, messages: list[Any], event: str = "before_request", **facts: Any) -> Any:
    before = copy.deepcopy(messages)
    outcome = session.run(Request(MODEL, messages), event, Facts(now=1e9, **facts))
    assert messages == before
    assert [p for p in outcome.problems if p.code.startswith("invalid-")] == []
    return outcome


# --- what is proposed


def warm(**keys: Any) -> dict[str, Any]:
    return {"kind": "cache_edits", "id": "warm", "select": {"blocks": ["tool_result"]}, **keys}


def named(proposal: Any) -> list[str]:
    return [
        name
        for edit in proposal.edits
        for block in edit.message["content"]
        for name in cache_references(block)
    ]


def test_the_block_names_old_results_and_stands_behind_the_newest_ones() -> None:
    s = Session(talk(4))
    proposal = s.propose(warm(keep={"newest": {"items": 2}}))
    (place,) = proposal.edits
    assert (place.after_index, place.origin) == (8, "attachment")
    assert place.message == {
        "role": "user",
        "content": [
            {
                "type": "cache_edits",
                "edits": [
                    {"type": "delete", "cache_reference": "c0"},
                    {"type": "delete", "cache_reference": "c1"},
                ],
            }
        ],
    }
    assert proposal.items == 2


def test_results_that_were_not_sent_yet_are_not_in_the_cache() -> None:
    assert named(Session(talk(3)).propose(warm())) == ["c0", "c1"]


def test_behind_new_words_of_the_user_it_stands_last_so_that_nothing_sent_moves() -> None:
    (place,) = Session([*talk(3), says("Done."), user("And now?")]).propose(warm()).edits
    assert place.after_index == 8


def test_words_behind_new_results_stay_behind_it() -> None:
    (place,) = Session([*talk(3), user("Quickly, please.")]).propose(warm()).edits
    assert place.after_index == 6


def test_while_calls_wait_for_results_nothing_is_inserted() -> None:
    both = calls(("a", "Bash", {}), ("b", "Bash", {}))
    proposal = Session([*talk(3), both, results(("a", "ok"))]).propose(warm())
    assert (proposal.edits, proposal.reason) == ((), "calls are still waiting for their results")


def test_after_the_assistant_nothing_is_inserted() -> None:
    proposal = Session([*talk(3), says("Done.")]).propose(warm(), "after_response")
    assert proposal.reason == "no user's side to carry it: the assistant spoke last"


def test_messages_may_be_selected_as_a_whole() -> None:
    assert named(Session(talk(3)).propose(warm(select={"origins": ["tool"]}))) == ["c0", "c1"]


def test_what_is_deleted_already_is_no_candidate_again() -> None:
    s = Session(talk(4))
    assert named(s.run(warm())) == ["c0", "c1", "c2"]
    again = s.run(warm())
    assert (again.edits, again.reason) == ((), "all of them are deleted already")
    s.append(talk(2, first=4))
    assert named(s.run(warm())) == ["c3", "c4"]
    assert deletions(s.shown) == {9: ["c0", "c1", "c2"], 14: ["c3", "c4"]}


def test_fit_takes_as_many_as_are_needed_in_order() -> None:
    s = Session(talk(6))
    size = s.items[2].tokens[0]
    target = s.scene().tokens - 1.5 * size
    assert named(s.propose(warm(fit={"per": "view", "tokens": target}))) == ["c0", "c1"]
    assert named(s.propose(warm(order="newest", fit={"per": "view", "tokens": target}))) == ["c3", "c4"]
    s.run(warm(fit={"per": "view", "tokens": target}))
    assert s.run(warm(fit={"per": "view", "tokens": target})).reason == "it fits"


def test_the_bytes_of_the_request_stay_whatever_is_deleted() -> None:
    assert Session(talk(6)).propose(warm(fit={"per": "view", "bytes": 10})).edits == ()


def test_fit_in_characters_knows_what_is_deleted() -> None:
    s = Session(talk(6))
    chars = sum(sum(item.chars) for item in s.items)
    stage = warm(fit={"per": "view", "chars": chars - 500})
    assert named(s.run(stage)) == ["c0", "c1"]
    assert s.run(stage).edits == ()


def test_fit_per_message_counts_what_the_api_joins_without_what_is_deleted() -> None:
    found = [(name, "word " * 100) for name in "abc"]
    answers = [results(one) for one in found]
    s = Session(
        [user("go"), calls(*[(name, "Bash", {}) for name, _ in found]), *answers, says("ok"), user("on")]
    )
    fit = {"per": "message", "chars": 1000}
    assert named(s.run(warm(fit=fit))) == ["a"]
    assert s.propose(warm(fit=fit)).edits == ()
    assert named(s.propose(warm(fit={"per": "message", "chars": 600}))) == ["b"]


def test_other_blocks_than_results_are_a_problem_of_the_pack() -> None:
    text = (
        HEAD
        + "stages:\n  - {id: w, kind: cache_edits, select: {blocks: [text, tool_result], age: {turns: {above: 1}}}}\n"
    )
    (problem,) = check_text(text).problems
    assert (problem.code, problem.line) == ("place", 5)
    assert "no text blocks" in problem.message


# --- through a session


def test_all_messages_stay_and_the_block_keeps_its_place() -> None:
    session = engine_of(PACK).session()
    messages = talk(6)
    first = run(session, messages)
    report = first.receipt.stage("warm")
    assert (report.verdict, report.items) == ("committed", 4)
    assert deletions(first.request.messages) == {13: ["c0", "c1", "c2", "c3"]}
    assert all(one is other for one, other in zip(first.request.messages, messages, strict=False))
    assert report.cache_loss_tokens == 0
    assert report.first_changed is None
    longer = [*messages, *talk(2, first=6)]
    second = run(session, longer)
    assert second.receipt.stage("warm").reason == "accept cannot hold: 2 results could be deleted"
    assert deletions(second.request.messages) == {13: ["c0", "c1", "c2", "c3"]}
    third = run(session, [*longer, *talk(1, first=8)])
    assert deletions(third.request.messages) == {13: ["c0", "c1", "c2", "c3"], 20: ["c4", "c5", "c6"]}
    assert third.receipt.totals.cache_loss_tokens == 0


def test_the_same_list_again_deletes_nothing_more() -> None:
    session = engine_of(PACK).session()
    first, second = (run(session, talk(6)) for _ in range(2))
    assert second.receipt.totals.commits == 0
    assert json.dumps(first.request.messages) == json.dumps(second.request.messages)


def test_deleted_results_count_no_more() -> None:
    session = engine_of(PACK).session()
    outcome = run(session, talk(6))
    tokens = outcome.receipt.stage("warm").tokens
    sizes = [item.tokens[0] for item in session.track.base.items if item.results]
    freed = (tokens.before - tokens.after) / outcome.receipt.totals.factor
    block = session.track.standing.view.items[-1].total
    assert freed == pytest.approx(sum(sizes[:4]) - block, abs=2)
    assert outcome.receipt.totals.tokens.after == tokens.after


def test_accept_may_ask_what_is_freed() -> None:
    text = PACK.replace("items: {at_least: 3}", "freed_tokens: {at_least: 200}")
    assert run(engine_of(text).session(), talk(6)).receipt.stage("warm").verdict == "committed"
    assert run(engine_of(text).session(), talk(6, chars=50)).receipt.stage("warm").verdict == "refused"


def test_a_stage_behind_it_sees_the_relief() -> None:
    more = "  - {id: late, kind: guard, level: info, at: [before_request], when: {tokens: {at_least: 900}}, text: x}\n"
    quiet = HEAD + "stages:\n" + more
    both = HEAD + "stages:\n  - {id: warm, kind: cache_edits, select: {blocks: [tool_result]}}\n" + more
    assert run(engine_of(quiet).session(), talk(8)).receipt.stage("late").verdict == "done"
    assert run(engine_of(both).session(), talk(8)).receipt.stage("late").verdict == "skipped"


def test_usage_reported_behind_a_deletion_is_not_corrected_for_it_again() -> None:
    session = engine_of(PACK).session()
    messages = talk(6)
    run(session, messages)
    messages = [*messages, says("Done."), user("And?")]
    outcome = run(session, messages, usage=Usage(5000, model=MODEL))
    assert outcome.receipt.totals.measured
    added = outcome.receipt.totals.tokens.after - 5000
    assert 0 < added < 40


def test_usage_reported_before_a_deletion_is_corrected_for_it() -> None:
    session = engine_of(PACK).session()
    messages = talk(6, chars=4000)
    run(session, messages, "after_response")
    estimate = sum(item.total for item in session.track.base.items)
    live = engine_of(PACK).session()
    outcome = run(live, [*messages, says("Done."), user("And?")], usage=Usage(2 * estimate, model=MODEL))
    tokens = outcome.receipt.stage("warm").tokens
    share = (tokens.before - tokens.after) / tokens.before
    sizes = [item.tokens[0] for item in session.track.base.items if item.results]
    assert share == pytest.approx(sum(sizes[:4]) / estimate, abs=0.05)


def test_undone_deletions_stay_undone_but_for_an_overflow() -> None:
    session = engine_of(PACK).session()
    messages = talk(6)
    run(session, messages)
    session.undo("c1")
    after = run(session, messages)
    assert after.receipt.stage("warm").verdict == "nothing"
    assert after.request.messages == messages
    assert run(session, messages, "overflow").receipt.stage("warm").items == 4


SUMMARY = (
    HEAD
    + """stages:
  - {id: warm, kind: cache_edits, select: {blocks: [tool_result]}, keep: {newest: {items: 2}},
     accept: {items: {at_least: 3}}}
  - {id: shrink, kind: summarize, at: [manual], keep: {newest: {messages: 5}}, text: What came before.}
"""
)


def test_a_summary_takes_the_results_and_what_is_said_of_them() -> None:
    session = engine_of(SUMMARY).session()
    messages = talk(6)
    assert deletions(run(session, messages).request.messages) == {13: ["c0", "c1", "c2", "c3"]}
    messages += talk(1, first=6)
    outcome = run(session, messages, "manual")
    assert outcome.receipt.stage("shrink").verdict == "committed"
    for names in deletions(outcome.request.messages).values():
        shown = json.dumps([m for m in outcome.request.messages if m["role"] == "user"])
        assert all(f'"tool_use_id": "{name}"' in shown for name in names)


def test_a_hosts_own_block_is_passed_through() -> None:
    block = {"type": "cache_edits", "edits": [{"type": "delete", "cache_reference": "gone"}]}
    messages = [*talk(1), {"role": "user", "content": [block]}]
    out = run(engine_of(PACK).session(), messages).request.messages
    assert all(one is other for one, other in zip(out, messages, strict=True))


def test_it_waits_in_a_first_of_until_there_are_enough() -> None:
    text = (
        HEAD
        + """stages:
  - id: micro
    kind: first_of
    at: [before_request]
    defaults: {select: {blocks: [tool_result]}, keep: {newest: {items: 2}}}
    stages:
      - {id: cold, kind: replace, when: {idle_minutes: {at_least: 60}}, text: "[cleared]"}
      - {id: warm, kind: cache_edits, accept: {items: {at_least: 3}}}
"""
    )
    session = engine_of(text).session()
    assert run(session, talk(4)).receipt.stage("micro").verdict == "nothing"
    assert run(session, talk(5)).receipt.stage("micro").verdict == "committed"


def test_thinking_bound_to_the_prefix_stays() -> None:
    messages = talk(6)
    messages[9]["content"].insert(0, {"type": "thinking", "thinking": "hm", "signature": "s"})
    session = engine_of(PACK).session()
    outcome = session.run(Request("claude-opus-5-5", messages), "before_request", Facts(now=1e9))
    assert outcome.receipt.stage("warm").verdict == "committed"
    assert outcome.receipt.totals.thinking_loss == 0


@given(number=st.integers(0, 10_000))
@settings(max_examples=8, deadline=None)
def test_every_host_gets_the_same_bytes(number: int) -> None:
    keeps, *others = (play(engine_of(PACK), number, mode) for mode in MODES)
    assert [other.bodies == keeps.bodies for other in others] == [True] * 3


@given(number=st.integers(0, 10_000))
@settings(max_examples=12, deadline=None)
def test_every_deletion_names_a_sent_result_before_it_once(number: int) -> None:
    host = play(engine_of(SUMMARY), number, "keeps")
    for body in host.bodies:
        messages = json.loads(body)[1]
        seen: list[str] = []
        told: list[str] = []
        for message in messages:
            for block in message["content"] if isinstance(message["content"], list) else ():
                if block["type"] == "tool_result":
                    seen.append(block["tool_use_id"])
                for name in cache_references(block):
                    assert name in seen
                    told.append(name)
        assert len(told) == len(set(told))


def test_the_block_survives_a_journal() -> None:
    journal = JsonJournal()
    engine: Engine = engine_of(PACK)
    first = run(Live(engine, journal), talk(6))
    again = run(Live(engine, journal), [*talk(6), *talk(1, first=6)])
    assert deletions(again.request.messages) == deletions(first.request.messages)
    figure = again.receipt.totals.tokens.after
    fresh = Live(engine, journal)
    assert run(fresh, [*talk(6), *talk(1, first=6)]).receipt.totals.tokens.after == figure


def test_a_view_knows_deletions_as_it_grows() -> None:
    s = Session(talk(4))
    s.run(warm())
    items = s.items
    whole, grown = View(items), View(items[:3])
    assert grown.deleted_tokens == 0
    grown.extend(items[3:])
    assert grown.deleted == whole.deleted
    assert list(whole.deleted) == [(2, 0), (4, 0), (6, 0)]
    assert whole.deleted_tokens == sum(items[at].tokens[0] for at in (2, 4, 6))
    assert whole.deleted_by_serial() == {items[at].serial: items[at].tokens[0] for at in (2, 4, 6)}


def question(**keys: Any) -> Any:
    """What the writer of a summary is asked when results have been deleted from the cache."""
    s = Session(talk(4))
    s.run(warm())
    s.append([says("Done."), user("And now?")])
    s.ports.answers.append("Short.")
    s.run({"kind": "summarize", "prompt": "Sum it up. {{ transcript }}", **keys})
    return s.ports.questions[0].question


def test_a_summary_by_the_same_model_reads_the_same_cache() -> None:
    assert deletions(question().request.messages) == {9: ["c0", "c1", "c2"]}


def test_another_writer_hears_nothing_of_the_cache() -> None:
    asked = question(model=["claude-haiku-4-5"])
    assert asked.request.model == "claude-haiku-4-5"
    assert deletions(asked.request.messages) == {}
    assert "cache_edits" not in question(input={"as": "text"}).prompt


def test_a_view_of_shorter_texts_counts_what_is_deleted_anew() -> None:
    s = Session(talk(4))
    s.run(warm())
    view, short = (
        View(s.items),
        {"kind": "replace", "id": "cut", "select": {"blocks": ["tool_result"]}, "text": "x"},
    )
    assert view.deleted_tokens
    s.run(short)
    assert view.alike(s.items).deleted_tokens == View(s.items).deleted_tokens < view.deleted_tokens
