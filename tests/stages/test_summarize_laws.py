"""What holds of a summary over any conversation, keep and composition."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.scenes import Session
from tests.strategies import conversations, with_loose_ends
from tests.strict_api import problems

from trimtab.conversation.items import is_genuine
from trimtab.conversation.request import Info
from trimtab.facts import text_of
from trimtab.tokens.models import lookup

MODEL = lookup("claude-sonnet-4-5")
USERS = {"part": "messages", "select": {"origins": ["user"]}}
WORK = {"part": "messages", "select": {"origins": ["assistant", "tool"]}}
SUMMARY = {"part": "summary"}
FRONT, BACK = {"part": "text", "text": "F"}, {"part": "text", "text": "B", "role": "assistant"}

measures = st.one_of(
    st.builds(lambda unit, n: {unit: n}, st.sampled_from(["rounds", "turns", "messages"]), st.integers(0, 4)),
    st.builds(lambda n: {"tokens": {"at_most": n}}, st.integers(0, 400)),
)
keeps = st.dictionaries(st.sampled_from(["oldest", "newest"]), measures, max_size=2).map(
    lambda keep: {"keep": keep} if keep else {}
)
compositions = st.sampled_from(
    [
        [SUMMARY],
        [USERS, SUMMARY],
        [SUMMARY, USERS],
        [
            {**USERS, "keep": {"newest": {"tokens": {"at_most": 40}}}, "partial": True, "gap": "[gap]"},
            SUMMARY,
        ],
        [{**WORK, "keep": {"newest": {"messages": 3}}}, SUMMARY],
        [FRONT, {"part": "head"}, SUMMARY, {"part": "tail"}],
        [SUMMARY, BACK],
    ]
)
ways = st.one_of(
    st.builds(
        lambda keep, compose, cut: {**keep, "compose": compose, "cut_at": cut},
        keeps,
        compositions,
        st.sampled_from(["rounds", "turns"]),
    ),
    st.builds(lambda keep, n: {**keep, "spans": {"rounds": n}}, keeps, st.integers(1, 3)),
)


def users(s: Session) -> list[str]:
    return [text_of(item.message.get("content")) for item in s.items if is_genuine(item)]


def broken(s: Session) -> list[Any]:
    return problems(
        s.shown,
        prefill=MODEL.prefill,
        system_messages=MODEL.inner_system,
        thinking=MODEL.thinking,
        unfinished=True,
    )


@given(st.one_of(conversations(), with_loose_ends()), ways, st.sets(st.integers(0, 12), max_size=2))
@settings(max_examples=150, deadline=None)
def test_a_view_stays_valid_pins_and_the_last_user_message_stay_and_runs_come_to_rest(
    messages: list[Any], way: dict[str, Any], pins: set[int]
) -> None:
    infos = [Info(pinned=True) if at in pins else None for at in range(len(messages))]
    s = Session(messages, infos=infos)
    before, last, bad = users(s), s.scene().view.last_user, len(broken(s))
    newest = None if last is None else text_of(s.items[last].message.get("content"))
    stage = {"kind": "summarize", "text": "S", **way}
    s.run(stage)
    after = users(s)
    assert len(broken(s)) <= bad
    if newest is not None:
        assert newest in after
    assert all(text in before or "left out" in text for text in after)
    shown = {item.serial for item in s.items}
    assert all(at + 1 in shown for at in pins if at < len(messages) and s.path[at].chars)
    # A keep that counts what was composed in front may give up a message a run: that is progress, and ends.
    assert not all(s.run(stage).edits for _ in range(len(messages) + 2))


@given(conversations(), keeps)
@settings(max_examples=60, deadline=None)
def test_a_writer_is_asked_a_valid_request(messages: list[Any], keep: dict[str, Any]) -> None:
    s = Session(messages)
    s.ports.answers.append("S")
    s.run({"kind": "summarize", "prompt": "Sum it up.", **keep})
    for ask in s.ports.questions:
        request = ask.question.request
        assert request is not None
        sent = [*request.messages, {"role": "user", "content": ask.question.prompt}]
        bad = problems(
            sent, prefill=MODEL.prefill, system_messages=MODEL.inner_system, thinking=MODEL.thinking
        )
        assert not bad
