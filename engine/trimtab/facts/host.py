"""Facts from the host: the clock, the last usage, an error, a manual request and named records."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeAlias

from ..conversation.items import structure
from ..conversation.request import Request, Usage
from ..tokens.figure import response_usage
from .shapes import (
    AgentRecord,
    FileRecord,
    Given,
    MemoryRecord,
    NamedRecord,
    PlanModeRecord,
    TextRecord,
    TodoRecord,
)

Record: TypeAlias = Mapping[str, Any]

Name: TypeAlias = int | str
"""What names a message: its serial, or the host's id (``Info.id``)."""
Named: TypeAlias = Name | tuple[Name, Name]
"""One message, or all from one to another."""

SECONDS_LIMIT = 1e11
"""Numbers from here on are milliseconds by mistake: as seconds they lie beyond the year 5000."""

CALENDAR = (-62_135_596_800.0, 253_370_764_799.0)
"""Seconds since 1970 of the first and the last second of the years 1 to 9998: a year is left in which every
time zone can still show a time."""

MAIN_FIELDS: Mapping[str, str] = {
    "user_messages": "text",
    "errors": "text",
    "images": "serial",
    "tool_names": "name",
    "mentions": "name",
    "date": "date",
    "queued_commands": "text",
    "changed_files": "path",
    "nested_memory": "path",
    "memory": "path",
    "files": "path",
    "skills": "name",
    "agents": "id",
    "agent_listing": "name",
    "deferred_tools": "name",
    "loaded_tools": "name",
    "mcp_instructions": "name",
    "todos": "items",
}
"""Main field of the facts that are always there or come from the host; ``text`` for every other one."""


@dataclass(frozen=True, slots=True)
class ApiError:
    """What the API answered: its text, HTTP status and error type, as far as the host has them."""

    message: str
    status: int | None = None
    type: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.message, str):
            raise TypeError(f"error.message is {type(self.message).__name__}; it must be str")
        _check("error.status", self.status, int)
        _check("error.type", self.type, str)


ASKERS = ("user", "model", "hook")
"""Who may have asked for a manual run."""


@dataclass(frozen=True, slots=True)
class ManualRequest:
    """A manual run: its name, who asked (``user``, ``model`` or ``hook``), instructions, and a place.

    ``messages``, ``from_`` and ``up_to`` name messages by serial (int) or by the host's id (str; digits that are
    none are a serial). A pair in ``messages`` names all from one message to the other, both included.
    """

    name: str = "compact"
    by: str = "user"
    instructions: str | None = None
    messages: tuple[Named, ...] = ()
    from_: Name | None = None
    up_to: Name | None = None

    def __post_init__(self) -> None:
        """Raises TypeError for a field of another type, ValueError where nobody can have asked."""
        for name in ("name", "by"):
            if not isinstance(getattr(self, name), str):
                raise TypeError(f"request.{name} is {type(getattr(self, name)).__name__}; it must be str")
        if self.by not in ASKERS:
            raise ValueError(f"request.by is {self.by!r}; it may be {', '.join(ASKERS)}")
        _check("request.instructions", self.instructions, str)
        _check("request.messages", self.messages, tuple, list)

    @classmethod
    def of(cls, raw: str | Mapping[str, Any]) -> ManualRequest:
        """From plain data; a string is the name, a list of two a pair. Raises ValueError for anything else."""
        if isinstance(raw, str):
            return cls(name=raw)
        values = {("from_" if key == "from" else key): value for key, value in raw.items()}
        unknown = sorted(set(values) - set(cls.__slots__))
        if unknown:
            raise ValueError(f"request: unknown key {unknown[0]!r}; known: {', '.join(cls.__slots__)}")
        values["messages"] = tuple(_named(one) for one in values.get("messages", ()))
        return cls(**values)


def _named(raw: Any) -> Named:
    if not isinstance(raw, list | tuple):
        return raw  # type: ignore[no-any-return]  # whatever it is, it names nothing if it is no name
    if len(raw) != 2:
        raise ValueError(f"request: messages: a range has two ends, not {len(raw)}: {raw!r}")
    return raw[0], raw[1]


TOLD = "told"
"""Field of a host's record: the id of the host's own message (``Info.id``) that tells it already."""


@dataclass(frozen=True, slots=True, init=False)
class Facts:
    """What the host knows at one run. None, or a name that is missing, means unknown: nothing is guessed.

    ``now`` is in seconds since 1970 (given as such, as a datetime or in ISO 8601); ``caller`` is the loop
    that sends the request; ``usage`` belongs to the last response; ``error`` is the API's refusal, or its
    class in the words of LANGUAGE §7. Every other keyword is a named fact: a record, a list of records,
    newest last, or plain values for their main field; names beyond those listed are facts a pack declares.

    A named fact may also be a **provider**, a function without arguments that returns such a value. It is
    asked when a stage first needs the fact, once for each ``Facts``, and never if none does; make new facts
    for each run. A provider that raises leaves its fact unknown, and ``failed`` says why.

    A record with ``told`` (an ``Info.id``) counts as told to the model for as long as the view shows that
    message unchanged; ``attach`` then repeats it only where an entry says ``repeat: always``.
    """

    now: float | None
    caller: str | None
    usage: Usage | None
    error: ApiError | str | None
    request: ManualRequest | None
    named: Mapping[str, Any]
    failed: dict[str, str] = field(compare=False)
    _asked: dict[str, Any] = field(compare=False, repr=False)

    def __init__(
        self,
        *,
        now: float | str | datetime | None = None,
        caller: str | None = None,
        usage: Usage | None = None,
        error: ApiError | str | None = None,
        request: ManualRequest | None = None,
        date: Given[str] = None,
        queued_commands: Given[TextRecord | str] = None,
        changed_files: Given[FileRecord | str] = None,
        nested_memory: Given[MemoryRecord] = None,
        memory: Given[MemoryRecord | str] = None,
        environment: Given[TextRecord | str] = None,
        context: Given[TextRecord | str] = None,
        git: Given[TextRecord | str] = None,
        goal: Given[TextRecord | str] = None,
        plan: Given[TextRecord | str] = None,
        plan_mode: Given[PlanModeRecord | bool] = None,
        todos: Given[TodoRecord] = None,
        skills: Given[NamedRecord] = None,
        agents: Given[AgentRecord] = None,
        agent_listing: Given[NamedRecord | str] = None,
        deferred_tools: Given[NamedRecord | str] = None,
        loaded_tools: Given[NamedRecord | str] = None,
        mcp_instructions: Given[NamedRecord] = None,
        hook_results: Given[NamedRecord | str] = None,
        files: Given[FileRecord | str] = None,
        transcript_path: Given[str] = None,
        **declared: Any,
    ) -> None:
        _check("caller", caller, str)
        _check("usage", usage, Usage)
        _check("error", error, ApiError, str)
        _check("request", request, ManualRequest)
        named: dict[str, Any] = {
            "date": date,
            "queued_commands": queued_commands,
            "changed_files": changed_files,
            "nested_memory": nested_memory,
            "memory": memory,
            "environment": environment,
            "context": context,
            "git": git,
            "goal": goal,
            "plan": plan,
            "plan_mode": plan_mode,
            "todos": todos,
            "skills": skills,
            "agents": agents,
            "agent_listing": agent_listing,
            "deferred_tools": deferred_tools,
            "loaded_tools": loaded_tools,
            "mcp_instructions": mcp_instructions,
            "hook_results": hook_results,
            "files": files,
            "transcript_path": transcript_path,
            **declared,
        }
        for name, value in named.items():
            if callable(value) and inspect.iscoroutinefunction(value):
                raise ValueError(
                    f"the provider of {name!r} is asynchronous; await it before the run and give its value"
                )
        put = object.__setattr__
        put(self, "now", None if now is None else moment(now))
        put(self, "caller", caller)
        put(self, "usage", usage)
        put(self, "error", error)
        put(self, "request", request)
        put(self, "named", {name: structure(value) for name, value in named.items() if value is not None})
        put(self, "failed", {})
        put(self, "_asked", {})

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Facts:
        """From plain data, as JSON or YAML has it. Raises ValueError where a value has no known form."""
        values = dict(raw)
        usage, error, request = (values.get(key) for key in ("usage", "error", "request"))
        if isinstance(usage, Mapping):
            values["usage"] = response_usage(usage)
        if isinstance(error, Mapping):
            known = {key: error[key] for key in ApiError.__slots__ if key in error}
            values["error"] = ApiError(**{"message": "", **known})
        if isinstance(request, str | Mapping):
            values["request"] = ManualRequest.of(request)
        return cls(**values)

    def but(self, **changes: Any) -> Facts:
        """The same facts with these in the place of their own."""
        own = {name: getattr(self, name) for name in ("now", "caller", "usage", "error", "request")}
        return Facts(**{**own, **self.named, **changes})

    def records(self, name: str, main: str | None = None) -> list[Record] | None:
        """The host's records of a named fact; None if the host does not have it.

        A plain value becomes the main field of a record; true is a record without fields, false none at all.
        """
        value = self._value(name)
        if value is None:
            return None
        main_field = main or MAIN_FIELDS.get(name, "text")
        values = value if isinstance(value, list | tuple) else [value]
        if name == "todos" and not any(isinstance(one, Mapping) and "items" in one for one in values):
            return [{"items": list(values)}] if values else []
        return [_record(one, main_field) for one in values if one is not None and one is not False]

    def _value(self, name: str) -> Any:
        """What was given under a name, a provider asked; None: unknown."""
        given = self.named.get(name)
        if not callable(given):
            return given
        if name not in self._asked:
            value: Any = None
            try:
                value = given()
            except Exception as problem:
                # The host's own code, so anything may come; a reminder that cannot be made costs no run.
                self.failed[name] = f"{type(problem).__name__}: {problem}".rstrip(": ")
            if inspect.isawaitable(value):
                if inspect.iscoroutine(value):
                    value.close()
                value = None
                self.failed[name] = "it returned an awaitable; await it before the run and give its value"
            self._asked[name] = structure(value)
        return self._asked[name]


def _check(name: str, value: object, *kinds: type) -> None:
    """Raises TypeError where a host gives something else than it should, before any run relies on it."""
    if value is not None and (not isinstance(value, kinds) or isinstance(value, bool)):
        wanted = " or ".join(kind.__name__ for kind in kinds)
        raise TypeError(f"{name} is {type(value).__name__}; it must be {wanted} (Facts.of takes plain data)")


def checked(request: object, facts: object) -> Facts:
    """The facts of a run, none where the host gives none. Raises ValueError where either is something else."""
    if not isinstance(request, Request):
        raise ValueError(
            f"a request is a trimtab.Request, not {type(request).__name__}: Request(model=…, messages=[…])"
        )
    if facts is not None and not isinstance(facts, Facts):
        raise ValueError(
            f"facts are trimtab.Facts, not {type(facts).__name__}: Facts(now=…), or Facts.of(…) for plain data"
        )
    return Facts() if facts is None else facts


def _record(value: Any, main_field: str) -> Record:
    if isinstance(value, Mapping):
        return value
    return {} if value is True else {main_field: value}


def moment(value: float | str | datetime) -> float:
    """Seconds since 1970 of a number of seconds, a datetime or an ISO 8601 text; without a zone it is UTC.

    Raises ValueError for anything else, milliseconds included, and outside of the years 1 to 9998.
    """
    hint = "write 2030-01-31T12:00:00Z or seconds since 1970"
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            raise ValueError(f"not a time: {value!r}; {hint}") from None
    if isinstance(value, datetime):
        seconds = (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    elif isinstance(value, bool) or not isinstance(value, int | float) or not -math.inf < value < math.inf:
        raise ValueError(f"not a time: {value!r}; {hint}")
    elif value >= SECONDS_LIMIT:
        raise ValueError(f"not a time in seconds: {value!r}; divide milliseconds by 1000")
    else:
        seconds = value
    if not in_calendar(seconds):
        raise ValueError(f"{value!s} lies outside of the years 1 to 9998; {hint}")
    return float(seconds)


def in_calendar(seconds: float) -> bool:
    """Whether a time in seconds since 1970 can be shown as a date in every time zone (years 1 to 9998)."""
    return CALENDAR[0] <= seconds <= CALENDAR[1]
