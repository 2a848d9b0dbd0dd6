"""Every pack on every conversation: the request is valid, the input unchanged, the bytes the same twice."""

from __future__ import annotations

import copy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
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

TURNS = st.one_of(conversations(max_turns=4), with_loose_ends(max_turns=4), broken(max_turns=3))
RUNS = st.lists(st.sampled_from(EVENTS), min_size=1, max_size=3)


@cache
def engine(pack: str, writes: bool) -> Engine:
    """The pack over a tiny window; a template that is not written yet is stood in for."""
    report = check(pack if pack in SHIPPED else Path(pack), missing_templates=True)
    if report.pack is None:
        raise PackError(report.problems)
    summarizer = CannedSummarizer([answer()] * 100_000) if writes else None
    found: Pack = report.pack
    return Engine(found, models=TINY, summarizer=summarizer)


def facts(event: str, step: int) -> Facts:
    return Facts(
        now=1_700_000_000.0 + 4000 * step,
        caller="main",
        error="prompt is too long: 2000 tokens > 900 maximum" if event == "overflow" else None,
        request=ManualRequest() if event == "manual" else None,
        plan="# Plan\nFirst this, then that.",
        todos=[{"content": "write tests", "status": "pending"}],
    )


def play(pack: str, messages: list[dict[str, Any]], events: list[str], model: str, writes: bool) -> list[str]:
    """The conversation in ever longer pieces, one event each, then once more before a request; all requests checked."""
    session: Session = engine(pack, writes).session()
    known = lookup(model)
    sent: list[str] = []
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
        totals = outcome.receipt.totals
        progress = totals.tokens.after < totals.tokens.before
    assert sent[-1] == sent[-2] or progress, "the second run neither rests nor progresses"
    return sent


def check_pack(
    pack: str, messages: list[dict[str, Any]], events: list[str], model: str, writes: bool
) -> None:
    assert play(pack, messages, events, model, writes) == play(
        pack, copy.deepcopy(messages), events, model, writes
    )


@pytest.mark.parametrize("pack", SHIPPED)
@given(TURNS, RUNS, st.sampled_from(MODELS), st.booleans())
@settings(max_examples=60)
def test_a_shipped_pack_leaves_every_conversation_valid(
    pack: str, messages: list[dict[str, Any]], events: list[str], model: str, writes: bool
) -> None:
    check_pack(pack, messages, events, model, writes)


@pytest.mark.corpus
@pytest.mark.parametrize("name", DRAFTS)
def test_a_pack_on_paper_leaves_every_conversation_valid(corpus: Path, name: str) -> None:
    draft = corpus.parent / "drafts" / f"{name}.yaml"
    if not draft.is_file():
        pytest.skip("the packs on paper are not here")

    @given(TURNS, RUNS, st.sampled_from(MODELS), st.booleans())
    @settings(max_examples=15)
    def every(messages: list[dict[str, Any]], events: list[str], model: str, writes: bool) -> None:
        check_pack(str(draft), messages, events, model, writes)

    every()
