"""What an editor makes of the schemas: the server most of them use, on good and on bad files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.editor.support import VARIABLE, Editor, server_command

from trimtab.data import data_root
from trimtab.packs.schema import pack_schema

ROOT = data_root()
SCHEMA = (ROOT / "schemas" / "pack.schema.json").as_uri()
HEAD = f"# yaml-language-server: $schema={SCHEMA}\nformat: 1\nname: x\nversion: 1.0.0\n"


@pytest.fixture(scope="module")
def editor() -> Iterator[Editor]:
    command = server_command()
    if command is None:
        pytest.skip(f"no yaml-language-server here: install it with npm, or name it in {VARIABLE}")
    with Editor(command) as opened:
        yield opened


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "pack.yaml"


@pytest.mark.parametrize(
    "path",
    [
        *sorted(ROOT.glob("rules/*/pack.yaml")),
        *sorted(ROOT.glob("rules/claude-code/tests/*.yaml")),
        *sorted(ROOT.glob("examples/team-pack/harbor_pack/**/*.yaml")),
    ],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_nothing_is_wrong_with_what_ships(editor: Editor, path: Path) -> None:
    assert [each["message"] for each in editor.open(path)] == []


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("settigns: {a: 1}\nstages: []\n", 4, "settigns"),
        ("stages:\n  - {id: a, kind: gard}\n", 5, "Value is not accepted"),
        ("stages:\n  - {id: a, kind: guard, level: loud, text: b}\n", 5, "Value is not accepted"),
        ("stages:\n  - {id: a, kind: guard, level: info, txt: b}\n", 5, "txt"),
        ("stages:\n  - {id: a, kind: guard, level: info, text: b, enabled: maybe}\n", 5, "Incorrect type"),
        ("stages:\n  - {id: a, kind: replace, text: b}\n", 5, "select"),
        ("", 1, "stages"),
    ],
)
def test_a_mistake_is_shown_in_its_line(editor: Editor, file: Path, text: str, line: int, words: str) -> None:
    file.write_text(HEAD + text, "utf-8")
    found = editor.open(file)
    assert any(words in each["message"] and each["range"]["start"]["line"] == line for each in found), found


def test_the_keys_of_a_kind_are_offered_with_their_meanings(editor: Editor, file: Path) -> None:
    file.write_text(HEAD + "stages:\n  - id: a\n    kind: guard\n    \n", "utf-8")
    editor.open(file)
    offered = editor.complete(file, 7, 4)
    assert {"level", "text", "when", "at", "enabled"} <= set(offered)
    assert (
        pack_schema()["definitions"]["stage-guard"]["properties"]["level"]["description"] in offered["level"]
    )
    assert "prompt" not in offered


def test_the_values_of_a_key_are_offered(editor: Editor, file: Path) -> None:
    file.write_text(HEAD + "stages:\n  - id: a\n    kind: guard\n    level: \n", "utf-8")
    editor.open(file)
    assert {"info", "warning", "block"} <= set(editor.complete(file, 7, 11))


def test_the_kinds_are_offered(editor: Editor, file: Path) -> None:
    file.write_text(HEAD + "stages:\n  - id: a\n    kind: \n", "utf-8")
    editor.open(file)
    assert {"replace", "summarize", "first_of"} <= set(editor.complete(file, 6, 10))


def test_a_key_is_explained_where_the_pointer_rests(editor: Editor, file: Path) -> None:
    file.write_text(HEAD + "extends: [claude-code]\nstages: []\n", "utf-8")
    editor.open(file)
    assert "packs to build on" in editor.hover(file, 4, 2)
