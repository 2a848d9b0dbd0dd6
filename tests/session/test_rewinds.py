"""A session that is opened anew before each call reckons like one that lives on, also where a host goes back."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.scenes import Session as Sizes
from tests.scenes import calls, results, says, user
from tests.session.hosts import MODEL, JsonJournal
from tests.session.packs import engine_of

from trimtab import Facts, Info, Request, Usage
from trimtab.session import Session

PACK = """
format: 1
name: tails
version: 1.0.0
stages:
  - {id: clear, kind: replace, select: {blocks: [tool_result], size: {tokens: {above: 100}}},
     keep: {newest: {tokens: {at_most: 1500}}}, accept: {items: {at_least: 2}}, text: "[cleared]"}
  - {id: shrink, kind: summarize, at: {before_request: {tokens: {at_least: 6000}}},
     keep: {newest: {tokens: {at_least: 1000, at_most: 2500}}}, text: "Summary of what came before."}
"""
FEW, MANY = 60, 1500


def play(number: int, restarts: bool, beside: bool) -> list[Any]:
    """Of each request the tokens, the factor and the messages; usage comes ``beside`` the messages or by itself."""
    seed = random.Random(number)
    engine, journal = engine_of(PACK), JsonJournal()
    session = Session(engine, journal)
    messages: list[Any] = [user("go")]
    infos: list[Info | None] = [None]
    usage: Usage | None = None
    seen: list[Any] = []
    for step in range(seed.randrange(4, 16)):
        if restarts:
            session = Session(engine, journal)
        request = Request(MODEL, list(messages), info=list(infos))
        facts = Facts(now=1e9 + 60 * step, usage=None if beside else usage)
        outcome = session.run(request, "before_request", facts)
        totals = outcome.receipt.totals
        seen.append((totals.tokens, totals.factor, list(outcome.request.messages)))
        size = sum(item.total for item in Sizes(list(outcome.request.messages)).path)
        prompt = round(size * seed.choice([1.2, 1.6, 2.0])) + seed.choice([0, 500])
        usage = Usage(prompt, model=MODEL) if seed.random() < 0.8 else None
        messages += [calls((f"c{step}", "Bash", {"n": step}))]
        messages += [results((f"c{step}", f"w{step} " * seed.randrange(10, 900)))]
        infos += [Info(usage=usage) if beside else None, None]
        if seed.random() < 0.3:
            messages += [says(f"ok {step}"), user(f"next {step}")]
            infos += [None, None]
        if seed.random() < 0.25:
            users = [at for at, message in enumerate(messages) if message["role"] == "user"]
            keep = seed.choice(users) + 1
            messages, infos = messages[:keep], infos[:keep]
            if seed.random() < 0.5:
                messages.append(user(f"other {step}"))
                infos.append(None)
            usage = usage if seed.random() < 0.5 else None
    return seen


def compare(numbers: range, beside: bool) -> None:
    for number in numbers:
        lives, opened = play(number, False, beside), play(number, True, beside)
        for at, (one, other) in enumerate(zip(lives, opened, strict=True)):
            assert one == other, f"conversation {number}, request {at}"


@pytest.mark.parametrize("beside", [True, False])
def test_figure_factor_and_bytes_are_those_of_the_session_that_lives_on(beside: bool) -> None:
    compare(range(FEW), beside)


@pytest.mark.long
def test_so_they_are_over_many_conversations() -> None:
    compare(range(FEW, MANY), True)
