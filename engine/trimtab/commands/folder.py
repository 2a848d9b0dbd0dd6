"""A session directory without its transcript: what ``undo`` and ``restore`` work on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..packs.pack import Pack
    from ..session import Session

NO_STAGES = "format: 1\nname: none\nversion: 0.0.0\nstages: []\n"


def open_folder(folder: str) -> Session:
    """The session kept in ``folder``. Raises JournalError where there is none, OSError."""
    from ..engine import Engine
    from ..journal import DiskJournal
    from ..records import RunRecord

    # Reading first: opening for writing would make a journal where there is none.
    with DiskJournal.read(folder) as journal:
        runs = [record for record in journal.records() if isinstance(record, RunRecord)]
    return Engine(pack_of(runs[-1].pack if runs else None)).open_session(folder)


def pack_of(label: str | None) -> Pack:
    """The last run's pack if it ships with the engine, else one without stages: taking back needs none."""
    from ..packs.load import check, check_text
    from ..packs.sources import shipped_packs

    name = (label or "").partition("@")[0]
    pack = check(name).pack if name in shipped_packs() else None
    if pack is None:
        pack = check_text(NO_STAGES).pack
    assert pack is not None
    return pack
