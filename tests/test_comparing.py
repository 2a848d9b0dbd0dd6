"""Two packs on one session, side by side."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.commands.conftest import PACK, conversation

from trimtab import Engine, Facts, Request
from trimtab.comparing import Effect, compare, hunks
from trimtab.packs.load import check_text
from trimtab.tokens import pricing

MODEL = "claude-sonnet-4-5"


def engine(pack: str = PACK) -> Engine:
    made = check_text(pack).pack
    assert made is not None
    return Engine(made)


def effect(other: str, calls: int = 6, model: str = MODEL) -> Effect:
    data = conversation(calls)
    request = Request(model, data["messages"])
    facts = [Facts(), Facts()]
    return compare(engine(), engine(other), request, "before_request", facts)


def test_the_same_pack_twice_has_no_effect() -> None:
    found = effect(PACK)
    assert not found.differs
    assert found.hunks == ()
    assert found.before == found.after


def test_the_messages_that_differ_are_named_on_both_sides() -> None:
    found = effect(PACK.replace("shown: 1", "shown: 3"))
    assert found.differs
    # of six results all but the newest, or all but the newest three: the fourth and fifth differ
    assert [(hunk.before, hunk.after) for hunk in found.hunks] == [((8, 9), (8, 9)), ((10, 11), (10, 11))]
    assert [each.id for each in found.stages if each.differs] == ["clear"]
    assert found.before.tokens.after < found.after.tokens.after


def test_a_stage_that_only_one_pack_has_is_told_of() -> None:
    found = effect(PACK.replace("id: hush", "id: told"))
    by_id = {each.id: each for each in found.stages}
    assert by_id["hush"].after is None
    assert by_id["told"].before is None
    assert [each.id for each in found.stages] == ["clear", "never", "told", "hush"]


def test_the_next_call_pays_for_what_the_cache_has_lost() -> None:
    quiet = PACK.replace("auto: 0.001 * window", "auto: window")
    found = effect(quiet)
    cleared, kept = found.before.cost, found.after.cost
    assert found.after.cache_loss_tokens == 0
    assert kept.written == 0
    assert kept.read == found.after.tokens.after
    assert found.before.cache_loss_tokens > 0
    assert cleared.written > 0
    assert cleared.read + cleared.written == found.before.tokens.after
    assert cleared.next_call is not None
    assert kept.next_call is not None
    assert cleared.next_call == pytest.approx((cleared.read * 0.3 + cleared.written * 3.75) / 1e6)
    assert kept.later_call == pytest.approx(kept.read * 0.3 / 1e6)
    assert cleared.later_call < kept.later_call  # type: ignore[operator]


def test_a_model_nobody_knows_has_no_price(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(pricing, "import_module", missing)
    found = effect(PACK, model="house-model")
    assert found.before.cost.next_call is None
    assert found.before.cost.written + found.before.cost.read == found.before.tokens.after


def test_the_extra_knows_models_the_table_does_not() -> None:
    pytest.importorskip("genai_prices", reason="the extra `prices` is not installed")
    price = pricing.dollars("gpt-4o-mini", input=1_000_000, output=1_000_000)
    assert price == pytest.approx(0.75)
    less = pricing.dollars("gpt-4o-mini", cache_read=1_000_000)
    assert less is not None
    assert less < 0.15
    assert pricing.dollars("no-such-model-anywhere", input=1) is None


LISTS = st.lists(st.integers(0, 3).map(lambda n: {"role": "user", "content": str(n)}), max_size=8)


@given(LISTS, LISTS)
def test_outside_the_hunks_both_lists_are_the_same(before: list[Any], after: list[Any]) -> None:
    rest = list(before)
    for hunk in reversed(hunks(before, after)):
        rest[hunk.before[0] : hunk.before[1]] = after[hunk.after[0] : hunk.after[1]]
    assert rest == after
    assert (hunks(before, after) == []) is (before == after)
