"""What a port answers is what it should be, or the port has failed: a run goes on, and nothing is lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.faults.support import GOOD, MODEL, Message, assistant, bodies, user

from trimtab import Engine, Facts, Request
from trimtab.conversation.request import Usage
from trimtab.effects import HookReply, Question, Reply
from trimtab.outcome import Outcome
from trimtab.store import MemoryStore

ODD: dict[str, Any] = {
    "None": None,
    "a text": "# Summary",
    "a mapping": {"text": "x"},
    "no text": Reply(None),  # type: ignore[arg-type]  # wrong on purpose, like all that follow
    "a list for a text": Reply(["x"]),  # type: ignore[arg-type]
    "no stop": Reply("x", stop=None),  # type: ignore[arg-type]
    "a list for a stop": Reply("x", stop=["end_turn"]),  # type: ignore[arg-type]
    "a mapping for a usage": Reply("x", usage={"input_tokens": 1}),  # type: ignore[arg-type]
    "a number for a model": Reply("x", model=5),  # type: ignore[arg-type]
    "a number for a block": Reply("x", block=5),  # type: ignore[arg-type]
}


class Writer:
    """Answers every question alike."""

    def __init__(self, said: Any) -> None:
        self.said = said

    def answer(self, question: Question) -> Reply:
        return self.said  # type: ignore[no-any-return]

    async def aanswer(self, question: Question) -> Reply:
        return self.answer(question)


def talk() -> list[Message]:
    """Enough for a summary, with a result large enough to be stored."""
    found: list[Message] = []
    for number in range(10):
        found += [user(f"Task {number}. " + "word " * 4_000), assistant("Done.")]
    return [*found, user("And now?")]


def run(messages: list[Message] | None = None, **ports: Any) -> Outcome:
    engine = Engine.load("claude-code", settings={"window_cap": 60_000}, **ports)
    request = Request(MODEL, talk() if messages is None else messages)
    return engine.session().run(request, facts=Facts(now=1e9, caller="main"))


def told(outcome: Outcome, stage: str) -> tuple[str, str]:
    """Verdict and reason of a stage or a child of one."""
    reports = [one for report in outcome.receipt.stages for one in (report, *report.children)]
    return next((one.verdict, one.reason or "") for one in reports if one.id == stage)


@pytest.mark.parametrize("said", ODD.values(), ids=ODD)
def test_an_answer_that_is_none_fails_the_stage_in_words_and_the_next_writer_is_asked(said: Any) -> None:
    outcome = run(summarizer=Writer(said))
    verdict, reason = told(outcome, "full-summary")
    assert verdict == "failed"
    assert "it must be" in reason
    assert told(outcome, "ledger")[0] == "committed"
    assert outcome.send


@pytest.mark.parametrize(
    "said", [5, {"veto": "no"}, HookReply(veto=5), HookReply(instructions=["x"])], ids=repr
)  # type: ignore[arg-type]
def test_a_hook_that_answers_with_something_else_is_told_of_and_costs_no_message(said: Any) -> None:
    outcome = run(summarizer=Writer(Reply(GOOD)), hooks=lambda moment, stage, text: said)
    said_so = str(outcome.receipt.as_dict())
    assert "it must be" in said_so
    assert "And now?" in bodies(outcome)


class OddStore(MemoryStore):
    def put(self, name: str, text: str) -> str:
        super().put(name, text)
        return None  # type: ignore[return-value]


def test_a_store_that_gives_no_path_has_stored_nothing() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "word " * 30_000}
    messages = [user("go"), {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    outcome = run(messages, store=OddStore())
    assert told(outcome, "result-budget") == ("failed", "the store's path is NoneType; it must be str")
    assert "saved" not in bodies(outcome)


@pytest.mark.parametrize("said", [None, "clean", (None, 0), ("clean", None), ("clean",)], ids=repr)
def test_a_redactor_that_answers_with_something_else_lets_nothing_out(said: Any) -> None:
    class Odd:
        def redact(self, text: str) -> Any:
            return said

    asked: list[Question] = []

    class Listening(Writer):
        def answer(self, question: Question) -> Reply:
            asked.append(question)
            return super().answer(question)

    outcome = run(summarizer=Listening(Reply(GOOD)), redactor=Odd())
    assert asked == []
    assert told(outcome, "full-summary")[0] == "failed"


@pytest.mark.parametrize("wrong", [lambda: Usage("1"), lambda: Usage(1.0)])  # type: ignore[arg-type]
def test_a_usage_that_cannot_be_is_never_made(wrong: Callable[[], Usage]) -> None:
    with pytest.raises(TypeError, match="a number of tokens"):
        wrong()
