"""Row R8, the model's side: the tool the pack offers, what a call of it does, and what the model is told."""

from __future__ import annotations

import json
import re
import time
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator
from tests.reference.support import (
    MODEL,
    NOW,
    Message,
    assistant,
    call,
    claude,
    loop,
    result,
    run,
    shown,
    user,
    verdict,
    words,
)
from tests.reference.test_r08_snip import IDS, SNIP, talk
from tests.session.packs import engine_of

from trimtab import Engine, Facts, Info, ManualRequest, Request
from trimtab.outcome import Outcome
from trimtab.session import Session

HOSTS = {"name": "Bash", "description": "Runs a command.", "input_schema": {"type": "object"}}


class Host:
    """An agent's loop as a host writes it: the model calls tools, the host answers, the request goes out again."""

    def __init__(self, engine: Engine, messages: list[Message]) -> None:
        self.engine = engine
        self.session: Session = engine.session()
        self.messages = list(messages)
        self.tools = [HOSTS, *engine.tools(MODEL)]
        self.outcome = self.send()

    def send(self) -> Outcome:
        self.outcome = run(self.session, self.messages, tools=self.tools)
        return self.outcome

    def answers(self, *calls: Message) -> list[Message]:
        """The model answers with these calls; what the host sends back for each."""
        self.messages.append(assistant(*calls))
        results = []
        for block in calls:
            asked = self.engine.asked(block)
            if asked is None:
                results.append(result(block["id"], "done"))
                continue
            request = Request(MODEL, self.messages, tools=self.tools)
            outcome = self.session.run(
                request, "manual", Facts(now=NOW, caller="main", request=asked.request)
            )
            results.append(asked.result(outcome))
        self.messages.append(user(*results))
        self.send()
        return results

    def snips(self, **given: Any) -> Message:
        """The result of one call that asks for this."""
        number = len(self.messages)
        return self.answers(call(f"snip-{number}", "snip", **given))[0]

    def id_of(self, part: str) -> str:
        """The id a model sees on the message with these words."""
        [found] = {
            IDS.findall(text)[0]
            for message in shown(self.outcome)
            if part in (text := json.dumps(message)) and IDS.search(text)
        }
        return found


def test_r08_the_tool_is_offered_with_the_setting_and_only_then() -> None:
    [tool] = claude(settings=SNIP).tools(MODEL)
    assert tool["name"] == "snip"
    assert "[id:17]" in tool["description"]
    assert set(tool) == {"name", "description", "input_schema"}
    Draft7Validator.check_schema(tool["input_schema"])
    assert claude().tools(MODEL) == []
    assert claude("-collapse").tools(MODEL) == []


def test_r08_what_the_model_may_name_fits_the_schema_it_is_given() -> None:
    [tool] = claude(settings=SNIP).tools(MODEL)
    shape = Draft7Validator(tool["input_schema"])
    for good in ({}, {"messages": ["3"]}, {"ranges": [{"from": "3", "to": "9"}], "messages": ["12"]}):
        assert shape.is_valid(good)
    for bad in ({"messages": "3"}, {"ranges": [{"from": "3"}]}, {"ids": ["3"]}):
        assert not shape.is_valid(bad)


def test_r08_a_setting_of_one_model_offers_the_tool_to_that_model() -> None:
    engine = claude(models={"claude-haiku-*": {"snip": True}})
    assert [len(engine.tools(model)) for model in ("claude-haiku-4-5", MODEL)] == [1, 0]


def test_r08_the_description_is_the_packs_own() -> None:
    own = engine_of(
        "format: 1\nname: own\nversion: 1.0.0\nsettings: {shy: true}\nstages:\n"
        "  - {id: cut, kind: drop, at: {manual: {request: [forget]}}, select: {requested: true},\n"
        "     tool: {name: forget, text: \"Forgets.{{ ' Seldom.' if settings.shy }} You are {{ model }}.\"}}\n"
    )
    [tool] = own.tools(MODEL)
    assert (tool["name"], tool["description"]) == ("forget", f"Forgets. Seldom. You are {MODEL}.")
    asked = own.asked(call("a", "forget", messages=["1"]))
    assert asked is not None
    assert asked.request == ManualRequest("forget", by="model", messages=(1,))


def test_r08_a_call_of_another_tool_is_none_of_the_packs() -> None:
    engine = claude(settings=SNIP)
    assert engine.asked(call("a", "Bash", command="ls")) is None
    assert engine.asked({"type": "text", "text": "snip"}) is None
    assert engine.asked(call("a", "snip", messages=["1"])) is not None


def test_r08_a_block_of_an_sdk_is_read_like_a_mapping() -> None:
    engine = claude(settings=SNIP)
    block = SimpleNamespace(
        type="tool_use", id="a", name="snip", input={"messages": ["[id:4]", "id:5", "6", "m-7"]}
    )
    asked = engine.asked(block)
    assert asked is not None
    assert (asked.id, asked.stage) == ("a", "snip")
    assert asked.request.messages == (4, 5, 6, "m-7")


def test_r08_the_model_removes_a_range_in_the_middle_and_is_told_what_went() -> None:
    host = Host(claude(settings=SNIP), talk())
    first, last = host.id_of("Task two."), host.id_of("line 12 of the output")
    said = host.snips(ranges=[{"from": first, "to": last}])
    assert re.fullmatch(r"Removed 7 messages, about [\d,]+ tokens\.", said["content"])
    assert "is_error" not in said
    after = words(host.outcome)
    assert "line 10 of the output" not in after
    assert "Task two." not in after
    assert "Task one." in after
    assert "Task three." in after
    assert "removed on request]" in after


def test_r08_a_range_may_be_named_from_either_end() -> None:
    bodies = []
    for swapped in (False, True):
        host = Host(claude(settings=SNIP), talk())
        ends = [host.id_of("Task two."), host.id_of("line 12 of the output")]
        first, last = reversed(ends) if swapped else ends
        host.snips(ranges=[{"from": first, "to": last}])
        bodies.append(shown(host.outcome)[:-2])
    assert bodies[0] == bodies[1]


def test_r08_single_messages_and_ranges_go_together_in_one_call() -> None:
    host = Host(claude(settings=SNIP), talk())
    wanted = [{"from": host.id_of("line 10 of the output"), "to": host.id_of("line 11 of the output")}]
    said = host.snips(messages=[host.id_of("line 20 of the output")], ranges=wanted)
    assert said["content"].startswith("Removed 6 messages")
    after = words(host.outcome)
    assert [number for number in (10, 11, 12, 20, 21) if f"line {number} of" in after] == [12, 21]


def test_r08_a_message_in_the_middle_of_a_round_takes_its_whole_round_along() -> None:
    messages = talk()
    batch = [
        assistant(*(call(f"b{number}", "Bash", command="make") for number in range(3))),
        user(*(result(f"b{number}", f"built part {number}; " * 20) for number in range(3))),
    ]
    host = Host(claude(settings=SNIP), [*messages[:9], *batch, *messages[9:]])
    said = host.snips(messages=[host.id_of("built part 1")])
    assert said["content"].startswith("Removed 2 messages")
    assert "built part" not in words(host.outcome)
    assert '"b0"' not in words(host.outcome)


def test_r08_an_unknown_id_is_told_and_the_rest_is_removed() -> None:
    host = Host(claude(settings=SNIP), talk())
    said = host.snips(messages=["9999", host.id_of("line 10 of the output"), "nonsense"])
    assert said["content"].splitlines()[1:] == [
        "Not removed:",
        "- 9999: no message has this id",
        "- nonsense: no message has this id",
    ]
    assert said["content"].startswith("Removed 2 messages")
    assert "is_error" not in said


@pytest.mark.parametrize(
    "given_",
    [
        {"messages": [f"made-up-{number}" for number in range(3000)]},
        {"messages": [{"no": number} for number in range(3000)]},
        {"ranges": [{"from": f"made-up-{number}"} for number in range(3000)]},
        {f"field-{number}" * 100: 1 for number in range(3000)},
    ],
    ids=["ids", "no ids", "ranges", "fields"],
)
def test_r08_of_countless_reasons_some_are_listed_and_the_others_counted(given_: dict[str, Any]) -> None:
    host = Host(claude(settings=SNIP), talk())
    said = host.snips(**given_)["content"]
    listed = [line for line in said.splitlines() if line.startswith("- ")]
    assert len(listed) == 21
    assert listed[-1] == "- and 2,980 more"
    assert len(said) < 4000


def test_r08_countless_names_cost_little_more_than_reading_them() -> None:
    messages = loop(400, 100)
    info = [Info(id=f"m{index}") for index in range(len(messages))]
    session = claude(settings=SNIP).session()
    run(session, messages, info=info)
    names = tuple(("m790", f"m{number % 780}") for number in range(40_000))
    start = time.perf_counter()
    run(session, messages, "manual", info=info, request=ManualRequest("snip", by="model", messages=names))
    assert time.perf_counter() - start < 4


def test_r08_a_range_with_an_unknown_end_removes_nothing() -> None:
    host = Host(claude(settings=SNIP), talk())
    before = shown(host.outcome)
    said = host.snips(ranges=[{"from": host.id_of("Task two."), "to": "4711"}])
    assert said["is_error"] is True
    assert "- 4711: no message has this id" in said["content"].splitlines()
    assert shown(host.outcome)[: len(before)] == before


def test_r08_the_open_round_cannot_be_removed_and_the_model_is_told() -> None:
    host = Host(claude(settings=SNIP), talk())
    serial = max(host.outcome.serials) + 1
    said = host.answers(call("s", "snip", messages=[str(serial)]), call("other", "Bash", command="ls"))[0]
    assert said["content"].splitlines() == [
        "Nothing was removed.",
        f"- {serial}: its calls have not been answered yet",
    ]
    assert said["is_error"] is True


def test_r08_the_newest_message_of_the_user_stays_and_the_model_is_told() -> None:
    host = Host(claude(settings=SNIP), talk())
    said = host.snips(messages=[host.id_of("And now?")])
    assert "it is the newest message of the user" in said["content"]
    assert "And now?" in words(host.outcome)


def test_r08_a_pinned_message_stays_with_its_round_and_the_model_is_told() -> None:
    messages = talk()
    engine = claude(settings=SNIP)
    session = engine.session()
    info = [Info(pinned=index == 10) for index in range(len(messages))]
    seen = run(session, messages, info=info)
    first, second = (seen.serials[index] for index in (9, 10))
    messages.append(assistant(call("s", "snip", messages=[str(first), str(second)])))
    asked = engine.asked(messages[-1]["content"][0])
    assert asked is not None
    info.append(Info())
    outcome = run(session, messages, "manual", info=info, request=asked.request)
    assert asked.result(outcome)["content"].splitlines() == [
        "Nothing was removed.",
        f"- {first}: it can go only with its whole round, in which something must stay",
        f"- {second}: it is pinned",
    ]


def test_r08_what_went_before_is_told_from_what_never_was() -> None:
    host = Host(claude(settings=SNIP), talk())
    name = host.id_of("line 10 of the output")
    host.snips(messages=[name])
    said = host.snips(messages=[name])
    assert f"- {name}: it is not shown any more" in said["content"].splitlines()


def test_r08_a_call_while_the_setting_is_off_is_answered_and_changes_nothing() -> None:
    engine = claude()
    host = Host(engine, talk())
    said = host.snips(messages=["9"])
    assert said["content"] == "Nothing was removed: settings snip is false."
    assert said["is_error"] is True


@pytest.mark.parametrize(
    ("given_", "part"),
    [
        ({}, "the call names no message"),
        ({"messages": []}, "the call names no message"),
        ({"messages": [None, {"id": 3}, True, ""]}, "in `messages` is no id"),
        ({"messages": [10**5000, -1]}, "in `messages` is no id"),
        ({"ranges": [{"from": 10**5000, "to": 1}]}, "does not say `from` which id `to` which"),
        ({"messages": 7}, "Removed 2 messages"),
        ({"messages": "[id:7]"}, "Removed 2 messages"),
        ({"ranges": {"from": 5, "to": 7}}, "Removed 4 messages"),
        ({"ranges": [["5", "7"]]}, "does not say `from` which id `to` which"),
        ({"ranges": [{"from": "5"}]}, "does not say `from` which id `to` which"),
        ({"ids": ["7"]}, "the input has no `ids`"),
        ({"messages": ["9" * 6000, "-1", "7 "]}, "Removed 2 messages"),
    ],
)
def test_r08_input_of_any_shape_gets_an_answer(given_: dict[str, Any], part: str) -> None:
    host = Host(claude(settings=SNIP), talk())
    assert part in host.snips(**given_)["content"]


NAMES = st.one_of(st.integers(-2, 40).map(str), st.sampled_from(["x", "[id:9]", "", "½"]))


@given(st.lists(NAMES, max_size=4), st.lists(st.tuples(NAMES, NAMES), max_size=3))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_r08_whatever_a_model_names_the_next_request_is_one_the_api_takes(
    single: list[str], ends: list[tuple[str, str]]
) -> None:
    host = Host(claude(settings=SNIP), talk())
    for _ in range(2):
        said = host.snips(messages=single, ranges=[{"from": one, "to": other} for one, other in ends])
        assert said["content"]
        assert said.get("is_error", False) is not said["content"].startswith("Removed")
        assert host.outcome.send


def test_r08_a_range_of_a_users_own_request_is_one_too() -> None:
    session = claude(settings=SNIP).session()
    messages = talk()
    info = [Info(id=f"m{index}") for index in range(len(messages))]
    run(session, messages, info=info)
    request = ManualRequest.of({"name": "snip", "messages": [["m9", "m12"], "m20"]})
    outcome = run(session, messages, "manual", info=info, request=request)
    assert verdict(outcome, "snip") == "committed"
    said = words(run(session, messages, info=info))
    assert [number for number in (10, 11, 12, 20, 21) if f"line {number} of" in said] == [12, 20]
    with pytest.raises(ValueError, match="two ends"):
        ManualRequest.of({"name": "snip", "messages": [["m9", "m12", "m13"]]})


def test_r08_a_serial_is_never_taken_for_a_hosts_id() -> None:
    session = claude(settings=SNIP).session()
    messages = talk()
    info = [Info(id=str(100 - index)) for index in range(len(messages))]
    run(session, messages, info=info)
    outcome = run(session, messages, "manual", info=info, request=ManualRequest("snip", messages=(11, "90")))
    serials = set(outcome.serials)
    assert 11 not in serials, "a number is a serial"
    assert 90 not in serials
    assert "line 10 of the output" not in words(outcome), (
        "a text is the host's id: 90 is message 10, serial 11"
    )
