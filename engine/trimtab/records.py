"""The records of a journal and their JSON (schema: ``journal.schema.json``); no file is touched here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from .conversation.edits import Commit, Edit, Insert, Mark, New, Rewrite, Splice, Spot
from .conversation.request import Usage
from .facts.host import moment
from .facts.kept import kept_facts

FORMAT = 1
"""Version of the journal's meaning; it changes only when fold's does."""
MOST_SERIALS = 10_000_000
"""More serials in one list than this are a damaged record, not a conversation."""


class JournalError(ValueError):
    """A journal that cannot be read or written: ``path``, ``line`` (from 1) and a ``hint`` where there are
    some.
    """

    def __init__(
        self, message: str, *, path: Path | None = None, line: int | None = None, hint: str | None = None
    ) -> None:
        self.message, self.path, self.line, self.hint = message, path, line, hint
        place = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(place + message + (f" ({hint})" if hint else ""))


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run: which messages the host handed over, and what was sent.

    ``keep`` is the number of messages shared with the last path (None: all of it), ``add`` the serials
    behind them, ``digests`` one text for each of these that is new, ``blocks`` their numbers of blocks.
    ``at`` is an ISO 8601 time, ``head`` the digest of system and tools, ``pack`` is ``name@version``;
    ``estimate`` and ``overflow`` (what the API refused) are in tokens. ``meter`` is the factor learned from
    usage so far: growth of usage and of estimate, then the last reading, if any (usage, estimate, epoch,
    model). ``ceilings`` are triggers and sizes from which the run brought the view down: they hold until the
    next message comes. ``answered`` is the path length of the request that ``usage`` measured. ``marks`` are
    digest and block of messages that the request carried a cache mark of ours on, and none before did.
    """

    n: int
    event: str
    at: str | None = None
    keep: int | None = None
    add: tuple[int, ...] = ()
    digests: tuple[str, ...] = ()
    blocks: tuple[int, ...] = ()
    head: str | None = None
    model: str | None = None
    pack: str | None = None
    sent: bool = False
    estimate: float | None = None
    usage: Usage | None = None
    overflow: float | None = None
    meter: tuple[Any, ...] | None = None
    ceilings: tuple[tuple[float, float], ...] = ()
    answered: int | None = None
    marks: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Undo:
    """Commit ``id`` is left out from here on; ``results`` as in a commit."""

    id: str
    results: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fail:
    """A stage's outcome that its breaker counts; ``reason`` as in its receipt."""

    stage: str
    run: int
    reason: str


@dataclass(frozen=True, slots=True)
class Note:
    """A ``notes`` stage has written: ``upto`` is the last serial it read, ``store`` the file with its
    text.

    ``run`` is the run whose view it read (0: unknown). With ``covers`` the text is about one span alone: the
    run of path serials it may stand for.
    """

    stage: str
    upto: int
    store: str
    run: int = 0
    covers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Kept:
    """Judged by a ``once`` stage and left as they are: whole messages by serial, single blocks by spot."""

    stage: str
    serials: tuple[int, ...] = ()
    spots: tuple[Spot, ...] = ()


@dataclass(frozen=True, slots=True)
class Header:
    """Stands first, and again where a newer engine goes on with the file."""

    format: int
    engine: str


Record: TypeAlias = RunRecord | Commit | Undo | Fail | Note | Kept


def ranges(serials: Iterable[int]) -> list[list[int]]:
    """Runs of neighbouring serials as ``[first, last]``, in the given order."""
    found: list[list[int]] = []
    for serial in serials:
        if found and serial == found[-1][1] + 1:
            found[-1][1] = serial
        else:
            found.append([serial, serial])
    return found


def encode(record: Record | Header) -> dict[str, Any]:
    """The record's JSON object; fields that hold their default are left out.

    Two lone surrogates that stand side by side as a pair come back from JSON as the one character they spell.
    """
    out: dict[str, Any]
    if isinstance(record, RunRecord):
        out = {"t": "run", "n": record.n, "event": record.event, "at": record.at, "keep": record.keep}
        out["add"] = ranges(record.add) or None
        out["d"] = list(record.digests) or None
        out["blocks"] = list(record.blocks) or None
        out |= {"head": record.head, "model": record.model, "pack": record.pack, "sent": record.sent or None}
        out |= {"estimate": record.estimate, "usage": _usage(record.usage), "overflow": record.overflow}
        out["meter"] = None if record.meter is None else list(record.meter)
        out["answered"] = record.answered
        out["ceilings"] = [list(pair) for pair in record.ceilings] or None
        out["marks"] = [list(pair) for pair in record.marks] or None
        return {key: value for key, value in out.items() if value is not None}
    if isinstance(record, Commit):
        out = {"t": "commit", "id": record.id, "run": record.run, "stage": record.stage}
        out["edits"] = [_edit(edit) for edit in record.edits]
        if record.repairs:
            out["repairs"] = [_edit(edit) for edit in record.repairs]
        if record.results:
            out["results"] = {str(serial): digest for serial, digest in record.results.items()}
        if record.stored:
            out["stored"] = [[spot.serial, spot.block, name] for spot, name in record.stored.items()]
        if record.facts:
            out["facts"] = record.facts
        return out
    if isinstance(record, Undo):
        out = {"t": "undo", "id": record.id}
        if record.results:
            out["results"] = {str(serial): digest for serial, digest in record.results.items()}
        return out
    if isinstance(record, Fail):
        return {"t": "fail", "stage": record.stage, "run": record.run, "reason": record.reason}
    if isinstance(record, Note):
        out = {"t": "note", "stage": record.stage, "upto": record.upto, "store": record.store}
        if record.run:
            out["run"] = record.run
        if record.covers:
            out["covers"] = ranges(record.covers)
        return out
    if isinstance(record, Kept):
        out = {"t": "kept", "stage": record.stage}
        if record.serials:
            out["serials"] = ranges(record.serials)
        if record.spots:
            out["spots"] = [list(spot) for spot in record.spots]
        return out
    return {"t": "journal", "format": record.format, "engine": record.engine}


def decode(raw: Any, engine: str = "") -> Record | Header:
    """The record of a JSON object; unknown fields are ignored.

    ``engine`` is the version that wrote it, for the message about a type this engine does not know. Raises
    JournalError.
    """
    if not isinstance(raw, dict) or not isinstance(raw.get("t"), str):
        raise JournalError('this is no journal record: an object with a text "t" is expected')
    read = _READERS.get(raw["t"])
    if read is None:
        newer = f"engine {engine} or newer is needed" if engine else "a newer engine is needed"
        raise JournalError(f"unknown record type {raw['t']!r}: {newer}", hint="update trimtab")
    try:
        return read(raw)
    except JournalError:
        raise
    except KeyError as problem:
        raise JournalError(f"the {raw['t']} record has no field {problem}") from None
    except (TypeError, ValueError, AttributeError, OverflowError) as problem:
        raise JournalError(f"the {raw['t']} record is damaged: {problem}") from None


def _time(raw: Mapping[str, Any]) -> str | None:
    """The time of a run, which must be one. Raises ValueError."""
    at = _may(raw, "at", str)
    if at is not None:
        moment(at)
    return None if at is None else str(at)


def _usage(usage: Usage | None) -> dict[str, Any] | None:
    if usage is None:
        return None
    out = {"input": usage.input, "cache_read": usage.cache_read, "cache_write": usage.cache_write}
    rest = {"output": usage.output, "model": usage.model}
    return out | {key: value for key, value in rest.items() if value is not None}


def _edit(edit: Edit) -> dict[str, Any]:
    if isinstance(edit, Rewrite):
        change = edit.set.value if isinstance(edit.set, Mark) else edit.set
        return {"op": "rewrite", "spots": [list(spot) for spot in edit.spots], "set": change}
    items = [[new.serial, new.message, new.origin] for new in edit.items]
    if isinstance(edit, Splice):
        return {"op": "splice", "covers": ranges(edit.covers), "items": items}
    return {"op": "insert", "after": edit.after, "items": items}


def _is(value: Any, kind: type[Any], name: str) -> Any:
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
        raise ValueError(f"{name} is {str(value)[:40]!r}")
    return value


def _may(raw: Mapping[str, Any], key: str, kind: type[Any]) -> Any:
    value = raw.get(key)
    return None if value is None else _is(value, kind, key)


def _number(raw: Mapping[str, Any], key: str) -> float | None:
    value = raw.get(key)
    return None if value is None else _float(value, key)


def _serials(raw: Any) -> tuple[int, ...]:
    found: list[int] = []
    for first, last in raw:
        if not _is(first, int, "a serial") <= _is(last, int, "a serial") < first + MOST_SERIALS - len(found):
            raise ValueError(f"[{first}, {last}] is no range of serials")
        found.extend(range(first, last + 1))
    return tuple(found)


def _spots(raw: Any) -> tuple[Spot, ...]:
    return tuple(Spot(_is(serial, int, "a serial"), _is(block, int, "a block")) for serial, block in raw)


def _items(raw: Any) -> tuple[New, ...]:
    return tuple(
        New(_is(serial, int, "a serial"), _is(message, dict, "a message"), _is(origin, str, "an origin"))
        for serial, message, origin in raw
    )


def _results(raw: Mapping[str, Any]) -> dict[int, str]:
    return {int(serial): _is(digest, str, "a digest") for serial, digest in raw.get("results", {}).items()}


def _stored(raw: Any) -> dict[Spot, str]:
    return {
        Spot(_is(serial, int, "a serial"), _is(block, int, "a block")): _is(name, str, "a name")
        for serial, block, name in raw
    }


def _read_edit(raw: Any) -> Edit:
    op = raw["op"]
    if op == "rewrite":
        change = raw["set"]
        change = Mark(change) if isinstance(change, str) else _is(change, dict, "set")
        return Rewrite(_spots(raw["spots"]), change)
    if op == "splice":
        covers = _serials(raw["covers"])
        if not covers:
            raise ValueError("a splice covers no message")
        return Splice(covers, _items(raw["items"]))
    if op == "insert":
        return Insert(_is(raw["after"], int, "after"), _items(raw["items"]))
    raise ValueError(f"op is {op!r}")


def _read_usage(raw: Any) -> Usage | None:
    if raw is None:
        return None
    return Usage(
        input=_is(raw["input"], int, "input"),
        cache_read=_is(raw.get("cache_read", 0), int, "cache_read"),
        cache_write=_is(raw.get("cache_write", 0), int, "cache_write"),
        output=_may(raw, "output", int),
        model=_may(raw, "model", str),
    )


def _read_run(raw: Mapping[str, Any]) -> RunRecord:
    return RunRecord(
        n=_is(raw["n"], int, "n"),
        event=_is(raw["event"], str, "event"),
        at=_time(raw),
        keep=_may(raw, "keep", int),
        add=_serials(raw.get("add", ())),
        digests=tuple([_is(digest, str, "a digest") for digest in raw.get("d", ())]),
        blocks=tuple([_is(number, int, "blocks") for number in raw.get("blocks", ())]),
        head=_may(raw, "head", str),
        model=_may(raw, "model", str),
        pack=_may(raw, "pack", str),
        sent=_may(raw, "sent", bool) or False,
        estimate=_number(raw, "estimate"),
        usage=_read_usage(raw.get("usage")),
        overflow=_number(raw, "overflow"),
        meter=_meter(raw.get("meter")),
        answered=_may(raw, "answered", int),
        ceilings=tuple([(_float(limit), _float(before)) for limit, before in raw.get("ceilings", ())]),
        marks=tuple([(_is(d, str, "a digest"), _is(b, int, "a block")) for d, b in raw.get("marks", ())]),
    )


def _float(value: Any, name: str = "a number") -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} is {str(value)[:40]!r}")
    return float(value)


def _meter(raw: Any) -> tuple[Any, ...] | None:
    if raw is None:
        return None
    if not isinstance(raw, list) or len(raw) not in (2, 6):
        raise ValueError("meter holds two or six values")
    for number in raw[:5]:
        _float(number, "a number of the meter")
    return tuple(raw)


def _read_commit(raw: Mapping[str, Any]) -> Commit:
    return Commit(
        id=_is(raw["id"], str, "id"),
        stage=_is(raw["stage"], str, "stage"),
        run=_is(raw["run"], int, "run"),
        edits=tuple([_read_edit(edit) for edit in raw["edits"]]),
        repairs=tuple([_read_edit(edit) for edit in raw.get("repairs", ())]),
        results=_results(raw),
        stored=_stored(raw.get("stored", ())),
        facts=kept_facts(raw.get("facts", {})),
    )


def _read_header(raw: Mapping[str, Any]) -> Header:
    header = Header(_is(raw["format"], int, "format"), _is(raw["engine"], str, "engine"))
    if header.format < 1:
        raise JournalError(f"there is no format {header.format} of journals")
    if header.format > FORMAT:
        raise JournalError(
            f"the journal has format {header.format}, this engine reads up to {FORMAT}",
            hint=f"engine {header.engine} wrote it; use that or a newer one",
        )
    return header


_READERS: Mapping[str, Callable[[Mapping[str, Any]], Record | Header]] = {
    "journal": _read_header,
    "run": _read_run,
    "commit": _read_commit,
    "undo": lambda raw: Undo(_is(raw["id"], str, "id"), _results(raw)),
    "fail": lambda raw: Fail(
        _is(raw["stage"], str, "stage"), _is(raw["run"], int, "run"), _is(raw["reason"], str, "reason")
    ),
    "note": lambda raw: Note(
        _is(raw["stage"], str, "stage"),
        _is(raw["upto"], int, "upto"),
        _is(raw["store"], str, "store"),
        _is(raw.get("run", 0), int, "run"),
        _serials(raw.get("covers", ())),
    ),
    "kept": lambda raw: Kept(
        _is(raw["stage"], str, "stage"), _serials(raw.get("serials", ())), _spots(raw.get("spots", ()))
    ),
}
