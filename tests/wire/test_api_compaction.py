"""The API's own compaction as a stage's model: a signed block that stands first, and all that hangs on it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.fake_api import Recorded, Refusal, compaction_unavailable
from tests.fake_api.fixture import Served, ServedApi
from tests.faults.support import loop, rounds, shown, user
from tests.wire.agent import SUMMARY, Agent, Worker, committed
from tests.wire.summing import MODEL, calls, compact, engine, pack, problems, report

from trimtab import ManualRequest
from trimtab.summarizers.canned import CannedSummarizer

SERVER = "model: [server]"
WORDS = "The server's own account of it all."
BOUND = "claude-opus-5-5"


def send(api: ServedApi, outcome: Any) -> Any:
    """The request as a host sends it; the fake refuses it if anything is wrong."""
    made = outcome.request
    fields = {"system": made.system, "tools": made.tools, **made.extra}
    return api.client().beta.messages.create(model=made.model, messages=list(made.messages), **fields)


def test_the_block_stands_first_and_the_kept_messages_behind_it(fake_api: Served) -> None:
    api = fake_api(WORDS, "Understood.")
    messages = loop(12, 3000)
    outcome = compact(engine(api, pack(SERVER)), messages)
    assert report(outcome).verdict == "committed"
    first, *rest = shown(outcome)
    [block] = first["content"]
    assert (first["role"], block["type"], block["content"]) == ("assistant", "compaction", WORDS)
    assert rest == messages[-2:]
    body = api.sent[0].body
    assert body["compaction"] == {"type": "summarize"}
    assert body["messages"] == messages[:-2]
    assert send(api, outcome).content[0].text == "Understood."
    assert not api.faulty


def test_the_header_goes_on_every_later_request_and_the_receipt_names_it(fake_api: Served) -> None:
    api = fake_api(WORDS)
    session = engine(api, pack(SERVER)).session()
    messages = loop(12, 3000)
    first = compact(session, messages)
    later = compact(session, [*messages, *rounds(1, start=50)])
    for outcome in (first, later):
        assert outcome.request.extra["betas"] == ["compact-2026-09-04"]
        send(api, outcome)
    assert report(first).remarks["betas"] == ["compact-2026-09-04"]
    assert not api.faulty


def test_its_price_is_that_of_its_iterations(fake_api: Served) -> None:
    [one] = calls(compact(engine(fake_api(WORDS), pack(SERVER)), loop(12, 3000)))
    assert one.usage is not None
    assert one.usage.input > 8000
    assert one.cost == pytest.approx((one.usage.input + 5 * (one.usage.output or 0)) / 1e6)


def test_thinking_of_the_kept_messages_stays_and_is_taken(fake_api: Served) -> None:
    worker = Worker(rounds=30, thinks=True)

    def model(recorded: Recorded) -> Any:
        return WORDS if "compaction" in recorded.body else worker(recorded)

    api = fake_api(otherwise=model)
    events = "{before_request: {tokens: {at_least: 14000}}}"
    agent = Agent(engine(api, pack(SERVER, at=events, keep="keep: {newest: {rounds: 3}}")), api, BOUND)
    assert agent.turn("Put the ledgers in order.") == "The ledger is in order."
    assert committed(agent.outcomes)
    assert not api.faulty
    after = next(one for one in agent.outcomes if one.receipt.totals.commits)
    kinds = [block["type"] for message in after.request.messages[1:] for block in message["content"]]
    assert kinds.count("thinking") == 3
    assert after.receipt.totals.thinking_loss == 0


def test_a_second_compaction_takes_the_first_ones_place(fake_api: Served) -> None:
    api = fake_api(WORDS, "All of it, once more.")
    session = engine(api, pack(SERVER)).session()
    messages = loop(12, 3000)
    compact(session, messages)
    messages += rounds(12, 3000, start=100)
    outcome = compact(session, messages)
    blocks = [m["content"][0] for m in shown(outcome) if m["content"][0]["type"] == "compaction"]
    assert [one["content"] for one in blocks] == ["All of it, once more."]
    assert api.sent[1].body["messages"][0]["content"][0]["content"] == WORDS
    send(api, outcome)
    assert not api.faulty


def test_a_model_may_sum_up_what_the_api_had_compacted(fake_api: Served) -> None:
    api = fake_api(WORDS, SUMMARY)
    text = pack(SERVER, at="{before_request: {tokens: {at_least: 2000}}}") + pack(
        "model: [same]", at="[manual]"
    ).split("stages:\n")[1].replace("sum-up", "by-model")
    session = engine(api, text).session()
    messages = loop(12, 3000)
    compact(session, messages)
    messages += rounds(12, 3000, start=100)
    outcome = compact(session, messages, "manual")
    assert report(outcome, "by-model").verdict == "committed"
    assert not api.faulty
    assert WORDS in api.sent[1].body["messages"][-1]["content"]
    assert "betas" not in outcome.request.extra


def test_wishes_take_the_whole_prompt_along_because_they_replace_the_apis_own(fake_api: Served) -> None:
    api = fake_api(WORDS)
    ready = engine(api, pack(f"{SERVER}, instructions: [{{from: user}}]"))
    compact(ready, loop(12, 3000), "manual", request=ManualRequest(instructions="Dwell on the pool."))
    said = api.sent[0].body["compaction"]["instructions"]
    assert "Dwell on the pool." in said
    assert "Primary request and intent" in said


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Refusal(400, "compaction: Extra inputs are not permitted"), ["unavailable", None]),
        (Refusal(404, "model: no such"), ["unavailable", None]),
        ([], ["empty", None]),
        (compaction_unavailable(), ["error", None]),
    ],
)
def test_where_the_api_cannot_the_next_model_is_asked(
    fake_api: Served, answer: Any, expected: list[Any]
) -> None:
    api = fake_api(answer, SUMMARY)
    outcome = compact(engine(api, pack("model: [server, same], retries: 0")), loop(12, 3000))
    assert problems(outcome) == expected
    assert shown(outcome)[0]["role"] == "user"
    assert report(outcome).verdict == "committed"


def test_what_passes_is_tried_again(fake_api: Served) -> None:
    api = fake_api(compaction_unavailable(), WORDS)
    outcome = compact(engine(api, pack(SERVER)), loop(12, 3000))
    assert problems(outcome) == ["error", None]


def test_where_something_stays_in_front_it_is_not_asked_for(fake_api: Served) -> None:
    api = fake_api(SUMMARY)
    keep = "keep: {oldest: {messages: 1}, newest: {rounds: 1}}"
    outcome = compact(engine(api, pack("model: [server, same]", keep=keep)), loop(12, 3000))
    assert problems(outcome) == ["unavailable", None]
    assert len(api.sent) == 1


def test_a_summarizer_that_has_no_such_thing_is_unavailable(fake_api: Served) -> None:
    from tests.session.packs import engine_of

    writer = CannedSummarizer(["The ledgers were put in order."])
    outcome = compact(engine_of(pack("model: [server, same]"), summarizer=writer), loop(12, 3000))
    assert problems(outcome) == ["unavailable", None]
    assert [one.model for one in writer.asked] == [MODEL]


def test_undo_brings_the_messages_back(fake_api: Served) -> None:
    session = engine(fake_api(WORDS), pack(SERVER)).session()
    messages = [user("Find the leak and mend it."), *rounds(12, 3000)]
    commit = report(compact(session, messages)).commit
    assert commit is not None
    session.undo(commit)
    outcome = compact(session, messages, "tool_result")
    assert shown(outcome) == messages
    assert "betas" not in outcome.request.extra


def test_a_dry_run_asks_nobody(fake_api: Served) -> None:
    from tests.wire.summing import request

    api = fake_api()
    receipt = engine(api, pack(SERVER)).session().explain(request(loop(12, 3000))).receipt
    assert receipt.stages[0].assumed
    assert api.requests == []
