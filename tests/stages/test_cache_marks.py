"""Cache breakpoints: where they go, what the host's own leave of the four, and that nothing else changes."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.scenes import Session, bash, image, says, user
from tests.session.hosts import MODEL, MODES, play
from tests.session.packs import engine_of

from trimtab import Facts, Request
from trimtab.conversation.digest import digest
from trimtab.journal import DiskJournal

MARK = {"cache_control": {"type": "ephemeral"}}
LONG = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
TOOLS = [{"name": "Read", "input_schema": {}}, {"name": "Bash", "input_schema": {}}]
SHAPES = "format: 1\nname: marks\nversion: 1.0.0\nstages:\n"


def pack(*marks: str, more: str = "") -> str:
    listed = "\n".join(f"      - {mark}" for mark in marks)
    return f"{SHAPES}{more}  - id: cache\n    kind: cache_marks\n    marks:\n{listed}\n"


def sent(text: str, messages: list[Any], event: str = "before_request", **fields: Any) -> Any:
    """The outcome of one run in a new session; the host's request must be as it was."""
    request = Request(MODEL, messages, **fields)
    before = copy.deepcopy(request)
    outcome = engine_of(text).session().run(request, event, Facts(now=1e9))
    assert request == before
    return outcome


def marks(request: Any) -> dict[str, Any]:
    """Every mark of a request by its place: ``tools:1``, ``system:0``, ``4:0``."""
    parts: list[tuple[str, Any]] = [("tools", request.tools), ("system", request.system)]
    parts += [(str(at), message["content"]) for at, message in enumerate(request.messages)]
    return {
        f"{name}:{number}": block["cache_control"].get("ttl", "5m")
        for name, blocks in parts
        if isinstance(blocks, list)
        for number, block in enumerate(blocks)
        if block.get("cache_control") is not None
    }


def talk(rounds: int = 3) -> list[Any]:
    out: list[Any] = [user("Find the leak.")]
    for number in range(rounds):
        out += bash(f"c{number}", "ls", f"file {number}")
    return out


def test_the_two_newest_messages_of_the_user_are_marked_and_all_others_are_the_hosts_own_objects() -> None:
    messages = talk()
    out = sent(pack("{place: newest_user, count: 2}"), messages).request
    assert marks(out) == {"4:0": "5m", "6:0": "5m"}
    assert [one is other for one, other in zip(out.messages, messages, strict=True)] == [
        *[True] * 4,
        False,
        True,
        False,
    ]
    assert out.messages[6]["content"][0] == {**messages[6]["content"][0], **MARK}


def test_neighbouring_messages_of_the_user_are_one_and_get_one_mark() -> None:
    messages = [*talk(2), user("And look at the tests."), user("Quickly.")]
    assert marks(sent(pack("{place: newest_user, count: 2}"), messages).request) == {"2:0": "5m", "6:0": "5m"}


def test_a_text_becomes_one_block_in_the_copy_that_is_sent() -> None:
    messages = [user("Find the leak.")]
    out = sent(pack("{place: newest_user}"), messages).request
    assert out.messages == [{"role": "user", "content": [{"type": "text", "text": "Find the leak.", **MARK}]}]
    assert messages == [user("Find the leak.")]


def test_tools_and_system_are_marked_at_their_ends_on_copies() -> None:
    system = [{"type": "text", "text": "You help."}, {"type": "text", "text": " \n"}]
    text = pack("{place: tools, ttl: 1h}", "{place: system}")
    out = sent(text, talk(), system=system, tools=TOOLS).request
    assert marks(out) == {"tools:1": "1h", "system:0": "5m"}
    assert out.tools[1] == {**TOOLS[1], **LONG}
    assert out.tools[0] is TOOLS[0]
    assert out.system[1] is system[1]


def test_a_system_prompt_that_is_a_text_is_marked_as_a_block() -> None:
    out = sent(pack("{place: system}"), talk(), system="You help.").request
    assert out.system == [{"type": "text", "text": "You help.", **MARK}]


def test_tools_that_are_loaded_later_are_never_marked() -> None:
    tools = [TOOLS[0], {**TOOLS[1], "defer_loading": True}]
    assert marks(sent(pack("{place: tools, count: 2}"), talk(), tools=tools).request) == {"tools:0": "5m"}


def test_the_hosts_marks_stay_and_ours_fill_what_is_left_in_declared_order() -> None:
    messages = talk(4)
    for at in (2, 4):
        messages[at]["content"][0].update(MARK)
    text = pack("{place: newest_user, count: 2}", "{place: system}", "{place: tools}")
    outcome = sent(text, messages, system="You help.", tools=TOOLS)
    assert marks(outcome.request) == {"2:0": "5m", "4:0": "5m", "6:0": "5m", "8:0": "5m"}
    assert outcome.receipt.stage("cache").remarks == {
        "placed": {"newest_user": 2},
        "left_out": {"system": 1, "tools": 1},
        "host_marks": 2,
    }


def test_a_place_the_host_has_marked_takes_no_second_mark() -> None:
    messages = talk()
    messages[6]["content"][0].update(LONG)
    outcome = sent(pack("{place: newest_user}"), messages)
    assert outcome.request.messages[6] is messages[6]
    report = outcome.receipt.stage("cache")
    assert (report.verdict, report.reason) == ("nothing", "the host has marked these places")


def test_four_marks_of_the_host_leave_none() -> None:
    system = [{"type": "text", "text": f"{n}", **MARK} for n in range(3)]
    messages = talk()
    messages[2]["content"][0]["content"] = [{"type": "text", "text": "inside a result", **MARK}]
    outcome = sent(pack("{place: newest_user}"), messages, system=system)
    report = outcome.receipt.stage("cache")
    assert (report.verdict, report.reason) == (
        "nothing",
        "the request brings 4 cache marks; no more are allowed",
    )
    assert len(outcome.request.messages) == 7
    assert all(one is other for one, other in zip(outcome.request.messages, messages, strict=True))


def test_a_mark_for_the_whole_request_counts_as_one() -> None:
    text = pack("{place: newest_user, count: 4}")
    outcome = sent(text, talk(5), extra=MARK)
    assert len(marks(outcome.request)) == 3
    assert outcome.request.extra is MARK or outcome.request.extra == MARK


@pytest.mark.parametrize(
    "blocks",
    [
        [{"type": "text", "text": " \n"}],
        [{"type": "text", "text": ""}],
        [{"type": "thinking", "thinking": "hm", "signature": "s"}],
        [{"type": "tool_result", "tool_use_id": "x", "content": "  "}],
        [{"type": "tool_result", "tool_use_id": "x"}],
        [{"type": "cache_edits", "edits": []}],
    ],
)
def test_blank_thinking_and_unknown_blocks_are_never_marked(blocks: list[Any]) -> None:
    s = Session(
        [user("go"), says("ok"), {"role": "user", "content": [{"type": "text", "text": "x"}, *blocks]}]
    )
    proposal = s.propose({"kind": "cache_marks", "marks": [{"place": "newest_user"}]})
    assert proposal.remarks == {"placed": {"newest_user": 1}}
    s = Session([{"role": "user", "content": blocks}])
    proposal = s.propose({"kind": "cache_marks", "marks": [{"place": "newest_user"}]})
    assert (proposal.directives, proposal.reason) == ({}, "nothing there to mark")


@pytest.mark.parametrize("odd", [7, {"name": "Read"}, ["Read", None], "Read"])
def test_requests_of_odd_shapes_are_passed_on_as_they_are(odd: Any) -> None:
    text = pack("{place: tools}", "{place: system}", "{place: newest_user}")
    messages = [{"role": "user", "content": [{"type": "text", "text": "go"}, "bare", {"no": "type"}]}]
    out = sent(text, messages, tools=odd, system=[odd]).request
    assert (out.tools, out.system) == (odd, [odd])
    assert out.messages == [
        {"role": "user", "content": [{"type": "text", "text": "go", **MARK}, "bare", {"no": "type"}]}
    ]


def test_a_picture_may_be_marked() -> None:
    messages = [{"role": "user", "content": [{"type": "text", "text": "See:"}, image()]}]
    assert marks(sent(pack("{place: newest_user}"), messages).request) == {"0:1": "5m"}


def test_the_newest_summary_is_marked() -> None:
    more = "  - {id: shrink, kind: summarize, keep: {newest: {messages: 2}}, text: What came before.}\n"
    outcome = sent(
        pack("{place: summary, ttl: 1h}", "{place: newest_user}", more=more),
        [*talk(8), says("ok"), user("so?")],
    )
    assert outcome.receipt.stage("shrink").verdict == "committed"
    places = marks(outcome.request)
    assert list(places.values()) == ["1h", "5m"]
    assert "What came before." in json.dumps(outcome.request.messages[int(next(iter(places)).split(":")[0])])


def test_a_mark_before_a_longer_one_lives_as_long() -> None:
    text = pack("{place: tools}", "{place: system}", "{place: newest_user, ttl: 1h}")
    out = sent(text, talk(), system="You help.", tools=TOOLS).request
    assert marks(out) == {"tools:1": "1h", "system:0": "1h", "6:0": "1h"}


def test_a_mark_behind_a_shorter_one_of_the_host_lives_no_longer() -> None:
    system = [{"type": "text", "text": "You help.", **MARK}]
    text = pack("{place: tools, ttl: 1h}", "{place: newest_user, ttl: 1h}")
    out = sent(text, talk(), system=system, tools=TOOLS).request
    assert marks(out) == {"tools:1": "1h", "system:0": "5m", "6:0": "5m"}


def test_two_stages_share_the_four() -> None:
    more = "  - {id: first, kind: cache_marks, marks: [{place: newest_user, count: 3}]}\n"
    out = sent(
        pack("{place: system}", "{place: tools}", more=more), talk(5), system="Go.", tools=TOOLS
    ).request
    assert marks(out) == {"system:0": "5m", "6:0": "5m", "8:0": "5m", "10:0": "5m"}


def test_marks_fall_on_what_later_stages_have_left() -> None:
    text = pack("{place: newest_user, count: 2}") + (
        "  - {id: clear, kind: replace, select: {blocks: [tool_result], size: {chars: {above: 3}}}, text: x}\n"
    )
    out = sent(text, talk()).request
    assert out.messages[6]["content"][0]["content"] == "x"
    assert marks(out) == {"4:0": "5m", "6:0": "5m"}


def test_marks_alone_do_not_answer_an_overflow() -> None:
    outcome = sent(pack("{place: newest_user}"), talk(), "overflow")
    assert outcome.receipt.stage("cache").verdict == "done"
    assert not outcome.send


def test_a_request_for_another_api_gets_no_marks() -> None:
    proposal = Session([user("go")]).propose({"kind": "cache_marks", "marks": [{"place": "newest_user"}]})
    assert proposal.directives
    outcome = sent(pack("{place: newest_user}"), talk(), format="openai-chat")
    assert outcome.receipt.stage("cache").verdict == "nothing"


def test_marks_are_no_edits_and_a_second_run_gives_the_same_bytes(tmp_path: Any) -> None:
    session = engine_of(pack("{place: newest_user, count: 2}")).open_session(tmp_path)
    messages = talk()
    first = session.run(Request(MODEL, messages), "before_request", Facts(now=1e9))
    second = session.run(Request(MODEL, messages), "before_request", Facts(now=1e9))
    assert json.dumps(first.request.messages) == json.dumps(second.request.messages)
    assert second.receipt.totals.commits == second.receipt.totals.cache_loss_tokens == 0
    assert second.receipt.totals.first_changed is None
    records = [json.loads(line) for line in (tmp_path / "journal.jsonl").read_text().splitlines()]
    assert [record["t"] for record in records] == ["journal", "run", "run"]
    assert [record.get("marks") for record in records[1:]] == [
        [[digest(messages[4]), 0], [digest(messages[6]), 0]],
        None,
    ]
    assert DiskJournal.open(tmp_path, engine="0").records()


def test_our_marks_do_not_pile_up_on_a_host_that_feeds_the_view_back() -> None:
    session = engine_of(pack("{place: newest_user, count: 2}")).session()
    messages: list[Any] = talk(1)
    for number in range(6):
        out = session.run(Request(MODEL, messages), "before_request", Facts(now=1e9)).request
        assert list(marks(out)) == [f"{len(out.messages) - 3}:0", f"{len(out.messages) - 1}:0"]
        messages = [*json.loads(json.dumps(out.messages)), *bash(f"n{number}", "ls", "more")]


def test_our_marks_leave_a_fed_back_list_when_the_stage_is_quiet() -> None:
    text = pack("{place: newest_user}").replace(
        "kind: cache_marks", "kind: cache_marks\n    at: [before_request]"
    )
    session = engine_of(text).session()
    out = session.run(Request(MODEL, [user("go")]), "before_request", Facts(now=1e9)).request
    assert marks(out)
    again = session.run(Request(MODEL, [*out.messages, says("ok")]), "after_response", Facts(now=1e9)).request
    assert again.messages == [user("go"), says("ok")]


LAWS = {
    "plain": pack("{place: newest_user, count: 2}", "{place: system}"),
    "with edits": pack(
        "{place: summary}",
        "{place: newest_user, count: 3}",
        more="""\
  - {id: clear, kind: replace, select: {blocks: [tool_result], size: {chars: {above: 10}}}, keep: {newest: {items: 3}},
     text: "[cleared]"}
  - {id: shrink, kind: summarize, at: {before_request: {messages: {at_least: 16}}}, keep: {newest: {messages: 5}},
     text: "Summary of what came before."}
""",
    ),
    "with words": pack(
        "{place: newest_user, count: 2}",
        more='  - {id: ids, kind: attach, place: each, select: {origins: [user]}, from: [{text: "[{{ id }}]"}]}\n',
    ),
}


@pytest.mark.parametrize("name", LAWS)
@given(number=st.integers(0, 10_000))
@settings(max_examples=5, deadline=None)
def test_every_host_gets_the_same_bytes(name: str, number: int) -> None:
    played = {mode: play(engine_of(LAWS[name]), number, mode) for mode in MODES}
    assert played["keeps"].bodies == played["feeds back"].bodies
    assert played["keeps"].bodies == played["restarts"].bodies
    assert played["keeps"].bodies == played["both"].bodies
    for host in played.values():
        for body in host.bodies:
            assert 1 <= body.count('"cache_control"') <= 4


def host_marks(draw: Any, messages: list[Any]) -> None:
    for message in messages:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if draw(st.integers(0, 3)) == 0:
                block["cache_control"] = draw(
                    st.sampled_from([{"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}])
                )


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_never_more_than_four_and_the_hosts_always_stay(data: Any) -> None:
    messages = talk(data.draw(st.integers(1, 5)))
    some = messages[-4:] if data.draw(st.booleans()) else messages[:4]
    host_marks(data.draw, some)
    own: Mapping[str, Any] = marks(Request(MODEL, messages))
    wishes = data.draw(
        st.lists(
            st.builds(
                "{{place: {}, count: {}, ttl: {}}}".format,
                st.sampled_from(["tools", "system", "newest_user", "summary"]),
                st.integers(1, 2),
                st.sampled_from(["5m", "1h"]),
            ),
            min_size=1,
            max_size=2,
        )
    )
    found = marks(sent(pack(*wishes), messages, system="Go.", tools=TOOLS).request)
    if len(own) <= 4:
        assert own.items() <= found.items()
    assert len(found) <= 4
    lives = list(found.values())
    if list(own.values()) == sorted(own.values()):
        assert lives == sorted(lives), "1h before 5m"
