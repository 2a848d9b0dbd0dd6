from __future__ import annotations

import json
import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from tests.scenes import Making, Ports, Session, bash, calls, image, read, results, says, stage_of, user

from trimtab.conversation.request import Info
from trimtab.facts import Facts
from trimtab.stages import Attach
from trimtab.stages._budget import Limits
from trimtab.stages._records import without_numbers
from trimtab.stages._where import Where
from trimtab.templating import Renderer
from trimtab.tokens.estimate import estimate

TOOLS = {"read": ["Read"], "shell": ["Bash"]}
FACTS = {
    "files": {
        "key": "path",
        "from": [
            {
                "tools": ["read"],
                "take": {"path": "/file_path", "offset": "/offset"},
                "set": {"read": True},
            }
        ],
    }
}
NAMES = "{% for item in items %}{{ item.name }} {% endfor %}"
BODIES = (
    "{% for item in items %}<{{ item.path }}:{{ 'ref' if item.reference else item.content }}>{% endfor %}"
)


def session(*messages: Any, **more: Any) -> Session:
    more.setdefault("tools", TOOLS)
    return Session([user("go"), *messages], fact_rules=FACTS, **more)


def attaching(*entries: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"kind": "attach", "from": list(entries), **more}


def said(proposal: Any) -> str:
    assert len(proposal.edits) == 1, proposal
    return str(proposal.edits[0].message["content"])


# --- place and role


def test_entries_make_one_message_at_the_end_behind_the_results() -> None:
    s = session(*bash("a", "ls", "out"))
    proposal = s.run(attaching({"text": "First."}, {"text": "Second."}))
    assert s.shown[-1] == {"role": "user", "content": "First.\n\nSecond."}
    assert s.items[-1].origin == "attachment"
    assert proposal.items == 2


def test_nothing_is_put_between_a_call_and_its_result() -> None:
    s = session(calls(("a", "Bash", {"command": "1"}), ("b", "Bash", {"command": "2"})), results(("a", "x")))
    proposal = s.propose(attaching({"text": "Mind the list."}))
    assert proposal.edits == ()
    assert proposal.reason == "calls are waiting for their results"


def test_a_text_may_stand_at_the_start() -> None:
    s = session(says("ok"))
    s.run(attaching({"text": "Project notes."}, place="start"))
    assert s.texts == ["Project notes.", "go", "ok"]


def test_a_text_at_the_start_stands_behind_what_belongs_to_the_system_prompt() -> None:
    s = Session([{"role": "system", "content": "Be brief."}, user("go")], model="claude-opus-4-8")
    s.run(attaching({"text": "Project notes."}, place="start"))
    assert s.texts == ["Be brief.", "Project notes.", "go"]


def test_a_text_may_stand_behind_the_summary() -> None:
    s = Session([user("Summary so far."), *bash("a", "ls", "x")], infos=[Info(origin="summary")])
    s.run(attaching({"text": "The plan."}, place="after_summary"))
    assert s.texts[:2] == ["Summary so far.", "The plan."]
    assert session(says("ok")).propose(attaching({"text": "The plan."}, place="after_summary")).edits == ()


def test_a_text_for_the_system_prompt_is_given_once_and_stays() -> None:
    stage = attaching({"text": "Results may be cleared."}, place="system")
    s = Session([user("go")], model="claude-opus-4-8")
    assert s.propose(stage).reason == "`place: system` is for the event session_start"
    s.run(stage, "session_start")
    assert s.shown[0] == {"role": "system", "content": "Results may be cleared."}
    assert s.run(stage, "session_start").reason == "already part of the system prompt"


def test_a_text_may_have_the_role_system() -> None:
    proposal = session(says("ok")).propose(attaching({"text": "Note."}, role="system"))
    assert proposal.edits[0].message["role"] == "system"  # type: ignore[union-attr]  # a Place


def test_an_empty_view_gets_its_first_message() -> None:
    s = Session([])
    s.run(attaching({"text": "Hello."}))
    assert s.texts == ["Hello."]


# --- each


def test_every_message_selected_gets_its_number_once() -> None:
    stage = attaching({"text": "[id:{{ id }}]"}, place="each", select={"origins": ["user", "tool"]})
    s = session(*bash("a", "ls", "out"), user("next"))
    s.run(stage)
    assert s.texts == ["go\n[id:1]", "Bash({'command': 'ls'})", "out\n[id:3]", "next\n[id:4]"]
    assert s.run(stage).reason == "every message selected has it"
    s.append([says("ok"), user("more")])
    assert s.run(stage).items == 1
    assert s.texts[-1] == "more\n[id:6]"


def test_a_number_stands_behind_the_last_result_and_in_any_form_of_it() -> None:
    forms: list[Any] = ["text", [{"type": "text", "text": "part"}], [image()], None, []]
    s = session(*[m for n, content in enumerate(forms) for m in bash(f"t{n}", "x", content)])
    s.run(attaching({"text": "[id:{{ id }}]"}, place="each", select={"origins": ["tool"]}))
    assert s.texts[2::2] == ["text\n[id:3]", "part\n[id:5]", "image+[id:7]", "[id:9]", "[id:11]"]


def test_of_several_results_only_the_last_gets_the_number() -> None:
    s = session(calls(("a", "Bash", {}), ("b", "Bash", {})), results(("a", "one"), ("b", "two")))
    s.run(attaching({"text": "[id:{{ id }}]"}, place="each", select={"origins": ["tool"]}))
    assert s.texts[-1] == "one|two\n[id:3]"


def test_protected_messages_get_their_number_too() -> None:
    s = Session([user("pinned"), says("ok"), user("last")], infos=[Info(pinned=True)])
    s.run(attaching({"text": "[{{ id }}]"}, place="each", select={"origins": ["user"]}))
    assert s.texts == ["pinned\n[1]", "ok", "last\n[3]"]


def test_numbers_never_push_the_view_over_a_trigger_again() -> None:
    stage = attaching({"text": "[id:{{ id }}]"}, place="each", select={"origins": ["user"]})
    s = session(says("ok"))
    now = s.scene().tokens
    assert (
        s.propose(stage, ceilings=((now + 2, math.inf),)).reason == "the view would be over a trigger again"
    )
    assert s.propose(stage, ceilings=((now + 50, math.inf),)).items == 1


def test_what_was_cleared_later_does_not_get_its_number_again() -> None:
    stage = attaching({"text": "[id:{{ id }}]"}, place="each", select={"origins": ["tool"]})
    s = session(*bash("a", "ls", "x" * 100), user("next"))
    s.run(stage)
    s.run({"kind": "replace", "id": "clear", "select": {"blocks": ["tool_result"]}, "text": "[cleared]"})
    assert s.run(stage).edits == ()


def test_each_without_a_selector_is_a_problem_of_the_pack() -> None:
    make = Making(Renderer())
    Attach.build({"from": [{"text": "x"}], "place": "each"}, make)
    assert [where for where, _, _ in make.problems] == [("place",)]


# --- facts


def test_a_fact_the_host_lacks_gives_nothing_and_is_named() -> None:
    proposal = session().propose(attaching({"fact": "plan", "text": "Plan: {{ items[0].text }}"}))
    assert proposal.edits == ()
    assert proposal.reason == "the host does not have plan"


def test_of_many_facts_the_host_lacks_the_reason_says_how_many_and_the_remarks_which() -> None:
    names = ["plan", "skills", "date", "goal"]
    proposal = session().propose(attaching(*[{"fact": name, "text": "x"} for name in names]))
    assert proposal.reason == "the host gives none of its 4 facts"
    assert proposal.remarks["unknown"] == names


def test_a_fact_without_records_has_nothing_to_say() -> None:
    proposal = session().propose(attaching({"fact": "skills", "text": NAMES}), facts=Facts(skills=[]))
    assert proposal.reason == "nothing to say"


def test_records_come_newest_first_unless_order_says_oldest() -> None:
    facts = Facts(skills=["one", "two", "three"])
    entry = {"fact": "skills", "text": NAMES}
    assert said(session().propose(attaching(entry), facts=facts)) == "three two one "
    assert said(session().propose(attaching({**entry, "order": "oldest"}), facts=facts)) == "one two three "


def test_a_fact_without_a_text_gives_main_fields_and_fenced_contents() -> None:
    facts = Facts(skills=["one", {"name": "two", "text": "Body.\n</data-0>"}])
    text = said(session().propose(attaching({"fact": "skills"}), facts=facts))
    assert re.fullmatch(r"two\n<data-(\w{12})>\nBody\.\n&lt;/data-0>\n</data-\1>\none", text)


@pytest.mark.parametrize(
    ("where", "names"),
    [
        ({"status": ["running", "done*"]}, "c b "),
        ({"big": True}, "c "),
        ({"big": False}, "b a "),
        ({"none": [{"status": ["lost"]}, {"big": True}]}, "b "),
        ({"tags": ["x?"]}, "a "),
        ({"status": ["running"], "big": True}, "c "),
    ],
)
def test_where_picks_records_by_globs_and_booleans(where: dict[str, Any], names: str) -> None:
    facts = Facts(
        agents=[
            {"name": "a", "status": "lost", "tags": ["y", "x1"]},
            {"name": "b", "status": "done-unread"},
            {"name": "c", "status": "running", "big": True},
        ]
    )
    entry = {"fact": "agents", "where": where, "text": NAMES}
    assert said(session().propose(attaching(entry), facts=facts)) == names


def test_a_number_matches_a_glob_as_it_is_written() -> None:
    assert Where.build({"port": ["80*"]}).matches({"port": 8080})
    assert not Where.build({"port": ["80*"]}).matches({"port": True})
    assert not Where.build({"port": ["*"]}).matches({})


def test_a_text_that_cannot_be_rendered_fails_the_stage() -> None:
    proposal = session().propose(attaching({"text": "{{ nobody }}"}))
    assert proposal.failure == "error"
    assert proposal.reason is not None
    assert "nobody" in proposal.reason


# --- read


def test_files_are_read_from_disk_as_they_are_now() -> None:
    s = session(
        *read("a", "/a.py", "old"),
        *read("b", "/b.py", "old"),
        ports=Ports(files={"/a.py": "A", "/b.py": "B"}),
    )
    proposal = s.run(attaching({"fact": "files", "read": "disk", "text": BODIES}))
    assert said(proposal) == "</b.py:B></a.py:A>"


def test_a_file_that_cannot_be_read_is_left_out_or_a_reference() -> None:
    s = session(*read("a", "/a.py", "old"), *read("b", "/b.py", "old"), ports=Ports(files={"/a.py": "A"}))
    entry = {"fact": "files", "read": "disk", "text": BODIES}
    proposal = s.propose(attaching(entry))
    assert said(proposal) == "</a.py:A>"
    assert proposal.remarks["unreadable"] == {"files": ["/b.py"]}
    assert said(s.propose(attaching({**entry, "too_large": "reference"}))) == "</b.py:ref></a.py:A>"


def test_no_more_files_are_read_than_items_are_wanted() -> None:
    rounds = [m for n in range(9) for m in read(f"r{n}", f"/{n}", "old")]
    s = session(*rounds, ports=Ports(files={f"/{n}": str(n) for n in range(9)}))
    proposal = s.propose(attaching({"fact": "files", "read": "disk", "budget": {"items": 2}, "text": BODIES}))
    assert said(proposal) == "</8:8></7:7>"
    assert len(s.ports.effects) == 2
    assert proposal.remarks["left_out"] == {"files": ["/6", "/5", "/4", "/3", "/2", "/1", "/0"]}


def test_a_diff_shows_what_changed_since_the_transcript_read_the_file() -> None:
    listing = "     1→one\n     2→two\n     3→three\n"
    s = session(*read("a", "/a.py", listing), ports=Ports(files={"/a.py": "one\n2\nthree\n"}))
    text = said(s.propose(attaching({"fact": "files", "read": "diff", "text": BODIES})))
    assert text == "</a.py:--- /a.py\n+++ /a.py\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three>"


def test_a_file_that_did_not_change_gives_no_diff() -> None:
    s = session(*read("a", "/a.py", "one\ntwo"), ports=Ports(files={"/a.py": "one\ntwo\n"}))
    assert s.propose(attaching({"fact": "files", "read": "diff", "text": BODIES})).reason == "nothing to say"


def test_a_file_read_in_part_cannot_be_compared() -> None:
    part = [calls(("a", "Read", {"file_path": "/a.py", "offset": 40})), results(("a", "two"))]
    s = session(*part, ports=Ports(files={"/a.py": "one\ntwo\n"}))
    proposal = s.propose(attaching({"fact": "files", "read": "diff", "text": BODIES}))
    assert proposal.edits == ()
    assert proposal.remarks["unreadable"] == {"files": ["/a.py"]}


def test_a_diff_of_the_host_is_taken_as_it_is() -> None:
    facts = Facts(changed_files=[{"path": "/a.py", "diff": "-1\n+2"}])
    s = session()
    proposal = s.propose(attaching({"fact": "changed_files", "read": "diff", "text": BODIES}), facts=facts)
    assert said(proposal) == "</a.py:-1\n+2>"
    assert s.ports.effects == []


def test_line_numbers_go_only_if_every_line_has_one() -> None:
    assert without_numbers("  9→a\n 10→  b\n") == "a\n  b\n"
    assert without_numbers("1\ta\n2\tb") == "a\nb"
    assert without_numbers("1→a\nb") == "1→a\nb"


# --- budgets

LONG = "word and more of it " * 400


@pytest.mark.parametrize("too_large", ["truncate", "reference", "skip"])
def test_what_is_too_large_is_cut_named_or_skipped(too_large: str) -> None:
    files = {"/a": "short", "/b": LONG}
    s = session(*read("a", "/a", "x"), *read("b", "/b", "x"), ports=Ports(files=files))
    entry = {
        "fact": "files",
        "read": "disk",
        "budget": {"tokens_each": 500},
        "too_large": too_large,
        "text": BODIES,
    }
    proposal = s.propose(attaching(entry))
    text = said(proposal)
    assert text.endswith("</a:short>")
    if too_large == "truncate":
        assert "characters left out …]" in text
        assert text.startswith("</b:word and more")
        assert estimate(text) < 530
    else:
        assert text == ("</b:ref></a:short>" if too_large == "reference" else "</a:short>")
    assert proposal.remarks.get("left_out") == ({"files": ["/b"]} if too_large == "skip" else None)


def test_all_items_together_stay_within_the_budget_of_the_entry() -> None:
    files = {f"/{n}": LONG for n in range(4)}
    rounds = [m for n in range(4) for m in read(f"r{n}", f"/{n}", "x")]
    s = session(*rounds, ports=Ports(files=files))
    budget = {"tokens": 1.5 * estimate(LONG)}
    proposal = s.propose(attaching({"fact": "files", "read": "disk", "budget": budget, "text": BODIES}))
    text = said(proposal)
    assert estimate(text) <= budget["tokens"]
    assert text.startswith(f"</3:{LONG}></2:word")
    assert proposal.remarks["left_out"] == {"files": ["/1", "/0"]}


def test_what_the_template_adds_counts_for_the_budget() -> None:
    facts = Facts(skills=[{"name": "a", "text": LONG}])
    wordy = "Much ado about skills. " * 20 + "{{ items[0].content }}"
    entry = {"fact": "skills", "budget": {"tokens": 800}, "text": wordy}
    text = said(session().propose(attaching(entry), facts=facts))
    assert estimate(text) <= 800
    assert "left out" in text


def test_entries_that_do_not_fit_the_stage_are_left_out_and_named() -> None:
    facts = Facts(skills=[{"name": "a", "text": "s" * 300}], plan=[{"text": "p" * 300}])
    stage = attaching(
        {"fact": "skills", "too_large": "skip", "text": "{{ items[0].content }}"},
        {"fact": "plan", "too_large": "skip"},
        budget={"chars": 400},
    )
    proposal = session().propose(stage, facts=facts)
    assert said(proposal) == "s" * 300
    assert proposal.remarks["left_out"] == {"plan": ["p" * 79 + "…"]}


def test_a_text_without_a_fact_counts_for_the_budget_too() -> None:
    proposal = session().propose(attaching({"text": "t" * 300}, budget={"chars": 200}))
    assert proposal.reason == "nothing fits"


def test_the_last_entries_are_left_out_before_the_view_is_over_a_trigger_again() -> None:
    s = session(says("ok"))
    now = s.scene().tokens
    stage = attaching({"text": "First."}, {"text": "second " * 100}, {"text": "third " * 100})
    proposal = s.propose(stage, ceilings=((now + 50, math.inf),))
    assert said(proposal) == "First."
    assert list(proposal.remarks["left_out"]) == ["text#2", "text#1"]
    assert s.propose(stage, ceilings=((now + 2, math.inf),)).reason == "nothing fits"
    assert s.propose(stage, ceilings=((now + 1000, math.inf),)).items == 3


def test_a_view_still_over_the_trigger_is_at_least_not_pushed_back_to_where_it_was() -> None:
    s = session(says("ok"))
    now = s.scene().tokens
    stage = attaching({"text": "First."}, {"text": "second " * 100})
    assert said(s.propose(stage, ceilings=((1, now + 50),))) == "First."


def test_a_view_that_was_never_brought_under_the_trigger_holds_nothing_back() -> None:
    s = session(says("ok"))
    assert s.propose(attaching({"text": "First."}), ceilings=((1, 1),)).items == 1


@hypothesis_settings(max_examples=60)
@given(st.text(max_size=4000), st.integers(0, 1500), st.booleans())
def test_a_cut_text_keeps_its_ends_and_its_limit(text: str, tokens: int, head_only: bool) -> None:
    part = Limits(tokens_each=tokens).cut(text, estimate, head_only)
    if part is None:
        assert tokens < 100
    elif part != text:
        # Joints of the estimate may cost a token or two more than its parts.
        assert estimate(part) <= tokens + 4
        head, _, tail = part.partition("\n[… ")
        assert text.startswith(head)
        assert text.endswith(tail.partition("…]\n")[2])


# --- repeat


def test_always_says_it_again() -> None:
    s = session(says("ok"))
    stage = attaching({"text": "Mind the list."})
    s.run(stage)
    s.run(stage)
    assert s.texts.count("Mind the list.") == 2


def test_once_says_each_main_field_once() -> None:
    stage = attaching(
        {"fact": "queued_commands", "repeat": "once", "text": "{{ items | map('text') | join(',') }}"}
    )
    s = session(says("ok"))
    assert said(s.run(stage, facts=Facts(queued_commands=["stop"]))) == "stop"
    assert s.run(stage, facts=Facts(queued_commands=["stop"])).edits == ()
    assert said(s.run(stage, facts=Facts(queued_commands=["stop", "and test"]))) == "and test"


def test_what_did_not_fit_is_still_due() -> None:
    stage = attaching(
        {
            "fact": "queued_commands",
            "repeat": "once",
            "budget": {"items": 1},
            "order": "oldest",
            "text": "{{ items[0].text }}",
        }
    )
    s = session(says("ok"))
    facts = Facts(queued_commands=["one", "two"])
    assert [said(s.run(stage, facts=facts)) for _ in range(2)] == ["one", "two"]
    assert s.run(stage, facts=facts).edits == ()


def test_changed_says_it_when_the_text_differs() -> None:
    stage = attaching({"fact": "date", "repeat": "changed", "text": "Today is {{ items[0].date }}."})
    s = session(says("ok"))
    assert said(s.run(stage, facts=Facts(date="2030-01-01"))) == "Today is 2030-01-01."
    assert s.run(stage, facts=Facts(date="2030-01-01")).reason == "nothing to say"
    assert said(s.run(stage, facts=Facts(date="2030-01-02"))) == "Today is 2030-01-02."
    assert said(s.run(stage, facts=Facts(date="2030-01-01"))) == "Today is 2030-01-01."


def test_delta_says_what_came_and_went_since_it_was_last_told() -> None:
    stage = attaching(
        {
            "fact": "deferred_tools",
            "repeat": "delta",
            "order": "oldest",
            "text": "+{{ added | map('name') | join(',') }} -{{ removed | map('name') | join(',') }}",
        }
    )
    s = session(says("ok"))
    steps = [["A", "B"], ["A", "B"], ["B", "C"], ["B", "C"], [], ["A"]]
    heard = []
    for names in steps:
        proposal = s.run(stage, facts=Facts(deferred_tools=names))
        heard.append(said(proposal) if proposal.edits else None)
    assert heard == ["+A,B -", None, "+C -A", None, "+ -B,C", "+A -"]


STEPS = st.lists(st.sets(st.sampled_from("ABCD")), min_size=1, max_size=6)


@hypothesis_settings(max_examples=40)
@given(STEPS)
def test_all_deltas_together_tell_what_is_there_now(steps: list[set[str]]) -> None:
    text = "{% for o in added %}+{{ o.name }}{% endfor %}{% for o in removed %}-{{ o.name }}{% endfor %}"
    stage = attaching({"fact": "deferred_tools", "repeat": "delta", "text": text})
    s = session(says("ok"))
    known: set[str] = set()
    for names in steps:
        proposal = s.run(stage, facts=Facts(deferred_tools=sorted(names)))
        for sign, name in (
            zip(said(proposal)[::2], said(proposal)[1::2], strict=True) if proposal.edits else ()
        ):
            known = known | {name} if sign == "+" else known - {name}
        assert known == names


def test_a_summary_that_swallows_an_attachment_makes_it_due_again() -> None:
    stage = attaching({"fact": "date", "repeat": "changed"})
    facts = Facts(date="2030-01-01")
    s = session(says("ok"))
    s.run(stage, facts=facts)
    s.append([user("next")])
    s.run({"kind": "drop", "id": "cut", "select": {"age": {"turns": {"at_least": 1}}}})
    assert s.texts == ["next"]
    assert said(s.run(stage, facts=facts)) == "2030-01-01"


def test_an_attachment_that_was_cleared_is_due_again() -> None:
    stage = attaching({"fact": "memory", "repeat": "once"})
    facts = Facts(memory=[{"path": "/notes.md", "text": "Use tabs. " * 30}])
    s = session(says("ok"))
    s.run(stage, facts=facts)
    clear = {"kind": "replace", "id": "clear", "select": {"blocks": ["text"], "origins": ["attachment"]}}
    s.run({**clear, "text": "[cleared]"})
    assert s.texts[-1] == "[cleared]"
    assert s.run(stage, facts=facts).items == 1


def test_an_attachment_of_another_branch_has_told_nothing_here() -> None:
    stage = attaching({"fact": "date", "repeat": "changed"})
    facts = Facts(date="2030-01-01")
    s = session(says("ok"), user("more"), says("fine"))
    s.run(stage, facts=facts)
    del s.path[2:], s.messages[2:]
    assert "2030-01-01" not in s.texts
    assert s.run(stage, facts=facts).items == 1


def test_what_a_number_was_added_to_counts_as_told() -> None:
    stage = attaching({"fact": "date", "repeat": "changed"})
    facts = Facts(date="2030-01-01")
    s = session(says("ok"))
    s.run(stage, facts=facts)
    number = attaching({"text": "[id:{{ id }}]"}, id="ids", place="each", select={"origins": ["attachment"]})
    s.run(number)
    assert s.run(stage, facts=facts).edits == ()


def test_what_was_told_is_plain_json_by_entry() -> None:
    stage = attaching(
        {"fact": "skills", "repeat": "once"},
        {"fact": "skills", "repeat": "delta"},
        {"text": "Hello.", "repeat": "once"},
        {"text": "Always."},
    )
    proposal = session().propose(stage, facts=Facts(skills=["a", {"name": ["odd"]}]))
    told = proposal.remarks["told"]
    assert json.loads(json.dumps(told)) == told
    assert told == {
        "skills": {"keys": ['["odd"]', "a"]},
        "skills#1": {"added": ['["odd"]', "a"], "removed": []},
        "text#2": {"keys": [True]},
    }


def test_a_kind_that_attaches_neither_shrinks_nor_picks() -> None:
    params = stage_of(attaching({"text": "x"})).params
    assert params is not None
    assert (params.shrinks, params.picks, params.opaque) == (False, False, False)
