"""Read states of files (REFERENCE R38), and what a run makes void (R31, FAULTS E3)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.scenes import Session, bash, calls, image, read, results, says, user

from trimtab.filestate import BYTES, ENTRIES, Cleared, FileStates, cleared_between, normalised

TOOLS = {"read": ["Read"], "edit": ["Edit"], "shell": ["Bash"]}
FACTS = {
    "files": {
        "key": "path",
        "from": [
            {"tools": ["read"], "take": {"path": "/file_path"}, "set": {"read": True}},
            {"tools": ["edit"], "take": {"path": "/file_path"}, "set": {"edited": True}},
        ],
    }
}


# --- states


def test_r38_the_file_state_cache_holds_100_entries_and_25_megabytes() -> None:
    assert (ENTRIES, BYTES) == (100, 25 * 1024 * 1024)
    states = FileStates()
    for number in range(101):
        states.put(f"/{number}", "x")
    assert len(states) == 100
    assert "/0" not in states
    large = FileStates()
    for number in range(3):
        large.put(f"/{number}", "x" * (10 * 1024 * 1024))
    assert [state.path for state in large] == ["/1", "/2"]


def test_r38_the_state_used_longest_ago_goes_first() -> None:
    states = FileStates(entries=2)
    states.put("/a", "1")
    states.put("/b", "2")
    assert states.get("/a") is not None
    states.put("/c", "3")
    assert [state.path for state in states] == ["/a", "/c"]


def test_r38_all_spellings_of_a_path_are_one_file() -> None:
    states = FileStates("/srv/app")
    states.put("src/../main.py", "x", mtime=5.0)
    for path in ("main.py", "./main.py", "/srv/app/main.py", "/srv//app/x/../main.py"):
        found = states.get(path)
        assert found is not None
        assert found.path == "/srv/app/main.py"
    states.put("main.py", "y")
    assert len(states) == 1
    assert states.bytes == 1


@pytest.mark.parametrize(
    ("path", "root", "expected"),
    [
        ("a.py", "", "a.py"),
        ("//a/b", "", "/a/b"),
        ("../a", "/w/x", "/w/a"),
        ("C:\\App\\Main.py", "", "c:\\app\\main.py"),
        ("c:/app/x/../Main.py", "", "c:\\app\\main.py"),
        ("src\\Main.py", "D:\\App", "d:\\app\\src\\main.py"),
    ],
)
def test_paths_are_normalised_without_the_disk(path: str, root: str, expected: str) -> None:
    assert normalised(path, root) == expected


def test_r38_an_edit_needs_a_whole_and_fresh_read() -> None:
    states = FileStates()
    assert "not been read" in str(states.why_not_edit("/a"))
    states.put("/a", "one", mtime=1.0, offset=10)
    assert states.get("/a").is_partial_view  # type: ignore[union-attr]  # it was put there
    assert "only a part" in str(states.why_not_edit("/a"))
    states.put("/a", "one", mtime=1.0)
    assert states.why_not_edit("/a", 1.0) is None
    assert states.why_not_edit("/a") is None
    assert "changed" in str(states.why_not_edit("/a", 2.0))


def test_a_whole_listing_may_still_be_a_partial_view() -> None:
    states = FileStates()
    assert states.put("/a", "head only", partial=True).is_partial_view
    assert not states.put("/a", "all of it", limit=2000, partial=False).is_partial_view


def test_equal_contents_have_equal_digests() -> None:
    states = FileStates()
    one, two = states.put("/a", "same \ud800"), states.put("/b", "same \ud800")
    assert one.digest == two.digest != states.put("/c", "other").digest


def test_what_is_larger_than_all_room_is_not_kept_and_replaces_nothing_else() -> None:
    states = FileStates(size=10)
    states.put("/a", "12345")
    states.put("/b", "x" * 11)
    assert [state.path for state in states] == ["/a"]
    states.put("/a", "y" * 11)
    assert (len(states), states.bytes) == (0, 0)


def test_r38_a_sub_agent_gets_states_of_its_own() -> None:
    states = FileStates("/w")
    states.put("a", "1")
    twin = states.clone()
    twin.put("b", "2")
    twin.drop("a")
    assert ("a" in states, "b" in states, len(twin)) == (True, False, 1)
    assert twin.key("x") == "/w/x"


def test_states_are_records_of_the_fact_files() -> None:
    states = FileStates()
    states.put("/a", "1", offset=3, limit=9)
    states.put("/b", "2")
    assert states.records() == [
        {"path": "/a", "offset": 3, "limit": 9, "read": True},
        {"path": "/b", "read": True},
    ]


def test_r31_a_full_compaction_forgets_every_read_and_a_smaller_one_what_it_names() -> None:
    states = FileStates()
    for path in ("/a", "/b"):
        states.put(path, "x")
    states.forget(Cleared(("t1",), ("/x/../a",)))
    assert [state.path for state in states] == ["/b"]
    states.forget(Cleared(compacted=True))
    assert (len(states), states.bytes) == (0, 0)


STEPS = st.lists(
    st.tuples(st.sampled_from(["put", "get", "drop"]), st.sampled_from("abcdef"), st.integers(0, 12)),
    max_size=40,
)


@settings(max_examples=60)
@given(STEPS)
def test_the_room_is_never_exceeded_and_always_counted(steps: list[tuple[str, str, int]]) -> None:
    states = FileStates(entries=4, size=20)
    for what, path, size in steps:
        if what == "put":
            states.put(path, "x" * size)
            assert path in states
        elif what == "get":
            states.get(path)
        else:
            states.drop(path)
            assert path not in states
        assert len(states) <= 4
        assert states.bytes == sum(state.size for state in states) <= 20


# --- what a run clears


def session(*messages: Any) -> Session:
    return Session([user("go"), *messages], tools=TOOLS, fact_rules=FACTS)


def cleared(s: Session, stage: dict[str, Any]) -> Cleared:
    before = s.scene()
    s.run(stage)
    return cleared_between(before, s.scene())


def clear(keep: int = 0, text: str = "[cleared]", **select: Any) -> dict[str, Any]:
    stage = {"kind": "replace", "select": {"blocks": ["tool_result"], **select}, "text": text}
    return {**stage, "keep": {"newest": {"items": keep}}} if keep else stage


LONG = "line of the file\n" * 20


def test_a_run_that_clears_nothing_voids_nothing() -> None:
    s = session(*read("a", "/a.py", LONG), says("ok"))
    found = cleared_between(s.scene(), s.scene())
    assert found == Cleared()
    assert not found


def test_cleared_reads_are_named_by_call_and_by_path() -> None:
    s = session(*read("a", "/a.py", LONG), *bash("b", "ls", LONG), *read("c", "/c.py", LONG), says("ok"))
    found = cleared(s, clear(keep=1))
    assert found == Cleared(("a", "b"), ("/a.py",))
    assert found


def test_a_file_of_which_another_read_is_still_shown_is_not_void() -> None:
    s = session(*read("a", "/a.py", LONG), *read("b", "/a.py", LONG + "x"), says("ok"))
    assert cleared(s, clear(keep=1)) == Cleared(("a",), ())


def test_a_file_whose_other_read_was_cleared_before_is_void() -> None:
    s = session(*read("a", "/a.py", LONG), *read("b", "/a.py", LONG), says("ok"))
    assert cleared(s, clear(keep=1)).paths == ()
    assert cleared(s, clear()) == Cleared(("b",), ("/a.py",))


def test_an_edit_whose_result_is_cleared_voids_no_read() -> None:
    edit = [calls(("e", "Edit", {"file_path": "/a.py"})), results(("e", LONG))]
    s = session(*read("r", "/a.py", LONG + "y"), *edit, says("ok"))
    assert cleared(s, clear(tools=["edit"])) == Cleared(("e",), ())


def test_messages_that_are_dropped_take_their_reads_along() -> None:
    s = session(*read("a", "/a.py", LONG), says("ok"), user("next"))
    stage = {"kind": "drop", "select": {"age": {"turns": {"at_least": 1}}}}
    assert cleared(s, stage) == Cleared(("a",), ("/a.py",))


def test_a_mark_behind_a_result_takes_nothing_away() -> None:
    s = session(*read("a", "/a.py", LONG), *read("b", "/b.py", ""), *read("c", "/c.py", [image()]))
    marks = {
        "kind": "attach",
        "place": "each",
        "select": {"origins": ["tool"]},
        "from": [{"text": "[{{ id }}]"}],
    }
    assert cleared(s, marks) == Cleared()


def test_an_image_that_goes_is_something_lost() -> None:
    s = session(*read("a", "/a.png", [image(), {"type": "text", "text": "a picture"}]), says("ok"))
    stage = {"kind": "replace", "select": {"blocks": ["tool_result"]}, "text": "a picture, cleared"}
    assert cleared(s, stage) == Cleared(("a",), ("/a.png",))


def test_a_provider_may_use_an_id_again_in_each_turn() -> None:
    s = session(
        *read("x", "/old.py", LONG), says("ok"), user("next"), *read("x", "/new.py", LONG), says("ok")
    )
    assert cleared(s, clear(keep=1)) == Cleared(("x",), ("/old.py",))
