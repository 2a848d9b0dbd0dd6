"""A pack, compiled: what an engine runs. No YAML is left in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from ..facts import FactRule
from ..matching import Categories, Globs
from ..policy.expressions import Quantity
from ..policy.stage import NOWHERE, Source, Stage
from ..templating import Renderer
from .context import setting_value

Setting: TypeAlias = bool | float | str
MODEL_FIGURES = ("window", "max_output", "max_input")


@dataclass(frozen=True, slots=True)
class Pack:
    """A checked pack.

    ``settings`` are the pack's own values (`unlimited` is ``math.inf``), ``models`` the entries in the order
    in which they are tried, ``folders`` where templates are looked up, ``path`` the file it was read from.
    """

    name: str
    version: str
    stages: tuple[Stage, ...]
    description: str = ""
    path: str = ""
    settings: Mapping[str, Setting] = field(default_factory=dict)
    models: tuple[tuple[str, Mapping[str, Setting]], ...] = ()
    limits: Mapping[str, Quantity] = field(default_factory=dict)
    categories: Categories = field(default_factory=Categories)
    facts: Mapping[str, FactRule] = field(default_factory=dict)
    api_errors: Mapping[str, Globs] = field(default_factory=dict)
    folders: tuple[Path, ...] = ()
    renderer: Renderer = field(default_factory=Renderer, compare=False, repr=False)
    origin: Source = NOWHERE

    @property
    def label(self) -> str:
        """Name and version, as the journal writes them."""
        return f"{self.name}@{self.version}"

    def every_stage(self) -> Iterator[Stage]:
        """All stages, children behind their parents."""
        for stage in self.stages:
            yield stage
            yield from stage.children

    def stage(self, name: str) -> Stage | None:
        """The stage with that id, also inside `first_of`."""
        return next((stage for stage in self.every_stage() if stage.id == name), None)

    def values_for(
        self,
        model: str,
        settings: Mapping[str, Setting] | None = None,
        models: Mapping[str, Mapping[str, Setting]] | None = None,
    ) -> tuple[dict[str, Setting], dict[str, float]]:
        """Settings for this model, and what the pack or the host say of its window.

        ``settings`` and ``models`` are the host's. A setting is the host's value, else the model entry's,
        else the pack's. The second mapping has `window`, `max_output`, `max_input` where somebody named them.
        """
        entry = {**_first(self.models, model), **_first(tuple((models or {}).items()), model)}
        found = {
            **self.settings,
            **{name: value for name, value in entry.items() if name in self.settings},
            **(settings or {}),
        }
        values = {name: self._own_type(name, value) for name, value in found.items()}
        figures = {name: float(setting_value(entry[name])) for name in MODEL_FIGURES if name in entry}
        return values, figures

    def _own_type(self, name: str, value: Setting) -> Setting:
        return value if isinstance(self.settings.get(name), str) else setting_value(value)


def _first(models: Sequence[tuple[str, Mapping[str, Setting]]], model: str) -> Mapping[str, Setting]:
    return next((entry for glob, entry in models if Globs([glob]).match(model)), {})
