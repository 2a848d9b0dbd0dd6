"""The gate's checks one by one, for the receipt: what of an answer held, and what did not."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields, replace

from ..effects import Reply
from ..policy.proposal import Check
from ._digest import STOPPED
from ._expects import Expects, Refused

Judge = Callable[[Expects, Reply, float], str | Refused]
"""The gate with these expectations, about an answer that must stay under so many tokens."""

BASIC = {
    "empty": "a text is there",
    "truncated": "tags are closed",
    "tool_call": "no tool call",
    "refusal": "no refusal",
}
"""What an answer of any stage must be, by the reason it is refused for otherwise."""
OWN = {
    "sections": "sections are there",
    "min_chars": "long enough",
    "max_tokens": "short enough",
    "invented": "nothing invented",
}
"""What only some stages expect."""


def checks(expects: Expects, reply: Reply, room: float, judge: Judge) -> tuple[Check, ...]:
    """Each check by itself, in the gate's order; those that cannot be made of this answer are left out.

    Raises NoValue.
    """
    finished = reply.stop in STOPPED
    found = [Check("the answer is finished", finished, None if finished else f"it stopped with {reply.stop}")]
    whole = replace(reply, stop="end_turn")
    bare = Expects(expects.extract, expects.strip)
    text = judge(bare, whole, math.inf)
    if isinstance(text, Refused):
        return (*found, Check(BASIC.get(text.reason, "a usable text"), False, text.message))
    found += [Check(name, True) for reason, name in BASIC.items() if reason != "truncated" or expects.extract]
    for one in fields(expects):
        value = getattr(expects, one.name)
        if one.name not in ("extract", "strip", "missing") and value not in (None, ()):
            more = {one.name: value, **({"missing": expects.missing} if one.name == "sections" else {})}
            found.append(_check(OWN.get(one.name, one.name), judge(replace(bare, **more), whole, math.inf)))
    found.append(_check("smaller than its source", judge(bare, whole, room)))
    return tuple(found)


def _check(name: str, judged: str | Refused) -> Check:
    return Check(name, False, judged.message) if isinstance(judged, Refused) else Check(name, True)
