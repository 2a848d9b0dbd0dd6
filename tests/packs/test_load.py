"""The packs that ship, and what loading costs a process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from trimtab.data import data_root
from trimtab.packs.load import check, list_packs, load
from trimtab.packs.problems import INFO

HEAVY = ("anthropic", "tiktoken", "toktok", "rich", "jsonschema", "click")


@pytest.mark.parametrize("pack", list_packs(), ids=lambda pack: pack.name)
def test_a_shipped_pack_has_no_problem(pack: object) -> None:
    name = pack.name  # type: ignore[attr-defined]  # parametrised with what the list holds
    report = check(name)
    assert [problem for problem in report.problems if problem.severity != INFO] == []
    assert load(name).name == name


def test_the_shipped_packs_are_listed_with_what_they_say_of_themselves() -> None:
    packs = list_packs()
    assert "claude-code" in [pack.name for pack in packs]
    for pack in packs:
        assert pack.version
        assert pack.description
        assert pack.path.is_file()


def test_checking_a_pack_imports_nothing_heavy() -> None:
    code = (
        "import sys; from trimtab.packs.load import check; assert check('claude-code').ok;"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    engine = Path(__file__).parents[2] / "engine"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(engine)},
        check=True,
    )
    assert done.stdout.strip() == "[]"


def test_what_ships_is_found_beside_the_checkout() -> None:
    assert (data_root() / "schemas" / "pack.schema.json").is_file()
