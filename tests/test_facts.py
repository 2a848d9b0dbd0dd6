from __future__ import annotations

import copy
import inspect
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.conversation.items import Item, ItemMaker
from trimtab.conversation.request import Usage
from trimtab.data import data_root
from trimtab.facts import ApiError, FactBook, FactError, Facts, ManualRequest, fact_rules, moment
from trimtab.matching import Categories

TOOLS = Categories(
    {
        "read": ["Read"],
        "edit": ["Edit", "MultiEdit"],
        "shell": ["Bash"],
        "skill": ["Skill"],
        "todo": ["TodoWrite"],
        "patch": ["apply_patch"],
    }
)
RULES = fact_rules(
    {
        "files": {
            "key": "path",
            "from": [
                {
                    "tools": ["read"],
                    "take": {"path": "/file_path", "offset": "/offset", "limit": "/limit"},
                    "set": {"read": True},
                },
                {"tools": ["edit"], "take": {"path": "/file_path"}, "set": {"edited": True}},
                {
                    "tools": ["patch"],
                    "take": {"path": {"pattern": r"(?m)^\*\*\* Update File: (.+)$", "in": "/input"}},
                    "set": {"edited": True},
                },
            ],
        },
        "commands": {"from": [{"tools": ["shell"], "take": {"command": "/command"}}]},
        "skills": {
            "key": "name",
            "from": [{"tools": ["skill"], "take": {"name": "/skill", "text": "result"}}],
        },
        "todos": {"last": True, "from": [{"tools": ["todo"], "take": {"items": "/todos"}}]},
        "attempts": {"from": [{"tools": ["shell"], "take": {"command": "/command"}, "errors": True}]},
    }
)
MAKER = ItemMaker(lambda text: len(text) // 4 + 1, lambda block: 1600)


def items(messages: Sequence[Mapping[str, Any]], start: int = 1) -> list[Item]:
    return [MAKER.make(serial, message)[0] for serial, message in enumerate(messages, start)]


def call(tool: str, given: Mapping[str, Any], id: str = "t1") -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": tool, "input": given}]}


def result(content: Any = "done", id: str = "t1", failed: bool = False) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": id, "content": content}
    return {"role": "user", "content": [{**block, "is_error": True} if failed else block]}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def book(*messages: Mapping[str, Any]) -> FactBook:
    made = FactBook(RULES, TOOLS)
    made.extend(items(messages))
    return made


def plain(found: Sequence[Mapping[str, Any]] | None) -> list[dict[str, Any]]:
    return [{k: v for k, v in one.items() if k not in ("serial", "uses")} for one in found or ()]


def test_a_read_and_an_edit_of_one_path_make_one_record_with_both_flags() -> None:
    found = book(
        call("Read", {"file_path": "a.py", "offset": 10, "limit": 5}), result(),
        call("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"}), result(),
    ).records("files")  # fmt: skip
    assert found == [
        {"path": "a.py", "offset": 10, "limit": 5, "read": True, "edited": True, "serial": 3, "uses": 2}
    ]


def test_a_later_read_of_the_whole_file_takes_offset_and_limit_away() -> None:
    found = book(
        call("Read", {"file_path": "a.py", "offset": 10, "limit": 5}), result(),
        call("Read", {"file_path": "a.py"}), result(),
    ).records("files")  # fmt: skip
    assert plain(found) == [{"path": "a.py", "read": True}]


def test_a_key_that_is_used_again_moves_to_the_newest_place() -> None:
    made = book(
        call("Read", {"file_path": "a"}), result(),
        call("Read", {"file_path": "b"}), result(),
        call("Read", {"file_path": "a"}), result(),
    )  # fmt: skip
    assert [one["path"] for one in made.records("files") or ()] == ["b", "a"]


def test_failed_calls_are_skipped_unless_the_rule_wants_them() -> None:
    made = book(call("Bash", {"command": "false"}), result("exit 1", failed=True))
    assert made.records("commands") == []
    assert plain(made.records("attempts")) == [{"command": "false"}]


def test_a_call_without_a_result_gives_no_record_until_the_result_comes() -> None:
    made = book(call("Bash", {"command": "ls"}))
    assert made.records("commands") == []
    made.extend(items([result()], start=2))
    assert plain(made.records("commands")) == [{"command": "ls"}]


def test_a_reused_id_pairs_with_the_newest_call_before_the_result() -> None:
    made = book(
        call("Bash", {"command": "one"}), result(),
        call("Bash", {"command": "two"}), result(),
        result(),
    )  # fmt: skip
    assert [one["command"] for one in made.records("commands") or ()] == ["one", "two"]


def test_parallel_calls_are_paired_by_id_whatever_the_order_of_their_results() -> None:
    both = {
        "role": "assistant",
        "content": [
            *call("Bash", {"command": "good"}, "a")["content"],
            *call("Bash", {"command": "bad"}, "b")["content"],
        ],
    }
    answers = {"role": "user", "content": [*result("x", "b", True)["content"], *result("y", "a")["content"]]}
    assert plain(book(both, answers).records("commands")) == [{"command": "good"}]


def test_a_pattern_gives_one_record_for_each_match() -> None:
    text = "*** Begin Patch\n*** Update File: a.py\n@@\n*** Update File: b/c.py\n@@\n*** End Patch"
    made = book(call("apply_patch", {"input": text}), result())
    assert [one["path"] for one in made.records("files") or ()] == ["a.py", "b/c.py"]


def test_a_star_gives_one_record_for_each_element_and_pairs_its_fields() -> None:
    rules = fact_rules(
        {
            "f": {
                "from": [
                    {"tools": ["x"], "take": {"path": "/files/*/path", "op": "/files/*/op", "why": "/why"}}
                ]
            }
        }
    )
    made = FactBook(rules, Categories({"x": ["X"]}))
    given_ = {"files": [{"path": "a", "op": 1}, {"path": "b"}, {"op": 3}], "why": "w"}
    made.extend(items([call("X", given_), result()]))
    assert plain(made.records("f")) == [{"path": "a", "op": 1, "why": "w"}, {"path": "b", "why": "w"}]


def test_the_text_of_a_result_is_taken_from_strings_and_from_lists_of_parts() -> None:
    parts = [
        {"type": "text", "text": "one"},
        {"type": "image", "source": {}},
        {"type": "text", "text": "two"},
    ]
    made = book(
        call("Skill", {"skill": "a"}), result("body"),
        call("Skill", {"skill": "b"}), result(parts),
    )  # fmt: skip
    assert plain(made.records("skills")) == [{"name": "a", "text": "body"}, {"name": "b", "text": "one\ntwo"}]


def test_only_the_newest_record_stays_of_a_fact_that_wants_the_last() -> None:
    made = book(
        call("TodoWrite", {"todos": [{"content": "a"}]}), result(),
        call("TodoWrite", {"todos": [{"content": "b"}]}), result(),
    )  # fmt: skip
    assert plain(made.records("todos")) == [{"items": [{"content": "b"}]}]


def test_a_record_that_was_read_does_not_follow_later_changes_of_the_hosts_message() -> None:
    message = call("TodoWrite", {"todos": [{"content": "a"}]})
    made = book(message, result())
    made.records("todos")
    message["content"][0]["input"]["todos"][0]["content"] = "changed"
    assert plain(made.records("todos")) == [{"items": [{"content": "a"}]}]


def test_user_messages_are_the_words_of_genuine_users_only() -> None:
    made = FactBook(RULES, TOOLS)
    texts = [("fix it", None), ("a summary", "summary"), ("/review", "command"), ("reminder", "reminder")]
    made.extend([MAKER.make(n, user(text), origin)[0] for n, (text, origin) in enumerate(texts, 1)])
    made.extend(items([result("not the user's")], start=9))
    assert made.records("user_messages") == [
        {"text": "fix it", "origin": "user", "serial": 1},
        {"text": "/review", "origin": "command", "serial": 3},
    ]


def test_errors_name_the_tool_and_keep_both_ends_of_a_long_text() -> None:
    made = book(call("Bash", {"command": "x"}), result("head" + "." * 5000 + "tail", failed=True))
    (error,) = made.records("errors") or ()
    assert error["tool"] == "Bash"
    assert error["text"].startswith("head")
    assert error["text"].endswith("tail")
    assert len(error["text"]) < 2100


def test_images_and_tool_names_are_always_there() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
    made = book(
        {"role": "user", "content": [{"type": "text", "text": "look"}, picture]},
        call("Read", {"file_path": "x.png"}), result([picture]),
    )  # fmt: skip
    assert made.records("images") == [{"block": 1, "serial": 1}, {"block": 0, "serial": 3}]
    assert plain(made.records("tool_names")) == [{"name": "Read"}]


def test_a_fact_nobody_declares_is_unknown() -> None:
    assert book().records("agents") is None
    assert book().records("errors") == []


def test_odd_messages_cost_no_record_and_raise_nothing() -> None:
    made = book(
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "a", "name": "Read", "input": "not a mapping"}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": None}]},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": 7, "name": "Bash", "input": {"command": "ls"}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": 7, "content": {"odd": 1}}]},
        {"role": "user", "content": None},
    )
    assert made.records("files") == []
    assert plain(made.records("commands")) == [{"command": "ls"}]


def test_of_call_tells_the_paths_of_a_call_without_its_result() -> None:
    assert book().of_call("files", "Read", {"file_path": "a", "offset": 3}) == [
        {"path": "a", "offset": 3, "read": True}
    ]
    assert book().of_call("files", "Bash", {"command": "ls"}) == []


def test_the_main_field_is_the_key_or_the_first_field_taken() -> None:
    made = book()
    assert made.main_field("files") == "path"
    assert made.main_field("commands") == "command"
    assert made.main_field("user_messages") == "text"
    assert made.main_field("deferred_tools") == "name"
    assert made.main_field("nothing_known") is None


PATHS = st.sampled_from(["a", "b", "c"])
STEPS = st.one_of(
    st.tuples(
        st.just("Read"), st.fixed_dictionaries({"file_path": PATHS}, optional={"offset": st.integers(1, 3)})
    ),
    st.tuples(st.just("Edit"), st.fixed_dictionaries({"file_path": PATHS})),
    st.tuples(st.just("Bash"), st.fixed_dictionaries({"command": st.sampled_from(["ls", "pwd"])})),
    st.tuples(
        st.just("TodoWrite"),
        st.fixed_dictionaries({"todos": st.lists(st.just({"content": "x"}), max_size=2)}),
    ),
)
NAMES = ("files", "commands", "todos", "attempts", "user_messages", "errors", "tool_names")


@given(st.lists(st.tuples(STEPS, st.booleans()), max_size=12), st.data())
@settings(max_examples=100, deadline=None)
def test_facts_are_the_same_in_one_go_piece_by_piece_and_after_a_restart(
    steps: list[tuple[tuple[str, dict[str, Any]], bool]], data: st.DataObject
) -> None:
    messages: list[dict[str, Any]] = [user("go")]
    for number, ((tool, given_), failed) in enumerate(steps):
        messages += [call(tool, given_, f"t{number}"), result("text", f"t{number}", failed)]
    path = items(messages)
    whole = FactBook(RULES, TOOLS)
    whole.extend(path)
    expected = {name: whole.records(name) for name in NAMES}

    cut = data.draw(st.integers(0, len(path)))
    pieces = FactBook(RULES, TOOLS)
    pieces.extend(path[:cut])
    for name in NAMES:
        pieces.records(name)
    pieces.extend(path[cut:])
    assert {name: pieces.records(name) for name in NAMES} == expected

    # Covered messages the host no longer has: their records come from the snapshot, through JSON.
    covered = 2 * data.draw(st.integers(0, len(steps))) + 1
    kept = json.loads(json.dumps(whole.snapshot(range(1, covered + 1))))
    restarted = FactBook(RULES, TOOLS)
    restarted.restore(kept)
    restarted.extend(path[covered:])
    assert {name: restarted.records(name) for name in NAMES} == expected

    # The host still has them: nothing is counted twice, before or after they were read.
    before = FactBook(RULES, TOOLS)
    before.restore(kept)
    before.extend(path)
    assert {name: before.records(name) for name in NAMES} == expected
    pieces.restore(kept)
    assert {name: pieces.records(name) for name in NAMES} == expected

    # The host still has some of them: a record merged from several messages is restored for the others only.
    gone = 2 * data.draw(st.integers(0, covered // 2)) + 1
    for early in (True, False):
        some = FactBook(RULES, TOOLS)
        if early:
            some.restore(kept)
        some.extend(path[gone:])
        if not early:
            some.restore(kept)
        assert {name: some.records(name) for name in NAMES} == expected
        assert some.snapshot(range(gone + 1, covered + 1)) == whole.snapshot(range(gone + 1, covered + 1))

    # What an undone commit had covered, and a later one with more: each message counts once.
    less = json.loads(json.dumps(whole.snapshot(range(1, gone + 1))))
    twice = FactBook(RULES, TOOLS)
    twice.restore(less)
    twice.restore(kept)
    twice.extend(path[covered:])
    assert {name: twice.records(name) for name in NAMES} == expected


@pytest.mark.parametrize(
    ("raw", "where", "word"),
    [
        (
            {"f": {"from": [{"tools": ["x"], "take": {"a": "path"}}]}},
            ("f", "from", 0, "take", "a"),
            "JSON pointer",
        ),
        (
            {"f": {"from": [{"tools": ["x"], "take": {"a": 3}}]}},
            ("f", "from", 0, "take", "a"),
            "JSON pointer",
        ),
        ({"f": {"key": "k", "from": [{"tools": ["x"], "take": {"a": "/a"}}]}}, ("f", "from", 0), "key k"),
        ({"f": {"from": [{"tools": ["x"]}]}}, ("f", "from", 0), "nothing is taken"),
        ({"f": {"from": [{"tools": ["x"], "take": {"serial": "/a"}}]}}, ("f", "from", 0), "serial"),
        ({"errors": {"from": []}}, ("errors",), "always there"),
        (
            {"f": {"from": [{"tools": ["x"], "take": {"a": {"pattern": "(?=a)", "in": "/a"}}}]}},
            ("f", "from", 0, "take", "a", "pattern"),
            "look-ahead",
        ),
        (
            {"f": {"from": [{"tools": ["x"], "take": {"a": {"pattern": "a+", "in": "/a"}}}]}},
            ("f", "from", 0, "take", "a", "pattern"),
            "no group",
        ),
    ],
)
def test_a_bad_rule_is_refused_with_its_place(
    raw: dict[str, Any], where: tuple[str | int, ...], word: str
) -> None:
    with pytest.raises(FactError) as caught:
        fact_rules(raw)
    assert caught.value.where == where
    assert word in caught.value.message


def test_times_are_read_from_numbers_datetimes_and_iso_texts() -> None:
    expected = datetime(2030, 1, 31, 12, 0, tzinfo=UTC).timestamp()
    assert moment(expected) == expected
    assert moment("2030-01-31T12:00:00Z") == expected
    assert moment("2030-01-31T12:00:00.000+00:00") == expected
    assert moment("2030-01-31T12:00:00") == expected
    assert moment(datetime(2030, 1, 31, 14, 0, tzinfo=timezone(timedelta(hours=2)))) == expected


@pytest.mark.parametrize(
    "value", ["yesterday", "", True, float("nan"), float("inf"), 1_900_000_000_000, None, []]
)
def test_what_is_no_time_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="not a time"):
        moment(value)


def test_missing_facts_are_unknown_and_never_guessed() -> None:
    facts = Facts()
    assert (facts.now, facts.caller, facts.usage, facts.error, facts.request) == (None,) * 5
    assert facts.records("plan") is None


def test_plain_values_become_records_with_their_main_field() -> None:
    facts = Facts(
        plan="do it", date="2030-01-31", deferred_tools=["A", "B"], plan_mode=True, goal=False,
        files=["a.py"],
        agents={"id": "x", "status": "running"}, skills=[], todos=[{"content": "one"}],
    )  # fmt: skip
    assert facts.records("plan") == [{"text": "do it"}]
    assert facts.records("date") == [{"date": "2030-01-31"}]
    assert facts.records("deferred_tools") == [{"name": "A"}, {"name": "B"}]
    assert facts.records("plan_mode") == [{}]
    assert facts.records("goal") == []
    assert facts.records("files") == [{"path": "a.py"}]
    assert facts.records("agents") == [{"id": "x", "status": "running"}]
    assert facts.records("skills") == []
    assert facts.records("todos") == [{"items": [{"content": "one"}]}]
    assert Facts(todos=[{"items": [1]}]).records("todos") == [{"items": [1]}]
    assert Facts(things=["x"]).records("things", "name") == [{"name": "x"}]


def test_facts_are_read_from_plain_data() -> None:
    facts = Facts.of(
        {
            "now": "2030-01-31T12:00:00Z",
            "usage": {"input_tokens": 5, "cache_read_input_tokens": None, "output_tokens": 2},
            "error": {"message": "prompt is too long", "status": 400},
            "request": {"name": "snip", "messages": [3, "id"], "from": 4},
            "plan": "p",
        }
    )
    assert facts.usage == Usage(input=5, output=2)
    assert Facts.of({"usage": {"input_tokens": 0}}).usage is None
    assert facts.error == ApiError("prompt is too long", 400)
    assert facts.request == ManualRequest(name="snip", messages=(3, "id"), from_=4)
    assert facts.records("plan") == [{"text": "p"}]
    assert Facts.of({"request": "compact"}).request == ManualRequest()


def test_an_unknown_key_of_a_request_is_an_error() -> None:
    with pytest.raises(ValueError, match="instruction"):
        ManualRequest.of({"instruction": "x"})


def test_facts_keep_their_own_copy_of_what_the_host_gives() -> None:
    todos = [{"content": "a"}]
    facts = Facts(todos=todos)
    expected = copy.deepcopy(facts.records("todos"))
    todos[0]["content"] = "b"
    assert facts.records("todos") == expected


# --- providers


def test_a_provider_is_asked_when_its_fact_is_first_needed_and_only_once() -> None:
    asked: list[str] = []

    def plan() -> str:
        asked.append("plan")
        return "do it"

    facts = Facts(plan=plan, todos=lambda: asked.append("todos"))
    assert asked == []
    assert [facts.records("plan") for _ in range(3)] == [[{"text": "do it"}]] * 3
    assert asked == ["plan"]
    assert facts.failed == {}


def test_a_provider_that_knows_nothing_leaves_its_fact_unknown() -> None:
    assert Facts(plan=lambda: None).records("plan") is None
    assert Facts(plan=list).records("plan") == []


def test_a_provider_that_raises_leaves_its_fact_unknown_and_says_why() -> None:
    def plan() -> str:
        raise OSError(5, "the disk is gone")

    facts = Facts(plan=plan, goal=lambda: 1 / 0)
    assert facts.records("plan") is None
    assert facts.records("plan") is None
    assert facts.failed == {"plan": "OSError: [Errno 5] the disk is gone"}
    assert facts.records("goal") is None
    assert "ZeroDivisionError" in facts.failed["goal"]


def test_a_provider_that_is_interrupted_interrupts_the_run() -> None:
    def plan() -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Facts(plan=plan).records("plan")


def test_an_asynchronous_provider_is_refused_in_words() -> None:
    async def plan() -> str:
        return "do it"

    with pytest.raises(ValueError, match="await it before the run"):
        Facts(plan=plan)
    facts = Facts(plan=lambda: plan())
    assert facts.records("plan") is None
    assert "awaitable" in facts.failed["plan"]


def test_what_a_provider_gave_is_the_facts_own_copy() -> None:
    todos = [{"content": "a"}]
    facts = Facts(todos=lambda: todos)
    expected = copy.deepcopy(facts.records("todos"))
    todos[0]["content"] = "b"
    assert facts.records("todos") == expected


def test_facts_a_pack_declares_are_taken_under_any_name() -> None:
    assert Facts(harbours=["Bremen"]).records("harbours", "name") == [{"name": "Bremen"}]


def test_the_page_on_host_facts_names_every_fact() -> None:
    page = (data_root() / "docs" / "host-facts.md").read_text("utf-8")
    special = {"now", "caller", "usage", "error", "request", "declared", "self"}
    names = set(inspect.signature(Facts.__init__).parameters) - special
    assert [name for name in sorted(names) if f"`{name}`" not in page] == []


def test_facts_may_be_had_with_some_of_them_changed() -> None:
    facts = Facts(now=5, caller="main", usage=Usage(9), plan="do it", tickets=["a"])
    other = facts.but(usage=None, plan="do the other")
    assert other == Facts(now=5, caller="main", plan="do the other", tickets=["a"])
    assert facts.usage == Usage(9)
