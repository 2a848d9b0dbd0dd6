"""What a run gives back: the request to send, whether to send it, and the receipt."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import floor
from typing import TYPE_CHECKING, Any

from .conversation.request import Request
from .filestate import Cleared
from .formats.anthropic import request_body
from .measuring import first_changed
from .policy.proposal import Notice
from .policy.scene import Scene
from .receipt import Change, Receipt, RunHeader, Totals, Trouble
from .running import Run
from .staging import Staged
from .track import Seen
from .version import __version__

if TYPE_CHECKING:
    from .jobs import Job


@dataclass(frozen=True, slots=True)
class Outcome:
    """``request`` is new, its untouched messages are the host's own objects. ``send`` is false after a guard of level
    ``block``, or at an overflow about which nothing could be done. ``jobs`` are background notes
    to be run; the next run takes them over. ``cleared`` are the results and reads the model no longer sees, so that
    a host can reset its guards; of a dry run those it would lose.
    """

    request: Request
    send: bool
    receipt: Receipt
    notices: tuple[Notice, ...] = ()
    jobs: tuple[Job, ...] = ()
    problems: tuple[Trouble, ...] = ()
    serials: tuple[int, ...] = field(default=(), repr=False)
    cleared: Cleared = field(default_factory=Cleared)

    @property
    def body(self) -> dict[str, Any]:
        """The request as the Messages API takes it: ``client.messages.create(**outcome.body)``."""
        return request_body(self.request)


def moment_text(at: float | None) -> str | None:
    """ISO 8601, UTC, of seconds since 1970."""
    if at is None:
        return None
    moment = datetime.fromtimestamp(round(at, 3), UTC)
    return moment.isoformat(timespec="milliseconds" if moment.microsecond else "seconds").replace(
        "+00:00", "Z"
    )


def make_receipt(
    run: Run,
    staged: Staged,
    seen: Seen,
    before: Scene,
    after: Scene,
    pack: str,
    counter: str,
    send: bool,
    dry: bool,
) -> Receipt:
    """The account of a run that has ended."""
    changed, loss = first_changed(run.bench, after.view, staged.factor)
    header = RunHeader(
        n=run.n,
        event=run.event,
        pack=pack,
        model=staged.request.model,
        at=moment_text(staged.facts.now),
        engine=__version__,
        counter=counter,
        transcript=seen.how,
        messages=len(before.base.items),
        new_messages=len(before.base.items) - seen.new,
        dry=dry,
    )
    totals = Totals(
        tokens=Change(floor(before.tokens), floor(after.tokens)),
        bytes=Change(before.bytes, after.bytes),
        messages=Change(len(before.view.items), len(after.view.items)),
        overhead_tokens=round(after.overhead),
        beyond_estimate=Change(round(before.beyond_estimate), round(after.beyond_estimate)),
        measured=after.measured,
        factor=round(staged.factor, 4),
        first_changed=changed,
        cache_loss_tokens=loss,
        thinking_loss=sum(_thinking(report) for report in run.reports),
        commits=len(run.commits),
    )
    reserved = {
        "window": staged.policy.window,
        "max_output": staged.policy.max_output,
        "max_input": staged.policy.max_input,
    }
    return Receipt(
        run=header,
        limits={**reserved, **after.limits()},
        settings=dict(staged.policy.settings),
        stages=tuple(run.reports),
        totals=totals,
        notices=tuple(run.notices),
        dropped=seen.dropped,
        problems=tuple(run.problems),
        send=send,
        jobs=tuple(run.jobs),
    )


def _thinking(report: Any) -> int:
    return int(report.thinking_loss)
