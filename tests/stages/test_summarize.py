from __future__ import annotations

from typing import Any

import pytest
from tests.scenes import Making, Ports, Session, bash, calls, results, says, stage_of, unfenced, user, work

from trimtab.conversation.request import Info
from trimtab.effects import Effect, EffectFailed, Hook, HookReply
from trimtab.facts import Facts, ManualRequest
from trimtab.policy.proposal import Cover, Proposal
from trimtab.stages.summarize import Summarize
from trimtab.templating import Renderer


def session(*messages: Any, **more: Any) -> Session:
    return Session([user("Find the leak."), *(messages or work("a", "b", "c", "d"))], **more)


def summary(**keys: Any) -> dict[str, Any]:
    """A summary that needs no model."""
    return {"kind": "summarize", "text": "What was done.", **keys}


def manual(**keys: Any) -> Facts:
    return Facts(request=ManualRequest(**keys))


def covered(proposal: Proposal) -> list[tuple[int, int]]:
    return [(edit.start, edit.stop) for edit in proposal.edits if isinstance(edit, Cover)]


# --- the range


def test_without_keep_the_whole_view_is_the_range_and_the_last_user_message_stands_before_the_summary() -> (
    None
):
    s = session()
    proposal = s.run(summary())
    assert s.texts == ["Find the leak.", "What was done."]
    assert [item.origin for item in s.items] == ["user", "summary"]
    assert proposal.items == 9
    assert proposal.remarks["direction"] == "whole"


def test_a_tail_of_whole_rounds_stays_word_for_word() -> None:
    s = session()
    before = s.shown[-4:]
    s.run(summary(keep={"newest": {"rounds": 2}}))
    assert s.texts[:2] == ["Find the leak.", "What was done."]
    assert s.shown[-4:] == before


def test_a_cut_inside_a_round_moves_to_where_more_is_kept() -> None:
    s = session()
    assert covered(s.propose(summary(keep={"newest": {"messages": {"at_least": 3}}}))) == [(0, 5)]


def test_a_cut_can_be_held_to_the_start_of_a_turn() -> None:
    s = session(*work("a", "b"), user("Now fix it."), *work("c", "d"))
    assert covered(s.propose(summary(keep={"newest": {"messages": {"at_least": 3}}}, cut_at="turns"))) == [
        (0, 5)
    ]


def test_a_head_stays_and_the_direction_says_so() -> None:
    s = session()
    proposal = s.run(summary(keep={"oldest": {"messages": 3}}, text="{{ direction }}"))
    assert covered(proposal) == [(3, 9)]
    assert s.texts[0] == "Find the leak."
    assert s.texts[-1] == "from"


def test_a_range_ends_before_a_user_message_that_nothing_was_done_for_yet() -> None:
    s = session(*work("a", "b"), says("Done."), user("Write a test too."))
    proposal = s.run(summary(text="{{ pending }}"))
    assert s.texts == ["Find the leak.", "Write a test too.", "Write a test too."]
    assert [item.origin for item in s.items] == ["user", "summary", "user"]
    assert "a message of the user that nothing was done for yet" in proposal.remarks["held_by"]


def test_all_unanswered_user_messages_stay_last() -> None:
    s = session(*work("a", "b"), user("One more thing."), user("And another."))
    s.run(summary())
    assert s.texts == ["Find the leak.", "What was done.", "One more thing.", "And another."]


def test_a_range_with_nothing_but_an_open_request_is_nothing() -> None:
    s = Session([user("Hello " * 400)])
    proposal = s.propose(summary())
    assert proposal == Proposal(
        reason="nothing to summarize: a message of the user that nothing was done for yet"
    )


def test_the_open_round_never_goes() -> None:
    s = session(*work("a", "b"), calls(("c", "Bash", {"command": "run c"})))
    proposal = s.propose(summary(), event="manual")
    assert covered(proposal) == [(0, 5)]
    assert "the open round" in proposal.remarks["held_by"]


def test_pinned_messages_split_the_range_and_only_the_last_part_gets_the_summary() -> None:
    pin = [None, None, None, Info(pinned=True), None]
    s = session(*work("a"), user("Never push."), *work("b"), infos=pin)
    proposal = s.run(summary())
    assert covered(proposal) == [(0, 3), (4, 6)]
    assert s.texts == ["Never push.", "What was done."]


def test_a_pinned_result_keeps_its_whole_round() -> None:
    s = session(infos=[*[None] * 4, Info(pinned=True)])
    assert covered(s.propose(summary())) == [(0, 3), (5, 9)]


def test_leading_system_messages_stay() -> None:
    s = Session([{"role": "system", "content": "Be brief."}, user("Go."), *work("a", "b")])
    assert covered(s.propose(summary())) == [(1, 6)]


def test_what_stages_made_goes_with_the_range() -> None:
    s = session()
    s.run(summary(keep={"newest": {"rounds": 1}}))
    s.append(work("e", "f"))
    s.run(summary(text="All of it."))
    assert s.texts == ["Find the leak.", "All of it."]


# --- nothing new


def test_a_second_run_does_nothing_and_asks_nobody() -> None:
    s = session()
    s.ports.answers.append("What was done.")
    s.run({"kind": "summarize", "prompt": "Sum it up."})
    asked = len(s.ports.questions)
    again = s.propose({"kind": "summarize", "prompt": "Sum it up."})
    assert again == Proposal(reason="nothing new since the last summary")
    assert len(s.ports.questions) == asked


def test_a_summary_alone_in_front_of_its_tail_is_nothing_new() -> None:
    s = session()
    s.run(summary(keep={"newest": {"rounds": 2}}))
    again = s.propose(summary(keep={"newest": {"rounds": 2}}))
    assert again.edits == ()
    assert again.reason == "nothing new since the last summary"


def test_an_empty_conversation_is_nothing() -> None:
    assert Session([]).propose(summary()).reason == "the conversation is empty"


# --- from and up to


def test_up_to_a_message_summarizes_what_comes_before_it() -> None:
    s = session(*work("a", "b"), user("Now fix it."), *work("c"))
    proposal = s.run(
        summary(text="{{ direction }}", keep={"newest": {"rounds": 99}}), "manual", manual(up_to=6)
    )
    assert covered(proposal) == [(0, 5)]
    assert s.texts[:3] == ["Find the leak.", "up_to", "Now fix it."]


def test_from_a_message_summarizes_what_comes_behind_it() -> None:
    s = session(*work("a", "b"), user("Now fix it."), *work("c"))
    proposal = s.run(summary(text="{{ direction }}"), "manual", manual(from_=6))
    assert covered(proposal) == [(5, 8)]
    assert s.texts[-2:] == ["Now fix it.", "from"]


def test_a_point_may_be_named_by_the_hosts_id() -> None:
    s = session(infos=[None, None, None, Info(id="m4")])
    assert covered(s.propose(summary(), "manual", manual(up_to="m4"))) == [(0, 3)]


def test_a_point_inside_a_round_moves_to_where_more_is_kept() -> None:
    s = session()
    assert covered(s.propose(summary(), "manual", manual(up_to=5))) == [(0, 3)]
    assert covered(s.propose(summary(), "manual", manual(from_=5))) == [(5, 9)]


def test_a_point_that_is_not_in_the_view_is_said_and_nothing_happens() -> None:
    s = session()
    proposal = s.propose(summary(), "manual", manual(up_to="gone"))
    assert proposal.reason == "the message 'gone' that `up_to` names is not in the view"


# --- gates before anything is paid


def test_no_model_is_asked_if_even_the_best_case_fails_accept() -> None:
    s = session()
    stage = {
        "kind": "summarize",
        "prompt": "Sum it up.",
        "accept": {"freed_tokens": {"at_least": 1_000_000}},
    }
    proposal = s.propose(stage)
    assert proposal.refused
    assert proposal.reason == "accept cannot hold, whatever is written"
    assert s.ports.effects == []


def test_a_template_that_is_no_smaller_than_its_source_is_refused() -> None:
    s = Session([user("Hi."), *bash("a", "ls", "ok")])
    proposal = s.propose(summary(text="word " * 200))
    assert proposal.refused
    assert proposal.reason is not None
    assert proposal.reason.startswith("larger:")
    assert proposal.calls == ()


def test_a_hook_may_veto_before_anything_is_asked() -> None:
    s = session(ports=Ports(hooks={"before_summary": HookReply(veto="the build is running")}))
    proposal = s.propose({"kind": "summarize", "prompt": "Sum it up."})
    assert proposal.refused
    assert proposal.reason == "vetoed: the build is running"
    assert s.ports.questions == []


def test_a_hook_hears_of_the_summary_and_what_it_says_is_remarked() -> None:
    s = session(ports=Ports(hooks={"after_summary": HookReply(text="Branch: main")}))
    proposal = s.propose(summary())
    assert proposal.remarks["hook_results"] == "Branch: main"
    assert Hook("after_summary", "stage", "What was done.") in s.ports.effects


class BrokenHooks(Ports):
    """Hooks that fail at one moment."""

    moment = "after_summary"

    def perform(self, effect: Effect) -> Any:
        if isinstance(effect, Hook) and effect.moment == self.moment:
            raise RuntimeError("no such script")
        return super().perform(effect)


def test_a_hook_that_fails_after_the_summary_only_warns() -> None:
    s = session(ports=BrokenHooks())
    proposal = s.run(summary())
    assert s.texts[-1] == "What was done."
    assert [notice.level for notice in proposal.notices] == ["warning"]
    assert "no such script" in proposal.notices[0].text


def test_a_hook_that_fails_before_the_summary_fails_the_stage_for_it_might_have_said_no() -> None:
    ports = BrokenHooks()
    ports.moment = "before_summary"
    s = session(ports=ports)
    with pytest.raises(EffectFailed, match="no such script"):
        s.propose({"kind": "summarize", "prompt": "Sum it up."})
    assert s.ports.questions == []


def test_notes_that_nobody_has_written_cannot_be_used_and_the_reason_says_so() -> None:
    proposal = session().propose({"kind": "summarize", "notes": "memory"})
    assert proposal.edits == ()
    assert proposal.reason == "`memory` has written nothing yet"


# --- spans


def test_spans_put_a_text_of_its_own_in_each_pieces_place() -> None:
    s = session(*work("a", "b", "c", "d", "e"))
    stage = summary(text="piece", spans={"rounds": 2}, keep={"newest": {"rounds": 1}})
    proposal = s.run(stage)
    assert covered(proposal) == [(0, 5), (5, 9)]
    assert s.texts[:3] == ["Find the leak.", "piece", "piece"]
    assert s.items[1].origin == "summary"


def test_spans_stop_as_soon_as_the_view_fits() -> None:
    s = session(*work("a", "b", "c", "d", "e", "f"))
    limit = s.scene().tokens - 100
    stage = summary(text="piece", spans={"rounds": 1}, fit={"per": "view", "tokens": limit})
    assert covered(s.propose(stage)) == [(0, 3)]


def test_spans_do_nothing_where_the_view_fits_already() -> None:
    stage = summary(text="piece", spans={"rounds": 1}, fit={"per": "view", "tokens": 100_000})
    proposal = session().propose(stage)
    assert proposal.edits == ()
    assert proposal.reason is not None
    assert proposal.reason.startswith("it fits:")


def test_earlier_spans_are_left_where_they_stand() -> None:
    s = session(*work("a", "b", "c"))
    stage = summary(text="piece", spans={"rounds": 1}, keep={"newest": {"rounds": 1}})
    s.run(stage)
    s.append(work("d"))
    proposal = s.run(stage)
    assert len(covered(proposal)) == 1
    assert s.texts.count("piece") == 3


def test_what_earlier_spans_cost_is_kept_when_a_later_one_fails() -> None:
    s = session(*work("a", "b", "c"))
    s.ports.answers.append("First piece.")
    stage = {"kind": "summarize", "prompt": "Sum it up.", "spans": {"rounds": 1}}
    proposal = s.run(stage)
    assert covered(proposal) == [(0, 3)]
    assert proposal.remarks["stopped"].startswith("unavailable:")
    assert [call.problem for call in proposal.calls] == [None, "unavailable"]


def test_a_span_is_told_what_came_before() -> None:
    s = session(*work("a", "b"))
    s.ports.answers += ["First piece.", "Second piece."]
    s.run({"kind": "summarize", "prompt": "Before: {{ previous }}.", "spans": {"rounds": 1}})
    assert [unfenced(question.question.prompt).split("\n")[0] for question in s.ports.questions] == [
        "Before: .",
        "Before: First piece..",
    ]


# --- store


def test_the_range_is_stored_first_and_the_wrapper_gets_the_path() -> None:
    s = session()
    stage = summary(store="history", wrapper="{{ summary }} See {{ history_path }}")
    proposal = s.run(stage)
    assert len(s.ports.puts) == 1
    name = s.ports.puts[0].name
    assert name.startswith("history/stage-")
    assert s.texts[-1] == f"What was done. See /store/{name}"
    assert "[user]\nFind the leak." in s.ports.puts[0].text
    assert '[assistant calls Bash]\n{"command": "run a"}' in s.ports.puts[0].text
    assert set(proposal.stored.values()) == {name}


def test_a_store_that_fails_only_warns() -> None:
    s = session(ports=Ports(store_fails=True))
    proposal = s.run(summary(store="history"))
    assert proposal.edits
    assert proposal.stored == {}
    assert [notice.level for notice in proposal.notices] == ["warning"]
    assert "no space left" in proposal.notices[0].text


# --- building


@pytest.mark.parametrize(
    ("raw", "where"),
    [
        ({"spans": {"rounds": 1}, "compose": [{"part": "summary"}]}, ("compose",)),
        ({"compose": [{"part": "tail"}, {"part": "head"}]}, ("compose", 0)),
        ({"compose": [{"part": "head"}, {"part": "head"}]}, ("compose", 1)),
    ],
)
def test_a_composition_that_cannot_be_is_a_problem_of_the_pack(raw: Any, where: Any) -> None:
    make = Making(Renderer())
    Summarize.build({"text": "x", **raw}, make)
    assert [problem[0] for problem in make.problems] == [where]


def test_the_same_scene_gives_the_same_proposal() -> None:
    stage = stage_of(
        summary(compose=[{"part": "messages", "select": {"origins": ["user"]}}, {"part": "summary"}])
    )
    s = session()
    assert s.propose(stage) == s.propose(stage)


def test_results_without_words_do_not_break_anything() -> None:
    s = session(calls(("a", "Bash", {})), results(("a", None)), *work("b"))
    s.run(summary())
    assert s.texts[-1] == "What was done."
