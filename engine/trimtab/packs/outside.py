"""Values set from outside, as a command line gives them: ``NAME=VALUE``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .document import parse_document
from .pack import MODEL_FIGURES, Setting
from .problems import PackError, Problem
from .sources import OUTSIDE


@dataclass(frozen=True, slots=True)
class Outside:
    """``settings`` and ``figures`` (of the model, in tokens) are the host's; ``places`` are for `check`."""

    settings: dict[str, Setting] = field(default_factory=dict)
    figures: dict[str, float] = field(default_factory=dict)
    places: tuple[tuple[str, str], ...] = ()


def read_outside(pairs: Iterable[str]) -> Outside:
    """Sort ``NAME=VALUE`` pairs: a name with dots is a place in the pack, others are settings and figures.

    Values are read as YAML scalars. Raises PackError.
    """
    settings: dict[str, Setting] = {}
    figures: dict[str, float] = {}
    places: list[tuple[str, str]] = []
    for pair in pairs:
        name, sign, text = pair.partition("=")
        name, text = name.strip(), text.strip()
        if not sign or not name or not text:
            raise _wrong(pair, "no NAME=VALUE", "write for example share=0.8 or limits.auto=100000")
        if "." in name:
            places.append((name, text))
            continue
        value = parse_document(text, OUTSIDE + name).data
        if isinstance(value, list | dict):
            raise _wrong(pair, f"`{name}` needs a single value", "a list or mapping has a dotted place")
        if name not in MODEL_FIGURES:
            settings[name] = value
        elif value == "unlimited" or (
            isinstance(value, int | float) and not isinstance(value, bool) and value > 0
        ):
            figures[name] = float("inf") if value == "unlimited" else float(value)
        else:
            raise _wrong(
                pair, f"`{name}` needs a number of tokens above 0", f"write for example {name}=200000"
            )
    return Outside(settings, figures, tuple(places))


def _wrong(pair: str, message: str, hint: str) -> PackError:
    return PackError([Problem("set", message, OUTSIDE + pair, hint=hint)])
