"""The API's own context editing: what is declared on the request, and what the host has declared stays."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.scenes import Session, bash, says, user
from tests.session.hosts import MODEL
from tests.session.packs import engine_of

from trimtab import Facts, Info, Request
from trimtab.directives import edits_of, joined, merge

TOOL_USES = "clear_tool_uses_20250919"
THINKING = "clear_thinking_20251015"
COMPACT = "compact_20260112"
CATEGORIES = {"read": ["Read", "View*"], "shell": ["Bash"], "none": ["*_nowhere"]}


def session(**fields: Any) -> Session:
    return Session([user("go"), *bash("a", "ls", "x"), says("ok")], tools=CATEGORIES, **fields)


def declared(*edits: dict[str, Any], s: Session | None = None, facts: Facts | None = None) -> Any:
    """The edits that end up in the directive."""
    proposal = (s or session()).propose({"kind": "server_edits", "edits": list(edits)}, facts=facts)
    assert proposal.failure is None, proposal.reason
    value = proposal.directives.get("context_management")
    return value["edits"] if isinstance(value, dict) else value


def test_the_objects_come_out_as_the_api_takes_them() -> None:
    edits = [
        {"type": THINKING, "keep": {"type": "thinking_turns", "value": 1}},
        {
            "type": TOOL_USES,
            "trigger": {"type": "input_tokens", "value": 180000},
            "keep": {"type": "tool_uses", "value": 3},
            "clear_at_least": {"type": "input_tokens", "value": 5000},
            "clear_tool_inputs": False,
        },
        {
            "type": COMPACT,
            "trigger": {"type": "input_tokens", "value": 150000},
            "pause_after_compaction": False,
        },
    ]
    assert declared(*edits) == edits


def test_numbers_may_be_expressions_and_are_whole() -> None:
    s = session(settings={"clear_at": 100000.0}, limits={"auto": "0.3333 * clear_at"})
    (edit,) = declared({"type": TOOL_USES, "trigger": {"type": "input_tokens", "value": "auto"}}, s=s)
    assert edit["trigger"] == {"type": "input_tokens", "value": 33330}
    assert type(edit["trigger"]["value"]) is int


def test_a_number_without_a_value_fails_the_stage() -> None:
    text = HEAD + (
        "limits: {bad: messages - 100}\n"
        "stages: [{id: server, kind: server_edits,"
        " edits: [{type: clear_tool_uses_20250919, keep: {type: tool_uses, value: bad}}]}]\n"
    )
    outcome = engine_of(text).session().run(Request(MODEL, [user("go")]), "before_request", Facts())
    assert outcome.receipt.stage("server").verdict == "failed"
    assert outcome.request.extra == {}


def test_an_edit_whose_number_is_unlimited_is_left_out() -> None:
    edits = [{"type": TOOL_USES, "trigger": {"type": "input_tokens", "value": "unlimited"}}]
    proposal = session().propose({"kind": "server_edits", "edits": edits})
    assert proposal.directives == {}
    assert proposal.reason == f"{TOOL_USES}: its trigger is unlimited"


def test_unlimited_thinking_turns_are_all() -> None:
    assert declared({"type": THINKING, "keep": {"type": "thinking_turns", "value": "unlimited"}}) == [
        {"type": THINKING, "keep": "all"}
    ]


def test_categories_become_the_requests_tools_that_belong_to_them() -> None:
    tools = [{"name": name} for name in ("Bash", "ViewImage", "Read", "Edit")]
    s = session(request_tools=tools)
    (edit,) = declared(
        {"type": TOOL_USES, "exclude_tools": ["read"], "clear_tool_inputs": ["shell", "read"]}, s=s
    )
    assert edit["exclude_tools"] == ["ViewImage", "Read"]
    assert edit["clear_tool_inputs"] == ["Bash", "ViewImage", "Read"]


def test_without_such_tools_the_names_the_pack_spells_out_stand_there() -> None:
    (edit,) = declared({"type": TOOL_USES, "exclude_tools": ["read", "none"], "clear_tool_inputs": ["none"]})
    assert edit["exclude_tools"] == ["Read"]
    assert edit["clear_tool_inputs"] == []


def test_of_each_type_the_first_edit_whose_condition_holds_is_declared() -> None:
    edits = [
        {"type": THINKING, "keep": "all", "when": {"idle_minutes": {"below": 60}}},
        {"type": THINKING, "keep": {"type": "thinking_turns", "value": 1}},
    ]
    infos = [None, None, None, Info(at=0.0)]
    warm, cold = (declared(*edits, s=session(infos=infos), facts=Facts(now=60.0 * m)) for m in (5, 90))
    assert warm == [{"type": THINKING, "keep": "all"}]
    assert cold == [{"type": THINKING, "keep": {"type": "thinking_turns", "value": 1}}]


def test_no_condition_that_holds_is_nothing() -> None:
    proposal = session().propose(
        {"kind": "server_edits", "edits": [{"type": THINKING, "when": {"messages": {"above": 99}}}]}
    )
    assert (proposal.directives, proposal.reason) == ({}, "no edit's condition holds")


def test_thinking_is_listed_first_wherever_it_is_declared() -> None:
    assert [
        edit["type"] for edit in declared({"type": COMPACT}, {"type": TOOL_USES}, {"type": THINKING})
    ] == [
        THINKING,
        COMPACT,
        TOOL_USES,
    ]


def test_a_trigger_below_the_apis_least_is_raised_and_the_receipt_says_so() -> None:
    edits = [{"type": COMPACT, "trigger": {"type": "input_tokens", "value": 20000}}]
    proposal = session().propose({"kind": "server_edits", "edits": edits})
    assert proposal.directives["context_management"]["edits"][0]["trigger"]["value"] == 50000
    assert proposal.remarks["raised_to_least"] == 50000


def test_instructions_are_a_template() -> None:
    s = session(limits={"left": "12"})
    (edit,) = declared({"type": COMPACT, "instructions": "Keep {{ limits.left }} lines."}, s=s)
    assert edit["instructions"] == "Keep 12 lines."


def test_instructions_that_cannot_be_rendered_fail_the_stage() -> None:
    proposal = session().propose(
        {"kind": "server_edits", "edits": [{"type": COMPACT, "instructions": "{{ nobody }}"}]}
    )
    assert (proposal.failure, proposal.directives) == ("error", {})


def test_the_headers_an_edit_needs_are_named_for_the_host() -> None:
    proposal = session().propose({"kind": "server_edits", "edits": [{"type": COMPACT}, {"type": TOOL_USES}]})
    assert proposal.remarks["betas"] == ["compact-2026-01-12", "context-management-2025-06-27"]
    assert proposal.edits == ()


# --- through a session

HEAD = "format: 1\nname: server\nversion: 1.0.0\n"
PACK = (
    HEAD
    + """stages:
  - id: tools
    kind: server_edits
    edits: [{type: clear_tool_uses_20250919, keep: {type: tool_uses, value: 3}}]
  - id: more
    kind: server_edits
    edits: [{type: clear_thinking_20251015, keep: all}, {type: clear_tool_uses_20250919}]
"""
)
OURS = [
    {"type": THINKING, "keep": "all"},
    {"type": TOOL_USES, "keep": {"type": "tool_uses", "value": 3}},
]


def run(text: str, event: str = "before_request", **fields: Any) -> Any:
    request = Request(MODEL, [user("go")], **fields)
    before = copy.deepcopy(request)
    outcome = engine_of(text).session().run(request, event, Facts(now=1e9))
    assert request == before
    return outcome


def test_several_stages_declare_together() -> None:
    outcome = run(PACK, extra={"max_tokens": 9})
    assert outcome.request.extra == {"max_tokens": 9, "context_management": {"edits": OURS}}
    assert [stage.verdict for stage in outcome.receipt.stages] == ["done", "done"]
    assert outcome.receipt.totals.commits == 0


def test_what_the_host_declares_stays_and_is_extended() -> None:
    own = {"edits": [{"type": TOOL_USES, "keep": {"type": "tool_uses", "value": 9}}], "other": 1}
    outcome = run(PACK, extra={"context_management": own})
    assert outcome.request.extra["context_management"] == {"edits": [OURS[0], *own["edits"]], "other": 1}
    report = outcome.receipt.stage("tools")
    assert (report.verdict, report.reason) == ("nothing", f"{TOOL_USES}: the host declares one itself")


def test_a_host_that_sends_the_declaration_back_gets_the_same() -> None:
    first = run(PACK).request
    again = run(PACK, extra=json.loads(json.dumps(first.extra))).request
    assert again.extra == first.extra


@pytest.mark.parametrize(
    "own", ["auto", [{"type": "compaction", "compact_threshold": 5}], {"edits": "all"}, [1]]
)
def test_a_declaration_of_another_form_is_never_overwritten(own: Any) -> None:
    assert run(PACK, extra={"context_management": own}).request.extra == {"context_management": own}


def test_a_compaction_asked_for_by_the_host_takes_no_other_editing() -> None:
    outcome = run(PACK, extra={"compaction": {"type": "summarize"}})
    assert outcome.request.extra == {"compaction": {"type": "summarize"}}
    assert "a compaction of its own" in outcome.receipt.stage("tools").reason


RESPONSES = HEAD + (
    "stages: [{id: server, kind: server_edits, edits: [{type: compaction, compact_threshold: 1000 * 90},"
    " {type: clear_thinking_20251015}]}]\n"
)


def test_a_request_of_the_responses_api_gets_a_list() -> None:
    outcome = run(RESPONSES, format="openai-responses")
    assert outcome.request.extra == {
        "context_management": [{"type": "compaction", "compact_threshold": 90000}]
    }
    left = outcome.receipt.stage("server").remarks["left_out"]
    assert left == {THINKING: "not for a request in the format openai-responses"}


def test_no_api_gets_the_objects_of_another() -> None:
    outcome = run(RESPONSES)
    assert outcome.request.extra == {"context_management": {"edits": [{"type": THINKING}]}}
    assert run(RESPONSES, format="openai-chat").request.extra == {}


def test_a_declaration_alone_does_not_answer_an_overflow() -> None:
    outcome = run(PACK, "overflow")
    assert outcome.receipt.stage("tools").verdict == "done"
    assert not outcome.send


# --- laws of joining

EDITS = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from([THINKING, TOOL_USES, COMPACT, "later"]), "n": st.integers(0, 3)}
    ),
    max_size=4,
    unique_by=lambda edit: str(edit["type"]),
)


@given(EDITS, EDITS, EDITS)
@settings(max_examples=80)
def test_joining_keeps_the_first_of_each_type_and_may_be_repeated(a: Any, b: Any, c: Any) -> None:
    one, two, three = ({"edits": edits} for edits in (a, b, c))
    both = joined(one, two)
    found = edits_of(both)
    assert found is not None
    assert [edit for edit in a if edit not in found] == []
    assert sorted(edit["type"] for edit in found) == sorted({edit["type"] for edit in a + b})
    assert joined(both, two) == both
    known = edits_of(joined(joined(one, two), three))
    other = edits_of(joined(one, joined(two, three)))
    assert known is not None
    assert other is not None
    assert {edit["type"]: edit["n"] for edit in known} == {edit["type"]: edit["n"] for edit in other}


def test_other_fields_are_the_later_stages() -> None:
    into: dict[str, Any] = {"thinking": {"type": "enabled"}}
    merge(into, {"thinking": {"type": "disabled"}, "cache_marks": (1,)})
    merge(into, {"cache_marks": (2,)})
    assert into == {"thinking": {"type": "disabled"}, "cache_marks": (1, 2)}
