"""Records and their JSON."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.conversation.edits import Commit, Insert, Mark, New, Rewrite, Splice, Spot
from trimtab.conversation.request import ORIGINS, Usage
from trimtab.records import (
    MOST_SERIALS,
    Fail,
    Header,
    JournalError,
    Kept,
    Note,
    Record,
    RunRecord,
    Undo,
    decode,
    encode,
    ranges,
)

SCHEMA = json.loads((Path(__file__).parents[1] / "schemas" / "journal.schema.json").read_text())
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)


def joined(text: str) -> str:
    """JSON joins the two halves of a pair that stand side by side; both spellings are the same JSON."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


text = st.text(st.characters(exclude_categories=()), max_size=12).map(joined)
serial = st.integers(0, 60)
serials = st.lists(serial, max_size=12).map(tuple)
json_value = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
json_object = st.dictionaries(text, json_value, max_size=4)
spot = st.builds(Spot, serial, st.integers(0, 5))
spots = st.lists(spot, max_size=4).map(tuple)
items = st.lists(st.builds(New, serial, json_object, st.sampled_from(ORIGINS)), max_size=3).map(tuple)
edit = (
    st.builds(Rewrite, spots, json_object | st.sampled_from(Mark))
    | st.builds(Splice, serials.filter(bool), items)
    | st.builds(Insert, serial, items)
)
edits = st.lists(edit, max_size=3).map(tuple)
results = st.dictionaries(serial, text, max_size=3)
count = st.integers(0, 10**7)
fact = st.builds(
    lambda fields, own: fields | own,
    json_object,
    st.fixed_dictionaries({"serial": serial}, optional={"serials": st.lists(serial), "uses": count}),
)
told = st.fixed_dictionaries(
    {}, optional={"keys": st.lists(text), "digest": text, "added": st.lists(count), "removed": st.lists(text)}
)
facts = st.builds(
    lambda found, said: found | ({"told": said} if said else {}),
    st.dictionaries(text, st.lists(fact, max_size=2), max_size=3),
    st.dictionaries(text, told, max_size=2),
)
maybe_text = st.none() | text
maybe_number = st.none() | count | st.floats(0, 1e7)
usage = st.builds(Usage, count, count, count, st.none() | count, maybe_text)
time = st.datetimes(datetime(1, 1, 1), datetime(9998, 12, 31)).map(lambda at: f"{at.isoformat()}Z")
run = st.builds(
    RunRecord,
    n=count,
    event=text,
    at=st.none() | time,
    keep=st.none() | count,
    add=serials,
    digests=st.lists(text, max_size=3).map(tuple),
    blocks=st.lists(count, max_size=3).map(tuple),
    head=maybe_text,
    model=maybe_text,
    pack=maybe_text,
    sent=st.booleans(),
    estimate=maybe_number,
    usage=st.none() | usage,
    overflow=maybe_number,
    answered=st.none() | count,
    ceilings=st.lists(st.tuples(st.floats(0, 1e7), st.floats(0, 1e7)), max_size=2).map(tuple),
    meter=st.none() | st.tuples(count, count) | st.tuples(count, count, count, count, count, text),
)
commit = st.builds(
    Commit,
    id=text,
    stage=text,
    run=count,
    edits=edits,
    repairs=edits,
    results=results,
    stored=st.dictionaries(spot, text, max_size=3),
    facts=facts,
)
record = (
    run
    | commit
    | st.builds(Undo, text, results)
    | st.builds(Fail, text, count, text)
    | st.builds(Note, text, serial, text)
    | st.builds(Kept, text, serials, spots)
    | st.builds(Header, st.just(1), text)
)


@settings(max_examples=300, deadline=None)
@given(record)
def test_every_record_comes_back_from_json(record: Record | Header) -> None:
    line = json.dumps(encode(record))
    assert line.isascii()
    assert decode(json.loads(line)) == record


@settings(max_examples=100, deadline=None)
@given(record)
def test_every_record_fits_the_schema(record: Record | Header) -> None:
    VALIDATOR.validate(json.loads(json.dumps(encode(record))))


@settings(max_examples=100)
@given(record)
def test_unknown_fields_are_ignored(record: Record | Header) -> None:
    assert decode(encode(record) | {"from_the_future": {"x": 1}, "more": True}) == record


@settings(max_examples=150)
@given(record, st.data())
def test_a_damaged_record_is_an_error_with_words_never_another_exception(
    record: Record | Header, data: st.DataObject
) -> None:
    raw = encode(record)
    key = data.draw(st.sampled_from(sorted(raw)))
    raw[key] = data.draw(json_value)
    try:
        again = decode(raw)
    except JournalError:
        return
    assert decode(json.loads(json.dumps(encode(again)))) == again


@given(serials)
def test_ranges_keep_every_serial_in_order(serials: tuple[int, ...]) -> None:
    back = [serial for first, last in ranges(serials) for serial in range(first, last + 1)]
    assert tuple(back) == serials


def test_long_runs_of_serials_are_two_numbers() -> None:
    assert ranges(range(1, 481)) == [[1, 480]]
    assert ranges([5, 4, 5, 9]) == [[5, 5], [4, 5], [9, 9]]


EXAMPLES: list[tuple[Record, dict[str, Any]]] = [
    (
        RunRecord(
            12,
            "before_request",
            at="2026-01-01T00:00:00Z",
            keep=1998,
            add=(1999, 2000),
            digests=("x", "y"),
            head="h",
            model="m",
            pack="claude-code@1.0.0",
            sent=True,
            estimate=166210,
            usage=Usage(3, 4),
            overflow=210432,
        ),
        {
            "t": "run",
            "n": 12,
            "event": "before_request",
            "at": "2026-01-01T00:00:00Z",
            "keep": 1998,
            "add": [[1999, 2000]],
            "d": ["x", "y"],
            "head": "h",
            "model": "m",
            "pack": "claude-code@1.0.0",
            "sent": True,
            "estimate": 166210,
            "usage": {"input": 3, "cache_read": 4, "cache_write": 0},
            "overflow": 210432,
        },
    ),
    (RunRecord(1, "idle"), {"t": "run", "n": 1, "event": "idle"}),
    (RunRecord(1, "idle", keep=0), {"t": "run", "n": 1, "event": "idle", "keep": 0}),
    (
        Commit(
            "c7",
            "idle-clear",
            12,
            (Rewrite((Spot(17, 0), Spot(19, 0)), {"content": "x", "is_error": None}),),
            (Rewrite((Spot(5, 1),), Mark.REMOVE), Rewrite((Spot(6, 1),), Mark.ORIGINAL)),
            {17: "a"},
            {Spot(17, 0): "tool-results/a.txt"},
        ),
        {
            "t": "commit",
            "id": "c7",
            "run": 12,
            "stage": "idle-clear",
            "edits": [
                {"op": "rewrite", "spots": [[17, 0], [19, 0]], "set": {"content": "x", "is_error": None}}
            ],
            "repairs": [
                {"op": "rewrite", "spots": [[5, 1]], "set": "remove"},
                {"op": "rewrite", "spots": [[6, 1]], "set": "original"},
            ],
            "results": {"17": "a"},
            "stored": [[17, 0, "tool-results/a.txt"]],
        },
    ),
    (
        Commit(
            "c8",
            "full-summary",
            12,
            (
                Splice((1, 2, 3), (New(2001, {"role": "user", "content": "s"}, "summary"),)),
                Insert(2001, (New(2002, {"role": "user", "content": "n"}, "attachment"),)),
            ),
            facts={"files": [{"path": "/a"}]},
        ),
        {
            "t": "commit",
            "id": "c8",
            "run": 12,
            "stage": "full-summary",
            "edits": [
                {
                    "op": "splice",
                    "covers": [[1, 3]],
                    "items": [[2001, {"role": "user", "content": "s"}, "summary"]],
                },
                {
                    "op": "insert",
                    "after": 2001,
                    "items": [[2002, {"role": "user", "content": "n"}, "attachment"]],
                },
            ],
            "facts": {"files": [{"path": "/a"}]},
        },
    ),
    (Undo("c7", {1: "d"}), {"t": "undo", "id": "c7", "results": {"1": "d"}}),
    (Fail("s", 13, "empty"), {"t": "fail", "stage": "s", "run": 13, "reason": "empty"}),
    (Note("s", 1960, "n/x"), {"t": "note", "stage": "s", "upto": 1960, "store": "n/x"}),
    (
        Kept("b", (1, 2, 3, 7), (Spot(21, 0),)),
        {"t": "kept", "stage": "b", "serials": [[1, 3], [7, 7]], "spots": [[21, 0]]},
    ),
]


@pytest.mark.parametrize(("record", "expected"), EXAMPLES)
def test_the_json_is_the_documented_one(record: Record, expected: dict[str, Any]) -> None:
    assert encode(record) == expected
    assert decode(expected) == record


def test_an_unknown_type_names_the_version_needed() -> None:
    with pytest.raises(JournalError, match=r"'dream': engine 0\.7\.0 or newer is needed \(update"):
        decode({"t": "dream"}, "0.7.0")


@pytest.mark.parametrize("raw", [None, 1, [], {}, {"t": 3}])
def test_what_is_no_record_is_refused(raw: Any) -> None:
    with pytest.raises(JournalError, match="no journal record"):
        decode(raw)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({"t": "undo"}, "the undo record has no field 'id'"),
        ({"t": "run", "n": True, "event": "idle"}, "n is 'True'"),
        ({"t": "run", "n": 1, "event": "idle", "estimate": True}, "estimate is 'True'"),
        ({"t": "kept", "stage": "s", "serials": [[3, 1]]}, "no range"),
        ({"t": "kept", "stage": "s", "serials": [[1, 2 * MOST_SERIALS]]}, "no range"),
        ({"t": "commit", "id": "c", "run": 1, "stage": "s", "edits": [{"op": "swap"}]}, "op is 'swap'"),
        (
            {
                "t": "commit",
                "id": "c",
                "run": 1,
                "stage": "s",
                "edits": [{"op": "rewrite", "spots": [], "set": "x"}],
            },
            "'x' is not a valid Mark",
        ),
    ],
)
def test_a_damaged_record_says_what_is_wrong(raw: Any, words: str) -> None:
    with pytest.raises(JournalError, match=words):
        decode(raw)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"facts": []}, "facts is '[]'"),
        ({"facts": {"files": True}}, "the fact 'files' is 'True'"),
        ({"facts": {"files": {"serial": 1}}}, "the fact 'files' is"),
        ({"facts": {"files": [None]}}, "a record of the fact 'files' is 'None'"),
        ({"facts": {"files": [{"serial": "1"}]}}, "a number of a fact is '1'"),
        ({"facts": {"files": [{"serial": 1, "uses": "often"}]}}, "a number of a fact is 'often'"),
        ({"facts": {"files": [{"serial": 1, "serials": 2}]}}, "serials is '2'"),
        ({"facts": {"files": [{"serial": 1, "serials": [{}]}]}}, "a number of a fact is '{}'"),
        ({"facts": {"told": []}}, "told is '[]'"),
        ({"facts": {"told": {"plan": ["x"]}}}, "what was told of 'plan' is"),
        ({"facts": {"told": {"plan": {"added": 5}}}}, "added is '5'"),
        ({"facts": {"told": {"plan": {"keys": [{}]}}}}, "keys holds {}"),
        ({"edits": [{"op": "splice", "covers": [], "items": []}]}, "a splice covers no message"),
    ],
)
def test_a_commit_whose_parts_have_a_shape_that_none_gives_them_is_damaged(
    changes: dict[str, Any], words: str
) -> None:
    raw = {"t": "commit", "id": "c1", "run": 1, "stage": "s", "edits": []}
    with pytest.raises(JournalError) as caught:
        decode(raw | changes)
    assert f"the commit record is damaged: {words}" in str(caught.value)
