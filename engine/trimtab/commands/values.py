"""``--set NAME=VALUE``: settings, a model's numbers, and dotted places of the pack."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from ..packs.check import errors
from ..packs.load import Report, check
from ..packs.pack import MODEL_FIGURES, Pack, Setting
from ..packs.problems import PackError, near_or_all
from ..packs.sources import resolve


@dataclass(frozen=True, slots=True)
class Values:
    """What was set: dotted places with YAML texts, and names with texts that are not read yet."""

    places: tuple[tuple[str, str], ...]
    names: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, given: Sequence[str]) -> Values:
        """Split ``NAME=VALUE``. Raises click.BadParameter."""
        pairs = []
        for one in given:
            name, equals, text = one.partition("=")
            if not equals or not name.strip() or not text.strip():
                raise wrong(f"'{one}' is not NAME=VALUE")
            pairs.append((name.strip(), text.strip()))
        return cls(
            tuple(pair for pair in pairs if "." in pair[0]),
            tuple(pair for pair in pairs if "." not in pair[0]),
        )


def wrong(message: str, option: str = "--set") -> click.BadParameter:
    """Wrong usage of an option."""
    return click.BadParameter(message, param_hint=f"'{option}'")


def load_pack(name: str, values: Values) -> tuple[Report, Pack]:
    """The pack with the dotted places set. Raises PackError with all that is wrong."""
    report = check(Path(name) if Path(name).is_absolute() else name, values.places)
    if report.pack is None:
        raise PackError(errors(report.problems))
    return report, report.pack


def added(name: str, values: Values) -> list[str]:
    """Warnings about dotted places that are new to the pack: perhaps they are misspelt."""
    named = [place.split(".") for place, _ in values.places]
    named = [parts for parts in named if len(parts) == 2 and parts[0] in ("limits", "settings", "tools")]
    if not named:
        return []
    data = resolve(Path(name) if Path(name).is_absolute() else name).data
    return [
        f"--set {section}.{key}: new to the pack, which has {', '.join(data.get(section, {})) or 'none'}"
        for section, key in named
        if key not in data.get(section, {})
    ]


def settings_of(pack: Pack, values: Values) -> tuple[dict[str, Setting], dict[str, dict[str, float]]]:
    """Settings, and numbers for every model, as ``Engine`` takes them. Raises click.BadParameter."""
    settings: dict[str, Setting] = {}
    figures: dict[str, float] = {}
    for name, text in values.names:
        if name in MODEL_FIGURES:
            figures[name] = figure(name, text)
        elif name in pack.settings:
            settings[name] = setting(name, text, pack.settings[name])
        else:
            hint = near_or_all(name, [*pack.settings, *MODEL_FIGURES], "known are")
            dotted = f"; a place in the pack is dotted (limits.{name})" if name in pack.limits else ""
            raise wrong(f"the pack {pack.name} has no setting '{name}': {hint}{dotted}")
    return settings, {"*": figures} if figures else {}


def figure(name: str, text: str) -> float:
    """A number of tokens: ``32000``, ``32_000``, ``32k``, ``1m``."""
    scale = {"k": 1_000, "m": 1_000_000}.get(text[-1:].lower(), 1)
    digits = text[:-1] if scale > 1 else text
    try:
        value = float(digits) * scale
    except ValueError:
        value = -1.0
    if not (0 < value < math.inf and value.is_integer()):
        raise wrong(f"'{name}' is a whole number of tokens (32000, 32k), not '{text}'")
    return value


def setting(name: str, text: str, default: Setting) -> Setting:
    """A text as a value of the type the pack's own value has."""
    words: Mapping[str, bool] = {"true": True, "false": False}
    if isinstance(default, bool):
        if text not in words:
            raise wrong(f"the setting '{name}' is true or false, not '{text}'")
        return words[text]
    if isinstance(default, str):
        return text
    if text == "unlimited":
        return math.inf
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    # As in packs/given.py: a pack in which a number may be negative says so with its own value.
    if not math.isfinite(value) or value < 0 <= default:
        raise wrong(f"the setting '{name}' is a number or unlimited, not '{text}'")
    return int(value) if value.is_integer() else value
