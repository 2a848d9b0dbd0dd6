"""What a host hands over: a request, and what is known of each of its messages."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Message = Mapping[str, Any]
"""One message in Anthropic's shape: ``{"role": …, "content": str | list of blocks}``."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts the API reported for one response.

    ``input`` excludes what came from or went to the prompt cache; ``prompt`` is the whole input side.
    ``output`` is None where the record is not final (clients that log the start of a stream).
    ``cache_write_hour`` is the part of ``cache_write`` that is kept for an hour, which costs more. Raises TypeError
    where a count is no int.
    """

    input: int
    cache_read: int = 0
    cache_write: int = 0
    output: int | None = None
    model: str | None = None
    cache_write_hour: int = 0

    def __post_init__(self) -> None:
        for name in ("input", "cache_read", "cache_write", "output", "cache_write_hour"):
            value = getattr(self, name)
            if type(value) is not int and not (name == "output" and value is None):
                raise TypeError(f"usage.{name} is {type(value).__name__}; it must be int: a number of tokens")

    @property
    def prompt(self) -> int:
        """Tokens of the request: input + cache read + cache write."""
        return self.input + self.cache_read + self.cache_write

    @classmethod
    def of(cls, raw: Mapping[str, Any], model: str | None = None, final: bool = True) -> Usage:
        """Read the API's own ``usage`` object; a count that is none is 0, a ``model`` that is no text is None."""

        def number(key: str) -> int:
            value = raw.get(key)
            return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0

        return cls(
            input=number("input_tokens"),
            cache_read=number("cache_read_input_tokens"),
            cache_write=number("cache_creation_input_tokens"),
            output=number("output_tokens") if final else None,
            model=model if isinstance(model, str) else None,
            cache_write_hour=_hour(raw.get("cache_creation")),
        )


def _hour(raw: Any) -> int:
    value = raw.get("ephemeral_1h_input_tokens") if isinstance(raw, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


ORIGINS = (
    "user",
    "command",
    "assistant",
    "tool",
    "summary",
    "note",
    "attachment",
    "reminder",
    "context",
    "example",
)
"""Where a message comes from (LANGUAGE §8). ``user`` and ``command`` are the genuine user messages."""

PLAIN = (str, list, tuple, type(None), Mapping, int, float)
"""What JSON can hold: a content of these types is read as it is, right or wrong. Any other would be lost."""
SOME_TIME = 1e15
"""Seconds; no time lies farther from 1970, and what does is no number to reckon with."""
GENUINE = frozenset({"user", "command"})


@dataclass(frozen=True, slots=True)
class Info:
    """What the host knows of one message: its id, time (seconds since 1970, UTC), origin, pin, usage, source.

    ``usage`` belongs to an assistant message and measures the request that message answered. Raises TypeError for
    a field of another type, ValueError for an origin that is none.
    """

    id: str | None = None
    at: float | None = None
    origin: str | None = None
    pinned: bool = False
    usage: Usage | None = None
    source: Any = None

    def __post_init__(self) -> None:
        if self.id is not None and not isinstance(self.id, str):
            raise TypeError(f"info.id is {type(self.id).__name__}; it must be str")
        if self.at is not None and type(self.at) not in (int, float):
            raise TypeError(f"info.at is {type(self.at).__name__}; it must be a number: seconds since 1970")
        if self.at is not None and not abs(self.at) < SOME_TIME:
            raise ValueError(f"info.at is {str(self.at)[:20]}; it must be seconds since 1970")
        if self.usage is not None and not isinstance(self.usage, Usage):
            raise TypeError(
                f"info.usage is {type(self.usage).__name__}; it must be Usage (Usage.of takes the API's)"
            )
        if self.origin is not None and self.origin not in ORIGINS:
            raise ValueError(f"info.origin is {self.origin!r}; it may be {', '.join(ORIGINS)}")


@dataclass(frozen=True, slots=True)
class Request:
    """A request as the API takes it; ``info`` runs beside ``messages`` (shorter or empty: nothing known).

    ``extra`` holds every other field of the request (``max_tokens``, ``thinking``, …), passed through as it is.
    """

    model: str
    messages: Sequence[Message]
    system: str | Sequence[Message] | None = None
    tools: Sequence[Mapping[str, Any]] | None = None
    format: str = "anthropic"
    info: Sequence[Info | None] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


def check_types(request: Request, checked: int = 0) -> None:
    """Raises ValueError in words, with the index, where a request is not made of what it must be made of.

    Values inside a message are the validity rules' matter: those are reported, and nothing is lost. The first
    ``checked`` messages have been looked at before.
    """
    if not isinstance(request.model, str):
        raise ValueError(f"'model' must be the name of a model, not {type(request.model).__name__}")
    if not isinstance(request.extra, Mapping):
        raise ValueError(f"'extra' must be a mapping of fields, not {type(request.extra).__name__}")
    _check_each("messages", request.messages, Mapping, "a message (a mapping with role and content)", checked)
    for index, message in enumerate(request.messages[checked:], checked):
        content = message.get("content")
        if type(content) is not str and type(content) is not list and not isinstance(content, PLAIN):
            wanted = "its content must be a text or a list of blocks"
            raise ValueError(f"messages[{index}]: {wanted}, not {type(content).__name__}")
    _check_each("info", request.info, (Info, type(None)), "an Info or None")


def _check_each(
    name: str, values: object, kinds: type | tuple[type, ...], wanted: str, checked: int = 0
) -> None:
    if not isinstance(values, Sequence) or isinstance(values, str | bytes | deque):
        raise ValueError(f"'{name}' must be a list, not {type(values).__name__}")
    # Types are few where values are many: a long conversation costs no more than a look at each type.
    odd = tuple([kind for kind in set(map(type, values[checked:])) if not issubclass(kind, kinds)])
    if odd:
        index = next(index for index, value in enumerate(values) if isinstance(value, odd))
        raise ValueError(f"{name}[{index}] must be {wanted}, not {type(values[index]).__name__}")
