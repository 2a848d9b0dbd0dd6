"""Check, legal cuts and repair of a view against a profile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..conversation.items import Item
from .base import Mend, Profile, Report, Shown, Violation
from .draft import Draft

PASSES = 2
"""Rounds over all rules in one repair; the rules' order makes the first one nearly always enough."""


def check(
    view: Shown, profile: Profile, states: Sequence[Any] | None = None, start: int = 0, closing: bool = True
) -> Report:
    """All violations of ``view.items[start:]``; without ``states`` of the whole view.

    ``states`` are those of a report on ``view.items[:start]``; they stay usable afterwards. ``closing``: the
    list is about to be sent, so its end is judged, too.
    """
    items = view.items
    if states is None:
        states, start = (None,) * len(profile.rules), 0
    found: list[Violation] = []
    after: list[Any] = []
    for rule, state in zip(profile.rules, states, strict=True):
        violations, state = rule.scan(items, start, state)
        if violations:
            found += violations
        if closing:
            violations = rule.close(items, state)
            if violations:
                found += violations
        after.append(state)
    return Report(tuple(found), tuple(after))


def with_moved_marks(items: Sequence[Item], profile: Profile, states: Sequence[Any]) -> tuple[Any, ...]:
    """The states behind these items after the host has moved cache marks on some of them."""
    return tuple(
        rule.scan(items, 0, None)[1] if rule.marks else state
        for rule, state in zip(profile.rules, states, strict=True)
    )


def check_texts(items: Sequence[Item], changed: Sequence[int], profile: Profile) -> tuple[Violation, ...]:
    """Violations of the items at these indexes, where nothing but texts has changed since all rules held."""
    some = [items[index] for index in changed]
    return tuple(
        replace(violation, index=changed[violation.index])
        for rule in profile.rules
        if rule.local
        for violation in rule.scan(some, 0, None)[0]
    )


def cuts(view: Shown, profile: Profile) -> bytearray:
    """For each of the len + 1 gaps 1 if every rule lets a change begin or end there, else 0."""
    items = view.items
    length = len(items) + 1
    legal = -1
    for rule in profile.rules:
        legal &= int.from_bytes(rule.cuts(items), "little")
    return bytearray(legal.to_bytes(length, "little")) if legal >= 0 else bytearray(b"\x01") * length


@dataclass(frozen=True, slots=True)
class Repairs:
    """Edits over the view that was given, and the violations they mend, in rule order."""

    edits: tuple[Mend, ...]
    remarks: tuple[Violation, ...]


def repair(view: Shown, violations: Iterable[Violation], profile: Profile, closing: bool = True) -> Repairs:
    """Edits that mend the violations a check of this view found, and those that mending brings up.

    The rules work in their order, each on what the ones before it left; the view is not changed. Fold the
    edits and check again: what is left then cannot be mended. With ``closing`` false the end of the list is
    left alone.
    """
    found = [violation for violation in violations if violation.repairable]
    if not found:
        return Repairs((), ())
    draft = Draft(view.items)
    remarks: list[Violation] = []
    for _ in range(PASSES):
        mended = len(remarks)
        for rule in profile.rules:
            if draft.touched:
                found, state = rule.scan(draft.items, 0, None)
                if closing:
                    found = found + rule.close(draft.items, state)
                mine = [violation for violation in found if violation.repairable]
            else:
                mine = [violation for violation in found if violation.rule == rule.name]
            edits: list[Mend] = []
            for violation in mine:
                more = rule.repair(violation, draft)
                if more:
                    edits += more
                    remarks.append(violation)
            if edits:
                draft.apply(edits)
        if len(remarks) == mended:
            break
    return Repairs(draft.edits(), tuple(remarks))


def problems(items: Sequence[Item], report: Report) -> tuple[str, ...]:
    """The report in words, one line for each violation: message serial, block, what is wrong."""
    lines = []
    for violation in report.violations:
        where = f"message {items[violation.index].serial}" if violation.index < len(items) else "request"
        if violation.block is not None:
            where += f", block {violation.block}"
        lines.append(f"{where}: {violation.message} [{violation.rule}]")
    return tuple(lines)
