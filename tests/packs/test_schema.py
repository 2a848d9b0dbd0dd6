"""The schema that ships: up to date, valid, and in agreement with the checks of our own."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.data import data_root
from trimtab.packs.document import parse_document, read_document
from trimtab.packs.schema import KINDS, assemble, metric_names, pack_schema, vocabulary, written
from trimtab.packs.shapes import check_shape
from trimtab.policy.metrics import METRICS
from trimtab.policy.stage import EVENTS

GOOD = sorted((Path(__file__).parents[1] / "cases" / "good").glob("*.yaml"))
VALIDATOR = jsonschema.Draft7Validator(pack_schema())
PACKS = {path.stem: read_document(path).data for path in GOOD}


def agrees(data: Any) -> bool:
    """Whether a general validator and our own checks say the same; children are looked at alone by both."""
    return VALIDATOR.is_valid(data) == (not check_shape(pack_schema(), data).violations)


def test_the_file_is_what_its_fragments_make() -> None:
    path = data_root() / "schemas" / "pack.schema.json"
    assert path.read_text("utf-8") == written(assemble()), "run: python -m trimtab.packs.schema"


def test_the_schema_is_valid_draft_07() -> None:
    jsonschema.Draft7Validator.check_schema(pack_schema())


@pytest.mark.parametrize("kind", KINDS)
def test_the_example_of_a_kind_is_a_stage_of_that_kind(kind: str) -> None:
    fragment = json.loads((data_root() / "schemas" / "kinds" / f"{kind}.json").read_text("utf-8"))
    for example in fragment["examples"]:
        pack = {"format": 1, "name": "example", "version": "1.0.0", "stages": [example]}
        assert example["kind"] == kind
        assert check_shape(pack_schema(), pack).violations == []
        assert VALIDATOR.is_valid(pack)


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_of_a_kind_says_what_it_means(kind: str) -> None:
    definitions = pack_schema()["definitions"]
    for key, schema in definitions[f"stage-{kind}"]["properties"].items():
        target = definitions[schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else schema
        assert schema.get("description") or target.get("description") or target.get("title"), key


def test_the_schema_lists_the_metrics_the_engine_has() -> None:
    names = metric_names()
    for kind in ("number", "text", "boolean"):
        engine = {name for name, metric in METRICS.items() if metric.type == kind and not metric.accept_only}
        assert names[kind] == engine
    assert names["accept"] == {name for name, metric in METRICS.items() if metric.accept_only}


def test_the_schema_lists_the_events_the_engine_has() -> None:
    assert tuple(vocabulary()["event"]) == EVENTS


@pytest.mark.parametrize("name", PACKS)
def test_a_sound_pack_passes_a_general_validator(name: str) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(PACKS[name])] == []
    assert check_shape(pack_schema(), PACKS[name]).violations == []


def _places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found = [path]
    if isinstance(value, dict):
        for key, each in value.items():
            found += _places(each, (*path, key))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            found += _places(each, (*path, number))
    return found


ODD = [0, -1, 1.5, True, "", "word", "nöt a name", [], ["word"], {}, {"word": 1}, {"at_least": 3}, "all", 4]


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_a_pack_with_one_change_is_judged_as_a_general_validator_judges_it(data: st.DataObject) -> None:
    pack = copy.deepcopy(PACKS[data.draw(st.sampled_from(sorted(PACKS)))])
    path = data.draw(st.sampled_from([each for each in _places(pack) if each]))
    *way, last = path
    parent = pack
    for part in way:
        parent = parent[part]
    change = data.draw(st.sampled_from(["remove", "replace", "add"]))
    if change == "remove":
        del parent[last]
    elif change == "replace":
        parent[last] = copy.deepcopy(data.draw(st.sampled_from(ODD)))
    elif isinstance(parent, dict):
        parent[data.draw(st.sampled_from(["extra", "tokens", "text", "when", "keep"]))] = data.draw(
            st.sampled_from(ODD)
        )
    assert agrees(pack)


TESTS = """
pack: claude-code
cases:
  - name: only the largest of three results is stored, and stays so
    given: {messages: [{role: user, content: go}], then: [{results: [{chars: 120000}, {chars: 90000}]}]}
    expect: {stages: {message-budget: {verdict: committed, items: 1}}, only: true}
    steps:
      - {given: {then: [{rounds: {count: 10}}]}, resume: true, expect: {stages: {message-budget: nothing}}}
      - {event: overflow, error: prompt_too_long, undo: message-budget}
  - name: due at 167k of a 200k window
    table: [{used: 166999, verdict: skipped}, {used: 167000, verdict: committed}]
    given: {rounds: {count: 40, tool: Bash, result: {chars: 200}}}
    model: claude-sonnet-4-5
    usage: {input_tokens: "{used}"}
    answers: [unavailable]
    expect:
      limits: {auto: 167000}
      stages: {autocompact: "{verdict}"}
      tokens: {below: 100000}
      view: [{at: -1, matches: "go"}, {at: {origins: [summary]}, absent: true}]
"""


def test_the_schema_of_tests_takes_a_file_with_every_key_and_refuses_others() -> None:
    schema = json.loads((data_root() / "schemas" / "test.schema.json").read_text("utf-8"))
    jsonschema.Draft7Validator.check_schema(schema)
    data = parse_document(TESTS, "test.yaml").data
    assert check_shape(schema, data).violations == []
    assert [error.message for error in jsonschema.Draft7Validator(schema).iter_errors(data)] == []
    data["cases"][0]["expct"] = data["cases"][0].pop("expect")
    found = check_shape(schema, data).violations
    assert [(each.code, each.where, each.hint) for each in found] == [
        ("unknown-key", ("cases", 0, "expct"), "did you mean `expect`?")
    ]
