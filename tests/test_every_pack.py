"""Every pack on every conversation: the request is valid, the input unchanged, the bytes the same twice."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.faults.support import answer, bodies
from tests.session.packs import SHIPPED, TINY
from tests.strategies import broken, conversations, with_loose_ends
from tests.strict_api import problems_for

from trimtab import Engine, Facts, ManualRequest, Pack, PackError, Request, StageFailed
from trimtab.packs.load import check
from trimtab.policy.stage import EVENTS
from trimtab.session import Session
from trimtab.summarizers.canned import CannedSummarizer
from trimtab.tokens.models import lookup

DRAFTS = (
    "anthropic-api",
    "claude-code",
    "cline",
    "codex",
    "deepagents",
    "gemini-cli",
    "goose",
    "kimi-code",
    "mux",
    "opencode",
    "openhands",
    "qwen-code",
    "swe-agent",
)
MODELS = ("claude-sonnet-4-5", "claude-opus-4-6", "claude-opus-5-5", "some-unknown-model")
UNMENDABLE = {1: "invalid-shape", 19: "invalid-system_place"}
"""Rules of the API that no repair can satisfy, with the problem that says so."""

ROOMY = {"window": 3000.0, "max_output": 100.0}
"""A window in which the request for a summary has room, beside conversations that are due for one."""
EARLY = {"percent": 20.0}
"""Of the shipped pack: the trigger of its summary lies among what is drawn."""

TURNS = st.one_of(conversations(max_turns=4), with_loose_ends(max_turns=4), broken(max_turns=3))
RUNS = st.lists(st.sampled_from(EVENTS), min_size=1, max_size=3)


@cache
def engine(pack: str, writes: bool, roomy: bool) -> Engine:
    """The pack over a tiny window, or a ``roomy`` one; a template that is not written yet is stood in for."""
    report = check(pack if pack in SHIPPED else Path(pack), missing_templates=True)
    if report.pack is None:
        raise PackError(report.problems)
    summarizer = CannedSummarizer([answer("it leaks")] * 100_000) if writes else None
    found: Pack = report.pack
    early = {name: value for name, value in EARLY.items() if name in found.settings}
    return Engine(found, models={"*": {**ROOMY, **early}} if roomy else TINY, summarizer=summarizer)


def facts(event: str, step: int) -> Facts:
    return Facts(
        now=1_700_000_000.0 + 4000 * step,
        caller="main",
        error="prompt is too long: 2000 tokens > 900 maximum" if event == "overflow" else None,
        request=ManualRequest() if event == "manual" else None,
        plan="# Plan\nFirst this, then that.",
        todos=[{"content": "write tests", "status": "pending"}],
    )


@dataclass(frozen=True)
class Drawn:
    """A conversation and how it is played: the events of its pieces, whether there is a writer, and room for it."""

    messages: list[dict[str, Any]]
    events: list[str]
    model: str
    writes: bool
    roomy: bool


DRAWN = st.builds(Drawn, TURNS, RUNS, st.sampled_from(MODELS), st.booleans(), st.booleans())


def play(pack: str, drawn: Drawn) -> tuple[list[str], bool]:
    """The conversation in ever longer pieces, one event each, then once more before a request; all requests checked.

    What was sent, and whether a summary by a model was put in.
    """
    messages, events, model = copy.deepcopy(drawn.messages), drawn.events, drawn.model
    session: Session = engine(pack, drawn.writes, drawn.roomy).session()
    known = lookup(model)
    sent: list[str] = []
    summed_up = False
    size = 0
    progress = False
    for step, event in enumerate([*events, "before_request", "before_request"]):
        size = (
            len(messages)
            if step >= len(events)
            else min(len(messages), size + 1 + len(messages) // len(events))
        )
        given = messages[:size]
        before = copy.deepcopy(given)
        request = Request(model, given, system="You help.")
        try:
            outcome = session.run(request, event, facts(event, min(step, len(events))))
        except StageFailed:
            assert any(stage.on_failure == "raise" for stage in session.engine.pack.stages)
            sent.append("raised")
            continue
        assert given == before, "the input was changed"
        if event in ("before_request", "overflow") and outcome.send:
            bad = problems_for(outcome.request.messages, known)
            # What a host's list breaks and no rule can mend is passed on, and said.
            told = {problem.code for problem in outcome.problems}
            left = [one for one in bad if UNMENDABLE.get(one.rule) not in told]
            assert not left, (pack, event, left)
        sent.append(bodies(outcome))
        reports = [one for top in outcome.receipt.stages for one in (top, *top.children)]
        summed_up |= any(one.verdict == "committed" and one.calls for one in reports)
        totals = outcome.receipt.totals
        progress = totals.tokens.after < totals.tokens.before
    assert sent[-1] == sent[-2] or progress, "the second run neither rests nor progresses"
    return sent, summed_up


@pytest.mark.parametrize("pack", SHIPPED)
@given(DRAWN)
@settings(max_examples=60)
def test_a_shipped_pack_leaves_every_conversation_valid(pack: str, drawn: Drawn) -> None:
    assert play(pack, drawn) == play(pack, drawn)


def test_summaries_of_a_model_are_among_what_is_drawn() -> None:
    found = 0

    @given(DRAWN)
    @settings(max_examples=60, database=None, derandomize=True, phases=[Phase.generate])
    def every(drawn: Drawn) -> None:
        nonlocal found
        found += play("claude-code", drawn)[1]

    every()
    assert found >= 3


@pytest.mark.corpus
@pytest.mark.parametrize("name", DRAFTS)
def test_a_pack_on_paper_leaves_every_conversation_valid(corpus: Path, name: str) -> None:
    draft = corpus.parent / "drafts" / f"{name}.yaml"
    if not draft.is_file():
        pytest.skip("the packs on paper are not here")

    @given(DRAWN)
    @settings(max_examples=15)
    def every(drawn: Drawn) -> None:
        assert play(str(draft), drawn) == play(str(draft), drawn)

    every()
