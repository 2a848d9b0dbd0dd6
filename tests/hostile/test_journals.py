"""Journals that say what no journal can say: refused with file and line, never a traceback later on."""

from __future__ import annotations

import json
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
    [{"add": [[0, 0]]}, {"add": []}, {"add": [[2, 2], [2, 2]]}, {"add": [[-3, 1]]}, {"d": []}, {"keep": 99}],
    ids=str,
)
def test_a_run_record_that_contradicts_itself_is_refused_as_damaged(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    damaged(tmp_path, **changes)
    with pytest.raises(JournalError):
        engine_of(OFFLOAD).open_session(tmp_path).run(Request(MODEL, calls(2)), facts=Facts(now=1e9))


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
