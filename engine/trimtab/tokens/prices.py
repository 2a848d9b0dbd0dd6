"""What a request costs, in US dollars, from a model's prices per million tokens."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prices:
    """Dollars per million tokens. ``cache_write`` is the five-minute write, ``cache_write_hour`` the one-hour
    write.

    Where the prompt (input, cache reads and writes together) has more than ``tier_above`` tokens, the whole
    request is charged ``tier_input`` times the input-side prices and ``tier_output`` times the output price.
    """

    input: float
    output: float
    cache_read: float
    cache_write: float
    cache_write_hour: float
    tier_above: int | None = None
    tier_input: float = 1.0
    tier_output: float = 1.0

    def cost(
        self,
        input: int = 0,
        output: int = 0,
        cache_read: int = 0,
        cache_write: int = 0,
        cache_write_hour: int = 0,
    ) -> float:
        """Dollars for the given token counts; ``input`` excludes what was read from or written to the
        cache."""
        prompt = input + cache_read + cache_write + cache_write_hour
        above = self.tier_above is not None and prompt > self.tier_above
        side = (
            input * self.input
            + cache_read * self.cache_read
            + cache_write * self.cache_write
            + cache_write_hour * self.cache_write_hour
        )
        return (
            side * (self.tier_input if above else 1.0)
            + output * self.output * (self.tier_output if above else 1.0)
        ) / 1_000_000


def claude_prices(
    input: float,
    output: float,
    read: float = 0.1,
    tier_above: int | None = None,
    tier_input: float = 1.0,
    tier_output: float = 1.0,
) -> Prices:
    """Anthropic's rule: writes cost 1.25 (five minutes) and 2 (one hour) times the input, reads ``read``
    times."""
    return Prices(input, output, input * read, input * 1.25, input * 2, tier_above, tier_input, tier_output)
