"""Rows R5 to R7: the budget of tool results, and decisions that are never taken twice."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.reference.support import (
    MODEL,
    Message,
    assistant,
    bodies,
    call,
    claude,
    image,
    parallel,
    report,
    result,
    results,
    round_of,
    rounds,
    run,
    shown,
    text,
    user,
    verdict,
    with_places,
)
from tests.strategies import PIXEL

from trimtab import Engine
from trimtab.data import data_root

LIMIT = 50_000
BASH = "Bash"


def one(content: Any, tool: str = BASH) -> list[Message]:
    return [user("Go."), *round_of("toolu_01", content, tool, command="make")]


def declared(tool: str, limit: int) -> list[Message]:
    return [{"name": tool, "input_schema": {"type": "object"}, "max_result_chars": limit}]


# --- R5


@pytest.mark.parametrize("event", ["tool_result", "before_request"])
def test_r05_a_result_over_the_limit_is_saved_whole_and_leaves_size_place_and_preview(
    tmp_path: Path, event: str
) -> None:
    whole = "".join(f"line {number}\n" for number in range(8000))
    outcome = run(claude().open_session(tmp_path), one(whole), event)
    left = results(outcome)["toolu_01"]
    assert left.startswith("<persisted-output>")
    assert str(len(whole)) in left
    head = whole.encode()[:2000].decode()
    assert head in left
    assert whole[:2010] not in left
    [place] = [word for line in left.splitlines() for word in line.split() if "tool-results/" in word]
    assert Path(place).name.startswith("toolu_01")
    assert Path(place).read_text("utf-8") == whole


@pytest.mark.parametrize(("size", "expected"), [(LIMIT, "nothing"), (LIMIT + 1, "committed")])
def test_r05_the_limit_is_fifty_thousand_characters(size: int, expected: str) -> None:
    assert verdict(run(claude(), one("x" * size)), "result-budget") == expected


@pytest.mark.parametrize(("limit", "expected"), [(29_999, "committed"), (30_000, "nothing")])
def test_r05_a_tools_own_lower_maximum_counts(limit: int, expected: str) -> None:
    outcome = run(claude(), one("x" * 30_000), tools=declared(BASH, limit))
    assert verdict(outcome, "result-budget") == expected


def test_r05_a_tools_own_higher_maximum_does_not() -> None:
    outcome = run(claude(), one("x" * 60_000), tools=declared(BASH, 400_000))
    assert verdict(outcome, "result-budget") == "committed"


def test_r05_a_file_read_is_exempt_and_so_is_reading_the_saved_output_back(tmp_path: Path) -> None:
    session = claude().open_session(tmp_path)
    messages = one("the build log\n" * 9000)
    left = results(run(session, messages))["toolu_01"]
    place = next(word for line in left.splitlines() for word in line.split() if "tool-results/" in word)
    messages += round_of("toolu_02", "the build log\n" * 9000, "Read", file_path=place)
    messages += round_of("toolu_03", "the build log\n" * 9000, "Bash", command=f"cat {place}")
    outcome = run(session, messages)
    assert results(outcome)["toolu_02"] == messages[4]["content"][0]["content"]
    assert results(outcome)["toolu_03"] == messages[6]["content"][0]["content"]
    assert verdict(outcome, "result-budget") == "nothing"


def test_r05_a_result_with_an_image_is_never_saved() -> None:
    content = [text("x" * 60_000), image(PIXEL)]
    outcome = run(claude(), one(content))
    assert results(outcome)["toolu_01"] == content
    assert verdict(outcome, "message-budget") == "nothing"


@pytest.mark.parametrize("content", ["", [], "  \n "])
def test_r05_an_empty_result_becomes_a_line_that_names_the_tool(content: Any) -> None:
    assert results(run(claude(), one(content)))["toolu_01"] == "(Bash completed with no output)"


# --- R6


def lifted(**keywords: Any) -> Engine:
    """The shipped pack without the limit on single results, so that only the budget of a message decides."""
    return with_places(("limits.result_limit", "unlimited"), **keywords)


def apart(messages: list[Message]) -> list[Message]:
    """Each block of a user message as a message of its own: the API makes one of those that are neighbours."""
    split: list[Message] = []
    for message in messages:
        content = message["content"]
        whole = message["role"] != "user" or isinstance(content, str)
        split += [message] if whole else [user(block) for block in content]
    return split


WAYS = pytest.mark.parametrize("way", [list, apart], ids=["one message", "neighbours"])
"""Results of one round in one message, as the API has them, or each in its own, as session files do."""


def example() -> list[Message]:
    return [user("Run all three."), *parallel(120_000, 90_000, 20_000)]


def saved(outcome: Any) -> list[str]:
    return [name for name, left in results(outcome).items() if "<persisted-output>" in left]


@WAYS
def test_r06_of_120_90_and_20_thousand_characters_exactly_the_first_is_saved(way: Any) -> None:
    outcome = run(lifted(), way(example()))
    assert saved(outcome) == ["p0"]
    assert report(outcome, "message-budget").items == 1


def test_r06_results_that_are_each_within_bounds_are_held_to_the_budget_together() -> None:
    messages = [user("Go."), *parallel(30_000, 49_000, 45_000, 48_000, 40_000)]
    outcome = run(claude(), messages)
    assert verdict(outcome, "result-budget") == "nothing"
    assert saved(outcome) == ["p1"]
    assert sum(len(left) for left in results(outcome).values()) <= 200_000


@pytest.mark.parametrize(("last", "expected"), [(20_000, "nothing"), (20_001, "committed")])
def test_r06_the_budget_is_two_hundred_thousand_characters(last: int, expected: str) -> None:
    messages = [user("Go."), *parallel(45_000, 45_000, 45_000, 45_000, last)]
    assert verdict(run(claude(), messages), "message-budget") == expected


def test_r06_results_split_over_neighbouring_messages_are_one_message_of_the_api() -> None:
    calls, found = parallel(45_000, 45_000, 45_000, 45_000, 45_000)
    messages = [user("Go."), calls, *[user(block) for block in found["content"]]]
    assert len(saved(run(claude(), messages))) == 1


@WAYS
def test_r06_results_of_two_rounds_are_not_added_up(way: Any) -> None:
    messages = [user("Go."), *parallel(45_000, 45_000, 45_000), *parallel(45_000, 45_000, 45_000, name="q")]
    assert saved(run(claude(), way(messages))) == []


# --- R7


def turns(count: int) -> list[Message]:
    out: list[Message] = []
    for number in range(count):
        out += [assistant(f"Turn {number} done."), user("Go on."), *rounds(1, start=number)]
    return out


@WAYS
def test_r07_the_example_has_the_same_bytes_after_ten_more_turns(way: Any) -> None:
    session = lifted().session()
    first = run(session, way(example()))
    messages = way(example())
    for number in range(10):
        messages += [assistant(f"Turn {number} done."), user("Go on."), *rounds(1, start=number)]
        outcome = run(session, messages)
        assert verdict(outcome, "message-budget") == "nothing"
        assert bodies(outcome).startswith(bodies(first)[:-2])


@WAYS
def test_r07_the_example_has_the_same_bytes_after_a_resume(tmp_path: Path, way: Any) -> None:
    first = run(lifted().open_session(tmp_path), way(example()))
    outcome = run(lifted().open_session(tmp_path), [*way(example()), *turns(10)])
    assert shown(outcome)[: len(shown(first))] == shown(first)
    assert verdict(outcome, "message-budget") == "nothing"


@WAYS
def test_r07_the_example_has_the_same_bytes_after_the_template_has_changed(tmp_path: Path, way: Any) -> None:
    folder = tmp_path / "pack"
    shutil.copytree(data_root() / "rules" / "claude-code", folder)
    path = folder / "pack.yaml"
    path.write_text(path.read_text("utf-8").replace("min(tool_limit, 50000)", "unlimited"), encoding="utf-8")
    kept = tmp_path / "kept"
    first = run(Engine.load(path).open_session(kept), way(example()))
    assert saved(first) == ["p0"]
    (folder / "templates").mkdir()
    (folder / "templates" / "persisted-output.md.j2").write_text("elsewhere: {{ path }}", encoding="utf-8")
    session = Engine.load(path).open_session(kept)
    messages = [*way(example()), *turns(2), *way(parallel(120_000, 90_000, name="late"))]
    outcome = run(session, messages)
    assert shown(outcome)[: len(shown(first))] == shown(first)
    assert results(outcome)["late0"].startswith("elsewhere: ")


def test_r07_what_was_kept_whole_stays_whole_for_ever() -> None:
    engine = claude()
    session = engine.session()
    messages = [user("Go."), *parallel(45_000, 45_000, 45_000)]
    run(session, messages, tools=declared(BASH, 46_000))
    outcome = run(session, messages, tools=declared(BASH, 1_000))
    assert [len(left) for left in results(outcome).values()] == [45_000] * 3


@WAYS
@pytest.mark.parametrize("late", [130_000, 30_000])
@pytest.mark.parametrize("reopened", [False, True])
def test_r07_a_late_result_is_fresh_and_the_earlier_ones_of_its_message_are_not(
    tmp_path: Path, way: Any, late: int, reopened: bool
) -> None:
    session = lifted().open_session(tmp_path)
    [calls, found] = parallel(120_000, 60_000, late)
    early = [user("Go."), calls, *way([user(*found["content"][:2])])]
    assert saved(run(session, early)) == []
    whole = [user("Go."), calls, *way([user(*found["content"])])]
    outcome = run(lifted().open_session(tmp_path) if reopened else session, whole)
    assert saved(outcome) == ["p2"]


@WAYS
def test_r07_what_was_saved_counts_as_what_is_left_of_it(way: Any) -> None:
    session = lifted().session()
    [calls, found] = parallel(120_000, 90_000, 100_000)
    assert saved(run(session, [user("Go."), calls, *way([user(*found["content"][:2])])])) == ["p0"]
    assert saved(run(session, [user("Go."), calls, *way([user(*found["content"])])])) == ["p0"]


def test_r07_what_stands_behind_a_changed_message_is_not_judged_again() -> None:
    session = claude().session()
    messages = [user("Go."), assistant("Where?"), user("There."), *parallel(45_000, 45_000)]
    messages += [assistant("Done."), user("Go on.")]
    run(session, messages, tools=declared(BASH, 46_000))
    changed = [*messages[:2], user("Here."), *messages[3:]]
    outcome = run(session, changed, tools=declared(BASH, 1_000))
    assert outcome.receipt.run.transcript == "changed in place"
    assert [len(left) for left in results(outcome).values()] == [45_000] * 2


def test_r07_a_host_that_feeds_the_view_back_does_not_change_a_byte() -> None:
    session = lifted().session()
    shown_first = shown(run(session, example()))
    outcome = run(session, [*json.loads(json.dumps(shown_first)), *turns(3)])
    assert shown(outcome)[:3] == shown_first


def test_r07_the_decision_is_frozen_per_call_even_if_ids_are_used_again() -> None:
    session = claude().session()
    messages = one("first " * 10_000)
    first = results(run(session, messages))["toolu_01"]
    messages += [assistant("Once more."), user("Again.")]
    messages += [assistant(call("toolu_01", BASH, command="make")), user(result("toolu_01", "short"))]
    outcome = run(session, messages, model=MODEL)
    contents = [block["content"] for message in shown(outcome) for block in _results(message)]
    assert contents == [first, "short"]


def _results(message: Message) -> list[Message]:
    content = message["content"]
    return [block for block in content if isinstance(block, dict) and block.get("type") == "tool_result"]
