"""``trimtab migrate``: packs brought to the newest format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from trimtab.packs import migrating
from trimtab.packs.migrating import Migration
from trimtab.packs.written.editing import rename
from trimtab.packs.written.tree import Collection, Written


def test_where_there_is_nothing_to_do_it_says_so(trimtab: Callable, pack: Path) -> None:
    before = pack.read_bytes()
    result = trimtab("migrate", pack)
    assert result.code == 0
    assert "nothing to do: format 1 is the newest" in result.out
    assert pack.read_bytes() == before


def test_a_newer_format_is_a_problem_with_its_place(trimtab: Callable, pack: Path) -> None:
    pack.write_text("format: 2\nname: x\n", "utf-8")
    result = trimtab("migrate", pack)
    assert result.code == 1
    assert f"{pack}:1:9: format 2 is newer than this engine" in result.err
    assert "install a newer trimtab" in result.err


@pytest.fixture
def step(monkeypatch: pytest.MonkeyPatch) -> None:
    """An older format in which `name` was `title`."""

    def change(written: Written) -> list[str]:
        assert isinstance(written.root, Collection)
        rename(written.root, "title", "name")
        return ["is the name right?"]

    monkeypatch.setattr(migrating, "MIGRATIONS", (Migration(0, "a title is a name", change),))


@pytest.mark.usefixtures("step")
def test_an_older_pack_is_rewritten_and_what_to_look_at_is_said(trimtab: Callable, pack: Path) -> None:
    pack.write_text("# ours\nformat: 0\ntitle: x   # short\n", "utf-8")
    assert trimtab("migrate", "--check", pack).code == 1
    assert "title" in pack.read_text("utf-8")
    result = trimtab("migrate", pack)
    assert result.code == 0
    assert pack.read_text("utf-8") == "# ours\nformat: 1\nname: x   # short\n"
    assert "is the name right?" in result.err
    assert trimtab("migrate", "--json", pack).json == {
        "format": 1,
        "files": [{"file": str(pack), "changed": False}],
        "problems": [],
    }
