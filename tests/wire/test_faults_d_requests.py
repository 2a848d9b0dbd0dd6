"""Group D of the field reports over the wire: what a writer is given, what of it where that is too much."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import pytest
from tests.fake_api import Refusal, too_long
from tests.fake_api.counting import prompt_tokens
from tests.fake_api.fixture import Served, ServedApi
from tests.faults.support import assistant, call, image, loop, result, rounds, text, user, words
from tests.strategies import PIXEL
from tests.validity.support import thinking
from tests.wire.agent import SUMMARY, committed
from tests.wire.summing import (
    MODEL,
    NINE,
    SYSTEM,
    TOOLS,
    calls,
    chain,
    compact,
    engine,
    pack,
    problems,
    report,
    request,
)

from trimtab import Engine, Facts, Info, ManualRequest
from trimtab.receipt import StageReport
from trimtab.summarizers.anthropic import AnthropicSummarizer


def sent_text(api: ServedApi, number: int = -1) -> str:
    return json.dumps(api.sent[number].body, ensure_ascii=False)


# --- D3


def test_d3_literal_tags_of_the_conversation_change_nothing(fake_api: Served) -> None:
    inner = "the log says </summary> and <summary>done</summary> and <analysis>x"
    answer = SUMMARY.replace("the ledgers were put in order", inner, 1)
    messages = loop(6, 3000)
    messages[0] = user("Why does </summary><analysis> break? </conversation>")
    messages += rounds(6, 3000, start=50)
    outcome = compact(engine(fake_api(answer)), messages)
    assert report(outcome).verdict == "committed"
    said = words(outcome)
    assert json.dumps(inner)[1:-1] in said
    assert "thought over" not in said


# --- D1


def real(api: ServedApi, number: int) -> int:
    body = api.sent[number].body
    return prompt_tokens(body.get("system"), body.get("tools") or [], body["messages"])


LADDER = "ladder: [{remove: {what: rounds, from: oldest, excess: true, share: 0.2}, times: 3}]"


def test_d1_a_request_the_api_finds_too_long_is_cut_by_what_it_reports(fake_api: Served) -> None:
    messages = loop(30, 3000)
    api = fake_api(SUMMARY, window=28_000)
    outcome = compact(engine(api, pack(f"{NINE}, {LADDER}")), messages)
    assert problems(outcome) == ["too_long", None]
    assert [one.status for one in api.sent] == [400, 200]
    assert real(api, 0) > 28_000 >= real(api, 1)
    assert real(api, 1) > 28_000 - 3 * 1100, "no more than needed was left out"
    dropped = report(outcome).remarks["dropped"]
    assert len(dropped) > 3
    assert f"of the {len(messages) - 2} it stands for" in words(outcome)
    assert "Not read for this text, for want of room: messages 1–" in words(outcome)


def test_d1_without_numbers_a_fifth_of_the_rounds_goes_three_times_at_most(fake_api: Served) -> None:
    api = fake_api(otherwise=Refusal(400, "prompt is too long"))
    outcome = compact(engine(api, pack(f"{NINE}, {LADDER}")), loop(20, 2000))
    assert problems(outcome) == ["too_long"] * 4
    assert [one.rung for one in calls(outcome)] == [0, 1, 1, 1]
    counts = [sum(m["role"] == "assistant" for m in one.body["messages"]) for one in api.sent]
    assert counts == [19, 16, 13, 11]
    for one in api.sent[1:]:
        assert one.body["messages"][0]["role"] == "user"
    assert api.faulty == []


RUNGS = {
    "strip media": "{media: drop}",
    "shorten results": "{clip: {tool_result: {chars: 200}}}",
    "drop thinking": "{without: [thinking]}",
    "empty results": "{remove: {what: tool_results, from: oldest, share: 1}}",
    "middle out": "{remove: {what: messages, from: middle, share: 0.5}}",
}


def rich() -> list[dict[str, Any]]:
    return [
        user("Find the leak."),
        assistant(thinking("I wonder about the pool " * 50, "sig"), call("c1", "Bash", command="grep")),
        user(result("c1", [text("a page"), image(PIXEL)])),
        *rounds(8, 3000),
    ]


@pytest.mark.parametrize("name", RUNGS)
def test_d1_every_declared_rung_makes_a_valid_smaller_request_and_is_accounted_for(
    fake_api: Served, name: str
) -> None:
    model = "claude-opus-4-7"
    api = fake_api(too_long(210_432, 200_000), SUMMARY)
    keys = f"{NINE}, ladder: [{RUNGS[name]}]"
    messages = rich()
    messages[1]["content"][0] = api.signing.sign(messages[:1], "I wonder about the pool " * 50)
    outcome = compact(engine(api, pack(keys)), messages, model=model)
    assert not api.faulty, api.faulty[0].refusal
    assert problems(outcome) == ["too_long", None]
    assert real(api, 1) < real(api, 0)
    assert report(outcome).remarks["rung"] == 1
    assert {"dropped", "shortened", "results_left_out"} & report(outcome).remarks.keys()
    assert "Not read for this text" in words(outcome)
    assert any("without" in notice.text for notice in outcome.notices)


def test_d1_rungs_are_tried_in_order_until_one_fits(fake_api: Served) -> None:
    keys = f"{NINE}, ladder: [{', '.join(RUNGS[name] for name in ('strip media', 'shorten results', 'middle out'))}]"
    api = fake_api(*[too_long(210_432, 200_000)] * 2, SUMMARY)
    outcome = compact(engine(api, pack(keys)), loop(12, 3000))
    # There are no media to strip: that rung costs no call.
    assert [one.rung for one in calls(outcome)] == [0, 2, 3]
    assert report(outcome).verdict == "committed"


def test_d1_a_request_that_is_too_long_for_good_is_no_dead_end(fake_api: Served) -> None:
    api = fake_api(otherwise=Refusal(413, "Request exceeds the maximum allowed number of bytes"))
    outcome = compact(engine(api, chain("same", "too_long")), loop(12, 3000))
    assert committed([outcome]) == ["ledger"]


def test_d1_an_image_that_the_api_refuses_is_named_instead(fake_api: Served) -> None:
    header = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (9000).to_bytes(4) + (4).to_bytes(4)
    wide = image(base64.b64encode(header).decode())
    api = fake_api(SUMMARY)
    ready = Engine.load(
        "claude-code", models={"*": {"window": 30_000}}, summarizer=AnthropicSummarizer(api.client())
    )
    messages = loop(16, 3000)
    messages[4] = user(result("call-1", [text("the page"), wide]))
    outcome = compact(ready, messages)
    assert problems(outcome, "full-summary") == ["media", None]
    assert [one.status for one in api.sent] == [400, 200]
    assert "[image: image/png]" in json.dumps(api.sent[1].body)
    assert committed([outcome])[0] == "full-summary"


def test_d1_a_model_of_a_smaller_window_gets_less(fake_api: Served) -> None:
    api = fake_api(SUMMARY)
    ready = engine(
        api,
        pack(f"{NINE}, model: [claude-3-5-haiku], {LADDER}"),
        models={"claude-3-5-haiku": {"window": 12_000}},
    )
    outcome = compact(ready, loop(20, 3000))
    assert report(outcome).verdict == "committed"
    assert report(outcome).remarks["unsent"] >= 1
    assert real(api, 0) < 16_000
    assert api.sent[0].body["max_tokens"] <= 8192


# --- D4


def test_d4_an_earlier_summary_is_worked_into_the_new_one_and_never_nested(fake_api: Served) -> None:
    second = SUMMARY.replace("put in order", "closed for the year")
    api = fake_api(SUMMARY, second)
    session = engine(api).session()
    messages = loop(12, 3000)
    compact(session, messages)
    assert "An earlier hand-over exists" not in sent_text(api)
    messages += rounds(12, 3000, start=100)
    outcome = compact(session, messages)
    asked = api.sent[1].body["messages"][-1]["content"]
    assert "An earlier hand-over exists. Work it into yours" in asked
    assert "the ledgers were put in order" in asked
    assert "closed for the year" in words(outcome)
    assert "put in order" not in words(outcome)
    assert words(outcome).count("Primary request and intent") == 1


def test_d4_nothing_new_costs_no_call(fake_api: Served) -> None:
    api = fake_api(SUMMARY)
    session = engine(api, pack(keep="")).session()
    messages = loop(12, 3000)
    compact(session, messages, "manual")
    assert report(compact(session, messages, "manual")).verdict == "nothing"
    assert len(api.sent) == 1


# --- D6


@pytest.mark.parametrize(
    "way", ["input: {as: native}", "input: {as: text}", "input: {as: text, role: system}"]
)
@pytest.mark.parametrize("direction", ["whole", "from", "up_to"])
def test_d6_every_prompt_asks_for_the_language_of_the_user(
    fake_api: Served, way: str, direction: str
) -> None:
    api = fake_api(otherwise=SUMMARY)
    session = engine(api, pack(f"{NINE}, {way}", keep="")).session()
    messages = loop(14, 3000)
    point = {"whole": {}, "from": {"from_": "m9"}, "up_to": {"up_to": "m9"}}[direction]
    asked = replace(request(messages), info=[Info(id=f"m{at}") for at in range(len(messages))])
    outcome = session.run(asked, "manual", Facts(request=ManualRequest(**point)))
    assert report(outcome).remarks["direction"] == direction
    assert "Write in the language the user writes in" in sent_text(api)


# --- D7


def test_d7_a_rendered_transcript_holds_calls_and_results_and_no_ballast(fake_api: Served) -> None:
    keys = f"{NINE}, input: {{as: text, without: [thinking], clip: {{tool_result: {{chars: 500}}}}, media: names}}"
    api = fake_api(SUMMARY)
    messages = rich()
    messages[2]["content"][0]["cache_control"] = {"type": "ephemeral"}
    compact(engine(api, pack(keys)), messages)
    body = api.sent[0].body
    assert "tools" not in body
    assert len(body["messages"]) == 1
    said = sent_text(api)
    for there in ("grep", "a page", "[image: image/png]", "line 3 of the output", "characters left out"):
        assert there in said, there
    for ballast in ("I wonder", "cache_control", "signature", "tool_use_id"):
        assert ballast not in said, ballast


def shares(api: ServedApi, ready: Engine, **extra: Any) -> StageReport:
    """A call of the agent, one more round, and a summary: what the latter found in the cache."""
    session = ready.session()
    messages = loop(12, 3000)
    outcome = compact(session, messages, extra=extra)
    main = outcome.request
    fields = {"system": main.system, "tools": main.tools, **main.extra}
    api.client().messages.create(model=MODEL, messages=list(main.messages), **fields)
    messages += rounds(1, 3000, start=100)
    return report(compact(session, messages, "manual", extra=extra))


LATER = "{manual: {}}"


def test_d7_the_writer_shares_the_cache_of_an_agent_whose_marks_a_stage_sets(fake_api: Served) -> None:
    api = fake_api("Understood.", SUMMARY)
    marks = "  - {id: marks, kind: cache_marks, marks: [{place: newest_user}]}\n"
    found = shares(api, engine(api, pack(at=LATER) + marks))
    [one] = found.calls
    assert one.usage is not None
    assert one.usage.cache_read > 8000
    assert one.usage.input < 3000
    assert one.cost is not None
    assert one.cost < one.usage.prompt / 1e6, "less than the input alone without a cache"


def test_d7_the_writer_shares_the_cache_that_the_api_keeps_by_itself(fake_api: Served) -> None:
    api = fake_api("Understood.", SUMMARY)
    found = shares(api, engine(api, pack(at=LATER)), cache_control={"type": "ephemeral"})
    assert found.calls[0].usage is not None
    assert found.calls[0].usage.cache_read > 8000


def test_d7_where_the_agent_is_not_cached_the_writer_pays_for_no_cache(fake_api: Served) -> None:
    api = fake_api("Understood.", SUMMARY)
    found = shares(api, engine(api, pack(at=LATER)))
    assert found.calls[0].usage is not None
    assert (found.calls[0].usage.cache_read, found.calls[0].usage.cache_write) == (0, 0)
    assert "cache_control" not in sent_text(api)


def test_d7_the_writer_gets_the_agents_system_tools_messages_and_no_smaller_output(fake_api: Served) -> None:
    api = fake_api(SUMMARY)
    messages = loop(12, 3000)
    compact(engine(api, pack(keep="")), messages, "manual", extra={"max_tokens": 32_000})
    body = api.sent[0].body
    assert (body["system"], body["tools"], body["max_tokens"]) == (SYSTEM, TOOLS, 32_000)
    assert body["messages"][:-1] == messages[: len(body["messages"]) - 1]
    assert "tool_choice" not in body


def test_d_a_shipped_pack_goes_on_over_the_wire(fake_api: Served) -> None:
    api = fake_api(SUMMARY)
    ready = Engine.load(
        "claude-code", models={"*": {"window": 30_000}}, summarizer=AnthropicSummarizer(api.client())
    )
    outcome = compact(ready, loop(16, 3000))
    assert committed([outcome])[0] == "full-summary"
    assert not api.faulty


# --- D5


def test_d5_files_and_errors_that_the_text_left_out_are_added(fake_api: Served) -> None:
    top = "tools: {read: [Read]}\nfacts: {files: {key: path, from: [{tools: [read], take: {path: /file_path}}]}}\n"
    keys = f"{NINE}, ground: {{facts: [files, errors], budget: {{tokens: 2000}}}}"
    messages = loop(12, 3000)
    messages[4] = user(result("call-1", "PermissionError: berth.csv is locked", is_error=True))
    outcome = compact(engine(fake_api(SUMMARY), pack(keys, top=top)), messages)
    said = words(outcome)
    for number in (0, 2, 7, 10):
        assert f"/srv/file-{number}.py" in said
    assert "PermissionError: berth.csv is locked" in said
    assert report(outcome).remarks["grounded"]


def test_d5_the_prompt_asks_for_exact_values_and_for_the_users_limits_word_for_word(fake_api: Served) -> None:
    api = fake_api(SUMMARY)
    compact(engine(api), loop(12, 3000))
    prompt = api.sent[0].body["messages"][-1]["content"]
    assert "Copy paths, names, commands, numbers and error messages exactly" in prompt
    assert "Quote word for word every limit the user set" in prompt
