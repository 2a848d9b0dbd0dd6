"""The pytest plugin, in processes of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.testing.support import written

from trimtab.data import data_root

GOOD = "cases:\n  - {name: it holds, given: {rounds: {count: 3}}, expect: {stages: {clear: committed}}}\n"
BAD = GOOD.replace("it holds", "it fails").replace("committed", "nothing")


def pytest_in(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "COV_"))}
    environment["PYTHONPATH"] = str(data_root() / "engine")
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "trimtab.pytest_plugin",
        "-p",
        "no:cacheprovider",
        "-q",
        *arguments,
    ]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_tests_beside_a_pack_are_collected_and_no_other_yaml(tmp_path: Path) -> None:
    written(tmp_path, GOOD + BAD.split("\n", 1)[1])
    for other in ("data/tests/x.yaml", "tests/more/x.yaml", "x.yaml", "snapshots/x.yaml"):
        (tmp_path / other).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / other).write_text("no: test\n", encoding="utf-8")
    result = pytest_in(tmp_path)
    assert "1 failed, 1 passed" in result.stdout, result.stdout + result.stderr
    assert "FAILED tests/cases.yaml::it fails" in result.stdout
    assert "  expected  nothing\n  found     committed\n  receipt   clear committed" in result.stdout
    assert "Traceback" not in result.stdout


def test_a_case_is_chosen_as_any_test_is(tmp_path: Path) -> None:
    written(tmp_path, GOOD + BAD.split("\n", 1)[1])
    assert "1 passed, 1 deselected" in pytest_in(tmp_path, "-k", "holds").stdout


def test_a_broken_test_file_is_an_error_of_collection_with_its_place(tmp_path: Path) -> None:
    written(tmp_path, GOOD.replace("clear", "claer"))
    result = pytest_in(tmp_path)
    assert result.returncode == 2
    assert "cases.yaml:2:" in result.stdout
    assert "did you mean `clear`?" in result.stdout


def test_a_broken_pack_is_an_error_of_collection(tmp_path: Path) -> None:
    written(tmp_path, GOOD, "format: 1\nname: p\n")
    result = pytest_in(tmp_path)
    assert result.returncode == 2
    assert "[missing-key]" in result.stdout


def test_the_pack_of_another_tool_is_left_alone_and_a_broken_one_of_ours_is_not(tmp_path: Path) -> None:
    for name, pack in (("theirs", "ref: chat\nname: chat\nactions: []\n"), ("ours", "stages: [}\nname: x\n")):
        (tmp_path / name).mkdir()
        written(tmp_path / name, GOOD, pack)
    result = pytest_in(tmp_path)
    assert "1 error" in result.stdout
    assert "ERROR ours/tests/cases.yaml" in result.stdout
    assert "theirs" not in result.stdout


def test_a_pytest_without_tests_of_packs_loads_nothing_of_the_engine(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import sys\n\ndef test_it():\n    assert 'trimtab.testing' not in sys.modules\n",
        encoding="utf-8",
    )
    assert "1 passed" in pytest_in(tmp_path).stdout


def test_snapshots_are_written_when_asked(tmp_path: Path) -> None:
    written(tmp_path, GOOD.replace("stages: {clear: committed}", "snapshot: one"))
    assert "1 failed" in pytest_in(tmp_path).stdout
    assert "1 passed" in pytest_in(tmp_path, "--trimtab-update").stdout
    assert "1 passed" in pytest_in(tmp_path).stdout
