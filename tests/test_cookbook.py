"""Each recipe of the cookbook is a pack without problems, and does what it says."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from tests.faults.support import (
    BOUND,
    MODEL,
    NOW,
    answer,
    assistant,
    blocks,
    loop,
    rounds,
    run,
    shown,
    user,
    verdict,
    words,
)

from trimtab import Engine, Info, ManualRequest
from trimtab.data import data_root
from trimtab.packs.formatting import formatted
from trimtab.packs.load import check_text, load
from trimtab.summarizers.canned import CannedSummarizer

TEXT = (data_root() / "docs" / "cookbook.md").read_text("utf-8")
FOUND = re.findall(r"^## (\d+)\. (.+?)$.*?^```yaml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
RECIPES = {int(number): pack for number, _, pack in FOUND}
TITLES = {int(number): title for number, title, _ in FOUND}

Messages = list[dict[str, Any]]


def engine(recipe: int, *answers: Any, base: bool = False) -> Engine:
    """The recipe's pack, or the one it builds on."""
    pack = load("claude-code") if base else check_text(RECIPES[recipe]).pack
    assert pack is not None
    return Engine(pack, summarizer=CannedSummarizer(answers) if answers else None)


def auto(recipe: int, model: str) -> float | None:
    return run(engine(recipe), [user("q")], model=model).receipt.limits["auto"]


def both(recipe: int, look: Callable[[Engine], Any], *answers: Any) -> tuple[Any, Any]:
    """What is seen under the base, and under the recipe."""
    return look(engine(recipe, *answers, base=True)), look(engine(recipe, *answers))


def written_by(recipe: int) -> tuple[Any, Any]:
    """A run whose summary a model writes, and what it was asked."""
    made = engine(recipe, answer())
    outcome = run(made, loop(12, 3000), "manual", request=ManualRequest())
    assert verdict(outcome, "full-summary") == "committed"
    [question] = made.ports.summarizer.asked  # type: ignore[union-attr]
    return outcome, question


def ago(messages: Messages, seconds: float) -> list[Info]:
    """What the host knows of messages that are all of one time."""
    return [Info(at=NOW - seconds)] * len(messages)


def lower_share() -> None:
    assert auto(1, MODEL) == 126_000


def number_of_tokens() -> None:
    assert auto(2, MODEL) == 100_000
    assert auto(2, BOUND) == 100_000
    small = Engine(engine(2).pack, models={"*": {"window": 64_000.0}})
    limits = run(small, [user("q")]).receipt.limits
    assert limits["auto"] is not None
    assert limits["effective"] is not None
    assert limits["auto"] < limits["effective"] < 64_000


def one_model() -> None:
    assert auto(3, "claude-opus-4-5") == 90_000
    assert auto(3, MODEL) == 167_000


def sub_agents() -> None:
    messages = loop(60, 8000)
    assert verdict(run(engine(4), messages, caller="explorer"), "sub-agents") == "committed"
    assert verdict(run(engine(4), messages, caller="main"), "sub-agents") == "skipped"
    assert verdict(run(engine(4), loop(6, 800), caller="explorer"), "sub-agents") == "skipped"
    seen = blocks(run(engine(4), messages, caller="explorer"), "tool_result")
    assert [each["content"][:5] for each in seen].count("[Old ") == 55


def instructions() -> None:
    _, question = written_by(5)
    assert "every ticket number" in question.prompt
    assert "Primary request and intent" in question.prompt


def cheap_writer() -> None:
    _, question = written_by(6)
    assert (question.model, question.effort) == ("claude-haiku-4-5", "low")


def own_words() -> None:
    messages = [user("Never push to main."), assistant("Understood."), *loop(12, 3000)]

    def look(made: Engine) -> bool:
        outcome = run(made, messages, "manual", request=ManualRequest())
        assert verdict(outcome, "full-summary") == "committed"
        first = shown(outcome)[0]
        return bool("Never push to main." in str(first) and "Primary request" not in str(first))

    assert both(7, look, answer()) == (False, True)


def shell_only() -> None:
    messages = [user("Look."), *rounds(8, tool="Read"), *rounds(8, start=20, tool="Bash")]
    messages += [assistant("Done."), user("Go on.")]

    def look(made: Engine) -> tuple[int, int]:
        outcome = run(made, messages, info=ago(messages, 7200))
        cleared = [each["content"].startswith("[Old") for each in blocks(outcome, "tool_result")]
        return sum(cleared[:8]), sum(cleared[8:])

    assert both(8, look) == ((8, 3), (0, 3))


def cold_cache() -> None:
    messages = [user("Look."), *rounds(8), assistant("Done."), user("Go on.")]

    def look(made: Engine) -> Any:
        return verdict(run(made, messages, info=ago(messages, 360)), "idle-clear")

    assert both(9, look) == ("skipped", "committed")


def short_results() -> None:
    def look(made: Engine) -> Any:
        return verdict(run(made, loop(1, 20_000), "tool_result"), "result-budget")

    # What was read is never stored: it would only be read again.
    def shell(made: Engine) -> Any:
        messages = [user("Look."), *rounds(1, 20_000, tool="Bash")]
        outcome = run(made, messages, "tool_result")
        return verdict(outcome, "result-budget"), "tool-results/" in words(outcome)

    assert both(10, look) == ("nothing", "nothing")
    assert both(10, shell) == (("nothing", False), ("committed", True))


def between_tasks() -> None:
    done = [*loop(70, 8000), assistant("The leak is mended.")]

    def look(made: Engine) -> Any:
        return [
            verdict(run(made, messages), "between-tasks")
            for messages in (
                [*done, user("Now the other one.")],
                done[:-1],
                [*loop(3), assistant("."), user("?")],
            )
        ]

    assert look(engine(11)) == ["committed", "skipped", "skipped"]
    last = shown(run(engine(11), [*done, user("Now the other one.")]))[-1]
    assert "Now the other one." in str(last)


def no_model() -> None:
    made = engine(12, answer())
    outcome = run(made, loop(70, 8000), "manual", request=ManualRequest())
    assert verdict(outcome, "ledger") == "committed"
    assert made.ports.summarizer.asked == []  # type: ignore[union-attr]
    assert "Find the leak and mend it." in words(outcome)


SHOWN: Mapping[int, Callable[[], None]] = {
    1: lower_share,
    2: number_of_tokens,
    3: one_model,
    4: sub_agents,
    5: instructions,
    6: cheap_writer,
    7: own_words,
    8: shell_only,
    9: cold_cache,
    10: short_results,
    11: between_tasks,
    12: no_model,
}


def test_there_are_twelve_recipes_and_each_is_tried() -> None:
    assert list(RECIPES) == list(SHOWN) == list(range(1, 13))


@pytest.mark.parametrize("number", list(SHOWN), ids=lambda number: TITLES.get(number, "?"))
def test_a_recipe_is_a_pack_without_problems_and_in_order(number: int) -> None:
    text = RECIPES[number]
    assert [str(problem) for problem in check_text(text).problems] == []
    assert formatted(text, "recipe") == text


@pytest.mark.parametrize("number", list(SHOWN), ids=lambda number: TITLES.get(number, "?"))
def test_a_recipe_does_what_it_says(number: int) -> None:
    SHOWN[number]()
