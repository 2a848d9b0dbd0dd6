"""The reference pages and the README say what the engine does."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.session.packs import pack_of

from trimtab.data import data_root
from trimtab.packs.load import check_text, load
from trimtab.summarizers import parse

ROOT = data_root()
GENERATED = ("kinds", "metrics", "conditions", "findings", "schema", "commands", "reference", "faults")
README = (ROOT / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    """The README's blocks of code in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", [*GENERATED])
def test_a_reference_page_is_as_the_engine_has_it(generate: Any, name: str) -> None:
    page = (ROOT / "docs" / f"{name}.md").read_text("utf-8")
    assert page == generate.PAGES[f"{name}.md"](), "run: python docs/generate.py"


def test_every_row_of_the_reference_has_a_place_that_exists_and_a_test(generate: Any) -> None:
    root = load("claude-code")
    stages = {one.id for stage in root.stages for one in (stage, *stage.children)}
    names = {*root.settings, *root.limits, "window"}
    tests = generate.row_tests()
    assert list(generate.ROWS) == [f"R{number}" for number in range(1, 43)]
    for number, row in generate.ROWS.items():
        assert row.stages or row.files, number
        assert set(row.stages) <= stages, number
        assert set(row.values) <= names, number
        assert all((ROOT / file).is_file() for file in row.files), number
        assert tests[number], number
    # Only the ledger is no part of the reference behaviour.
    assert stages - {stage for row in generate.ROWS.values() for stage in row.stages} == {"ledger"}


def test_every_kind_of_fault_has_a_test_or_a_reason(generate: Any) -> None:
    for fault, tests in generate.fault_tests().items():
        assert bool(tests) is (fault not in generate.NOT_YET), fault


def test_the_readme_shows_what_the_commands_print(generate: Any) -> None:
    assert generate.with_outputs(README) == README, "run: python docs/generate.py"


def test_the_python_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").mkdir()
    shutil.copy(ROOT / "examples" / "session.jsonl", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    found = blocks("python")
    assert found
    for code in found:
        names: dict[str, Any] = {}
        exec(compile(code, "README.md", "exec"), names)
        assert names["outcome"].receipt.totals.commits > 0
        assert names["outcome"].send in (True, False)


def test_the_pack_of_the_readme_has_no_problems() -> None:
    found = blocks("yaml")
    assert found
    for text in found:
        assert [str(problem) for problem in check_text(text).problems] == []


def test_the_readme_begins_with_the_two_commands() -> None:
    first, second = (block.strip() for block in blocks("sh")[:2])
    assert first.endswith("trimtab run examples/session.jsonl")
    assert "pytest" in second
    assert README.index(second) < README.index("## ")


def test_links_of_the_readme_lead_to_files() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_ci_script_takes_the_test_command_from_the_readme() -> None:
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o100
    pattern = re.search(r'grep -m 1 -E "([^"]+)" README.md', script.read_text("utf-8"))
    assert pattern is not None
    found = subprocess.run(
        ["grep", "-m", "1", "-E", pattern.group(1), "README.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == blocks("sh")[1].strip()


def test_what_the_page_about_summarizers_shows_can_be_written_in_a_pack() -> None:
    page = (ROOT / "docs" / "summarizers.md").read_text("utf-8")
    found = re.search(r"^```yaml\nladder:\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert found is not None
    rungs = "".join(f"      {line}\n" for line in found[1].splitlines())
    text = (
        "format: 1\nname: page\nversion: 1.0.0\nstages:\n  - id: sum-up\n    kind: summarize\n"
        f"    prompt: summary/nine-sections.md.j2\n    keep: {{newest: {{turns: 1}}}}\n    ladder:\n{rungs}"
    )
    assert pack_of(text).stage("sum-up") is not None
    for name in re.findall(r"^\| `(none|anthropic|openai:[^`]+)` \|", page, re.MULTILINE):
        parse(name.replace("MODEL@URL", "small@http://localhost:8080/v1"))
