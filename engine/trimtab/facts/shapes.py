"""Shapes of the records a host may give, by fact; a template or a ``where`` may read any further field."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypedDict, TypeVar

T = TypeVar("T")

Given: TypeAlias = T | Mapping[str, Any] | Sequence[T | Mapping[str, Any]] | Callable[[], Any] | None
"""A record, records (newest last), or a provider of them; None: the host does not know."""


class Record(TypedDict, total=False):
    """``told``: id (``Info.id``) of the host's own message that tells this record already."""

    told: str


class TextRecord(Record, total=False):
    """A text; ``path`` where it is a file's."""

    text: str
    path: str


class NamedRecord(Record, total=False):
    """A tool, an agent type, a server, a skill or a hook; ``text`` is its body or instructions."""

    name: str
    description: str
    text: str


class MemoryRecord(Record, total=False):
    """A memory file: its path and what it says."""

    path: str
    text: str


class FileRecord(Record, total=False):
    """A file that was read, edited or changed; ``offset`` and ``limit`` in lines; ``diff`` if the host has it."""

    path: str
    offset: int
    limit: int
    read: bool
    edited: bool
    workspace: bool
    binary: bool
    missing: bool
    memory: bool
    plan: bool
    diff: str


class PlanModeRecord(Record, total=False):
    """Plan mode is on; ``mode`` is ``full`` or ``sparse`` (a reminder), ``path`` the plan's file."""

    mode: str
    path: str
    text: str


class TodoRecord(Record, total=False):
    """The task list: ``items`` with ``content`` and ``status`` (``pending in_progress completed``)."""

    items: Sequence[Mapping[str, Any]]


class AgentRecord(Record, total=False):
    """A background agent; ``status`` is ``running``, ``finished-unread`` or ``finished``."""

    id: str
    description: str
    status: str
    output_path: str
