"""The prompt cache: what is written, read, forgotten and charged (API-FACTS §5)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.fake_api.fixture import Served, ServedApi
from tests.fake_api_tests.support import ask, ask_beta, assistant, text, user

SMALL = "claude-opus-5-5"
"""Caches from 512 tokens on."""
LONG = "word " * 400
MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}


def used(api: ServedApi, *messages: Any, **more: Any) -> tuple[int, int, int]:
    """Tokens read, written and neither."""
    usage = ask(api, model=SMALL, messages=list(messages), **more).usage
    return usage.cache_read_input_tokens, usage.cache_creation_input_tokens, usage.input_tokens


FIRST = user([text(LONG, cache_control=MARK)])
WHOLE = 675
"""Tokens of FIRST: 2,000 bytes by three, four for the block and four for the message."""


def test_what_is_marked_is_written_once_and_then_read(fake_api: Served) -> None:
    api = fake_api()
    assert used(api, FIRST) == (0, WHOLE, 0)
    assert used(api, FIRST) == (WHOLE, 0, 0)
    assert used(api, FIRST, assistant(text("so")), user("and")) == (WHOLE, 0, 9 + 9)


def test_nothing_is_written_without_a_mark(fake_api: Served) -> None:
    api = fake_api()
    assert used(api, user(LONG)) == (0, 0, WHOLE)
    assert used(api, user(LONG)) == (0, 0, WHOLE)


def test_a_prefix_below_the_least_length_is_silently_not_cached(fake_api: Served) -> None:
    api = fake_api()
    short = user([text("word " * 300, cache_control=MARK)])
    assert used(api, short) == (0, 0, 508)
    assert used(api, short) == (0, 0, 508)
    usage = ask(api, model="claude-haiku-4-5", messages=[FIRST]).usage
    assert (usage.cache_creation_input_tokens, usage.input_tokens) == (0, WHOLE)


@pytest.mark.parametrize(("mark", "life"), [(MARK, 300), (HOUR, 3600)])
def test_an_entry_lives_as_long_as_its_mark_says_and_a_read_renews_it(
    fake_api: Served, mark: Any, life: int
) -> None:
    api = fake_api()
    first = user([text(LONG, cache_control=mark)])
    used(api, first)
    for _ in range(3):
        api.clock.advance(life - 1)
        assert used(api, first)[0] == WHOLE
    api.clock.advance(life)
    assert used(api, first) == (0, WHOLE, 0)


def test_the_two_lives_are_charged_apart(fake_api: Served) -> None:
    api = fake_api()
    system = [text(LONG, cache_control=HOUR)]
    usage = ask(api, model=SMALL, messages=[FIRST], system=system).usage
    assert usage.cache_creation.ephemeral_1h_input_tokens == WHOLE - 4
    assert usage.cache_creation.ephemeral_5m_input_tokens == WHOLE
    api.clock.advance(1000)
    usage = ask(api, model=SMALL, messages=[FIRST], system=system).usage
    assert (usage.cache_read_input_tokens, usage.cache_creation_input_tokens) == (WHOLE - 4, WHOLE)


def test_a_mark_that_moves_on_reads_what_the_last_one_wrote(fake_api: Served) -> None:
    api = fake_api()
    used(api, FIRST)
    plain = user([text(LONG)])
    assert used(api, plain, assistant(text("so")), user([text("and", cache_control=MARK)])) == (WHOLE, 18, 0)


def test_a_mark_looks_back_twenty_blocks_and_no_further(fake_api: Served) -> None:
    for more, read in ((20, WHOLE), (21, 0)):
        api = fake_api()
        used(api, FIRST)
        blocks = [text(f"block {number}") for number in range(more)]
        blocks[-1] = {**blocks[-1], "cache_control": MARK}
        assert used(api, user([text(LONG)]), user(blocks))[0] == read


def test_a_change_before_the_mark_misses(fake_api: Served) -> None:
    api = fake_api()
    used(api, FIRST)
    assert used(api, FIRST, system="be brief")[0] == 0
    assert used(api, user([text("x" + LONG, cache_control=MARK)]))[0] == 0


def test_another_model_has_a_cache_of_its_own(fake_api: Served) -> None:
    api = fake_api()
    used(api, FIRST)
    assert ask(api, model="claude-sonnet-5-5", messages=[FIRST]).usage.cache_read_input_tokens == 0


def test_a_mark_on_the_request_stands_on_its_last_block(fake_api: Served) -> None:
    api = fake_api()
    assert used(api, user(LONG), cache_control=MARK) == (0, WHOLE, 0)
    assert used(api, user(LONG), assistant(text("so")), user("and"), cache_control=MARK) == (WHOLE, 18, 0)


def test_tools_and_system_come_before_the_messages(fake_api: Served) -> None:
    api = fake_api()
    tools = [{"name": "Read", "input_schema": {"type": "object"}, "description": LONG}]
    tools = [{**tools[0], "cache_control": MARK}]
    _, written, _ = used(api, user("hi"), tools=tools)
    assert written > WHOLE
    assert used(api, user("another"), tools=tools)[0] == written


def test_diagnostics_tell_why_a_cache_was_missed(fake_api: Served) -> None:
    api = fake_api()
    first = ask(api, model=SMALL, messages=[FIRST], diagnostics={"previous_message_id": None})
    assert first.diagnostics is None

    def why(**more: Any) -> Any:
        asked = {"model": SMALL, "messages": [FIRST], "diagnostics": {"previous_message_id": first.id}}
        found = ask(api, **{**asked, **more}).diagnostics
        return found and found.cache_miss_reason.type

    assert why() is None
    assert why(messages=[FIRST, assistant(text("so")), user("and")]) is None
    assert why(messages=[user("other")]) == "messages_changed"
    assert why(system="be brief") == "system_changed"
    assert why(model="claude-sonnet-5-5") == "model_changed"
    assert why(tools=[{"name": "Read", "input_schema": {"type": "object"}}]) == "tools_changed"
    assert why(diagnostics={"previous_message_id": "msg_9"}) == "previous_message_not_found"


def test_what_the_server_clears_breaks_the_cache_at_the_cut(fake_api: Served) -> None:
    api = fake_api()
    calls: list[Any] = [user([text(LONG)])]
    for number in range(4):
        calls.append(assistant({"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {}}))
        calls.append(user([{"type": "tool_result", "tool_use_id": f"t{number}", "content": LONG}]))
    used(api, *calls, cache_control=MARK)
    edit = {"type": "clear_tool_uses_20250919", "trigger": {"type": "tool_uses", "value": 3}}
    message = ask_beta(
        api,
        "context-management-2025-06-27",
        model=SMALL,
        messages=calls,
        cache_control=MARK,
        context_management={"edits": [edit]},
    )
    assert message.usage.cache_read_input_tokens == 0
