"""Whatever a stage compares in tokens is in the unit of the figure: the counter's estimate times the factor."""

from __future__ import annotations

from typing import Any

import pytest
from tests.scenes import Ports, Session, bash, calls, read, results, says, user

from trimtab import Engine, Facts, Info, Pack, Request, Usage
from trimtab.effects import AskFailed
from trimtab.packs.load import check_text
from trimtab.tokens.estimate import estimate

FACTOR = 1.5
WORDS = "one word and another " * 200
RESULTS = {"blocks": ["tool_result"]}
ROUNDS = [message for name in "abcdef" for message in bash(name, f"run {name}", f"{name} " + WORDS)]


def session(*messages: Any, factor: float = FACTOR, **more: Any) -> Session:
    given = messages or ROUNDS
    return Session([user("Find the leak."), *given], factor=factor, **more)


def sized(text: str) -> float:
    return FACTOR * estimate(text)


def test_a_preview_shows_so_many_of_them() -> None:
    s = session(*bash("a", "ls", WORDS))
    stage = {"kind": "replace", "select": RESULTS, "text": "{{ head }}", "preview": {"head": {"tokens": 150}}}
    s.run(stage)
    shown = s.texts[-1]
    assert WORDS.startswith(shown)
    assert 140 < sized(shown) <= 150


def test_a_text_tells_sizes_in_them() -> None:
    s = session(*bash("a", "ls", WORDS))
    s.run({"kind": "replace", "select": RESULTS, "text": "[{{ size.tokens }} tokens]"})
    assert s.texts[-1] == f"[{round(sized(WORDS))} tokens]"


@pytest.mark.parametrize(("above", "count"), [(-1, 6), (1, 0)])
def test_a_selector_compares_the_size_of_a_block_in_them(above: float, count: int) -> None:
    s = session()
    size = FACTOR * s.path[2].tokens[0] + above
    proposal = s.propose(
        {"kind": "replace", "select": {**RESULTS, "size": {"tokens": {"above": size}}}, "text": "-"}
    )
    assert proposal.items == count


@pytest.mark.parametrize(("more", "left"), [(1, 1), (-1, 2)])
def test_a_message_fits_in_them(more: float, left: int) -> None:
    found = [(name, f"{name} " + WORDS) for name in "abc"]
    s = session(calls(*[(name, "Bash", {}) for name, _ in found]), *[results(one) for one in found])
    limit = FACTOR * 2 * s.path[2].tokens[0] + FACTOR * estimate("-") + more + FACTOR * 8
    fit = {"per": "message", "tokens": limit}
    assert s.propose({"kind": "replace", "select": RESULTS, "text": "-", "fit": fit}).items == left


@pytest.mark.parametrize(("most", "shown"), [(2.1, 2), (1.9, 1)])
def test_a_keep_spares_so_many_of_them(most: float, shown: int) -> None:
    s = session()
    keep = {"newest": {"tokens": {"at_most": most * FACTOR * s.path[2].tokens[0]}}}
    s.run({"kind": "replace", "select": RESULTS, "text": "-", "keep": keep})
    assert s.texts[2::2].count("-") == 6 - shown
    assert s.texts[-1] == "f " + WORDS


@pytest.mark.parametrize(("most", "rounds"), [(2.1, 2), (1.9, 1)])
def test_the_tail_of_a_summary_has_so_many_of_them(most: float, rounds: int) -> None:
    s = session()
    size = FACTOR * (s.path[1].total + s.path[2].total)
    s.run({"kind": "summarize", "text": "SUMMARY", "keep": {"newest": {"tokens": {"at_most": most * size}}}})
    assert len(s.texts) == 2 + 2 * rounds
    tail = sum(FACTOR * item.total for item in s.items[2:])
    assert tail <= most * size


def test_what_is_shown_again_of_a_range_keeps_to_a_budget_of_them() -> None:
    s = session(says("Where?"), user("old " + WORDS), says("There?"), user(WORDS), says("Yes."))
    part = {"part": "messages", "select": {"origins": ["user"]}, "partial": True}
    keep = {"newest": {"tokens": {"at_most": sized(WORDS) + 300}}}
    s.run({"kind": "summarize", "text": "SUMMARY", "compose": [{**part, "keep": keep}, {"part": "summary"}]})
    cut, whole, summary = s.texts
    assert (whole, summary) == (WORDS, "SUMMARY")
    assert "characters left out" in cut
    assert 200 < sized(cut) < 315, "an estimate of the parts is not quite that of the whole"


def test_age_is_counted_in_them() -> None:
    s = session()
    behind = FACTOR * s.scene().view.tokens_after(8)
    select = {**RESULTS, "age": {"tokens": {"at_least": behind}}}
    assert s.propose({"kind": "replace", "select": select, "text": "-"}).items == 4
    select = {**RESULTS, "age": {"tokens": {"above": behind}}}
    assert s.propose({"kind": "replace", "select": select, "text": "-"}).items == 3


def test_a_budget_of_attachments_is_spent_in_them() -> None:
    files = {f"/{n}": WORDS for n in range(4)}
    rounds = [message for n in range(4) for message in read(f"r{n}", f"/{n}", "x")]
    rules = {"files": {"key": "path", "from": [{"tools": ["read"], "take": {"path": "/file_path"}}]}}
    s = session(*rounds, ports=Ports(files=files), tools={"read": ["Read"]}, fact_rules=rules)
    entry = {"fact": "files", "read": "disk", "too_large": "skip", "text": "{{ items | length }} files"}
    budget = {"tokens": 2.5 * sized(WORDS)}
    s.run({"kind": "attach", "from": [{**entry, "budget": budget}]})
    assert s.texts[-1] == "2 files"


def test_a_longest_text_is_told_in_them() -> None:
    answer = "word " * 100
    longest = {"max_tokens": sized(answer) - 1}
    s = session()
    s.ports.answers += [answer, answer]
    refused = s.propose({"kind": "summarize", "prompt": "Sum it up.", "expects": longest})
    assert refused.failure == "invalid"
    assert f"the text has {round(sized(answer.strip()))} tokens" in str(refused.reason)
    longest = {"max_tokens": sized(answer) + 1}
    assert s.propose({"kind": "summarize", "prompt": "Sum it up.", "expects": longest}).edits


@pytest.mark.parametrize(("share", "left"), [(1.9, 4), (2.1, 3)])
def test_a_rung_takes_so_many_of_them_out(share: float, left: int) -> None:
    s = session()
    s.ports.answers += [AskFailed("too_long", "too long"), "The leak was found."]
    tokens = share * FACTOR * (s.path[3].total + s.path[4].total)
    rung = {"remove": {"what": "rounds", "from": "oldest", "tokens": tokens}}
    s.run({"kind": "summarize", "prompt": "Sum it up.", "ladder": [rung]})
    shown = s.ports.questions[1].question.request
    assert shown is not None
    assert sum(message["role"] == "assistant" for message in shown.messages) == left


def test_as_many_rounds_are_dropped_as_the_figure_has_too_much() -> None:
    s = session()
    one = s.path[1].total + s.path[2].total
    target = s.scene().tokens - 2.5 * FACTOR * one
    stage = {
        "kind": "drop",
        "select": {"origins": ["assistant", "tool"]},
        "fit": {"per": "view", "tokens": target},
    }
    s.run(stage)
    assert len(s.texts) == 1 + 2 * 3
    assert s.scene().tokens <= target


# --- and all of it is what the receipt tells

TAIL = """\
format: 1
name: tail
version: 1.0.0
stages:
  - id: sum
    kind: summarize
    at: {manual: {}}
    text: SUMMARY
    keep: {newest: {tokens: {at_least: 3000, at_most: 6000}}}
"""


def pack() -> Pack:
    found = check_text(TAIL).pack
    assert found is not None
    return found


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "claude-opus-5", "gpt-5"])
def test_a_tail_has_the_tokens_that_the_receipt_says_of_the_view(model: str) -> None:
    request = Request(model, [user("Find the leak."), *ROUNDS * 4, says("Done.")])
    outcome = Engine(pack()).session().run(request, "manual", Facts(now=1e9))
    assert [report.verdict for report in outcome.receipt.stages] == ["committed"]
    assert 3000 <= outcome.receipt.totals.tokens.after <= 6000


def test_a_learned_factor_counts_for_a_tail_and_is_the_same_after_a_resume(tmp_path: Any) -> None:
    messages: list[Any] = [user("Find the leak.")]
    session = Engine(pack()).open_session(tmp_path)
    for number in range(24):
        messages += [*bash(f"n{number}", "ls", WORDS), says("Done."), user("Go on.")]
        estimated = sum(item.total for item in Session(messages).path)
        usage = Usage(2 * estimated, model="claude-sonnet-4-5")
        outcome = session.run(Request("claude-sonnet-4-5", messages), "before_request", Facts(now=1e9))
        messages.append(says("Yes."))
        info = [*[None] * (len(messages) - 1), Info(usage=usage)]
        messages.append(user("Then on."))
        session.run(
            Request("claude-sonnet-4-5", messages, info=[*info, None]), "before_request", Facts(now=1e9)
        )
    assert outcome.receipt.totals.factor == pytest.approx(2, abs=0.05)
    request = Request("claude-sonnet-4-5", messages)
    told = session.explain(request, "manual", Facts(now=1e9))
    after = Engine(pack()).open_session(tmp_path).run(request, "manual", Facts(now=1e9))
    assert after.receipt.totals.factor == told.receipt.totals.factor
    assert after.receipt.totals.tokens == told.receipt.totals.tokens
    tail = Session(list(after.request.messages)[2:])
    assert 3000 <= 2 * sum(item.total for item in tail.path) <= 6000
