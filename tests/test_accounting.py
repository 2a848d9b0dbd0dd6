"""What the window holds, by category (REFERENCE R40): the trigger's own figure, shared out."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.scenes import Session, bash, calls, image, read, results, says, user
from tests.session.packs import engine_of

from trimtab import Engine, Facts, Info, Request, Usage
from trimtab.accounting import UNLISTED, Account, Part, account, account_of
from trimtab.readers import facts_of
from trimtab.readers import read as read_file

MODEL = "claude-sonnet-4-5"
PACK = """
format: 1
name: marks
version: 1.0.0
settings: {fold: false}
limits: {reserve: 20000, auto: 0.8 * window, late: window - 3000}
stages:
  - {id: fold, kind: replace, at: {before_request: {tokens: {at_least: 0.5 * window}}}, when: {settings: {fold: true}},
     select: {blocks: [tool_result], size: {chars: {above: 9}}}, text: "-"}
  - {id: shrink, kind: first_of, at: {before_request: {tokens: {at_least: auto}}, manual: {}},
     stages: [{id: hard, kind: replace, when: {any: [{event: [overflow]}, {tokens: {at_least: late}}]},
               select: {blocks: [tool_result], size: {chars: {above: 9}}}, text: "-"}]}
  - {id: off, kind: guard, level: info, enabled: false, at: [before_request], when: {tokens: {at_least: 7}}, text: x}
  - {id: small, kind: guard, level: info, at: [before_request], when: {tokens: {above: 1000, below: auto}}, text: x}
  - {id: never, kind: guard, level: info, at: [before_request], when: {none: [{tokens: {at_least: 5}}]}, text: x}
  - {id: later, kind: guard, level: info, at: [after_response], when: {tokens: {at_least: 6}}, text: x}
"""


def tokens(found: Account, *path: str) -> int:
    part = found.part(*path)
    return 0 if part is None else part.tokens


def total(parts: Any) -> int:
    return sum(part.tokens for part in parts)


def whole(part: Part) -> bool:
    """Whether a part that has parts is no more and no less than they are, blocks counted too."""
    if not part.parts:
        return True
    return total(part.parts) == part.tokens and all(map(whole, part.parts))


def test_r40_accounting_names_every_category_and_adds_up_to_the_figure() -> None:
    thinking = {"type": "thinking", "thinking": "hm " * 50, "signature": "s"}
    messages = [
        user("Please look. " * 30),
        {"role": "assistant", "content": [thinking, {"type": "text", "text": "Looking. " * 20}]},
        *read("a", "/a.py", "line\n" * 300),
        *bash("b", "ls", [{"type": "text", "text": "out " * 40}, image()]),
        user("Notes: use tabs everywhere. " * 10),
        user("The summary. " * 20),
    ]
    infos = [*[None] * 6, Info(origin="reminder"), Info(origin="summary")]
    memory = [{"path": "/m.md", "text": "Keep the harbour log short. " * 15}]
    request = Request(
        MODEL,
        messages,
        system=f"Be brief.\n{memory[0]['text']}",
        tools=[{"name": "Read", "description": "reads " * 40, "input_schema": {"type": "object"}}],
        info=infos,
    )
    engine = Engine.load("claude-code")
    found = account_of(engine.session(), request, Facts(memory=memory))
    explained = engine.session().explain(request, facts=Facts(memory=memory)).receipt.totals

    assert found.tokens == explained.tokens.before == total(found.parts)
    assert [part.name for part in found.parts] == [
        "system", "tools", "memory", "messages", "attachments", "summaries", "images",
    ]  # fmt: skip
    assert {part.name for part in found.part("messages").parts} == {  # type: ignore[union-attr]  # it is there
        "user", "assistant", "tool_calls", "tool_results", "thinking",
    }  # fmt: skip
    assert (
        tokens(found, "messages", "tool_results", "Read")
        > tokens(found, "messages", "tool_results", "Bash")
        > 0
    )
    assert all(map(whole, found.parts))
    assert found.tokens + found.free + found.reserve == found.window == 200_000
    assert found.reserve == 20_000
    assert found.over == 0


def test_memory_counts_once_and_not_as_what_carries_it() -> None:
    text = "Use tabs in every file of this project. " * 20
    s = Session([user(text), user("go")], infos=[Info(origin="reminder")])
    plain = account(s.scene())
    known = account(s.scene(facts=Facts(nested_memory=[{"path": "/n.md", "text": text}, {"path": "/n.md"}])))
    assert tokens(plain, "memory") == 0
    assert tokens(known, "memory") + tokens(known, "attachments") == tokens(plain, "attachments")
    assert tokens(known, "memory") > 0.9 * tokens(plain, "attachments")


def test_what_the_api_counted_beyond_the_file_is_system_and_tools() -> None:
    s = Session([user("word " * 500), says("ok " * 100)], usage=20_000)
    found = account(s.scene())
    assert found.tokens == total(found.parts) == 20_000
    assert tokens(found, UNLISTED) == 20_000 - sum(item.total for item in s.path)
    assert found.usage
    assert found.measured


def test_where_system_and_tools_are_known_every_part_has_its_share_of_the_estimates_error() -> None:
    system = "Be brief. " * 100
    messages = [user("word " * 500), says("ok"), user("more")]
    usage = Usage(input=4_000)
    infos = [None, Info(usage=usage), None]
    engine = engine_of(PACK)
    bare = account_of(engine.session(), Request(MODEL, messages, system=system))
    real = account_of(engine.session(), Request(MODEL, messages, system=system, info=infos))
    assert tokens(real, UNLISTED) == 0
    assert real.tokens == total(real.parts)
    assert real.tokens > 1.5 * bare.tokens
    ratio = real.tokens / bare.tokens
    assert tokens(real, "system") == pytest.approx(ratio * tokens(bare, "system"), rel=0.02)


def test_an_estimate_above_the_usage_is_scaled_down_and_nothing_is_negative() -> None:
    found = account(Session([user("word " * 500), says("ok " * 100)], usage=100).scene())
    assert found.tokens == total(found.parts) == 100
    assert all(part.tokens >= 0 for part in found.parts)


def test_images_count_by_themselves_wherever_they_stand() -> None:
    s = Session(
        [{"role": "user", "content": [image(), {"type": "text", "text": "see"}]}, *read("a", "/p", [image()])]
    )
    found = account(s.scene())
    part = found.part("images")
    assert part is not None
    assert part.blocks == 2
    assert tokens(found, "messages", "tool_results") < 50


def test_a_result_without_a_call_and_a_message_without_blocks_are_counted_too() -> None:
    s = Session([user("go"), results(("ghost", "boo " * 50)), {"role": "user", "content": []}])
    found = account(s.scene())
    assert tokens(found, "messages", "tool_results", "(no call)") > 40
    assert total(found.parts) == found.tokens == sum(item.total for item in s.path)


def test_the_thresholds_are_the_limits_of_stages_that_may_run_before_a_request() -> None:
    messages = [user("go"), *bash("a", "ls", "out " * 100_000)]
    found = account_of(engine_of(PACK).session(), Request(MODEL, messages))
    assert [(one.name, one.tokens, one.stages, one.reached) for one in found.thresholds] == [
        ("1,000", 1000, ("small",), True),
        ("auto", 160_000, ("shrink",), False),
        ("late", 197_000, ("hard",), False),
    ]
    folding = account_of(engine_of(PACK, settings={"fold": True}).session(), Request(MODEL, messages))
    assert "0.5 * window" in [one.name for one in folding.thresholds]


def test_what_does_not_fit_the_window_is_said() -> None:
    found = account(Session([user("word " * 50)], window=1000, usage=900).scene())
    assert (found.reserve, found.free, found.over) == (1000, 0, 900)


def test_a_window_without_end_leaves_everything_open() -> None:
    found = account(Session([user("word " * 50)], window=math.inf).scene())
    assert (found.reserve, found.over) == (32_000, 0)
    assert sum(part.share for part in found.parts) == pytest.approx(1)


def test_earlier_commits_count_and_the_session_stays_as_it_was() -> None:
    messages: list[Any] = [user("go")]
    for number in range(6):
        messages += bash(f"b{number}", "ls", f"out {number} " * 300)
    session = engine_of().session()
    fresh = account_of(session, Request(MODEL, messages))
    session.run(Request(MODEL, messages))
    after = account_of(session, Request(MODEL, messages))
    assert tokens(after, "messages", "tool_results") < 0.7 * tokens(fresh, "messages", "tool_results")
    assert account_of(session, Request(MODEL, messages)) == after
    assert session.run(Request(MODEL, messages)).receipt.totals.tokens.before == after.tokens


@settings(max_examples=40)
@given(st.lists(st.integers(0, 4), max_size=12), st.one_of(st.none(), st.integers(1, 300_000)))
def test_the_parts_always_add_up_to_the_figure(kinds: list[int], usage: int | None) -> None:
    messages: list[Any] = [user("go")]
    for number, kind in enumerate(kinds):
        messages += [
            [user(f"words {number} " * 20)],
            [says("ok " * number)],
            read(f"r{number}", "/a.py", "x " * 90),
            [calls((f"c{number}", "Bash", {"command": "ls " * 9})), results((f"c{number}", [image()]))],
            [{"role": "system", "content": "a note"}],
        ][kind]
    scene = Session(messages, usage=usage).scene()
    found = account(scene)
    assert found.tokens == round(scene.tokens) == total(found.parts)
    assert all(map(whole, found.parts))
    assert found.tokens + found.free + found.reserve - found.over == found.window


@pytest.mark.corpus
def test_recorded_sessions_add_up_to_the_figure_of_the_receipt(corpus: Path) -> None:
    engine = Engine.load("claude-code")
    for path in sorted((corpus / "claude-code").rglob("*.jsonl")):
        recording = read_file(path)
        request = recording.live
        if not request.model:
            continue
        facts = Facts(**facts_of(recording))
        found = account_of(engine.session(), request, facts)
        receipt = engine.session().explain(request, facts=facts).receipt
        assert found.tokens == total(found.parts) == receipt.totals.tokens.before, path
        assert all(map(whole, found.parts)), path
