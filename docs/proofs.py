"""What the pages about rows and faults rest on: what each is, where it lives, and the tests that carry its name."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"


@dataclass(frozen=True)
class Row:
    """One row of the reference: what it is; the stages, the settings and limits, and the files it lives in."""

    what: str
    stages: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


SUMMARY = ("full-summary",)
COLLAPSE = ("collapse-draft", "collapse", "commit-drafts", "drain", "collapse-now")
ENGINE = "engine/trimtab"

ROWS: Mapping[str, Row] = {
    "R1": Row(
        "What is fixed stands in front; what changes goes to the tail", ("announce-clearing", "turn-state")
    ),
    "R2": Row(
        "Changes of state are told behind the results, before the next call", ("turn-state", "task-reminder")
    ),
    "R3": Row(
        "Deltas: only the difference to what was announced",
        ("turn-state",),
        (),
        (f"{ENGINE}/stages/_told.py",),
    ),
    "R4": Row("A memory file goes in once", ("turn-state",), (), (f"{ENGINE}/stages/_told.py",)),
    "R5": Row(
        "Limit of one tool result; empty results", ("empty-result", "result-budget"), ("result_limit",)
    ),
    "R6": Row("Budget of all results of one message", ("message-budget",)),
    "R7": Row(
        "A result is judged once and for ever",
        ("empty-result", "result-budget", "message-budget"),
        (),
        (f"{ENGINE}/journal.py", f"{ENGINE}/conversation/fold.py"),
    ),
    "R8": Row("Messages with ids; a range out of the middle", ("message-ids", "snip"), ("snip",)),
    "R9": Row(
        "What was snipped stays out after a resume",
        ("snip",),
        (),
        (f"{ENGINE}/conversation/fold.py", f"{ENGINE}/conversation/lineage.py"),
    ),
    "R10": Row("A reminder while the context grows", ("snip-nudge",)),
    "R11": Row("Which tools' results may be cleared", ("microcompact",)),
    "R12": Row("Old results go when the cache is cold", ("microcompact", "idle-clear")),
    "R13": Row("Results deleted from a warm cache", ("microcompact", "warm-clear"), ("cached_edits",)),
    "R14": Row("Clearing that the server does by itself", ("server-editing",), ("server_editing",)),
    "R15": Row("Collapse: spans under records of them, reversible", COLLAPSE, ("collapse",)),
    "R16": Row(
        "Collapse from 90 %, waiting at 95 %, all of it on overflow",
        COLLAPSE,
        ("collapse_start", "collapse_hard", "collapse_target"),
    ),
    "R17": Row(
        "Budget and threshold of automatic compaction",
        ("autocompact",),
        ("window_cap", "percent", "buffer", "reserve", "effective", "auto"),
    ),
    "R18": Row("Four levels; what is left in per cent", ("warn", "block"), ("warn", "block", "percent_left")),
    "R19": Row("Guards and the off switch", ("autocompact",), ("auto_compact", "reactive_only", "collapse")),
    "R20": Row("The circuit breaker", SUMMARY),
    "R21": Row("The token figure", (), (), (f"{ENGINE}/tokens/figure.py", f"{ENGINE}/staging.py")),
    "R22": Row("Session memory is taken down in the background", ("session-memory",), ("session_memory",)),
    "R23": Row("Session memory in the place of a summary", ("from-session-memory",)),
    "R24": Row("The tail that session memory leaves", ("from-session-memory",)),
    "R25": Row("The request for a summary", SUMMARY),
    "R26": Row(
        "Nine sections, a scratch part, instructions", SUMMARY, (), ("templates/summary/nine-sections.md.j2",)
    ),
    "R27": Row("Whole, from a point, up to a point", SUMMARY, (), (f"{ENGINE}/stages/_range.py",)),
    "R28": Row("When the request for a summary is too long", SUMMARY, (), (f"{ENGINE}/stages/_ladder.py",)),
    "R29": Row(
        "The wrapper around the summary",
        ("autocompact",),
        ("autonomous",),
        ("templates/summary/continue.md.j2",),
    ),
    "R30": Row(
        "Order of what stands after a compaction", ("autocompact", "restore", "turn-state", "hook-results")
    ),
    "R31": Row("Files read last come back from disk", ("restore",), (), (f"{ENGINE}/files.py",)),
    "R32": Row(
        "Plan, skills, agents, tools, hook results come back", ("restore", "turn-state", "hook-results")
    ),
    "R33": Row(
        "The true size after compaction; nothing attached triggers the next one",
        ("restore",),
        (),
        (f"{ENGINE}/receipt.py", f"{ENGINE}/interpreter.py"),
    ),
    "R34": Row("Clean-up after a compaction; warnings wait for a real count", ("warn", "microcompact")),
    "R35": Row(
        "After the API has refused a request",
        ("drop-refused-media", "drop-refused-results", "drain", "autocompact"),
        ("reactive_only",),
    ),
    "R36": Row("Compaction on request", ("autocompact",)),
    "R37": Row(
        "The full original is kept",
        ("autocompact",),
        (),
        (f"{ENGINE}/journal.py", "templates/summary/continue.md.j2"),
    ),
    "R38": Row("State of files read: 100 entries, 25 MB", (), (), (f"{ENGINE}/filestate.py",)),
    "R39": Row("Rounds of the API", (), (), (f"{ENGINE}/conversation/view.py", f"{ENGINE}/stages/_range.py")),
    "R40": Row("What the window holds", (), ("window", "reserve"), (f"{ENGINE}/accounting.py",)),
    "R41": Row(
        "Orders hidden in material stay material",
        SUMMARY,
        (),
        (f"{ENGINE}/templating/fencing.py", "templates/summary/continue.md.j2"),
    ),
    "R42": Row(
        "A preview is not the whole",
        ("announce-clearing", "result-budget"),
        (),
        ("templates/persisted-output.md.j2",),
    ),
}

FAULTS: Mapping[str, str] = {
    "A1": "A result or a call without the other after a cut",
    "A2": "Parallel calls split",
    "A3": "Pending and dead calls",
    "A4": "Two results for one call, ids used again",
    "A5": "Text before the results of a message",
    "A6": "First and last role, alternation, an empty list",
    "A7": "Empty content",
    "A8": "Thinking cut, stripped or left over",
    "A9": "Reasoning items of OpenAI",
    "A10": "Tools that the server runs",
    "A11": "Cache marks",
    "A12": "System and developer messages",
    "A13": "Unknown and malformed shapes",
    "B1": "The wrong window",
    "B2": "A policy that contradicts itself",
    "B3": "Checked too late",
    "B4": "Usage misread",
    "B5": "A wrong estimate",
    "B6": "Compaction again and again",
    "B7": "Rules about time",
    "B8": "Off is not off",
    "B9": "Overflow not recognised, or seen where there is none",
    "C1": "One message too large",
    "C2": "No gain, or growth",
    "C3": "Images, documents, bytes",
    "C4": "Heavy inputs of calls",
    "C5": "The wrong end is kept",
    "C6": "Saved output that cannot be reached, or comes in again",
    "D1": "The request for a summary is too long",
    "D2": "An unusable answer is taken",
    "D3": "Tags and the scratch part",
    "D4": "Summaries of summaries",
    "D5": "Facts lost or invented",
    "D6": "Another language",
    "D7": "What the writer is given",
    "E1": "The user's words",
    "E2": "Instructions, memory, skills, plan, tasks, agents, tools",
    "E3": "File reads: again, stale, before an edit",
    "E4": "The wrong tools' results cleared",
    "E5": "Sub-agents",
    "F": "Cost and cache",
    "G1": "An injection lives on in the summary",
    "G2": "Secrets",
    "H": "Characters cut in half",
    "I1": "Not atomic",
    "I2": "Resume, fork, rewind",
    "I3": "A breaker that never closes again",
    "I4": "Scale",
    "J": "Wishes",
}

NOT_YET: Mapping[str, str] = {
    "A9": "comes with the formats of OpenAI",
}
"""Faults without a test, and why."""


def functions(files: Iterable[Path]) -> dict[str, Path]:
    """Names of the test functions in these files, and where each is, in the order of the files."""
    found: dict[str, Path] = {}
    for path in files:
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                found[node.name] = path
    return found


def row_tests() -> dict[str, dict[str, Path]]:
    """By row, the tests that begin with its number."""
    known = functions(sorted((TESTS / "reference").glob("test_*.py")))
    return {row: _named(known, f"test_r{int(row[1:]):02d}_") for row in ROWS}


def fault_tests() -> dict[str, dict[str, Path]]:
    """By fault, the tests that begin with its name; one without a number has a file of its own."""
    folders = (TESTS / "faults", TESTS / "wire")
    reports = functions(sorted(path for folder in folders for path in folder.glob("test_*.py")))
    every = {**reports, **functions(sorted((TESTS / "validity").glob("test_*.py")))}
    return {
        fault: _named(every if fault[-1].isdigit() else reports, f"test_{fault.lower()}_") for fault in FAULTS
    }


def _named(known: Mapping[str, Path], prefix: str) -> dict[str, Path]:
    return {name: path for name, path in known.items() if name.startswith(prefix)}
