"""What a host gives beside the pack is what the pack's own must be, or is refused by its place before anything runs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from trimtab import Engine
from trimtab.packs.given import given_settings
from trimtab.packs.load import load
from trimtab.packs.pack import Pack
from trimtab.packs.problems import PackError

PACK = """\
format: 1
name: small
version: 1.0.0
settings: {share: 0.8, cap: unlimited, offset: -2, on_switch: true, writer: same}
stages: []
"""


@pytest.fixture
def pack(tmp_path: Path) -> Pack:
    (tmp_path / "pack.yaml").write_text(PACK, encoding="utf-8")
    return load(tmp_path)


def wrong(pack: Pack, **given: Any) -> list[tuple[str, str]]:
    """Code and message of each problem an engine is refused for."""
    with pytest.raises(PackError) as caught:
        Engine(pack, **given)
    return [(each.code, each.message) for each in caught.value.problems]


@pytest.mark.parametrize(
    ("settings", "code", "message"),
    [
        ({"shar": 1}, "unknown-setting", "the pack `small` has no setting `shar`"),
        ({3: 1}, "unknown-setting", "the pack `small` has no setting `3`"),
        ({"share": True}, "type", "the setting `share` is a number, not a boolean"),
        ({"share": "high"}, "type", "the setting `share` is a number, not a text"),
        ({"share": None}, "type", "the setting `share` is a number, not nothing (None)"),
        ({"share": [1]}, "type", "the setting `share` is a number, not a list"),
        ({"share": {}}, "type", "the setting `share` is a number, not a dict"),
        ({"on_switch": 1}, "type", "the setting `on_switch` is a boolean, not a number"),
        ({"writer": 5}, "type", "the setting `writer` is a text, not a number"),
        ({"share": math.nan}, "value", "the setting `share` is no number (nan)"),
        ({"share": -5}, "value", "the setting `share` is -5; the least is 0"),
        ({"cap": -1}, "value", "the setting `cap` is -1; the least is 0"),
        ({"share": -math.inf}, "value", "the setting `share` is -inf; the least is 0"),
        ({"share": 10**400}, "value", "the setting `share` is a number of too many digits"),
        ([1], "type", "settings: a mapping is needed, not a list"),
        ("share=1", "type", "settings: a mapping is needed, not a text"),
    ],
)
def test_a_setting_that_the_pack_could_not_have_is_refused(
    pack: Pack, settings: Any, code: str, message: str
) -> None:
    assert wrong(pack, settings=settings) == [(code, message)]
    with pytest.raises(PackError):
        given_settings(pack, settings)


@pytest.mark.parametrize(
    ("models", "code", "message"),
    [
        ({"*": 3}, "type", "models: *: a mapping is needed, not a number"),
        ({"*": None}, "type", "models: *: a mapping is needed, not nothing (None)"),
        ({5: {}}, "type", "models: 5: the name of a model is a text, not a number"),
        ({"*": {"window": -5}}, "value", "models: *: `window` is -5; the least is 0"),
        ({"*": {"window": math.nan}}, "value", "models: *: `window` is no number (nan)"),
        ({"*": {"window": "big"}}, "type", "models: *: `window` is a number, not a text"),
        ({"*": {"max_input": True}}, "type", "models: *: `max_input` is a number, not a boolean"),
        ({"*": {"share": "high"}}, "type", "models: *: `share` is a number, not a text"),
        (
            {"*": {"windw": 5}},
            "unknown-setting",
            "models: *: `windw` is neither window, max_output, max_input",
        ),
        (["*"], "type", "models: a mapping is needed, not a list"),
    ],
)
def test_a_model_that_the_pack_could_not_have_is_refused(
    pack: Pack, models: Any, code: str, message: str
) -> None:
    [found] = wrong(pack, models=models)
    assert (found[0], found[1].removesuffix(" nor a setting")) == (code, message)


def test_everything_that_is_wrong_is_told_at_once(pack: Pack) -> None:
    found = wrong(pack, settings={"share": -1, "shar": 1}, models={"*": {"window": -1}, "b": 3})
    assert [code for code, _ in found] == ["value", "unknown-setting", "value", "type"]


@pytest.mark.parametrize(
    "settings",
    [
        None,
        {},
        {"share": 0},
        {"cap": "unlimited"},
        {"cap": math.inf},
        {"offset": -7.5},
        {"writer": "unlimited"},
    ],
)
def test_what_the_pack_could_have_is_taken(pack: Pack, settings: Any) -> None:
    assert Engine(pack, settings=settings).settings == (settings or {})
    models = {"*": {"window": "unlimited", "max_output": 5}, "b*": {"share": 1}}
    assert Engine(pack, models=models).models == models
