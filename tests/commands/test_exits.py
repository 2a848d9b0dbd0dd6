"""Exit codes, and errors in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from trimtab.commands import exits
from trimtab.interpreter import StageFailed
from trimtab.journal import Conflict
from trimtab.packs.problems import PackError, Problem
from trimtab.readers import Unreadable
from trimtab.receipt import Change, Receipt, RunHeader, StageReport, Totals, Trouble
from trimtab.records import JournalError
from trimtab.session import InvalidRequest, SessionBusy
from trimtab.store import StoreError

TOTALS = Totals(Change(9, 9), Change(9, 9), Change(1, 1), 0, Change(0, 0), True, 1.0, None, 0, 0, 0)
HEADER = RunHeader(1, "before_request", "p@1", "m", None, "0", "estimate", "append", 1, 1)


def receipt(*problems: str, verdict: str = "nothing", send: bool = True) -> Receipt:
    found = tuple(Trouble(code, "words") for code in problems)
    return Receipt(HEADER, {}, {}, (StageReport("s", "drop", verdict),), TOTALS, problems=found, send=send)


@pytest.mark.parametrize(
    "error",
    [
        PackError([Problem("yaml", "no YAML", "p.yaml", 1, 1)]),
        Unreadable("no session", "name one", "s.jsonl"),
        JournalError("damaged", path=Path("j"), line=3),
        Conflict("written by another"),
        StageFailed(StageReport("s", "drop", "failed", "why")),
        InvalidRequest([Trouble("invalid-pairs", "a call without result", "message 3")]),
        FileNotFoundError(2, "No such file", "x"),
        StoreError("no such name"),
        SessionBusy("in a run"),
    ],
)
def test_an_error_a_command_may_end_with_has_words_and_a_code(error: Exception) -> None:
    failure = exits.failure_of(error)
    assert failure is not None
    assert failure.code == exits.PROBLEMS
    assert failure.message


def test_an_error_nobody_expects_has_none() -> None:
    assert exits.failure_of(ZeroDivisionError("a bug")) is None


def test_a_pack_broken_from_outside_alone_is_wrong_usage() -> None:
    outside = Problem("set", "leads nowhere", "--set a.b", 1, 1)
    assert exits.pack_code([outside]) == exits.USAGE
    assert exits.pack_code([outside, Problem("yaml", "no YAML", "p.yaml", 1, 1)]) == exits.PROBLEMS


@pytest.mark.parametrize(
    ("given", "plain", "strict"),
    [
        (receipt(), 0, 0),
        (receipt("repaired"), 0, 1),
        (receipt("invalid-pairs"), 1, 1),
        (receipt("overflow-unhandled", send=False), 1, 1),
        (receipt(send=False), 0, 1),
        (receipt(verdict="failed"), 0, 1),
        (Receipt(HEADER, {}, {}, (), TOTALS), 5, 5),
    ],
)
def test_a_receipt_has_an_exit_code(given: Receipt, plain: int, strict: int) -> None:
    assert exits.receipt_code(given) == plain
    assert exits.receipt_code(given, strict=True) == strict


def test_warnings_from_outside_the_receipt_count_when_strict() -> None:
    assert exits.receipt_code(receipt(), warnings=1) == 0
    assert exits.receipt_code(receipt(), warnings=1, strict=True) == 1
