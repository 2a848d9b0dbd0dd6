"""Failures that every vendor has are told alike."""

from __future__ import annotations

import re

import anthropic
import httpx2
import pytest

from trimtab.conversation.request import Usage
from trimtab.summarizers.failures import on_the_way, passes, too_long

ASKED = httpx2.Request("POST", "https://example.org")
PAID = Usage(7, 0, 0, 1)


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (anthropic.APITimeoutError(ASKED), "the API did not answer in time"),
        (httpx2.ReadTimeout("slow"), "the API did not answer in time"),
        (
            anthropic.APIConnectionError(message="no route", request=ASKED),
            "the API could not be reached: no route",
        ),
        (httpx2.ReadError("cut"), "the answer broke off: cut"),
    ],
)
def test_a_failure_on_the_way_may_pass_and_is_paid_for(problem: Exception, words: str) -> None:
    failure = on_the_way(problem, anthropic, "the API", PAID)
    assert failure is not None
    assert (failure.reason, failure.message) == ("error", words)
    assert failure.transient
    assert failure.usage == PAID


def test_what_did_not_happen_on_the_way_is_for_others_to_tell() -> None:
    assert on_the_way(ValueError("no"), anthropic, "the API", None) is None


def test_a_connection_fails_for_the_reason_below_it() -> None:
    problem = anthropic.APIConnectionError(request=ASKED)
    problem.__cause__ = OSError("name not known")
    failure = on_the_way(problem, anthropic, "the API", None)
    assert failure is not None
    assert failure.message == "the API could not be reached: name not known"


@pytest.mark.parametrize(
    ("status", "passing"), [(400, False), (404, False), (408, True), (429, True), (529, True)]
)
def test_a_status_tells_whether_a_failure_passes(status: int, passing: bool) -> None:
    assert passes(status) is passing


def test_the_excess_is_what_the_message_says() -> None:
    patterns = (
        re.compile(r"(?P<size>\d+) \+ (?P<more>\d+) > (?P<limit>\d+)"),
        re.compile("too long"),
    )
    found = too_long(patterns, "90 + 20 > 100", "refused")
    assert found is not None
    assert (found.reason, found.message, found.excess_tokens, found.size_tokens) == (
        "too_long",
        "refused",
        10,
        90,
    )
    bare = too_long(patterns, "far too long", "refused")
    assert bare is not None
    assert (bare.reason, bare.excess_tokens) == ("too_long", None)
    assert too_long(patterns, "no such model", "refused") is None
