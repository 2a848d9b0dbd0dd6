"""Calls of writing models in words: what came of each, its tokens and its price."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .words import number, safe

if TYPE_CHECKING:
    from ..policy.proposal import ModelCall


def call_words(call: ModelCall) -> str:
    """One call: what came of it, its tokens, its price, the pause behind it."""
    came = "assumed, no model was called" if call.assumed else "accepted"
    if call.problem:
        came = f"{call.problem}: {safe(call.message)}" if call.message else call.problem
    parts = [f"{safe(call.model)} ({call.purpose}): {came}"]
    if call.rung:
        parts.append(f"rung {call.rung} of the ladder")
    if call.usage is not None:
        usage = call.usage
        read = f" + {number(usage.cache_read)} from the cache" if usage.cache_read else ""
        write = f" + {number(usage.cache_write)} written to it" if usage.cache_write else ""
        out = "" if usage.output is None else f", {number(usage.output)} out"
        parts.append(f"{number(usage.input)}{read}{write} in{out}")
    if call.cost is not None:
        parts.append(dollars(call.cost))
    if call.paused is not None:
        parts.append(f"tried again after {call.paused:g} s")
    return "; ".join(parts)


def dollars(cost: float) -> str:
    """US dollars, to a tenth of a cent and a digit more where it is less."""
    return f"${cost:.4f}" if cost >= 0.001 or not cost else f"${cost:.6f}"
