"""Faults on demand: what a script can do to an answer, and what the SDK makes of it."""

from __future__ import annotations

import json
import time
from typing import Any

import anthropic
import httpx2
import pytest
from tests.fake_api import Delivery, overloaded, rate_limited, say, server_error, too_long
from tests.fake_api.fixture import Served, ServedApi
from tests.fake_api_tests.support import ASK, ask


def read(api: ServedApi, **options: Any) -> Any:
    """The message of a stream."""
    with api.client(**options).messages.stream(**ASK) as stream:
        return stream.get_final_message()


@pytest.mark.parametrize(
    ("refusal", "raises"),
    [
        (rate_limited(7), anthropic.RateLimitError),
        (overloaded(), anthropic.OverloadedError),
        (server_error(), anthropic.InternalServerError),
        (too_long(210_432, 200_000), anthropic.BadRequestError),
    ],
)
@pytest.mark.parametrize("streaming", [False, True])
def test_a_scripted_refusal_raises_and_is_no_fault_of_the_request(
    fake_api: Served, refusal: Any, raises: type[Exception], streaming: bool
) -> None:
    api = fake_api(refusal)
    with pytest.raises(raises) as caught:
        (read if streaming else ask)(api)
    assert isinstance(caught.value, anthropic.APIStatusError)
    assert (caught.value.status_code, caught.value.api_message) == (refusal.status, refusal.message)
    assert (api.faulty, api.requests[0].refusal) == ([], refusal)
    for name, value in refusal.headers.items():
        assert caught.value.response.headers[name] == value


def test_the_client_tries_again_after_what_the_header_says(fake_api: Served) -> None:
    api = fake_api(rate_limited(0.1), overloaded(), "at last")
    api.script[1] = rate_limited(0.1)
    message = api.client(max_retries=2).messages.create(**ASK)
    assert message.content[0].text == "at last"  # type: ignore[union-attr]
    assert [one.status for one in api.requests] == [429, 429, 200]


def test_a_stream_can_break(fake_api: Served) -> None:
    with pytest.raises((anthropic.APIConnectionError, httpx2.RemoteProtocolError)):
        read(fake_api(say("hello", delivery=Delivery(drop_after=4))))


def test_a_stream_can_be_reset(fake_api: Served) -> None:
    with pytest.raises((anthropic.APIConnectionError, httpx2.ReadError), match="reset"):
        read(fake_api(say("hello", delivery=Delivery(drop_after=4, reset=True))))


def test_a_plain_answer_can_break(fake_api: Served) -> None:
    with pytest.raises((anthropic.APIConnectionError, httpx2.RemoteProtocolError)):
        ask(fake_api(say("hello", delivery=Delivery(drop_after=0))))


def test_a_stream_can_end_before_the_message_does(fake_api: Served) -> None:
    message = read(fake_api(say("hello", delivery=Delivery(end_after=4))))
    assert message.stop_reason is None


def test_a_stream_can_hold_what_is_no_json(fake_api: Served) -> None:
    with pytest.raises(json.JSONDecodeError):
        read(fake_api(say("hello", delivery=Delivery(malformed_after=3))))


def test_an_error_can_come_in_the_middle_of_a_stream(fake_api: Served) -> None:
    with pytest.raises(anthropic.APIStatusError) as caught:
        read(fake_api(say("hello", delivery=Delivery(error_after=4, error=overloaded()))))
    assert (caught.value.type, caught.value.api_message) == ("overloaded_error", "Overloaded")


def test_an_answer_can_be_of_another_type(fake_api: Served) -> None:
    api = fake_api(say("hello", delivery=Delivery(content_type="text/plain")))
    raw = api.client().messages.with_raw_response.create(**ASK)
    assert raw.headers["content-type"] == "text/plain"


@pytest.mark.parametrize("streaming", [False, True])
def test_a_gateway_can_answer_with_a_page_of_its_own(fake_api: Served, streaming: bool) -> None:
    page = Delivery(content_type="text/html", body=b"<html>busy</html>")
    api = fake_api(say("hello", delivery=page))
    if streaming:
        with pytest.raises(AssertionError):
            read(api)
    else:
        assert ask(api) == "<html>busy</html>"


def test_headers_can_be_late(fake_api: Served) -> None:
    api = fake_api(say("hello", delivery=Delivery(headers_after=0.5)), "again")
    with pytest.raises(anthropic.APITimeoutError):
        api.client(timeout=0.1).messages.create(**ASK)
    assert ask(api).content[0].text == "again"


def test_events_can_be_slow(fake_api: Served) -> None:
    api = fake_api(say("hello", delivery=Delivery(pause=0.03)))
    begun = time.monotonic()
    assert read(api).content[0].text == "hello"
    assert time.monotonic() - begun > 0.03 * 6


@pytest.mark.parametrize("how", [Delivery(pause=0.02, pings=20), Delivery(pause=0.0005, piece=1)])
def test_a_stream_can_be_slow_without_an_event(fake_api: Served, how: Delivery) -> None:
    begun = time.monotonic()
    assert read(fake_api(say("hello", delivery=how))).content[0].text == "hello"
    assert time.monotonic() - begun > 0.02 * 20


def test_events_can_be_spoiled(fake_api: Served) -> None:
    spoiled = Delivery(mangle=lambda event: event.replace(b"hello", b"good-bye"))
    assert read(fake_api(say("hello", delivery=spoiled))).content[0].text == "good-bye"


def test_an_event_can_be_lost(fake_api: Served) -> None:
    lost = Delivery(mangle=lambda event: b"" if b"hello" in event else event)
    assert read(fake_api(say("hello", delivery=lost))).content[0].text == ""


def test_an_event_too_late_times_out(fake_api: Served) -> None:
    with pytest.raises((anthropic.APITimeoutError, httpx2.ReadTimeout)):
        read(fake_api(say("hello", delivery=Delivery(pause=0.5))), timeout=0.1)


def test_an_unknown_path_is_not_found(fake_api: Served) -> None:
    with pytest.raises(anthropic.NotFoundError):
        fake_api().client().post("/v1/complete", body={}, cast_to=object)


def test_a_script_that_fails_is_seen(fake_api: Served) -> None:
    api = fake_api(lambda request: request.body["nothing"])
    with pytest.raises(anthropic.InternalServerError, match="the script failed: KeyError"):
        ask(api)
    assert len(api.faulty) == 1
