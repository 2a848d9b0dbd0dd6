"""Deletions from the server's cache that name a result which is no longer there."""

from __future__ import annotations

from typing import Any

from tests.scenes import bash, user

from trimtab.conversation.fold import ItemBuilder, Overlay
from trimtab.conversation.items import Item, ItemMaker
from trimtab.conversation.view import View
from trimtab.tokens.estimate import estimate
from trimtab.tokens.media import media_tokens
from trimtab.trial import Bench, Standing, attempt
from trimtab.validity import check
from trimtab.validity.cache_edits import CacheEdits
from trimtab.validity.profiles.anthropic import Capabilities, anthropic

MAKER = ItemMaker(estimate, media_tokens)


def deleting(*names: str) -> dict[str, Any]:
    edits = [{"type": "delete", "cache_reference": name} for name in names]
    return {"role": "user", "content": [{"type": "cache_edits", "edits": edits}]}


def view_of(*messages: Any, origin: str = "attachment") -> View:
    items: list[Item] = []
    for number, message in enumerate(messages, 1):
        content = message["content"]
        mine = isinstance(content, list) and content[0]["type"] == "cache_edits"
        items.append(MAKER.make(number, message, origin if mine else None)[0])
    return View(items)


def broken(view: View) -> list[tuple[int, tuple[str, ...]]]:
    found = check(view, anthropic(Capabilities()), closing=False).violations
    return [(one.index, one.ids) for one in found if one.rule == "cache_edits"]


def mended(view: View) -> list[Any]:
    """The messages after the rules' repairs."""
    bench = Bench(view, ItemBuilder(MAKER), anthropic(Capabilities()), None, "", True, lambda: 99)
    trial = attempt(bench, Standing(Overlay(), view), 1, ())
    return [item.message for item in trial.standing.view.items]


def test_a_result_that_stands_before_the_block_may_be_deleted() -> None:
    assert broken(view_of(user("go"), *bash("a", "ls", "x"), deleting("a"))) == []


def test_a_result_that_stands_behind_the_block_or_nowhere_may_not() -> None:
    view = view_of(user("go"), deleting("a", "b"), *bash("a", "ls", "x"), deleting("a", "c"))
    assert broken(view) == [(1, ("a", "b")), (4, ("c",))]


def test_a_later_scan_finds_what_one_from_the_start_finds() -> None:
    items = view_of(
        user("go"), *bash("a", "ls", "x"), deleting("a"), *bash("b", "ls", "x"), deleting("b", "z")
    ).items
    rule = CacheEdits()
    whole, _ = rule.scan(items, 0, None)
    for start in range(len(items) + 1):
        first, state = rule.scan(items[:start], 0, None)
        assert [*first, *rule.scan(items, start, state)[0]] == whole


def test_only_what_is_gone_is_taken_out_of_the_block() -> None:
    messages = [user("go"), *bash("a", "ls", "x"), deleting("b", "a")]
    assert mended(view_of(*messages)) == [*messages[:3], deleting("a")]


def test_a_block_of_which_nothing_is_left_goes() -> None:
    messages = [user("go"), *bash("a", "ls", "x"), deleting("b", "c")]
    assert mended(view_of(*messages)) == messages[:3]


def test_of_a_hosts_own_block_nothing_is_said() -> None:
    assert broken(view_of(user("go"), deleting("nowhere"), origin="user")) == []
