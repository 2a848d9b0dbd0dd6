"""What of a range a writer was not shown, for the receipt and for whoever reads the text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..records import ranges
from ._material import Material


@dataclass(frozen=True, slots=True)
class LeftOut:
    """``dropped`` and ``shortened`` are serials of messages, ``places`` where the dropped ones stand, from 1, among
    the ``total`` of the range; ``emptied`` counts results whose content was taken out.
    """

    dropped: tuple[int, ...] = ()
    places: tuple[int, ...] = ()
    shortened: tuple[int, ...] = ()
    emptied: int = 0
    total: int = 0

    @property
    def words(self) -> str:
        """One line that names all of it; empty if there is nothing to name."""
        parts: list[str] = []
        if self.places:
            many = "messages" if len(self.places) > 1 else "message"
            parts.append(f"{many} {_runs(self.places)} of the {self.total} it stands for")
        if self.emptied:
            parts.append(f"the contents of {self.emptied} tool result{'s' if self.emptied > 1 else ''}")
        if self.shortened:
            many = f"{len(self.shortened)} messages" if len(self.shortened) > 1 else "1 message"
            parts.append(f"parts of {many}")
        return f"[Not read for this text, for want of room: {'; '.join(parts)}.]" if parts else ""

    def told(self, text: str) -> str:
        """The text with that line in front."""
        return f"{self.words}\n\n{text}" if self.words else text

    @property
    def remarks(self) -> dict[str, Any]:
        """The same for the receipt."""
        found = {
            "dropped": list(self.dropped),
            "shortened": list(self.shortened),
            "results_left_out": self.emptied,
        }
        return {name: value for name, value in found.items() if value}


def left_out(plain: Material, shown: Material, start: int) -> LeftOut:
    """What ``shown`` lacks of ``plain`` behind view item ``start``."""
    if shown is plain:
        return LeftOut()
    entries = [entry for entry in plain.entries if entry.index >= start]
    seen = {entry.item.serial: entry for entry in shown.entries}
    gone = [(at, entry.item.serial) for at, entry in enumerate(entries, 1) if entry.item.serial not in seen]
    changed = [
        entry.item.serial for entry in entries if seen.get(entry.item.serial, entry).tokens < entry.tokens
    ]
    return LeftOut(
        tuple([serial for _, serial in gone]),
        tuple([at for at, _ in gone]),
        tuple(changed),
        shown.emptied,
        len(entries),
    )


def _runs(places: Sequence[int]) -> str:
    """``1–4, 7``."""
    return ", ".join([f"{first}–{last}" if last > first else str(first) for first, last in ranges(places)])
