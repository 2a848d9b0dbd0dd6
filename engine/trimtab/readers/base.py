"""What every reader of session files shares: the recording, its problems, lines of JSON and times."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from ..conversation.request import Request
from ..facts.host import in_calendar

HEAD_BYTES = 1 << 20
"""So much of a file is looked at to tell its format; long enough for a first line with a pasted image."""


NO_MODEL = "no-model"
"""Code of the problem that the file names no model: none where whoever reads it does."""


@dataclass(frozen=True, slots=True)
class ReadProblem:
    """Something that could not be used as it stands; ``line`` counts from 1, 0 is the file as a whole.

    ``code`` is ``NO_MODEL`` or empty.
    """

    line: int
    message: str
    hint: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class Boundary:
    """A compaction the recording client did.

    ``kind`` is ``compact`` or ``microcompact``, ``trigger`` ``auto`` or ``manual``, ``at`` epoch seconds.
    ``position`` is the number of messages of the recording's ``history`` that come before it; ``cleared`` the
    tool ids a microcompaction emptied; token counts are the client's own.
    """

    kind: str
    trigger: str | None
    pre_tokens: int | None
    post_tokens: int | None
    at: float | None
    position: int
    cleared: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recording:
    """A session file as two requests.

    ``live`` is the context the next call would have had: what follows the last compaction, its summary first.
    ``history`` is the whole conversation as if no compaction had ever happened, summaries left out; it is the
    same object where there was none. ``meta`` has ``version session cwd branch agent models boundaries now
    records repeated`` as far as the file tells; ``now`` is its newest time in epoch seconds. ``facts`` are
    the host facts the file ends in, as keywords of ``Facts``; a name that is missing is unknown.
    """

    format: str
    path: str | None
    live: Request
    history: Request
    problems: tuple[ReadProblem, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)


class Unreadable(ValueError):
    """Nothing in the file can be read as a session."""

    def __init__(self, message: str, hint: str = "", path: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.path = path

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{where}{self.message}{hint}"


class Reader(Protocol):
    """One file format."""

    @property
    def name(self) -> str: ...

    @property
    def about(self) -> str:
        """One line for people: what the files are."""
        ...

    def detects(self, head: bytes) -> bool:
        """Whether a file with these first bytes (all of it, or ``HEAD_BYTES``) is of this format."""
        ...

    def read(self, path: Path) -> Recording:
        """Read the file; raises Unreadable or OSError, never for a single bad line."""
        ...


def regular(path: Path) -> Path:
    """The path of a regular file; a pipe or device would be waited for. Raises Unreadable, OSError."""
    if not stat.S_ISREG(path.stat().st_mode) and not path.is_dir():
        raise Unreadable("is no regular file", "save the session to a file first", str(path))
    return path


def parse(text: str | bytes) -> Any:
    """A JSON value; raises ValueError also for nesting the parser cannot follow."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def json_lines(path: Path, problems: list[ReadProblem]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects of a file with one a line, with line numbers; the file is never held as a whole.

    Lines that are no object go to ``problems``; a last line without newline that does not parse is torn.
    """
    with path.open("rb") as lines:
        for number, raw in enumerate(lines, 1):
            if number == 1 and raw.startswith(b"\xef\xbb\xbf"):
                raw = raw[3:]
            if not raw.strip():
                continue
            try:
                text = raw.decode("utf-8")
            except UnicodeDecodeError as error:
                text = raw.decode("utf-8", "replace")
                problems.append(
                    ReadProblem(number, f"byte {error.start} is not UTF-8", "the bytes were read as U+FFFD")
                )
            try:
                value = parse(text)
            except ValueError as error:
                if raw.endswith(b"\n"):
                    problems.append(ReadProblem(number, f"not JSON: {error}", "the line was left out"))
                else:
                    problems.append(
                        ReadProblem(
                            number,
                            "the last line is torn: it ends before its JSON does",
                            "the line was left out; the writer was probably stopped while writing it",
                        )
                    )
                continue
            if isinstance(value, dict):
                yield number, value
            else:
                problems.append(
                    ReadProblem(number, f"not a record but a JSON {_kind(value)}", "the line was left out")
                )


def _kind(value: object) -> str:
    if value is None:
        return "null"
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "array"}
    return names.get(type(value), type(value).__name__)


def head_objects(head: bytes, most: int = 20) -> list[dict[str, Any]]:
    """The JSON objects among the first complete lines of ``head``."""
    found: list[dict[str, Any]] = []
    for raw in head.removeprefix(b"\xef\xbb\xbf").split(b"\n")[:200]:
        try:
            value = parse(raw.decode("utf-8", "replace"))
        except ValueError:
            continue
        if isinstance(value, dict):
            found.append(value)
            if len(found) >= most:
                break
    return found


def epoch(value: object) -> float | None:
    """Seconds since 1970 (UTC) of an ISO 8601 text or a number of seconds or milliseconds; else None.

    A time without zone is taken as UTC. Numbers above 1e11 are milliseconds: in seconds they would lie after
    the year 5138. A time outside of the years 1 to 9998 is none.
    """
    seconds = _seconds(value)
    return seconds if seconds is not None and in_calendar(seconds) else None


def odd_time(value: object, line: int, what: str = "the time") -> ReadProblem | None:
    """The problem of a time that no calendar has; what is no time at all is none."""
    seconds = _seconds(value)
    if seconds is None or in_calendar(seconds):
        return None
    return ReadProblem(
        line, f"{what} lies outside of the years 1 to 9998: {str(value)[:40]}", "it was taken as unknown"
    )


def _seconds(value: object) -> float | None:
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return None
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not 0 < value < 1e14:
        return None
    return value / 1000 if value > 1e11 else float(value)
