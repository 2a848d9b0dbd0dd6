"""What the fake says: replies, streams, usage; through the real SDK over a socket."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import anthropic
import pytest
from tests.fake_api import Reply, call, refuse_to_answer, say, think
from tests.fake_api.fixture import Served
from tests.fake_api_tests.support import ASK, TOOLS, ask

ROOT = Path(__file__).resolve().parent.parent.parent


def test_a_text_is_an_answer_that_ends_the_turn(fake_api: Served) -> None:
    message = ask(fake_api("hello"))
    assert [block.text for block in message.content] == ["hello"]
    assert (message.stop_reason, message.role, message.type) == ("end_turn", "assistant", "message")
    assert message.usage.input_tokens > 0
    assert message.usage.output_tokens == 4 + 2


def test_a_call_gets_an_id_of_its_own_and_stops_for_the_tool(fake_api: Served) -> None:
    message = ask(fake_api([call("Read", path="a"), call("Read", path="b")]), tools=TOOLS)
    assert message.stop_reason == "tool_use"
    assert len({block.id for block in message.content}) == 2
    assert [block.input for block in message.content] == [{"path": "a"}, {"path": "b"}]


CONTENTS: list[Any] = [
    "a text of more than forty characters, so that it needs several pieces, ünd Zeichen 🐢",
    [{"type": "text", "text": "first"}, call("Read", path="x" * 99), call("Read")],
    think("hm, " * 30, {"type": "text", "text": "yes"}, call("Read", path="a")),
    [{"type": "redacted_thinking", "data": ""}, {"type": "text", "text": "so"}],
    say("cut short", stop="max_tokens"),
    say("paused", stop="pause_turn"),
    refuse_to_answer("no"),
    Reply([]),
]


@pytest.mark.parametrize("content", CONTENTS)
def test_a_stream_put_together_is_the_plain_message(fake_api: Served, content: Any) -> None:
    plain = ask(fake_api(content), tools=TOOLS)
    api = fake_api(content)
    with api.client().messages.stream(**ASK, tools=TOOLS) as stream:
        kinds = [event.type for event in stream if event.type in RAW]
        whole = stream.get_final_message()
    assert (kinds[0], kinds[-1]) == ("message_start", "message_stop")
    parsed = whole.model_dump(exclude={"content": {"__all__": {"parsed_output"}}})
    assert parsed == plain.model_dump()


RAW = ("message_start", "content_block_start", "content_block_stop", "message_delta", "message_stop")


def test_the_async_client_is_served_as_well(fake_api: Served) -> None:
    async def main(api: Any) -> str:
        async with api.async_client() as client, client.messages.stream(**ASK) as stream:
            return (await stream.get_final_message()).content[0].text

    assert asyncio.run(main(fake_api("hello"))) == "hello"


def test_a_script_is_told_in_order_and_then_the_same_again(fake_api: Served) -> None:
    api = fake_api(
        "one", lambda request: f"you said {request.body['messages'][0]['content']}", otherwise="so"
    )
    assert [ask(api).content[0].text for _ in range(4)] == ["one", "you said hi", "so", "so"]


def test_an_answer_longer_than_max_tokens_is_cut_off(fake_api: Served) -> None:
    message = ask(fake_api("word " * 100), max_tokens=20)
    assert message.stop_reason == "max_tokens"
    assert message.usage.output_tokens <= 20
    assert message.content[0].text != "word " * 100


def test_a_call_that_does_not_fit_is_not_made(fake_api: Served) -> None:
    message = ask(
        fake_api([{"type": "text", "text": "so"}, call("Read", path="x" * 300)]), tools=TOOLS, max_tokens=20
    )
    assert ([block.type for block in message.content], message.stop_reason) == (["text"], "max_tokens")


def test_a_newer_model_stops_at_the_end_of_its_window(fake_api: Served) -> None:
    message = ask(fake_api("word " * 400, window=300), max_tokens=1000)
    assert message.stop_reason == "model_context_window_exceeded"


def test_a_stop_sequence_ends_the_text(fake_api: Served) -> None:
    message = ask(fake_api("one STOP two"), stop_sequences=["STOP"])
    assert (message.content[0].text, message.stop_reason, message.stop_sequence) == (
        "one ",
        "stop_sequence",
        "STOP",
    )


def test_a_refusal_of_the_model_is_a_message_with_details(fake_api: Served) -> None:
    message = ask(fake_api(refuse_to_answer()))
    assert (message.stop_reason, message.content) == ("refusal", [])
    assert message.stop_details is not None


def test_the_script_cannot_use_a_stop_reason_the_api_does_not_have() -> None:
    with pytest.raises(ValueError, match="no stop reason 'tired'"):
        say("so", stop="tired")


def test_counting_tokens_gives_what_the_request_is_charged(fake_api: Served) -> None:
    api = fake_api("hello")
    counted = api.client().messages.count_tokens(model=ASK["model"], messages=ASK["messages"], tools=TOOLS)
    assert counted.input_tokens == ask(api, tools=TOOLS).usage.input_tokens
    assert [one.path for one in api.requests] == ["/v1/messages/count_tokens", "/v1/messages"]


def test_every_request_is_kept_with_headers_body_and_fate(fake_api: Served) -> None:
    api = fake_api("hello")
    ask(api)
    with pytest.raises(anthropic.BadRequestError):
        ask(api, messages=[])
    good, bad = api.requests
    assert good.headers["anthropic-version"]
    assert good.body["messages"] == ASK["messages"]
    assert (good.status, good.refusal, bad.status) == (200, None, 400)
    assert good.message is not None
    assert good.message["content"] == [{"type": "text", "text": "hello"}]
    assert api.faulty == [bad]


def test_it_can_be_served_by_hand(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps(["from the script"]))
    command = [sys.executable, "-m", "tests.fake_api", "--script", str(script), "--window", "9000"]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": "engine"}
    ) as server:
        assert server.stdout is not None
        url = server.stdout.readline().split()[-1]
        try:
            request = urllib.request.Request(
                f"{url}/v1/messages",
                json.dumps(ASK).encode(),
                {"x-api-key": "none", "anthropic-version": "2026-10-21", "content-type": "application/json"},
            )
            with urllib.request.urlopen(request) as answer:
                assert json.load(answer)["content"][0]["text"] == "from the script"
            assert "200 /v1/messages" in server.stdout.readline()
        finally:
            server.terminate()
