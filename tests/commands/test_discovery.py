"""``show packs kinds metrics schema`` and the group itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft7Validator

from trimtab.commands.group import COMMANDS
from trimtab.packs.load import check_text
from trimtab.packs.schema import KINDS
from trimtab.policy.metrics import METRICS


def test_the_packs_that_ship_are_listed(trimtab: Callable) -> None:
    assert "claude-code" in trimtab("packs").out
    assert "claude-code" in [one["name"] for one in trimtab("packs", "--json").json["packs"]]


def test_every_kind_is_listed_with_whether_it_runs(trimtab: Callable) -> None:
    found = trimtab("kinds", "--json").json["kinds"]
    assert [one["name"] for one in found] == list(KINDS)
    assert {one["name"] for one in found if one["available"]} >= {"replace", "drop", "guard", "first_of"}
    assert all(kind in trimtab("kinds").out for kind in KINDS)


def test_a_kind_is_shown_with_its_keys(trimtab: Callable) -> None:
    result = trimtab("kinds", "replace")
    assert "preview" in result.out
    assert "on_failure" in result.out
    assert trimtab("kinds", "replce").code == 2


def test_every_metric_is_listed_with_its_meaning(trimtab: Callable) -> None:
    found = trimtab("metrics", "--json").json["metrics"]
    assert [one["name"] for one in found] == list(METRICS)
    assert all(one["meaning"] for one in found)
    assert "idle_minutes" in trimtab("metrics").out


@pytest.mark.parametrize("name", ["pack", "test", "receipt", "journal"])
def test_each_schema_is_a_schema(trimtab: Callable, name: str) -> None:
    schema = trimtab("schema", name).json
    Draft7Validator.check_schema(schema)
    assert schema["$schema"].startswith("http://json-schema.org/draft-07/")


def test_a_schema_that_does_not_exist_is_wrong_usage(trimtab: Callable) -> None:
    assert trimtab("schema", "nothing").code == 2


def test_a_pack_is_shown_at_a_glance(trimtab: Callable, pack: Path) -> None:
    result = trimtab("show", pack)
    assert result.code == 0
    assert "small@1.0.0" in result.out
    assert "0.001 * window" in result.out
    assert "{tokens: {at_least: auto}" in result.out


def test_a_resolved_pack_reads_back_as_the_same_pack(trimtab: Callable, pack: Path) -> None:
    result = trimtab("show", pack, "--resolved")
    assert (
        yaml.safe_load(result.out)
        == yaml.safe_load(pack.read_text("utf-8"))
        == trimtab("show", pack, "--json").json
    )
    assert check_text(result.out).ok


def test_programs_get_the_place_of_each_value(trimtab: Callable, pack: Path) -> None:
    found = trimtab("show", pack, "--resolved", "--json").json
    assert found["pack"] == trimtab("show", pack, "--json").json
    assert found["places"]["settings.shown"] == f"{pack}:5:32"
    assert found["places"]["stages.clear.keep.newest.items"] == f"{pack}:12:28"


def test_a_broken_pack_is_shown_as_far_as_it_can_be_read(trimtab: Callable, pack: Path) -> None:
    pack.write_text(pack.read_text("utf-8").replace("kind: guard", "kind: gard"), encoding="utf-8")
    result = trimtab("show", pack)
    assert result.code == 1
    assert "gard" in result.out
    assert "unknown-kind" in result.err


def test_the_help_names_every_command(trimtab: Callable) -> None:
    result = trimtab("--help")
    assert result.code == 0
    assert all(f"  {name} " in result.out for name in COMMANDS)


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_help_and_json(trimtab: Callable, name: str) -> None:
    result = trimtab(name, "--help")
    assert result.code == 0
    assert "--json" in result.out


def test_a_misspelt_command_is_wrong_usage_with_the_nearest_name(trimtab: Callable) -> None:
    result = trimtab("explian")
    assert result.code == 2
    assert "did you mean `explain`" in result.err


def test_show_needs_no_pack_and_its_usage_says_so(trimtab: Callable) -> None:
    assert "trimtab show [OPTIONS] [PACK]" in trimtab("show", "--help").out
    assert trimtab("show").out.startswith("claude-code@")
    assert list(trimtab("show", "claude-code-155k", "--json").json)[:3] == ["format", "name", "version"]
