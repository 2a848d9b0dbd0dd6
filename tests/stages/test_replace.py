from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from tests.scenes import Ports, Session, bash, calls, image, read, results, says, stage_of, user

from trimtab.conversation.edits import Rewrite, Spot
from trimtab.conversation.items import MEDIA
from trimtab.conversation.request import Info
from trimtab.effects import AskFailed, EffectFailed, Reply
from trimtab.naming import safe_name
from trimtab.policy.proposal import Proposal
from trimtab.policy.selection import candidates
from trimtab.stages._preview import head_end, tail_start
from trimtab.templating import Text
from trimtab.tokens.estimate import estimate

TOOLS = {"read": ["Read"], "shell": ["Bash"], "edit": ["Write"]}
FILES = {"files": {"key": "path", "from": [{"tools": ["read"], "take": {"path": "/file_path"}}]}}
RESULTS = {"blocks": ["tool_result"]}


def session(*messages: Any, **more: Any) -> Session:
    return Session([user("Find the leak."), *messages], tools=TOOLS, fact_rules=FILES, **more)


def replacing(text: str = "[cleared]", select: Any = RESULTS, **more: Any) -> dict[str, Any]:
    return {"kind": "replace", "select": select, "text": text, **more}


# --- what is replaced


def test_equal_texts_are_one_edit_with_many_spots() -> None:
    s = session(*bash("a", "ls", "x" * 400), *bash("b", "ls", "y" * 400))
    proposal = s.run(replacing())
    assert proposal.edits == (Rewrite((Spot(3, 0), Spot(5, 0)), {"content": "[cleared]"}),)
    assert proposal.items == 2
    assert s.texts == [
        "Find the leak.",
        "Bash({'command': 'ls'})",
        "[cleared]",
        "Bash({'command': 'ls'})",
        "[cleared]",
    ]


def test_a_text_that_is_not_shorter_is_not_used_and_counted() -> None:
    proposal = session(*bash("a", "ls", "short")).propose(replacing())
    assert proposal.edits == ()
    assert proposal.remarks == {"not_smaller": 1}
    assert proposal.reason is not None
    assert "smaller" in proposal.reason


@pytest.mark.parametrize("content", ["", "  \n", [], None, [{"type": "text", "text": " "}]])
def test_an_empty_result_gets_its_text_although_that_grows(content: Any) -> None:
    s = session(*bash("a", "true", content))
    proposal = s.run(replacing("({{ tool }} completed with no output)", {**RESULTS, "empty": True}))
    assert s.texts[-1] == "(Bash completed with no output)"
    assert proposal.remarks["may_grow"]["items"] == 1
    assert proposal.remarks["may_grow"]["tokens"] > 0


def test_thinking_is_never_replaced() -> None:
    thought = {"type": "thinking", "thinking": "hm " * 200, "signature": "s"}
    s = session({"role": "assistant", "content": [thought, {"type": "text", "text": "Done."}]})
    proposal = s.propose(replacing(select={"blocks": ["thinking"]}))
    assert proposal.edits == ()
    assert proposal.reason == "nothing that can be replaced"


def test_kept_results_stay() -> None:
    s = session(*bash("a", "ls", "x" * 400), *bash("b", "ls", "y" * 400), *bash("c", "ls", "z" * 400))
    s.run(replacing(keep={"newest": {"items": 2}}))
    assert [len(text) for text in s.texts[2::2]] == [9, 400, 400]


def test_a_second_run_does_nothing() -> None:
    s = session(*bash("a", "ls", "x" * 400))
    s.run(replacing())
    assert s.run(replacing()).edits == ()


def test_an_error_stays_an_error() -> None:
    s = session(calls(("a", "Bash", {"command": "x"})), results(("a", "e" * 500), error=True))
    s.run(replacing())
    block = s.shown[-1]["content"][0]
    assert block == {"type": "tool_result", "tool_use_id": "a", "content": "[cleared]", "is_error": True}


def test_a_selected_image_becomes_a_text_block_of_nothing_else() -> None:
    s = Session(
        [{"role": "user", "content": [image(), {"type": "text", "text": "See?"}]}, says("Yes."), user("And?")]
    )
    s.run(replacing("[{{ block }} removed]", {"blocks": ["image"]}))
    assert s.shown[0]["content"] == [
        {"type": "text", "text": "[image removed]"},
        {"type": "text", "text": "See?"},
    ]


def test_a_cache_mark_of_a_replaced_image_stays_where_it_was() -> None:
    block = {**image(), "cache_control": {"type": "ephemeral"}}
    s = Session([{"role": "user", "content": [block]}, says("Yes."), user("And?")])
    s.run(replacing("[image]", {"blocks": ["image"]}))
    assert s.shown[0]["content"] == [
        {"type": "text", "text": "[image]", "cache_control": {"type": "ephemeral"}}
    ]


def test_a_result_with_an_image_is_replaced_whole_even_by_more_characters_than_it_has() -> None:
    s = session(*bash("a", "shot", [image(), {"type": "text", "text": "ok"}]))
    s.run(replacing("[a screenshot stood here]"))
    assert s.texts[-1] == "[a screenshot stood here]"


def test_citations_go_with_the_text_that_had_them() -> None:
    block = {
        "type": "text",
        "text": "long " * 100,
        "citations": [{"type": "char_location", "document_index": 0}],
    }
    s = session({"role": "assistant", "content": [block]})
    s.run(replacing(select={"blocks": ["text"], "origins": ["assistant"]}))
    assert s.shown[1]["content"] == [{"type": "text", "text": "[cleared]"}]


def test_a_message_selected_whole_loses_its_words_and_results_but_no_arguments() -> None:
    s = session(
        calls(("a", "Write", {"content": "c" * 900}), text="I write it. " * 40),
        results(("a", "written " * 90)),
        user("next"),
    )
    s.run(replacing(select={"age": {"turns": {"at_least": 1}}, "origins": ["assistant", "tool"]}))
    assert s.texts[1:3] == [f"[cleared]|Write({{'content': '{'c' * 900}'}})", "[cleared]"]


def test_the_last_user_message_is_only_shortened_by_a_stage_with_a_store_that_names_users() -> None:
    long = [user("paste " * 500)]
    select = {"blocks": ["text"], "origins": ["user"]}
    s = Session(long)
    assert s.run(replacing("[cleared]", select)).edits == ()
    s.run(replacing("[in {{ path }}]", select, store="pastes"))
    assert s.texts[0].startswith("[in /store/pastes/1-")


def test_pinned_messages_stay() -> None:
    s = Session([user("go"), *bash("a", "ls", "x" * 400)], infos=[None, None, Info(pinned=True)])
    assert s.run(replacing()).edits == ()


# --- variables


def test_a_text_may_name_tool_id_file_and_sizes() -> None:
    s = session(*read("a", "/x/leak.py", "ä\n" * 100))
    s.run(
        replacing(
            "{{ id }} {{ tool }} {{ block }} {{ file }} {{ size.chars }} {{ size.bytes }} {{ size.lines }}"
        )
    )
    assert s.texts[-1] == "a Read tool_result /x/leak.py 200 300 100"


def test_a_text_may_name_what_is_common_to_all_blocks() -> None:
    s = session(
        *bash("a", "ls", "x" * 400), settings={"who": "us"}, limits={"half": "window / 2"}, window=1000
    )
    s.run(
        replacing(
            "{{ event }} {{ automatic }} {{ settings.who }} {{ limits.half }} {{ messages }} {{ model }}"
        )
    )
    assert s.texts[-1] == "before_request true us 500 3 claude-sonnet-4-5"


def test_a_metric_nobody_knows_is_shown_as_nothing() -> None:
    s = session(*bash("a", "ls", "x" * 400))
    s.run(replacing("idle for [{{ idle_minutes }}]"))
    assert s.texts[-1] == "idle for []"


def test_a_text_that_cannot_be_rendered_fails_the_stage_and_says_where() -> None:
    proposal = session(*bash("a", "ls", "x" * 400)).propose(replacing("{{ size.pages }}"))
    assert proposal.edits == ()
    assert proposal.failure == "error"
    assert proposal.reason is not None
    assert "pages" in proposal.reason


def test_a_quantity_without_a_value_fails_the_stage() -> None:
    stage = replacing("{{ head }}…", preview={"head": {"chars": "window - 1000"}})
    proposal = session(*bash("a", "ls", "x" * 4000), window=500).propose(stage)
    assert proposal.failure == "error"


def test_a_text_that_is_the_same_for_all_blocks_is_rendered_and_counted_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rounds = [message for n in range(60) for message in bash(f"t{n}", "ls", "x" * 400)]
    s = session(*rounds)
    stage = stage_of(replacing("[cleared at {{ messages }}]"))
    scene = s.scene()
    scene.stage = stage
    assert stage.select is not None
    scene.chosen = candidates(scene, stage.select, scene.protection())
    rendered: list[str] = []
    counted: list[str] = []
    render = Text.render

    def counting(self: Text, variables: Any) -> str:
        rendered.append(self.source)
        return render(self, variables)

    def count(text: str) -> int:
        counted.append(text)
        return 5

    monkeypatch.setattr(Text, "render", counting)
    monkeypatch.setattr(s.maker, "count", count)
    assert stage.params is not None
    proposal = stage.params.propose(scene)
    assert isinstance(proposal, Proposal)
    assert proposal.items == 60
    assert len(rendered) == 1
    assert counted == ["[cleared at 121]"]


# --- preview


def preview(text: str, content: str, **ends: Any) -> str:
    s = session(*bash("a", "ls", content))
    s.run(replacing(text, preview=ends))
    return s.texts[-1]


@pytest.mark.parametrize(
    ("end", "head", "tail"),
    [
        ({"chars": 5}, "line ", "e 49\n"),
        ({"bytes": 5}, "line ", "e 49\n"),
        ({"lines": 2}, "line 0\nline 1", "line 48\nline 49\n"),
        ({"lines": 0}, "", ""),
    ],
)
def test_head_and_tail_are_cut_in_the_unit_named(end: dict[str, int], head: str, tail: str) -> None:
    content = "".join(f"line {n}\n" for n in range(50))
    assert preview("{{ head }}<|>{{ tail }}", content, head=end, tail=end) == f"{head}<|>{tail}"


def test_what_is_left_out_is_told_in_every_unit() -> None:
    content = "".join(f"line {n}\n" for n in range(50))
    shown = preview("{{ elided.chars }} {{ elided.bytes }} {{ elided.lines }}", content, head={"chars": 14})
    assert shown == f"{len(content) - 14} {len(content) - 14} 48"


def test_a_text_that_the_preview_would_show_whole_stays() -> None:
    content = "x" * 100
    assert preview("{{ head }}{{ tail }}", content, head={"chars": 60}, tail={"chars": 60}) == content


def test_a_preview_without_a_tail_shows_no_tail() -> None:
    assert preview("{{ head }}[{{ tail }}]", "abc" * 100, head={"chars": 3}) == "abc[]"


def test_a_character_is_never_cut_in_two() -> None:
    assert preview("{{ head }}|{{ tail }}", "äöü" * 50, head={"bytes": 5}, tail={"bytes": 3}) == "äö|ü"


def test_a_letter_keeps_its_accent_and_a_line_break_both_its_halves() -> None:
    assert head_end("e\u0301e\u0301", "chars", 3, estimate) == 2
    assert tail_start("e\u0301e\u0301", "chars", 1, estimate) == 4
    assert head_end("ab\r\ncd", "chars", 3, estimate) == 2


TEXTS = st.text(st.characters(codec=None) | st.sampled_from("\n\r \u0301\ud800ä漢😀"), max_size=300)


@hypothesis_settings(max_examples=150)
@given(
    TEXTS, st.sampled_from(["chars", "bytes", "lines", "tokens"]), st.integers(0, 400), st.integers(0, 400)
)
def test_previews_stay_within_their_budgets_and_apart(text: str, unit: str, head: int, tail: int) -> None:
    end = head_end(text, unit, head, estimate)
    start = tail_start(text, unit, tail, estimate)
    assert 0 <= end <= len(text)
    assert 0 <= start <= len(text)

    def size(part: str) -> int:
        if unit == "tokens":
            return estimate(part)
        if unit == "lines":
            return part.count("\n") + (1 if part and part[-1] != "\n" else 0)
        return len(part) if unit == "chars" else len(part.encode("utf-8", "surrogatepass"))

    assert size(text[:end]) <= head
    assert size(text[start:]) <= tail


# --- store


def test_the_original_is_stored_before_the_text_may_name_its_path() -> None:
    s = session(*bash("a", "make", "log " * 500))
    proposal = s.run(replacing("[whole output: {{ path }}]", store="tool-results"))
    name = f"tool-results/{safe_name('a', 'log ' * 500)}"
    assert s.ports.store.texts == {name: "log " * 500}
    assert proposal.stored == {Spot(3, 0): name}
    assert s.texts[-1] == f"[whole output: /store/{name}]"


def test_a_write_that_fails_fails_the_stage_and_leaves_everything() -> None:
    s = session(*bash("a", "make", "log " * 500), ports=Ports(store_fails=True))
    before = s.texts
    with pytest.raises(EffectFailed, match="no space left"):
        s.run(replacing("[{{ path }}]", store="tool-results"))
    assert s.texts == before


def test_what_would_not_be_used_is_not_stored() -> None:
    s = session(*bash("a", "make", "short"))
    assert s.run(replacing("[whole output: {{ path }}]", store="tool-results")).stored == {}
    assert s.ports.puts == []


def test_a_result_of_text_parts_is_stored_as_text_and_one_with_an_image_as_json() -> None:
    parts: list[Any] = [{"type": "text", "text": "one " * 200}, {"type": "text", "text": "two"}]
    s = session(*bash("a", "make", parts), *bash("b", "shot", [*parts, image()]))
    s.run(replacing("[{{ path }}]", store="r"))
    text, whole = s.ports.store.texts.values()
    assert text == "one " * 200 + "\ntwo"
    assert json.loads(whole) == [*parts, image()]


def test_ids_of_any_length_and_shape_make_safe_names() -> None:
    s = session(*bash("../" * 600, "make", "log " * 500))
    s.run(replacing("[{{ path }}]", store="r"))
    (name,) = s.ports.store.texts
    assert len(name) < 100
    assert ".." not in name


@pytest.mark.parametrize("way", ["{path}", "cat {path} | tail", "less ../elsewhere/{file}"])
def test_reading_a_stored_file_back_is_never_stored_again(way: str) -> None:
    s = session(*bash("a", "make", "log " * 500))
    stage = replacing("[whole output: {{ path }}]", store="tool-results")
    s.run(stage)
    path = "/store/" + next(iter(s.ports.store.texts))
    command = way.format(path=path, file=path.rsplit("/", 1)[1])
    s.append([*bash("b", command, "log " * 500)])
    proposal = s.run(stage)
    assert proposal.edits == ()
    assert proposal.remarks == {"reads_of_stored_files": 1}
    assert proposal.reason == "all that matches are reads of stored files"
    assert s.texts[-1] == "log " * 500


def test_other_files_with_such_names_are_stored_like_any() -> None:
    s = session(*bash("a", "make", "log " * 500))
    stage = replacing("[whole output: {{ path }}]", store="tool-results")
    s.run(stage)
    s.append([*bash("b", "cat notes-0123456789ab.txt", "other " * 500)])
    assert s.run(stage).items == 1


def test_clearing_without_a_store_also_takes_reads_of_stored_files() -> None:
    s = session(*bash("a", "make", "log " * 500))
    s.run(replacing("[whole output: {{ path }}]", store="tool-results"))
    s.append([*bash("b", "cat /store/" + next(iter(s.ports.store.texts)), "log " * 500)])
    s.run(replacing("[cleared]", id="clear"))
    assert s.texts[-1] == "[cleared]"


# --- pattern


def redacting(text: str = "[key]", pattern: str = "sk-[a-z0-9]+", **more: Any) -> dict[str, Any]:
    return replacing(text, {"blocks": ["tool_result", "tool_use", "text"]}, pattern=pattern, **more)


def test_a_pattern_replaces_only_its_matches_in_words_results_and_arguments() -> None:
    s = Session(
        [
            user("My key is sk-abc1, keep it."),
            calls(("a", "Bash", {"command": "login sk-abc1", "env": {"KEY": ["sk-abc1", 3]}})),
            results(("a", [{"type": "text", "text": "ok sk-abc1 sk-x"}, image()])),
            user("go on"),
        ]
    )
    s.run(redacting())
    assert s.shown[0]["content"] == [{"type": "text", "text": "My key is [key], keep it."}]
    assert s.shown[1]["content"][0]["input"] == {"command": "login [key]", "env": {"KEY": ["[key]", 3]}}
    assert s.shown[2]["content"][0]["content"] == [{"type": "text", "text": "ok [key] [key]"}, image()]


def test_a_pattern_over_whole_messages_also_looks_into_arguments() -> None:
    s = session(
        calls(("a", "Bash", {"command": "login sk-abc1"})), results(("a", "ok sk-abc1")), user("next")
    )
    s.run({**redacting(), "select": {"origins": ["assistant", "tool"]}})
    assert s.texts[1:3] == ["Bash({'command': 'login [key]'})", "ok [key]"]


def test_a_match_may_grow() -> None:
    s = session(*bash("a", "env", "k=sk-a"))
    proposal = s.run(redacting("[a key that was taken out]"))
    assert s.texts[-1] == "k=[a key that was taken out]"
    assert proposal.remarks["may_grow"]["items"] == 1


def test_the_text_of_a_match_is_taken_as_it_is() -> None:
    s = session(*bash("a", "env", "k=sk-a"))
    s.run(redacting(r"\1\g<0>"))
    assert s.texts[-1] == r"k=\1\g<0>"


def test_sizes_in_the_text_of_a_match_are_those_of_the_match() -> None:
    s = session(*bash("a", "env", "k=sk-abcde"))
    s.run(redacting("<{{ size.chars }}>"))
    assert s.texts[-1] == "k=<8>"


def test_a_pattern_without_a_match_changes_nothing() -> None:
    assert session(*bash("a", "env", "nothing here")).propose(redacting()).edits == ()


# --- arguments of calls


def test_only_the_strings_of_the_size_named_are_shortened_and_all_keys_stay() -> None:
    given_ = {
        "file_path": "/a/b.py",
        "edits": [{"old": "o" * 300, "new": "n"}, 7, None],
        "deep": {"new": "w" * 400},
    }
    s = session(calls(("a", "Write", given_)), results(("a", "written")))
    stage = replacing("[{{ size.chars }} chars]", {"blocks": ["tool_use"], "size": {"chars": {"above": 200}}})
    s.run(stage)
    assert s.shown[1]["content"][0] == {
        "type": "tool_use",
        "id": "a",
        "name": "Write",
        "input": {
            "file_path": "/a/b.py",
            "edits": [{"old": "[300 chars]", "new": "n"}, 7, None],
            "deep": {"new": "[400 chars]"},
        },
    }


def test_arguments_are_stored_whole_as_json() -> None:
    given_ = {"file_path": "/a", "content": "c" * 900}
    s = session(calls(("a", "Write", given_)), results(("a", "written")))
    s.run(
        replacing(
            "[in {{ path }}]", {"blocks": ["tool_use"], "size": {"chars": {"above": 500}}}, store="calls"
        )
    )
    (text,) = s.ports.store.texts.values()
    assert json.loads(text) == given_


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@hypothesis_settings(max_examples=60)
@given(st.dictionaries(st.text(max_size=5), JSON, max_size=4))
def test_shortened_arguments_keep_their_shape(given_: dict[str, Any]) -> None:
    s = session(calls(("a", "Write", given_)), results(("a", "written")))
    s.run(replacing("[…]", {"blocks": ["tool_use"]}))

    def shape(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: shape(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [shape(inner) for inner in value]
        return str if isinstance(value, str) else value

    after = s.shown[1]["content"][0]["input"]
    assert shape(after) == shape(given_)
    assert len(json.dumps(after, ensure_ascii=False)) <= len(json.dumps(given_, ensure_ascii=False))


# --- order and fit


def test_no_more_is_replaced_than_the_view_needs_to_fit() -> None:
    rounds = [message for n in range(10) for message in bash(f"t{n}", "ls", f"word {n} " * 400)]
    s = session(*rounds)
    size = s.scene().tokens
    one = s.path[2].total
    proposal = s.run(replacing(fit={"per": "view", "tokens": size - 3 * one + 60}))
    assert proposal.items == 3
    assert s.texts[2:7:2] == ["[cleared]"] * 3
    assert s.scene().tokens <= size - 3 * one + 60


def test_the_newest_go_first_if_order_says_so() -> None:
    rounds = [message for n in range(4) for message in bash(f"t{n}", "ls", f"word {n} " * 400)]
    s = session(*rounds)
    s.run(replacing(order="newest", fit={"per": "view", "tokens": s.scene().tokens - 10}))
    assert [len(text) < 20 for text in s.texts[2::2]] == [False, False, False, True]


@pytest.mark.parametrize("unit", ["bytes", "chars"])
def test_a_view_may_have_to_fit_in_bytes_or_characters(unit: str) -> None:
    s = session(*bash("a", "ls", "x" * 5000), *bash("b", "ls", "y" * 5000))
    scene = s.scene()
    now = scene.bytes if unit == "bytes" else sum(sum(item.chars) for item in s.items)
    assert s.run(replacing(fit={"per": "view", unit: now - 4000})).items == 1
    assert [len(text) for text in s.texts[2::2]] == [9, 5000]


def test_a_message_may_have_to_fit_in_bytes() -> None:
    s = session(calls(("a", "Bash", {}), ("b", "Bash", {})), results(("a", "ä" * 300), ("b", "y" * 500)))
    s.run(replacing(order="largest", fit={"per": "message", "bytes": 600}))
    assert s.texts[-1] == "[cleared]|" + "y" * 500


def test_a_view_that_fits_is_left_alone() -> None:
    proposal = session(*bash("a", "ls", "x" * 400)).propose(replacing(fit={"per": "view", "tokens": 100_000}))
    assert proposal.edits == ()
    assert proposal.reason == "everything fits"


def test_of_three_results_in_one_message_only_the_largest_goes_if_that_is_enough() -> None:
    given_ = [("a", "x" * 120_000), ("b", "y" * 90_000), ("c", "z" * 20_000)]
    s = session(calls(*[(id, "Bash", {"command": id}) for id, _ in given_]), results(*given_))
    stage = replacing("[{{ path }}]", store="r", order="largest", fit={"per": "message", "chars": 200_000})
    assert s.run(stage).items == 1
    assert [len(block["content"]) > 1000 for block in s.shown[2]["content"]] == [False, True, True]


def test_what_a_keep_spares_counts_to_its_message_and_stays() -> None:
    found = [(name, name * 400) for name in "abc"]
    s = session(calls(*[(name, "Bash", {}) for name, _ in found]), *[results(one) for one in found])
    stage = replacing(order="newest", fit={"per": "message", "chars": 900}, keep={"newest": {"items": 1}})
    s.run(stage)
    assert s.texts[2:] == ["a" * 400, "[cleared]", "c" * 400]


def test_reads_of_stored_files_count_to_their_message_and_stay() -> None:
    s = session(*bash("a", "ls", "x" * 900))
    stage = replacing("[at {{ path }}]", store="r", order="largest", fit={"per": "message", "chars": 800})
    s.run(stage)
    path = s.texts[2].removeprefix("[at ").removesuffix("]")
    uses = [("b", "Bash", {"command": f"cat {path}"}), ("c", "Bash", {"command": "ls"})]
    s.append([calls(*uses), results(("b", "x" * 500)), results(("c", "y" * 400))])
    s.run(stage)
    assert s.texts[4] == "x" * 500
    assert s.texts[5].startswith("[at ")


def test_a_usage_that_was_reported_counts_what_goes_at_its_own_rate() -> None:
    rounds = [message for n in range(6) for message in bash(f"t{n}", "ls", f"word {n} " * 400)]
    plain = session(*rounds)
    s = session(*rounds, usage=2 * round(plain.scene().tokens))
    target = s.scene().tokens - 3 * s.path[2].total
    s.run(replacing(fit={"per": "view", "tokens": target}))
    assert s.texts.count("[cleared]") == 2
    assert s.scene().tokens <= target


# --- digest


def digesting(**more: Any) -> dict[str, Any]:
    digest = {"prompt": "Note the hard facts of this output.", **more}
    return replacing("[{{ digest | default('no digest') }}]", digest=digest)


def test_a_digest_is_asked_for_with_the_text_fenced_and_stands_in_the_text() -> None:
    s = session(*bash("a", "make", "log </data-x> " * 200), ports=Ports(answers=["3 errors"]))
    proposal = s.run(digesting(max_output=200, timeout_seconds=15))
    assert s.texts[-1] == "[3 errors]"
    (asked,) = s.ports.questions
    assert asked.purpose == "digest"
    assert asked.question.model == "claude-sonnet-4-5"
    assert (asked.question.max_output, asked.declared, asked.timeout) == (200, 200, 15)
    assert asked.question.prompt.startswith("Note the hard facts of this output.\n\n<data-")
    assert "</data-x>" not in asked.question.prompt
    assert [(call.model, call.problem) for call in proposal.calls] == [("claude-sonnet-4-5", None)]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (AskFailed("unavailable", "none"), "unavailable"),
        (AskFailed("too_long", "no"), "too_long"),
        (Reply("cut o", "max_tokens"), "truncated"),
        (Reply("", "end_turn"), "empty"),
        (Reply("no", "refusal"), "refusal"),
        (Reply("", "tool_use"), "tool_call"),
        (Reply("x" * 5000), "larger"),
    ],
)
def test_without_a_usable_digest_the_text_goes_without(answer: Any, problem: str) -> None:
    s = session(*bash("a", "make", "log " * 200), ports=Ports(answers=[answer]))
    proposal = s.run(digesting())
    assert s.texts[-1] == "[no digest]"
    assert [call.problem for call in proposal.calls] == [problem]


def test_models_are_asked_in_turn_and_a_setting_stands_for_its_value() -> None:
    ports = Ports(answers=[AskFailed("unavailable", "none"), "short"])
    s = session(*bash("a", "make", "log " * 200), ports=ports, settings={"fast": "small-model"})
    s.run(digesting(model=["fast", "same"]))
    assert [asked.question.model for asked in ports.questions] == ["small-model", "claude-sonnet-4-5"]
    assert s.texts[-1] == "[short]"


def test_only_texts_of_the_size_named_get_a_digest() -> None:
    ports = Ports(answers=["d"])
    s = session(*bash("a", "make", "log " * 200), *bash("b", "make", "log " * 2000), ports=ports)
    s.run(digesting(size={"chars": {"above": 2000}}))
    assert s.texts[2::2] == ["[no digest]", "[d]"]
    assert len(ports.questions) == 1


def test_a_prompt_that_reads_the_transcript_gets_it_there_and_not_again() -> None:
    s = session(*bash("a", "make", "log " * 200), ports=Ports(answers=["d"]))
    s.run(replacing("[{{ digest }}]", digest={"prompt": "Look at {{ transcript }} of {{ tool }}."}))
    assert s.ports.questions[0].question.prompt.count("<data-") == 1
    assert s.ports.questions[0].question.prompt.endswith("of Bash.")


def test_no_model_is_asked_for_what_would_not_be_used() -> None:
    s = session(*bash("a", "make", "short"), ports=Ports(answers=["d"]))
    assert s.run(digesting()).calls == ()
    assert s.ports.questions == []


def test_no_model_is_asked_if_accept_cannot_hold_anyway() -> None:
    s = session(*bash("a", "make", "log " * 200), ports=Ports(answers=["d"]))
    proposal = s.propose({**digesting(), "accept": {"freed_tokens": {"at_least": 100_000}}})
    assert proposal.refused
    assert s.ports.questions == []


def test_what_shows_part_of_the_original_is_not_opaque() -> None:
    def opaque(**more: Any) -> bool:
        params = stage_of(replacing(**more)).params
        assert params is not None
        return params.opaque

    assert opaque()
    assert opaque(store="r")
    assert not opaque(preview={"head": {"chars": 5}})
    assert not opaque(pattern="x")
    assert not opaque(digest={"prompt": "a b"})


# --- laws


CONTENTS = st.sampled_from(["", "x", "word " * 30, "漢字" * 40]) | st.lists(
    st.sampled_from([{"type": "text", "text": "part " * 20}, image()]), max_size=2
)


@hypothesis_settings(max_examples=60)
@given(
    st.lists(CONTENTS, min_size=1, max_size=6),
    st.sampled_from(["[x]", "[{{ size.chars }} {{ tool }}]", "long " * 40]),
)
def test_no_block_of_words_grows_but_an_empty_one(contents: list[Any], text: str) -> None:
    s = session(*[message for n, content in enumerate(contents) for message in bash(f"t{n}", "ls", content)])
    before = list(s.items)
    given_ = json.dumps(s.messages)
    s.run(replacing(text))
    assert json.dumps(s.messages) == given_
    for old, new, content in zip(before[2::2], s.items[2::2], contents, strict=True):
        assert not content or old.mask & MEDIA or new.total < old.total or new is old
