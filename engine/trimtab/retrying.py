"""Starting over when another process has written to the journal meanwhile: nothing is paid for twice, nobody starves.

Whoever must start over reads the whole journal again, so one that goes on without a break is always faster. Hence a
loser takes the *turn*, and everybody else looks for one before a run begins and waits, for a limited time: who has the
turn may have been stopped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from .effects import Core, Effect, EffectFailed, pause
from .journal import Conflict
from .locks import Turn

if TYPE_CHECKING:
    from .session import Session

T = TypeVar("T")

TRIES = 50
"""How often work starts over before it is given up."""
LOSSES = 3
"""Races lost in a row, after which the others are asked to wait."""
PATIENCE = 2.0
"""Seconds that anybody waits for a turn; who has waited in vain goes on as if there were none."""
SHORTEST, LONGEST = 0.001, 0.016
"""Seconds between two looks at the turn; each pause is twice the one before."""

_UNKNOWN = object()


def lasting(session: Session, make: Callable[[], Core[T]]) -> Core[T]:
    """What ``make`` begins, read anew and begun again as often as somebody else has written to the journal.

    Raises Conflict when that has happened ``TRIES`` times, and whatever the work raises.
    """
    path = session.journal.path
    if path is None:
        return (yield from make())
    turn, paid = Turn(path), Paid()
    try:
        waits = yield from _patient(lambda: not turn.taken())
        # Before anything is asked, and paid for, that others have made needless.
        session._refresh()
        for number in range(1, TRIES + 1):
            try:
                # Nothing is held while a port works: it may take minutes, or open this very session.
                return (yield from paid.through(make(), turn.leave))
            except Conflict:
                if number == TRIES:
                    raise Conflict(
                        f"{path} was written by somebody else in each of {TRIES} tries, nothing of this was recorded; "
                        "try again, or give every process a session directory of its own"
                    ) from None
            if number >= LOSSES and waits:
                waits = yield from _patient(turn.take)
            session._reload()
            paid.again()
    finally:
        turn.leave()
    raise AssertionError("the last try returns or raises")


def at_once(make: Callable[[], T]) -> Core[T]:
    """Work that asks nothing of the world, as a core."""
    yield from ()
    return make()


def _patient(done: Callable[[], bool]) -> Core[bool]:
    """Let time pass until it is done, but not for ever; whether it is."""
    left, seconds = PATIENCE, SHORTEST
    while not _tried(done):
        if left <= 0:
            return False
        yield from pause(seconds)
        left -= seconds
        seconds = min(2 * seconds, LONGEST)
    return True


def _tried(done: Callable[[], bool]) -> bool:
    try:
        return done()
    except OSError:
        return True  # there are no turns here, so there is nothing to wait for


class Paid:
    """Replies and failures of work that has to start over: what was asked once is not asked again."""

    def __init__(self) -> None:
        self._earlier: list[tuple[Effect, Any]] = []
        self._now: list[tuple[Effect, Any]] = []

    def through(self, core: Core[T], before: Callable[[], None]) -> Core[T]:
        """The core with what earlier tries were answered; ``before`` is called before anything else is asked."""
        reply: Any = None
        try:
            while True:
                effect = core.throw(reply) if isinstance(reply, EffectFailed) else core.send(reply)
                reply = self._recall(effect)
                if reply is _UNKNOWN:
                    before()
                    try:
                        reply = yield effect
                    except EffectFailed as problem:
                        reply = problem
                self._now.append((effect, reply))
        except StopIteration as done:
            result: T = done.value
            return result
        finally:
            core.close()

    def again(self) -> None:
        """The work starts over."""
        self._earlier, self._now = self._now + self._earlier, []

    def _recall(self, effect: Effect) -> Any:
        """What an earlier try was answered to an equal effect; effects come in nearly the same order."""
        for index, (known, reply) in enumerate(self._earlier):
            if known == effect:
                del self._earlier[index]
                return reply
        return _UNKNOWN
