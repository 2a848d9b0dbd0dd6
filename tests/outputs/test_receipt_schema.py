"""The receipt's schema: complete, described, and true of receipts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest
from jsonschema import Draft7Validator

from trimtab.conversation.edits import Spot
from trimtab.conversation.request import Usage
from trimtab.data import data_root
from trimtab.policy.proposal import Check, ModelCall, Notice
from trimtab.policy.values import ConditionReport
from trimtab.receipt import Change, Dropped, Receipt, RunHeader, StageReport, Totals, Trouble

SCHEMA = json.loads((data_root() / "schemas" / "receipt.schema.json").read_text("utf-8"))
TYPES = {
    "run": RunHeader,
    "stage": StageReport,
    "totals": Totals,
    "condition": ConditionReport,
    "call": ModelCall,
    "check": Check,
    "usage": Usage,
    "notice": Notice,
    "dropped": Dropped,
    "problem": Trouble,
    "change": Change,
}


def nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Every mapping inside a schema."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from nodes(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from nodes(inner)


def full() -> Receipt:
    """A receipt in which every field says something."""
    leaf = ConditionReport("tokens at_least", 9.0, 5.0, True, "auto", "a note")
    condition = ConditionReport("any", None, None, True, nested=(leaf,))
    usage = Usage(1, 2, 3, 4, "m", 1)
    looked_at = (Check("a text is there", False, "it is blank"),)
    call = ModelCall("m", "summary", usage, True, "too_long", 1, "too long", 0.25, 0.5, looked_at)
    child = StageReport("c", "summarize", "failed", "why", calls=(call,))
    stage = StageReport(
        id="s",
        kind="first_of",
        verdict="committed",
        reason="why",
        conditions=(condition,),
        commit="c1",
        items=2,
        spots=(Spot(1, 0),),
        messages=(1, 2),
        brought=(3,),
        tokens=Change(9, 5),
        bytes=Change(90, 50),
        first_changed=0,
        cache_loss_tokens=4,
        thinking_loss=1,
        restorable="stored",
        assumed=True,
        remarks={"failure": "too_long"},
        children=(child,),
    )
    header = RunHeader(
        1, "overflow", "p@1", "m", "2030-01-31T12:00:00Z", "0.1.0", "estimate", "append", 2, 1, True
    )
    totals = Totals(Change(9, 5), Change(90, 50), Change(2, 1), 3, Change(2, 1), False, 1.25, 0, 4, 1, 1)
    return Receipt(
        run=header,
        limits={"auto": 5.0, "open": float("inf"), "none": None},
        settings={"a": True, "b": float("inf"), "c": "text"},
        stages=(stage,),
        totals=totals,
        notices=(Notice("warning", "nearly full", "warn"),),
        dropped=(Dropped("c1", "s", "rewound"),),
        problems=(Trouble("invalid-pairs", "a call without result", "message 3", "answer it"),),
        send=False,
    )


def test_it_is_a_schema() -> None:
    Draft7Validator.check_schema(SCHEMA)


def test_a_receipt_in_which_every_field_speaks_fits() -> None:
    assert [error.message for error in Draft7Validator(SCHEMA).iter_errors(full().as_dict())] == []


@pytest.mark.parametrize("name", sorted(TYPES))
def test_the_schema_has_exactly_the_fields_of_the_type(name: str) -> None:
    assert set(SCHEMA["definitions"][name]["properties"]) == {one.name for one in fields(TYPES[name])}


def test_the_schema_has_the_fields_of_a_receipt_and_what_commands_add() -> None:
    added = {"receipt", "session", "texts"}
    assert set(SCHEMA["properties"]) == {one.name for one in fields(Receipt)} | added


def test_every_field_is_described() -> None:
    for node in nodes(SCHEMA):
        for name, field in node.get("properties", {}).items():
            if isinstance(field, dict) and "$ref" not in field:
                assert field.get("description"), name


def test_what_is_no_receipt_does_not_fit() -> None:
    data = full().as_dict()
    wrong = [
        {**data, "extra": 1},
        {**data, "receipt": 2},
        {key: data[key] for key in data if key != "totals"},
    ]
    assert all(list(Draft7Validator(SCHEMA).iter_errors(one)) for one in wrong)
