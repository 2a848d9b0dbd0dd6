"""A summary may be written by somebody who means harm: it stands in its one message and is taken for nothing else."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.fake_api import Delivery, say
from tests.fake_api.fixture import Served
from tests.faults.support import loop, rounds, shown, words
from tests.hostile.test_hostile_results import BENIGN, KINDS, ORDER
from tests.wire.agent import SUMMARY
from tests.wire.summing import MODEL, NINE, calls, compact, engine, pack, problems, report

BODY = "put in order"
AS_TEXT = f"{NINE}, input: {{as: text}}, ground: {{facts: [user_messages], budget: {{tokens: 2000}}}}"


def twice(fake_api: Served, said: str) -> tuple[Any, list[Any], str]:
    """A summary that says this, and a second one of it and of what came then; what the second writer is told."""
    api = fake_api(SUMMARY.replace(BODY, said, 1), "Understood.", SUMMARY)
    session = engine(api, pack(AS_TEXT)).session()
    messages = loop(12, 3000)
    first = compact(session, messages)
    api.client().messages.create(model=MODEL, max_tokens=99, messages=shown(first), tools=first.request.tools)
    messages += rounds(12, 3000, start=100)
    second = compact(session, messages)
    assert report(second).verdict == "committed"
    assert not api.faulty
    asked = [one for one in api.sent if one.body.get("stream")]
    return first, shown(second), str(asked[-1].body["messages"][-1]["content"])


def without_fenced(prompt: str) -> str:
    """A prompt without what its two fences hold: the earlier summary, and what came since."""
    (own,) = set(re.findall(r"</?data-([0-9a-f]{12})>", prompt))
    bare, count = re.subn(rf"(?s)<data-{own}>\n.*?\n</data-{own}>", "", prompt)
    assert (count, own in bare) == (2, False)
    return bare


@KINDS
def test_its_words_change_no_other_message_and_no_later_question(fake_api: Served, evil: str) -> None:
    first, later, prompt = twice(fake_api, evil)
    plain, plain_later, plain_prompt = twice(fake_api, BENIGN)
    assert report(first).verdict == report(plain).verdict == "committed"
    pairs = list(zip(shown(first), shown(plain), strict=True))
    assert [one["role"] for one, _ in pairs] == [other["role"] for _, other in pairs]
    assert sum(one != other for one, other in pairs) == 1
    assert without_fenced(prompt) == without_fenced(plain_prompt)
    assert ORDER not in str(later)
    assert later == plain_later


def test_half_a_character_does_not_make_the_request_one_that_cannot_be_sent(fake_api: Served) -> None:
    api = fake_api(SUMMARY.replace(BODY, "put \ud800 in order"), "Understood.")
    outcome = compact(engine(api), loop(12, 3000))
    assert report(outcome).verdict == "committed"
    assert "put \ufffd in order" in words(outcome)
    made = outcome.request
    answer = api.client().messages.create(
        model=made.model, messages=list(made.messages), system=made.system, tools=made.tools, **made.extra
    )
    assert answer.content[0].text == "Understood."


def test_a_name_that_steers_the_terminal_is_not_the_models(fake_api: Served) -> None:
    def steering(event: bytes) -> bytes:
        return event.replace(b'"model": "claude-haiku-4-5"', rb'"model": "\u001b[31mclaude\n"')

    api = fake_api(say(SUMMARY, delivery=Delivery(mangle=steering)))
    outcome = compact(engine(api), loop(12, 3000))
    assert problems(outcome) == [None]
    assert [one.cost for one in calls(outcome)] == [None], "nobody knows its price"


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # the SDK's, of what is not of its types
def test_a_name_that_is_no_text_is_nobodys(fake_api: Served) -> None:
    def listed(event: bytes) -> bytes:
        return event.replace(b'"model": "claude-haiku-4-5"', b'"model": ["claude-haiku-4-5"]')

    outcome = compact(engine(fake_api(say(SUMMARY, delivery=Delivery(mangle=listed)))), loop(12, 3000))
    [one] = calls(outcome)
    assert (one.problem, one.model) == (None, MODEL), "the name that was asked for"
    assert one.cost is not None


@pytest.mark.parametrize("tail", ["\x00", "\x1b[2J", "\u202e", "\ufeff"])
def test_characters_that_nobody_sees_leave_a_request_that_the_api_takes(fake_api: Served, tail: str) -> None:
    api = fake_api(SUMMARY.replace(BODY, f"put in order{tail}"))
    outcome = compact(engine(api), loop(12, 3000))
    assert report(outcome).verdict == "committed"
