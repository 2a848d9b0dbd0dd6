"""Packs on made-up sessions: those that do not settle are found, those that do are left alone."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from trimtab.data import data_root
from trimtab.packs.load import Report, check, check_text
from trimtab.packs.sources import shipped_packs
from trimtab.rehearsal import rehearsed
from trimtab.rehearsal.playing import play
from trimtab.rehearsal.session import SESSIONS, rounds

DUE = "at: {before_request: {tokens: {at_least: 50000}}}"
SUMMARY = "{id: a, kind: summarize, text: x, " + DUE + ", keep: {newest: {rounds: "
LONG = "at: {before_request: {messages: {above: 40}}}"
MESSAGES = "{id: a, kind: drop, " + LONG + ", select: {age: {messages: {at_least: 10}}}}"
HALF = "at: {before_request: {tokens: {at_least: 0.5 * window}}}"
AGED = "select: {age: {rounds: {at_least: 16}}}}"
HEAD = "format: 1\nname: mine\nversion: 1.0.0\nstages:\n"
OLD = "{id: old, kind: replace, select: {blocks: [tool_result]}, text: '[cleared]'"


def told(body: str) -> list[tuple[str, int]]:
    report = rehearsed(check_text(HEAD + body, "mine.yaml"))
    return [(each.code, each.line) for each in report.problems if each.severity != "info"]


@pytest.mark.parametrize(
    "stage",
    [
        SUMMARY + "20}}}",
        "{id: a, kind: drop, at: {before_request: {tokens: {at_least: 60000}}}, " + AGED,
        "{id: a, kind: drop, when: {any: [{messages: {above: 40}}]}, select: {age: {messages: {at_least: 39}}}}",
    ],
)
def test_a_stage_whose_relief_is_too_small_thrashes(stage: str) -> None:
    assert told(f"  - {stage}\n") == [("thrash", 5)]


def test_a_child_that_thrashes_is_told_of_and_not_its_parent() -> None:
    body = (
        "  - id: group\n    kind: first_of\n    at: {before_request: {tokens: {at_least: 50000}}}\n    stages:\n"
        "      - {id: a, kind: summarize, text: x, keep: {newest: {rounds: 20}}}\n"
    )
    assert told(body) == [("thrash", 9)]


@pytest.mark.parametrize(
    "stage",
    [
        SUMMARY + "3}}}",
        MESSAGES,
        f"{OLD}, {HALF}, keep: {{newest: {{items: 5}}}}, accept: {{items: {{at_least: 10}}}}}}",
        SUMMARY.replace("50000", "2000") + "2}}}",  # one result alone is more than that
        OLD + ", keep: {newest: {items: 3}}, accept: {items: {at_least: 10}}}",
        OLD + ", at: [tool_result], once: true, keep: {newest: {items: 0}}}",
    ],
)
def test_a_pack_that_settles_is_left_alone(stage: str) -> None:
    assert told(f"  - {stage}\n") == []


def test_clearing_a_little_on_every_call_is_hostile_to_the_cache() -> None:
    assert told(f"  - {OLD}, keep: {{newest: {{items: 3}}}}}}\n") == [("cache-hostile", 5)]


def test_the_example_of_the_documentation_clears_a_little_on_every_call() -> None:
    path = data_root() / "tests" / "cases" / "must_show" / "clears-a-little.yaml"
    assert [(each.code, each.line) for each in rehearsed(check(path)).problems] == [("cache-hostile", 6)]


def test_a_finding_of_a_rehearsal_is_silenced_like_any_other() -> None:
    body = f"  - {OLD}, keep: {{newest: {{items: 3}}}}}}  # trimtab: allow cache-hostile, no cache here\n"
    report = rehearsed(check_text(HEAD + body, "mine.yaml"))
    assert report.problems == ()
    assert [one.reason for one in report.silenced] == ["no cache here"]


def test_a_comment_about_a_rehearsal_is_superfluous_only_once_there_was_one() -> None:
    body = "  - {id: a, kind: guard, level: info, text: x}  # trimtab: allow thrash, we know\n"
    report = check_text(HEAD + body, "mine.yaml")
    assert report.problems == ()
    assert [each.code for each in rehearsed(report).problems] == ["unused-allow"]


@pytest.mark.parametrize("name", sorted(shipped_packs()))
def test_every_shipped_pack_settles(name: str) -> None:
    report = rehearsed(check(name))
    assert report.asked == {"thrash", "cache-hostile"}
    assert report.problems == ()


def test_what_cannot_be_told_as_a_whole_is_not_rehearsed() -> None:
    body = "  - {id: b, kind: drop, sleect: {}, selct: {}}\n  - " + SUMMARY + "20}}}\n"
    report = check_text(HEAD + body, "mine.yaml")
    assert rehearsed(report) is report
    assert rehearsed(Report("x", ())).problems == ()


def test_a_made_up_session_is_the_same_every_time_and_never_ends_with_a_call_in_the_air() -> None:
    for made in SESSIONS:
        one, other = (list(rounds(made, ["Bash"])) for _ in range(2))
        assert one == other
        assert len(one) == made.calls
        assert all(new[-1]["content"][0]["type"] == "tool_result" for new, _, _ in one)


@pytest.mark.corpus
def test_drafts_of_real_policies_settle_but_for_the_one_that_clears_on_every_call(corpus: Path) -> None:
    folder = corpus.parent / "drafts"
    if not folder.is_dir():
        pytest.skip("the folder of drafts is not there")
    found = {
        path.stem: {each.code for each in rehearsed(check(path)).problems} & {"thrash", "cache-hostile"}
        for path in sorted(folder.glob("*.yaml"))
    }
    assert {name: codes for name, codes in found.items() if codes} == {"swe-agent": {"cache-hostile"}}


def test_a_rehearsal_is_over_soon() -> None:
    report = check("claude-code")
    assert report.pack is not None
    assert report.context is not None
    start = time.perf_counter()
    for made in SESSIONS:
        assert len(play(report.pack, made, report.context.data)) == made.calls
    assert time.perf_counter() - start < 3  # 0.3 s on an idle machine


def test_a_pack_of_very_many_stages_is_told_of_and_not_played() -> None:
    stages = "".join(f"  - {{id: s{number}, kind: guard, level: info, text: x}}\n" for number in range(201))
    start = time.perf_counter()
    assert told(stages) == [("too-large", 4)]
    assert time.perf_counter() - start < 10  # 0.2 s on an idle machine
    assert told(stages.rpartition("  - ")[0]) == []
