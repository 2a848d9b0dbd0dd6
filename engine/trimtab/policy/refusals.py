"""What the API's refusal of a request means: its class, the sizes it names, the blocks it points at."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..facts import ApiError
from ..matching import Globs

RETRY_LATER = "retry_later"

BUILT_IN: Sequence[tuple[str, Globs]] = (
    # Throttling wins: its texts also speak of too many tokens, and history must not be destroyed for it.
    (
        RETRY_LATER,
        Globs(
            ["*rate limit*", "*rate_limit*", "*overloaded*", "*please wait*", "*try again later*", "*quota*"]
        ),
    ),
    (
        "media_too_large",
        Globs(["*image_dimensions_too_large*", "*image exceeds*", "*image dimensions*", "*pdf*too large*"]),
    ),
    (
        "too_many_media",
        Globs(["*too many images*", "*too many documents*", "*maximum of * pdf pages*", "*many-image*"]),
    ),
    (
        "bad_media",
        Globs(["*could not process image*", "*could not process pdf*", "*pdf*password*", "*invalid image*"]),
    ),
    (
        "request_too_large",
        Globs(["*request_too_large*", "*maximum allowed number of bytes*", "*payload too large*"]),
    ),
    (
        "prompt_too_long",
        Globs(
            [
                "*prompt is too long*",
                "*exceed context limit*",
                "*context_length_exceeded*",
                "*maximum context length*",
                "*exceed_context_size_error*",
                "*exceeds the available context size*",
                "*input token count * exceeds*",
                "*model_context_window_exceeded*",
                "*input is too long*",
            ]
        ),
    ),
)
"""Texts and codes by class, tried in order in lower case (API-FACTS §6, FAULTS B9)."""

CLASSES = ("prompt_too_long", "request_too_large", "media_too_large", "too_many_media", "bad_media")

LOOKED_AT = 20_000
"""Characters of an error that are looked at. The API's own have a few hundred; a proxy may answer with anything."""

_COUNT = r"(?<![\d,])(\d[\d,]{0,15})"
"""No more digits than any count of tokens has, from the first one on."""
_ABOVE = re.compile(rf"{_COUNT}\s?tokens?\s?>\s?{_COUNT}")
_SUM = re.compile(rf"{_COUNT}\s?\+\s?{_COUNT}\s?>\s?{_COUNT}")
_ROOM = re.compile(
    rf"(?:context (?:size|length|window)|maximum)[^0-9]{{0,20}}{_COUNT}\s?tokens?", re.IGNORECASE
)
_PATH = re.compile(r"messages\.(\d{1,9})\.content\.(\d{1,9})(?![\d])")


@dataclass(frozen=True, slots=True)
class Refusal:
    """``kind`` is a class of LANGUAGE §7, ``retry_later`` or None (not known); sizes in tokens where the text has them.

    ``blocks`` are (message index, block index) of the request that was refused.
    """

    kind: str | None
    tokens: int | None = None
    limit: int | None = None
    blocks: tuple[tuple[int, int], ...] = ()


def classify(error: ApiError | str | None, own: Mapping[str, Globs]) -> Refusal | None:
    """What an error means; ``own`` are the pack's ``api_errors``, tried before the built-in table."""
    if error is None:
        return None
    if isinstance(error, str):
        error = ApiError(error)
    if error.message in CLASSES or error.message == RETRY_LATER:
        return Refusal(error.message)
    text = " ".join(part for part in (error.type, error.message[:LOOKED_AT]) if part)
    lower = text.lower()
    kind = next(
        (name for name, globs in own.items() if globs.match(error.message[:LOOKED_AT]) or globs.match(text)),
        None,
    )
    if kind is None and error.status == 429:
        kind = RETRY_LATER
    if kind is None:
        kind = next((name for name, globs in BUILT_IN if globs.match(lower)), None)
    if kind is None and error.status == 413:
        kind = "request_too_large"
    tokens = limit = None
    if found := _ABOVE.search(text):
        tokens, limit = _number(found[1]), _number(found[2])
    elif found := _SUM.search(text):
        tokens, limit = _number(found[1]) + _number(found[2]), _number(found[3])
    elif found := _ROOM.search(text):
        limit = _number(found[1])
    blocks = tuple((int(match[1]), int(match[2])) for match in _PATH.finditer(text))
    return Refusal(kind, tokens, limit, blocks)


def _number(text: str) -> int:
    return int(text.replace(",", ""))
