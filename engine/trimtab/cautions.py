"""What a host should know before the first stage runs: an assumed window, another conversation, an unstable message."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from .packs.names import HOST_FACTS
from .packs.problems import did_you_mean
from .policy.history import History
from .receipt import Trouble
from .staging import Staged
from .track import Seen

_KEYWORDS = frozenset({"now", "caller", "usage", "error", "request", "transcript_path"})


def cautions(
    staged: Staged, seen: Seen, history: History, declared: Collection[str] = ()
) -> Iterator[Trouble]:
    """The problems of what was observed; none of them stops the run. ``declared``: the pack's own facts."""
    known = HOST_FACTS | _KEYWORDS | set(declared)
    for name in staged.facts.named:
        hint = None if name in known else did_you_mean(name, known)
        if hint is not None:
            yield Trouble("unknown-fact", f"no stage can read the fact {name!r}", hint=hint)
    if not staged.policy.window_known:
        why = f"nobody knows the window of {staged.request.model!r}: {staged.policy.window:,.0f} tokens are assumed"
        hint = "say it: models={…: {'window': N}}, a `models` entry of the pack, or --set window=N"
        yield Trouble("assumed-window", why, hint=hint)
    if seen.how == "rewound" and not seen.new:
        why = "no message of the last run is in this list: a new branch begins at its first message"
        hint = "if it is another conversation, give it a session (a directory) of its own"
        yield Trouble("new-branch", why, hint=hint)
    if seen.dropped and seen.how == "changed in place" and history.changes_in_place:
        hint = "the host changes a message that a stage has already replaced; keep it as it was first sent"
        yield Trouble("unstable-message", "edits sleep again in this run", seen.dropped[0].commit, hint)
