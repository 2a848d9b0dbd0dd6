"""Somebody else writes to the journal in the middle of a run, an undo, a restore; interrupts come at any line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import pytest
from tests.durability.support import (
    LASTING,
    MESSAGES,
    MODEL,
    NOW,
    STEPS,
    Lines,
    Message,
    body,
    check_folder,
    conversation,
    engine_for,
    opened,
    results_of,
    run,
    take,
)

import trimtab.conversation.lineage
import trimtab.journal
import trimtab.recording
import trimtab.retrying
import trimtab.revision
import trimtab.session
import trimtab.track
from trimtab import Facts, Request
from trimtab.journal import Conflict, DiskJournal
from trimtab.records import Fail, Record
from trimtab.session import Session

UPTO = 23
"""Messages after which a result is offloaded, three are cleared, and a summary stands."""


class Meanwhile:
    """Appends a record of somebody else's just before each of the next appends."""

    def __init__(self, folder: Path, session: Any, times: int) -> None:
        self.other = DiskJournal.open(folder, engine="0.1.0")
        self.left = times
        self.append = session.journal.append
        session.journal.append = self

    def __call__(self, records: list[Record]) -> None:
        if self.left:
            self.left -= 1
            self.other.reload()
            self.other.append([Fail("somebody-else", 1, "error")])
        self.append(records)


@pytest.mark.parametrize("times", [1, 2, 5, 20])
def test_a_run_outlasts_others_that_write_again_and_again(tmp_path: Path, times: int) -> None:
    folder = tmp_path / "session"
    calm = body(run(opened(tmp_path / "calm"), MESSAGES[:UPTO]))
    session = opened(folder)
    meanwhile = Meanwhile(folder, session, times)
    assert body(run(session, MESSAGES[:UPTO])) == calm
    assert not meanwhile.left
    check_folder(folder, results_of(MESSAGES))


@pytest.mark.parametrize("times", [1, 2, 20])
@pytest.mark.parametrize("what", ["undo", "restore"])
def test_taking_back_outlasts_them_too_and_gives_the_same_view(tmp_path: Path, what: str, times: int) -> None:
    bodies = []
    for folder in (tmp_path / "calm", tmp_path / "session"):
        session = opened(folder)
        run(session, MESSAGES[:UPTO])
        if folder.name == "session":
            Meanwhile(folder, session, times)
        if what == "undo":
            session.undo("c2")
        else:
            session.restore(["call_3_0"])
        bodies.append(body(run(session, MESSAGES[:UPTO])))
        assert body(run(opened(folder), MESSAGES[:UPTO])) == bodies[-1]
        check_folder(folder, results_of(MESSAGES))
    assert bodies[0] == bodies[1]


def test_what_another_process_has_undone_already_cannot_be_undone_again(tmp_path: Path) -> None:
    session = opened(tmp_path)
    run(session, MESSAGES[:UPTO])
    opened(tmp_path).undo("c1")
    with pytest.raises(LookupError, match="undone already"):
        session.undo("c1")
    assert body(run(session, MESSAGES[:UPTO])) == body(run(opened(tmp_path), MESSAGES[:UPTO]))


def test_what_another_process_has_undone_is_known_to_an_explanation_and_to_the_scene(tmp_path: Path) -> None:
    session = opened(tmp_path)
    run(session, MESSAGES[:UPTO])
    opened(tmp_path).undo("c1")
    request, facts = Request(MODEL, MESSAGES[:UPTO], system="You help."), Facts(now=NOW, caller="main")
    with session.scene(request, facts) as scene:
        assert scene.history.history.undone == {"c1"}
    opened(tmp_path).undo("c2")
    expected = opened(tmp_path).explain(request, facts=facts)
    assert body(session.explain(request, facts=facts)) == body(expected)
    assert session.track.history.undone == {"c1", "c2"}


def test_an_endless_competitor_is_told_as_a_conflict_and_nothing_is_half_done(tmp_path: Path) -> None:
    session = opened(tmp_path)
    before = body(run(session, MESSAGES[:UPTO]))
    Meanwhile(tmp_path, session, 10_000)
    with pytest.raises(Conflict, match="written by somebody else"):
        session.undo("c1")
    assert body(run(opened(tmp_path), MESSAGES[:UPTO])) == before


def test_a_session_whose_reading_was_interrupted_reads_again(tmp_path: Path) -> None:
    calm = body(run(opened(tmp_path / "calm"), MESSAGES[:UPTO]))
    session = opened(tmp_path / "session")
    Meanwhile(tmp_path / "session", session, 1)
    replay = trimtab.track.Track.replay
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trimtab.track.Track, "replay", lambda *_: interrupt())
        with pytest.raises(KeyboardInterrupt):
            run(session, MESSAGES[:UPTO])
    assert trimtab.track.Track.replay is replay
    assert body(run(session, MESSAGES[:UPTO])) == calm
    check_folder(tmp_path / "session", results_of(MESSAGES))


TWICE = LASTING.replace('text: "[cleared]"', 'store: cleared, text: "[cleared]"')


def test_of_a_block_that_was_stored_twice_the_original_comes_back(tmp_path: Path) -> None:
    session = opened(tmp_path, TWICE)
    messages = conversation(3)
    for size in range(3, 16):
        if messages[size - 1]["role"] == "user":
            shown = list(run(session, messages[:size], "tool_result").request.messages)
            shown = list(run(session, messages[:size]).request.messages)
    assert shown[2]["content"][0]["content"] == "[cleared]"
    fed_back: list[Message] = json.loads(json.dumps(shown))
    host = opened(tmp_path, TWICE)
    run(host, fed_back)
    host.restore(["call_0_0"])
    assert run(host, fed_back).request.messages[2]["content"] == messages[2]["content"]


WATCHED = frozenset(
    str(module.__file__)
    for module in (
        trimtab.conversation.lineage,
        trimtab.journal,
        trimtab.recording,
        trimtab.retrying,
        trimtab.revision,
        trimtab.session,
        trimtab.track,
    )
)


def interrupt() -> NoReturn:
    raise KeyboardInterrupt


def in_memory(folder: Path) -> Session:
    return engine_for(folder).session()


Opening: TypeAlias = Callable[[Path], Session]


def interrupted(
    opening: Opening, folder: Path, number: int, point: int | None, expected: list[str | None]
) -> int:
    """The ``number``-th step interrupted, then repeated in the same session, and all that follow; the lines counted."""
    session = opening(folder)
    for step in STEPS[:number]:
        take(session, MESSAGES, step)
    lines, before = Lines(WATCHED, point, interrupt), sys.gettrace()
    sys.settrace(lines)
    try:
        take(session, MESSAGES, STEPS[number])
    except KeyboardInterrupt:
        assert point is not None
    finally:
        sys.settrace(before)
    if session._running:  # interrupted while it opened or closed the door
        if opening is in_memory:
            return lines.count
        session = opening(folder)
    for step, body_ in zip(STEPS[number:], expected[number:], strict=True):
        assert take(session, MESSAGES, step) == body_, (number, point, step)
    if opening is opened:
        check_folder(folder, results_of(MESSAGES))
    return lines.count


@pytest.mark.parametrize("opening", [opened, in_memory])
@pytest.mark.parametrize("number", [4, 14, 17, 24])
def test_a_session_that_was_interrupted_at_any_line_goes_on(
    tmp_path: Path, number: int, opening: Opening
) -> None:
    session = opening(tmp_path / "whole")
    expected = [take(session, MESSAGES, step) for step in STEPS]
    lines = interrupted(opening, tmp_path / "count", number, None, expected)
    every = max(1, lines // 6)
    points = {*range(number % every + 1, lines, every), *range(lines - 40, lines, 8)}
    for point in sorted(points):
        interrupted(opening, tmp_path / str(point), number, point, expected)
