"""What summaries name of the files that are needed later, on recorded sessions and on made-up ones."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from bench.summary_coverage import (
    GROUNDED_SHARE,
    GROUNDED_SIZE,
    LEDGER_SHARE,
    PACK,
    Row,
    compacted,
    cuts,
    main,
    names,
    rows,
    sessions,
    share,
    used_names,
    without_thoughts,
)

from trimtab.conversation.request import GENUINE
from trimtab.facts import text_of
from trimtab.packs.load import load
from trimtab.stages._headings import section


@cache
def judged(folder: Path) -> list[Row]:
    pack = load(PACK)
    return [row for path in sessions(folder) for row in rows(path, pack)]


@pytest.fixture
def found(corpus: Path) -> list[Row]:
    return judged(corpus / "claude-code")


@pytest.mark.corpus
def test_the_ledger_names_what_is_needed_later_in_no_more_characters(found: list[Row]) -> None:
    real = [row for row in found if row.recorded is not None]
    assert len(real) >= 9
    assert share([row.ledger for row in real]) >= LEDGER_SHARE
    for row in real:
        assert row.recorded is not None
        assert row.ledger.chars <= row.recorded.chars


@pytest.mark.corpus
def test_a_grounded_summary_names_it_too_and_grows_by_a_quarter_at_most(found: list[Row]) -> None:
    grounded = [row.grounded for row in found if row.grounded is not None]
    recorded = [row.recorded for row in found if row.recorded is not None]
    assert share(grounded) >= GROUNDED_SHARE
    assert share(recorded) < GROUNDED_SHARE
    for one, other in zip(grounded, recorded, strict=True):
        assert one.chars <= GROUNDED_SIZE * other.chars


# --- the logic, on a session made up here


def call(number: int, name: str, given: dict[str, Any], result: str) -> list[dict[str, Any]]:
    use = {"type": "tool_use", "id": f"t{number}", "name": name, "input": given}
    answer = {"id": f"m{number}", "role": "assistant", "model": "claude-opus-4-6", "content": [use]}
    answer["usage"] = {"input_tokens": 9, "output_tokens": 1}
    told = {"type": "tool_result", "tool_use_id": f"t{number}", "content": result}
    return [
        {"type": "assistant", "message": answer},
        {"type": "user", "message": {"role": "user", "content": [told]}},
    ]


def recorded(folder: Path, summary: str, after: list[dict[str, Any]]) -> Path:
    long = "line of a file " * 200
    lines: list[dict[str, Any]] = [{"type": "user", "message": {"role": "user", "content": "Mend the pool."}}]
    lines += call(1, "Read", {"file_path": "/proj/src/pool.py"}, long)
    lines += call(2, "Bash", {"command": "ls src"}, f"pool.py\nqueue.py\nworker.go\n{long}")
    lines.append(
        {
            "type": "system",
            "subtype": "compact_boundary",
            "compactMetadata": {"trigger": "auto", "preTokens": 150_000},
        }
    )
    message = {"role": "user", "content": summary}
    lines.append({"type": "user", "isCompactSummary": True, "message": message})
    lines += after
    common = {"version": "2.1.40", "sessionId": "s", "isSidechain": False}
    path = folder / "session.jsonl"
    path.write_text(
        "".join(json.dumps({**common, "uuid": f"u{at}", **line}) + "\n" for at, line in enumerate(lines))
    )
    return path


AFTER = [
    *call(3, "Edit", {"file_path": "/proj/src/queue.py"}, "ok"),
    *call(4, "Bash", {"command": "cat src/worker.go new.txt -o=x.y <<EOF\nother.py\nEOF"}, "ok"),
    *call(5, "Read", {"file_path": "/proj/src/pool.py"}, "x"),
    *call(6, "Bash", {"command": "ls"}, "x"),
]


def test_names_count_that_were_seen_before_and_are_used_behind(tmp_path: Path) -> None:
    (cut,) = cuts(recorded(tmp_path, "The pool is being mended.", AFTER))
    assert cut.needed == {"queue.py", "worker.go", "pool.py"}
    assert cut.summary == "The pool is being mended."


def test_a_summary_is_judged_by_the_whole_names_it_has(tmp_path: Path) -> None:
    path = recorded(tmp_path, "Work on src/pool.py and myqueue.py goes on.", AFTER)
    (row,) = rows(path, load(PACK))
    assert row.recorded is not None
    assert (row.recorded.named, row.recorded.missed) == (1, ("queue.py", "worker.go"))
    assert (row.ledger.named, row.ledger.needed) == (3, 3)


def test_made_up_cuts_judge_the_ledger_alone(tmp_path: Path) -> None:
    many = [line for n in range(3, 60) for line in call(n, "Read", {"file_path": "/proj/src/queue.py"}, "x")]
    found = list(rows(recorded(tmp_path, "Short.", many), load(PACK), every=10))
    assert [row.recorded is None for row in found] == [False, True, True]
    assert all(row.ledger.named == row.ledger.needed == 1 for row in found)


@pytest.mark.parametrize("summary", ["Analysis:\nHm.\n\nSummary:\n", "\n", ""])
def test_where_a_client_went_on_with_nothing_the_ledger_is_judged_alone(tmp_path: Path, summary: str) -> None:
    (row,) = rows(recorded(tmp_path, summary, AFTER), load(PACK))
    assert (row.recorded, row.grounded) == (None, None)
    assert row.ledger.named == row.ledger.needed == 3


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.py", "see src/a.py, then", True),
        ("a.py", "a.py.", True),
        ("a.py", "data.py", False),
        ("a.py", "a.pyc", False),
        ("a.py", "a.py.bak", False),
        ("a.py", "x-a.py", False),
    ],
)
def test_a_name_is_a_whole_name(name: str, text: str, expected: bool) -> None:
    assert names(name, text) is expected


def test_a_command_uses_the_files_among_its_words() -> None:
    words = {"command": "go test ./pkg/a_test.go && python -c \"json.loads(x)\" main..HEAD > 'out.txt'"}
    use = {"role": "assistant", "content": [{"type": "tool_use", "name": "Bash", "input": words}]}
    assert used_names([use]) == {"a_test.go", "out.txt"}


def test_what_a_client_put_around_a_summary_is_not_part_of_it() -> None:
    text = (
        "This goes on.\n\nAnalysis:\nHm.\n\nSummary:\n1. Intent: x\n"
        "\nIf you need specific details from before compaction read /x.jsonl"
    )
    assert without_thoughts(text) == "1. Intent: x"


def test_a_canned_summary_is_grounded(tmp_path: Path) -> None:
    (cut,) = cuts(recorded(tmp_path, "x", AFTER))
    sections = [
        "1. Primary request and intent: the pool",
        "2. Key technical concepts: none",
        "3. Files and code sections: pool.py",
        "4. Errors and fixes: none",
        "5. Problem solving: none",
        "6. All user messages:\n- mend",
        "7. Pending tasks: the pool",
        "8. Current work: the pool",
        "9. Optional next step: go on with the long work on the pool that was asked for. " + "More. " * 60,
    ]
    text, _ = compacted(load(PACK), cut.before, "\n".join(sections))
    assert "6. All user messages:\n> Mend the pool.\n" in text
    assert names("worker.go", text)


def test_the_program_says_what_it_needs_and_fails_below_a_bar(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "nowhere")]) == 2
    assert main([str(tmp_path)]) == 5
    recorded(tmp_path, "Short.", AFTER)
    assert main([str(tmp_path)]) == 1
    assert "larger than the recorded: 1" in capsys.readouterr().out


# --- the users' words


def section_six(text: str) -> str:
    spot = section(text, "All user messages", ["Pending tasks", "Also on record (files"])
    assert spot is not None
    return text[spot[1] : spot[2]]


def shown_in(body: str, words: list[str]) -> tuple[int, int]:
    """How many of the messages stand in the body whole, and how many as head and tail; each behind the one before."""
    at = whole = parts = 0
    for word in words:
        quoted = "> " + word.strip().replace("\n", "\n> ")
        found = body.find(quoted, at)
        if found >= 0:
            whole, at = whole + 1, found + len(quoted)
        elif (found := body.find(quoted[:20], at)) >= 0:
            mark = body.index(" characters left out …]", found)
            parts, at = parts + 1, body.index(quoted[-8:], mark) + len(quoted[-8:])
    return whole, parts


@pytest.mark.corpus
def test_every_genuine_message_of_a_user_stands_in_section_six_in_order(found: list[Row]) -> None:
    pack = load(PACK)
    all_of_them = whole = 0
    for row in found:
        if row.cut.summary is None:
            continue
        text, outcome = compacted(pack, row.cut.before, without_thoughts(row.cut.summary))
        infos = zip(row.cut.before.messages, row.cut.before.info, strict=True)
        said = [text_of(message["content"]) for message, info in infos if info and info.origin in GENUINE]
        # The last of what is summed up stands beside the summary, and what nothing was done for yet behind it.
        tail = [text_of(message["content"]) for message in outcome.request.messages]
        rest = [word for word in said if word not in tail]
        here, parts = shown_in(section_six(text), rest)
        assert here + parts == len(rest) >= len(said) - 2, (row.cut.path.name, row.cut.number)
        all_of_them, whole = all_of_them + here + parts, whole + here
    assert all_of_them > 80
    assert whole > 0.8 * all_of_them
