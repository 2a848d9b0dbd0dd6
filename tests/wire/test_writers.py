"""Writers over the wire in async runs, in all directions of a manual request, and beside each other."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from tests.fake_api import Delivery, overloaded, rate_limited, say
from tests.fake_api.fixture import Served
from tests.faults.support import loop, rounds, shown, words
from tests.session.packs import engine_of
from tests.wire.agent import SUMMARY
from tests.wire.summing import NINE, NOW, calls, compact, engine, pack, problems, report, request

from trimtab import Facts, Info, ManualRequest
from trimtab.outcome import Outcome
from trimtab.summarizers.anthropic import AnthropicSummarizer


def compact_async(fake_api: Served, *script: Any, keys: str = NINE, **options: Any) -> tuple[Outcome, Any]:
    """One run in an event loop, with the async client."""
    api = fake_api(*script, **options)

    async def run() -> Outcome:
        async with api.async_client(max_retries=4) as client:
            ready = engine_of(pack(keys), summarizer=AnthropicSummarizer(async_client=client))
            return await ready.session().arun(request(loop(12, 3000)), "before_request", Facts(now=NOW))

    return asyncio.run(run()), api


def test_an_async_run_tries_again_waits_and_accounts_for_it(fake_api: Served) -> None:
    broken = say(SUMMARY, delivery=Delivery(drop_after=6))
    outcome, api = compact_async(fake_api, rate_limited(0.02), broken, SUMMARY, otherwise=overloaded())
    assert problems(outcome) == ["error", "error", None]
    assert [one.paused for one in calls(outcome)] == [0.02, 1.0, None]
    assert [one.cost is not None for one in calls(outcome)] == [False, True, True]
    assert len(api.sent) == 3


def test_an_async_run_gives_up_what_takes_too_long(fake_api: Served) -> None:
    slow = say(SUMMARY, delivery=Delivery(pause=0.1))
    outcome, _ = compact_async(fake_api, slow, keys=f"{NINE}, timeout_seconds: 0.3, retries: 0")
    assert problems(outcome) == ["error"]
    assert "within 0.3 s" in str(calls(outcome)[0].message)
    assert shown(outcome) == loop(12, 3000)


# --- the three variants


@pytest.mark.parametrize(
    ("point", "direction", "asked_for", "told"),
    [
        ({}, "whole", "hand-over of the whole conversation", "What happened so far"),
        ({"from_": "m9"}, "from", "hand-over of the newer part", "The newer part of it"),
        ({"up_to": "m9"}, "up_to", "hand-over of the earlier part", "The earlier part of it"),
    ],
)
@pytest.mark.parametrize("way", ["native", "text"])
def test_each_variant_is_asked_for_and_stands_in_its_place(
    fake_api: Served, way: str, point: Any, direction: str, asked_for: str, told: str
) -> None:
    api = fake_api(SUMMARY)
    messages = loop(14, 3000)
    keys = f"{NINE}, input: {{as: {way}}}, wrapper: summary/continue.md.j2"
    session = engine(api, pack(keys, keep="")).session()
    asked = replace(request(messages), info=[Info(id=f"m{at}") for at in range(len(messages))])
    outcome = session.run(asked, "manual", Facts(request=ManualRequest(**point)))
    assert not api.faulty
    assert report(outcome).remarks["direction"] == direction
    prompt = str(api.sent[0].body["messages"][-1]["content"])
    assert asked_for in prompt
    summary = next(at for at, one in enumerate(shown(outcome)) if told in str(one["content"]))
    if direction == "from":
        assert shown(outcome)[:9] == messages[:9]
        assert summary == 9
        assert ("The marked point lies before" in prompt) == (way == "native")
    elif direction == "up_to":
        assert shown(outcome)[summary + 1 :] == messages[9:]
    else:
        assert "line 3 of the output" not in words(outcome)


def test_custom_instructions_add_to_the_prompt_and_replace_nothing(fake_api: Served) -> None:
    api = fake_api(SUMMARY)
    ready = engine(api, pack(f"{NINE}, instructions: [{{from: user}}, {{text: Keep every port.}}]"))
    compact(ready, loop(12, 3000), "manual", request=ManualRequest(instructions="Dwell on the pool."))
    prompt = api.sent[0].body["messages"][-1]["content"]
    assert prompt.index("Dwell on the pool.") < prompt.index("Keep every port.")
    for there in ("They add to the rules above", "9. Optional next step", "Do not call any tool"):
        assert there in prompt


# --- texts that are seen by a second model


def test_a_review_is_a_call_of_its_own_and_a_bad_one_changes_nothing(fake_api: Served) -> None:
    better = SUMMARY.replace("put in order", "looked through twice")
    keys = f"{NINE}, review: {{prompt: summary/nine-sections.md.j2}}"
    for second, stands in ((better, "looked through twice"), ("no tags", "put in order")):
        api = fake_api(SUMMARY, second)
        outcome = compact(engine(api, pack(keys)), loop(12, 3000))
        assert [one.purpose for one in calls(outcome)] == ["summary", "review"]
        assert stands in words(outcome)


# --- background notes


def test_notes_are_tried_again_like_summaries(fake_api: Served, pauses: list[float]) -> None:
    text = (
        "format: 1\nname: small\nversion: 1.0.0\nstages:\n"
        "  - {id: memory, kind: notes, at: [after_response], prompt: notes/ten-sections.md.j2, background: true}\n"
    )
    api = fake_api(overloaded(), "# Title\nThe ledgers.")
    session = engine(api, text).session()
    outcome = session.run(request(loop(12, 3000)), "after_response", Facts(now=NOW))
    for job in outcome.jobs:
        job.run()
    later = session.run(request([*loop(12, 3000), *rounds(1, start=50)]), "before_request", Facts(now=NOW))
    [job] = later.receipt.jobs
    assert [one.problem for one in job.calls] == ["error", None]
    assert pauses == [0.5]
