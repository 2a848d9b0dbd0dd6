"""Taking back: leave a commit out, or bring originals of single blocks back. Both are records; nothing goes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from .conversation.digest import digest
from .conversation.edits import Commit, Edit, Mark, Rewrite, Splice, Spot
from .conversation.fold import Overlay, fold
from .conversation.view import View
from .effects import Core, EffectFailed, drive, get
from .policy.history import RESTORE
from .policy.relations import serial_of
from .recording import record
from .records import Record, Undo
from .retrying import at_once, lasting

if TYPE_CHECKING:
    from .session import Session

Made: TypeAlias = tuple[Commit, Sequence[Record]]
"""The commit a call is about, and what is to be written."""


def undone(session: Session, commit_id: str, with_later: bool) -> Commit:
    """Record the undo of a commit, or also of what is on top of it.

    Raises LookupError if none is in force, OSError, Conflict.
    """

    def make() -> Made:
        commit = _known(session, commit_id)
        ids = [one.id for one in reversed(later(session, commit_id))] if with_later else []
        if commit_id not in session.track.history.undone:
            ids.append(commit_id)
        if not ids:
            raise LookupError(f"commit {commit_id} is undone already")
        return commit, [Undo(one) for one in ids]

    return _recorded(session, lambda: at_once(make))


def later(session: Session, commit_id: str) -> tuple[Commit, ...]:
    """The commits in force that its run made on top of this one, oldest first. Raises LookupError if there is none."""
    history = session.track.history
    commit = _known(session, commit_id)
    if commit.stage == RESTORE:
        return ()
    behind = history.commits[history.commits.index(commit) + 1 :]
    return tuple(
        one
        for one in behind
        if one.run == commit.run and one.stage != RESTORE and one.id not in history.undone
    )


def _recorded(session: Session, make: Callable[[], Core[Made]]) -> Commit:
    """Write what ``make`` makes of the session as it is, read anew as often as somebody else has written."""
    return drive(lasting(session, lambda: _written(session, make())), session._answer)


def _written(session: Session, making: Core[Made]) -> Core[Commit]:
    commit, records = yield from making
    record(session, records)
    return commit


def _known(session: Session, commit_id: str) -> Commit:
    history = session.track.history
    found = next((commit for commit in history.commits if commit.id == commit_id), None)
    if found is None:
        known = ", ".join(commit.id for commit in history.commits[-8:]) or "none"
        raise LookupError(f"no commit {commit_id!r}; the newest are {known}")
    return found


def restored(session: Session, wanted: Sequence[Spot | tuple[int, int] | str]) -> Commit:
    """Commit ``ORIGINAL`` for these spots. Raises LookupError where there is nothing to restore, OSError, Conflict."""
    spots = list(dict.fromkeys(spot for one in wanted for spot in spots_of(session, one)))
    if not spots:
        raise LookupError("no spot is named")
    # What the host no longer has is known from its list, which a session read anew does not have.
    baked = dict(session.track.builder.baked)

    def make() -> Core[Made]:
        edits = yield from _originals(session, spots, baked)
        history = session.track.history
        commit = Commit(history.next_commit(), RESTORE, history.next_run(), edits)
        if session.journal.path is not None:
            commit = replace(commit, results=_results(session, commit))
        return commit, [commit]

    return _recorded(session, make)


def _originals(session: Session, spots: Sequence[Spot], baked: Mapping[int, int]) -> Core[tuple[Edit, ...]]:
    """Edits that bring these spots back; of several stored texts the first is the original."""
    history = session.track.history
    # The newest commit in force that has changed each spot.
    changed = {
        spot: commit
        for commit in history.live()
        for edit in commit.all_edits
        if isinstance(edit, Rewrite)
        for spot in edit.spots
    }
    stored: dict[Spot, str] = {}
    for commit in history.live():
        for spot, name in commit.stored.items():
            stored.setdefault(spot, name)
    edits: list[Edit] = []
    for spot in spots:
        if spot not in changed or _covered(session, spot) is not None:
            raise LookupError(_nothing(session, spot))
        if changed[spot].stage == RESTORE:
            by = changed[spot].id
            raise LookupError(f"{spot.serial}:{spot.block} is restored already, by commit {by}")
        edits.append(Rewrite((spot,), Mark.ORIGINAL))
        if baked.get(spot.serial):
            text = (yield from _stored(stored[spot])) if spot in stored else None
            if text is None:
                raise LookupError(
                    f"the original of {spot.serial}:{spot.block} is gone: the host no longer has it"
                )
            edits.append(Rewrite((spot,), _original(session, spot, text)))
    return tuple(edits)


def _stored(name: str) -> Core[str | None]:
    """Text of a stored file, or None. Raises what the store raises: here it fails no stage, but the host's call."""
    try:
        return (yield from get(name))
    except EffectFailed as failed:
        raise failed.problem from None


def spots_of(session: Session, wanted: Spot | tuple[int, int] | str) -> Iterable[Spot]:
    """A spot as it is, ``17:0`` as text, or every result of a tool call by its id. Raises LookupError, TypeError."""
    if not isinstance(wanted, str):
        if isinstance(wanted, tuple | list) and len(wanted) == 2 and all(type(one) is int for one in wanted):
            return [Spot(*wanted)]
        raise TypeError(
            f"{wanted!r:.60} is no spot; give (17, 0), '17:0' or the id of a tool call, or a list of these"
        )
    serial, block = map(serial_of, wanted.partition(":")[::2])
    if serial is not None and block is not None:
        return [Spot(serial, block)]
    base = session.track.base
    found = [base.spot(*call.result) for call in base.calls if call.id == wanted and call.result is not None]
    if not found:
        found = [
            spot
            for commit in session.track.history.live()
            for spot, name in commit.stored.items()
            if name.rpartition("/")[2].startswith(f"{wanted}-")
        ]
    if not found:
        raise LookupError(f"{wanted!r} is neither a spot (17:0) nor the id of a tool call of this session")
    return found[-1:]


def _original(session: Session, spot: Spot, text: str) -> dict[str, Any]:
    """The fields a stored original sets: words, or JSON where the block was more than words."""
    fields: set[str] = set()
    for commit in session.track.history.live():
        for edit in commit.edits:
            if isinstance(edit, Rewrite) and spot in edit.spots and isinstance(edit.set, Mapping):
                fields |= edit.set.keys()
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    if "type" in fields and isinstance(value, dict):
        return {"text": None, **value}
    if "input" in fields and isinstance(value, dict):
        return {"input": value}
    if "content" in fields:
        parts = (
            isinstance(value, list)
            and value
            and all(isinstance(one, dict) and "type" in one for one in value)
        )
        return {"content": value if parts else text}
    return {"text": text}


def _nothing(session: Session, spot: Spot) -> str:
    commit = _covered(session, spot)
    if commit is not None:
        return (
            f"{spot.serial}:{spot.block} is part of what commit {commit.id} replaced; undo that commit first"
        )
    return f"nothing has changed {spot.serial}:{spot.block}"


def _covered(session: Session, spot: Spot) -> Commit | None:
    """The newest commit in force that stands something else in the message's place."""
    for commit in reversed(session.track.history.live()):
        for edit in commit.edits:
            if isinstance(edit, Splice) and spot.serial in edit.covers:
                return commit
    return None


def _results(session: Session, commit: Commit) -> dict[int, str]:
    """Digests of the messages the commit changes, as they will show; only the journal's own where no host is there."""
    track = session.track
    serials = sorted(
        {spot.serial for edit in commit.edits if isinstance(edit, Rewrite) for spot in edit.spots}
    )
    if not track.base.items:
        return {serial: track.lineage.known_digest(serial) for serial in serials}
    overlay = Overlay.of([*track.history.live(), commit])
    view = View(fold(track.base.items, overlay, track.builder))
    shown: dict[int, Any] = {item.serial: item for item in view.items}
    return {s: digest(shown[s].message) for s in serials if s in shown}
