"""What a summarizer answers may have any length and shape: it is refused or taken in time in proportion."""

from __future__ import annotations

import math
import time
from typing import Any

import pytest
from tests.faults.support import SECTIONS, loop, run, verdict
from tests.scenes import Session, says, stage_of, user
from tests.session.packs import engine_of

from trimtab import Engine, ManualRequest
from trimtab.effects import Reply
from trimtab.stages._checks import checks
from trimtab.stages._expects import SCRATCH_CHARS, SHOWN, SHOWN_CHARS, TOKEN_CHARS, Refused
from trimtab.stages._ground import Given
from trimtab.stages._source import Source
from trimtab.summarizers.canned import CannedSummarizer

WORDS = "All user messages"
RAW = {
    "kind": "summarize",
    "prompt": "Sum it up.",
    "expects": {
        "extract": "summary",
        "strip": ["analysis"],
        "sections": list(SECTIONS),
        "missing": len(SECTIONS),
        "invented": 5,
    },
    "ground": {
        "facts": ["files"],
        "exact": True,
        "sections": {WORDS: "user_messages"},
        "budget": {"share": 0.25},
    },
}
SHAPES = {
    "line ends": "\n",
    "carriage returns": "\r",
    "tags": "<",
    "quotes": '"',
    "backticks": "`",
    "marks": "#",
    "headings": f"# {WORDS}\n",
    "headings of all": "".join(f"# {name}\n" for name in SECTIONS),
    "quoted headings": "".join(f"> {name}\n" for name in SECTIONS),
    "numbers": "1. ",
    "scratch parts": "<analysis>\n</analysis>\n",
    "open scratch parts": "<analysis>\n",
    "wrappers": "<summary>\n",
    "closings": "</analysis>",
    "paths": "a/b/c.py ",
    "one path": "a.py/",
    "words of users": 'user said "one two three four"\n',
    "open quotes": 'user "',
    "numbers in a row": "0123456789",
}


def gate() -> Any:
    stage: Any = stage_of(RAW).params
    return stage


def cost(unit: str, chars: int) -> float:
    """Seconds that the gate, its checks and the grounding need for so much of it, in and out of the wrapper."""
    scene = Session([user("hello"), says("hello")]).scene()
    stage, source = gate(), Source(["hello"])
    body = (unit * (chars // len(unit) + 1))[:chars]
    given = Given(lambda fact: [{"text": "hello", "serial": 0}], SECTIONS, source, body, math.inf)
    start = time.perf_counter()
    for text in (body, f"<summary>\n{body}\n</summary>"):
        reply = Reply(text)
        stage.writer.expects.judge(reply, scene, math.inf, source, (WORDS,))
        checks(
            stage.writer.expects,
            reply,
            math.inf,
            lambda expects, said, room: expects.judge(said, scene, room, source, (WORDS,)),
        )
    stage.ground.add(body, scene, given)
    return time.perf_counter() - start


@pytest.mark.parametrize("unit", SHAPES.values(), ids=SHAPES)
def test_eight_times_as_long_an_answer_takes_about_eight_times_as_long(unit: str) -> None:
    cost(unit, 1000)
    assert cost(unit, 320_000) < 0.1 + 24 * min(cost(unit, 40_000) for _ in range(2))


@pytest.mark.parametrize("unit", SHAPES.values(), ids=SHAPES)
def test_an_answer_that_nobody_could_use_is_refused_unread(unit: str) -> None:
    text = unit * (9_000_000 // len(unit))
    start = time.perf_counter()
    outcome = run(
        Engine.load("claude-code", summarizer=CannedSummarizer([text] * 9)),
        loop(30, 2000),
        "manual",
        request=ManualRequest(),
    )
    assert time.perf_counter() - start < 10
    assert verdict(outcome, "full-summary") == "failed"
    report = outcome.receipt.stage("full-summary")
    assert report is not None
    assert report.calls[0].problem in ("larger", "empty")


def test_an_answer_is_read_as_long_as_its_room_could_need_it() -> None:
    scene = Session([user("hello")]).scene()
    room = 100

    def judged(chars: int) -> str | Refused:
        scratch = "<analysis>" + "x" * (chars - len("<analysis></analysis>\n<summary>good</summary>"))
        return gate().writer.expects.judge(
            Reply(f"{scratch}</analysis>\n<summary>good</summary>"), scene, room
        )

    most = TOKEN_CHARS * room + SCRATCH_CHARS
    assert judged(most) == "good"
    refused = judged(most + 1)
    assert isinstance(refused, Refused)
    assert refused.reason == "larger"
    assert str(most) in refused.message


def test_notes_have_no_room_to_stay_under_and_are_bounded_all_the_same() -> None:
    pack = engine_of(
        "format: 1\nname: small\nversion: 1.0.0\nstages:\n"
        "  - {id: memory, kind: notes, at: [after_response], prompt: notes/ten-sections.md.j2, retries: 0}\n",
        summarizer=CannedSummarizer(["word " * 1_000_000]),
    )
    outcome = run(pack, loop(3), "after_response")
    report = outcome.receipt.stage("memory")
    assert report is not None
    assert [call.problem for call in report.calls] == ["larger"]


def test_of_countless_invented_paths_only_some_are_named() -> None:
    scene = Session([user("hello")]).scene()
    text = (
        "<summary>" + " ".join(f"made/up/{'x' * 100}-{number}.py" for number in range(10_000)) + "</summary>"
    )
    judged = gate().writer.expects.judge(Reply(text), scene, math.inf, Source(["hello"]))
    assert isinstance(judged, Refused)
    assert judged.message.startswith("25 or more paths or quotes are nowhere")
    assert judged.message.count("made/up/") == SHOWN
    assert len(judged.message) < 100 + SHOWN * (SHOWN_CHARS + 3)
