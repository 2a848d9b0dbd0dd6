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

from trimtab.commands import invoke
from trimtab.data import data_root
from trimtab.outputs.testing import failure_text
from trimtab.packs.load import check_text, load
from trimtab.summarizers import parse
from trimtab.testing.suite import chosen_by, plan, run_plan

ROOT = data_root()
GENERATED = (
    "kinds",
    "metrics",
    "conditions",
    "gates",
    "facts",
    "findings",
    "schema",
    "commands",
    "reference",
    "faults",
    "testing",
)
README = (ROOT / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    """The README's blocks of code in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def executed(code: str) -> dict[str, Any]:
    """The names a block of Python leaves behind."""
    names: dict[str, Any] = {}
    exec(compile(code, "README.md", "exec"), names)
    return names


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


def test_the_python_of_the_readme_runs_and_runs_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "examples").mkdir()
    shutil.copy(ROOT / "examples" / "session.jsonl", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    found = blocks("python")
    assert found
    for code in found:
        first, again = executed(code), executed(code)
        assert first["outcome"].receipt.totals.commits > 0
        assert again["outcome"].body == first["outcome"].body
        assert first["outcome"].send in (True, False)


def test_the_commands_of_the_readme_run_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    session = str(ROOT / "examples" / "session.jsonl")
    lines = next(block for block in blocks("sh") if "trimtab run SESSION" in block).splitlines()
    ran = 0
    for line in lines:
        words = line.split("#")[0].replace("SESSION", session).split()
        assert words[0] == "trimtab"
        if "--summarizer" not in words:
            assert invoke(words[1:]) == 0, line
            ran += 1
    assert ran >= 6
    assert (tmp_path / "next.json").is_file()


def test_the_pack_of_the_readme_has_no_problems() -> None:
    found = blocks("yaml")
    assert found
    for text in found:
        assert [str(problem) for problem in check_text(text).problems] == []


def test_the_cases_of_the_page_on_tests_pass_and_its_failure_is_what_is_printed(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "testing.md").read_text("utf-8")
    [pack] = [block for block in blocks("yaml") if block.startswith("format: 1")]
    (tmp_path / "tests").mkdir()
    cases = re.findall(r"^```yaml\n(cases:\n.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(cases) == 2
    for number, text in enumerate(cases):
        (tmp_path / "tests" / f"{number}.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "pack.yaml").write_text(pack, encoding="utf-8")
    result = run_plan(plan([str(tmp_path)]))
    assert [failure for ran in result.failed for failure in ran.failures] == []
    assert len(result.ran) == 3
    (tmp_path / "pack.yaml").write_text(pack.replace("items: 10", "items: 9"), encoding="utf-8")
    [ran] = run_plan(plan([str(tmp_path)]), chosen_by(["old results"])).failed
    shown = failure_text(ran.failures[0]).replace(str(tmp_path / "tests" / "1.yaml"), "tests/clear.yaml")
    [printed] = re.findall(r"^FAILED .*?\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert shown == printed.rstrip("\n")


def test_the_cases_of_the_page_on_tests_about_a_shipped_pack_pass(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "testing.md").read_text("utf-8")
    [text] = re.findall(r"^```yaml\n(pack: claude-code\n.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "cases.yaml").write_text(text, encoding="utf-8")
    result = run_plan(plan([str(tmp_path / "cases.yaml")]))
    assert result.problems == []
    assert [failure for ran in result.failed for failure in ran.failures] == []
    assert len(result.ran) == 3


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
