"""The records of a journal, one line each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..conversation.edits import Commit, Insert, Mark, Rewrite, Splice, Spot
from ..mending import CLOSE, INPUT
from ..policy.history import RESTORE
from ..records import Fail, Kept, Note, Record, RunRecord, Undo
from .words import number, plural, safe


def lines(records: Sequence[Record]) -> Iterator[str]:
    """A line a record; commits that were undone are marked."""
    undone = {record.id for record in records if isinstance(record, Undo)}
    for record in records:
        yield _line(record, undone)


def _line(record: Record, undone: set[str]) -> str:
    if isinstance(record, RunRecord):
        return _run(record)
    if isinstance(record, Commit):
        return f"  {commit_line(record)}" + (" [undone]" if record.id in undone else "")
    if isinstance(record, Undo):
        return f"undo {record.id}"
    if isinstance(record, Fail):
        return f"  {record.stage} failed: {safe(record.reason)}"
    if isinstance(record, Note):
        return f"  {record.stage} wrote notes up to message {record.upto}: {record.store}"
    assert isinstance(record, Kept)
    count = len(record.serials) + len(record.spots)
    return f"  {record.stage} judged {plural(count, 'message')}: final"


def _run(run: RunRecord) -> str:
    parts = [f"run {run.n}", run.event, safe(run.pack or ""), safe(run.model or ""), run.at or ""]
    if run.keep is not None:
        parts.append(f"{run.keep:,} messages kept")
    if run.add:
        parts.append(f"{plural(len(run.add), 'new message')}")
    if run.estimate is not None:
        parts.append(f"{number(round(run.estimate))} tokens by estimate")
    if run.overflow is not None:
        parts.append(f"refused at {number(round(run.overflow))} tokens")
    parts.append("sent" if run.sent else "not sent")
    return " · ".join(part for part in parts if part)


def commit_line(commit: Commit) -> str:
    """Id, stage and what the commit changed."""
    changed: set[Spot] = set()
    removed: set[Spot] = set()
    original: set[Spot] = set()
    covered = brought = 0
    for edit in commit.all_edits:
        if isinstance(edit, Rewrite):
            group = changed
            if isinstance(edit.set, Mark):
                group = removed if edit.set is Mark.REMOVE else original
            group.update(edit.spots)
        elif isinstance(edit, Splice):
            covered += len(edit.covers)
            brought += len(edit.items)
        elif isinstance(edit, Insert):
            brought += len(edit.items)
    parts = [
        f"{plural(len(spots), 'block')} {word}"
        for spots, word in ((changed, "rewritten"), (removed, "removed"), (original, "restored"))
        if spots
    ]
    if covered:
        parts.append(f"{plural(covered, 'message')} replaced by {brought}")
    elif brought:
        parts.append(f"{plural(brought, 'message')} added")
    if commit.stored:
        parts.append(f"{len(commit.stored)} stored")
    return f"{commit.id} {commit.stage}: {', '.join(parts) or 'nothing'}"


def undo_words(commit: Commit) -> str:
    """What holds once the commit is undone, in a sentence."""
    if commit.stage == RESTORE:
        return "what it had brought back is shown as the stages leave it, and they may touch it again"
    if commit.stage in (INPUT, CLOSE):
        return "the next run checks the request, and mends it again where it is not valid"
    if all(isinstance(edit, Insert) for edit in commit.edits):
        return f"the next run does not show what it had added; {commit.stage} may add it again when it is due"
    return (
        "the next run shows the originals again where no other commit stands in their place; "
        f"{commit.stage} will not touch them unless the API refuses the request as too long, other stages may"
    )
