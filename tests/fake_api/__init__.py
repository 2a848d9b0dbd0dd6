"""A strict fake of Anthropic's Messages API, served over a real socket, so that the real SDK can talk to it.

It knows the rules and the texts of API-FACTS (§1–§6) and refuses whatever the API is known to refuse; where the
texts are not known the words are its own. Requests are checked first, and only a valid one uses up an entry of the
script: a test can trust that what was answered would have been answered by the API, too.

    def test_something(fake_api):
        api = fake_api("first answer", [call("Read", path="a.py")], overloaded(), window=32_000)
        client = api.client()                     # the SDK; or point anything at api.url
        client.messages.create(...)
        assert not api.faulty                     # nothing was refused for what it is
        api.clock.advance(3600)                   # the cache's and only the cache's time
        api.requests[0].body, api.requests[0].refusal

    requests    what a request must be                  shapes      keys, read off the SDK's types
    rules       what a list of messages must be         signing     thinking bound to its prefix
    editing     context_management                      compacting  compaction by the server
    counting    how tokens are counted                  caching     the prompt cache and its lives
    diagnosing  why a cache was missed                  replies     scripts, faults of delivery
    errors      refusals                                streaming   a message as events
    api         all of it, without a socket             server      the socket
    fixture     ``fake_api`` for pytest                 __main__    to be served by hand

Not there: batches, files, threads, model listing, server tools that do anything, output that fits a schema.
"""

from __future__ import annotations

from .api import Clock, FakeApi, Recorded
from .errors import (
    Refusal,
    compaction_unavailable,
    overloaded,
    rate_limited,
    server_error,
    too_long,
)
from .replies import Delivery, Reply, call, refuse_to_answer, say, think
from .server import Server

__all__ = [
    "Clock",
    "Delivery",
    "FakeApi",
    "Recorded",
    "Refusal",
    "Reply",
    "Server",
    "call",
    "compaction_unavailable",
    "overloaded",
    "rate_limited",
    "refuse_to_answer",
    "say",
    "server_error",
    "think",
    "too_long",
]
