"""Values from a command line."""

from __future__ import annotations

from math import inf

import pytest

from trimtab.packs.outside import read_outside
from trimtab.packs.problems import PackError


def test_pairs_are_sorted_into_settings_figures_and_places() -> None:
    found = read_outside(
        [
            "share=0.5",
            "on_switch=false",
            "writer = fast",
            "window=32000",
            "max_output=unlimited",
            "limits.auto=min(1, 2)",
        ]
    )
    assert found.settings == {"share": 0.5, "on_switch": False, "writer": "fast"}
    assert found.figures == {"window": 32000, "max_output": inf}
    assert found.places == (("limits.auto", "min(1, 2)"),)


@pytest.mark.parametrize(
    "pair", ["share", "=5", "share=", "share=[1]", "share=~", "window=0", "window=big", "window=true"]
)
def test_a_pair_that_cannot_be_meant_is_refused_with_a_hint(pair: str) -> None:
    with pytest.raises(PackError) as caught:
        read_outside([pair])
    assert caught.value.problems[0].hint
