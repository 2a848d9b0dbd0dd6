"""Autocompact comes due where the recorded clients compacted, call by call in their own contexts."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from bench.trigger_agreement import Context, errors, main, quantile, replay, sessions, trigger_pack

from trimtab.readers.contexts import moments

OLDER_TRIGGER, TRIGGER, WIDE_TRIGGER = 155_000, 167_000, 967_000


@cache
def replayed(folder: Path) -> list[Context]:
    pack = trigger_pack()
    return [context for path in sessions(folder) for context in replay(path, pack)]


@pytest.fixture
def contexts(corpus: Path) -> list[Context]:
    return replayed(corpus / "claude-code")


def recorded(folder: Path, client: str, usages: list[int], trigger: str | None = None) -> Path:
    """A session with one short call for each usage, and a boundary behind the last where a trigger is given."""
    lines: list[dict[str, Any]] = [{"type": "user", "message": {"role": "user", "content": "go on"}}]
    for number, usage in enumerate(usages):
        call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": "ls"}}
        counted = {"cache_read_input_tokens": usage, "output_tokens": 1}
        answer = {"id": f"m{number}", "role": "assistant", "model": "claude-opus-4-6", "content": [call]}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "one two"}
        lines.append({"type": "assistant", "message": {**answer, "usage": counted}})
        lines.append({"type": "user", "message": {"role": "user", "content": [result]}})
    if trigger is not None:
        metadata = {"trigger": trigger, "preTokens": usages[-1]}
        lines.append({"type": "system", "subtype": "compact_boundary", "compactMetadata": metadata})
    path = folder / "session.jsonl"
    common = {"version": client, "sessionId": "s", "isSidechain": False}
    records = [{**common, "uuid": f"u{number}", **line} for number, line in enumerate(lines)]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def only(path: Path) -> Context:
    (context,) = replay(path, trigger_pack())
    return context


@pytest.mark.corpus
def test_autocompact_is_due_within_one_call_of_every_automatic_boundary(contexts: list[Context]) -> None:
    automatic = [context for context in contexts if context.trigger == "auto"]
    found = {(context.path.name, context.number): context.distance for context in automatic}
    assert len(found) == 8
    assert all(context.judgeable for context in automatic)
    assert all(distance in (-1, 0) for distance in found.values()), found


@pytest.mark.corpus
def test_autocompact_is_never_due_where_no_client_compacted_by_itself(contexts: list[Context]) -> None:
    others = [context for context in contexts if context.trigger != "auto"]
    assert len(others) == 17
    assert sum(len(context.calls) for context in others) > 800
    assert [(context.path.name, context.number) for context in others if context.first_due] == []


@pytest.mark.corpus
def test_each_client_is_judged_by_the_trigger_it_had(contexts: list[Context]) -> None:
    found = {
        (context.calls[-1].moment.client, context.calls[-1].trigger)
        for context in contexts
        if context.trigger == "auto" or context.calls[-1].moment.client in ("2.1.215", "2.1.219")
    }
    assert found == {
        ("2.1.2", OLDER_TRIGGER),
        ("2.1.7", OLDER_TRIGGER),
        ("2.1.17", OLDER_TRIGGER),
        ("2.1.29", TRIGGER),
        ("2.1.37", TRIGGER),
        ("2.1.45", TRIGGER),
        ("2.1.215", WIDE_TRIGGER),
        ("2.1.219", WIDE_TRIGGER),
    }


@pytest.mark.corpus
def test_the_figure_before_a_call_is_within_a_per_cent_of_its_usage_for_nine_of_ten(
    contexts: list[Context],
) -> None:
    judged = [one for context in contexts for one in context.calls if (one.before or 0) > 1000]
    found = errors(judged)
    assert len(found) > 1400
    assert quantile(found, 0.5) < 0.002
    assert quantile(found, 0.9) < 0.01
    assert quantile(found, 0.99) < 0.05


@pytest.mark.corpus
def test_a_microcompaction_brings_the_figure_down_at_once(contexts: list[Context]) -> None:
    (context,) = [one for one in contexts if "cc_2.1.17_723rec" in one.path.name and one.number == 0]
    first = {one.moment.line: one for one in context.calls if one.moment.line in (216, 353)}
    assert len(first) == 2
    for one in first.values():
        assert one.before is not None
        assert one.figure < one.before - 20_000
        assert one.error is not None
        assert abs(one.error) < 0.02


def test_the_own_usage_of_a_call_does_not_make_it_due(tmp_path: Path) -> None:
    context = only(recorded(tmp_path, "2.1.40", [100_000, 120_000, 180_000], "auto"))
    assert [one.due for one in context.judged] == [False, False, False, True]
    assert context.distance == 0
    assert context.agrees


def test_a_trigger_that_is_met_two_calls_early_does_not_agree(tmp_path: Path) -> None:
    context = only(recorded(tmp_path, "2.1.40", [168_000, 168_100, 168_200], "auto"))
    assert context.distance == -2
    assert not context.agrees


def test_a_client_that_compacts_below_its_trigger_does_not_agree(tmp_path: Path) -> None:
    context = only(recorded(tmp_path, "2.1.40", [150_000, 156_000], "auto"))
    assert context.distance is None
    assert not context.agrees


@pytest.mark.parametrize(
    ("client", "trigger"), [("2.1.20", OLDER_TRIGGER), ("2.1.21", TRIGGER), ("2.1.49", TRIGGER)]
)
def test_clients_up_to_2_1_49_have_the_small_window_for_every_model(
    tmp_path: Path, client: str, trigger: int
) -> None:
    assert only(recorded(tmp_path, client, [10_000, 11_000])).judged[-1].trigger == trigger


def test_later_clients_have_the_window_of_the_model(tmp_path: Path) -> None:
    assert only(recorded(tmp_path, "2.1.50", [10_000, 180_000, 181_000])).judged[-1].trigger == WIDE_TRIGGER


def test_a_usage_above_the_small_window_shows_that_a_larger_was_chosen(tmp_path: Path) -> None:
    context = only(recorded(tmp_path, "2.1.40", [10_000, 230_000, 231_000]))
    assert context.judged[-1].trigger == WIDE_TRIGGER
    assert context.agrees


def test_a_manual_compaction_above_the_trigger_is_a_persons_choice(tmp_path: Path) -> None:
    context = only(recorded(tmp_path, "2.1.40", [100_000, 168_000], "manual"))
    assert context.judged[-1].due
    assert context.agrees


def test_the_program_fails_on_a_context_that_does_not_agree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded(tmp_path, "2.1.40", [168_000, 168_100, 168_200])
    assert main([str(tmp_path)]) == 1
    assert "NO" in capsys.readouterr().out


def test_the_program_passes_where_all_agree_and_says_what_it_needs_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path)]) == 5
    assert main([str(tmp_path / "nowhere")]) == 2
    path = recorded(tmp_path, "2.1.40", [100_000, 168_000], "auto")
    assert main([str(tmp_path)]) == 0
    assert [moment.id for moment in moments(path)] == ["m0", "m1", None]
    assert "auto 168,000" in capsys.readouterr().out
