from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from tests.scenes import Ports, Session, bash, calls, image, read, results, says, user
from tests.strategies import conversations
from tests.strict_api import problems

from trimtab.conversation.edits import Insert, New, Spot
from trimtab.conversation.request import Info
from trimtab.effects import EffectFailed
from trimtab.facts import Facts, ManualRequest
from trimtab.policy.proposal import Cover
from trimtab.tokens.estimate import estimate

TOOLS = {"read": ["Read"], "shell": ["Bash"]}
FACTS = {
    "files": {"key": "path", "from": [{"tools": ["read"], "take": {"path": "/file_path"}}]},
    "commands": {"from": [{"tools": ["shell"], "take": {"command": "/command"}}]},
}
OLD = {"age": {"turns": {"at_least": 1}}}


def session(*messages: Any, **more: Any) -> Session:
    return Session(list(messages), tools=TOOLS, fact_rules=FACTS, **more)


def dropping(select: Any = OLD, **more: Any) -> dict[str, Any]:
    return {"kind": "drop", "select": select, **more}


def two_turns(**more: Any) -> Session:
    return session(
        user("Find the leak. " * 20),
        *read("a", "/x/a.py", "text " * 100),
        *bash("b", "make", "log " * 100),
        says("It is in a.py."),
        user("Mend it."),
        *bash("c", "git status", "clean"),
        **more,
    )


# --- messages


def test_messages_go_and_a_text_is_left_at_the_gap() -> None:
    s = two_turns()
    proposal = s.run(
        dropping(text="[{{ removed.messages }} messages of {{ removed.rounds }} rounds removed]")
    )
    assert s.texts[0] == "[6 messages of 3 rounds removed]"
    assert s.texts[1] == "Mend it."
    assert s.items[0].origin == "note"
    assert proposal.items == 6


def test_without_a_text_nothing_is_left() -> None:
    s = two_turns()
    s.run(dropping())
    assert s.texts == ["Mend it.", "Bash({'command': 'git status'})", "clean"]


def test_the_text_may_name_files_commands_and_the_users_words() -> None:
    s = two_turns()
    s.run(
        dropping(text="{{ removed.files | join }} {{ removed.commands | join }} {{ removed.texts | length }}")
    )
    assert s.texts[0] == "/x/a.py make 1"


def test_a_selected_message_takes_its_whole_round_along() -> None:
    s = two_turns()
    s.run(dropping({"tools": ["read"]}, text="[gone]"))
    assert s.texts[1] == "[gone]"
    assert s.texts[2] == "Bash({'command': 'make'})"


def test_parallel_calls_and_all_their_results_are_one_round() -> None:
    s = session(
        user("go"),
        calls(("a", "Read", {"file_path": "/a"}), ("b", "Bash", {"command": "ls"})),
        results(("a", "a" * 300)),
        results(("b", "b" * 300)),
        user("next"),
    )
    s.run(dropping({"tools": ["shell"], "origins": ["tool"]}))
    assert s.texts == ["go", "next"]


def test_neighbouring_rounds_are_one_gap_and_apart_ones_several() -> None:
    s = session(
        user("go"),
        *bash("a", "1", "x" * 300),
        *bash("b", "2", "x" * 300),
        *read("c", "/keep", "k" * 300),
        *bash("d", "3", "x" * 300),
        user("next"),
    )
    s.run(dropping({"tools": ["shell"]}, text="[{{ removed.commands | join(' ') }}]"))
    assert s.texts == ["go", "[1 2]", "Read({'file_path': '/keep'})", "k" * 300, "[3]", "next"]


def test_what_must_stay_keeps_its_round() -> None:
    s = session(user("go"), *bash("a", "1", "x" * 300), *bash("b", "2", "x" * 300), user("next"))
    s.known[3] = Info(pinned=True)
    s.run(dropping({"origins": ["assistant"]}))
    assert s.texts == ["go", "Bash({'command': '1'})", "x" * 300, "next"]


def test_a_round_of_which_a_part_is_kept_stays() -> None:
    s = session(user("go"), *bash("a", "1", "x" * 300), *bash("b", "2", "x" * 300), user("next"))
    s.run(dropping({"origins": ["assistant", "tool"]}, keep={"newest": {"items": 1}}))
    assert s.texts == ["go", "Bash({'command': '2'})", "x" * 300, "next"]


def test_the_last_user_message_and_the_open_round_stay() -> None:
    s = session(user("go"), *bash("a", "1", "x" * 300), user("next"), calls(("b", "Bash", {"command": "2"})))
    s.run(dropping({"origins": ["user", "assistant", "tool"]}))
    assert s.texts == ["next", "Bash({'command': '2'})"]


def test_when_every_round_must_stay_the_reason_says_so() -> None:
    s = session(user("go"), *bash("a", "1", "x" * 300), user("next"))
    s.known[3] = Info(pinned=True)
    proposal = s.propose(dropping({"origins": ["assistant"]}))
    assert proposal.edits == ()
    assert proposal.reason is not None
    assert "must stay" in proposal.reason


def test_a_gap_gets_no_text_that_is_larger_than_what_goes() -> None:
    s = session(user("go"), says("ok"), user("next"))
    proposal = s.run(dropping({"origins": ["assistant"]}, text="many words " * 40))
    assert s.texts == ["go", "next"]
    assert proposal.remarks == {"gaps_without_text": 1}


def test_a_later_gap_beside_an_older_note_takes_it_in_and_counts_on() -> None:
    s = two_turns()
    stage = dropping(text="[{{ removed.messages }} messages removed]")
    s.run(stage)
    s.append([says("Mended. " * 50), user("Thanks, now document it.")])
    s.run(stage)
    assert s.texts == ["[10 messages removed]", "Thanks, now document it."]


def test_notes_of_other_stages_stay() -> None:
    s = two_turns()
    s.run(dropping(text="[first]", id="one"))
    s.append([says("Mended. " * 50), user("Thanks.")])
    s.run(dropping(text="[second]", id="two"))
    assert s.texts == ["[first]", "[second]", "Thanks."]


def test_an_attachment_behind_a_dropped_message_goes_with_it_and_parts_no_gap() -> None:
    s = session(user("go"), *bash("a", "1", "x" * 300))
    s.run({"kind": "attach", "id": "todo", "from": [{"text": "Mind the list."}]})
    s.append([*bash("b", "2", "x" * 300), user("next")])
    assert "Mind the list." in s.texts
    s.run(dropping({"origins": ["assistant"]}, text="[{{ removed.messages }} gone]"))
    assert s.texts == ["go", "[4 gone]", "next"]


def test_an_attachment_inside_a_round_does_not_hold_it() -> None:
    s = session(
        user("go"),
        calls(("a", "Bash", {"command": "1"}), ("b", "Bash", {"command": "2"})),
        results(("a", "x" * 300)),
    )
    s.overlay = s.overlay.plus(1, [Insert(3, (New(99, user("Mind the list."), "attachment"),))])
    s.append([results(("b", "y" * 300)), user("next")])
    s.serial = 99
    assert s.texts[3] == "Mind the list."
    s.run(dropping({"origins": ["assistant"]}))
    assert s.texts == ["go", "next"]


def test_a_second_run_does_nothing() -> None:
    s = two_turns()
    s.run(dropping(text="[gone]"))
    before = s.texts
    assert s.run(dropping(text="[gone]")).edits == ()
    assert s.texts == before


def test_what_stages_brought_in_can_be_dropped_by_its_origin() -> None:
    s = session(user("go"), says("ok"))
    s.run({"kind": "attach", "id": "todo", "from": [{"text": "Mind the list."}]})
    s.append([user("next")])
    s.run(dropping({"origins": ["attachment"]}))
    assert s.texts == ["go", "ok", "next"]


def test_requested_messages_go_by_their_serial() -> None:
    s = two_turns()
    facts = Facts(request=ManualRequest(name="snip", messages=(4, 5)))
    s.run(dropping({"requested": True}, text="[{{ removed.messages }} removed on request]"), "manual", facts)
    assert "[2 removed on request]" in s.texts
    assert len(s.texts) == 8


# --- fit, store


def test_the_oldest_rounds_go_until_the_view_fits_with_its_notes() -> None:
    rounds = [m for n in range(8) for m in bash(f"t{n}", str(n), f"word {n} " * 100)]
    s = session(user("go"), *rounds, user("next"))
    target = s.scene().tokens - 2.5 * (s.path[1].total + s.path[2].total)
    s.run(dropping({"origins": ["assistant", "tool"]}, text="[gone]", fit={"per": "view", "tokens": target}))
    assert s.texts[:3] == ["go", "[gone]", "Bash({'command': '3'})"]
    assert s.scene().tokens <= target


def test_the_largest_go_first_if_order_says_so() -> None:
    s = session(user("go"), *bash("a", "1", "x " * 100), *bash("b", "2", "x " * 900), user("next"))
    target = s.scene().tokens - 50
    s.run(dropping({"origins": ["tool"]}, order="largest", fit={"per": "view", "tokens": target}))
    assert s.texts == ["go", "Bash({'command': '1'})", "x " * 100, "next"]


@pytest.mark.parametrize("apart", [False, True])
def test_results_go_until_those_of_one_message_of_the_api_fit(apart: bool) -> None:
    found = [(name, name * 300) for name in "abc"]
    answers = [results(one) for one in found] if apart else [results(*found)]
    s = session(
        user("go"), calls(*[(name, "Bash", {}) for name, _ in found]), *answers, says("ok"), user("next")
    )
    fit = {"per": "message", "chars": 600}
    s.run(dropping({"blocks": ["tool_result"]}, order="newest", fit=fit))
    assert "|".join(s.texts) == f"go|Bash({{}})|Bash({{}})|{'a' * 300}|{'b' * 300}|ok|next"


def test_a_call_and_its_result_count_each_to_its_own_message() -> None:
    found = [(name, name * 300) for name in "abc"]
    s = session(
        user("go"), calls(*[(n, "Bash", {"of": "x" * 300}) for n, _ in found]), results(*found), user("next")
    )
    fit = {"per": "message", "chars": 700}
    s.run(dropping({"blocks": ["tool_use", "tool_result"]}, fit=fit))
    assert [text.count("|") for text in s.texts] == [0, 1, 1, 0]


def test_a_view_that_fits_is_left_alone() -> None:
    proposal = two_turns().propose(dropping(fit={"per": "view", "tokens": 100_000}))
    assert proposal.edits == ()
    assert proposal.reason == "the view fits"


def test_dropped_messages_are_stored_whole_before_they_go() -> None:
    s = two_turns()
    proposal = s.run(dropping(text="[in {{ path }}]", store="dropped"))
    ((name, text),) = s.ports.store.texts.items()
    assert name.startswith("dropped/messages-1-6-")
    assert [json.loads(line) for line in text.splitlines()] == s.messages[:6]
    assert s.texts[0] == f"[in /store/{name}]"
    assert proposal.stored == {Spot(serial, 0): name for serial in range(1, 7)}


def test_a_write_that_fails_fails_the_stage_and_leaves_everything() -> None:
    s = two_turns(ports=Ports(store_fails=True))
    before = s.texts
    with pytest.raises(EffectFailed):
        s.run(dropping(store="dropped"))
    assert s.texts == before


def test_a_text_that_cannot_be_rendered_fails_the_stage() -> None:
    assert two_turns().propose(dropping(text="{{ removed.pages }}")).failure == "error"


# --- blocks


def thought(text: str = "hm " * 40) -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": "s"}


def test_thinking_of_a_message_goes_whole() -> None:
    first = {
        "role": "assistant",
        "content": [thought(), {"type": "redacted_thinking", "data": "z"}, {"type": "text", "text": "Yes."}],
    }
    s = session(user("go"), first, user("next"))
    proposal = s.run(dropping({"blocks": ["thinking"], **OLD}))
    assert s.texts == ["go", "Yes.", "next"]
    assert proposal.items == 2


def test_a_call_takes_its_result_along_and_the_result_its_call() -> None:
    for blocks in ["tool_use"], ["tool_result"]:
        s = session(
            user("go"),
            calls(("a", "Bash", {"command": "1"}), text="I look."),
            results(("a", "x" * 90)),
            user("next"),
        )
        proposal = s.run(dropping({"blocks": blocks}))
        assert s.texts == ["go", "I look.", "next"]
        assert proposal.items == 2


def test_thinking_behind_which_nothing_is_left_goes_with_its_call() -> None:
    use = calls(("a", "Bash", {"command": "1"}))["content"]
    for first in [
        [{"role": "assistant", "content": [thought(), *use]}],
        [
            {"role": "assistant", "content": [thought()]},
            {"role": "assistant", "content": use},
        ],
    ]:
        s = session(user("go"), *first, results(("a", "x" * 90)))
        proposal = s.run(dropping({"blocks": ["tool_use"]}))
        assert s.texts == ["go"]
        assert proposal.items == 3


def test_thinking_with_words_behind_it_stays() -> None:
    use = calls(("a", "Bash", {"command": "1"}))["content"]
    words = {"type": "text", "text": "I look."}
    s = session(
        user("go"), {"role": "assistant", "content": [thought("hm"), words, *use]}, results(("a", "x" * 90))
    )
    s.run(dropping({"blocks": ["tool_use"]}))
    assert s.texts == ["go", "hm|I look."]


def test_calls_whose_ids_are_used_again_are_told_apart() -> None:
    s = session(
        user("go"), *bash("x:0", "1", "x" * 90), user("on"), *bash("x:0", "2", "y" * 90), user("next")
    )
    s.run(dropping({"blocks": ["tool_result"], "age": {"turns": {"at_least": 2}}}))
    assert s.texts == ["go", "on", "Bash({'command': '2'})", "y" * 90, "next"]


def test_a_call_in_the_open_round_stays() -> None:
    s = session(
        user("go"),
        calls(("a", "Bash", {"command": "1"}), ("b", "Bash", {"command": "2"})),
        results(("a", "x")),
    )
    proposal = s.propose(dropping({"blocks": ["tool_use"]}))
    assert [edit.spots for edit in proposal.edits if hasattr(edit, "spots")] == [(Spot(2, 0), Spot(3, 0))]


def test_a_call_of_which_the_result_is_kept_stays() -> None:
    s = session(user("go"), *bash("a", "1", "x" * 90), *bash("b", "2", "y" * 90), user("next"))
    s.known[3] = Info(pinned=True)
    s.run(dropping({"blocks": ["tool_use"]}))
    assert s.texts == ["go", "Bash({'command': '1'})", "x" * 90, "next"]


def test_a_text_stands_where_blocks_went_if_it_is_smaller() -> None:
    message = {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "I look."},
            calls(("a", "Bash", {"command": "c" * 200}))["content"][0],
        ],
    }
    s = session(user("go"), message, results(("a", "x" * 90)), user("next"))
    s.run(dropping({"blocks": ["tool_use"]}, text="[ran {{ removed.commands | length }}]"))
    assert s.texts == ["go", "I look.|[ran 1]", "next"]


def test_images_can_be_dropped() -> None:
    s = session(
        {"role": "user", "content": [image(), {"type": "text", "text": "See?"}]}, says("Yes."), user("next")
    )
    s.run(dropping({"blocks": ["image"]}))
    assert s.texts == ["See?", "Yes.", "next"]


def test_dropped_blocks_are_stored_by_their_ids() -> None:
    s = session(user("go"), *bash("a", "1", "x" * 90), user("next"))
    proposal = s.run(dropping({"blocks": ["tool_result"]}, store="gone"))
    assert sorted(s.ports.store.texts.values()) == sorted(['{\n "command": "1"\n}', "x" * 90])
    assert set(proposal.stored) == {Spot(2, 0), Spot(3, 0)}
    assert all(name.startswith("gone/a-") for name in proposal.stored.values())


def test_only_as_many_blocks_go_as_the_view_needs() -> None:
    rounds = [m for n in range(4) for m in bash(f"t{n}", str(n), f"word {n} " * 100)]
    s = session(user("go"), *rounds, user("next"))
    target = s.scene().tokens - 50
    proposal = s.run(dropping({"blocks": ["tool_result"]}, fit={"per": "view", "tokens": target}))
    assert proposal.items == 2
    assert s.scene().tokens <= target


# --- laws


@hypothesis_settings(max_examples=60)
@given(
    conversations(),
    st.sampled_from(
        [
            {"origins": ["assistant"]},
            {"origins": ["tool"]},
            {"origins": ["user"]},
            {"age": {"messages": {"at_least": 3}}},
            {"blocks": ["tool_use"]},
            {"blocks": ["thinking"]},
            {"blocks": ["text"], "origins": ["assistant"]},
        ]
    ),
    st.sampled_from([None, "[gone]", "a note of quite a few words that is larger than most"]),
)
def test_what_is_left_is_a_valid_request_of_untouched_messages(
    messages: list[Any], select: dict[str, Any], text: str | None
) -> None:
    given_ = copy.deepcopy(messages)
    stage = dropping(select, **({"text": text} if text else {}))
    s = Session(list(messages), model="claude-3-5-haiku-20241022")
    items = s.items
    proposal = s.run(stage)
    assert messages == given_
    for edit in proposal.edits:
        if isinstance(edit, Cover) and edit.drafts:
            assert estimate(edit.drafts[0].message["content"]) < sum(
                i.total for i in items[edit.start : edit.stop]
            )
    # A list that ends with the assistant is mended when the request is sent, not here.
    ended = [user("Go on.")]
    before = {problem.text for problem in problems([*messages, *ended])}
    assert [problem for problem in problems([*s.shown, *ended]) if problem.text not in before] == []
    assert s.run(stage).items == 0
