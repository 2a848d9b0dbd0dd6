from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tests.policy.staging import FakeScene, calls, limits, results, says, user, view_of

from trimtab.conversation.request import Info
from trimtab.facts import Facts
from trimtab.policy.errors import PolicyError
from trimtab.policy.evaluation import NoValue
from trimtab.policy.measures import keep
from trimtab.policy.selection import candidates, selector

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
MESSAGES: list[dict[str, Any]] = [
    user("look around"),  # 0
    calls(("r1", "Read", {"file_path": "/src/a.py"}), ("b1", "Bash", {"command": "ls"})),  # 1
    results(("r1", "one\ntwo\n"), ("b1", "")),  # 2
    says("seen it"),  # 3
    user("now change it"),  # 4
    calls(("e1", "Edit", {"file_path": "/src/a.py", "old": "x" * 50, "new": {"text": "y" * 5}})),  # 5
    results(("e1", "no such text"), error=True),  # 6
    calls(("g1", "Grep", {"pattern": "a"})),  # 7
    results(("g1", [{"type": "text", "text": "ä" * 10}, IMAGE])),  # 8
    says("done <diff>"),  # 9
]


def scene(**more: Any) -> FakeScene:
    return FakeScene(view_of(MESSAGES), **more)


def picks(raw: dict[str, Any], shown: FakeScene | None = None, **more: Any) -> list[Any]:
    """(item, block) of block candidates, item of message candidates."""
    found = candidates(shown or scene(), selector(raw), **more).candidates
    return [one.index if one.block is None else (one.index, one.block) for one in found]


RESULTS = [(2, 0), (2, 1), (6, 0), (8, 0)]


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        ({"blocks": ["tool_result"]}, RESULTS),
        ({"blocks": ["tool_use"]}, [(1, 0), (1, 1), (5, 0), (7, 0)]),
        ({"blocks": ["text"]}, [(0, 0), (3, 0), (4, 0), (9, 0)]),
        ({"blocks": ["image", "document"]}, []),
        ({}, list(range(10))),
        ({"origins": ["user"]}, [0, 4]),
        ({"origins": ["tool"]}, [2, 6, 8]),
        ({"blocks": ["tool_result"], "tools": ["read"]}, [(2, 0)]),
        ({"blocks": ["tool_result"], "tools": ["read", "shell"]}, [(2, 0), (2, 1)]),
        ({"blocks": ["tool_use"], "tools": ["edit"]}, [(5, 0)]),
        ({"blocks": ["text"], "tools": ["read"]}, []),
        ({"blocks": ["tool_result"], "tools": ["unknown"]}, []),
        ({"blocks": ["tool_result"], "paths": ["/src/*.py"]}, [(2, 0), (6, 0)]),
        ({"blocks": ["tool_result"], "paths": ["*.md"]}, []),
        ({"blocks": ["tool_result"], "has": ["image"]}, [(8, 0)]),
        ({"blocks": ["tool_result"], "has": ["text"]}, [(2, 0), (6, 0), (8, 0)]),
        ({"blocks": ["tool_result"], "has": ["document"]}, []),
        ({"blocks": ["tool_result"], "error": True}, [(6, 0)]),
        ({"blocks": ["tool_result"], "error": False}, [(2, 0), (2, 1), (8, 0)]),
        ({"blocks": ["tool_use"], "error": True}, [(5, 0)]),
        ({"blocks": ["tool_use", "text"], "error": False}, [(1, 0), (1, 1), (7, 0)]),
        ({"blocks": ["tool_result"], "empty": True}, [(2, 1)]),
        ({"blocks": ["tool_result"], "empty": False}, [(2, 0), (6, 0), (8, 0)]),
        ({"blocks": ["tool_result"], "size": {"chars": {"above": 8}}}, [(6, 0), (8, 0)]),
        ({"blocks": ["tool_result"], "size": {"bytes": {"at_least": 20}}}, [(8, 0)]),
        ({"blocks": ["tool_result"], "size": {"lines": {"at_least": 2}}}, [(2, 0)]),
        ({"blocks": ["tool_result"], "size": {"tokens": {"above": 1000}}}, [(8, 0)]),
        ({"blocks": ["tool_result"], "size": {"chars": {"above": 8, "below": 12}}}, [(8, 0)]),
        ({"blocks": ["tool_use"], "size": {"chars": {"at_least": 50}}}, [(5, 0)]),
        ({"blocks": ["tool_use"], "size": {"chars": {"at_least": 51}}}, []),
        ({"blocks": ["tool_result"], "age": {"turns": {"at_least": 1}}}, [(2, 0), (2, 1)]),
        ({"blocks": ["tool_result"], "age": {"rounds": {"at_least": 1}}}, [(2, 0), (2, 1), (6, 0), (8, 0)]),
        ({"blocks": ["tool_result"], "age": {"rounds": {"above": 1}}}, [(2, 0), (2, 1), (6, 0)]),
        ({"blocks": ["tool_result"], "age": {"messages": {"at_most": 1}}}, [(8, 0)]),
        ({"age": {"messages": {"at_most": 0}}}, [9]),
        ({"age": {"turns": {"at_most": 0}}, "origins": ["user"]}, [4]),
        ({"blocks": ["text"], "matches": "<diff>"}, [(9, 0)]),
        ({"blocks": ["tool_use"], "matches": "y{5}"}, [(5, 0)]),
        ({"blocks": ["tool_result"], "matches": "^no such"}, [(6, 0)]),
        ({"concluding": True}, [3, 9]),
        ({"origins": ["assistant"], "concluding": False}, [1, 5, 7]),
        # messages: one and the same block must satisfy the entries about blocks
        ({"tools": ["edit"]}, [5, 6]),
        ({"tools": ["edit"], "error": True}, [5, 6]),
        ({"tools": ["shell"], "empty": True, "origins": ["tool"]}, [2]),
        ({"tools": ["read"], "empty": True, "origins": ["tool"]}, []),
        ({"size": {"chars": {"above": 50}}}, [5]),
        # any and none
        ({"blocks": ["tool_result"], "none": [{"tools": ["read"]}, {"has": ["image"]}]}, [(2, 1), (6, 0)]),
        ({"blocks": ["tool_result"], "any": [{"error": True}, {"empty": True}]}, [(2, 1), (6, 0)]),
        (
            {"blocks": ["tool_result"], "none": [{"tools": ["read", "shell"], "empty": True}]},
            [(2, 0), (6, 0), (8, 0)],
        ),
        ({"blocks": ["tool_result"], "any": [{"age": {"turns": {"at_least": 1}}}]}, [(2, 0), (2, 1)]),
        (
            {"blocks": ["tool_use", "tool_result"], "any": [{"blocks": ["tool_use"]}, {"error": True}]},
            [(1, 0), (1, 1), (5, 0), (6, 0), (7, 0)],
        ),
        ({"none": [{"origins": ["user"]}, {"concluding": True}]}, [1, 2, 5, 6, 7, 8]),
        ({"none": [{"tools": ["shell"]}], "origins": ["tool"]}, [6, 8]),
        ({"any": [{"blocks": ["tool_result"], "error": True}, {"origins": ["user"]}]}, [0, 4, 6]),
        ({"blocks": ["tool_result"], "any": [{"none": [{"error": False}]}]}, [(6, 0)]),
    ],
)
def test_a_selector_picks_exactly_what_its_entries_say(raw: dict[str, Any], wanted: list[Any]) -> None:
    assert picks(raw) == wanted


def test_redacted_thinking_is_thinking() -> None:
    blocks = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "d"},
    ]
    shown = FakeScene(
        view_of([user("go"), {"role": "assistant", "content": [*blocks, {"type": "text", "text": "x"}]}])
    )
    assert picks({"blocks": ["thinking"]}, shown) == [(1, 0), (1, 1)]


def test_blocks_of_odd_shape_are_numbered_as_they_came() -> None:
    message = {
        "role": "user",
        "content": ["loose", {"type": "text", "text": "b"}, {"type": "new_kind", "x": 1}],
    }
    found = candidates(FakeScene(view_of([message])), selector({"blocks": ["text"]})).candidates
    assert [(one.block, one.chars) for one in found] == [(0, 5), (1, 1)]


def test_a_result_without_its_call_belongs_to_no_tool() -> None:
    shown = FakeScene(view_of([user("go"), results(("gone", "x"))]))
    assert picks({"blocks": ["tool_result"], "tools": ["read"]}, shown) == []
    assert picks({"blocks": ["tool_result"], "none": [{"tools": ["read"]}]}, shown) == [(1, 0)]


def test_ids_used_again_are_told_apart() -> None:
    messages = [
        user("go"),
        calls(("1", "Read", {})),
        results(("1", "a")),
        calls(("1", "Bash", {})),
        results(("1", "b")),
    ]
    assert picks({"blocks": ["tool_result"], "tools": ["shell"]}, FakeScene(view_of(messages))) == [(4, 0)]


@pytest.mark.parametrize("content", [None, "", [], "  \n", [{"type": "text", "text": " "}]])
def test_a_result_of_nothing_or_blank_text_is_empty(content: Any) -> None:
    shown = FakeScene(view_of([user("go"), calls(("1", "Bash", {})), results(("1", content))]))
    assert picks({"blocks": ["tool_result"], "empty": True}, shown) == [(2, 0)]


@pytest.mark.parametrize(
    "content", ["x", [IMAGE], [{"type": "text", "text": ""}, IMAGE], [{"type": "other"}]]
)
def test_a_result_with_media_or_data_is_not_empty(content: Any) -> None:
    shown = FakeScene(view_of([user("go"), calls(("1", "Bash", {})), results(("1", content))]))
    assert picks({"blocks": ["tool_result"], "empty": True}, shown) == []


def test_age_in_minutes_is_unknown_without_times_and_for_the_future() -> None:
    raw = {"age": {"minutes": {"at_least": 0}}, "origins": ["user"]}
    infos = {1: Info(at=0), 5: Info(at=9000)}
    assert picks(raw) == []
    assert picks(raw, scene(facts=Facts(now=3600), infos=infos)) == [0]
    old = {"age": {"minutes": {"above": 60}}}
    assert picks(old, scene(facts=Facts(now=3600), infos=infos)) == []
    assert picks(old, scene(facts=Facts(now=3601), infos=infos)) == [0]


def test_age_in_tokens_counts_what_stands_behind() -> None:
    shown = scene()
    behind = shown.view.tokens_after(6)
    assert picks({"age": {"tokens": {"at_least": behind}}}, shown) == list(range(7))


def test_what_a_tool_declares_for_its_results_bounds_only_its_own() -> None:
    shown = scene(tool_limits={"Read": 5.0}, limits=limits(result_limit="min(tool_limit, 11)"))
    raw = {"blocks": ["tool_result"], "size": {"chars": {"above": "result_limit"}}}
    assert picks(raw, shown) == [(2, 0), (6, 0)]
    assert picks({"blocks": ["tool_result"], "size": {"chars": {"above": "tool_limit"}}}, shown) == [(2, 0)]


def test_the_requested_are_named_by_serial_or_by_the_id_of_the_host() -> None:
    facts = Facts.of({"request": {"name": "snip", "messages": [3, "abc", "5"]}})
    shown = scene(event="manual", facts=facts, infos={8: Info(id="abc")})
    assert picks({"requested": True}, shown) == [2, 4, 7]
    assert picks({"requested": True}, scene(facts=facts)) == []


def test_the_refused_are_the_blocks_the_error_names() -> None:
    named = SimpleNamespace(kind="bad_media", blocks=((8, 0),))
    raw = {"blocks": ["tool_result"], "refused": True}
    assert picks(raw, scene(event="overflow", refusal=named)) == [(8, 0)]
    assert picks(raw, scene(refusal=named)) == []
    assert picks(raw) == []


def test_an_error_that_names_no_block_is_about_all_it_can_be_about() -> None:
    raw = {"blocks": ["tool_result"], "refused": True}
    media = SimpleNamespace(kind="too_many_media", blocks=())
    size = SimpleNamespace(kind="request_too_large", blocks=())
    assert picks(raw, scene(event="overflow", refusal=media)) == [(8, 0)]
    assert picks(raw, scene(event="overflow", refusal=size)) == RESULTS


class Pinned:
    def __init__(self, *places: Any) -> None:
        self.places = places

    def message(self, index: int) -> bool:
        return index in self.places

    def block(self, index: int, block: int) -> bool:
        return index in self.places or (index, block) in self.places


def test_the_protected_are_no_candidates_and_are_counted() -> None:
    found = candidates(scene(), selector({"blocks": ["tool_result"]}), Pinned(6, (2, 1)))
    assert [(one.index, one.block) for one in found.candidates] == [(2, 0), (8, 0)]
    assert (found.matched, found.protected, found.spared) == (4, 2, 0)
    assert picks({"origins": ["user"]}, protected=Pinned(0)) == [4]


def test_a_keep_counts_only_what_is_not_protected() -> None:
    found = candidates(
        scene(), selector({"blocks": ["tool_result"]}), Pinned(8), keep({"newest": {"items": 1}})
    )
    assert [(one.index, one.block) for one in found.candidates] == [(2, 0), (2, 1)]
    assert (found.matched, found.protected, found.spared) == (4, 1, 1)


def test_a_selection_may_begin_at_the_first_new_message() -> None:
    assert picks({"blocks": ["tool_result"]}, start=6) == [(6, 0), (8, 0)]
    assert picks({"origins": ["user"]}, start=1) == [4]


def test_a_candidate_knows_its_size_and_its_stable_name() -> None:
    (one,) = candidates(scene(), selector({"blocks": ["tool_result"], "error": True})).candidates
    assert (one.chars, one.tokens, one.spot, one.spots) == (12, 11, (7, 0), ((7, 0),))
    message = candidates(scene(), selector({"tools": ["read"], "origins": ["tool"]})).candidates[0]
    assert (message.chars, message.spots) == (8, ((3, 0), (3, 1)))
    message.item.numbers = (1, 4)
    assert (message.spot, message.spots) == ((3, 1), ((3, 1), (3, 4)))


def test_a_limit_without_a_value_fails_the_selection() -> None:
    with pytest.raises(NoValue):
        picks({"blocks": ["tool_result"], "size": {"chars": {"above": "tokens - 5000"}}})


def test_a_size_is_worked_out_once_not_for_every_block() -> None:
    asked: list[str] = []
    shown = scene(values={"window": 8})
    look_up = shown.name
    shown.name = lambda name: (asked.append(name), look_up(name))[1]  # type: ignore[method-assign]  # to count
    assert picks({"blocks": ["tool_result"], "size": {"chars": {"above": "window"}}}, shown) == [
        (6, 0),
        (8, 0),
    ]
    assert asked == ["window"]


def test_strings_of_an_input_are_judged_one_by_one() -> None:
    read = selector({"blocks": ["tool_use"], "size": {"chars": {"at_least": 5}, "lines": {"at_most": 1}}})
    meant = read.strings(scene(), "Edit")
    assert [meant(text) for text in ("long enough", "no", "two\nlines")] == [True, False, False]
    assert selector({"blocks": ["tool_use"]}).strings(scene(), "Edit")("no")


def test_a_selector_tells_its_origins_and_whether_it_relates() -> None:
    assert selector({"origins": ["summary", "note"]}).origins == {"summary", "note"}
    assert selector({"any": [{"repeated": True}]}).relational
    assert selector({"superseded_by": ["read"]}).relational
    assert not selector({"concluding": True, "none": [{"requested": True}]}).relational


def test_every_name_it_uses_is_listed_with_its_place() -> None:
    raw = {
        "blocks": ["tool_result"],
        "tools": ["read"],
        "size": {"chars": {"above": "n"}},
        "none": [{"superseded_by": ["edit"]}, {"age": {"turns": {"at_least": "m"}}}],
    }
    assert {(one.kind, one.where) for one in selector(raw).references()} == {
        ("category", ("tools", 0)),
        ("quantity", ("size", "chars", "above")),
        ("category", ("none", 0, "superseded_by", 0)),
        ("quantity", ("none", 1, "age", "turns", "at_least")),
    }


@pytest.mark.parametrize(
    ("raw", "where", "code", "hint"),
    [
        ({"block": ["text"]}, ("block",), "unknown-key", "`blocks`"),
        ({"blocks": ["tool_results"]}, ("blocks", 0), "value", "`tool_result`"),
        ({"blocks": "text"}, ("blocks",), "type", "list"),
        ({"origins": ["users"]}, ("origins", 0), "value", "`user`"),
        ({"has": ["images"]}, ("has", 0), "value", "`image`"),
        ({"tools": []}, ("tools",), "type", "list"),
        ({"error": 1}, ("error",), "type", ""),
        ({"size": {"char": {"above": 1}}}, ("size", "char"), "unknown-key", "`chars`"),
        ({"size": {}}, ("size",), "value", "chars"),
        ({"size": {"chars": 5}}, ("size", "chars"), "type", ""),
        ({"age": {"turns": {"atleast": 1}}}, ("age", "turns", "atleast"), "unknown-key", "`at_least`"),
        ({"matches": 5}, ("matches",), "type", ""),
        ({"matches": "(?=a)"}, ("matches",), "pattern", ""),
        ({"matches": "(a"}, ("matches",), "pattern", ""),
        ({"any": {"error": True}}, ("any",), "type", ""),
        ({"none": [{}, {"any": [{"eror": True}]}]}, ("none", 1, "any", 0, "eror"), "unknown-key", "`error`"),
        ("tool_result", (), "type", ""),
    ],
)
def test_what_cannot_be_read_is_refused_at_its_place(
    raw: Any, where: tuple[str | int, ...], code: str, hint: str
) -> None:
    with pytest.raises(PolicyError) as caught:
        selector(raw)
    assert (caught.value.where, caught.value.code) == (where, code)
    assert hint in (caught.value.hint or "")
