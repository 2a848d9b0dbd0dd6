"""Thinking signed over its prefix: what must go with an edit, judged by an API that signs and verifies."""

from __future__ import annotations

import copy
import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strict_api import SigningApi
from tests.validity.support import MAKER, assistant, call, result, text, thinking, user, view_of

from trimtab.conversation.edits import Spot
from trimtab.conversation.items import Item
from trimtab.validity import stale_thinking


def items_of(*messages: Any) -> list[Item]:
    return list(view_of(messages).items)


Q = user("q")
A1 = assistant(thinking("one", "s1"), call("x"))
R1 = user(result("x"))
A2 = assistant(thinking("two", "s2"), call("y"))
R2 = user(result("y"))
SENT = items_of(Q, A1, R1, A2, R2)


def test_nothing_is_stale_where_messages_are_only_appended() -> None:
    assert stale_thinking(SENT, items_of(Q, A1, R1, A2, R2, assistant(thinking(), text("a"))), "bound") == ()


def test_thinking_at_and_behind_the_first_changed_message_is_stale() -> None:
    now = items_of(Q, A1, user(result("x", "[cleared]")), A2, R2)
    assert stale_thinking(SENT, now, "bound") == (Spot(4, 0),)


def test_the_spot_names_the_block_as_the_message_came() -> None:
    now = items_of(user("other"), assistant(text("gone"), thinking("one", "s1"), call("x")), R1)
    now[1].numbers = (0, 2, 3)
    assert stale_thinking(SENT, now, "bound") == (Spot(2, 2),)


def test_cache_marks_null_fields_and_the_form_of_a_text_are_no_difference() -> None:
    marked = copy.deepcopy(R1)
    marked["content"][0]["cache_control"] = {"type": "ephemeral"}
    cited = user({"type": "text", "text": "q", "citations": None})
    assert stale_thinking(SENT, items_of(cited, A1, marked, A2, R2), "bound") == ()


def test_thinking_removed_from_the_oldest_on_is_no_difference() -> None:
    assert stale_thinking(SENT, items_of(Q, assistant(call("x")), R1, A2, R2), "bound") == ()


def test_a_message_of_nothing_but_old_thinking_may_vanish() -> None:
    sent = items_of(Q, assistant(thinking("one", "s1")), assistant(call("x")), R1, A2, R2)
    assert stale_thinking(sent, items_of(Q, assistant(call("x")), R1, A2, R2), "bound") == ()


def test_a_hole_in_the_thinking_makes_what_follows_stale() -> None:
    sent = items_of(Q, A1, R1, A2, R2, assistant(thinking("three", "s3"), text("a")))
    now = items_of(Q, A1, R1, assistant(call("y")), R2, assistant(thinking("three", "s3"), text("a")))
    assert stale_thinking(sent, now, "bound") == (Spot(6, 0),)


def test_thinking_put_back_is_stale() -> None:
    sent = items_of(Q, assistant(call("x")), R1, A2, R2)
    assert stale_thinking(sent, SENT, "bound") == (Spot(2, 0), Spot(4, 0))


def test_a_changed_system_prompt_makes_all_thinking_stale() -> None:
    assert stale_thinking(SENT, SENT, "bound", head_changed=True) == (Spot(2, 0), Spot(4, 0))


def test_models_that_do_not_bind_thinking_lose_none() -> None:
    for model_class in ("manual", "free"):
        assert stale_thinking(SENT, items_of(user("other"), A1), model_class, head_changed=True) == ()


def test_odd_shapes_do_not_raise() -> None:
    odd = [
        MAKER.make(1, {"role": "user", "content": None})[0],
        MAKER.make(2, {"role": "user", "content": [3]})[0],
    ]
    assert stale_thinking(odd, odd[::-1], "bound") == ()


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 25))
def test_a_signing_api_refuses_nothing_once_stale_thinking_is_gone(seed: int, steps: int) -> None:
    chance = random.Random(seed)
    api = SigningApi()
    shown: list[Any] = [user("question")]
    host: list[Any] = list(shown)
    sent: list[Item] = []
    head = 0
    for step in range(steps):
        shown, head_now = edited(shown, host, head, chance, step), head + (chance.random() < 0.04)
        now = items_of(*shown)
        stale = set(stale_thinking(sent, now, "bound", head_changed=head_now != head))
        shown = [left for item in now if (left := stripped(item, stale)) is not None]
        head = head_now
        assert api.refused(shown, head) == [], (seed, step)
        sent = items_of(*shown)
        name = f"call_{step}"
        use = chance.random() < 0.6
        answer = assistant(api.sign(shown, f"t{step}", head), call(name) if use else text(f"answer {step}"))
        follow = user(result(name, f"result {step}")) if use else user(f"question {step}")
        split = use and chance.random() < 0.3
        parts = [assistant(block) for block in answer["content"]] if split else [answer]
        shown = [*shown, *parts, follow]
        host = [*host, *parts, follow]


def edited(shown: list[Any], host: list[Any], head: int, chance: random.Random, step: int) -> list[Any]:
    """The list after what stages do: clear results, summarise, take thinking out, bring it back."""
    what = chance.random()
    if what < 0.15:
        return [
            user(result(message["content"][0]["tool_use_id"], "[cleared]"))
            if chance.random() < 0.3 and message["role"] == "user" and not isinstance(message["content"], str)
            else message
            for message in shown
        ]
    if what < 0.22:
        starts = [index for index, message in enumerate(shown) if isinstance(message["content"], str)]
        return [user(f"summary {step}"), *shown[chance.choice(starts) :]] if starts else shown
    if what < 0.32:
        most = chance.randrange(4)
        return without_thinking(shown, lambda number: number < most)
    if what < 0.4:
        return without_thinking(shown, lambda number: chance.random() < 0.3)
    if what < 0.45:
        return list(host)
    return shown


def without_thinking(shown: list[Any], goes: Any) -> list[Any]:
    kept = []
    number = -1
    for message in shown:
        if message["role"] != "assistant":
            kept.append(message)
            continue
        blocks = []
        for block in message["content"]:
            if block["type"] == "thinking":
                number += 1
                if goes(number):
                    continue
            blocks.append(block)
        if len(blocks) == len(message["content"]):
            kept.append(message)
        elif blocks:
            kept.append(assistant(*blocks))
    return kept


def stripped(item: Item, stale: set[Spot]) -> Any | None:
    message: Any = item.message
    if isinstance(message["content"], str):
        return message
    blocks = [
        block for number, block in enumerate(message["content"]) if Spot(item.serial, number) not in stale
    ]
    if len(blocks) == len(message["content"]):
        return message
    return {**message, "content": blocks} if blocks else None
