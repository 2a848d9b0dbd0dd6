"""What the server does to a context by itself: clearing, compaction by an edit and on demand (API-FACTS §2, §3)."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest
from tests.fake_api import call, compaction_unavailable, think
from tests.fake_api.fixture import Served, ServedApi
from tests.fake_api_tests.support import BOUND, TOOLS, ask_beta, assistant, error_of, result, text, use, user

CONTEXT = "context-management-2025-06-27"
EDIT = "compact-2026-01-12"
DEMAND = "compact-2026-09-04"
LONG = "word " * 300


def rounds(count: int, name: str = "Read") -> list[Any]:
    messages: list[Any] = [user("go")]
    for number in range(count):
        messages += [
            assistant(use(f"t{number}", name, path="x" * 30)),
            user([result(f"t{number}", LONG)]),
        ]
    return messages


def edited(api: ServedApi, *edits: Any, messages: Any = None, **more: Any) -> Any:
    asked = {"messages": messages or rounds(5), "context_management": {"edits": list(edits)}, **more}
    return ask_beta(api, CONTEXT, EDIT, model=BOUND, **asked)


def clearing(**more: Any) -> dict[str, Any]:
    return {"type": "clear_tool_uses_20250919", "trigger": {"type": "tool_uses", "value": 4}, **more}


def test_old_results_are_cleared_and_the_answer_says_how_many(fake_api: Served) -> None:
    answer = edited(fake_api(), clearing())
    (applied,) = answer.context_management.applied_edits
    assert (applied.type, applied.cleared_tool_uses) == ("clear_tool_uses_20250919", 2)
    assert applied.cleared_input_tokens > 800
    whole = edited(fake_api(), clearing(trigger={"type": "tool_uses", "value": 5}))
    assert whole.context_management.applied_edits == []
    assert whole.usage.input_tokens - answer.usage.input_tokens == applied.cleared_input_tokens


@pytest.mark.parametrize(
    ("edit", "cleared"),
    [
        (clearing(keep={"type": "tool_uses", "value": 1}), 4),
        (clearing(exclude_tools=["Read"]), 0),
        (clearing(clear_at_least={"type": "input_tokens", "value": 5000}), 0),
        ({"type": "clear_tool_uses_20250919"}, 0),
        (clearing(trigger={"type": "input_tokens", "value": 2000}), 2),
        (clearing(trigger={"type": "input_tokens", "value": 9000}), 0),
    ],
)
def test_the_parameters_of_clearing_are_kept(fake_api: Served, edit: Any, cleared: int) -> None:
    applied = edited(fake_api(), edit).context_management.applied_edits
    assert sum(one.cleared_tool_uses for one in applied) == cleared


def test_inputs_are_cleared_where_the_edit_says_so(fake_api: Served) -> None:
    def freed(inputs: Any) -> int:
        found = edited(fake_api(), clearing(clear_tool_inputs=inputs)).context_management.applied_edits
        return int(found[0].cleared_input_tokens)

    assert freed(True) == freed(["Read"]) > freed(["Write"]) == freed(False)


def test_thinking_is_cleared_but_of_the_last_turns(fake_api: Served) -> None:
    api = fake_api()
    messages: list[Any] = [user("go")]
    for number in range(3):
        api.script.append(think("hm " * 50, text(f"so {number}")))
        answer = ask_beta(api, CONTEXT, model=BOUND, messages=messages)
        messages += [
            {"role": "assistant", "content": [block.to_dict() for block in answer.content]},
            user("on"),
        ]
    for keep, turns in (({"type": "thinking_turns", "value": 1}, 2), ("all", 0)):
        edit = {"type": "clear_thinking_20251015", "keep": keep}
        applied = edited(api, edit, messages=messages).context_management.applied_edits
        assert sum(one.cleared_thinking_turns for one in applied) == turns


def test_counting_with_edits_tells_both_numbers(fake_api: Served) -> None:
    counted = fake_api().client().beta.messages.count_tokens(
        model=BOUND, messages=rounds(5), context_management={"edits": [clearing()]}, betas=[CONTEXT]
    )  # fmt: skip
    assert counted.context_management is not None
    assert counted.context_management.original_input_tokens - counted.input_tokens > 800


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        ([{"type": "clear_all"}], "context_management.edits.0: Input tag 'clear_all'"),
        ([clearing(force=True)], "clear_tool_uses_20250919.force: Extra inputs are not permitted"),
        (
            [clearing(), {"type": "clear_thinking_20251015"}],
            "edits.1: clear_thinking_20251015 must be listed",
        ),
        (
            [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 49_999}}],
            "edits.0.trigger.value: Input should be greater than or equal to 50000",
        ),
    ],
)
def test_edits_the_api_does_not_take_are_refused(fake_api: Served, edits: Any, words: str) -> None:
    error = error_of(fake_api(), CONTEXT, EDIT, context_management={"edits": edits})
    assert words in str(error.api_message)


# --- compaction by an edit

BIG = "word " * 40_000
COMPACT = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50_000}}


def test_a_long_context_is_compacted_before_the_answer(fake_api: Served) -> None:
    api = fake_api(think("hm", text("so")))
    answer = edited(api, COMPACT, messages=[user(BIG)])
    assert [block.type for block in answer.content] == ["compaction", "thinking", "text"]
    assert answer.content[0].content == api.summary
    assert [one.type for one in answer.usage.iterations] == ["compaction", "message"]
    assert answer.usage.input_tokens < 100 < 50_000 < answer.usage.iterations[0].input_tokens
    said = {"role": "assistant", "content": [block.to_dict() for block in answer.content]}
    for kept in ([user(BIG), said, user("and")], [said, user("and")]):
        again = edited(api, COMPACT, messages=kept)
        assert [block.type for block in again.content] == ["text"]
        assert again.usage.input_tokens < 100


def test_it_can_pause_with_nothing_but_the_summary(fake_api: Served) -> None:
    api = fake_api("not said")
    answer = edited(api, {**COMPACT, "pause_after_compaction": True}, messages=[user(BIG)])
    assert ([block.type for block in answer.content], answer.stop_reason) == (["compaction"], "compaction")
    assert (answer.usage.input_tokens, len(answer.usage.iterations)) == (0, 1)


def test_below_the_trigger_nothing_is_compacted(fake_api: Served) -> None:
    assert [block.type for block in edited(fake_api(), COMPACT).content] == ["text"]


# --- compaction on demand


def demand(api: ServedApi, messages: list[Any], **more: Any) -> Any:
    return ask_beta(
        api, DEMAND, model=BOUND, messages=messages, compaction={"type": "summarize"}, tools=TOOLS, **more
    )


def thoughtful(api: ServedApi) -> list[Any]:
    messages: list[Any] = [user("go")]
    for number in range(3):
        api.script.append(think(f"hm {number}", call("Read", path="a")))
        answer = ask_beta(api, DEMAND, model=BOUND, messages=messages, tools=TOOLS)
        said = [block.to_dict() for block in answer.content]
        messages += [{"role": "assistant", "content": said}, user([result(said[1]["id"])])]
    return messages


def test_a_compaction_stands_for_what_it_summarises_and_later_thinking_stays_valid(fake_api: Served) -> None:
    api = fake_api()
    messages = thoughtful(api)
    api.script.append("the summary")
    answer = demand(api, messages[:3])
    assert [block.type for block in answer.content] == ["compaction"]
    assert (answer.content[0].content, answer.stop_reason) == ("the summary", "compaction")
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (0, 0)
    assert [one.type for one in answer.usage.iterations] == ["compaction"]
    block = answer.content[0].to_dict()
    kept = [assistant(block), *messages[3:]]
    assert ask_beta(api, DEMAND, model=BOUND, messages=kept, tools=TOOLS).content
    assert error_of(api, DEMAND, model=BOUND, messages=[user("the summary"), *messages[3:]], tools=TOOLS)
    assert "Input tag 'compaction'" in str(error_of(api, model=BOUND, messages=kept, tools=TOOLS))


def test_a_compaction_streams_as_it_is(fake_api: Served) -> None:
    api = fake_api("the summary", "the summary")
    plain = demand(api, rounds(1))
    asked = {"model": BOUND, "max_tokens": 99, "messages": rounds(1), "compaction": {"type": "summarize"}}
    with api.client().beta.messages.stream(**asked, betas=[DEMAND]) as stream:
        streamed = stream.get_final_message()
    assert streamed.content[0].content == plain.content[0].content
    assert streamed.content[0].signature
    assert streamed.stop_reason == "compaction"


def test_a_compaction_may_fail_and_then_stands_for_nothing(fake_api: Served) -> None:
    api = fake_api([])
    block = demand(api, rounds(1)).content[0].to_dict()
    assert block["content"] is None
    assert ask_beta(api, DEMAND, model=BOUND, messages=[assistant(block), user("hi")]).content


def wrong_block(**changes: Any) -> Any:
    def change(block: dict[str, Any]) -> list[Any]:
        return [assistant({**block, **changes}), user("hi")]

    return change


WRONG: dict[str, Any] = {
    "compaction_content_mismatch": wrong_block(content="another"),
    "compaction_signature_invalid": wrong_block(signature="x"),
    "compaction_tool_changes_mismatch": wrong_block(
        tool_changes=[{"type": "tool_removal", "tool": {"type": "tool_reference", "name": "Read"}}]
    ),
    "compaction_block_misplaced": lambda block: [user("hi"), assistant(block), user("and")],
    "compaction_block_ambiguous": lambda block: [assistant(block, block), user("hi")],
}


@pytest.mark.parametrize("code", WRONG)
def test_a_compaction_block_must_come_back_as_it_was_and_first(fake_api: Served, code: str) -> None:
    api = fake_api("the summary")
    block = demand(api, rounds(1)).content[0].to_dict()
    error = error_of(api, DEMAND, model=BOUND, messages=WRONG[code](block))
    assert (error.error_code, error.status_code) == (code, 400)
    assert isinstance(error, anthropic.BadRequestError)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"messages": [user("go"), assistant(use("t"))]}, "compaction_incomplete_turn"),
        ({"messages": [user("go")], "stop_sequences": ["x"]}, "cannot be combined with stop_sequences"),
        (
            {"messages": [user("go")], "tools": TOOLS, "tool_choice": {"type": "any"}},
            "cannot be combined with tool_choice",
        ),
        ({"messages": [user("go")], "context_management": {"edits": []}}, "combined with context_management"),
        (
            {"messages": [user("go")], "output_config": {"format": {"type": "json_schema", "schema": {}}}},
            "combined with output_config.format",
        ),
        (
            {
                "messages": [user("go")],
                "output_config": {"task_budget": {"type": "tokens", "total": 9, "remaining": 5}},
            },
            "combined with task_budget.remaining",
        ),
        (
            {"messages": [assistant({"type": "compaction", "content": None})]},
            "compaction_nothing_to_summarize",
        ),
        ({"messages": [user("word " * 700_000)]}, "prompt is too long"),
    ],
)
def test_a_compaction_is_not_for_every_request(fake_api: Served, more: Any, words: str) -> None:
    error = error_of(fake_api(), DEMAND, model=BOUND, compaction={"type": "summarize"}, **more)
    assert words in f"{error.api_message} {error.error_code}"


def test_a_finished_turn_may_be_the_last_of_a_compaction(fake_api: Served) -> None:
    assert demand(fake_api("the summary"), [user("go"), assistant(text("done"))]).content[0].content


def test_a_compaction_can_be_unavailable(fake_api: Served) -> None:
    api = fake_api(compaction_unavailable())
    with pytest.raises(anthropic.OverloadedError) as caught:
        demand(api, rounds(1))
    assert caught.value.error_code == "compaction_unavailable"
    assert api.faulty == []
