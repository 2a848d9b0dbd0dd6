"""Writes ``session.jsonl``: a made-up session in Claude Code's file format, the same bytes on every machine.

One run of the pack ``claude-code`` at a 200k window shows every layer on it: an empty result, a result over
50,000 characters that has not been sent yet, a pause of more than an hour with old results before it, a
context that stays over 167,000 tokens even when those are cleared, and state to attach again (todos, plan,
skill, files).

    python examples/make_session.py [OUTPUT]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any
from uuid import UUID

SEED = 20260218
MODEL = "claude-sonnet-4-5-20250929"
CWD = "/home/dev/harbor"
START = datetime(2026, 2, 18, 8, 2, 11, tzinfo=UTC).timestamp()
OVERHEAD = 18_400
"""Tokens of system prompt and tools, which are in the usage but not in the file."""
PROSE, CODE, LISTING, DATA = 4.6, 3.3, 2.75, 2.4
"""Characters a token, by what the text is: o200k_base measured on these texts, then a quarter more tokens."""


def words(*lines: str) -> list[str]:
    """The words of all lines."""
    return " ".join(lines).split()


NOUNS = words(
    "berth vessel tide pilot crane quay mooring manifest",
    "tug window gauge draught slot ledger harbour buoy",
)
VERBS = words("assign release merge shift check load store split plan settle rebuild compare extend expire")
WORDS = words(
    "the a each every older newer pending closed first last early late because until while after before",
    "window berth tide table vessel pilot order queue entry record change report overlap gap minute hour",
    "keeps moves drops holds reads writes waits starts ends counts follows replaces matches fails passes",
    "repeats gauge without",
)


class Dice:
    """A small generator of our own: the standard one does not promise the same draws in every Python."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def below(self, bound: int) -> int:
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % bound

    def pick(self, items: list[str]) -> str:
        return items[self.below(len(items))]

    def between(self, low: int, high: int) -> int:
        return low + self.below(high - low + 1)


class Content:
    """Text that looks like a project's: code, logs, tables, notes."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice

    def sentence(self) -> str:
        words = [self.dice.pick(WORDS) for _ in range(self.dice.between(7, 16))]
        return " ".join(words).capitalize() + "."

    def prose(self, chars: int) -> str:
        parts: list[str] = []
        size = 0
        while size < chars:
            paragraph = " ".join(self.sentence() for _ in range(self.dice.between(2, 5)))
            parts.append(paragraph)
            size += len(paragraph) + 2
        return "\n\n".join(parts)

    def code(self, chars: int) -> str:
        lines = ["from __future__ import annotations", "", "from harbor.core import Clock, Store, Span", ""]
        size = 0
        number = 0
        while size < chars:
            number += 1
            verb, noun, other = self.dice.pick(VERBS), self.dice.pick(NOUNS), self.dice.pick(NOUNS)
            minutes = self.dice.between(5, 240)
            block = [
                "",
                f"def {verb}_{noun}_{number}(store: Store, clock: Clock, {other}_id: str) -> Span | None:",
                f'    """{self.sentence()}"""',
                f'    {noun} = store.find("{noun}", {other}_id)',
                f"    if {noun} is None or {noun}.closed_at < clock.now():",
                "        return None",
                f"    span = Span({noun}.opens_at, {noun}.opens_at + {minutes} * 60)",
                f"    for taken in store.spans({other}_id):",
                "        if taken.overlaps(span):",
                f"            # {self.sentence()}",
                f"            span = span.after(taken, gap={self.dice.between(1, 30)})",
                f'    store.log("{verb}", {other}_id, span)',
                "    return span",
                "",
            ]
            lines += block
            size += sum(len(line) + 1 for line in block)
        return "\n".join(lines) + "\n"

    def numbered(self, text: str) -> str:
        """Lines with their numbers, as the file reader of the client shows them."""
        return "\n".join(f"{number:>6}→{line}" for number, line in enumerate(text.splitlines(), 1))

    def moment(self) -> str:
        day, hour, minute = self.dice.between(10, 28), self.dice.between(10, 23), self.dice.between(10, 59)
        return f"2026-02-{day}T{hour}:{minute}Z"

    def rows(self, chars: int) -> str:
        rows: list[str] = []
        size = 0
        while size < chars:
            row = json.dumps(
                {
                    "berth": f"{self.dice.pick(['N', 'E', 'S', 'W'])}{self.dice.between(1, 24)}",
                    "vessel": f"{self.dice.pick(NOUNS)}-{self.dice.between(100, 999)}",
                    "opens_at": self.moment(),
                    "minutes": self.dice.between(20, 600),
                    "state": self.dice.pick(["open", "held", "closed", "merged"]),
                    "note": self.sentence(),
                }
            )
            rows.append(row)
            size += len(row) + 2
        return "[" + ",\n".join(rows) + "]"

    def test_log(self, chars: int) -> str:
        lines = ["make integration", "collecting tests", ""]
        size = 0
        number = 0
        while size < chars:
            number += 1
            verb, noun = self.dice.pick(VERBS), self.dice.pick(NOUNS)
            failed = number % 41 == 0
            line = (
                f"tests/integration/test_{noun}.py::test_{verb}_{noun}_{number} "
                f"{'FAILED' if failed else 'PASSED'} [{self.dice.between(1, 900) / 100:.2f}s]"
            )
            lines.append(line)
            size += len(line) + 1
            if failed:
                detail = f"    AssertionError: span of {noun} {number} overlaps: {self.sentence()}"
                lines.append(detail)
                size += len(detail) + 1
        lines.append(f"{number} tests, {number // 41} failed")
        return "\n".join(lines)

    def grep(self, count: int) -> str:
        return "\n".join(
            f"src/harbor/{self.dice.pick(NOUNS)}s.py:{self.dice.between(3, 400)}:    "
            f"span = {self.dice.pick(VERBS)}_{self.dice.pick(NOUNS)}(store, clock, berth_id)"
            for _ in range(count)
        )


class Session:
    """Records in the order the client writes them, with the parent chain, the clock and a growing usage."""

    def __init__(self) -> None:
        self.dice = Dice(SEED)
        self.content = Content(self.dice)
        self.records: list[dict[str, Any]] = []
        self.clock = START
        self.parent: str | None = None
        self.tokens = float(OVERHEAD)
        self.cached = 0
        self.counter = 0
        self.session = self.name("session")

    def name(self, what: str) -> str:
        self.counter += 1
        return str(
            UUID(bytes=blake2b(f"{SEED}/{what}/{self.counter}".encode(), digest_size=16).digest(), version=4)
        )

    def short(self, prefix: str) -> str:
        self.counter += 1
        return prefix + "01" + blake2b(f"{SEED}/{prefix}/{self.counter}".encode(), digest_size=11).hexdigest()

    def time(self) -> str:
        moment = datetime.fromtimestamp(round(self.clock, 3), UTC)
        return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"

    def wait(self, seconds: float) -> None:
        self.clock += seconds

    def write(self, kind: str, parent: str | None, **fields: Any) -> str:
        uuid = self.name("record")
        self.records.append(
            {
                "parentUuid": parent,
                "isSidechain": False,
                "userType": "external",
                "cwd": CWD,
                "sessionId": self.session,
                "version": "2.1.45",
                "gitBranch": "fix/double-windows",
                "slug": "patient-ebbing-heron",
                "type": kind,
                **fields,
                "uuid": uuid,
                "timestamp": self.time(),
            }
        )
        self.parent = uuid
        return uuid

    def aside(self, kind: str, **fields: Any) -> None:
        self.records.append({"type": kind, **fields})

    def user(self, text: str, ratio: float = PROSE, **fields: Any) -> None:
        self.write("user", self.parent, message={"role": "user", "content": text}, **fields)
        self.tokens += len(text) / ratio + 4

    def meta(self, text: str, call: str) -> None:
        content = [{"type": "text", "text": text}]
        self.write(
            "user",
            self.parent,
            message={"role": "user", "content": content},
            isMeta=True,
            sourceToolUseID=call,
        )
        self.tokens += len(text) / PROSE + 4

    def respond(
        self,
        text: str = "",
        *calls: tuple[str, dict[str, Any], str, float],
        thinking: str = "",
        error: bool = False,
        pause: float = 4,
    ) -> list[str]:
        """One response: a record a block, each result right behind its call, the way parallel calls look."""
        self.wait(self.dice.between(4, 19))
        message, request = self.short("msg_"), self.short("req_")
        usage = self.usage()
        blocks: list[dict[str, Any]] = []
        if thinking:
            sign = blake2b(thinking.encode(), digest_size=48).hexdigest()
            blocks.append({"type": "thinking", "thinking": thinking, "signature": sign})
            self.tokens += len(thinking) / PROSE
        if text:
            blocks.append({"type": "text", "text": text})
            self.tokens += len(text) / PROSE
        ids: list[str] = []
        for block in blocks:
            self.assistant(message, request, block, usage)
            self.wait(1.5)
        for tool, given, result, ratio in calls:
            call = self.short("toolu_")
            ids.append(call)
            source = self.assistant(
                message, request, {"type": "tool_use", "id": call, "name": tool, "input": given}, usage
            )
            self.tokens += (
                len(json.dumps(given, ensure_ascii=False)) / (CODE if tool in ("Write", "Edit") else PROSE)
                + 20
            )
            if tool == "Bash":
                progress = {"type": "bash_progress", "output": "", "elapsedTimeSeconds": 3, "totalLines": 0}
                self.write("progress", source, data=progress, toolUseID=call, parentToolUseID=call)
            self.wait(pause + self.dice.between(0, 3))
            block = {"type": "tool_result", "tool_use_id": call, "content": result}
            if tool == "Bash":
                block["is_error"] = error
            self.write(
                "user",
                source,
                message={"role": "user", "content": [block]},
                toolUseResult=result[:160],
                sourceToolAssistantUUID=source,
            )
            self.tokens += len(result) / ratio + 10
        return ids

    def assistant(self, message: str, request: str, block: dict[str, Any], usage: dict[str, Any]) -> str:
        body = {
            "model": MODEL,
            "id": message,
            "type": "message",
            "role": "assistant",
            "content": [block],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }
        return self.write("assistant", self.parent, message=body, requestId=request)

    def usage(self) -> dict[str, Any]:
        prompt = int(self.tokens)
        fresh = self.dice.between(2, 9)
        read = min(self.cached, prompt - fresh)
        self.cached = prompt - fresh
        written = prompt - fresh - read
        return {
            "input_tokens": fresh,
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": read,
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": written},
            "output_tokens": self.dice.between(2, 9),
            "service_tier": "standard",
        }

    def end_turn(self) -> None:
        self.write(
            "system",
            self.parent,
            subtype="turn_duration",
            durationMs=self.dice.between(40, 400) * 1000,
            isMeta=False,
        )
        self.wait(self.dice.between(60, 400))

    def lines(self) -> Iterator[str]:
        for record in self.records:
            yield json.dumps(record, ensure_ascii=False, separators=(",", ":"))


PLAN = """# Plan: no berth gets two windows

## Why
A new tide table rebuilds the windows of a day while the queue still holds orders made from the old table.
Both are written, and the berth has two windows for the same hour.

## Steps
1. Give every window the version of the tide table it was made from.
2. Let `settle_window` refuse an order whose version is older than the berth's.
3. Rebuild the queue from the store when a table arrives, in one transaction.
4. Merge the double windows that exist with a migration that can be repeated.
5. Cover all of it with integration tests, the pilot's view included.

## Not touched
The gauge import and the billing export stay as they are.
"""

SKILL = """Base directory for this skill: /home/dev/harbor/.claude/skills/migrations

# Migrations in this project

- A migration is one file in `migrations/`, numbered, with `up` and `down`.
- It must be safe to run twice: look before you write, and say what was skipped.
- Never hold the store's lock for more than one berth at a time.
- Rows that are merged stay in the table with state `merged` and the id of the row they went into.
- Every migration comes with a test that runs it on the recorded fixture and then again.
"""


def todos(done: int) -> dict[str, Any]:
    steps = [
        ("Give windows the version of their tide table", "Giving windows a table version"),
        ("Refuse orders made from an older table", "Refusing outdated orders"),
        ("Rebuild the queue in one transaction", "Rebuilding the queue"),
        ("Merge existing double windows", "Merging double windows"),
        ("Integration tests for the pilot's view", "Testing the pilot's view"),
    ]
    state = ["completed"] * done + ["in_progress"] + ["pending"] * len(steps)
    return {
        "todos": [
            {"content": content, "status": state[at], "activeForm": active}
            for at, (content, active) in enumerate(steps)
        ]
    }


def session() -> str:
    """The whole file as text, one record a line."""
    s = Session()
    c = s.content
    s.aside(
        "file-history-snapshot",
        messageId=s.name("snapshot"),
        snapshot={"trackedFileBackups": {}},
        isSnapshotUpdate=False,
    )

    s.user(
        "Since the tide tables come in twice a day some berths get two windows for the same hour. Find out "
        "why, make a plan first, and don't touch the billing export. Here is what the harbour "
        "office sent me:\n\n" + c.prose(25_000),
        permissionMode="plan",
    )
    s.respond(
        "I'll look at how windows are made before I plan anything.",
        ("Grep", {"pattern": "span = .*berth_id", "path": "src/harbor"}, c.grep(14), LISTING),
        (
            "Glob",
            {"pattern": "src/harbor/*.py"},
            "\n".join(f"{CWD}/src/harbor/{noun}s.py" for noun in NOUNS),
            PROSE,
        ),
        thinking=c.prose(1_900),
    )
    s.respond(
        "",
        ("Read", {"file_path": f"{CWD}/src/harbor/windows.py"}, c.numbered(c.code(1_500)), LISTING),
        ("Read", {"file_path": f"{CWD}/src/harbor/tides.py"}, c.numbered(c.code(1_300)), LISTING),
    )
    s.respond(
        "Both the import and the queue write windows. I want to see the rows themselves.",
        (
            "mcp__harbor_db__query",
            {"sql": "select * from windows where day between '2026-02-10' and '2026-02-14' order by berth"},
            c.rows(44_000),
            DATA,
        ),
        thinking=c.prose(1_600),
    )
    s.respond(
        "",
        ("Bash", {"command": "git log --oneline -12", "description": "Recent commits"}, c.grep(4), LISTING),
    )
    s.respond(
        "The queue keeps orders made from the old table. The plan:",
        ("ExitPlanMode", {"plan": PLAN}, "User has approved your plan. You can now start coding.", PROSE),
        thinking=c.prose(2_200),
    )
    s.respond("", ("TodoWrite", todos(0), "Todos have been modified successfully.", PROSE))
    s.respond(
        "First the version on each window.",
        ("Read", {"file_path": f"{CWD}/src/harbor/orders.py"}, c.numbered(c.code(1_400)), LISTING),
        ("Grep", {"pattern": "class Window", "path": "src"}, "src/harbor/core.py:41:class Window:", CODE),
    )
    s.respond(
        "",
        (
            "Write",
            {"file_path": f"{CWD}/src/harbor/versions.py", "content": c.code(24_000)},
            f"File created successfully at: {CWD}/src/harbor/versions.py",
            PROSE,
        ),
        thinking=c.prose(1_400),
    )
    s.respond("", ("Bash", {"command": "git add -A", "description": "Stage the new module"}, "", PROSE))
    s.respond(
        "Windows now carry the version of the table they were made from. Orders come next.\n\n" + c.prose(900)
    )
    s.end_turn()

    s.user(
        "Good. The pilots also see the double windows, so check their view too. Their notes:\n\n"
        + c.prose(28_000)
    )
    s.respond(
        "",
        ("TodoWrite", todos(1), "Todos have been modified successfully.", PROSE),
        (
            "Task",
            {"description": "Trace the pilot's view", "prompt": c.prose(700), "subagent_type": "Explore"},
            "The pilot's view reads windows in three places.\n\n" + c.prose(24_000),
            PROSE,
        ),
        thinking=c.prose(1_800),
    )
    s.respond(
        "",
        (
            "mcp__harbor_db__query",
            {"sql": "select * from pilot_view where state <> 'closed' order by opens_at limit 260"},
            c.rows(44_000),
            DATA,
        ),
    )
    old, new = c.code(700), c.code(800)
    s.respond(
        "The view joins on the berth only; the version is missing there too.",
        (
            "Edit",
            {"file_path": f"{CWD}/src/harbor/pilots.py", "old_string": old, "new_string": new},
            f"The file {CWD}/src/harbor/pilots.py has been updated.\n" + c.numbered(new),
            LISTING,
        ),
        thinking=c.prose(1_700),
    )
    s.respond(
        "",
        ("Bash", {"command": "make unit", "description": "Unit tests"}, c.test_log(1_400), LISTING),
        ("Read", {"file_path": f"{CWD}/src/harbor/queue.py"}, c.numbered(c.code(1_200)), LISTING),
        error=True,
    )
    s.respond(
        "Three tests relied on orders without a version. I'll write the queue anew.",
        (
            "Write",
            {"file_path": f"{CWD}/src/harbor/queue.py", "content": c.code(26_000)},
            f"The file {CWD}/src/harbor/queue.py has been updated.",
            PROSE,
        ),
        thinking=c.prose(1_500),
    )
    s.respond(
        "", ("Bash", {"command": "make unit", "description": "Unit tests"}, "212 tests, 0 failed", CODE)
    )
    s.respond(
        "The queue is rebuilt in one transaction when a table arrives, and the unit tests pass.\n\n"
        + c.prose(1_100)
    )
    s.end_turn()

    s.aside(
        "queue-operation",
        operation="enqueue",
        timestamp=s.time(),
        sessionId=s.session,
        content="now the migration",
    )
    s.aside("queue-operation", operation="dequeue", timestamp=s.time(), sessionId=s.session)
    s.user("Now the migration for the rows that are already double. Use the migrations skill.")
    ids = s.respond("", ("Skill", {"skill": "migrations"}, "Launching skill: migrations", PROSE))
    s.meta(SKILL, ids[0])
    s.respond(
        "",
        ("TodoWrite", todos(3), "Todos have been modified successfully.", PROSE),
        (
            "mcp__harbor_db__query",
            {"sql": "select a.* from windows a join windows b using (berth, opens_at) where a.id < b.id"},
            c.rows(47_000),
            DATA,
        ),
        thinking=c.prose(1_600),
    )
    s.respond(
        "There are more of them than the office thought; some overlap only in part.",
        (
            "Write",
            {"file_path": f"{CWD}/migrations/0042_merge_windows.py", "content": c.code(21_000)},
            f"File created successfully at: {CWD}/migrations/0042_merge_windows.py",
            PROSE,
        ),
        ("Glob", {"pattern": "migrations/004*.py"}, f"{CWD}/migrations/0042_merge_windows.py", PROSE),
        thinking=c.prose(1_900),
    )
    s.respond(
        "",
        (
            "mcp__harbor_db__dry_run",
            {"migration": "0042_merge_windows", "twice": True},
            c.rows(LAST_ROWS),
            DATA,
        ),
    )
    s.respond(
        "The dry run merges every double window once and skips all of them the second time.\n\n"
        + c.prose(1_200)
    )
    s.end_turn()

    s.user("Looks right. Finish the tests for the pilot's view, then run the whole integration suite.")
    old, new = c.code(500), c.code(900)
    s.respond(
        "The view needs the version in its join first.",
        ("TodoWrite", todos(4), "Todos have been modified successfully.", PROSE),
        ("Grep", {"pattern": "def test_.*pilot", "path": "tests"}, c.grep(5), LISTING),
        (
            "Edit",
            {"file_path": f"{CWD}/src/harbor/pilots.py", "old_string": old, "new_string": new},
            f"The file {CWD}/src/harbor/pilots.py has been updated.\n" + c.numbered(new),
            LISTING,
        ),
        thinking=c.prose(1_500),
    )
    s.respond(
        "I'll read both files whole before I run anything.",
        (
            "Read",
            {"file_path": f"{CWD}/tests/integration/test_pilot.py"},
            c.numbered(c.code(30_000)),
            LISTING,
        ),
        ("Read", {"file_path": f"{CWD}/src/harbor/pilots.py"}, c.numbered(c.code(33_000)), LISTING),
    )
    # The permission prompt waits for more than an hour: the result is the newest record and was never sent.
    s.respond(
        "Now the whole suite.",
        (
            "Bash",
            {"command": "make integration", "description": "Integration tests"},
            c.test_log(66_000),
            LISTING,
        ),
        pause=73 * 60,
    )
    return "\n".join(s.lines()) + "\n"


LAST_ROWS = 47_000
"""Characters of the last table; sets where the usage ends: about 175,800 tokens."""


def main() -> None:
    output = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("session.jsonl")
    output.write_bytes(session().encode())
    print(f"{output}: {output.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
