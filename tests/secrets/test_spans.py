"""Places are merged and found again in the text they came from."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from trimtab.secrets.spans import Found, Glued, merged

BREAKS = re.compile("-+")


def test_places_that_overlap_are_one_of_the_kind_given_first() -> None:
    found = [Found(5, 9, "a"), Found(8, 12, "b"), Found(0, 2, "c"), Found(2, 4, "d"), Found(11, 13, "e")]
    assert merged(found) == [Found(0, 2, "c"), Found(2, 4, "d"), Found(5, 13, "a")]


@given(st.text("ab-", max_size=20), st.data())
def test_a_place_of_the_glued_text_is_found_in_the_whole(whole: str, data: st.DataObject) -> None:
    glued = Glued(whole, BREAKS)
    assert glued.text == whole.replace("-", "")
    if not glued.text:
        return
    start = data.draw(st.integers(0, len(glued.text) - 1))
    stop = data.draw(st.integers(start + 1, len(glued.text)))
    first, last = glued.back(start, stop)
    place = whole[first:last]
    assert place.replace("-", "") == glued.text[start:stop]
    assert place.strip("-") == place
