from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scenes import Making, Ports, Session, calls, says, stage_of, unfenced, user, words, work

from trimtab.conversation.edits import Rewrite, Spot
from trimtab.conversation.request import Info
from trimtab.effects import AskFailed, Reply, drive
from trimtab.policy.proposal import Proposal
from trimtab.policy.stage import Stage
from trimtab.records import Note, RunRecord
from trimtab.stages._notes import Budget, split, still_empty
from trimtab.stages.notes import Notes
from trimtab.templating import Renderer

HEADINGS = ("Title", "Current state")


def memory(**keys: Any) -> Stage:
    raw = {"id": "memory", "kind": "notes", "prompt": "Take notes. {{ previous }}", **keys}
    return stage_of(raw, Renderer())


def session(stage: Stage, *messages: Any, answers: Sequence[Any] = (), **more: Any) -> Session:
    shown = [user("Find the leak."), *(messages or work("a", "b", "c", "d"))]
    return Session(shown, stages=(stage,), ports=Ports(answers=list(answers)), **more)


def write(s: Session, event: str = "after_response") -> Proposal:
    """Let the session's stage write, and keep what it has written, as a run does."""
    stage = s.stages[0]
    assert isinstance(stage.params, Notes)
    scene = replace(s.scene(event), stage=stage)
    proposal = stage.params.propose(scene)
    if proposal.later is not None:
        proposal = drive(proposal.later.write(scene), s.ports.perform)
    s.runs += 1
    for note in proposal.notes:
        s.history.add(Note(stage.id, note.upto, note.store, s.runs, note.covers))
    s.history.add(RunRecord(s.runs, event))
    return proposal


def used(**keys: Any) -> dict[str, Any]:
    return {"id": "use", "kind": "summarize", "notes": "memory", **keys}


# --- writing


def test_notes_are_written_to_the_store_and_edit_nothing() -> None:
    s = session(memory(), answers=["What matters."])
    proposal = write(s)
    assert proposal.edits == ()
    assert [(note.upto, note.text) for note in proposal.notes] == [(9, "What matters.")]
    assert s.ports.store.get(proposal.notes[0].store) == "What matters."
    assert proposal.notes[0].store.startswith("notes/memory-")
    assert proposal.notes[0].reads == tuple(range(1, 10))


def test_only_what_is_new_makes_further_work() -> None:
    s = session(memory(), answers=["First."])
    write(s)
    proposal = write(s)
    assert proposal.reason == "nothing new since the last notes"
    assert proposal.later is None
    assert len(s.ports.questions) == 1


def test_the_notes_so_far_are_shown_to_the_next_writer_together_with_what_is_new() -> None:
    s = session(memory(input={"as": "text"}), answers=["First.", "Second."])
    write(s)
    s.append(work("e"))
    proposal = write(s)
    prompt = s.ports.questions[1].question.prompt
    assert unfenced(prompt).startswith("Take notes. First.")
    assert "run e" in prompt
    assert "run a" not in prompt
    assert proposal.notes[0].upto == 11


def test_as_it_is_the_writer_sees_the_whole_request_and_where_the_new_part_begins() -> None:
    s = session(memory(), answers=["First.", "Second."])
    write(s)
    s.append(work("e"))
    write(s)
    question = s.ports.questions[1].question
    assert question.request is not None
    assert list(question.request.messages) == s.messages
    assert "before the last 2 messages" in question.prompt


def test_a_request_that_is_too_long_is_put_with_less_by_the_stages_ladder() -> None:
    ladder = [{"remove": {"what": "rounds", "from": "oldest", "count": 1}, "times": 2}]
    failure = AskFailed("too_long", "too long")
    s = session(memory(input={"as": "text"}, ladder=ladder), answers=[failure, failure, "First."])
    proposal = write(s)
    asked = [one.question.prompt for one in s.ports.questions]
    lost = [[name for name in ("the leak", "run a", "run b") if name not in one] for one in asked]
    assert lost == [[], ["the leak"], ["the leak", "run a"]]
    assert [(call.rung, call.problem) for call in proposal.calls] == [
        (0, "too_long"),
        (1, "too_long"),
        (1, None),
    ]
    assert proposal.remarks["dropped"]


def test_what_is_kept_is_left_for_the_next_time() -> None:
    s = session(memory(keep={"newest": {"rounds": 1}}), answers=["First."])
    assert write(s).notes[0].upto == 7


def test_calls_without_results_are_not_noted_yet() -> None:
    open_call = calls(("e", "Bash", {"command": "run e"}))
    s = session(memory(), *work("a", "b"), open_call, answers=["First."])
    assert write(s).notes[0].upto == 5


def test_notes_whose_end_is_gone_are_written_anew_without_them() -> None:
    s = session(memory(), answers=["First.", "Second."])
    s.history.add(Note("memory", 99, "notes/other", 1))
    write(s)
    assert s.ports.questions[0].question.prompt.strip() == "Take notes."


def test_notes_whose_file_is_gone_are_written_anew_from_the_beginning() -> None:
    s = session(memory(input={"as": "text"}), answers=["First.", "Second."])
    write(s)
    s.ports.store.texts.clear()
    s.append(work("e"))
    write(s)
    assert "run a" in s.ports.questions[1].question.prompt


@pytest.mark.parametrize(
    "answer", ["# Title\n\n# Current state\n", "# Title\n_Take notes._\n# Current state"]
)
def test_an_answer_that_is_still_the_empty_template_is_no_notes(answer: str) -> None:
    stage = memory(prompt="Take notes. \n_Take notes._\n", expects={"sections": list(HEADINGS)})
    s = session(stage, answers=[answer])
    proposal = write(s)
    assert proposal.failure == "empty"
    assert proposal.notes == ()
    assert s.ports.puts == []


def test_a_model_that_is_not_there_is_a_failure_with_its_call() -> None:
    s = session(memory(), answers=[AskFailed("unavailable", "no model")])
    proposal = write(s)
    assert proposal.failure == "unavailable"
    assert [call.purpose for call in proposal.calls] == ["notes"]


def test_notes_may_be_longer_than_what_they_are_about() -> None:
    s = session(memory(), says("Done."), answers=["Long notes. " * 400])
    assert len(write(s).notes) == 1


def test_accept_that_can_never_hold_costs_no_call() -> None:
    s = session(memory(accept={"freed_tokens": {"at_least": 1}}), answers=["First."])
    assert write(s).refused
    assert s.ports.questions == []


def test_instructions_reach_the_prompt() -> None:
    stage = memory(prompt="Notes. {{ instructions }}", instructions=[{"text": "Names in full."}])
    s = session(stage, answers=["First."])
    write(s)
    assert "Names in full." in s.ports.questions[0].question.prompt


def test_a_stage_with_background_says_so() -> None:
    stage = memory(background=True)
    assert isinstance(stage.params, Notes)
    later = stage.params.propose(replace(session(stage).scene(), stage=stage)).later
    assert later is not None
    assert later.background


# --- using


def test_a_summary_from_notes_ends_where_the_notes_end() -> None:
    s = session(memory(), answers=["What matters."])
    write(s)
    s.append(work("e"))
    proposal = s.run(used())
    assert s.texts[:2] == ["Find the leak.", "What matters."]
    assert s.shown[2:] == s.messages[9:]
    assert proposal.calls == ()
    assert proposal.remarks["notes"] == {"stage": "memory", "upto": 9}


def test_keep_may_end_it_earlier_but_not_later() -> None:
    for rounds, stays in ((1, 2), (4, 8)):
        s = session(memory(), answers=["What matters."])
        write(s)
        s.append(work("e", "f")[:2])
        s.run(used(keep={"newest": {"rounds": rounds}}))
        assert s.shown[2:] == s.messages[-stays:]


def test_the_tail_reaches_back_until_both_minima_are_met() -> None:
    talk = [
        message for number in range(12) for message in (user(f"do {number}"), says(f"done {number} " * 400))
    ]
    s = session(memory(), *talk, answers=["What matters."])
    write(s)
    keep = {"newest": {"tokens": {"at_least": 3000, "at_most": 9000}, "text_messages": {"at_least": 5}}}
    s.run(used(keep=keep))
    tail = s.items[1:]
    assert sum(item.total for item in tail) >= 3000
    assert sum(item.total for item in tail) <= 9000
    assert len([item for item in tail if item.origin in ("user", "assistant")]) >= 5


def test_missing_notes_are_nothing_and_the_reason_says_so() -> None:
    assert session(memory()).propose(used()).reason == "`memory` has written nothing yet"


def test_notes_whose_end_is_not_on_the_path_are_out_of_date() -> None:
    s = session(memory())
    s.history.add(Note("memory", 99, "notes/other", 1))
    proposal = s.propose(used())
    assert proposal.edits == ()
    assert "not on this branch" in str(proposal.reason)


def test_notes_whose_file_is_gone_are_nothing() -> None:
    s = session(memory(), answers=["What matters."])
    write(s)
    s.ports.store.texts.clear()
    assert "not in the store" in str(s.propose(used()).reason)


def test_notes_that_are_still_the_empty_template_are_nothing() -> None:
    s = session(memory())
    s.ports.store.put("notes/old", "# Title\n\n# State\n")
    s.history.add(Note("memory", 9, "notes/old", 1))
    assert "empty template" in str(s.propose(used()).reason)


def test_what_notes_have_replaced_once_is_not_replaced_again_until_there_are_newer_ones() -> None:
    s = session(memory(input={"as": "text"}), answers=["First.", "First and second."])
    write(s)
    s.run(used())
    assert s.propose(used()).reason == "nothing new since the last summary"
    s.append(work("e"))
    assert s.propose(used()).reason == "nothing new since the last summary"
    write(s)
    s.run(used())
    assert s.texts == ["Find the leak.", "First and second."]
    assert "run a" not in s.ports.questions[1].question.prompt


def test_notes_no_smaller_than_what_they_replace_are_refused_without_a_failure() -> None:
    s = session(memory(), says("Done."), answers=["Long notes. " * 400])
    write(s)
    proposal = s.propose(used())
    assert proposal.refused
    assert proposal.failure is None


def test_oversized_sections_are_cut_when_used_and_kept_whole_in_the_store() -> None:
    text = "# Title\nA leak.\n# Files\n" + "src/module.py matters. " * 400 + "\n# End\nlast words\n"
    s = session(memory(budget={"tokens_each": 100}), *work("a", "b", "c", size=400), answers=[text])
    store = write(s).notes[0].store
    s.run(used())
    shown = s.texts[1]
    assert shown.startswith("# Title\nA leak.\n# Files\nsrc/module.py matters.")
    assert shown.endswith("# End\nlast words")
    assert "characters left out" in shown
    assert len(shown) < 1000
    assert s.ports.store.get(store) == text.strip()


def test_a_pinned_message_inside_stays() -> None:
    infos = [None, None, None, Info(pinned=True)]
    s = session(memory(), answers=["What matters."], infos=infos)
    write(s)
    s.run(used())
    assert s.messages[3] in s.shown
    assert "What matters." in s.texts


# --- a budget's cuts

texts = st.lists(
    st.tuples(st.sampled_from(["# A", "## B", "# C", "plain", "```", ""]), st.integers(0, 60)), max_size=8
).map(lambda lines: "\n".join(f"{line}\n{'word ' * size}" for line, size in lines))


@given(texts)
def test_sections_together_are_the_text(text: str) -> None:
    assert "".join(split(text, ())) == text
    assert "".join(split(text, HEADINGS)) == text


@given(texts, st.integers(0, 200), st.integers(0, 400))
def test_cut_notes_keep_their_headings_and_are_never_longer(text: str, each: int, whole: int) -> None:
    scene = session(memory()).scene()
    budget = Budget.build({"tokens": whole, "tokens_each": each}, Making(Renderer()))
    cut = budget.cut(text, (), scene)
    assert len(cut) <= len(text)
    before = [part.partition("\n")[0] for part in split(text, ()) if part.startswith("#")]
    assert set(before) <= set(cut.splitlines())
    sizes = [scene.count(part) for part in split(text, ())]
    if all(size <= each for size in sizes) and sum(sizes) <= whole:
        assert cut == text


@pytest.mark.parametrize(
    ("text", "empty"),
    [("", True), ("# A\n\n# B", True), ("# A\nsomething", False), ("Title:\nCurrent state:", True)],
)
def test_headings_alone_are_the_empty_template(text: str, empty: bool) -> None:
    assert still_empty(text, HEADINGS) == empty


def test_a_comment_in_a_code_block_begins_no_section() -> None:
    assert split("# A\n```\n# no heading\n```\n# B\n", ()) == ["# A\n```\n# no heading\n```\n", "# B\n"]


# --- spans


def drafted(**keys: Any) -> Stage:
    return memory(spans={"rounds": 2}, prompt="Record. {{ previous }}", **keys)


def test_each_full_span_gets_a_text_of_its_own_and_is_told_what_came_before() -> None:
    s = session(drafted(), *work("a", "b", "c", "d", "e"), answers=["One.", "Two."])
    proposal = write(s)
    assert [(note.covers, note.text) for note in proposal.notes] == [
        ((1, 2, 3, 4, 5), "One."),
        ((6, 7, 8, 9), "Two."),
    ]
    assert unfenced(s.ports.questions[1].question.prompt).startswith("Record. One.")


def test_a_span_is_written_about_once() -> None:
    s = session(drafted(), answers=["One.", "Two.", "Three."])
    write(s)
    assert write(s).reason == "no further span of 2 rounds"
    s.append(work("e", "f"))
    proposal = write(s)
    assert [note.covers for note in proposal.notes] == [(10, 11, 12, 13)]
    assert unfenced(s.ports.questions[2].question.prompt).startswith("Record. Two.")


def test_spans_written_before_one_failed_stand() -> None:
    s = session(drafted(), answers=["One.", Reply("cut", "max_tokens")])
    proposal = write(s)
    assert [note.text for note in proposal.notes] == ["One."]
    assert str(proposal.remarks["stopped"]).startswith("truncated")
    assert proposal.failure is None


def test_a_summary_puts_each_draft_in_its_own_place() -> None:
    s = session(drafted(), *work("a", "b", "c", "d", "e"), answers=["One.", "Two."])
    write(s)
    proposal = s.run(used(spans={"rounds": 2}))
    assert s.texts[:3] == ["Find the leak.", "One.", "Two."]
    assert s.shown[3:] == s.messages[9:]
    assert proposal.apart
    assert proposal.calls == ()


def test_drafts_are_put_in_place_until_the_view_fits() -> None:
    s = session(drafted(), answers=["One.", "Two."])
    write(s)
    limit = s.scene().tokens - 50
    s.run(used(spans={"rounds": 2}, fit={"per": "view", "tokens": limit}))
    assert s.texts[:2] == ["Find the leak.", "One."]
    assert s.shown[2:] == s.messages[5:]


def test_drafts_outside_the_range_wait() -> None:
    s = session(drafted(), answers=["One.", "Two."])
    write(s)
    s.run(used(keep={"newest": {"rounds": 2}}))
    assert s.texts[:2] == ["Find the leak.", "One."]
    assert s.shown[2:] == s.messages[5:]


def test_a_draft_of_messages_that_are_gone_is_not_used() -> None:
    s = session(drafted(), answers=["One.", "Two."])
    write(s)
    del s.path[3]
    s.run(used())
    assert s.texts[-1] == "Two."
    assert "One." not in s.texts


def test_a_draft_stands_although_its_results_were_cleared_meanwhile() -> None:
    s = session(drafted(), answers=["One.", "Two."])
    write(s)
    s.commit("clear", Proposal((Rewrite((Spot(3, 0),), {"content": "[cleared]"}),)))
    s.run(used())
    assert s.texts == ["Find the leak.", "One.", "Two."]


def test_words_of_drafts_reach_the_wrapper() -> None:
    s = session(drafted(), answers=["One.", "Two."])
    write(s)
    s.run(used(wrapper="Folded: {{ summary }} !"))
    assert s.texts[1:] == ["Folded: One. !", "Folded: Two. !"]


def test_a_draft_larger_than_its_span_is_passed_over() -> None:
    s = session(drafted(), answers=["One.", "Two."])
    note = write(s).notes[0]
    s.ports.store.put(note.store, "much longer " * 2000)
    s.run(used())
    assert "Two." in s.texts
    assert not any("much longer" in text for text in map(words, s.shown))


def test_the_words_of_every_kind_of_key_are_read() -> None:
    raw: Mapping[str, Any] = {
        "kind": "notes",
        "prompt": "Take notes.",
        "spans": {"rounds": 3},
        "budget": {"tokens": 10, "tokens_each": 5},
        "instructions": [{"from": "user"}],
        "background": True,
    }
    made = Making(Renderer())
    notes = Notes.build(raw, made)
    assert made.problems == []
    assert notes.spans is not None
    assert notes.spans.constant == 3
    assert notes.budget is not None
    assert notes.background
    assert not notes.opaque
