"""``trimtab summarize``: one summary, its prompt, its gate and its price, and nothing committed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.commands.conftest import conversation
from tests.fake_api import overloaded
from tests.fake_api.fixture import Served
from tests.wire.agent import SUMMARY
from tests.wire.summing import NINE, pack

MODEL = "claude-haiku-4-5"


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A session of a dozen calls."""
    path = tmp_path / "session.json"
    path.write_text(json.dumps(conversation(12, MODEL)), encoding="utf-8")
    return path


@pytest.fixture
def writing(tmp_path: Path) -> Path:
    """A pack with a summary by a model, one in spans before it, and a ledger behind it."""
    path = tmp_path / "writing.yaml"
    stages = [
        "{id: pieces, kind: summarize, at: [idle], spans: {rounds: 3}, prompt: collapse/span.md.j2}",
        "{id: ledger, kind: summarize, at: [idle], template: summary/ledger.md.j2}",
        "{id: hush, kind: guard, at: [idle], level: info, text: '-', when: {messages: {at_least: 1}}}",
    ]
    text = pack(f"{NINE}, instructions: [{{from: user}}]", at="{idle: {tokens: {at_least: 900000}}}")
    head, _, own = text.partition("stages:\n")
    path.write_text(
        head + "stages:\n  - " + stages[0] + "\n" + own + "".join(f"  - {s}\n" for s in stages[1:])
    )
    return path


@pytest.fixture
def canned(tmp_path: Path) -> Callable[..., str]:
    """The name of a summarizer that gives these answers."""

    def make(*answers: Any) -> str:
        path = tmp_path / "answers.json"
        path.write_text(json.dumps(answers))
        return f"canned:{path}"

    return make


def test_the_prompt_the_answer_the_gate_and_the_verdict_are_shown(
    trimtab: Callable, session: Path, writing: Path, canned: Callable
) -> None:
    found = trimtab("summarize", session, "-p", writing, "-s", canned(SUMMARY))
    assert found.code == 0
    for there in (
        "stage     sum-up of small@1.0.0, on claude-haiku-4-5",
        "sections  9 expected: Primary request and intent",
        "native: 23 messages",
        "prompt 3,",
        "✓ sections are there",
        "✓ smaller than its source",
        "the ledgers were put in order",
        "verdict   accepted:",
    ):
        assert there in found.out, there
    assert "Do not call any tool" not in found.out


def test_the_prompt_in_full_is_shown_on_request(
    trimtab: Callable, session: Path, writing: Path, canned: Callable
) -> None:
    arguments = ("summarize", session, "-p", writing, "-s", canned(SUMMARY), "--show-prompt")
    assert "Do not call any tool" in trimtab(*arguments).out
    assert "Do not call any tool" in trimtab(*arguments, "--json").json["questions"][0]["prompt"]


def test_a_refused_answer_is_a_problem_and_the_check_says_why(
    trimtab: Callable, session: Path, writing: Path, canned: Callable
) -> None:
    found = trimtab("summarize", session, "-p", writing, "-s", canned("no tags"))
    assert found.code == 1
    assert "✗ a usable text: the answer has no <summary>" in found.out
    assert "verdict   failed: invalid" in found.out


def test_without_a_summarizer_the_prompt_is_shown_and_nobody_is_asked(
    trimtab: Callable, session: Path, writing: Path
) -> None:
    found = trimtab("summarize", session, "-p", writing, "--show-prompt")
    assert found.code == 5
    assert "Do not call any tool" in found.out
    assert "nobody was asked" in found.out


def test_as_json_it_has_questions_answers_calls_checks_and_the_text(
    trimtab: Callable, session: Path, writing: Path, canned: Callable
) -> None:
    data = trimtab("summarize", session, "-p", writing, "-s", canned(SUMMARY), "--json").json
    assert (data["stage"], data["verdict"], data["direction"]) == ("sum-up", "committed", "up_to")
    [question] = data["questions"]
    assert (question["model"], question["form"], question["stop"]) == (MODEL, "native", "end_turn")
    assert question["answer"] == SUMMARY
    assert [part["name"] for part in question["parts"]] == ["messages", "prompt"]
    assert "prompt" not in question
    assert all(check["holds"] for check in data["calls"][0]["checks"])
    assert "put in order" in data["text"]
    assert data["tokens"]["after"] < data["tokens"]["before"]
    assert data["session"]["file"] == str(session)


def test_the_model_that_writes_can_be_named(
    trimtab: Callable, session: Path, writing: Path, canned: Callable
) -> None:
    data = trimtab("summarize", session, "-p", writing, "-s", canned(SUMMARY), "-m", "other", "--json").json
    assert [one["model"] for one in data["questions"]] == ["other"]


def test_the_model_named_is_the_sessions_where_the_file_does_not_say(
    trimtab: Callable, tmp_path: Path, writing: Path, canned: Callable
) -> None:
    path = tmp_path / "nameless.json"
    path.write_text(json.dumps(conversation(12, None)))
    found = trimtab("summarize", path, "-p", writing, "-s", canned(SUMMARY), "-m", MODEL)
    assert found.code == 0
    assert f"on {MODEL}" in found.out
    assert trimtab("summarize", path, "-p", writing, "-s", canned(SUMMARY)).code == 2


@pytest.mark.parametrize(
    ("variant", "direction", "span"),
    [("whole", "up_to", [1, 23]), ("from:8", "from", [8, 25]), ("up-to:8", "up_to", [1, 7])],
)
def test_each_variant_sums_up_its_part(
    trimtab: Callable,
    session: Path,
    writing: Path,
    canned: Callable,
    variant: str,
    direction: str,
    span: list[int],
) -> None:
    arguments = ("summarize", session, "-p", writing, "-s", canned(SUMMARY), "--variant", variant, "--json")
    data = trimtab(*arguments).json
    assert (data["direction"], data["range"]) == (direction, [span])


@pytest.mark.parametrize("variant", ["half", "from", "from:", "from:999", "up-to:nobody"])
def test_a_variant_that_names_nothing_is_wrong_usage(
    trimtab: Callable, session: Path, writing: Path, canned: Callable, variant: str
) -> None:
    found = trimtab("summarize", session, "-p", writing, "-s", canned(SUMMARY), "--variant", variant)
    assert found.code == 2
    assert "--variant" in found.err


def test_another_stage_can_be_named_one_without_a_model_too(
    trimtab: Callable, session: Path, writing: Path, canned: Callable
) -> None:
    ledger = trimtab("summarize", session, "-p", writing, "--stage", "ledger", "--json")
    assert ledger.code == 0
    assert (ledger.json["stage"], ledger.json["questions"]) == ("ledger", [])
    assert "filled from the record" in ledger.json["text"]
    pieces = trimtab(
        "summarize", session, "-p", writing, "-s", canned("one", "two", "three", "four"), "--stage", "pieces"
    )
    assert pieces.code == 0
    assert pieces.out.count("\nasked ") == 4


@pytest.mark.parametrize(("stage", "words"), [("nobody", "does not exist"), ("hush", "is no summarize")])
def test_a_stage_that_writes_no_summary_is_wrong_usage(
    trimtab: Callable, session: Path, writing: Path, stage: str, words: str
) -> None:
    found = trimtab("summarize", session, "-p", writing, "--stage", stage)
    assert found.code == 2
    assert words in found.err


def test_a_pack_without_summaries_is_wrong_usage(trimtab: Callable, session: Path, pack: Path) -> None:
    found = trimtab("summarize", session, "-p", pack)
    assert found.code == 2
    assert "no stage of the kind summarize" in found.err


def test_wishes_are_added_to_the_prompt(
    trimtab: Callable, session: Path, writing: Path, canned: Callable
) -> None:
    arguments = ("summarize", session, "-p", writing, "-s", canned(SUMMARY), "--show-prompt", "--json")
    data = trimtab(*arguments, "--instructions", "Dwell on the berths.").json
    assert "Dwell on the berths." in data["questions"][0]["prompt"]


def test_a_session_too_short_for_a_summary_is_nothing(
    trimtab: Callable, tmp_path: Path, writing: Path, canned: Callable
) -> None:
    path = tmp_path / "short.json"
    path.write_text(json.dumps(conversation(0, MODEL)))
    found = trimtab("summarize", path, "-p", writing, "-s", canned(SUMMARY))
    assert found.code == 5
    assert "nothing to" in found.out


def test_earlier_commits_of_a_directory_count_and_it_is_not_written_to(
    trimtab: Callable, session: Path, writing: Path, canned: Callable, tmp_path: Path
) -> None:
    folder = tmp_path / "kept"
    ran = trimtab("run", session, "-p", writing, "-s", canned(SUMMARY), "--at", "idle", "--dir", folder,
                  "--set", "stages.sum-up.at.idle.tokens.at_least=1", "--set", "stages.pieces.enabled=false",
                  "--set", "stages.ledger.enabled=false")  # fmt: skip
    assert ran.code == 0, ran.err
    before = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    longer = conversation(24, MODEL)
    session.write_text(json.dumps(longer))
    data = trimtab(
        "summarize", session, "-p", writing, "-s", canned(SUMMARY), "--dir", folder, "--json", "--show-prompt"
    ).json
    assert "An earlier hand-over exists" in data["questions"][0]["prompt"]
    assert {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_over_the_wire_every_try_is_shown_with_its_price(
    trimtab: Callable, session: Path, writing: Path, fake_api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr("trimtab.ports.sleep", waited.append)
    api = fake_api(overloaded(), SUMMARY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
    found = trimtab("summarize", session, "-p", writing, "-s", "anthropic")
    assert found.code == 0, found.out
    assert waited == [0.5]
    assert "error: the API answered 529: Overloaded; tried again after 0.5 s" in found.out
    assert "accepted; " in found.out
    assert found.out.splitlines()[-1].startswith("cost      $0.0")


def test_the_receipt_of_a_run_shows_the_calls(
    trimtab: Callable, session: Path, writing: Path, canned: Callable
) -> None:
    found = trimtab("run", session, "-p", writing, "-s", canned("no tags"), "--at", "idle",
                    "--set", "stages.sum-up.at.idle.tokens.at_least=1", "--set", "stages.pieces.enabled=false",
                    "--set", "stages.ledger.enabled=false")  # fmt: skip
    assert f"calls     sum-up: {MODEL} (summary): invalid: the answer has no <summary>" in found.out
