"""What one call has cost, as far as anybody knows its model's prices."""

from __future__ import annotations

from ..conversation.request import Usage
from .models import lookup


def cost_of(usage: Usage | None, model: str) -> float | None:
    """US dollars, from the model table, else from the package ``genai-prices`` if it is there; None: unknown.

    The name the response gave counts, else ``model``, the name that was asked for. Without an output count
    nothing is known.
    """
    if usage is None or usage.output is None:
        return None
    name = usage.model or model
    prices = lookup(name).prices
    if prices is None:
        return _looked_up(usage, name)
    hour = min(usage.cache_write_hour, usage.cache_write)
    return prices.cost(usage.input, usage.output, usage.cache_read, usage.cache_write - hour, hour)


def _looked_up(usage: Usage, model: str) -> float | None:
    try:
        import genai_prices  # an extra, and slow to load
    except ImportError:
        return None
    # There the input is the whole input side.
    counts = genai_prices.Usage(
        input_tokens=usage.prompt,
        cache_read_tokens=usage.cache_read,
        cache_write_tokens=usage.cache_write,
        output_tokens=usage.output,
    )
    try:
        return float(genai_prices.calc_price(counts, model_ref=model).total_price)
    except (LookupError, ValueError):
        return None
