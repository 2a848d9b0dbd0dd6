"""Serials: one walk for append, resume, rewind, branch, change in place, a grown tip and a fed-back view."""

from __future__ import annotations

import copy
import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.conversation.digest import digest
from trimtab.conversation.items import structure
from trimtab.conversation.lineage import Lineage, Observation

Message = dict[str, Any]


def said(text: str, role: str = "user") -> Message:
    return {"role": role, "content": [{"type": "text", "text": text}]}


def observe(
    lineage: Lineage, messages: list[Message], view: list[tuple[int, str]] | None = None
) -> Observation:
    seen = lineage.observe(messages, lambda: view or [])
    lineage.accept(seen, messages, [structure(message) for message in messages[seen.keep :]])
    return seen


def letters(text: str) -> list[Message]:
    return [said(letter) for letter in text]


def test_a_longer_list_gets_serials_behind_the_last() -> None:
    lineage = Lineage()
    observe(lineage, letters("abc"))
    assert observe(lineage, letters("abcde")).how == "append"
    assert lineage.path == [1, 2, 3, 4, 5]


def test_going_back_to_an_old_branch_finds_its_serials() -> None:
    lineage = Lineage()
    observe(lineage, letters("abcd"))
    assert observe(lineage, letters("abx")).how == "rewound"
    assert lineage.path == [1, 2, 5]
    observe(lineage, letters("abcd"))
    assert lineage.path == [1, 2, 3, 4]


def test_an_edited_message_leaves_the_serials_of_the_others() -> None:
    lineage = Lineage()
    observe(lineage, letters("abcdef"))
    assert observe(lineage, letters("abXdef")).how == "changed in place"
    assert lineage.path == [1, 2, 7, 4, 5, 6]


def test_a_list_trimmed_in_front_keeps_the_serials_of_the_rest() -> None:
    lineage = Lineage()
    observe(lineage, letters("abcdef"))
    observe(lineage, letters("cdefg"))
    assert lineage.path == [3, 4, 5, 6, 7]


def test_a_tip_that_grows_keeps_its_serial() -> None:
    lineage = Lineage()
    observe(lineage, letters("ab"))
    grown = [
        said("a"),
        {"role": "user", "content": [{"type": "text", "text": "b"}, {"type": "text", "text": "c"}]},
    ]
    assert observe(lineage, grown).how == "tip grew"
    assert lineage.path == [1, 2]


def test_a_change_made_in_place_is_seen_although_the_objects_are_the_same() -> None:
    lineage = Lineage()
    messages = letters("abcd")
    observe(lineage, messages)
    messages[1]["content"][0]["text"] = "other"
    assert observe(lineage, messages).how == "changed in place"
    assert lineage.path == [1, 5, 3, 4]


def test_moved_cache_marks_null_fields_and_key_order_change_nothing() -> None:
    lineage = Lineage()
    messages = letters("abc")
    observe(lineage, messages)
    messages[0]["content"][0]["cache_control"] = {"type": "ephemeral"}
    messages[1] = {"content": [{"citations": None, "text": "b", "type": "text"}], "role": "user"}
    messages[2] = {"role": "user", "content": "c"}
    seen = observe(lineage, messages)
    assert (seen.how, seen.keep, seen.touched) == ("append", 3, (0, 1, 2))
    assert observe(lineage, messages).touched == ()


def test_a_view_fed_back_keeps_the_serials_it_was_sent_with() -> None:
    lineage = Lineage()
    observe(lineage, letters("abcd"))
    summary = lineage.new_serial()
    view = [(summary, digest(said("S"))), (4, digest(said("d")))]
    seen = observe(lineage, [said("S"), said("d"), said("e")], view)
    assert seen.how == "fed back"
    assert lineage.path == [summary, 4, 6]


def test_equal_messages_in_a_row_get_serials_of_their_own() -> None:
    lineage = Lineage()
    observe(lineage, letters("aaaa"))
    assert lineage.path == [1, 2, 3, 4]
    observe(lineage, letters("aaab"))
    assert len(set(lineage.path)) == 4


def test_a_lineage_resumed_from_digests_names_the_messages_alike() -> None:
    lineage = Lineage()
    observe(lineage, letters("abc"))
    resumed = Lineage()
    resumed.resume(0, lineage.path, [lineage.digest_at(index) for index in range(3)])
    seen = observe(resumed, letters("abcd"))
    assert (seen.how, seen.keep, resumed.path) == ("append", 3, [1, 2, 3, 4])


def test_what_a_splice_covers_is_compared_without_a_shadow() -> None:
    lineage = Lineage()
    messages = letters("abcd")
    observe(lineage, messages)
    lineage.hide(3)
    assert observe(lineage, [*copy.deepcopy(messages), said("e")]).how == "append"
    assert observe(lineage, letters("Xbcde")).how == "changed in place"


def test_a_run_that_comes_to_nothing_leaves_the_path_as_it_was() -> None:
    lineage = Lineage()
    observe(lineage, letters("ab"))
    mark = lineage.mark()
    observe(lineage, letters("abcd"))
    lineage.reset(mark)
    assert (lineage.path, lineage.next) == ([1, 2], 3)
    observe(lineage, letters("abx"))
    assert lineage.path == [1, 2, 3]


@given(st.randoms(use_true_random=False))
@settings(max_examples=150)
def test_no_serial_stands_twice_in_a_path_and_the_same_list_is_named_the_same(seed: random.Random) -> None:
    lineage = Lineage()
    host = [said(seed.choice("abc")) for _ in range(6)]
    saved: list[list[Message]] = []
    for _ in range(25):
        step = seed.random()
        if step < 0.4:
            host = host + [said(seed.choice("abcdefgh")) for _ in range(seed.randrange(1, 4))]
        elif step < 0.5:
            saved.append(host)
            host = host[: seed.randrange(1, len(host) + 1)]
        elif step < 0.6 and saved:
            host = seed.choice(saved)
        elif step < 0.75:
            host = list(host)
            host[seed.randrange(len(host))] = said(seed.choice("abcxyz"))
        elif step < 0.8 and len(host) > 4:
            host = host[seed.randrange(1, 3) :]
        elif step < 0.9:
            tip = {"role": "user", "content": [*host[-1]["content"], {"type": "text", "text": "g"}]}
            host = [*host[:-1], tip]
        observe(lineage, copy.deepcopy(host))
        path = list(lineage.path)
        assert len(set(path)) == len(path)
        observe(lineage, copy.deepcopy(host))
        assert lineage.path == path
