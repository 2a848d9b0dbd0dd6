"""A budget per message over results that come one after the other: judged once, by every kind of host alike."""

from __future__ import annotations

from typing import Any, TypeAlias

from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.scenes import calls, results, says, user
from tests.session.hosts import MODES, Host
from tests.session.packs import engine_of

LIMIT, CUT = 1000, "[cut]"
BUDGET = f"""
format: 1
name: budget
version: 1.0.0
stages:
  - {{id: budget, kind: replace, at: [tool_result, before_request], once: true, select: {{blocks: [tool_result]}},
     order: largest, fit: {{per: message, chars: {LIMIT}}}, text: "{CUT}"}}
"""

Round: TypeAlias = list[tuple[int, bool]]
"""Of each result its characters, and whether the host asks before the next one is there."""
rounds = st.lists(st.lists(st.tuples(st.integers(1, 700), st.booleans()), min_size=1, max_size=6), max_size=4)


def play(script: list[Round], mode: str, apart: bool) -> Host:
    host = Host(engine_of(BUDGET), *MODES[mode])
    host.messages.append(user("Go."))
    for number, found in enumerate(script):
        names = [f"r{number}-{at}" for at in range(len(found))]
        host.messages.append(calls(*[(name, "Bash", {}) for name in names]))
        fresh = True
        for name, (size, asks) in zip(names, found, strict=True):
            [block] = results((name, name[-1] * size))["content"]
            if fresh or apart:
                host.messages.append({"role": "user", "content": [block]})
            else:
                last = host.messages[-1]
                host.messages[-1] = {**last, "content": [*last["content"], block]}
            fresh = False
            if asks and name != names[-1]:
                host.ask("tool_result")
        host.ask()
        host.messages.append(says("Done."))
        host.messages.append(user("Go on."))
    host.ask()
    return host


def shown(host: Host, at: int) -> dict[str, str]:
    messages: list[Any] = list(host.outcomes[at].request.messages)
    blocks = [block for one in messages for block in one["content"] if isinstance(block, dict)]
    return {one["tool_use_id"]: one["content"] for one in blocks if one["type"] == "tool_result"}


@given(rounds, st.booleans())
@settings(max_examples=60, deadline=None)
def test_no_result_is_judged_twice_and_what_is_shown_keeps_the_budget(
    script: list[Round], apart: bool
) -> None:
    host = play(script, "keeps", apart)
    seen: dict[str, str] = {}
    for at in range(len(host.outcomes)):
        now = shown(host, at)
        assert {name: now[name] for name in seen} == seen
        seen = now
    for number, found in enumerate(script):
        of_round = [text for name, text in seen.items() if name.startswith(f"r{number}-")]
        assert sum(map(len, of_round)) <= LIMIT + len(CUT) * len(found)


@given(rounds)
@example([[(500, True), (251, False), (250, True), (246, False)]])
@settings(max_examples=30, deadline=None)
def test_every_host_gets_the_same_bytes(script: list[Round]) -> None:
    keeps, *others = (play(script, mode, True) for mode in MODES)
    assert [other.bodies == keeps.bodies for other in others] == [True] * 3


@given(rounds)
@settings(max_examples=30, deadline=None)
def test_a_message_that_grows_is_judged_alike_after_a_restart(script: list[Round]) -> None:
    assert play(script, "restarts", False).bodies == play(script, "keeps", False).bodies


@given(rounds)
@settings(max_examples=30, deadline=None)
def test_how_a_host_parts_the_results_of_a_round_does_not_matter(script: list[Round]) -> None:
    one, other = play(script, "keeps", True), play(script, "keeps", False)
    assert shown(one, -1) == shown(other, -1)
