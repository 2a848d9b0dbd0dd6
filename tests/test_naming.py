from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from trimtab import store
from trimtab.naming import names_stored, safe_name, stored_name


@given(st.text(), st.text(max_size=50))
def test_a_name_is_short_safe_and_recognised_again(tool_id: str, text: str) -> None:
    name = safe_name(tool_id, text)
    assert len(name) <= 64 + 17
    assert store.parts_of(stored_name("results", tool_id, text)) == ["results", name]
    assert names_stored([f"cat C:\\out\\{name} | tail"], frozenset([name]))
    assert not names_stored([f"cat {name}"], frozenset(["other-0123456789ab.txt"]))


def test_a_long_argument_is_searched_in_no_time() -> None:
    begun = time.perf_counter()
    assert not names_stored(["-a" * 500_000], frozenset(["x-0123456789ab.txt"]))
    assert not names_stored(["a" * 5000 + ".txt"] * 20, frozenset(["x-0123456789ab.txt"]))
    assert time.perf_counter() - begun < 1


def test_equal_ids_with_other_texts_have_other_names() -> None:
    assert safe_name("x:0", "one") != safe_name("x:0", "two")
