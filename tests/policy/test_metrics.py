from __future__ import annotations

from typing import Any

import pytest
from tests.policy.staging import FakeHistory, FakeScene, calls, results, says, user, view_of

from trimtab.conversation.request import Info, Usage
from trimtab.facts import Facts
from trimtab.policy.expressions import FUNCTIONS, RESERVED
from trimtab.policy.metrics import METRICS, NUMBERS

MESSAGES = [
    user("first"),
    calls(("a", "Bash", {"command": "ls"})),
    results(("a", "x")),
    says("done"),
    user("second"),
]


def metric(name: str, **more: Any) -> Any:
    return METRICS[name].read(FakeScene(view_of(MESSAGES), **more))


def test_every_metric_of_the_language_is_there_with_a_unit_and_a_meaning() -> None:
    numbers = (
        "tokens overhead_tokens message_tokens prompt_tokens bytes messages rounds turns tool_calls images "
        "idle_minutes compactions overflows freed_tokens freed_bytes freed_share items cache_loss_tokens "
        "thinking_loss"
    )
    assert set(numbers.split()) == NUMBERS
    texts = {name for name, one in METRICS.items() if one.type == "text"}
    assert texts == {"event", "caller", "model", "request", "requested_by", "error", "failure"}
    assert set(METRICS) - NUMBERS - texts == {"measured", "turn_start", "turn_end", "instructed"}
    assert all(one.meaning and (one.unit or one.type != "number") for one in METRICS.values())


def test_no_metric_has_the_name_of_a_function_or_reserved_name() -> None:
    assert not set(METRICS) & (RESERVED | FUNCTIONS)


def test_the_view_is_counted() -> None:
    assert [metric(name) for name in ("messages", "rounds", "turns", "tool_calls", "images")] == [
        5,
        2,
        2,
        1,
        0,
    ]


def test_message_tokens_are_the_figure_without_the_overhead() -> None:
    assert metric("message_tokens", tokens=900, overhead=250) == 650
    assert metric("message_tokens", tokens=100, overhead=250) == 0


def test_prompt_tokens_come_from_the_host_or_from_the_newest_response() -> None:
    assert metric("prompt_tokens") is None
    infos = {2: Info(usage=Usage(5)), 4: Info(usage=Usage(10, 20, 30))}
    assert metric("prompt_tokens", infos=infos) == 60
    assert metric("prompt_tokens", infos=infos, facts=Facts(usage=Usage(1, 2, 3))) == 6


@pytest.mark.parametrize(
    ("now", "at", "wanted"), [(3600.0, 0.0, 60), (None, 0.0, None), (3600.0, None, None), (10.0, 20.0, None)]
)
def test_idle_minutes_are_unknown_without_both_times_and_for_a_future_response(
    now: float | None, at: float | None, wanted: float | None
) -> None:
    assert metric("idle_minutes", facts=Facts(now=now), infos={4: Info(at=at)}) == wanted


def test_a_request_opens_a_turn_until_a_response_follows() -> None:
    assert METRICS["turn_start"].read(FakeScene(view_of(MESSAGES))) is True
    assert METRICS["turn_start"].read(FakeScene(view_of(MESSAGES[:4]))) is False
    assert METRICS["turn_start"].read(FakeScene(view_of(MESSAGES[:3]))) is False
    assert METRICS["turn_start"].read(FakeScene()) is False


def test_a_turn_ends_with_a_response_that_calls_no_tool() -> None:
    assert METRICS["turn_end"].read(FakeScene(view_of(MESSAGES[:4]))) is True
    assert METRICS["turn_end"].read(FakeScene(view_of(MESSAGES[:2]))) is False
    assert METRICS["turn_end"].read(FakeScene(view_of(MESSAGES[:1]))) is None
    split = [user("go"), calls(("a", "Bash", {})), says("and more")]
    assert METRICS["turn_end"].read(FakeScene(view_of(split))) is False


def test_a_manual_request_is_known_only_in_a_manual_run() -> None:
    facts = Facts.of({"request": {"name": "snip", "by": "model"}})
    assert metric("request", event="manual", facts=facts) == "snip"
    assert metric("requested_by", event="manual", facts=facts) == "model"
    assert metric("request", facts=facts) is None
    assert metric("requested_by", facts=facts) is None


def test_what_was_counted_over_time_comes_from_the_history() -> None:
    history = FakeHistory(compactions=2, overflows=1)
    assert (metric("compactions", history=history), metric("overflows", history=history)) == (2, 1)


def test_metrics_of_a_proposal_are_unknown_without_one() -> None:
    assert all(metric(name) is None for name, one in METRICS.items() if one.accept_only)
