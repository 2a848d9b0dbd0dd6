"""Every shipped pack over random conversations: opened anew before each run, the bytes are the same."""

from __future__ import annotations

import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.durability.support import SEEN_AS, Message, check_folder
from tests.strategies import conversations, with_loose_ends

from trimtab import Engine, Facts, ManualRequest, Pack, Request
from trimtab.packs.load import list_packs, load
from trimtab.policy.stage import EVENTS
from trimtab.store import FolderStore
from trimtab.summarizers.canned import CannedSummarizer

SHIPPED = [shipped.name for shipped in list_packs()]
MODELS = ("claude-sonnet-4-5", "claude-opus-5-5")
ANSWER = "<summary>" + "\n".join(f"{n}. Section {n}: nothing" for n in range(1, 10)) + "</summary>"
SMALL = {"*": {"window": 900.0, "max_output": 100.0}}


@cache
def pack_named(name: str) -> Pack:
    return load(name)


def engine(pack: str, folder: Path) -> Engine:
    return Engine(
        pack_named(pack),
        models=SMALL,
        summarizer=CannedSummarizer([ANSWER] * 1000),
        store=FolderStore(folder, seen_as=SEEN_AS),
    )


def play(pack: str, messages: list[Message], events: list[str], model: str, restarts: bool) -> list[str]:
    """Bodies of runs with ever more messages, one event after the other, each followed by a request."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "session"
        session = engine(pack, folder).open_session(folder)
        out: list[str] = []
        for step, event in enumerate([*events, "before_request"]):
            size = max(1, len(messages) * (step + 1) // (len(events) + 1))
            for one in (event, "before_request"):
                if restarts:
                    session.journal.close()  # type: ignore[attr-defined]  # it lies on the disk
                    session = engine(pack, folder).open_session(folder)
                facts: dict[str, Any] = {"error": "prompt is too long: 2000 tokens > 900 maximum"}
                if one != "overflow":
                    facts = {"request": ManualRequest()} if one == "manual" else {}
                facts |= {
                    "now": 1_700_000_000.0 + 4000 * step,
                    "caller": "main",
                    "plan": "# Plan\nFirst this.",
                }
                outcome = session.run(
                    Request(model, messages[:size], system="You help."), one, Facts(**facts)
                )
                out.append(json.dumps([outcome.request.system, list(outcome.request.messages), outcome.send]))
        session.journal.close()  # type: ignore[attr-defined]  # it lies on the disk
        check_folder(folder)
        return out


@pytest.mark.parametrize("pack", SHIPPED)
@given(
    st.one_of(conversations(max_turns=4), with_loose_ends(max_turns=4)),
    st.lists(st.sampled_from(EVENTS), min_size=1, max_size=3),
    st.sampled_from(MODELS),
)
@settings(max_examples=12)
def test_a_resumed_session_gives_the_same_bytes(
    pack: str, messages: list[Message], events: list[str], model: str
) -> None:
    assert play(pack, messages, events, model, False) == play(pack, messages, events, model, True)


@pytest.mark.parametrize("restarts", [False, True])
def test_thinking_that_comes_before_anything_of_ours_was_sent_is_judged_alike(
    tmp_path: Path, restarts: bool
) -> None:
    thinking = {"type": "thinking", "thinking": "so", "signature": "s"}
    use = {"type": "tool_use", "id": "call", "name": "Read", "input": {}}
    messages: list[Message] = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [thinking, use]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call", "content": "ok"}]},
    ]
    session = engine("claude-code", tmp_path).open_session(tmp_path)
    for size in (1, 3):
        if restarts:
            session = engine("claude-code", tmp_path).open_session(tmp_path)
        outcome = session.run(Request("claude-opus-5-5", messages[:size]), "session_start", Facts(now=1e9))
    # The pack has put a note into the system prompt; the thinking was signed over the prompt without it.
    assert list(outcome.request.messages)[1]["content"] == [use]


@pytest.mark.parametrize("restarts", [False, True])
def test_what_no_rule_can_mend_stays_known_when_more_of_its_kind_comes(
    tmp_path: Path, restarts: bool
) -> None:
    messages: list[Message] = []
    for number in range(2):
        messages += [
            {"role": "user", "content": f"question {number}"},
            {"role": "system", "content": f"notice {number}"},
            {"role": "assistant", "content": f"answer {number}"},
        ]
    session = engine("claude-code", tmp_path).open_session(tmp_path)
    for event, size in (("tool_result", 3), ("session_start", 6)):
        if restarts:
            session = engine("claude-code", tmp_path).open_session(tmp_path)
        outcome = session.run(Request(MODELS[0], messages[:size]), event, Facts(now=1e9))
    # The model takes no system messages among the others: that is no reason against a note in the prompt.
    assert [report.id for report in outcome.receipt.stages if report.verdict == "committed"] == [
        "announce-clearing"
    ]


def test_what_was_told_before_the_first_message_is_in_the_first_request_of_another_process(
    tmp_path: Path,
) -> None:
    facts = Facts(now=1_700_000_000.0, caller="main")
    hello = [{"role": "user", "content": "hello"}]
    systems = []
    for restarts in (False, True):
        folder = tmp_path / str(restarts)
        session = engine("claude-code", folder).open_session(folder)
        session.run(Request(MODELS[1], [], system="be brief"), "session_start", facts)
        if restarts:
            session = engine("claude-code", folder).open_session(folder)
        systems.append(session.run(Request(MODELS[1], hello, system="be brief"), facts=facts).request.system)
    assert systems[0] == systems[1]
    assert len(systems[0]) == 2
