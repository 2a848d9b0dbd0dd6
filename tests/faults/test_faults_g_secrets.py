"""Group G of the field reports: secrets do not reach a writer, and do not live on in its text."""

from __future__ import annotations

from typing import Any

import pytest
from tests.faults.support import (
    BOUND,
    HEAD,
    assistant,
    bodies,
    call,
    engine_of,
    result,
    round_of,
    rounds,
    run,
    text,
    user,
    verdict,
    words,
)
from tests.faults.test_faults_d_summary import GOOD, asked, writes
from tests.validity.support import thinking

from trimtab import Engine, ManualRequest
from trimtab.summarizers.canned import CannedSummarizer

SECRET = "gh" + "p_" + "FakeTokenOfATest0123456789FakeTokenOf"
MARK = "[redacted: github token]"


def session() -> list[dict[str, Any]]:
    return [
        user(f"Use {SECRET} for the push."),
        *round_of(
            "env", f"TOKEN is {SECRET}\n" + "x " * 400, "Bash", command=f"curl -H 'X: {SECRET}' example.org"
        ),
        *rounds(10, 3000),
    ]


def compacted(pack: str, messages: list[dict[str, Any]], *answers: Any, **more: Any) -> tuple[Any, Any]:
    writer = CannedSummarizer(answers or [GOOD])
    redactor = more.pop("redactor", "patterns")
    return run(engine_of(pack, summarizer=writer, redactor=redactor), messages, **more), writer.asked


def remarks(outcome: Any) -> Any:
    return outcome.receipt.stage("sum-up").remarks


@pytest.mark.parametrize("as_text", ["", ", input: {as: text}", ", input: {as: text, role: system}"])
def test_g2_no_secret_reaches_the_writer_and_the_run_goes_on(as_text: str) -> None:
    outcome, [question] = compacted(writes(as_text), session())
    assert verdict(outcome, "sum-up") == "committed"
    assert SECRET not in asked(question)
    assert asked(question).count(MARK) >= 3
    assert remarks(outcome)["redacted_given"] >= 3


def test_g2_instructions_the_earlier_summary_and_the_system_prompt_are_cleaned_too() -> None:
    pack = writes(", instructions: [{from: user}]")
    writer = CannedSummarizer([f"The token is {SECRET}. " + GOOD, GOOD])
    engine = engine_of(pack, summarizer=writer, redactor="none").session()
    first = run(engine, session(), "manual", request=ManualRequest("compact"))
    assert SECRET in words(first)
    cleaning = engine_of(pack, summarizer=writer).session()
    again = [*first.request.messages, *rounds(10, 3000, 50)]
    request = ManualRequest("compact", instructions=f"Keep {SECRET}.")
    run(cleaning, again, "manual", request=request, system=f"You may use {SECRET}.")
    assert SECRET not in asked(writer.asked[-1])
    assert asked(writer.asked[-1]).count(MARK) >= 3


def test_g2_a_secret_in_the_answer_does_not_live_on() -> None:
    outcome, _ = compacted(writes(), [user("Go."), *rounds(10, 3000)], f"It is {SECRET}. {GOOD}")
    assert verdict(outcome, "sum-up") == "committed"
    assert SECRET not in words(outcome)
    assert f"It is {MARK}." in words(outcome)
    assert remarks(outcome)["redacted_text"] == 1


def test_g2_neither_does_one_that_grounding_or_a_ledger_would_put_back() -> None:
    facts = (
        "tools: {shell: [Bash]}\nfacts: {commands: {from: [{tools: [shell], take: {command: /command}}]}}\n"
    )
    ground = ", ground: {facts: [commands], sections: {All user messages: user_messages}}"
    pack = writes(ground).replace("stages:\n", f"{facts}stages:\n")
    messages = [*session(), user("Now go on."), *rounds(3, 3000, 90)]
    outcome, _ = compacted(pack, messages)
    (summary,) = [str(one["content"]) for one in outcome.request.messages if "All user messages" in str(one)]
    assert SECRET not in summary
    assert summary.count(MARK) == 2
    ledger = (
        HEAD
        + facts
        + ("stages:\n  - {id: sum-up, kind: summarize, at: {manual: {}}, template: summary/ledger.md.j2}\n")
    )
    outcome = run(engine_of(ledger), messages, "manual")
    assert verdict(outcome, "sum-up") == "committed"
    assert MARK in bodies(outcome)
    (summary,) = [str(one["content"]) for one in outcome.request.messages if "no model wrote" in str(one)]
    assert SECRET not in summary


def test_g2_signed_thinking_with_a_secret_goes_as_a_whole() -> None:
    messages = [
        user("Go."),
        assistant(thinking(f"I will use {SECRET}"), text("Looking."), call("a", "Bash", command="ls")),
        user(result("a", "ok")),
        assistant(thinking("Nothing secret"), call("b", "Bash", command="ls")),
        user(result("b", "ok")),
        *rounds(10, 3000),
    ]
    for model, kept in ((None, True), (BOUND, False)):
        more = {} if model is None else {"model": model}
        outcome, [question] = compacted(writes(), messages, **more)
        assert verdict(outcome, "sum-up") == "committed"
        assert SECRET not in asked(question)
        assert ("Nothing secret" in asked(question)) is kept


def test_g2_a_redactor_that_fails_lets_nothing_out_and_leaves_the_view() -> None:
    class Broken:
        def redact(self, text: str) -> tuple[str, int]:
            raise RuntimeError("no rules loaded")

    messages = session()
    outcome, questions = compacted(writes(), messages, redactor=Broken())
    assert questions == []
    assert verdict(outcome, "sum-up") == "failed"
    assert list(outcome.request.messages) == messages


def test_g2_it_can_be_switched_off_and_replaced() -> None:
    class Own:
        def redact(self, text: str) -> tuple[str, int]:
            return text.replace(SECRET, "(mine)"), text.count(SECRET)

    _, [plain] = compacted(writes(), session(), redactor=None)
    _, [own] = compacted(writes(), session(), redactor=Own())
    assert SECRET in asked(plain)
    assert SECRET not in asked(own)
    assert "(mine)" in asked(own)
    with pytest.raises(ValueError, match="there is no redactor"):
        Engine.load("claude-code", redactor="all")


def test_g2_without_a_secret_the_writer_gets_the_hosts_own_messages() -> None:
    messages = [user("Go."), *rounds(10, 3000)]
    _, [question] = compacted(writes(), messages)
    assert question.request is not None
    assert question.request.messages[0] is messages[0]
