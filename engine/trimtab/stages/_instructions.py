"""What is added to a prompt: wishes of the user, of a hook, of the project's memory, of the pack."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..policy.expressions import Quantity
from ..policy.maker import Maker
from ..policy.scene import Scene
from ..templating import Text
from ._headings import Headings
from ._variables import variables


@dataclass(frozen=True, slots=True)
class Instruction:
    """One source: ``origin`` is ``user hook memory``, or None for the pack's own text."""

    origin: str | None
    text: Text | None = None
    section: str | None = None
    max_chars: Quantity | None = None

    @classmethod
    def build(cls, raw: Mapping[str, Any], make: Maker, *where: str | int) -> Instruction:
        most = make.quantity(raw["max_chars"], *where, "max_chars") if "max_chars" in raw else None
        return cls(raw.get("from"), make.text(raw, *where), raw.get("section"), most)

    def read(self, scene: Scene, hook: str | None) -> str:
        """The words, shortened to ``max_chars``. Raises TemplateProblem, NoValue."""
        if self.text is not None:
            words = self.text.render(variables(scene, self.text))
        elif self.origin == "user":
            words = _asked(scene)
        elif self.origin == "hook":
            words = hook or ""
        else:
            words = _remembered(scene)
        if self.section is not None:
            words = section_of(words, self.section)
        words = words.strip()
        most = math.inf if self.max_chars is None else self.max_chars.value(scene.name)
        return words if len(words) <= most else words[: int(most)].rstrip()


def instructions(sources: Sequence[Instruction], scene: Scene, hook: str | None) -> str:
    """All that is wished for, in order, with an empty line between. Raises TemplateProblem, NoValue."""
    found = [source.read(scene, hook) for source in sources]
    return "\n\n".join([words for words in found if words])


def _asked(scene: Scene) -> str:
    request = scene.facts.request
    return (request.instructions or "") if scene.event == "manual" and request is not None else ""


def _remembered(scene: Scene) -> str:
    """The project's memory files, as far as the host has told their text."""
    texts: list[str] = []
    for name in ("memory", "nested_memory"):
        for record in scene.fact(name) or ():
            text = record.get("content", record.get("text"))
            if isinstance(text, str) and text not in texts:
                texts.append(text)
    return "\n\n".join(texts)


def section_of(text: str, section: str) -> str:
    """The body of every section with this heading, up to the next heading of its level or above."""
    headings = Headings(text, [section])
    bodies: list[str] = []
    stop = 0
    while (found := headings.first(section, stop)) is not None:
        start, end = found
        stop = headings.next_level(end, headings.level(start) or 6)
        bodies.append(text[end:stop].strip())
    return "\n\n".join([body for body in bodies if body])
