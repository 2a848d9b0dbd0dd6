"""The pages written by hand: their packs are sound, their links lead somewhere, their lists are the engine's."""

from __future__ import annotations

import re

import pytest

from trimtab.data import data_root
from trimtab.packs.formatting import formatted
from trimtab.packs.load import check_text
from trimtab.templating.filters import FILTERS

ROOT = data_root()
BY_HAND = [
    path
    for path in [*sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]
    if "Written by docs/generate.py" not in path.read_text("utf-8")
]
PACKS = (ROOT / "docs" / "packs.md").read_text("utf-8")
BLOCKS = re.findall(r"^```yaml\n(.*?)^```$", PACKS, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", BY_HAND, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_to_files(path: object) -> None:
    text = path.read_text("utf-8")  # type: ignore[attr-defined]
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
        assert (path.parent / target).exists(), target  # type: ignore[attr-defined]


def test_there_are_packs_on_the_page_of_packs() -> None:
    assert len(BLOCKS) >= 4


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_pack_on_the_page_of_packs_has_no_problems(number: int) -> None:
    assert [str(problem) for problem in check_text(BLOCKS[number]).problems] == []
    assert formatted(BLOCKS[number], "page") == BLOCKS[number]


def test_the_page_of_packs_names_every_filter() -> None:
    part = PACKS[PACKS.index("<!-- filters -->") : PACKS.index("<!-- end -->")]
    assert re.findall(r"`(\w+)`", part) == sorted(FILTERS)


def test_the_glossary_is_in_order() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    words = re.findall(r"^\| ([a-z -]+) \|", text, re.MULTILINE)[1:]
    assert len(words) > 20
    assert words == sorted(words)
