"""Journals that say what no journal can say: refused with file and line, never a traceback later on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.hostile.test_hosts import MODEL, OFFLOAD, calls
from tests.session.packs import engine_of

from trimtab import Facts, Request
from trimtab.records import JournalError


def damaged(folder: Path, **changes: Any) -> None:
    """A journal of one run whose first record says something else."""
    engine = engine_of(OFFLOAD)
    engine.open_session(folder).run(Request(MODEL, calls(2)), facts=Facts(now=1e9))
    path = folder / "journal.jsonl"
    lines = path.read_text().splitlines()
    number = next(n for n, line in enumerate(lines) if json.loads(line)["t"] == "run")
    lines[number] = json.dumps({**json.loads(lines[number]), **changes})
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize(
    "changes",
    [
        {"add": [[0, 0]]},
        {"add": []},
        {"add": [[2, 2], [2, 2]]},
        {"add": [[-3, 1]]},
        {"d": []},
        {"keep": 99},
        {"at": "yesterday"},
        {"at": "9999-12-31T00:00:00Z"},
    ],
    ids=str,
)
def test_a_run_record_that_contradicts_itself_is_refused_as_damaged(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    damaged(tmp_path, **changes)
    with pytest.raises(JournalError):
        engine_of(OFFLOAD).open_session(tmp_path).run(Request(MODEL, calls(2)), facts=Facts(now=1e9))


def rewritten(folder: Path, change: Callable[[list[dict[str, Any]]], None]) -> None:
    """A journal of two commits and an undo, its records changed."""
    session = engine_of(OFFLOAD).open_session(folder)
    for size in (5, 9):
        session.run(Request(MODEL, calls(size)), facts=Facts(now=1e9))
    session.undo("c2")
    path = folder / "journal.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert [record["id"] for record in records if record["t"] in ("commit", "undo")] == ["c1", "c2", "c2"]
    change(records)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def first(records: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    return next(record for record in records if record["t"] == kind)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda records: records[0].update(format=-1), "there is no format -1"),
        (lambda records: records[0].update(format=0), "there is no format 0"),
        (lambda records: records[0].update(format="1"), "format is '1'"),
        (lambda records: records[0].update(format=True), "format is 'True'"),
        (
            lambda records: first(records, "undo").update(id="c9"),
            "an undo names commit c9, which is not there",
        ),
        (lambda records: first(records, "undo").update(id="all"), "an undo names commit all"),
        (lambda records: first(records, "commit").update(id="one"), "'one' is no id of a commit"),
        (lambda records: first(records, "commit").update(id="c5"), "commit c2 does not follow"),
        (lambda records: records.append(first(records, "commit")), "commit c1 does not follow"),
        (lambda records: first(records, "run").update(n=7), "run 2 does not follow run 7"),
        (lambda records: first(records, "run").update(n=10**400), "does not follow"),
        (lambda records: first(records, "run").update(estimate=10**400), "int too large"),
        (lambda records: first(records, "run").update(ceilings=[[10**400, 1]]), "int too large"),
        (lambda records: first(records, "run").update(meter=[10**400, 1]), "int too large"),
    ],
)
def test_records_that_no_session_writes_in_this_order_are_refused_with_words(
    tmp_path: Path, change: Callable[[list[dict[str, Any]]], None], words: str
) -> None:
    rewritten(tmp_path, change)
    with pytest.raises(JournalError, match=words):
        engine_of(OFFLOAD).open_session(tmp_path)


def test_a_journal_cut_anywhere_is_read_up_to_there_and_goes_on(tmp_path: Path) -> None:
    engine = engine_of(OFFLOAD)
    messages = calls(6)
    session = engine.open_session(tmp_path / "whole")
    for size in (3, 7, 13):
        session.run(Request(MODEL, messages[:size]), facts=Facts(now=1e9))
    data = (tmp_path / "whole" / "journal.jsonl").read_bytes()
    for cut in range(0, len(data), max(1, len(data) // 60)):
        folder = tmp_path / str(cut)
        folder.mkdir()
        (folder / "journal.jsonl").write_bytes(data[:cut])
        outcome = engine.open_session(folder).run(Request(MODEL, messages), facts=Facts(now=1e9))
        assert len(outcome.request.messages) == len(messages)
