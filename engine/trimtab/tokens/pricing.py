"""What a call costs: from the table of models, else from the package genai-prices where it is installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .models import lookup


def dollars(
    model: str, *, input: int = 0, output: int = 0, cache_read: int = 0, cache_write: int = 0
) -> float | None:
    """US dollars for the token counts of one call; None where nobody knows the model's prices.

    ``input`` excludes what was read from or written to the cache. The extra ``prices`` installs genai-prices,
    which knows far more models than the table; it is asked offline, from the data it ships with.
    """
    prices = lookup(model).prices
    if prices is not None:
        return prices.cost(input, output, cache_read, cache_write)
    try:
        module: Any = import_module("genai_prices")
    except ImportError:
        return None
    usage = module.Usage(
        input_tokens=input + cache_read + cache_write,
        output_tokens=output,
        cache_read_tokens=cache_read,
        cache_write_tokens=cache_write,
    )
    try:
        return float(module.calc_price(usage, model).total_price)
    except (LookupError, ValueError):
        return None
