"""What is known of models: windows, output limits, prices, how they treat thinking, images and prefilled
answers.

Sources: the vendors' model, pricing, caching, vision and extended-thinking pages as of November 2026, with
genai-prices and litellm in agreement where they list a model. Where a page is silent the smaller number of
the neighbouring models stands (max output of Sonnet 4.6 and 5, windows of GPT-5.1 to 5.5): too small compacts
early, too large is refused. A pack's ``models`` section and the host's own values go before this table.

The token factor corrects o200k counts: about 1.25 for Claude up to 4.6, 1.5 for the newer tokenizer (Opus 4.7
and later, Sonnet 5, Fable and Mythos 5, all of 5.5), on the safe side of what was measured; it is only the
start value of the factor learned from usage.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Literal, TypeAlias

from .prices import Prices, claude_prices

Thinking: TypeAlias = Literal["manual", "bound", "free"]
"""``bound``: signed over everything before it. ``manual``: the open tool loop must begin with it. ``free``:
neither."""

UNKNOWN_WINDOW = 128_000
UNKNOWN_MAX_OUTPUT = 32_000
MILLION = 1_000_000
OLDER, NEWER = 1.25, 1.5
"""Family factors: Claude's tokens for one o200k token."""


@dataclass(frozen=True, slots=True)
class Model:
    """One entry. Token counts are whole numbers; ``max_input`` is None where the API has no limit of its own
    for it.

    ``globs`` are tried against the canonical name (see ``canonical``). ``prefill``: an assistant message may
    stand last. ``inner_system``: messages of role ``system`` may stand among the others. ``max_images``: in
    one request. ``min_cacheable``: a shorter prefix is silently not cached. ``prices`` is None where they are
    not known.
    """

    globs: tuple[str, ...]
    window: int
    max_output: int
    max_input: int | None = None
    factor: float = 1.0
    thinking: Thinking = "free"
    prefill: bool = True
    inner_system: bool = False
    max_images: int = 100
    min_cacheable: int = 1024
    prices: Prices | None = None
    known: bool = True


def _claude(
    name: str,
    window: int,
    max_output: int,
    *,
    factor: float = OLDER,
    thinking: Thinking = "manual",
    prefill: bool = True,
    inner_system: bool = False,
    min_cacheable: int = 1024,
    prices: Prices | None = None,
) -> Model:
    """A Claude model and its variants (``-fast``, …); a longer version number is another model."""
    return Model(
        globs=(f"claude-{name}", f"claude-{name}-[!0-9]*"),
        window=window,
        max_output=max_output,
        factor=factor,
        thinking=thinking,
        prefill=prefill,
        inner_system=inner_system,
        max_images=100 if window < MILLION else 600,
        min_cacheable=min_cacheable,
        prices=prices,
    )


def _claude_5(
    name: str, thinking: Thinking, prices: Prices | None, max_output: int = 128_000, least: int = 512
) -> Model:
    return _claude(
        name,
        MILLION,
        max_output,
        factor=NEWER,
        thinking=thinking,
        prefill=False,
        inner_system=True,
        min_cacheable=least,
        prices=prices,
    )


def _openai(
    globs: tuple[str, ...],
    window: int,
    max_output: int,
    max_input: int | None = None,
    prices: Prices | None = None,
) -> Model:
    return Model(globs, window, max_output, max_input, inner_system=True, max_images=500, prices=prices)


def _gpt(input: float, write: float, read: float, output: float) -> Prices:
    """GPT-5.6 and later: writes kept over twelve hours cost 2.5 times the input; above 272,000 more for
    everything."""
    return Prices(input, output, read, write, input * 2.5, 272_000, 2.0, 1.5)


_OPUS = claude_prices(5, 25)
_OLD_OPUS = claude_prices(15, 75)
_SONNET = claude_prices(3, 15)
_LONG_SONNET = claude_prices(3, 15, tier_above=200_000, tier_input=2.0, tier_output=1.5)
_GPT_WINDOW, _GPT_INPUT, _GPT_OUTPUT = 1_050_000, 922_000, 128_000

MODELS: tuple[Model, ...] = (
    _claude_5("fable-5-2", "bound", claude_prices(8, 40, read=0.025)),
    _claude_5("fable-5-1", "bound", claude_prices(10, 50, read=0.025)),
    _claude_5("mythos-5-[12]", "bound", None),
    _claude_5("opus-5-5", "bound", claude_prices(4, 20, read=0.05)),
    _claude_5("sonnet-5-5", "bound", claude_prices(2, 10, read=0.05)),
    _claude_5(
        "haiku-5-5", "bound", claude_prices(0.1, 0.5, tier_above=100_000, tier_input=5.0, tier_output=5.0)
    ),
    _claude_5("fable-5", "free", None),
    _claude_5("mythos-5", "free", None),
    _claude_5("mythos-preview", "free", None, least=2048),
    _claude_5("opus-5", "free", _OPUS),
    _claude_5("sonnet-5", "free", claude_prices(2, 10), max_output=64_000, least=1024),
    _claude_5("opus-4-8", "free", _OPUS, least=1024),
    _claude(
        "opus-4-7",
        MILLION,
        128_000,
        factor=NEWER,
        thinking="free",
        prefill=False,
        min_cacheable=2048,
        prices=_OPUS,
    ),
    # 4.6 takes adaptive and manual thinking; the stricter reading is safe for both.
    _claude("opus-4-6", MILLION, 128_000, prefill=False, min_cacheable=4096, prices=_OPUS),
    _claude("sonnet-4-6", MILLION, 64_000, prefill=False, prices=_SONNET),
    _claude("opus-4-5", 200_000, 64_000, min_cacheable=4096, prices=_OPUS),
    _claude("sonnet-4-5", 200_000, 64_000, prices=_LONG_SONNET),
    _claude("haiku-4-5", 200_000, 64_000, min_cacheable=4096, prices=claude_prices(1, 5)),
    _claude("opus-4-1", 200_000, 32_000, prices=_OLD_OPUS),
    _claude("opus-4", 200_000, 32_000, prices=_OLD_OPUS),
    _claude("sonnet-4", 200_000, 64_000, prices=_LONG_SONNET),
    _claude("3-7-sonnet", 200_000, 64_000, prices=_SONNET),
    _claude("3-5-sonnet", 200_000, 8_192, thinking="free", prices=_SONNET),
    _claude("3-5-haiku", 200_000, 8_192, thinking="free", min_cacheable=2048, prices=claude_prices(0.8, 4)),
    _claude("3-opus", 200_000, 4_096, thinking="free", prices=_OLD_OPUS),
    _claude("3-sonnet", 200_000, 4_096, thinking="free", prices=_SONNET),
    _claude("3-haiku", 200_000, 4_096, thinking="free", min_cacheable=2048, prices=claude_prices(0.25, 1.25)),
    _openai(("gpt-5.6-sol*",), _GPT_WINDOW, _GPT_OUTPUT, _GPT_INPUT, _gpt(4, 5, 0.4, 20)),
    _openai(("gpt-6-sol*",), _GPT_WINDOW, _GPT_OUTPUT, _GPT_INPUT, _gpt(2, 2.5, 0.2, 10)),
    _openai(("gpt-6.1-sol*",), _GPT_WINDOW, _GPT_OUTPUT, _GPT_INPUT, _gpt(2, 2.5, 0.1, 10)),
    _openai(("gpt-6-luna*",), _GPT_WINDOW, _GPT_OUTPUT, _GPT_INPUT, _gpt(0.1, 0.125, 0.01, 0.5)),
    _openai(("gpt-6-astra*",), _GPT_WINDOW, _GPT_OUTPUT, _GPT_INPUT, _gpt(10, 12.5, 1, 50)),
    _openai(("gpt-5-chat*", "gpt-5.[1-5]-chat*"), 128_000, 16_384),
    _openai(("gpt-5", "gpt-5-*", "gpt-5.[1-5]", "gpt-5.[1-5]-*"), 400_000, 128_000, 272_000),
    _openai(("gpt-4.1*",), 1_047_576, 32_768),
    _openai(("gpt-4o*", "chatgpt-4o*"), 128_000, 16_384),
    _openai(("gpt-4-turbo*",), 128_000, 4_096),
    _openai(("o1-mini*", "o1-preview*"), 128_000, 32_768),
    _openai(("o1", "o1-*", "o3", "o3-*", "o4-mini*"), 200_000, 100_000),
    Model(("gemini-2.5-*", "gemini-3*"), 1_048_576, 65_536, max_images=3_000, min_cacheable=2048),
    Model(("gemini-2.0-*", "gemini-1.5-flash*"), 1_048_576, 8_192, max_images=3_000, min_cacheable=4096),
    Model(("gemini-1.5-pro*",), 2_097_152, 8_192, max_images=3_000, min_cacheable=4096),
)

_UNKNOWN = Model(
    globs=(),
    window=UNKNOWN_WINDOW,
    max_output=UNKNOWN_MAX_OUTPUT,
    thinking="bound",
    prefill=False,
    known=False,
)
_UNKNOWN_CLAUDE = replace(_UNKNOWN, factor=NEWER)

_WIDE_WINDOW = "[1m]"
_PLATFORM = re.compile(r"^(?:[a-z]{2,6}\.)?anthropic\.")
"""Prefixes of model ids on cloud platforms: ``anthropic.``, ``us.anthropic.``, ``global.anthropic.``,
``apac.…``."""
_DATE = re.compile(r"(?:-\d{8}|-\d{4}-\d{2}-\d{2}|-latest)$")
_REVISION = re.compile(r"(?:@.*|-v\d+(?::\d+k?)*|:[a-z0-9]+)$")
"""What platforms put behind a Claude id; other names may tell two models apart by it (``llama3:8b``)."""
_NUMBER_FIRST = re.compile(r"^claude-([4-9](?:-\d{1,2})?)-(opus|sonnet|haiku|fable|mythos)\b")


def canonical(model: str) -> str:
    """The name without provider, region, date, revision and ``[1m]``: what two ids of one model have in
    common."""
    name = model.strip().lower().removesuffix(_WIDE_WINDOW).rsplit("/", 1)[-1]
    name = _PLATFORM.sub("", name)
    if not name.startswith("claude"):
        return _DATE.sub("", name)
    while (shorter := _DATE.sub("", _REVISION.sub("", name))) != name:
        name = shorter
    return _NUMBER_FIRST.sub(r"claude-\2-\1", name.replace(".", "-"))


@lru_cache(maxsize=256)
def lookup(model: str) -> Model:
    """What is known of ``model``, by its id on any platform; ``known`` is false for the stand-in of unknown
    ones.

    An id that ends in ``[1m]`` has a window of 1,000,000 tokens.
    """
    name = canonical(model)
    found = next((entry for entry in MODELS if any(fnmatchcase(name, glob) for glob in entry.globs)), None)
    if found is None:
        found = _UNKNOWN_CLAUDE if name.startswith("claude") else _UNKNOWN
    if model.strip().lower().endswith(_WIDE_WINDOW):
        found = replace(found, window=MILLION, max_images=max(found.max_images, 600))
    return found
