"""Group J of the field reports: what people ask for, as far as one pack and one session give it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.faults.support import (
    BOUND,
    CLEAR,
    GOOD,
    MODEL,
    NOW,
    SUM_UP,
    Message,
    asked,
    assistant,
    blocks,
    bodies,
    engine_of,
    loop,
    rounds,
    run,
    shown,
    stages,
    user,
    verdict,
    words,
    writes,
    written,
)

from trimtab import Engine, Facts, Info, ManualRequest, Request, commands
from trimtab.effects import HookReply
from trimtab.summarizers.canned import CannedSummarizer


@pytest.mark.parametrize(
    ("settings", "model", "auto"),
    [
        ({"percent": 50}, MODEL, 90_000),
        ({"percent": 100}, MODEL, 167_000),
        ({"buffer": 25_000}, MODEL, 155_000),
        ({"window_cap": 100_000}, BOUND, 67_000),
    ],
)
def test_j_the_threshold_is_set_in_per_cent_or_tokens(
    settings: dict[str, Any], model: str, auto: int
) -> None:
    assert (
        run(Engine.load("claude-code", settings=settings), [user("q")], model=model).receipt.limits["auto"]
        == auto
    )


def test_j_one_model_can_have_its_own_numbers() -> None:
    pack = SUM_UP.replace(
        "stages:",
        'settings: {share: 0.9}\nmodels: {"claude-opus-*": {share: 0.4}}\n'
        "limits: {auto: share * window}\nstages:",
    )
    assert run(pack, [user("q")]).receipt.limits["auto"] == 180_000
    assert run(pack, [user("q")], model=BOUND).receipt.limits["auto"] == 400_000


def test_j_a_policy_of_a_project_builds_on_that_of_the_team(tmp_path: Path) -> None:
    (tmp_path / "team.yaml").write_text(SUM_UP.replace("2000", "900000"), "utf-8")
    (tmp_path / "project.yaml").write_text(
        "format: 1\nname: project\nversion: 1.0.0\nextends: [./team.yaml]\n"
        "stages:\n  - {id: sum-up, at: {before_request: {tokens: {at_least: 1000}}}}\n",
        "utf-8",
    )
    messages = loop(12, 3000)
    assert verdict(run(Engine.load(tmp_path / "team.yaml"), messages), "sum-up") == "skipped"
    assert verdict(run(Engine.load(tmp_path / "project.yaml"), messages), "sum-up") == "committed"


def test_j_instructions_add_to_the_prompt_and_do_not_replace_it() -> None:
    pack = writes(", instructions: [{from: user}, {text: Name every port.}]")
    request = ManualRequest(instructions="Dwell on the pool.")
    _, [question] = written(pack, loop(12, 3000), event="manual", request=request)
    assert question.prompt.index("Dwell on the pool.") < question.prompt.index("Name every port.")
    assert "Primary request and intent" in question.prompt


def test_j_the_summary_can_be_written_by_a_cheaper_model_with_less_effort() -> None:
    pack = writes(", model: [fast], effort: low, max_output: 4000").replace(
        "stages:", "settings: {fast: claude-haiku-4-5}\nstages:"
    )
    _, [question] = written(pack, loop(12, 3000))
    assert (question.model, question.effort, question.max_output) == ("claude-haiku-4-5", "low", 4000)


def test_j_what_would_be_dropped_can_be_seen_before_it_happens() -> None:
    session = engine_of(SUM_UP + CLEAR[CLEAR.index("  - {id: clear") :]).session()
    messages = loop(12, 3000)
    told = session.explain(Request(MODEL, messages), facts=Facts(now=NOW, caller="main"))
    done = run(session, messages)
    assert [(s.id, s.verdict, s.tokens) for s in told.receipt.stages] == [
        (s.id, s.verdict, s.tokens) for s in done.receipt.stages
    ]
    assert bodies(told) == bodies(done)
    assert told.receipt.run.dry


def test_j_every_number_behind_a_decision_is_in_the_receipt() -> None:
    report = run(SUM_UP, loop(3)).receipt.stage("sum-up")
    assert report is not None
    [entry] = [one for one in report.conditions if one.path.endswith("tokens at_least")]
    assert entry.limit == 2000
    assert 0 < entry.value < 2000
    assert not entry.holds


def test_j_a_summary_can_be_undone_and_is_not_made_again_at_once(tmp_path: Path) -> None:
    session = engine_of(SUM_UP).open_session(tmp_path)
    messages = loop(12, 3000)
    outcome = run(session, messages)
    report = outcome.receipt.stage("sum-up")
    assert report is not None
    session.undo(report.commit)
    assert shown(run(session, messages)) == messages
    assert shown(run(engine_of(SUM_UP).open_session(tmp_path), messages)) == messages


def test_j_what_was_cleared_can_be_had_back_and_stays() -> None:
    session = engine_of(CLEAR).session()
    messages = loop(4)
    assert blocks(run(session, messages), "tool_result")[1]["content"] == "[cleared]"
    session.restore(["call-1"])
    for number in range(3):
        outcome = run(session, messages)
        assert blocks(outcome, "tool_result")[1] == messages[4]["content"][0]
        assert blocks(outcome, "tool_result")[0]["content"] == "[cleared]"
        messages += rounds(1, start=50 + number)


@pytest.mark.parametrize("event", ["before_request", "manual", "overflow"])
def test_j_pinned_words_survive_a_summary_word_for_word(event: str) -> None:
    messages: list[Message] = [
        user("Find the leak."),
        *rounds(4, 3000),
        assistant("So."),
        user("Never push to main."),
    ]
    messages += [assistant("Understood."), *[user("Go on.")], *rounds(6, 3000, start=20)]
    at = messages.index(user("Never push to main."))
    info = [Info(pinned=index == at) for index in range(len(messages))]
    outcome = run(SUM_UP, messages, event, info=info)
    assert verdict(outcome, "sum-up") == "committed"
    assert messages[at] in shown(outcome)


@pytest.mark.parametrize(("key", "kept"), [("up_to", "behind"), ("from_", "before")])
def test_j_only_one_side_of_a_point_is_summarized_on_request(key: str, kept: str) -> None:
    messages = [
        user("First."),
        *rounds(5, 1500),
        assistant("One."),
        user("Second."),
        *rounds(5, 1500, start=20),
    ]
    messages += [assistant("Two."), user("Third.")]
    info = [Info(id=f"m{index}") for index in range(len(messages))]
    point = messages.index(user("Second."))
    outcome = run(SUM_UP, messages, "manual", info=info, request=ManualRequest(**{key: f"m{point}"}))
    assert verdict(outcome, "sum-up") == "committed"
    left = shown(outcome)
    if kept == "behind":
        assert left[-11:] == messages[-11:]
        assert "line 2 of" not in words(outcome)
    else:
        assert left[:point] == messages[:point]
        assert "line 22 of" not in words(outcome)


def test_j_a_hook_may_forbid_a_summary_or_add_to_it() -> None:
    def forbids(moment: str, stage: str, said: str) -> HookReply | None:
        return HookReply(veto="not during the demo") if moment == "before_summary" else None

    writer = CannedSummarizer([GOOD])
    messages = loop(12, 3000)
    outcome = run(engine_of(writes(), summarizer=writer, hooks=forbids), messages)
    assert verdict(outcome, "sum-up") in ("refused", "failed")
    assert "not during the demo" in str(outcome.receipt.stage("sum-up"))
    assert shown(outcome) == messages
    assert writer.asked == []

    def adds(moment: str, stage: str, said: str) -> HookReply | None:
        return HookReply(instructions="Name every port.") if moment == "before_summary" else None

    pack = writes(", instructions: [{from: hook}]")
    outcome = run(engine_of(pack, summarizer=writer, hooks=adds), messages)
    assert verdict(outcome, "sum-up") == "committed"
    assert "Name every port." in asked(writer.asked[0])


@pytest.mark.parametrize("by", ["user", "model", "hook"])
def test_j_compaction_can_be_asked_for_by_anyone_the_pack_lets(by: str) -> None:
    pack = SUM_UP.replace("manual: {}", "manual: {requested_by: [user, model]}")
    outcome = run(pack, loop(12, 3000), "manual", request=ManualRequest(by=by))
    assert (verdict(outcome, "sum-up") == "committed") is (by != "hook")


def test_j_a_time_of_the_hosts_own_choosing_is_an_event() -> None:
    pack = stages(
        "{id: idle, kind: replace, at: [idle], select: {blocks: [tool_result]}, "
        "keep: {newest: {items: 1}}, text: '[c]'}"
    )
    assert verdict(run(pack, loop(4), "idle"), "idle") == "committed"


def test_j_a_broken_policy_fails_the_check_before_any_agent_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "pack.yaml"
    file.write_text(SUM_UP.replace("keep:", "kep:"), "utf-8")
    assert commands.invoke(["check", str(file)]) == 1
    out, err = capsys.readouterr()
    assert "kep" in out + err
    assert "keep" in out + err
    file.write_text(SUM_UP, "utf-8")
    assert commands.invoke(["check", str(file)]) == 0


def test_j_a_saved_session_shows_what_a_policy_would_do_to_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pack, session = tmp_path / "pack.yaml", tmp_path / "session.json"
    pack.write_text(SUM_UP, "utf-8")
    session.write_text(json.dumps({"model": MODEL, "max_tokens": 100, "messages": loop(12, 3000)}), "utf-8")
    capsys.readouterr()
    assert commands.invoke(["explain", str(session), "--pack", str(pack), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert commands.invoke(["run", str(session), "--pack", str(pack), "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert [s["verdict"] for s in told["stages"]] == [s["verdict"] for s in done["stages"]] == ["committed"]


def test_j_the_command_line_survives_half_a_character(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pack, session, out = tmp_path / "pack.yaml", tmp_path / "session.json", tmp_path / "next.json"
    pack.write_text(SUM_UP, "utf-8")
    messages = [*loop(12, 3000), assistant("So?"), user("Look at \ud83e here.")]
    session.write_text(json.dumps({"model": MODEL, "max_tokens": 100, "messages": messages}), "utf-8")
    code = commands.invoke(
        ["run", str(session), "--pack", str(pack), "--out", str(out), "--dir", str(tmp_path / "d")]
    )
    assert code == 0, capsys.readouterr()
    assert json.loads(out.read_text("utf-8"))["messages"][-1] == messages[-1]
