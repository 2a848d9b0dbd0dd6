"""Records are written and taken in, or neither, whenever an interrupt comes.

A journal on the disk knows whether an interrupted write has happened, so the session reads it anew. One in memory has
no digests to find the host's messages by: there the write has not happened, and the session is as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .conversation.edits import Commit
from .conversation.fold import Overlay, fold
from .conversation.view import View
from .journal import Conflict, JournalError, MemoryJournal
from .policy.history import History
from .records import Record, Undo
from .track import Saved
from .trial import Standing

if TYPE_CHECKING:
    from .session import Session


def record(session: Session, records: Sequence[Record]) -> None:
    """Write records and take them in. Raises Conflict, JournalError, OSError; then nothing is written."""
    count = len(session.journal.records())
    try:
        session.journal.append(records)
        for one in records:
            session.track.history.add(one)
        if any(isinstance(one, Commit | Undo) for one in records):
            _refold(session)
    except (Conflict, JournalError, OSError):
        raise
    except BaseException:
        session._mend(lambda: _unsure(session, count))
        raise


def as_before(session: Session, saved: Saved, count: int | None) -> None:
    """Be as before a run; with ``count``, the number of records then, it was interrupted while it was written."""
    session.track.restore(saved)
    session.staging.forget()
    if count is not None:
        _unsure(session, count)


def _unsure(session: Session, count: int) -> None:
    """A write behind ``count`` records was interrupted."""
    if not isinstance(session.journal, MemoryJournal):
        session._read()
        return
    session.journal.cut(count)
    session.track.history = History.of(session.journal.records())
    _refold(session)


def _refold(session: Session) -> None:
    track = session.track
    overlay = Overlay.of(track.history.live())
    track.standing = Standing(overlay, View(fold(track.base.items, overlay, track.builder)))
    session.staging.forget()
