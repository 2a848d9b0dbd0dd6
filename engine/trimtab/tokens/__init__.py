"""Token counts: the estimate, counters, media, models and the one figure. Imports no tokenizer."""

from __future__ import annotations

from .counters import COUNTERS, Counter, CounterError, EstimateCounter, RequestCounter, make
from .estimate import estimate
from .figure import Anchor, Factor, Reading, figure, plausible, response_usage, same_model
from .media import image_size, media_tokens
from .models import Model, canonical, lookup
from .prices import Prices

__all__ = [
    "COUNTERS",
    "Anchor",
    "Counter",
    "CounterError",
    "EstimateCounter",
    "Factor",
    "Model",
    "Prices",
    "Reading",
    "RequestCounter",
    "canonical",
    "estimate",
    "figure",
    "image_size",
    "lookup",
    "make",
    "media_tokens",
    "plausible",
    "response_usage",
    "same_model",
]
