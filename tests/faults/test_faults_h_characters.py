"""Group H of the field reports: half characters, and bytes, characters and tokens taken for each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.faults.support import (
    blocks,
    bodies,
    engine_of,
    result,
    round_of,
    run,
    shown,
    stages,
    user,
    verdict,
)

HALF = "\ud83e"
"""The first half of a fox: a lone surrogate, as a broken client writes it into JSON."""


def cut(unit: str, size: int) -> str:
    return stages(
        f"{{id: cut, kind: replace, once: true, select: {{blocks: [tool_result], "
        f"size: {{chars: {{above: 100}}}}}}, store: results,"
        f" preview: {{head: {{{unit}: {size}}}, tail: {{{unit}: {size}}}}}, "
        f'text: "{{{{ head }}}}|{{{{ tail }}}}"}}'
    )


def preview(content: str, unit: str, size: int) -> tuple[str, str]:
    outcome = run(cut(unit, size), [user("q"), *round_of("x", content)])
    head, tail = blocks(outcome, "tool_result")[0]["content"].split("|")
    return head, tail


@pytest.mark.parametrize("size", range(20, 32))
def test_h_a_cut_in_bytes_falls_between_characters(size: int) -> None:
    content = "a🦊é漢" * 100
    head, tail = preview(content, "bytes", size)
    assert content.startswith(head)
    assert content.endswith(tail)
    assert size - 4 < len(head.encode()) <= size
    assert size - 4 < len(tail.encode()) <= size


def test_h_bytes_and_characters_are_told_apart() -> None:
    content = "漢" * 400
    assert len(preview(content, "chars", 30)[0]) == 30
    assert len(preview(content, "bytes", 30)[0]) == 10


@given(st.text(min_size=101, max_size=300).filter(lambda words: "|" not in words), st.integers(1, 60))
def test_h_no_cut_ever_makes_half_a_character(content: str, size: int) -> None:
    outcome = run(cut("bytes", size), [user("q"), *round_of("x", content)])
    if verdict(outcome, "cut") == "committed":
        bodies(outcome).encode("utf-8")
        json.dumps(shown(outcome), ensure_ascii=False).encode("utf-8")


@pytest.mark.parametrize("where", ["text", "result", "input", "system", "id"])
def test_h_half_a_character_anywhere_crashes_nothing_and_is_kept(tmp_path: Path, where: str) -> None:
    half = HALF if where != "id" else f"call{HALF}"
    messages: list[Any] = [
        user("q" + (HALF if where == "text" else "")),
        *round_of(
            half if where == "id" else "x",
            "line " * 100 + (HALF if where == "result" else ""),
            path=HALF if where == "input" else "/a",
        ),
        *round_of("y", "line " * 100),
    ]
    system = HALF if where == "system" else None
    session = engine_of(cut("chars", 20)).open_session(tmp_path)
    first = run(session, messages, system=system)
    assert verdict(first, "cut") == "committed"
    again = run(engine_of(cut("chars", 20)).open_session(tmp_path), messages, system=system)
    assert bodies(first) == bodies(again)


def test_h_a_stored_original_comes_back_to_the_character(tmp_path: Path) -> None:
    content = f"line {HALF} \r\n\x00 漢🦊" * 50
    messages = [user("q"), *round_of("x", content)]
    session = engine_of(cut("chars", 20)).open_session(tmp_path)
    run(session, messages)
    session.restore(["x"])
    assert blocks(run(session, messages), "tool_result")[0] == result("x", content)


def test_h_what_a_stage_writes_holds_no_half_of_a_character_that_was_whole() -> None:
    content = "🦊" * 200
    for size in range(5, 30):
        head, tail = preview(content, "bytes", size)
        (head + tail).encode("utf-8")


def test_h_the_ledger_and_its_journal_survive_half_a_character(tmp_path: Path) -> None:
    pack = stages("{id: sum-up, kind: summarize, at: [manual], template: summary/ledger.md.j2}")
    messages = [
        user(f"mend {HALF} it"),
        *(m for n in range(8) for m in round_of(f"c{n}", f"out {HALF} " * 200, path=HALF)),
    ]
    one = run(engine_of(pack).open_session(tmp_path), messages, "manual")
    assert verdict(one, "sum-up") == "committed"
    assert bodies(run(engine_of(pack).open_session(tmp_path), messages, "manual")) == bodies(one)
