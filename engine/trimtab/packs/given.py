"""What a host gives beside the pack, settings and models, held to what the pack's own must be."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from .context import setting_value, type_name
from .pack import MODEL_FIGURES, Pack, Setting
from .problems import PackError, Problem, near_or_all

Models = dict[str, dict[str, Setting]]


def given_settings(pack: Pack, settings: Any) -> dict[str, Setting]:
    """Values for the pack's settings, None for none at all. Raises PackError with all that is wrong with them."""
    return given_values(pack, settings, None)[0]


def given_values(pack: Pack, settings: Any, models: Any) -> tuple[dict[str, Setting], Models]:
    """Settings, and for each model glob its figures or settings, as the engine keeps them.

    Raises PackError with all that is wrong with them.
    """
    problems: list[Problem] = []
    if not _is_mapping("settings", settings, problems):
        settings = {}
    if not _is_mapping("models", models, problems):
        models = {}
    problems += _settings(pack, settings or {})
    for glob, entry in (models or {}).items():
        place = f"models: {glob}"
        if not isinstance(glob, str):
            problems.append(Problem("type", f"{place}: the name of a model is a text, not {_kind(glob)}"))
        elif _is_mapping(place, entry, problems, may_be_none=False):
            problems += _model(pack, place, entry)
    if problems:
        raise PackError(problems)
    return dict(settings or {}), {glob: dict(entry) for glob, entry in (models or {}).items()}


def _is_mapping(place: str, value: Any, problems: list[Problem], may_be_none: bool = True) -> bool:
    if isinstance(value, Mapping) or (may_be_none and value is None):
        return True
    hint = "give names and values: {'name': value}"
    problems.append(Problem("type", f"{place}: a mapping is needed, not {_kind(value)}", hint=hint))
    return False


def _settings(pack: Pack, values: Mapping[Any, Any]) -> Iterator[Problem]:
    for name, value in values.items():
        if name not in pack.settings:
            message = f"the pack `{pack.name}` has no setting `{name}`"
            yield Problem("unknown-setting", message, hint=near_or_all(str(name), pack.settings))
        else:
            yield from _setting(pack, f"the setting `{name}`", name, value)


def _setting(pack: Pack, place: str, name: str, value: Any) -> Iterator[Problem]:
    own = pack.settings[name]
    if not isinstance(own, str):
        value = setting_value(value)
    known = isinstance(value, bool | int | float | str)
    if not known or type_name(value) != type_name(own):
        hint = f"give a value of the same type, such as the pack's own: {own!r}"
        yield Problem("type", f"{place} is {type_name(own)}, not {_kind(value)}", hint=hint)
    elif not isinstance(value, bool | str):
        # A pack in which a number may be negative says so with its own value.
        yield from _number(place, value, least=0 if not isinstance(own, str) and own >= 0 else -math.inf)


def _model(pack: Pack, place: str, entry: Mapping[Any, Any]) -> Iterator[Problem]:
    for name, value in entry.items():
        where = f"{place}: `{name}`"
        if name in MODEL_FIGURES:
            number = setting_value(value)
            if isinstance(number, bool) or not isinstance(number, int | float):
                hint = "give a number of tokens, or 'unlimited'"
                yield Problem("type", f"{where} is a number, not {_kind(value)}", hint=hint)
            else:
                yield from _number(where, number, least=0)
        elif name in pack.settings:
            yield from _setting(pack, where, name, value)
        else:
            known = (*MODEL_FIGURES, *pack.settings)
            message = f"{where} is neither {', '.join(MODEL_FIGURES)} nor a setting"
            yield Problem("unknown-setting", message, hint=near_or_all(str(name), known))


def _number(place: str, value: float, least: float) -> Iterator[Problem]:
    try:
        number = float(value)
    except OverflowError:
        hint = "write 'unlimited' where nothing limits"
        yield Problem("value", f"{place} is a number of too many digits", hint=hint)
        return
    if math.isnan(number):
        yield Problem("value", f"{place} is no number (nan)", hint="give a number")
    elif number < least:
        yield Problem("value", f"{place} is {number:g}; the least is {least:g}", hint="give a larger number")


def _kind(value: object) -> str:
    if isinstance(value, bool | int | float | str):
        return type_name(value)
    return "nothing (None)" if value is None else f"a {type(value).__name__}"
