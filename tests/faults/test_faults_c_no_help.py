"""Group C of the field reports: it fires and does not help, or makes things worse."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.faults.support import (
    BOUND,
    HEAD,
    MODEL,
    SUM_UP,
    TOO_LONG,
    accepted,
    assistant,
    blocks,
    bodies,
    call,
    codes,
    engine_of,
    image,
    loop,
    result,
    round_of,
    rounds,
    run,
    shown,
    small_claude,
    stages,
    text,
    user,
    verdict,
    words,
)
from tests.strategies import PIXEL

from trimtab import ApiError, Engine
from trimtab.store import FolderStore, MemoryStore
from trimtab.summarizers.canned import CannedSummarizer

OFFLOAD = stages(
    "{id: offload, kind: replace, at: [tool_result, before_request, overflow], once: true, store: results,"
    " select: {blocks: [tool_result], size: {chars: {above: 1000}}}, preview: {head: {bytes: 200}},"
    ' text: "Too long; the whole of it: {{ path }}\\n{{ head }}"}'
)


# --- C1 one message too big


@pytest.mark.parametrize("event", ["tool_result", "before_request"])
def test_c1_a_giant_result_in_the_newest_round_is_shortened(event: str) -> None:
    messages = [user("q"), *round_of("big", "words and words; " * 20_000, "Bash", command="cat log")]
    outcome = run(Engine.load("claude-code"), messages, event)
    assert verdict(outcome, "result-budget") == "committed"
    assert outcome.receipt.totals.tokens.after < 2_000


def test_c1_a_batch_of_results_each_within_bounds_is_held_to_a_budget_together() -> None:
    names = [f"c{n}" for n in range(8)]
    messages = [
        user("q"),
        assistant(*(call(name, "Bash", command=name) for name in names)),
        user(*(result(name, "words and words; " * 2900) for name in names)),
    ]
    outcome = run(Engine.load("claude-code"), messages)
    assert verdict(outcome, "message-budget") == "committed"
    assert sum(len(block["content"]) for block in blocks(outcome, "tool_result")) <= 200_000


def test_c1_an_overflow_with_a_giant_result_under_two_messages_is_cured_by_the_cheap_pass() -> None:
    messages = [user("q"), *round_of("big", "words and words; " * 50_000)]
    outcome = run(OFFLOAD, messages, "overflow", error=TOO_LONG)
    assert outcome.send
    assert outcome.receipt.totals.tokens.after < 500


def test_c1_base_alone_over_the_window_is_said_with_its_size() -> None:
    outcome = run(SUM_UP, [user("q")], "overflow", error=TOO_LONG, system="rules " * 150_000)
    assert not outcome.send
    [problem] = [one for one in outcome.problems if one.code == "overflow-unhandled"]
    sizes = [int(number) for number in re.findall(r"\d+", problem.message)]
    assert max(sizes) > 100_000


def test_c1_the_same_dead_end_twice_is_twice_said_and_never_sent() -> None:
    session = engine_of(SUM_UP).session()
    for _ in range(3):
        outcome = run(session, [user("q")], "overflow", error=TOO_LONG, system="rules " * 1000)
        assert not outcome.send
        assert outcome.receipt.totals.commits == 0


# --- C2 no gain, or growth


def test_c2_a_placeholder_longer_than_what_it_replaces_is_not_used() -> None:
    pack = stages(
        "{id: clear, kind: replace, select: {blocks: [tool_result]}, keep: {newest: {items: 1}},"
        " text: 'This result was taken out to save room; run the tool again if you need it.'}"
    )
    messages = [user("q"), *round_of("a", "ok"), *round_of("b", "x " * 400), *round_of("c", "z")]
    outcome = run(pack, messages)
    contents = [block["content"] for block in blocks(outcome, "tool_result")]
    assert contents[0] == "ok"
    assert contents[1].startswith("This result was taken out")
    assert contents[2] == "z"


def test_c2_a_pass_without_gain_says_so_and_leaves_the_list() -> None:
    pack = stages(
        "{id: clear, kind: replace, select: {blocks: [tool_result], age: {rounds: {at_least: 1}}}, "
        "text: 'A long placeholder.'}"
    )
    messages = [user("q"), *round_of("a", "ok"), *round_of("b", "ok")]
    outcome = run(pack, messages)
    report = outcome.receipt.stage("clear")
    assert report is not None
    assert report.verdict in ("nothing", "refused")
    assert report.reason
    assert shown(outcome) == messages


@pytest.mark.parametrize("event", ["before_request", "manual", "overflow"])
def test_c2_a_summary_larger_than_its_source_is_refused(event: str) -> None:
    pack = SUM_UP.replace("'What was done: a great deal.'", "'" + "many words; " * 3000 + "'")
    messages = loop(8, 1500)
    outcome = run(pack, messages, event)
    report = outcome.receipt.stage("sum-up")
    assert report is not None
    assert report.verdict in ("refused", "failed"), report.reason
    assert "smaller" in (report.reason or "") or "larger" in (report.reason or "")
    assert [m for m in shown(outcome) if m not in messages] == []


def test_c2_gain_is_measured_with_the_figure_of_the_trigger() -> None:
    outcome = run(SUM_UP, loop(12, 3000))
    report = outcome.receipt.stage("sum-up")
    assert report is not None
    assert report.tokens is not None
    assert report.tokens.before == outcome.receipt.totals.tokens.before
    assert report.tokens.after == outcome.receipt.totals.tokens.after < report.tokens.before


# --- C3 pictures, documents, bytes


def picture(size: int) -> str:
    """A picture of one pixel with so many bytes behind its end."""
    return base64.b64encode(base64.b64decode(PIXEL) + b"\0" * size).decode()


def shots(count: int, size: int = 0) -> list[Any]:
    out: list[Any] = [user("Look at the page.")]
    for number in range(count):
        out += round_of(
            f"shot-{number}", [text(f"shot {number}"), image(picture(size + number))], "Screenshot"
        )
    return out


BYTES = stages(
    "{id: old-shots, kind: replace, at: {before_request: {bytes: {at_least: 2000000}}, "
    "overflow: {error: [request_too_large]}},"
    " select: {blocks: [tool_result], has: [image]}, keep: {newest: {items: 3}}, "
    "text: '[screenshot left out]'}"
)


def test_c3_megabytes_of_screenshots_fire_a_trigger_in_bytes() -> None:
    outcome = run(BYTES, shots(12, 250_000))
    assert verdict(outcome, "old-shots") == "committed"
    assert outcome.receipt.totals.bytes.after < 1_500_000
    assert len([b for b in blocks(outcome, "tool_result") if isinstance(b["content"], list)]) == 3


def test_c3_a_refusal_for_its_bytes_takes_the_oldest_media_out_with_a_note() -> None:
    error = ApiError("Request exceeds the maximum allowed number of bytes", 413, "request_too_large")
    outcome = run(BYTES, shots(6), "overflow", error=error)
    assert outcome.send
    contents = [block["content"] for block in blocks(outcome, "tool_result")]
    assert contents[:3] == ["[screenshot left out]"] * 3
    assert all(isinstance(content, list) for content in contents[3:])


def pasted(count: int = 2) -> list[Any]:
    """Pictures in messages of the user, then a request without one, and work on it."""
    out = [m for n in range(count) for m in (user(text(f"see {n}"), image(PIXEL)), assistant(f"seen {n}"))]
    return [*out, user("Now mend it."), *rounds(2)]


def test_c3_an_error_that_names_a_block_takes_that_one_and_no_other() -> None:
    error = ApiError("messages.2.content.1.image.source: image exceeds 5 MB maximum", 400)
    outcome = run(Engine.load("claude-code"), pasted(), "overflow", error=error)
    assert outcome.send
    assert shown(outcome)[0] == pasted()[0]
    assert [block["type"] for block in shown(outcome)[2]["content"]] == ["text", "text"]


def test_c3_a_named_block_is_found_although_system_messages_stand_before_the_list() -> None:
    messages = [{"role": "system", "content": "You help."}, *pasted()]
    error = ApiError("messages.2.content.1.image.source: image exceeds 5 MB maximum", 400)
    outcome = run(Engine.load("claude-code"), messages, "overflow", error=error)
    assert shown(outcome)[0] == pasted()[0]
    assert [block["type"] for block in shown(outcome)[2]["content"]] == ["text", "text"]


def test_c3_a_named_block_is_found_although_a_stage_has_put_a_text_into_the_system_prompt() -> None:
    session = Engine.load("claude-code").session()
    assert verdict(run(session, pasted(), "session_start"), "announce-clearing") == "committed"
    sent = run(session, pasted())
    assert sent.request.messages[2] == pasted()[2]
    error = ApiError("messages.2.content.1.image.source: image exceeds 5 MB maximum", 400)
    outcome = run(session, pasted(), "overflow", error=error)
    assert shown(outcome)[0] == pasted()[0]
    assert [block["type"] for block in shown(outcome)[2]["content"]] == ["text", "text"]


def test_c3_a_picture_inside_a_result_can_be_the_one_that_is_named() -> None:
    error = ApiError("messages.2.content.0.content.1: image_dimensions_too_large", 400)
    outcome = run(Engine.load("claude-code"), [*shots(2), user("so?")], "overflow", error=error)
    assert outcome.send
    assert PIXEL[:20] not in json.dumps(shown(outcome)[2])
    assert PIXEL[:20] in json.dumps(shown(outcome)[4])
    assert len(blocks(outcome, "tool_result")) == 2


def test_c3_a_refusal_that_names_no_picture_takes_all_it_can_be_about() -> None:
    error = ApiError("Could not process image", 400)
    outcome = run(Engine.load("claude-code"), [*pasted(), *shots(2)[1:]], "overflow", error=error)
    assert outcome.send
    assert PIXEL[:20] not in words(outcome)


def test_c3_the_cure_for_a_picture_does_not_cost_the_conversation_a_summary() -> None:
    outcome = run(
        Engine.load("claude-code"), pasted(), "overflow", error=ApiError("Could not process image", 400)
    )
    assert verdict(outcome, "drop-refused-media") == "committed"
    assert verdict(outcome, "autocompact") == "skipped"


def test_c3_a_refused_picture_stays_out_of_every_later_request() -> None:
    session = Engine.load("claude-code").session()
    messages = pasted()
    run(session, messages, "overflow", error=ApiError("Could not process image", 400))
    for number in range(3):
        messages += rounds(1, start=10 + number)
        assert blocks(run(session, messages), "image") == []


def test_c3_a_refused_picture_that_may_not_go_is_not_sent_again() -> None:
    messages = [user(text("see"), image(PIXEL)), *rounds(1)]
    outcome = run(
        Engine.load("claude-code"), messages, "overflow", error=ApiError("Could not process image", 400)
    )
    assert not outcome.send
    assert "overflow-unhandled" in codes(outcome)


def test_c3_more_pictures_than_the_api_takes_are_found_before_it_refuses_them() -> None:
    pack = stages(
        "{id: old-shots, kind: replace, when: {images: {above: 90}}, select: {blocks: [tool_result], "
        "has: [image]},"
        " keep: {newest: {items: 20}}, text: '[screenshot left out]'}"
    )
    outcome = run(pack, shots(120))
    assert verdict(outcome, "old-shots") == "committed"
    accepted(outcome)


@pytest.mark.parametrize("media", ["names", "drop"])
def test_c3_no_picture_reaches_the_writer_of_a_summary(media: str) -> None:
    pack = stages(
        f"{{id: sum-up, kind: summarize, at: [manual], prompt: summary/nine-sections.md.j2, "
        f"input: {{as: text, media: {media}}}}}"
    )
    writer = CannedSummarizer(
        ["What was done: nine pictures of the page were looked at and found to be fine."]
    )
    outcome = run(engine_of(pack, summarizer=writer), shots(9, 1000), "manual")
    assert verdict(outcome, "sum-up") == "committed"
    [question] = writer.asked
    said = question.prompt + json.dumps(list(question.request.messages) if question.request else [])
    assert PIXEL[:24] not in said
    assert "shot 3" in said


# --- C4 heavy call inputs


WRITES = stages(
    "{id: inputs, kind: replace, select: {blocks: [tool_use], size: {chars: {above: 500}}, "
    "age: {rounds: {at_least: 1}}},"
    " text: '<<{{ size.chars }} characters are in the file>>'}"
)


def test_c4_written_files_shrink_in_the_call_and_every_key_stays() -> None:
    big = "def f(): return 1\n" * 100
    messages = [
        user("q"),
        *round_of("w", "written", "Write", file_path="/a.py", content=big, mode=3),
        *rounds(2),
    ]
    outcome = run(WRITES, messages)
    first = blocks(outcome, "tool_use")[0]
    assert first["input"] == {
        "file_path": "/a.py",
        "content": "<<1800 characters are in the file>>",
        "mode": 3,
    }
    json.loads(json.dumps(first))


def test_c4_inputs_are_left_alone_unless_a_stage_asks_for_them() -> None:
    big = "def f(): return 1\n" * 100
    messages = [user("q"), *round_of("w", "written", "Write", content=big), *rounds(3)]
    pack = stages(
        "{id: clear, kind: replace, select: {origins: [assistant, tool]}, keep: {newest: {items: 1}}, "
        "text: '[cleared]'}"
    )
    assert blocks(run(pack, messages), "tool_use")[0]["input"] == {"content": big}


def test_c4_nested_strings_and_keys_survive() -> None:
    big = "x = 1\n" * 200
    given = {"edits": [{"old": "a", "new": big}, {"old": big, "new": "b"}], "flag": True, "none": None}
    outcome = run(WRITES, [user("q"), *round_of("w", "ok", "MultiEdit", **given), *rounds(2)])
    after = blocks(outcome, "tool_use")[0]["input"]
    assert after["edits"][0]["old"] == "a"
    assert after["edits"][1]["new"] == "b"
    assert (after["flag"], after["none"]) == (True, None)
    assert big not in json.dumps(after)


# --- C5 the wrong end is kept


def test_c5_head_and_tail_both_stay_with_an_exact_count_of_what_is_left_out() -> None:
    pack = stages(
        "{id: long, kind: replace, once: true, select: {blocks: [tool_result], size: {chars: {above: 1000}}},"
        " preview: {head: {chars: 300}, tail: {chars: 500}},"
        ' text: "{{ head }}\\n[{{ elided.chars }} characters, '
        '{{ elided.lines }} lines left out]\\n{{ tail }}"}'
    )
    log = "".join(f"step {n} ok\n" for n in range(400)) + "ERROR: 3 tests failed"
    outcome = run(pack, [user("q"), *round_of("t", log, "Bash", command="make")])
    content = blocks(outcome, "tool_result")[0]["content"]
    found = re.fullmatch(r"(?s)(.*)\n\[(\d+) characters, (\d+) lines left out\]\n(.*)", content)
    assert found is not None
    head, chars, _, tail = found.groups()
    assert log.startswith(head)
    assert log.endswith(tail)
    assert tail.endswith("ERROR: 3 tests failed")
    assert len(head) + int(chars) + len(tail) == len(log)
    assert len(head) <= 300
    assert len(tail) <= 500


# --- C6 offloaded output


def test_c6_the_text_names_a_path_that_the_agent_can_open(tmp_path: Path) -> None:
    outcome = run(engine_of(OFFLOAD).open_session(tmp_path), [user("q"), *round_of("x", "words; " * 500)])
    said = blocks(outcome, "tool_result")[0]["content"]
    path = said.split(": ", 1)[1].split("\n", 1)[0]
    assert Path(path).read_text("utf-8") == "words; " * 500


def test_c6_inside_a_sandbox_the_path_is_the_one_seen_there(tmp_path: Path) -> None:
    store = FolderStore(tmp_path, seen_as="/mnt/session")
    outcome = run(engine_of(OFFLOAD, store=store), [user("q"), *round_of("x", "words; " * 500)])
    said = blocks(outcome, "tool_result")[0]["content"]
    assert "/mnt/session/results/" in said
    assert str(tmp_path) not in said


@pytest.mark.parametrize(
    "name", ["x" * 1500, "../../etc/passwd", "a/b\\c:d*?", "\u0000nul", "ünï 🦊", ".hidden", ""]
)
def test_c6_no_id_makes_an_impossible_or_dangerous_file_name(tmp_path: Path, name: str) -> None:
    outcome = run(
        engine_of(OFFLOAD).open_session(tmp_path / "s"), [user("q"), *round_of(name, "words; " * 500)]
    )
    if name:
        assert verdict(outcome, "offload") == "committed"
    files = [file for file in tmp_path.rglob("*") if file.is_file() and file.name != "journal.jsonl"]
    assert all(file.parent == tmp_path / "s" / "results" for file in files)
    assert all(len(file.name.encode()) <= 255 for file in files)


def test_c6_equal_ids_of_two_turns_are_two_files(tmp_path: Path) -> None:
    messages = [m for n in range(2) for m in (user(f"turn {n}"), *round_of("read:0", f"result {n}; " * 300))]
    run(engine_of(OFFLOAD).open_session(tmp_path), messages)
    assert len(list((tmp_path / "results").iterdir())) == 2


def test_c6_a_result_in_list_form_does_not_escape() -> None:
    outcome = run(OFFLOAD, [user("q"), *round_of("x", [text("words; " * 300), text("more; " * 300)])])
    assert verdict(outcome, "offload") == "committed"
    assert len(json.dumps(blocks(outcome, "tool_result")[0]["content"])) < 600


def test_c6_line_ends_come_back_as_they_were(tmp_path: Path) -> None:
    odd = "one\r\ntwo\rthree\n\x0b\u2028" * 200
    run(engine_of(OFFLOAD).open_session(tmp_path), [user("q"), *round_of("x", odd)])
    [file] = (tmp_path / "results").iterdir()
    assert file.read_bytes().decode() == odd


@pytest.mark.parametrize("tool", [("Read", "file_path"), ("Bash", "command")])
def test_c6_reading_a_stored_file_back_is_not_stored_again(tmp_path: Path, tool: tuple[str, str]) -> None:
    session = engine_of(OFFLOAD).open_session(tmp_path)
    messages = [user("q"), *round_of("x", "words; " * 500)]
    said = blocks(run(session, messages), "tool_result")[0]["content"]
    path = said.split(": ", 1)[1].split("\n", 1)[0]
    asked = path if tool[0] == "Read" else f"cat '{path}' | head -c 9999"
    messages += round_of("back", "words; " * 500, tool[0], **{tool[1]: asked})
    outcome = run(session, messages)
    assert blocks(outcome, "tool_result")[1]["content"] == "words; " * 500
    assert len(list((tmp_path / "results").iterdir())) == 1


def test_c6_a_write_that_fails_loses_nothing_and_is_tried_again() -> None:
    class Moody(MemoryStore):
        broken = True

        def put(self, name: str, text: str) -> str:
            if self.broken:
                raise OSError("disk full")
            return super().put(name, text)

    store = Moody()
    session = engine_of(OFFLOAD, store=store).session()
    messages = [user("q"), *round_of("x", "words; " * 500)]
    outcome = run(session, messages)
    assert verdict(outcome, "offload") == "failed"
    assert shown(outcome) == messages
    store.broken = False
    assert verdict(run(session, messages), "offload") == "committed"
    assert list(store.texts.values()) == ["words; " * 500]


def test_c6_a_placeholder_of_the_shipped_pack_cannot_be_taken_for_the_result() -> None:
    data = "alpha beta gamma; " * 5000
    outcome = run(Engine.load("claude-code"), [user("q"), *round_of("x", data, "Bash", command="cat log")])
    content = blocks(outcome, "tool_result")[0]["content"]
    assert content.lstrip().startswith("<")
    assert str(len(data)) in content or f"{len(data):,}" in content or "KB" in content
    assert len(content.encode()) < 3000


def test_c6_an_error_result_stays_an_error_when_it_is_offloaded() -> None:
    messages = [user("q"), assistant(call("x")), user(result("x", "Traceback; " * 500, is_error=True))]
    [block] = blocks(run(OFFLOAD, messages), "tool_result")
    assert block["is_error"] is True
    assert len(block["content"]) < 500


def test_c6_what_was_offloaded_once_keeps_its_bytes_in_every_later_request(tmp_path: Path) -> None:
    session = engine_of(OFFLOAD).open_session(tmp_path)
    messages = [user("q"), *round_of("x", "words; " * 500)]
    first = bodies(run(session, messages))[:-2]
    for number in range(5):
        messages += rounds(1, start=number)
        assert bodies(run(session, messages)).startswith(first)


def test_c6_the_receipt_says_which_originals_are_stored_and_which_are_only_in_the_transcript() -> None:
    messages = [user("q"), *round_of("x", "words; " * 500), *rounds(2)]
    stored = run(OFFLOAD, messages).receipt.stage("offload")
    cleared = run(
        stages(
            "{id: c, kind: replace, select: {blocks: [tool_result]}, keep: {newest: {items: 1}}, text: '[c]'}"
        ),
        messages,
    )
    assert stored is not None
    assert stored.restorable == "stored"
    lost = cleared.receipt.stage("c")
    assert lost is not None
    assert lost.restorable == "transcript"


def test_c_no_model_is_needed_for_a_way_out() -> None:
    messages = loop(40, 3000)
    engine = small_claude()
    outcome = run(engine, messages, "overflow", error=TOO_LONG, model=BOUND)
    assert outcome.send
    assert verdict(outcome, "ledger") == "committed"
    assert outcome.receipt.totals.tokens.after < outcome.receipt.totals.tokens.before / 3
    assert MODEL not in words(outcome)
    assert HEAD not in words(outcome)
    assert "overflow-unhandled" not in codes(outcome)
